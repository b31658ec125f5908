"""The results that plans may have to look at, kept so that a plan costs only what is new in it.

Plain ones go once they are old. Evidence is spent a budget on, oldest first, and most of it never
goes; how far a budget was spent is remembered, as later evidence changes nothing before it.
Specification: DESIGN section 5, step 2 and Work.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

import msgspec

from compactor.core.marker import Marker
from compactor.core.table import FileRead


class Candidate(msgspec.Struct):
    """A result that plans may have to look at: it could go, or it is evidence.

    tokens: of the entry as it stands.
    gain: tokens saved by eliding it, with the longer marker form and its row of the table.
    read: its row of the table of files read, None when it is no full read.
    """

    seq: int
    tokens: int
    gain: int
    evidence: bool
    marker: Marker
    read: FileRead | None


class Work(msgspec.Struct):
    """What was done so far, for tests that hold the cost of a call to what is new.

    visited: entries looked at by the fold or by a plan.
    hashed: digests made.
    rendered: markers written.
    """

    visited: int = 0
    hashed: int = 0
    rendered: int = 0


class Spending(msgspec.Struct):
    """A budget spent on the evidence below `upto`, oldest first.

    spent: tokens; kept: results they went to.
    over: seqs of evidence that did not fit and could go, ascending.
    """

    upto: int = 0
    spent: int = 0
    kept: int = 0
    over: dict[int, None] = {}


class Candidates:
    """Candidates by seq.

    Args:
        min_gain: tokens that make an elision worth it.
        work: counts what is looked at.

    Attributes:
        plain, evidence: seqs of either kind, ascending.
        elidable_tokens: what all of them could free.
    """

    def __init__(self, min_gain: int, work: Work) -> None:
        self.by_seq: dict[int, Candidate] = {}
        self.plain: list[int] = []
        self.evidence: list[int] = []
        self.elidable_tokens = 0
        self._min_gain = min_gain
        self._work = work
        self._spendings: dict[tuple[str, int], Spending] = {}

    def add(self, candidate: Candidate) -> None:
        """A result, unless it is neither evidence nor worth eliding. O(log n) at the end."""
        could_go = candidate.gain >= self._min_gain
        if not candidate.evidence and not could_go:
            return
        seq = candidate.seq
        self.by_seq[seq] = candidate
        insort(self.evidence if candidate.evidence else self.plain, seq)
        self.elidable_tokens += candidate.gain if could_go else 0
        if candidate.evidence:
            self._spend_anew(seq)

    def drop(self, seq: int) -> None:
        """One result is a candidate no more, if it was one. O(log n) at the end."""
        self.drop_all((seq,))

    def drop_all(self, seqs: Iterable[int]) -> None:
        """Results that are candidates no more. O(those after the first of them)."""
        gone = [self.by_seq.pop(seq) for seq in seqs if seq in self.by_seq]
        for candidate in gone:
            self.elidable_tokens -= candidate.gain if candidate.gain >= self._min_gain else 0
            if candidate.evidence:
                self._spend_anew(candidate.seq)
        self._close(self.plain, [c.seq for c in gone if not c.evidence])
        self._close(self.evidence, [c.seq for c in gone if c.evidence])

    def spend(self, tier: str, budget: int, upto: int) -> Spending:
        """How a tier's budget is spent on the evidence below a seq.

        Cost: O(evidence that the tier did not look at before), as its cutoff only grows.
        """
        spending = self._spendings.get((tier, budget))
        if spending is None or spending.upto > upto:
            spending = self._spendings[tier, budget] = Spending()
        first, end = (bisect_left(self.evidence, seq) for seq in (spending.upto, upto))
        for seq in self.evidence[first:end]:
            self._work.visited += 1
            candidate = self.by_seq[seq]
            if spending.spent + candidate.tokens <= budget:
                spending.spent += candidate.tokens
                spending.kept += 1
            elif candidate.gain >= self._min_gain:
                spending.over[seq] = None
        spending.upto = upto
        return spending

    def _spend_anew(self, seq: int) -> None:
        """Evidence came or went: what was spent stays only if none was spent on it or after it."""
        for key, spending in list(self._spendings.items()):
            if seq in spending.over:
                del spending.over[seq]
            elif seq < spending.upto:
                del self._spendings[key]

    def _close(self, seqs: list[int], gone: list[int]) -> None:
        """Take seqs out of an ascending list."""
        if gone:
            at = bisect_left(seqs, min(gone))
            seqs[at:] = [seq for seq in seqs[at:] if seq in self.by_seq]
