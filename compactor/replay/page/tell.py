"""Tells a page what replays of a recording did: from traces to bounded plain values.

Requests of a long recording are drawn in part: of each group of neighbours the one with the longest
prompt and the one with the shortest, so that no tooth of the saw is lost. Specification:
docs/report.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, Final

from compactor.core.errors import PolicyError
from compactor.core.model import Kind
from compactor.replay.page.told import (
    Changed,
    Entries,
    PassTold,
    Point,
    PolicyTold,
    Series,
    Text,
    Told,
)
from compactor.replay.page.words import TEXT_CHARS_MAX, clipped, one_line
from compactor.replay.recommend import SWEEP
from compactor.replay.recording import Recording
from compactor.replay.run import Bench
from compactor.replay.simulate import Row
from compactor.replay.sums import Replay
from compactor.replay.trace import FATES_SHOWN, Pass, Trace, text_of

POINTS_MAX: Final = 800
"""Requests drawn of one policy."""
ENTRIES_MAX: Final = 20_000
PASSES_MAX: Final = 300
"""Passes told of one policy: those that freed most."""
SEQS_MAX: Final = 400
TOOLS_MAX: Final = 8
NAME_CHARS_MAX: Final = 80
NAMES_MAX: Final = 300
"""Tools by name; more are one."""
_OTHER: Final = "(another tool)"

_LETTERS: Final = {Kind.USER: "u", Kind.ASSISTANT: "a", Kind.TOOL: "t", Kind.SYSTEM: "s"}
_FATES: Final = {fate: index for index, fate in enumerate(FATES_SHOWN)}


def tell(name: str, bench: Bench, traces: Sequence[Trace]) -> Told:
    """What a page knows of a recording.

    Args:
        name: what to call it.
        traces: of the policies to draw, at least one.

    Returns:
        bounded by the recording and by the limits above. O(the recording), and a replay for each
        policy of `recommend` that was not traced.
    """
    recording = bench.recording
    texts, tools = _Texts(), _Tools()
    for entry in recording.entries[:ENTRIES_MAX]:
        texts.add(text_of(entry))
    entries = _entries(recording, tools)
    policies = [_policy(trace, texts, tools) for trace in traces]
    first = traces[0].replay
    return Told(
        name=one_line(name, NAME_CHARS_MAX),
        format=first.format,
        model=one_line(first.model, NAME_CHARS_MAX),
        cache=first.cache,
        window=first.window,
        requests=first.requests,
        notes=[clipped(finding.message, 400).head for finding in first.findings[:10]],
        policies=policies,
        points=list(_points(bench, [trace.replay for trace in traces])),
        best=_best(first),
        entries=entries,
        tools=tools.names,
        texts=texts.found,
        text_chars=TEXT_CHARS_MAX,
    )


class _Texts:
    """A table of texts. What stands for entries is often the same text, and kept once."""

    def __init__(self) -> None:
        self.found: list[Text] = []
        self._known: dict[str, int] = {}

    def add(self, text: str) -> int:
        self.found.append(clipped(text))
        return len(self.found) - 1

    def once(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self.add(text)
        return self._known[text]


class _Tools:
    """A table of tools' names."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._known: dict[str, int] = {}

    def index(self, name: str) -> int:
        """Where a name stands; all that are too many stand at one place."""
        if name not in self._known and len(self._known) >= NAMES_MAX:
            name = _OTHER
        if name not in self._known:
            self._known[name] = len(self.names)
            self.names.append(one_line(name, NAME_CHARS_MAX))
        return self._known[name]


def _entries(recording: Recording, tools: _Tools) -> Entries:
    entries = recording.entries[:ENTRIES_MAX]
    return Entries(
        kinds="".join(_LETTERS[entry.kind] for entry in entries),
        tool=[tools.index(entry.name) for entry in entries],
        tokens=list(recording.tokens[:ENTRIES_MAX]),
        left_out=len(recording.entries) - len(entries),
    )


def _policy(trace: Trace, texts: _Texts, tools: _Tools) -> PolicyTold:
    made = trace.replay
    most = sorted(trace.passes, key=lambda each: (-each.freed, each.request))[:PASSES_MAX]
    shown = [(seq, now) for seq, now in trace.changed.items() if seq < ENTRIES_MAX]
    return PolicyTold(
        **sums_of(made),
        series=_series(made.rows),
        passes=[_pass(each, tools) for each in sorted(most, key=lambda each: each.request)],
        passes_left_out=len(trace.passes) - len(most),
        fates=list(_runs(_FATES[fate] for fate in trace.fates[:ENTRIES_MAX])),
        changed=[Changed(seq, now.request, now.tokens, texts.once(now.text)) for seq, now in shown],
    )


def sums_of(made: Replay) -> dict[str, Any]:
    """A policy's name and sums, as the page has them of a recording and of all."""
    sums = {key: value for key, value in made.row().items() if key in _SUMS}
    return {"name": one_line(made.policy, NAME_CHARS_MAX), "sums": sums}


_SUMS: Final = frozenset(
    (
        *("requests", "window", "tokens_sent", "cached", "written", "uncached", "cost_nano"),
        *("cost_to_none", "cost_to_optimum", "breaks", "passes", "overflow_requests", "regret"),
    )
)


def _pass(made: Pass, tools: _Tools) -> PassTold:
    most = list(made.tools.items())[:TOOLS_MAX]
    named = [(tools.index(name or "?"), count) for name, count in most]
    seqs = [seq for seq in made.seqs[:SEQS_MAX] if seq < ENTRIES_MAX]
    return PassTold(made.request, made.tier, len(made.seqs), made.freed, named, seqs)


def _runs(values: Iterable[int]) -> Iterator[tuple[int, int]]:
    for value, run in groupby(values):
        yield value, sum(1 for _ in run)


def _series(rows: Sequence[Row]) -> Series:
    costs = list(accumulate(row.cost_nano for row in rows))
    at = drawn([row.tokens_sent for row in rows], POINTS_MAX)
    return Series(
        request=[rows[i].request for i in at],
        entries=[rows[i].entries for i in at],
        sent=[rows[i].tokens_sent for i in at],
        cached=[rows[i].cached for i in at],
        written=[rows[i].written for i in at],
        cost=[costs[i] for i in at],
    )


def drawn(sizes: Sequence[int], most: int) -> list[int]:
    """Indexes to draw, ascending: all, or the extremes of groups of neighbours, and the ends.

    Args:
        most: how many at most, at least 4.
    """
    count = len(sizes)
    if count <= most:
        return list(range(count))
    groups = (most - 2) // 2
    found = {0: None, count - 1: None}
    for group in range(groups):
        inside = range(group * count // groups, (group + 1) * count // groups)
        found[max(inside, key=lambda i: (sizes[i], -i))] = None
        found[min(inside, key=lambda i: (sizes[i], i))] = None
    return sorted(found)


def _points(bench: Bench, made: Sequence[Replay]) -> Iterator[Point]:
    """The policies that are drawn, and those that `recommend` compares."""
    known = [replay.policy for replay in made]
    for replay in made:
        yield _point(replay, asked=True)
    for policy in SWEEP:
        if policy in known:
            continue
        try:
            yield _point(bench.replay(policy, compared=False), asked=False)
        except PolicyError:  # without a window there is nothing to compare
            return


def _point(made: Replay, *, asked: bool) -> Point:
    over = made.overflow_requests
    return Point(one_line(made.policy, NAME_CHARS_MAX), made.cost_nano, made.regret, over, asked)


def _best(made: Replay) -> int | None:
    return round(made.cost_nano / made.cost_to_optimum) if made.cost_to_optimum else None
