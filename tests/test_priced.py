"""The priced trigger: a pass as soon as waiting has cost what it would break."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactor
from compactor import Journal, Outcome, Policy
from compactor.core.errors import PolicyError

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
        "patience": st.sampled_from([0, 300, 1000]),
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
