"""Which lines of a Claude Code thread are in the next request, and in what order.

The live branch is the one that holds the newest message. From there the links lead up to the last
compaction, or to the root; what a request carries beside that path (the other lines of a turn, the
results of parallel calls, attachments on them) is completed, and what the compaction kept verbatim
is put in its place. Every step is a loop over the lines, none is recursive or quadratic.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from compactor.formats.harnesses.claude_lines import SYSTEM, Line, Thread, strings
from compactor.formats.messages import field, text_field


class Branch(NamedTuple):
    """The live branch of a thread, as positions.

    prompt: what the next request carries, in its order; lines that are not sent are still in it.
    kept: those of `prompt` that stand before the compaction, which kept them verbatim.
    before: live lines before the last compaction that are not in the prompt, in file order.
    missing: number of messages that the compaction kept and the file does not hold.
    cleared: call ids whose results microcompaction cleared, with the position of the last
        boundary that did; only results above it are meant.
    cleared_lines: `uuid`s of attachments cleared the same way.
    """

    prompt: list[int]
    kept: frozenset[int]
    before: list[int]
    missing: int
    cleared: dict[str, int]
    cleared_lines: frozenset[str]


class Step(NamedTuple):
    """One model turn with its results, or one other line.

    turn: positions of the lines of one API response, in file order; empty for another line.
    rest: positions of the lines that hold its results, or of the other line.
    """

    turn: Sequence[int]
    rest: Sequence[int]


def live_branch(thread: Thread) -> Branch:
    """The branch that holds the newest message of the thread. O(lines)."""
    leaf = _leaf(thread)
    path, boundary = _walk(thread, leaf, _keepers(thread))
    kept, missing = _kept(thread, boundary)
    live = _Marks(thread, boundary)
    live.add([*path, *kept, *_summaries(thread, boundary)])
    live.complete()
    live.trail(leaf)
    before = _before(thread, boundary)
    cleared, lines = _cleared(thread, [*before, *live.positions()])
    return Branch(
        prompt=_ordered(thread, boundary, live.positions(), kept),
        kept=frozenset(kept),
        before=[p for p in before if not live.live[p]],
        missing=missing,
        cleared=cleared,
        cleared_lines=lines,
    )


def steps(thread: Thread, positions: Sequence[int]) -> Iterator[Step]:
    """Lines in prompt order: a turn is whole at its first line, its results follow it. O(lines).

    The lines of one response and its results interleave in a file (call, result, call, result);
    a request carries the whole turn first and then all its results.
    """
    turns: dict[tuple[Any, ...], list[int]] = {}
    results: dict[tuple[Any, ...], list[int]] = {}
    of_turn: dict[int, tuple[Any, ...]] = {}
    for p in positions:
        turn = thread.lines[p].turn
        if turn is not None:
            of_turn[p] = turn
            turns.setdefault(of_turn[p], []).append(p)
    for p in positions:
        key = of_turn.get(thread.owner[p])
        if key is not None:
            results.setdefault(key, []).append(p)
    for p in positions:
        if p not in of_turn:
            if thread.owner[p] not in of_turn:
                yield Step((), (p,))
        elif of_turn[p] in turns:
            yield Step(turns.pop(of_turn[p]), results.get(of_turn[p], ()))


def _leaf(thread: Thread) -> int:
    """The newest line that decides which branch is live; -1 when nothing was said.

    Progress lines and attachments hang anywhere. A result does not decide either: one that comes
    late would revive the branch it is on. A system line does (commands, notices), below a message.
    """
    leaf, says = -1, bytearray(len(thread.lines))
    for p, line in enumerate(thread.lines):
        above = thread.up[p]
        says[p] = line.speaks or (above >= 0 and says[above])
        if line.speaks:
            decides = thread.owner[p] < 0 or not line.answers_only
        else:
            decides = line.kind == SYSTEM and bool(says[p]) and not line.is_boundary
        if decides:
            leaf = p
    return leaf


def _preserved(line: Line) -> tuple[list[str], list[str]]:
    """`uuid`s that a boundary keeps verbatim, and all that later lines may hang on."""
    meta = line.meta.get("compactMetadata")
    messages, segment = field(meta, "preservedMessages"), field(meta, "preservedSegment")
    listed_all = strings(field(messages, "allUuids"))
    kept = strings(field(messages, "uuids")) or listed_all
    return kept, [*kept, *listed_all, *strings(field(segment, "tailUuid"))]


def _keepers(thread: Thread) -> dict[int, list[int]]:
    """By position, the later boundaries that kept this line, in file order."""
    keepers: dict[int, list[int]] = {}
    for b, line in enumerate(thread.lines):
        if not line.is_boundary:
            continue
        for uuid in _preserved(line)[1]:
            p = thread.place.get(uuid, b)
            if p < b:
                keepers.setdefault(p, []).append(b)
    return keepers


def _walk(thread: Thread, leaf: int, keepers: Mapping[int, list[int]]) -> tuple[list[int], int]:
    """Positions from the leaf up to the last compaction, and its boundary; -1 without one.

    What follows a compaction hangs on the last line that it kept, which still hangs on the old
    conversation: a step onto a line that a boundary in between kept is a step onto that boundary.
    """
    path: list[int] = []
    p = leaf
    while p >= 0 and not thread.lines[p].is_boundary:
        path.append(p)
        above = thread.up[p]
        later = keepers.get(above, [])
        index = bisect_left(later, p)
        p = later[index - 1] if index else above
    return path, p


def _summaries(thread: Thread, boundary: int) -> list[int]:
    """The summary lines of a compaction. They need not be on the path when it kept messages."""
    found: list[int] = []
    for p in range(boundary + 1, len(thread.lines) if boundary >= 0 else 0):
        line = thread.lines[p]
        if line.is_boundary:
            break
        if line.is_summary and thread.up[p] in (boundary, *found[-1:]):
            found.append(p)
    return found


class _Marks:
    """The live positions, as they become known. Those up to the boundary are what it kept."""

    def __init__(self, thread: Thread, boundary: int) -> None:
        self.thread = thread
        self.first = boundary + 1
        self.live = bytearray(len(thread.lines))
        self.bears = bytearray(len(thread.lines))
        """Live lines off the path: what is no message and hangs on them is live too."""

    def add(self, positions: Iterable[int]) -> None:
        for p in positions:
            self.live[p] = 1

    def positions(self) -> list[int]:
        """The live positions after the boundary, ascending."""
        return [p for p in range(self.first, len(self.live)) if self.live[p]]

    def complete(self) -> None:
        """All lines of a live turn and all results of live calls are live."""
        lines, owner = self.thread.lines, self.thread.owner
        keys = _turn_keys(self.thread, self.positions())
        for p in range(self.first, len(lines)):
            if not self.live[p] and (
                lines[p].turn in keys or (owner[p] >= 0 and self.live[owner[p]])
            ):
                self.live[p] = self.bears[p] = 1

    def trail(self, leaf: int) -> None:
        """Attachments and boundaries that hang on the newest lines, and lines without any link."""
        thread = self.thread
        if leaf >= 0:
            self.bears[leaf] = 1
        for p in range(self.first, len(thread.lines)):
            above = thread.up[p]
            if self.live[p] or above < self.first:
                continue
            hangs = self.bears[above] and not thread.lines[p].speaks
            if hangs or (not thread.linked[p] and p < leaf and self.live[above]):
                self.live[p] = self.bears[p] = 1


def _turn_keys(thread: Thread, positions: Iterable[int]) -> frozenset[tuple[Any, ...]]:
    turns = (thread.lines[p].turn for p in positions)
    return frozenset(turn for turn in turns if turn is not None)


def _kept(thread: Thread, boundary: int) -> tuple[list[int], int]:
    """Positions that a compaction kept verbatim, in file order, and how many the file lacks."""
    if boundary < 0:
        return [], 0
    uuids = _preserved(thread.lines[boundary])[0]
    if not uuids:
        return _segment(thread, boundary)
    found = {thread.place[uuid] for uuid in uuids if uuid in thread.place}
    return sorted(p for p in found if p < boundary), sum(u not in thread.place for u in uuids)


def _segment(thread: Thread, boundary: int) -> tuple[list[int], int]:
    """The same where only head and tail of what was kept are named."""
    segment = field(thread.lines[boundary].meta.get("compactMetadata"), "preservedSegment")
    ends = [text_field(segment, key) for key in ("headUuid", "tailUuid")]
    first, last = (thread.place.get(uuid, -1) for uuid in ends)
    path = set[int]()
    p = last if last < boundary else -1
    while p >= max(first, 0):
        path.add(p)
        p = thread.up[p]
    keys = _turn_keys(thread, path)
    for p in range(max(first, 0), boundary if path else 0):
        if (p <= last and thread.lines[p].turn in keys) or thread.owner[p] in path:
            path.add(p)
    return sorted(path), sum(bool(uuid) and uuid not in thread.place for uuid in ends)


def _before(thread: Thread, boundary: int) -> list[int]:
    """The live branch above a compaction, through earlier ones, in file order."""
    if boundary < 0:
        return []
    found = _Marks(thread, -1)
    p = boundary
    while p >= 0:
        above = thread.up[p]
        line = thread.lines[p]
        if line.is_boundary:
            logical = thread.place.get(text_field(line.meta, "logicalParentUuid"), p)
            above = logical if logical < p else p - 1
        else:
            found.live[p] = 1
        p = above
    found.complete()
    return [p for p in found.positions() if p < boundary]


def _cleared(thread: Thread, positions: Iterable[int]) -> tuple[dict[str, int], frozenset[str]]:
    """What the microcompactions among these lines cleared."""
    calls: dict[str, int] = {}
    lines: list[str] = []
    for p in positions:
        meta = thread.lines[p].meta.get("microcompactMetadata")
        if isinstance(meta, dict):
            calls.update(dict.fromkeys(strings(meta.get("compactedToolIds")), p))
            lines += strings(meta.get("clearedAttachmentUUIDs"))
    return calls, frozenset(lines)


def _ordered(thread: Thread, boundary: int, live: list[int], kept: list[int]) -> list[int]:
    """Prompt order: what was kept stands behind its anchor, else behind the summary."""
    if not kept:
        return live
    meta = thread.lines[boundary].meta.get("compactMetadata")
    names = ("preservedMessages", "preservedSegment")
    anchors = [text_field(field(meta, name), "anchorUuid") for name in names]
    anchor = next((thread.place[a] for a in anchors if a in thread.place), -1)
    if anchor < boundary:
        anchor = max(_summaries(thread, boundary), default=boundary)
    cut = bisect_left(live, anchor + 1)
    return [*live[:cut], *kept, *live[cut:]]
