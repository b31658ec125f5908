"""The prompts of successive requests as paths in a tree of prefixes.

An entry is a step, named by what is shown of it; two requests share exactly the prefix that is
byte for byte the same (where messages were dropped, one that happens to equal another is new). A
change costs what lies behind it, nothing else is looked at again. Knows no provider and no policy.
Specification: DESIGN section 9, docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from compactor.core.model import Kind
from compactor.replay.recording import Recording


class Shown(NamedTuple):
    """What stands for an entry.

    tokens: 0 for one that is left out.
    text: names it: equal texts of one entry are equal bytes; None is the entry as it was handed
        in, "" one that is left out.
    """

    tokens: int
    text: str | None


AS_IT_WAS = None
DROPPED = Shown(0, "")


class Node:
    """A prefix of prompts, from the overhead up to and including one entry.

    tokens, blocks: of the whole prefix.
    seq: of its last entry, -1 for the overhead alone.
    left: index of the last request that had it and whose successor had not; -1 for none.
    """

    __slots__ = ("blocks", "children", "left", "seq", "tokens")

    def __init__(self, tokens: int, blocks: int, seq: int) -> None:
        self.tokens = tokens
        self.blocks = blocks
        self.seq = seq
        self.left = -1
        self.children: dict[str | None, Node] = {}


class Prompt:
    """The prompt of one request after the other.

    Attributes:
        path: its prefixes, the overhead first; one more than entries.
        n: entries.
        kept: how many entries begin it as they began the last request.
        known: how many begin it as they began any earlier one.
        number: of the request, from 0.
        images_gone: how often an image that had been sent was taken away.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._shown: dict[int, Shown] = {}
        self.path = [Node(recording.overhead, 1, -1)]
        self.number = -1
        self.kept = self.known = 0
        self.images_gone = 0

    @property
    def n(self) -> int:
        return len(self.path) - 1

    @property
    def tokens(self) -> int:
        return self.path[-1].tokens

    @property
    def stable(self) -> int:
        """Tokens that begin it as they began the last request, overhead included."""
        return self.path[self.kept].tokens if self.number else 0

    @property
    def broken(self) -> bool:
        """Whether the last request is no prefix of it."""
        return self._broken

    def advance(self, n: int, changes: Mapping[int, Shown | None]) -> None:
        """The next request. O(entries from the first changed or new one on).

        Args:
            changes: seq → what stands for the entry from now on; None is the entry itself.
        """
        before = self.n
        real = {seq: shown for seq, shown in changes.items() if self._shown.get(seq) != shown}
        first = min([before, n, *real])
        for node in self.path[first + 1 :]:
            node.left = self.number
        del self.path[first + 1 :]
        for seq, shown in real.items():
            if seq < before and shown is not None and self._recording.images[seq]:
                self.images_gone += 1
            if shown is None:
                del self._shown[seq]
            else:
                self._shown[seq] = shown
        self.number += 1
        self.kept = first
        self._broken = first < before
        self.known = self._extend(n)

    def _extend(self, n: int) -> int:
        """The path up to n; how far it was there already."""
        recording, known = self._recording, self.n
        for seq in range(self.n, n):
            shown, last = self._shown.get(seq), self.path[-1]
            text = shown.text if shown else None
            node = last.children.get(text)
            if node is None:
                tokens = recording.tokens[seq] if shown is None else shown.tokens
                blocks = 0 if text == "" else recording.blocks[seq]
                node = Node(last.tokens + tokens, last.blocks + blocks, seq)
                last.children[text] = node
            elif known == seq:
                known = seq + 1
            self.path.append(node)
        return known

    def ends_a_message(self, at: int) -> bool:
        """Whether entry at-1 is a user's, or the last of adjacent results."""
        entries = self._recording.entries
        kind = entries[at - 1].kind
        if kind is Kind.TOOL:
            return at >= self.n or entries[at].kind is not Kind.TOOL
        return kind is Kind.USER

    def is_answer(self, at: int) -> bool:
        """Whether the entry at an index is a model turn, shown as it was."""
        return self._recording.entries[at].kind is Kind.ASSISTANT and at not in self._shown
