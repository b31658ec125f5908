"""The priced trigger: a pass as soon as what it frees is worth what it breaks."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactor
from compactor import Journal, Outcome, Policy
from compactor.core.errors import PolicyError
from compactor.core.policy import policy_from
from compactor.testing import Conversation
from tests import oracle

SETTINGS: dict[str, Any] = {
    "window": 100_000,
    "counter": "chars4",
    "counter_scale": 1000,
    "overhead_tokens": 0,
    "keep_recent": 1,
    "min_freed": 1,
    "trigger": "priced",
    "read": 100,
    "write": 1000,
    "patience": 1000,
}


AHEAD = {key: value for key, value in SETTINGS.items() if key != "patience"}


def talk(sizes: list[int]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"kind": "user", "text": "go"}]
    for number, size in enumerate(sizes):
        call = {"id": f"c{number}", "name": "bash", "arguments": "{}"}
        entries.append({"kind": "assistant", "text": "", "calls": [call]})
        entries.append({"kind": "tool", "call": f"c{number}", "text": "x" * size})
    return entries


def test_a_pass_comes_when_the_carry_has_paid_for_it() -> None:
    request = talk([4000] + [40] * 12)
    whys, journal = [], None
    for size in range(3, len(request) + 1, 2):
        out = compactor.compact(request[:size], Policy(**SETTINGS), journal)
        journal = out.journal
        whys.append(out.report.why)
    # The result frees S = 1004 - 12 (the marker) - ... tokens a request: carry grows by 100 * S,
    # and the pass costs 900 * R, R being what stands from the marker on.
    [made] = [p for p in out.journal.records if getattr(p, "trigger", "") == "priced"]
    freed = made.tokens_before - made.tokens_after
    waited = whys.index("passed") - 1
    rest = made.reread_tokens
    assert 100 * freed * (waited + 1) * 1000 >= 1000 * 900 * rest
    assert 100 * freed * waited * 1000 < 1000 * 900 * rest
    assert whys[1 : waited + 1] == ["waits:carry"] * waited


def whys(request: list[dict[str, Any]], policy: Policy) -> list[str]:
    """What the report of each request says, each with the journal of the one before."""
    said: list[str] = []
    journal: Journal | None = None
    for size in range(3, len(request) + 1, 2):
        out = compactor.compact(request[:size], policy, journal)
        journal = out.journal
        said.append(out.report.why)
    return said


def test_without_a_patience_a_pass_waits_until_requests_to_come_could_pay_for_it() -> None:
    request = talk([200, 40_000, *[40] * 40])
    said = whys(request, Policy(**AHEAD | {"keep_recent": 80}))
    # Nothing is old until 80 entries stand; then the small result goes only with the large one.
    assert set(said[:40]) == {"below_threshold"}
    assert said[40:] == ["waits:price", "passed"]


def test_without_a_patience_a_pass_waits_for_what_is_about_to_become_old() -> None:
    policy = Policy(**AHEAD | {"keep_recent": 6})
    said = whys(talk([12_000, 20_000, *[40] * 8]), policy)
    # 3,000 tokens could go, but a turn later so could 5,000 that would have to be written anew.
    assert said[3:6] == ["waits:later", "passed", "below_threshold"]
    # With 100 tokens in the place of the 5,000 there is nothing to wait for.
    assert whys(talk([12_000, 400, *[40] * 8]), policy)[3] == "passed"


def test_without_a_patience_what_is_new_has_no_price() -> None:
    request = talk([4000, 40])
    [plain, pasted] = [[*request, {"kind": "user", "text": "u" * size}] for size in (4, 40_000)]
    for entries in (plain, pasted):
        assert compactor.compact(entries, Policy(**AHEAD)).report.why == "passed"
    # Once it has been sent, a pass would have to write it again.
    said = [{"kind": "assistant", "text": "yes"}, {"kind": "user", "text": "go on"}]
    policy, before = Policy(**AHEAD | {"min_freed": 2000}), request[:3]
    assert compactor.compact([*before, *pasted[3:], *said], policy).report.why == "waits:min_freed"
    late = Policy(**AHEAD | {"keep_recent": 4})
    assert compactor.compact([*pasted, *said], late).report.why == "waits:price"


def test_where_a_cache_is_read_only_from_breakpoints_all_of_the_view_has_its_price() -> None:
    talk = Conversation().user("u" * 40_000)
    for chars in (12_000, 40, 40):
        talk.call("bash", {}, result="x" * chars)
    policy = Policy(window=100_000, trigger="priced", keep_recent=1, counter="chars4")
    claude = talk.anthropic() | {"model": "claude-sonnet-4-5"}
    said = [
        compactor.compact(claude, policy),
        compactor.compact(claude, policy, place_breakpoints=True),
        *(
            compactor.compact(talk.openai_chat() | {"model": model}, policy, format="openai-chat")
            for model in ("gpt-5.6-sol", "gpt-5.4")
        ),
    ]
    assert [len(out.report.passes) for out in said] == [0, 1, 0, 1]
    assert [said[0].report.why, said[2].report.why] == ["waits:price"] * 2
    caches = ("anthropic", "anthropic:placement=tail+frontier", "openai", "prefix")
    made = [compactor.replay(compactor.load(claude), policy, cache=name) for name in caches]
    assert [replay.passes for replay in made] == [0, 1, 0, 1]


def test_a_priced_pass_that_looks_ahead_may_free_less_unless_the_policy_says_how_much() -> None:
    wide = {"window": 40_000, "min_freed": None}  # a reserve of 8000: 800, and 200 for this rule
    said = [
        compactor.compact(talk([chars, 40]), Policy(**AHEAD | wide | more)).report.why
        for chars in (700, 1200)
        for more in ({}, {"min_freed": 400}, {"patience": 0})
    ]
    assert said == [
        *("waits:min_freed", "waits:min_freed", "waits:min_freed"),
        *("passed", "waits:min_freed", "waits:min_freed"),
    ]


def test_the_report_says_what_a_pass_below_the_threshold_had_to_free() -> None:
    wide = Policy(**AHEAD | {"window": 40_000, "min_freed": None})
    below = compactor.compact(talk([700, 40]), wide).report
    assert (below.why, below.min_freed) == ("waits:min_freed", 200)
    above = compactor.compact(talk([140_000]), wide).report
    assert (above.tokens_before > above.threshold, above.min_freed) == (True, 800)


def test_the_look_ahead_rule_is_what_the_oracle_says_at_every_request() -> None:
    rng, said = random.Random(5), Counter[str]()
    for _ in range(20):
        sizes = [rng.choice([10, 40, 400, 4000, 12_000, 30_000]) for _ in range(20)]
        policy = {
            "window": 200_000, "trigger": "priced", "read": rng.choice([20, 100, 250]),
            "write": 1250, "keepRecent": rng.choice([1, 3, 6, 8]), "counter": "chars4",
            "recentTokens": rng.choice([2000, 40_000]), "minFreed": rng.choice([0, 100, 5000]),
        }  # fmt: skip
        request, passes, journal = talk(sizes), list[Any](), None
        for size in range(3, len(request) + 1, 2):
            part = request[:size]
            whole = policy_from(policy | {"overheadTokens": 0}, "test")
            out = compactor.compact(part, whole, journal)
            expected = oracle.run(part, policy, passes=passes)
            journal, passes = out.journal, passes + expected["passes"]
            assert (out.report.why, list(out.report.passes)) == (
                expected["why"],
                expected["passes"],
            )
            said[out.report.why] += 1
    assert min(said[why] for why in ("passed", "waits:price", "waits:later")) > 10, said


def test_a_cold_cache_breaks_nothing_and_a_cold_call_without_a_pass_leaves_no_trace() -> None:
    request = talk([4000, 40, 40])
    policy = Policy(**SETTINGS | {"patience": 10**6})
    warm = compactor.compact(request, policy)
    assert warm.report.why == "waits:carry"
    assert compactor.compact(request, policy, cold=True).report.why == "passed"
    small = talk([40, 40, 40])
    assert (
        compactor.compact(small, policy, cold=True).journal
        == compactor.compact(small, policy).journal
    )


@pytest.mark.parametrize("patience", [None, 1000])
def test_where_a_cache_makes_nothing_cheaper_a_pass_has_no_price(patience: int | None) -> None:
    unpriced = {key: value for key, value in SETTINGS.items() if key not in ("read", "write")}
    policy = Policy(**unpriced | {"model": "gpt-3.5-turbo", "patience": patience})
    said = whys(talk([4000] + [40] * 12), policy)
    assert said.index("passed") == 1, said


def test_prices_that_make_no_sense_are_refused() -> None:
    for read, write in ((0, 1000), (1000, 1000), (2000, 1000)):
        with pytest.raises(PolicyError) as error:
            compactor.compact(talk([1]), Policy(**SETTINGS | {"read": read, "write": write}))
        assert error.value.code == "policy.range"


POLICIES = st.fixed_dictionaries(
    {
        "window": st.sampled_from([300, 1200, 3000]),
        "keep_recent": st.sampled_from([1, 2, 8]),
        "min_freed": st.sampled_from([None, 0, 1, 100]),
        "trigger": st.sampled_from(["priced", "priced", "threshold"]),
        "patience": st.sampled_from([None, None, 0, 300, 1000]),
        "elide_inputs": st.booleans(),
    }
).map(lambda chosen: Policy(**SETTINGS | chosen))


@given(st.data())
def test_however_the_journal_is_carried_and_the_history_cut_the_decisions_are_the_same(
    data: st.DataObject,
) -> None:
    entries = talk([data.draw(st.sampled_from([40, 900]))])
    in_memory: Journal | None = None
    lines: list[str] | None = None
    policy = data.draw(POLICIES)
    for _ in range(data.draw(st.integers(1, 6))):
        if data.draw(st.integers(0, 3)) == 0:
            del entries[data.draw(st.integers(1, len(entries))) :]
        sizes = data.draw(st.lists(st.sampled_from([0, 100, 900]), max_size=3))
        more = talk(sizes)[1:]
        for entry in more:
            for call in entry.get("calls", ()):
                call["id"] = f"{len(entries)}-{call['id']}"
            if "call" in entry:
                entry["call"] = f"{len(entries) - 1}-{entry['call']}"
            entries.append(entry)
        if data.draw(st.integers(0, 2)) == 0:
            policy = data.draw(POLICIES)
        one = compactor.compact(list(entries), policy, in_memory, force=True)
        known = Journal.from_lines(lines) if lines else None
        other = compactor.compact(list(entries), policy, known, force=True)
        in_memory, lines = one.journal, other.journal.to_lines()
        assert _said(one) == _said(other)
        assert in_memory.to_lines() == lines


def _said(out: Outcome) -> tuple[Any, ...]:
    return out.request, out.report.why, out.report.tokens_after
