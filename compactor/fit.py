"""Fits a scale and an overhead to recorded prompts. Integers only; the same data, the same numbers.

A prompt is `overhead + estimate(scale)` over a growing history. Of two requests of one conversation
the overhead cancels, so the scale is the median slope over pairs of requests, each weighed by the
tokens between them (Theil and Sen): half of the data may be odd. The fit is repeated on what is
left over, with the estimate's own rounding, until nothing is; of the nearest scales the one that
scatters least is taken, and the overhead is a median.
Specification: docs/recordings.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, combinations
from typing import Final, NamedTuple

POINTS_MAX: Final = 50
"""Requests of one conversation that are paired with each other, evenly spread."""
REQUESTS_MIN: Final = 3
SPAN_MIN: Final = 1000
"""Counted tokens that the history of some conversation must have grown by."""
_ROUNDS_MAX: Final = 10
_NANO: Final = 10**9
_NEAR: Final = (1, 2)


class Request(NamedTuple):
    """A recorded request.

    n: it was made over entries 0..n-1.
    prompt: tokens that the provider counted.
    stretch: only requests of the same one can be compared; the lowest tells the overhead.
    """

    n: int
    prompt: int
    stretch: int = 0


class Series(NamedTuple):
    """The requests of one conversation to one model.

    requests: at least one, `n` never falling.
    counts: of each entry the unscaled counts of its parts.
    """

    requests: Sequence[Request]
    counts: Sequence[Sequence[int]]


class Fit(NamedTuple):
    """What fits best.

    scale: per mille.
    overhead: tokens.
    pairs: how many pairs of requests the scale is the median of.
    errors: estimate less prompt of every request, per mille of the prompt, ascending.
    """

    scale: int
    overhead: int
    pairs: int
    errors: tuple[int, ...]

    def quantile(self, percent: int) -> int:
        """The error that so many per cent of the requests do not exceed."""
        return self.errors[(len(self.errors) - 1) * percent // 100]


def estimates(series: Series, scale: int, per_entry: int) -> list[int]:
    """What each request is estimated at without overhead. O(parts)."""
    sizes = (
        per_entry + sum((count * scale + 999) // 1000 for count in counts)
        for counts in series.counts
    )
    upto = list(accumulate(sizes, initial=0))
    return [upto[request.n] for request in series.requests]


def fit(all_series: Sequence[Series], per_entry: int) -> Fit | None:
    """The scale and the overhead of some conversations with one model.

    Returns:
        None when they hold too little: fewer than `REQUESTS_MIN` requests, or none that are
        `SPAN_MIN` counted tokens apart.
    """
    spans = [_spans(series) for series in all_series]
    widest = max((span for pairs in spans for _, _, span in pairs), default=0)
    if sum(len(series.requests) for series in all_series) < REQUESTS_MIN or widest < SPAN_MIN:
        return None
    scale = 1000
    for _ in range(_ROUNDS_MAX):
        left = [_left(series, scale, per_entry) for series in all_series]
        step = _step(zip(left, spans, strict=True))
        scale = max(scale + step, 1)
        if not step:
            break
    scale = min(_around(scale), key=lambda near: _scatter(all_series, near, per_entry))
    return _with_overhead(all_series, scale, per_entry, sum(map(len, spans)))


def middle(values: Iterable[int]) -> int:
    """The median; of two in the middle the higher: a count too low is worse than one too high."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def weighted_middle(weighed: Iterable[tuple[int, int]]) -> int:
    """The value below which lies half of all weight. Pairs are (value, weight > 0)."""
    ordered = sorted(weighed)
    half = sum(weight for _, weight in ordered)
    for value, weight in ordered:
        half -= 2 * weight
        if half <= 0:
            return value
    raise ValueError("nothing to take the middle of")


def per_mille(part: int, whole: int) -> int:
    """Rounded to the nearest, halves up."""
    return (2000 * part + whole) // (2 * whole)


def _spans(series: Series) -> list[tuple[int, int, int]]:
    """Pairs of requests that can be compared, with the counted tokens between them, over 0."""
    counted = list(accumulate(map(sum, series.counts), initial=0))
    requests = series.requests
    stretches = _stretches(series, range(len(requests))).values()
    pairs = (pair for indexes in stretches for pair in combinations(_spread(indexes), 2))
    spans = ((a, b, counted[requests[b].n] - counted[requests[a].n]) for a, b in pairs)
    return [(a, b, span) for a, b, span in spans if span > 0]


def _spread(indexes: Sequence[int]) -> list[int]:
    """At most `POINTS_MAX` of them, the first and the last among them."""
    if len(indexes) <= POINTS_MAX:
        return list(indexes)
    last = len(indexes) - 1
    return [indexes[i * last // (POINTS_MAX - 1)] for i in range(POINTS_MAX)]


def _left(series: Series, scale: int, per_entry: int) -> list[int]:
    """What each prompt holds beyond its estimate."""
    estimated = estimates(series, scale, per_entry)
    return [request.prompt - e for request, e in zip(series.requests, estimated, strict=True)]


def _step(each: Iterable[tuple[Sequence[int], Sequence[tuple[int, int, int]]]]) -> int:
    """By how much the scale is too low, per mille."""
    slopes = (
        ((left[b] - left[a]) * _NANO // span, span) for left, spans in each for a, b, span in spans
    )
    return per_mille(weighted_middle(slopes), _NANO)


def _around(scale: int) -> list[int]:
    """The scale and its neighbours, the nearest first: rounding may hide a step."""
    return [scale, *(near for by in _NEAR for near in (scale - by, scale + by) if near > 0)]


def _scatter(all_series: Sequence[Series], scale: int, per_entry: int) -> int:
    """How far apart the overheads are that comparable requests have."""
    found = 0
    for series in all_series:
        for left in _stretches(series, _left(series, scale, per_entry)).values():
            overhead = middle(left)
            found += sum(abs(beyond - overhead) for beyond in left)
    return found


def _with_overhead(all_series: Sequence[Series], scale: int, per_entry: int, pairs: int) -> Fit:
    left = [_left(series, scale, per_entry) for series in all_series]
    overhead = max(middle(map(_beyond, all_series, left)), 0)
    errors = (
        per_mille(overhead - beyond, request.prompt)
        for series, beyonds in zip(all_series, left, strict=True)
        for request, beyond in zip(series.requests, beyonds, strict=True)
    )
    return Fit(scale, overhead, pairs, tuple(sorted(errors)))


def _beyond(series: Series, left: Sequence[int]) -> int:
    """What the prompts of a conversation hold beyond their estimates, in its lowest stretch."""
    return middle(min(_stretches(series, left).items())[1])


def _stretches(series: Series, values: Iterable[int]) -> dict[int, list[int]]:
    """Values that belong to requests, by the stretch of these."""
    found: dict[int, list[int]] = {}
    for request, value in zip(series.requests, values, strict=True):
        found.setdefault(request.stretch, []).append(value)
    return found
