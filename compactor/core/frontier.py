"""How far the prompt is what an earlier request sent, and where that can be told to the provider.

Providers read a cache only back from a breakpoint, over few blocks, and only where an earlier
request wrote: at the ends of requests, and at the anchor, the end of what the last pass settled.
Later passes of the tier change nothing before the anchor, so that a breakpoint kept there is what
the next pass can read. Seqs only; knows no provider. Specification: DESIGN section 9;
providers.md A1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactor.core.fold import Fold
from compactor.core.records import PassRecord


class Reach(NamedTuple):
    """Places in the request that a fold shows, each as the number of entries before it.

    frontier: the longest prefix that an earlier request sent and wrote; 0 for none.
    anchor: the end of what the last pass settled; 0 before the first.
    passed: whether a pass was made for this very request.
    """

    frontier: int
    anchor: int
    passed: bool


def reach(fold: Fold) -> Reach:
    """Where the cache can be read, and where to keep it readable. O(passes) after a pass."""
    passes = fold.passes
    passed = bool(passes) and passes[-1].n == fold.n
    anchor = passes[-1].anchor if passes else 0
    if not passed:
        return Reach(_end_before(fold, fold.n), anchor, passed)
    return Reach(_written(fold, passes), anchor, passed)


def _written(fold: Fold, passes: Sequence[PassRecord]) -> int:
    """The longest prefix that stands as it was written, after a pass for this request.

    What was sent before an earlier pass stands only as far as that one changed nothing either.
    """
    unchanged = passes[-1].first_changed
    for earlier in reversed(passes[:-1]):
        end = _end_before(fold, unchanged)
        if end >= earlier.n:
            return end
        if earlier.anchor <= unchanged:
            return earlier.anchor
        unchanged = min(unchanged, earlier.first_changed)
    return _end_before(fold, unchanged)


def _end_before(fold: Fold, n: int) -> int:
    """The end of the last request before entry n; 0 when there was none."""
    return max(0, fold.answered(n) - 1)
