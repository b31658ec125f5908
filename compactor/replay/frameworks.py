"""The compaction of inspect_ai and of Microsoft's Agent Framework, re-stated over entries.

See `strategies`. Both keep what they did: inspect in the input that it sends, the Agent Framework
by marks on its messages. Sizes are ours, where the original asks the provider. Specification:
docs/replay.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from compactor.core.model import Kind
from compactor.replay.prompt import DROPPED, Shown
from compactor.replay.recording import Recording
from compactor.replay.results import Results, Step, shown, step
from compactor.replay.spelling import Spelled, number, refuse_others

_INSPECT_WINDOW: Final = 128_000
_INSPECT_PASSES: Final = 4
_MAF_HEAD, _MAF_CUT, _MAF_END = "[Tool results: ", "... [truncated]", "]"
_MAF_CHARS: Final = 4096


def inspect_edit(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`inspect-edit:threshold=115200,keep=3`: inspect_ai 0.3.285 `CompactionEdit`.

    Above the threshold (0.9 of 128,000 there) all results but the newest `keep` go. Reasoning, of
    which the original keeps that of the last turn, stays here. Where it cannot get below the
    threshold the original ends the sample; here it sends what is left.
    """
    refuse_others(given, ("threshold", "keep"))
    limit, keep = number(given, "threshold", _INSPECT_WINDOW * 9 // 10), number(given, "keep", 3)
    results, text, saved = Results(recording, paired=True), "(Tool result removed)", 0
    each = shown(recording, text).tokens
    for asked in recording.requests:
        count = results.upto(asked.n) - keep
        going = results.left(count) if recording.upto[asked.n] - saved > limit else ()
        saved += sum(recording.tokens[seq] - each for seq in going)
        yield step(results.go(going, text))


def inspect_trim(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`inspect-trim:threshold=115200,preserve=80`: inspect_ai 0.3.285 `CompactionTrim`.

    Above the threshold the oldest messages after the task are dropped, all but `preserve` per cent,
    and results whose call went with them; up to four times. A result is a message there.
    """
    refuse_others(given, ("threshold", "preserve"))
    limit = number(given, "threshold", _INSPECT_WINDOW * 9 // 10)
    share = 1 - min(number(given, "preserve", 80), 100) / 100
    first, saved, n, task = 0, 0, 0, _task_end(recording)
    kept: list[int] = []
    for asked in recording.requests:
        kept += [seq for seq in range(max(n, task), asked.n) if _may_go(recording, seq)]
        n, before = asked.n, first
        for _ in range(_INSPECT_PASSES):
            if recording.upto[n] - saved <= limit:
                break
            end = _trimmed(recording, kept, first, share)
            saved += sum(recording.tokens[seq] for seq in kept[first:end])
            if end == first:
                break
            first = end
        yield step(dict.fromkeys(kept[before:first], DROPPED))


def _task_end(recording: Recording) -> int:
    """After the first message of the user."""
    kinds = (entry.kind is Kind.USER for entry in recording.entries)
    return next((seq + 1 for seq, is_user in enumerate(kinds) if is_user), 0)


def _may_go(recording: Recording, seq: int) -> bool:
    return recording.entries[seq].kind is not Kind.SYSTEM


def _trimmed(recording: Recording, kept: Sequence[int], first: int, share: float) -> int:
    """Where what is kept begins after one more trim."""
    end = first + int((len(kept) - first) * share)
    while end < len(kept) and recording.entries[kept[end]].kind is Kind.TOOL:
        end += 1
    return end


def maf_tool_results(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`maf-tool-results:keep=1`: Agent Framework 1.23 `ToolResultCompactionStrategy`.

    Before each request all calls with their results, but those of the newest `keep` turns, become a
    message of the model that lists the results, of at most 4,096 characters.
    """
    refuse_others(given, ("keep",))
    keep, groups, gone = number(given, "keep", 1), _tool_groups(recording), 0
    starts = [group[0] for group in groups]
    for asked in recording.requests:
        end = max(gone, bisect_left(starts, asked.n) - keep)
        changes: dict[int, Shown] = {}
        for group in groups[gone:end]:
            changes[group[0]] = shown(recording, _maf_summary(recording, group))
            changes |= dict.fromkeys(group[1:], DROPPED)
        gone = end
        yield step(changes)


def _maf_summary(recording: Recording, group: Sequence[int]) -> str:
    entries = [recording.entries[seq] for seq in group]
    results = [entry for entry in entries if entry.kind is Kind.TOOL]
    labels = [f"{e.name}: {e.body}" if e.name else e.body for e in results]
    listed = "; ".join(label.strip() for label in labels) or "no results"
    text = f"{_MAF_HEAD}{listed}{_MAF_END}"
    if len(text) <= _MAF_CHARS:
        return text
    room = _MAF_CHARS - len(_MAF_HEAD) - len(_MAF_CUT) - len(_MAF_END)
    return f"{_MAF_HEAD}{listed[:room].rstrip()}{_MAF_CUT}{_MAF_END}"


def maf_sliding(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`maf-sliding:groups=20`: Agent Framework 1.23 `SlidingWindowStrategy`.

    Before each request the newest groups only; a group is a message, or a turn's calls with their
    results. The task goes too.
    """
    refuse_others(given, ("groups",))
    keep, groups, gone = max(1, number(given, "groups", 20)), _groups(recording), 0
    starts = [group[0] for group in groups]
    sizes = list(accumulate(map(len, groups), initial=0))
    seqs = [seq for group in groups for seq in group]
    for asked in recording.requests:
        end = max(gone, bisect_left(starts, asked.n) - keep)
        going = seqs[sizes[gone] : sizes[end]]
        gone = end
        yield step(dict.fromkeys(going, DROPPED))


def _groups(recording: Recording) -> list[list[int]]:
    """Entries by group: calls with their results, other messages alone. Without system messages."""
    groups: list[list[int]] = []
    opened = False
    for seq, entry in enumerate(recording.entries):
        if entry.kind is Kind.TOOL and opened:
            groups[-1].append(seq)
        elif entry.kind is not Kind.SYSTEM:
            groups.append([seq])
        opened = entry.kind is Kind.TOOL or bool(entry.calls)
    return groups


def _tool_groups(recording: Recording) -> list[list[int]]:
    """The groups of calls and results."""
    entries = recording.entries
    groups = _groups(recording)
    return [g for g in groups if entries[g[0]].calls or entries[g[0]].kind is Kind.TOOL]
