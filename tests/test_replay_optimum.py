"""The hindsight optimum against brute force."""

from __future__ import annotations

import itertools

import pytest
from replay_kit import FLAT, IDEAL, bench, lab

from compactor import Policy
from compactor.core.fold import Fold
from compactor.core.plan import make_plan, tier
from compactor.loop import loop
from compactor.replay.optimum import optimum
from compactor.replay.own import rules_of
from compactor.replay.prompt import Shown
from compactor.replay.recording import Recording
from compactor.replay.results import Step
from compactor.replay.simulate import Terms, simulate
from compactor.testing import Conversation

# The optimum.


def by_force(recording: Recording, policy: Policy) -> int:
    """The least cost over every set of requests to make a pass at, by the core's own plans."""
    rules = rules_of(recording, policy)
    fold = Fold(loop(), recording.measure, rules, recording.overhead, False)
    plans = []
    for asked in recording.requests:
        for seq in range(fold.n, asked.n):
            fold.add(recording.entries[seq])
        plan = make_plan(fold, tier(rules, "elide"), lambda _number: None)
        going = {c.seq: Shown(recording.measure.rewritten(t), t) for c, t in
                 ((c, c.marker.form(False)) for c in plan.elided)}  # fmt: skip
        plans.append(going)

    def cost(passes: tuple[bool, ...]) -> int:
        gone: dict[int, Shown] = {}
        steps = []
        for made, plan in zip(passes, plans, strict=True):
            new = {seq: shown for seq, shown in plan.items() if made and seq not in gone}
            gone |= new
            steps.append(Step(new))
        rows = simulate(recording, iter(steps), Terms(IDEAL, FLAT, None)).rows
        return sum(row.cost_nano for row in rows)

    return min(map(cost, itertools.product((False, True), repeat=len(plans))))


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_the_least_of_all_schedules(seed: int) -> None:
    talk = Conversation(system="s" * 40).user("go")
    for k in range(8):
        size = 1 + (7 * k + 5 * seed) % 11
        name = "scan_sinks" if (k + seed) % 4 == 0 else "bash"
        talk.call(name, {"n": k}, result=f"row {k} " * 40 * size, error=(k + seed) % 5 == 0)
    policy = Policy(window=100_000, counter="chars4", keep_recent=2 + seed % 3,
                    evidence_budget_tokens=300 * (seed % 3))  # fmt: skip
    recording = bench(talk, policy).recording
    found = optimum(recording, rules_of(recording, policy), FLAT)
    assert found is not None
    assert found.cost_nano == by_force(recording, policy)
    assert bool(found.passes) == (seed != 4)  # there, evidence within the budget leaves little


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
