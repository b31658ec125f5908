"""A recording as a replay sees it: entries with their tokens, and the requests made over them.

Tokens are counted once, whatever is replayed. Requests are those with recorded usage; where a
recording has none, they are the boundaries, each model turn being the answer to one. Decides
nothing. Specification: DESIGN sections 3 and 9, docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from compactor.choose import Chosen, choose, overhead
from compactor.core.count import Measure
from compactor.core.errors import Finding
from compactor.core.model import Entry, Kind, PartKind, Reading, Usage
from compactor.core.policy import Policy
from compactor.models import Model, ModelTable
from compactor.transcript import Transcript

ANY_WINDOW = 10**12
"""Where no decision is made, no window is needed."""


class Asked(NamedTuple):
    """A request of the recording.

    n: it was made over entries 0..n-1.
    time_ms: when its answer was recorded, milliseconds since 1970 UTC; 0 when not known.
    model: that answered; "" where the recording does not say.
    usage: what the provider counted; None where that is not recorded.
    """

    n: int
    time_ms: int = 0
    model: str = ""
    usage: Usage | None = None


class Recording(NamedTuple):
    """A conversation that was recorded.

    tokens: of each entry as it was handed in; upto: of the first k entries, overhead included.
    blocks: content blocks of each entry, as a provider's cache counts them.
    images: of each entry, whether it holds one.
    requests: in order; n never falls. models: those that answered them, by name as recorded; None
        is one that the table lacks.
    boundaries: the requests are guessed, as none are recorded.
    """

    entries: Sequence[Entry]
    tokens: Sequence[int]
    upto: Sequence[int]
    blocks: Sequence[int]
    images: Sequence[bool]
    requests: Sequence[Asked]
    overhead: int
    measure: Measure
    reading: Reading
    model: Model | None
    model_name: str
    models: Mapping[str, Model | None]
    window: int | None
    boundaries: bool
    findings: tuple[Finding, ...] = ()

    @property
    def tools(self) -> list[int]:
        """Seqs of the tool results."""
        return [seq for seq, entry in enumerate(self.entries) if entry.kind is Kind.TOOL]


def recording_of(
    transcript: Transcript, base: Policy, table: ModelTable, *, window: int | None = None
) -> Recording:
    """The recording of a transcript. O(its text).

    Args:
        base: what says model, counter, scale and overhead.
        window: tokens; None takes the policy's, else the model's.
    """
    reading = transcript.reading
    chosen = choose(reading, _anywhere(base), None, None, table)
    entries, carried = reading.entries, overhead(reading, chosen)
    tokens = [chosen.measure.entry(entry) for entry in entries]
    requests = list(_answered_by(base.model, _requests(reading)))
    guessed = not any(asked.usage for asked in requests)
    known = table.find(chosen.model) if chosen.model else None
    limits = (window, base.window, known.window if known else None)
    return Recording(
        entries=entries,
        tokens=tokens,
        upto=list(accumulate(tokens, initial=carried)),
        blocks=[_blocks(entry) for entry in entries],
        images=[any(part.kind is PartKind.IMAGE for part in entry.parts) for entry in entries],
        requests=requests,
        overhead=carried,
        measure=chosen.measure,
        reading=reading,
        model=known,
        model_name=chosen.model,
        models={name: table.find(name) if name else None for name in _names(requests)},
        window=next((limit for limit in limits if limit is not None), None),
        boundaries=guessed,
        findings=(*transcript.findings, *_said(chosen, guessed)),
    )


def _anywhere(base: Policy) -> Policy:
    """The policy with a window, so that an unknown model can be counted for."""
    if base.window is not None:
        return base
    values = {name: getattr(base, name) for name in Policy.__struct_fields__}
    return Policy(**values | {"window": ANY_WINDOW})


def _said(chosen: Chosen, guessed: bool) -> Iterator[Finding]:
    yield from chosen.findings
    if guessed:
        text = "no requests are recorded: one is assumed before each model turn and at the end"
        yield Finding("requests_assumed", text)


def _answered_by(model: str | None, requests: Iterable[Asked]) -> Iterator[Asked]:
    """The requests as if this model had answered them; else each by its own, or as the last."""
    last = ""
    for asked in requests:
        last = model or asked.model or last
        yield asked._replace(model=last)


def _names(requests: Sequence[Asked]) -> list[str]:
    return list(dict.fromkeys(asked.model for asked in requests))


def _requests(reading: Reading) -> Iterator[Asked]:
    """The recorded requests; the boundaries where there are none."""
    size, last = len(reading.entries), 0
    usable = [usage for usage in reading.usage if usage.requests == 1 and 0 < usage.n <= size]
    for usage in usable:
        if usage.n >= last:  # a request over fewer entries was made on a branch that was left
            last = usage.n
            yield Asked(usage.n, usage.time_ms, usage.model or reading.model, usage)
    if not usable:
        yield from (Asked(n, 0, reading.model) for n in boundaries(reading.entries))


def boundaries(entries: Sequence[Entry]) -> Iterator[int]:
    """The n of each request that the entries imply."""
    for seq, entry in enumerate(entries):
        if seq and entry.kind is Kind.ASSISTANT:
            yield seq
    if entries:
        yield len(entries)


def _blocks(entry: Entry) -> int:
    """A result is one block, whatever it holds."""
    return 1 if entry.kind is Kind.TOOL else max(1, len(entry.parts) + len(entry.calls))
