"""Scale and overhead out of prompts that are known to have them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compactor.fit import (
    POINTS_MAX,
    Fit,
    Request,
    Series,
    estimates,
    fit,
    middle,
    per_mille,
    weighted_middle,
)

FRAME = 4


def made(counts: list[list[int]], scale: int, overhead: int, *, start: int = 0) -> Series:
    """A request over each beginning of a history, counted exactly as the settings say."""
    bare = Series([Request(n, 0) for n in range(start, len(counts) + 1)], counts)
    prompts = estimates(bare, scale, FRAME)
    requests = [
        r._replace(prompt=p + overhead) for r, p in zip(bare.requests, prompts, strict=True)
    ]
    return Series(requests, counts)


parts = st.lists(st.integers(0, 60), max_size=4)
long_parts = st.lists(st.integers(1000, 9000), min_size=1, max_size=3)
histories = st.lists(st.one_of(parts, long_parts), min_size=8, max_size=60)
scales, overheads = st.integers(200, 4000), st.integers(0, 200_000)


@given(histories, scales, overheads)
def test_what_prompts_were_made_of_is_found_exactly(
    history: list[list[int]], scale: int, overhead: int
) -> None:
    series = made([[2000], *history, [3000], [5000], [7000]], scale, overhead, start=1)
    found = fit([series], FRAME)
    assert found is not None
    assert (found.scale, found.overhead) == (scale, overhead)
    assert set(found.errors) == {0}
    assert len(found.errors) == len(series.requests)


@given(st.lists(st.tuples(histories, overheads), min_size=1, max_size=3), scales)
def test_conversations_of_one_model_share_a_scale_whatever_their_overheads(
    talks: list[tuple[list[list[int]], int]], scale: int
) -> None:
    tail = [[3000], [5000], [7000]]
    series = [made([[2000], *talk, *tail], scale, overhead, start=1) for talk, overhead in talks]
    found = fit(series, FRAME)
    assert found is not None
    assert (found.scale, found.overhead) == (scale, middle(overhead for _, overhead in talks))


@given(scales, overheads, st.lists(st.integers(1, 50_000), min_size=1, max_size=9), st.data())
def test_some_prompts_that_hold_more_than_the_file_change_nothing(
    scale: int, overhead: int, extras: list[int], data: st.DataObject
) -> None:
    series = made([[3000 + 17 * n, 40, 7] for n in range(40)], scale, overhead)
    odd = data.draw(st.sets(st.integers(0, 40), min_size=len(extras), max_size=len(extras)))
    requests = list(series.requests)
    for index, extra in zip(sorted(odd), extras, strict=True):
        requests[index] = requests[index]._replace(prompt=requests[index].prompt + extra)
    found = fit([Series(requests, series.counts)], FRAME)
    assert found is not None
    assert abs(found.scale - scale) <= 1
    assert abs(found.overhead - overhead) <= 200
    assert found.quantile(50) == 0


def test_what_was_added_once_in_the_middle_is_no_part_of_the_scale() -> None:
    """A summary or a file that the harness put in: all later prompts hold it."""
    series = made([[2000] for _ in range(60)], 1240, 9000)
    requests = [r._replace(prompt=r.prompt + 30_000 * (r.n > 50)) for r in series.requests]
    found = fit([Series(requests, series.counts)], FRAME)
    assert found is not None
    assert (found.scale, found.overhead) == (1240, 9000)


def test_requests_of_other_stretches_are_not_compared_and_the_lowest_tells_the_overhead() -> None:
    """An image came between: nobody knows how many tokens it is."""
    series = made([[2000] for _ in range(20)], 1500, 700)
    requests = [
        r._replace(prompt=r.prompt + 1300 * (r.n > 4), stretch=int(r.n > 4))
        for r in series.requests
    ]
    found = fit([Series(requests, series.counts)], FRAME)
    assert found is not None
    assert (found.scale, found.overhead, found.pairs) == (1500, 700, 5 * 4 // 2 + 16 * 15 // 2)
    assert (found.errors[-1], found.errors[0] < 0) == (0, True)


def test_the_overhead_is_never_below_nothing() -> None:
    series = made([[2000] for _ in range(5)], 1000, 0, start=1)
    requests = [r._replace(prompt=r.prompt - 500) for r in series.requests]
    found = fit([Series(requests, series.counts)], FRAME)
    assert found is not None
    assert (found.scale, found.overhead) == (1000, 0)
    assert found.errors[0] > 0


def test_too_little_gives_nothing() -> None:
    assert fit([], FRAME) is None
    assert fit([made([[5000]], 1000, 10)], FRAME) is None
    assert fit([made([[300], [300], [300]], 1000, 10)], FRAME) is None
    assert fit([made([[500], [500], [500]], 1000, 10)], FRAME) is not None
    assert fit([made([[]] * 9, 1000, 10)], FRAME) is None


def test_a_long_conversation_is_compared_at_so_many_requests_only() -> None:
    found = fit([made([[50]] * 5000, 1111, 20)], FRAME)
    assert found is not None
    assert found.pairs == POINTS_MAX * (POINTS_MAX - 1) // 2
    assert len(found.errors) == 5001


def test_errors_are_told_by_share() -> None:
    found = Fit(1000, 0, 1, tuple(range(-10, 11)))
    assert [found.quantile(percent) for percent in (0, 5, 50, 95, 100)] == [-10, -9, 0, 9, 10]


def test_middles_are_of_the_values_and_of_their_weights() -> None:
    assert (middle([3, 1, 2]), middle([4, 1, 2, 3]), middle([7])) == (2, 3, 7)
    assert weighted_middle([(1, 1), (2, 1), (9, 3)]) == 9
    assert weighted_middle([(1, 2), (2, 1), (9, 1)]) == 1
    assert weighted_middle([(5, 1)]) == 5


def test_per_mille_is_rounded_to_the_nearest() -> None:
    assert [per_mille(n, 1000) for n in (-3, 0, 7)] == [-3, 0, 7]
    assert [per_mille(n, 2000) for n in (-3, -1, 1, 3, 5)] == [-1, 0, 1, 2, 3]
