"""What prompt caches serve, told once more and slowly.

Written from the providers' documentation and DESIGN section 9 alone, beside `compactor.replay`:
each cache keeps every earlier prompt as a list of pieces and looks through all of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from compactor.core.model import Kind
from tests.replay_requests import Piece, Sent, alive, is_young, tokens

MINUTE = 60_000
DAY = 24 * 60 * MINUTE


def common(one: tuple[Piece, ...], other: tuple[Piece, ...]) -> tuple[Piece, ...]:
    n = 0
    while n < min(len(one), len(other)) and one[n].key == other[n].key:
        n += 1
    return one[:n]


def breaks(all_sent: list[Sent]) -> list[bool]:
    """Of each request whether the one before is no prefix of it."""
    pairs = pairwise(all_sent)
    return [False, *(common(a.pieces, b.pieces) != a.pieces for a, b in pairs)]


def longest(earlier: list[Sent], now: Sent, answers: bool = False) -> int:
    had = [(*one.pieces, *([one.answer] if one.answer and answers else ())) for one in earlier]
    return max((tokens(common(now.pieces, pieces)) for pieces in had), default=0)


def prefix(earlier: list[Sent], now: Sent) -> tuple[int, int]:
    cached = longest(earlier, now)
    return cached, tokens(now.pieces) - cached


def stepped(step: int, least: int, ttl: int, last: int = 0, hidden: int = 0) -> Any:
    """The longest beginning in common, in whole steps.

    last: tokens that are always computed; where there are some, answers are kept as well. hidden:
    tokens beside the prompt's that steps are counted with; what is said is a share of the prompt.
    """

    def serve(earlier: list[Sent], now: Sent) -> tuple[int, int]:
        found = min(longest(alive(earlier, now, ttl), now, last > 0), tokens(now.pieces) - last)
        found, whole = max(0, found), tokens(now.pieces)
        said = min(found, (found + hidden) // step * step * whole // (whole + hidden))
        return (said if said >= least else 0), 0

    return serve


def deepseek(earlier: list[Sent], now: Sent) -> tuple[int, int]:
    """Whole units only: prompts, prompts with their answer, what two requests had in common."""
    units: list[tuple[Piece, ...]] = []
    for one in alive(earlier, now, DAY):
        before = alive(earlier[: earlier.index(one)], one, DAY)
        units += [common(one.pieces, other.pieces) for other in before]
        units += [one.pieces, (*one.pieces, *([one.answer] if one.answer else []))]
    whole = [unit for unit in units if common(unit, now.pieces) == unit]
    return max((tokens(unit) for unit in whole), default=0), 0


def written_at(
    earlier: list[Sent], points: Any, least: Any, ttl: int, reach: Any, image_rule: bool = False
) -> Any:
    """Runs the requests up to the last through a store of exact boundaries.

    points: of a request, the numbers of pieces after which it writes; reach: of a request and one
    of its points, the numbers of pieces where it looks for something written, longest first.
    """
    store: dict[Any, int] = {}
    result, epoch = (0, 0), 0
    for i, now in enumerate(earlier):
        epoch += image_rule and i > 0 and lost_images(earlier[i - 1], now)

        def key(n: int, now: Sent = now, epoch: int = epoch) -> Any:
            messages = any(p.kind != "overhead" for p in now.pieces[:n])
            return now.model, epoch if messages else 0, tuple(p.key for p in now.pieces[:n])

        def live(n: int, now: Sent = now, key: Any = key) -> bool:
            used = store.get(key(n))
            return used is not None and is_young(used, now.time, ttl)

        looked = [n for point in points(now) for n in reach(now, point) if live(n)]
        cached = tokens(now.pieces[: looked[0]]) if looked else 0
        able = [n for n in points(now) if tokens(now.pieces[:n]) >= least(now.model)]
        end = max((tokens(now.pieces[:n]) for n in able), default=0)
        result = cached, max(0, end - cached)
        for n in able + looked[:1]:
            store[key(n)] = now.time
    return result


def lost_images(before: Sent, now: Sent) -> bool:
    pairs = zip(before.pieces, now.pieces, strict=False)
    return any(a.images > b.images for a, b in pairs)


def anthropic(least: Any, ttl: int) -> Any:
    """Breakpoints behind the system prompt and at the end; 20 blocks back from each."""

    def points(now: Sent) -> list[int]:
        system = [1] if now.pieces[0].kind == "overhead" else []
        return [len(now.pieces), *system]

    def reach(now: Sent, point: int) -> list[int]:
        far = [sum(p.blocks for p in now.pieces[n:point]) for n in range(point + 1)]
        return [n for n in range(point, 0, -1) if far[n] < 20]

    return lambda earlier, now: written_at([*earlier, now], points, least, ttl, reach, True)


def openai() -> Any:
    """One breakpoint at the last eligible message end; the 20 eligible ends before it."""

    def ends(now: Sent) -> list[int]:
        kinds = [p.kind for p in now.pieces] + [""]
        eligible = (Kind.USER, Kind.TOOL, "overhead")
        return [
            n + 1
            for n in range(len(kinds) - 1)
            if kinds[n] in eligible and not kinds[n] == kinds[n + 1] == Kind.TOOL
        ][::-1]

    def reach(now: Sent, point: int) -> list[int]:
        return [n for n in ends(now) if n <= point][:21]

    def last(now: Sent) -> list[int]:
        return ends(now)[:1]

    least, life = (lambda _model: 1024), 30 * MINUTE
    return lambda earlier, now: written_at([*earlier, now], last, least, life, reach)
