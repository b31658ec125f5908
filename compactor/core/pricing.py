"""When a pass below the threshold is worth the cache that it breaks: the look-ahead rule.

Decides from the view and from how many requests there were since the last pass, so that the fold
derives it at every boundary and nothing has to be remembered. Sums are tokens times a price in per
mille of the input price. Specification: docs/policy.md, Priced passes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from compactor.core.fold import Fold
from compactor.core.model import PartKind
from compactor.core.plan import Plan


def first_reread(fold: Fold, plan: Plan, *, images_reset: bool) -> int:
    """The first entry that no cache has after a pass.

    Args:
        images_reset: removing an image makes the cache start anew.
    """
    images = (fold.standing(candidate.seq).parts for candidate in plan.elided)
    if images_reset and any(p.kind is PartKind.IMAGE for parts in images for p in parts):
        return 0
    return plan.first or 0


def why_wait(fold: Fold, plan: Plan, first: int) -> str:
    """Why a pass at the fold's n is not made for its price; "" when it is.

    It is made when what it frees, read for as long as it may go on, costs more than writing anew
    what the cache has of the rest; and when no later request could make the pass for less, the
    waiting included, because a large result of the recent region has become old by then.

    Args:
        first: see `first_reread`.

    Returns:
        a key of `WHYS`. O(recent region + entries from `first` on).
    """
    rules, numbers = fold.rules, fold.loop.compaction
    dearer, read = rules.write - rules.read, rules.read * plan.freed
    fold.work.visited += fold.n - (first or fold.known)
    rest = (sum(fold.tokens[first:]) if first else fold.view_tokens) - plan.saved
    new = sum(fold.tokens[max(first, fold.known) :])
    price = dearer * max(0, rest - new)
    least, each = numbers.outlook
    if (least + each * fold.since_pass()) * read < price:
        return "waits:price"
    for turns, gain in _later(fold, plan.cutoff):
        if 1000 * (price - dearer * (rest - gain)) > numbers.waiting * turns * read:
            return "waits:later"
    return ""


def _later(fold: Fold, cutoff: int) -> Iterator[tuple[int, int]]:
    """After how many more turns how much more of what is known could go. O(recent region)."""
    plain, gain = fold.candidates.plain, 0
    at = bisect_left(plain, cutoff)
    for turns, end in enumerate(fold.turns_behind(cutoff), 1):
        while at < len(plain) and plain[at] < end:
            fold.work.visited += 1
            gain += fold.candidates.by_seq[plain[at]].gain
            at += 1
        yield turns, gain
