"""The hindsight optimum against brute force."""

from __future__ import annotations

import random

from replay_kit import FLAT, bench, lab, said

import compactor
from compactor import Policy
from compactor.replay import Bench
from compactor.replay.optimum import optimum
from compactor.replay.own import rules_of
from compactor.testing import Conversation, ToolCall
from tests.replay_by_force import cheapest
from tests.replay_requests import MEASURE


def small(rng: random.Random) -> Conversation:
    talk = Conversation().user("u" * rng.randrange(1, 800))
    for k in range(rng.randrange(2, 7)):
        kind, size = rng.random(), rng.choice([0, 10, 200, 800, 3000, 9000])
        if kind < 0.7:
            name = rng.choice(["bash", "bash", "scan_sinks"])
            talk.call(name, {"n": k}, result="x" * size, error=rng.random() < 0.2)
        elif kind < 0.85:
            talk.parallel([ToolCall("bash", {"i": i}, "y" * size) for i in range(size % 3 + 1)])
        else:
            talk.user("more " * (size % 199 + 1))
    return talk


def test_the_optimum_is_the_cheapest_of_all_schedules() -> None:
    rng, passes = random.Random(7), 0
    for _ in range(250):
        recording = compactor.load(small(rng).anthropic(), "anthropic")
        whole = sum(map(MEASURE.entry, recording.entries))
        rules = {
            "keep_recent": rng.choice([1, 2, 3, 5]), "recent_tokens": rng.choice([100, 500, 2000]),
            "evidence_budget_tokens": rng.choice([0, 100, 600]), "min_gain": rng.choice([25, 100]),
            "counter": "chars4", "recallable": rng.random() < 0.5,
        }  # fmt: skip
        window = max(200, whole * rng.choice([3, 5, 7, 9, 20]) // 10)
        tight = Policy(window=window, **rules)
        bench = Bench(recording, tight, cache="prefix")
        found = optimum(bench.recording, rules_of(bench.recording, tight), bench.tariff,
                        recallable=tight.recallable)  # fmt: skip
        assert found is not None
        loose = Policy(window=10**9, min_freed=0, **rules)
        cost = cheapest(recording, loose, window, lambda read, new: 100 * read + 1250 * new)
        assert found.cost_nano == cost
        passes += len(found.passes)
    assert passes > 100


def test_no_policy_of_ours_in_the_first_tier_is_cheaper_than_the_optimum() -> None:
    rng, compared = random.Random(11), 0
    for _ in range(60):
        recording = compactor.load(said(rng, 20).anthropic(), "anthropic")
        for trigger in ("threshold", "priced"):
            policy = Policy(window=rng.choice([6000, 12000, 30000]), trigger=trigger)
            made = compactor.replay(recording, policy, cache="prefix")
            if {row.tier for row in made.rows} <= {"elide"} and not made.overflow_requests:
                assert made.cost_to_optimum is not None
                assert made.cost_to_optimum >= 1
                compared += 1
    assert compared > 40


def test_no_policy_of_one_tier_is_cheaper_than_the_optimum() -> None:
    work = bench(lab(60), Policy(window=40_000, counter="chars4"))
    for name in ("none", "threshold", "priced", "priced:patience=300"):
        made = work.replay(name)
        assert made.cost_to_optimum is not None
        assert {row.tier for row in made.rows} <= {"", "elide"}
        assert made.cost_to_optimum >= 1


def test_the_optimum_keeps_within_the_window_where_it_can() -> None:
    policies = (Policy(window=n, counter="chars4", reserve_tokens=2000, recent_tokens=40_000)
                for n in (200_000, 10_500))  # fmt: skip
    works = [bench(lab(), policy) for policy in policies]
    free, tight = (optimum(w.recording, rules_of(w.recording, w.base), FLAT) for w in works)
    assert free is not None
    assert tight is not None
    assert free.cost_nano < tight.cost_nano


def test_tables_of_files_read_count_on_both_sides() -> None:
    policy = Policy(window=30_000, counter="chars4")
    read, other = (
        bench(reading(name), policy).replay("threshold") for name in ("Read", "Look")
    )  # only the first is known to read files; the names are as long
    assert [row.passes for row in read.rows] == [row.passes for row in other.rows]
    assert other.passes > 2
    tables = read.cost_nano - other.cost_nano
    assert tables > 0
    assert read.cost_to_optimum is not None
    assert other.cost_to_optimum is not None
    best = other.cost_nano / other.cost_to_optimum
    assert abs(read.cost_to_optimum - read.cost_nano / (best + tables)) < 2e-4


def reading(name: str) -> Conversation:
    talk = Conversation().user("go")
    for k in range(60):
        talk.call(name, {"file_path": f"/src/module_{k:02}.py"}, result="x" * 8000)
    return talk
