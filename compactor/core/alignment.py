"""Which lines of two texts are the same: the shortest difference where it is near, else a good one.

Lines that the other text does not have, and the equal lines at both ends, are set aside: they
cost nothing more. On the rest Myers' greedy search looks for the shortest way; where that is too
far, the texts are split at lines that stand once in each, and within a piece the search goes on
from the farthest point reached. So the work is linear in the lines whatever they are, and the
answer depends on nothing but them. Specification: DESIGN section 7.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Alignment(NamedTuple):
    """Equal lines of two texts, in order.

    pairs: (index in the old, index in the new), both ascending.
    steps: lines looked at, for tests of the cost.
    """

    pairs: list[tuple[int, int]]
    steps: int


def align(old: Sequence[str], new: Sequence[str], work: int) -> Alignment:
    """Pair the equal lines of two texts. O(lines + work).

    Args:
        work: about so many steps go into looking for the shortest difference.
    """
    start, end = _ends(old, new)
    olds, news = _shared(old, new, start, end)
    search = _Search([old[i] for i in olds], [new[i] for i in news], work)
    search.run()
    pairs = [(i, i) for i in range(start)]
    pairs += [(olds[a], news[b]) for a, b in search.pairs]
    pairs += [(len(old) - i, len(new) - i) for i in range(end, 0, -1)]
    return Alignment(pairs, search.steps + len(old) + len(new))


def _ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines are equal at the start and, of the others, at the end."""
    most = min(len(old), len(new))
    start = next((i for i in range(most) if old[i] != new[i]), most)
    most -= start
    end = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    return start, end


def _shared(
    old: Sequence[str], new: Sequence[str], start: int, end: int
) -> tuple[list[int], list[int]]:
    """Indexes between the ends of lines that both texts have there."""
    inner_old, inner_new = range(start, len(old) - end), range(start, len(new) - end)
    in_old, in_new = {old[i] for i in inner_old}, {new[i] for i in inner_new}
    return [i for i in inner_old if old[i] in in_new], [i for i in inner_new if new[i] in in_old]


class _Search:
    """Fills `pairs` for two sequences."""

    def __init__(self, old: list[str], new: list[str], work: int) -> None:
        names: dict[str, int] = {}
        self._old = [names.setdefault(line, len(names)) for line in old]
        self._new = [names.setdefault(line, len(names)) for line in new]
        self._reach = max(_LEAST, work // (len(old) + len(new) + 1))
        self.pairs: list[tuple[int, int]] = []
        self.steps = 0

    def run(self) -> None:
        old, new = len(self._old), len(self._new)
        reached = self._walk(0, 0, old, new)
        if reached == (old, new):
            return
        self.pairs.clear()
        self._pieces([*self._anchors(), (old, new)])

    def _pieces(self, anchors: Iterable[tuple[int, int]]) -> None:
        """Go from anchor to anchor, each time as far as the search sees."""
        at = (0, 0)
        for a, b in anchors:
            while at != (a, b):
                at = self._walk(*at, a, b)
            if a < len(self._old):
                self.pairs.append(at)
                at = (a + 1, b + 1)

    def _anchors(self) -> list[tuple[int, int]]:
        """Lines that stand once in each, as many as keep their order in both. O(n log n)."""
        counts = Counter(self._old), Counter(self._new)
        places = {line: b for b, line in enumerate(self._new) if counts[1][line] == 1}
        once = [
            (a, places[line])
            for a, line in enumerate(self._old)
            if counts[0][line] == 1 and line in places
        ]
        self.steps += len(self._old) + len(self._new)
        return _longest_ascending(once)

    def _walk(self, old: int, new: int, old_end: int, new_end: int) -> tuple[int, int]:
        """The shortest way to the end, or as far as the search sees; adds the pairs on it.

        Returns:
            where it came to: past where it began, unless that is the end.
        """
        trace: list[list[int]] = []
        ends = [old]  # per diagonal old - new, from -d to d in steps of 2: how far in the old
        best = _Way(-1, 0, 0)
        for d in range(self._reach + 1):
            if d:
                ends = _stepped(ends, d)
            for k in range(len(ends)):
                a = ends[k]
                b = a - old + new - (2 * k - d)
                if not old <= a <= old_end or b > new_end:
                    ends[k] = _OUT
                    continue
                a = ends[k] = self._slide(a, b, old_end, new_end)
                b = a - old + new - (2 * k - d)
                if a + b > best.sum:
                    best = _Way(a + b, d, k)
                if a == old_end and b == new_end:
                    break
            trace.append(ends)
            self.steps += len(ends)
            if best.sum == old_end + new_end:
                break
        self._add(trace, best, old, new)
        a = trace[best.d][best.k]
        return a, best.sum - a

    def _slide(self, a: int, b: int, old_end: int, new_end: int) -> int:
        """How far equal lines go on from a place."""
        olds, news, start = self._old, self._new, a
        while a < old_end and b < new_end and olds[a] == news[b]:
            a += 1
            b += 1
        self.steps += a - start
        return a

    def _add(self, trace: list[list[int]], best: _Way, old: int, new: int) -> None:
        """The pairs on a way, walked back from where it ends."""
        found: list[tuple[int, int]] = []
        k = best.k
        for d in range(best.d, -1, -1):
            a, shift = trace[d][k], new - old - (2 * k - d)
            before, k = _before(trace[d - 1], k) if d else (old, k)
            found += [(i, i + shift) for i in range(a - 1, before - 1, -1)]
        self.pairs += reversed(found)


_LEAST = 2
"""However many lines there are, the search looks past so many differing ones."""
_OUT = -(1 << 60)
"""A diagonal that has left the texts."""


class _Way(NamedTuple):
    """A way of d changes, by its diagonal's index. sum: lines of both texts that it has passed."""

    sum: int
    d: int
    k: int


def _stepped(ends: list[int], d: int) -> list[int]:
    """Each diagonal's farthest place after one more change."""
    return [_before(ends, k)[0] for k in range(d + 1)]


def _before(ends: list[int], k: int) -> tuple[int, int]:
    """Where diagonal k starts after one more change, and the diagonal that it comes from.

    Deleting a line of the old goes one diagonal up, inserting one of the new goes one down; of two
    that come equally far, the insertion holds.
    """
    deleted = ends[k - 1] + 1 if k else _OUT
    inserted = ends[k] if k < len(ends) else _OUT
    return (deleted, k - 1) if deleted > inserted else (inserted, k)


def _longest_ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that ascend in both; they ascend in the first. O(n log n)."""
    tails: list[int] = []
    piles: list[int] = []
    links: list[int] = []
    for index, (_, b) in enumerate(pairs):
        pile = bisect_left(tails, b)
        links.append(piles[pile - 1] if pile else -1)
        tails[pile : pile + 1] = [b]
        piles[pile : pile + 1] = [index]
    chosen: list[tuple[int, int]] = []
    at = piles[-1] if piles else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = links[at]
    return chosen[::-1]
