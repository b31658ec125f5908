"""Results and messages of a recording in order, for strategies that let the oldest go.

Keeps how far the oldest have gone, so that a request costs only what is new. Specification:
docs/replay.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from compactor.core.model import Entry, Kind
from compactor.replay.prompt import Shown
from compactor.replay.recording import Recording


class Step(NamedTuple):
    """What is new at a request.

    changes: seq → what stands for the entry from now on; None is the entry itself.
    passes: how many were made that changed what had been sent; a strategy of others makes one
        whenever it changes anything.
    anchor: entries that the last pass settled; 0 where that is not known.
    tier: of our own policies.
    tables: of what is new, the tokens that are a table of files read, by seq.
    """

    changes: Mapping[int, Shown | None] = {}
    passes: int = 0
    anchor: int = 0
    tier: str = ""
    tables: Mapping[int, int] = {}

    def without_tables(self) -> Step:
        """The same, had no table been written."""
        if not self.tables:
            return self
        changes = dict(self.changes)
        for seq, tokens in self.tables.items():
            shown = changes[seq]
            if shown is not None:
                changes[seq] = shown._replace(tokens=shown.tokens - tokens)
        return self._replace(changes=changes, tables={})


def step(changes: Mapping[int, Shown]) -> Step:
    """The step of a strategy that makes these changes."""
    return Step(changes, passes=int(bool(changes)), anchor=max(changes, default=-1) + 1)


def shown(recording: Recording, text: str) -> Shown:
    """A result whose body is this text."""
    return Shown(recording.measure.rewritten(text), text)


def begins_turn(recording: Recording, seq: int) -> bool:
    """Whether an entry begins a message of the user's own."""
    entries = recording.entries
    is_first = not seq or entries[seq - 1].kind is not Kind.USER
    return entries[seq].kind is Kind.USER and is_first


class Results:
    """The results so far. Cost of all calls together: O(results + what goes).

    Args:
        paired: only those whose call is known.

    Attributes:
        seqs: oldest first.
        newest_gone: seq of the newest that went; -1 for none.
    """

    def __init__(self, recording: Recording, *, paired: bool = False) -> None:
        self._recording = recording
        self._paired = paired
        self._n = 0
        self._gone = 0
        self.seqs: list[int] = []
        self.newest_gone = -1

    def upto(self, n: int) -> int:
        """Know the results below entry n; how many they are."""
        entries = self._recording.entries
        for seq in range(self._n, n):
            if entries[seq].kind is Kind.TOOL and (entries[seq].call or not self._paired):
                self.seqs.append(seq)
        self._n = max(self._n, n)
        return len(self.seqs)

    def below(self, seq: int) -> int:
        """How many lie below an entry."""
        return bisect_left(self.seqs, seq)

    def left(self, count: int) -> Sequence[int]:
        """Of the oldest `count`, those that have not gone."""
        return self.seqs[self._gone : max(count, 0)]

    def go(self, seqs: Sequence[int], text: str) -> dict[int, Shown]:
        """Let these, the oldest left, become the same text."""
        self._note(seqs)
        return dict.fromkeys(seqs, shown(self._recording, text))

    def become(self, count: int, text: Callable[[Entry], str]) -> dict[int, Shown]:
        """Let the oldest `count` become texts of their own; what a text does not change stays."""
        seqs, entries = self.left(count), self._recording.entries
        self._note(seqs)
        texts = {seq: text(entries[seq]) for seq in seqs}
        return {
            seq: shown(self._recording, made)
            for seq, made in texts.items()
            if made != entries[seq].body
        }

    def _note(self, seqs: Sequence[int]) -> None:
        if seqs:
            self._gone = bisect_left(self.seqs, seqs[-1]) + 1
            self.newest_gone = seqs[-1]


class Messages:
    """The messages of a recording: adjacent results are one, other entries are one each."""

    def __init__(self, recording: Recording) -> None:
        kinds = [entry.kind for entry in recording.entries]
        self.starts = [
            seq
            for seq, kind in enumerate(kinds)
            if not (seq and kind is Kind.TOOL and kinds[seq - 1] is Kind.TOOL)
        ]
        self._kinds = kinds

    def upto(self, n: int) -> int:
        """How many begin below entry n."""
        return bisect_left(self.starts, n)

    def since(self, n: int, seq: int) -> int:
        """How many come after the one that holds an entry; all where it is -1."""
        return self.upto(n) - (self.upto(seq + 1) if seq >= 0 else 0)

    def start(self, index: int, n: int) -> int:
        """The first entry of a message, at most n."""
        return min(self.starts[index], n) if index < len(self.starts) else n

    def kind(self, index: int) -> Kind:
        return self._kinds[self.starts[index]]
