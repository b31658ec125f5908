"""Signed reasoning: which entries show some, what it would free, whose is gone for good.

Specification: DESIGN section 5, Signed reasoning.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container

from compactor.core.candidates import Work
from compactor.core.count import Measure
from compactor.core.model import Entry, digest_without, entry_digest
from compactor.core.records import ReasoningRecord


class Signed:
    """Signed reasoning by seq. O(1) an entry; each is counted once.

    Args:
        instead: what a message keeps that would be left empty.

    Attributes:
        seqs: of the entries that show some, ascending.
    """

    def __init__(self, measure: Measure, instead: str, work: Work) -> None:
        self.seqs: list[int] = []
        self._measure = measure
        self._instead = instead
        self._work = work
        self._gone: dict[int, str] = {}
        self._tokens: dict[int, int] = {}

    def note(self, seq: int, is_shown: bool) -> None:
        """Put an entry among those that show some, or take it out."""
        at = bisect_left(self.seqs, seq)
        if is_shown != (at < len(self.seqs) and self.seqs[at] == seq):
            self.seqs[at : at + (not is_shown)] = [seq] * is_shown

    def recount(self, seq: int) -> None:
        """An entry is another than it was."""
        self._tokens.pop(seq, None)

    def forget(self, seq: int) -> None:
        """The last entry is gone."""
        self._tokens.pop(seq, None)
        if self.seqs and self.seqs[-1] == seq:
            self.seqs.pop()

    def hide(self, seqs: Container[int]) -> None:
        """Entries that are not shown any more, or not with their reasoning."""
        self.seqs = [seq for seq in self.seqs if seq not in seqs]

    def tokens(self, seq: int, entry: Entry) -> int:
        """What the estimate loses when an entry's signed reasoning goes."""
        if seq not in self._tokens:
            lost = sum(self._measure.part(part) for part in entry.parts if part.signed)
            kept = len(entry.hollow) * self._measure.text(self._instead)
            self._tokens[seq] = lost - kept
        return self._tokens[seq]

    def remove(self, record: ReasoningRecord) -> None:
        """The reasoning of these entries is gone for good."""
        self._gone |= dict(zip(record.removed, record.digests, strict=True))

    def removed_digest(self, seq: int, entry: Entry) -> str:
        """The entry's digest when a record speaks of its reasoning, else "".

        It may come back as we showed it: with what a message keeps that would be left empty.
        """
        known = self._gone.get(seq)
        if known is None:
            return ""
        self._work.hashed += 1
        is_known = known in (entry_digest(entry), digest_without(entry, self._instead))
        return known if is_known else ""
