"""The truth check by hand, and over real recordings."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from replay_kit import FLAT, RECORDED, lab

import compactor
from compactor import Policy
from compactor.core.model import Usage
from compactor.replay import Bench, against_usage

# The truth check.


def with_usage(counts: list[tuple[int, int, int]], minutes: list[int]) -> Any:
    """A recording of which the provider counted (uncached, read, written) a request."""
    transcript = compactor.load(lab(len(counts) - 1).anthropic())
    times = itertools.accumulate(minutes)
    transcript.reading.usage = tuple(
        Usage(n=2 * k + 1, input=i, cache_read=r, cache_write=w, model="claude-opus-4-6",
              time_ms=1 + 60_000 * m)
        for k, ((i, r, w), m) in enumerate(zip(counts, times, strict=True))
    )  # fmt: skip
    transcript.reading.model = "claude-opus-4-6"
    return transcript


def test_the_causes_of_differences_are_named() -> None:
    grown = [(0, 5000 * k, 5000) for k in range(8)]
    wrong = [*grown[:4], (20000, 0, 5000), (0, 25000, 5000), (0, 30000, 5000), (0, 11000, 4000)]
    truth = against_usage(with_usage(wrong, [0, 1, 1, 1, 4, 1, 1, 1]), cache="anthropic:min=0")
    assert truth is not None
    assert truth.causes == {"cleared": 1, "missed": 1}
    rested = [*grown[:4], (20000, 0, 5000), *grown[5:]]
    truth = against_usage(
        with_usage(rested, [0, 1, 1, 1, 50, 1, 1, 1]), cache="anthropic:min=0,ttl=1h"
    )
    assert truth is not None
    assert truth.causes == {"expiry": 1}
    never = [(5000 * (k + 1), 0, 0) for k in range(8)]
    truth = against_usage(with_usage(never, [1] * 8), cache="anthropic:min=0")
    assert truth is not None
    assert truth.causes == {"not_cached": 7}
    assert not truth.whole


def test_nothing_is_compared_where_nothing_was_counted() -> None:
    assert against_usage(compactor.load(lab(3).anthropic())) is None


# Real recordings.


def recorded() -> Iterator[tuple[str, compactor.Transcript]]:
    """The recordings that can be read, by name."""
    for path in sorted(RECORDED.glob("*/*.json*")):
        with contextlib.suppress(compactor.CompactorError):
            yield path.name, compactor.load(path)


if RECORDED.is_dir():

    def test_recorded_cache_shares_are_met_where_the_bodies_are_whole() -> None:
        truths = ((name, against_usage(transcript)) for name, transcript in recorded())
        medians = {
            name: truth.median
            for name, truth in truths
            if truth is not None and truth.whole and truth.requests >= 5
        }
        assert len(medians) >= 20
        assert {name: median for name, median in medians.items() if median >= 30} == {}
        assert sorted(medians.values())[len(medians) // 2] <= 5

    def test_real_sessions_break_only_where_a_pass_changes_what_was_sent() -> None:
        passes = 0
        for _, transcript in recorded():
            if len(transcript.entries) < 80:
                continue
            work = Bench(transcript, Policy(window=100_000), cache="prefix", prices=FLAT)
            for name in ("threshold", "priced", "priced:keepRecent=30"):
                made = work.replay(name)
                assert [row.broken for row in made.rows] == [row.passes > 0 for row in made.rows]
                assert made.overflow_requests <= work.replay("none").overflow_requests
                passes += made.passes
        assert passes > 100
