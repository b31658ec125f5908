"""`calibrate`: scale and overhead of a counter, fitted to the usage that recordings hold.

Says which requests can be compared with what the file shows of them, and leaves the numbers to
`fit`. Settings only: nothing is decided here. Specification: docs/recordings.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from compactor import counters
from compactor import models as model_table
from compactor.choose import DEFAULT_COUNTER
from compactor.core.count import Counter, Measure
from compactor.core.model import MEDIA_KINDS, Entry, Kind, Usage
from compactor.fit import Request, Series, fit, middle, per_mille
from compactor.loop import loop
from compactor.models import ModelTable
from compactor.transcript import Transcript, load

_RESULTS_PAIRS: Final = 3
_RESULTS_MIN: Final = 1000
"""Counted tokens of results between two requests that tell something about the counter."""


class Errors(msgspec.Struct, frozen=True):
    """How far estimates are off the recorded prompts, per mille of these; below 0 is too low."""

    lowest: int
    percent_5: int
    median: int
    percent_95: int
    highest: int


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What fits the recorded prompts of one model in recordings of one format.

    counter, counter_scale, overhead_tokens: settings of a policy.
    conversations, requests, pairs: what they were fitted to.
    errors: of the estimate with these settings.
    known_scale: per mille, of the model table for the same counter; None when it has none.
    results_scale: per mille, of tool results alone, where what the model answered is known and so
        leaves nothing else between two requests; None when there are fewer than three such pairs.
    results: how many pairs that is the median of.
    """

    model: str
    format: str
    counter: str
    counter_scale: int
    overhead_tokens: int
    conversations: int
    requests: int
    pairs: int
    errors: Errors
    known_scale: int | None = None
    results_scale: int | None = None
    results: int = 0

    def settings(self) -> dict[str, Any]:
        """The settings as `Policy` takes them."""
        return {
            "counter": self.counter,
            "counter_scale": self.counter_scale,
            "overhead_tokens": self.overhead_tokens,
        }


def calibrate(
    *sources: str | Path | Transcript,
    counter: str | None = None,
    models: ModelTable | None = None,
) -> list[Calibration]:
    """Scale and overhead that make estimates follow the prompts that providers counted.

    Args:
        sources: recordings, as files or as they were loaded (a `thread` of one, for instance).
        counter: what counts; None takes that of each model.
        models: what is known of models instead of the table that ships.

    Returns:
        one for each model and format with enough recorded requests, the most requests first: each
        harness has an overhead of its own. O(the files).

    Raises:
        InputError: as `load`.
        PolicyError: `policy.range` for an unknown counter.
    """
    read = (each if isinstance(each, Transcript) else load(each) for each in sources)
    return fitted(read, counter=counter, models=models)


def fitted(
    transcripts: Iterable[Transcript],
    *,
    counter: str | None = None,
    model: str | None = None,
    models: ModelTable | None = None,
) -> list[Calibration]:
    """`calibrate` of transcripts that are read one after the other, and none of them kept.

    Args:
        model: of this one only; None is all.
    """
    table = models or model_table.built_in()
    groups: dict[tuple[str, str], list[_Measured]] = {}
    for transcript in transcripts:
        for each in conversations(transcript):
            if model in (None, each.model):
                measured = _Measured(each, counters.get(_counter(each.model, counter, table)))
                groups.setdefault((each.model, transcript.format), []).append(measured)
    fits = [_calibrated(*key, group, table) for key, group in groups.items()]
    return sorted(filter(None, fits), key=lambda each: -each.requests)


class Conversation(NamedTuple):
    """The requests of one conversation to one model.

    entries: of the whole conversation; requests were made over the first of them.
    usage: of the requests that can be compared, in order.
    """

    model: str
    entries: Sequence[Entry]
    usage: Sequence[Usage]


