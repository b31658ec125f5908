"""Caches and prices by hand; what rested is cold."""

from __future__ import annotations

from replay_kit import FLAT, IDEAL, bench, rest

from compactor import Policy
from compactor.models import Prices
from compactor.replay.caches import CACHES, colds
from compactor.replay.prices import Tariff
from compactor.replay.recording import Asked
from compactor.replay.results import Step
from compactor.replay.serving import Served
from compactor.replay.simulate import Terms, simulate
from compactor.testing import Conversation

# Caches and prices, by hand.


def served(cache: str, sizes: list[int], minutes: list[int] | None = None) -> list[int]:
    """Cached tokens of requests that each add a call and a result of so many characters / 4."""
    talk = Conversation().user("u" * 4 * 96)
    for size in sizes:
        talk.call("t", {}, result="r" * 4 * size)
    work = bench(talk, Policy(window=10**6, counter="chars4"), cache)
    if minutes:
        work.recording = rest(work.recording, minutes)
    rows = simulate(
        work.recording,
        iter([Step()] * len(work.recording.requests)),
        Terms(work.cache, FLAT, None),
    ).rows
    return [row.cached for row in rows]


def test_each_cache_serves_by_its_own_rules() -> None:
    sizes = [2000, 5000, 300]
    whole = [0, 100, 2110, 7120]  # what the request before had: 4 and 2 for a call, 4 for a result
    assert served("prefix", sizes) == whole
    assert served("automatic", sizes) == whole
    assert served("blocks", sizes) == [0, 96, 2112, 7120]
    assert served("openai-old", sizes) == [0, 0, 2048, 7040]
    assert served("openai-5.5", sizes) == [0, 0, 2048, 6144]
    assert served("openai", sizes) == [0, 0, 2110, 7120]
    assert served("anthropic", sizes) == [0, 0, 2110, 7120]
    assert served("anthropic:min=4096", sizes) == [0, 0, 0, 7120]
    assert served("gemini:hidden=0", sizes) == [0, 0, 0, 4096]
    assert served("gemini", sizes) == [0, 0, 0, 8192 * 7430 // (7430 + 4096)]
    assert served("deepseek", sizes) == [0, 106, 2116, 7126]  # and the answer, a unit of its own


def test_what_rested_longer_than_its_lifetime_is_cold() -> None:
    minutes = [0, 4, 4, 6]
    assert served("anthropic:min=0", [100, 100, 100], minutes) == [0, 100, 210, 0]
    assert served("anthropic:min=0,ttl=1h", [100, 100, 100], minutes) == [0, 100, 210, 320]
    assert served("prefix", [100, 100, 100], minutes) == [0, 100, 210, 320]


def test_a_frontier_is_read_where_the_end_alone_reaches_nothing() -> None:
    talk = Conversation(system="s" * 8000).user("go")
    for k in range(40):
        talk.call("bash", {"n": k}, result=f"{k} " * 800)
    policy = Policy(window=15_000, counter="chars4", keep_recent=30, recent_tokens=10**5)
    plain, placed = (
        bench(talk, policy, f"anthropic:placement={place}").replay(policy)
        for place in ("tail", "tail+frontier")
    )
    assert plain.passes == placed.passes > 1
    assert placed.cached > plain.cached
    assert placed.tokens_sent == plain.tokens_sent


def test_removing_an_image_makes_an_anthropic_cache_start_anew() -> None:
    def cached(images: int) -> int:
        talk = Conversation(system="s" * 8000).user("go")
        for k in range(4):
            talk.call("a", {"n": k}, result="x" * 4000, images=0)
        talk.call("shot", result="y" * 8000, images=images)
        for k in range(12):
            talk.call("b", {"n": k}, result="z" * 400)
        policy = Policy(window=9_900, counter="chars4", keep_recent=6, protected_tools=("a",),
                        min_freed=100)  # fmt: skip
        made = bench(talk, policy, "anthropic").replay(policy)
        [row] = [row for row in made.rows if row.passes]
        return row.cached

    assert cached(0) > 4000
    assert cached(1) == 2000  # the system prompt


def test_money_is_whole_nano_dollars_and_cliffs_hold_for_the_whole_prompt() -> None:
    low = Prices(input=3_000_000, output=0, cache_read=300_000, cache_write=3_750_000)
    high = Prices(above=1000, input=6_000_000, output=0, cache_read=600_000, cache_write=7_500_000)
    tariff = Tariff((low, high))
    assert tariff.cost_nano(Served(cached=500, written=400, uncached=100)) == (
        500 * 300 + 400 * 3750 + 100 * 3000
    )
    assert tariff.cost_nano(Served(cached=500, written=400, uncached=101)) == (
        500 * 600 + 400 * 7500 + 101 * 6000
    )
    assert tariff.cost_nano(Served(0, 10, 0), long=True) == 10 * 6000
    assert Tariff((Prices(input=1, output=0),)).cost_nano(Served(0, 0, 1500)) == 2


def test_times_of_a_recording_tell_what_was_cold() -> None:
    asked = [Asked(1, 1, "a"), Asked(3, 200_000, "a"), Asked(5, 900_000, "a"), Asked(7, 0, "b")]
    assert colds(asked, CACHES["anthropic"]) == [False, False, True, True]
    assert colds(asked, IDEAL) == [False] * 4
