"""What a call of `compact` costs, with its journal and without, as the history grows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import compactor
from benchmarks.measure import Row, Table, best
from benchmarks.talks import messages, step

ROOMY = 10**9
"""A window in which no pass is ever due."""
PASSING = 30
"""Tokens of window for each entry of a history in which most results have been elided."""


def one_more(sizes: Sequence[int]) -> Table:
    """One more request with the journal of the one before; no pass is due."""
    rows = [Row(f"{size:,} entries", _one_more(size, ROOMY)) for size in sizes]
    return Table("one more request, with its journal, nothing elided", rows, ratio="time")


def one_more_elided(sizes: Sequence[int]) -> Table:
    """The same after passes that elided most results, whose markers every request shows."""
    rows = [Row(f"{size:,} entries", _one_more(size, PASSING * size)) for size in sizes]
    return Table("one more request, with its journal, most results elided", rows, ratio="time")


def whole(sizes: Sequence[int]) -> Table:
    """A call without a journal: a fold over all boundaries."""
    rows = []
    for size in sizes:
        request, policy = messages(size), compactor.Policy(window=PASSING * size)
        compactor.compact(request, policy)  # the counts are remembered from here on
        seconds = best(partial(compactor.compact, request, policy), 3)
        rows.append(Row(f"{size:,} entries", seconds, size))
    return Table("a request without a journal", rows, "entries", "cost")


def _one_more(size: int, window: int, requests: int = 12) -> float:
    """Seconds of the fastest of several requests in a row, each two entries longer."""
    policy, talk = compactor.Policy(window=window), messages(size)
    journals = [compactor.compact(talk, policy).journal]

    def send() -> None:
        journals.append(compactor.compact(talk, policy, journals.pop()).journal)

    seconds = []
    for k in range(requests):
        talk = talk + step(size + k)
        seconds.append(best(send, 1))
    return min(seconds)
