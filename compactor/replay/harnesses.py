"""The masks of opencode and Gemini CLI, re-stated over entries. See `strategies`.

Both keep what they did in their own history and look at it from the newest message back, so that
what went before is never counted again. Specification: docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from compactor.core.model import Kind
from compactor.core.policy import named
from compactor.replay.foreign import gemini_preview, gemini_tokens, opencode_tokens
from compactor.replay.prompt import Shown
from compactor.replay.recording import Recording
from compactor.replay.results import Step, begins_turn, shown, step
from compactor.replay.spelling import Spelled, number, refuse_others

_OPENCODE_STUB: Final = "[Old tool result content cleared]"
_OPENCODE_PROTECTED: Final = ("skill",)
_GEMINI_EXEMPT: Final = ("activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode")


def opencode_prune(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`opencode-prune:protect=40000,minimum=20000`: opencode's `SessionCompaction.prune`, 001aa6cc.

    When the user's turn ends, over what lies before the last two turns: newest first, what is past
    the protected tokens goes, if that is more than the minimum; it stops at a result that went
    before. Errors and `skill` stay. Sizes are characters / 4.
    """
    refuse_others(given, ("protect", "minimum"))
    protect, minimum = number(given, "protect", 40_000), number(given, "minimum", 20_000)
    sizes, gone, n = _opencode_sizes(recording), -1, 0
    turns: list[int] = []
    for asked in recording.requests:
        new = [seq for seq in range(n, asked.n) if begins_turn(recording, seq)]
        turns, n, going = turns + new, asked.n, []
        if new and len(turns) > 2:  # the loop of the turn before has ended
            seqs = range(turns[-3] - 1, gone, -1)
            going = _past(seqs, sizes, protect, minimum)
        gone = max([gone, *going])
        yield step(dict.fromkeys(going, shown(recording, _OPENCODE_STUB)))


def _opencode_sizes(recording: Recording) -> dict[int, int]:
    """Sizes of the results that may go."""
    entries = recording.entries
    return {
        seq: opencode_tokens(entries[seq].body)
        for seq in recording.tools
        if not entries[seq].error and entries[seq].name not in _OPENCODE_PROTECTED
    }


def _past(seqs: Iterable[int], sizes: Mapping[int, int], protect: int, minimum: int) -> list[int]:
    """Results beyond the protected tokens, newest first, if they are worth it."""
    total, going = 0, []
    for seq in seqs:
        total += sizes.get(seq, 0)
        if total > protect and seq in sizes:
            going.append(seq)
    return going if sum(sizes[seq] for seq in going) > minimum else []


def gemini_cli_mask(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`gemini-cli-mask:protect=50000,minimum=30000`: Gemini CLI's `ToolOutputMaskingService`.

    Read at 25137857. Before each request, newest first and without the newest message: what is past
    the protected tokens goes, if that is at least the minimum, save what a preview would not make
    smaller. What went does not count again. Its random file names are left out.
    """
    refuse_others(given, ("protect", "minimum"))
    protect, minimum = number(given, "protect", 50_000), number(given, "minimum", 30_000)
    window = _Protected(recording, protect)
    for asked in recording.requests:
        window.upto(_newest_message(recording, asked.n))
        changes = window.mask() if window.prunable >= minimum else {}
        yield step(changes)


def _newest_message(recording: Recording, n: int) -> int:
    """Where the newest message of a request begins: adjacent results are one."""
    entries, start = recording.entries, n - 1
    while start > 0 and entries[start].kind is entries[start - 1].kind is Kind.TOOL:
        start -= 1
    return max(start, 0)


class _Protected:
    """Results that were not masked, the newest of them protected.

    prunable: tokens of those that are not.
    """

    def __init__(self, recording: Recording, protect: int) -> None:
        self._recording = recording
        self._protect = protect
        self._n = 0
        self._old: list[int] = []
        self._new: list[int] = []
        self._first = 0
        self._kept = 0
        self._sizes: dict[int, int] = {}
        self.prunable = 0

    def upto(self, n: int) -> None:
        """Know the results below an entry. The newest that together are within are protected."""
        entries = self._recording.entries
        for seq in range(self._n, n):
            entry = entries[seq]
            if entry.kind is Kind.TOOL and entry.body and not named(entry.name, _GEMINI_EXEMPT):
                self._sizes[seq] = gemini_tokens(entry, None)
                self._new.append(seq)
                self._kept += self._sizes[seq]
        self._n = max(n, self._n)
        while self._kept > self._protect:
            seq = self._new[self._first]
            self._first += 1
            self._kept -= self._sizes[seq]
            self.prunable += self._sizes[seq]
            self._old.append(seq)

    def mask(self) -> dict[int, Shown]:
        """Mask what is not protected, where that makes it smaller."""
        entries, left, changes = self._recording.entries, [], {}
        for seq in self._old:
            text = gemini_preview(entries[seq])
            if gemini_tokens(entries[seq], text) < self._sizes[seq]:
                changes[seq] = shown(self._recording, text)
            else:
                left.append(seq)
        self._old, self.prunable = left, sum(self._sizes[seq] for seq in left)
        return changes