def conversations(transcript: Transcript) -> Iterator[Conversation]:
    """What of a transcript can be compared, by model.

    Left out are sums, requests without a recorded prompt, and requests over results that the
    harness cleared later: the file does not say when, but a prompt that is smaller than the one
    before it does, so requests from the last such on are compared.
    """
    whole = [usage for usage in transcript.usage if usage.requests == 1 and _prompt(usage)]
    usage = _since_cleared(transcript.entries, whole)
    for model in dict.fromkeys(each.model or transcript.reading.model for each in usage):
        own = [each for each in usage if (each.model or transcript.reading.model) == model]
        yield Conversation(model, transcript.entries, own)


def _prompt(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def _since_cleared(entries: Sequence[Entry], usage: Sequence[Usage]) -> Sequence[Usage]:
    first = next((i for i, entry in enumerate(entries) if entry.cleared), len(entries))
    if not usage or usage[-1].n <= first:
        return usage
    falls = [i for i, (a, b) in enumerate(pairwise(usage), 1) if _prompt(b) < _prompt(a)]
    return usage[falls[-1] :] if falls else [each for each in usage if each.n <= first]


def _counter(model: str, wanted: str | None, table: ModelTable) -> str:
    facts = table.facts(model) if model else None
    return wanted or (facts.counter if facts else DEFAULT_COUNTER)


def _calibrated(
    model: str, format_name: str, measured: Sequence[_Measured], table: ModelTable
) -> Calibration | None:
    best = fit([each.series for each in measured], loop().tokens.per_entry)
    if best is None:
        return None
    results = [ratio for each in measured for ratio in each.results]
    facts, name = table.facts(model) if model else None, measured[0].counter
    return Calibration(
        model=model,
        format=format_name,
        counter=name,
        counter_scale=best.scale,
        overhead_tokens=best.overhead,
        conversations=len(measured),
        requests=len(best.errors),
        pairs=best.pairs,
        errors=Errors(*(best.quantile(percent) for percent in (0, 5, 50, 95, 100))),
        known_scale=facts.counter_scale if facts and facts.counter == name else None,
        results_scale=middle(results) if len(results) >= _RESULTS_PAIRS else None,
        results=len(results),
    )


class _Measured:
    """What a counter makes of a conversation, unscaled; the conversation itself is not kept.

    results: see `_results`.
    """

    def __init__(self, conversation: Conversation, counter: Counter) -> None:
        usage = conversation.usage
        entries = conversation.entries[: usage[-1].n]
        measure = Measure(counter, 1000, loop().tokens)
        media = list(accumulate(map(_media, entries), initial=0))
        asked = [Request(each.n, _prompt(each), media[each.n]) for each in usage]
        self.counter = counter.name
        self.series = Series(asked, [_counts(measure, entry) for entry in entries])
        self.results = list(_results(self.series, usage, entries))


def _results(series: Series, usage: Sequence[Usage], entries: Sequence[Entry]) -> Iterator[int]:
    """Recorded tokens of the results between two requests, per mille of the counted ones.

    The later prompt holds the earlier one, its answer as the provider counted it, and them. An
    answer of fewer tokens than we count was recorded before it was whole.
    """
    per_entry = loop().tokens.per_entry
    for (before, asked), (after, then) in pairwise(zip(usage, series.requests, strict=True)):
        first, last = asked.n, then.n
        kinds = [entry.kind is Kind.ASSISTANT for entry in entries[first:last]]
        if kinds[:1] != [True] or any(kinds[1:]) or asked.stretch != then.stretch:
            continue
        answer, *others = map(sum, series.counts[first:last])
        if before.output >= answer and sum(others) >= _RESULTS_MIN:
            added = _prompt(after) - _prompt(before) - before.output
            yield per_mille(added - len(others) * per_entry, sum(others))


def _counts(measure: Measure, entry: Entry) -> tuple[int, ...]:
    """Unscaled tokens of each part of an entry, as `Measure.entry` sums them up."""
    counts = [measure.part(part) for part in entry.parts]
    for call in entry.calls:
        counts += [measure.text(call.name), measure.text(call.arguments)]
    if entry.kind is Kind.TOOL:
        counts.append(measure.text(entry.body))
    return tuple(counts)


def _media(entry: Entry) -> int:
    return sum(part.kind in MEDIA_KINDS for part in entry.parts)
