"""Signed reasoning that a change in front of it has made void, where it is to go (`drop`).

A provider that binds reasoning to its prefix refuses what stood behind the first entry that is
shown otherwise; what the model says afterwards it says over the changed prefix. So it goes with the
change, whoever made it. Specification: DESIGN section 5, Signed reasoning.
"""

from __future__ import annotations

from bisect import bisect_left

from compactor.core.fold import Fold
from compactor.core.records import ReasoningRecord


def void_behind(fold: Fold, first: int | None) -> tuple[int, ...]:
    """Entries whose signed reasoning goes with a change at `first`; None for no change."""
    if fold.rules.reasoning != "drop" or first is None:
        return ()
    return tuple(fold.signed.seqs[bisect_left(fold.signed.seqs, first) :])


def removals(fold: Fold, first: int) -> list[ReasoningRecord]:
    """The record that says so; none where none goes."""
    removed = void_behind(fold, first)
    return [ReasoningRecord(fold.n, removed, tuple(map(fold.digest, removed)))] if removed else []
