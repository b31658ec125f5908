"""Agents of forty turns against fakes that enforce each provider's rules, through real clients.

Nothing that `compact` made is refused, whether the agent keeps the journal or not; what it must not
do, the fakes refuse (`test_fakes` checks them one rule at a time).
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.types.beta import BetaMessageParam, BetaThinkingConfigParam
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter

from compactor import Policy
from compactor.core.records import ReasoningRecord
from tests.fakes.agents import (
    Memory,
    Ran,
    run_anthropic,
    run_chat,
    run_gemini,
    run_responses,
)
from tests.fakes.script import turns

BINDING, FREE = "claude-sonnet-5-5", "claude-opus-4-6"
ADAPTIVE = {"type": "adaptive"}
SMALL: dict[str, Any] = {"window": 9000, "counter": "chars4", "keep_recent": 4}


def thinking(memory: Memory) -> Ran:
    return run_anthropic(turns(), memory, model=BINDING, thinking=ADAPTIVE)


def unbound(memory: Memory) -> Ran:
    return run_anthropic(turns(), memory, model=FREE, binds=False)


RUNS: dict[str, tuple[Callable[[Memory], Ran], dict[str, Any]]] = {
    "anthropic, provider": (thinking, {}),
    "anthropic, drop": (thinking, {"reasoning": "drop"}),
    "anthropic, drop in mid-turn": (thinking, {"reasoning": "drop", "window": 6500}),
    "anthropic, nothing bound": (unbound, {}),
    "openai chat": (lambda memory: run_chat(turns(), memory), {}),
    "openai responses": (lambda memory: run_responses(turns(), memory), {}),
    "gemini": (lambda memory: run_gemini(turns(), memory), {}),
}


@cache
def ran(name: str, *, keeps_journal: bool = True, marks: bool = False) -> Ran:
    """A whole run, made once."""
    run, settings = RUNS[name]
    policy = Policy(**(SMALL | settings))
    return run(Memory(policy, keeps_journal=keeps_journal, place_breakpoints=marks))


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_refused_with_the_journal_and_without(name: str) -> None:
    kept, anew = (ran(name, keeps_journal=keeps) for keeps in (True, False))
    assert len(kept.fake.requests) == 40
    assert len(kept.memory.passes) >= 2
    assert kept.fake.requests == anew.fake.requests
    assert kept.memory.passes == anew.memory.passes
    assert [out.headers for out in kept.memory.outcomes] == [
        out.headers for out in anew.memory.outcomes
    ]


def test_keeping_thinking_whose_prefix_changed_is_refused() -> None:
    memory = Memory(Policy(**SMALL, reasoning="keep"), keeps_journal=True)
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        thinking(memory)
    assert len(memory.passes) == 1
    assert memory.outcomes[-1].report.passes


def test_without_the_header_the_setting_is_refused() -> None:
    class Headerless(Memory):
        def compact(self, request: Any, failed: Any = ()) -> Any:
            outcome = super().compact(request, failed)
            outcome.headers.clear()
            return outcome

    memory = Headerless(Policy(**SMALL), keeps_journal=True)
    with pytest.raises(anthropic.BadRequestError, match="block_binding: Extra inputs"):
        thinking(memory)
    assert len(memory.passes) == 1


def test_under_provider_all_thinking_stays_and_the_provider_leaves_some_out() -> None:
    done = ran("anthropic, provider")
    whole = json.dumps(done.fake.requests[-1])
    assert all(f"after step {number}?" in whole for number in range(39))
    assert done.fake.dropped > 0
    first = done.memory.passes[0]["request"]
    bound = [out.headers for out in done.memory.outcomes]
    header = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    assert bound == [{}] * (first - 1) + [header] * (41 - first)
    findings = [{f.code for f in out.report.findings} for out in done.memory.outcomes]
    assert findings == [set()] * (first - 1) + [{"reasoning_bound"}] * (41 - first)
    asked = [request["thinking"] for request in done.fake.requests]
    binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert asked == [ADAPTIVE] * (first - 1) + [ADAPTIVE | binding] * (41 - first)


def test_under_drop_no_thinking_behind_a_change_is_ever_sent_again() -> None:
    done = ran("anthropic, drop")
    assert done.fake.dropped == 0
    assert all(request["thinking"] == ADAPTIVE for request in done.fake.requests)
    assert all(out.headers == {} for out in done.memory.outcomes)
    records = done.memory.outcomes[-1].journal.records
    removals = [record for record in records if isinstance(record, ReasoningRecord)]
    passes = done.memory.passes
    assert [record.n for record in removals] == [made["entries"] for made in passes]
    for record, made in zip(removals, passes, strict=True):
        assert record.removed[0] > made["first_changed"]
    once = [seq for record in removals for seq in record.removed]
    assert len(once) == len(set(once))
    for made in passes:
        request = done.fake.requests[made["request"] - 1]["messages"]
        spoken = request[-1]["content"]
        assert isinstance(spoken, str), "a pass waits for the person while there is room"


def test_under_drop_a_pass_in_mid_turn_comes_only_above_the_limit() -> None:
    done = ran("anthropic, drop in mid-turn")
    limit = 6500 - 1300 // 2
    waits = [out.report.why for out in done.memory.outcomes].count("waits:user_turn")
    in_turn = [
        made
        for made in done.memory.passes
        if not isinstance(done.fake.requests[made["request"] - 1]["messages"][-1]["content"], str)
    ]
    assert waits > 0
    assert in_turn
    assert all(made["tokens_before"] > limit for made in in_turn)


def test_manual_thinking_is_refused_in_mid_turn_and_the_report_says_why() -> None:
    manual = {"type": "enabled", "budget_tokens": 50}
    policy = Policy(**(SMALL | {"reasoning": "drop", "window": 6500}))
    memory = Memory(policy, keeps_journal=True)
    with pytest.raises(anthropic.BadRequestError, match="must start with a thinking block"):
        run_anthropic(turns(), memory, model=BINDING, thinking=manual)
    assert [finding.code for finding in memory.outcomes[-1].report.findings] == [
        "reasoning_missing"
    ]
    assert not any(out.report.findings for out in memory.outcomes[:-1])


def test_a_pass_costs_one_break_of_the_prefix_and_nothing_else_does() -> None:
    done = ran("anthropic, provider")
    sent = [request["messages"] for request in done.fake.requests]
    breaks = [
        number + 2
        for number, (before, after) in enumerate(pairwise(sent))
        if after[: len(before)] != before
    ]
    assert breaks == [made["request"] for made in done.memory.passes]


# What is sent is what the SDKs' own types say, to the last key.

SDK_TYPES: dict[str, dict[str, Any]] = {
    "anthropic, provider": {
        "messages": list[BetaMessageParam],
        "thinking": BetaThinkingConfigParam,
    },
    "anthropic, drop": {"messages": list[BetaMessageParam], "thinking": BetaThinkingConfigParam},
    "openai chat": {"messages": list[ChatCompletionMessageParam]},
    "openai responses": {"input": ResponseInputParam},
}


@pytest.mark.parametrize("name", SDK_TYPES)
def test_what_is_sent_is_of_the_types_of_the_sdk(name: str) -> None:
    request = ran(name, marks=True).fake.requests[-1]
    marked = json.dumps(request)
    assert marked.count("cache_control") + marked.count("prompt_cache_breakpoint") == 3
    for key, kind in SDK_TYPES[name].items():
        assert _as_typed(kind, request[key]) == request[key]


def _as_typed(kind: Any, value: Any) -> Any:
    """The value as the SDK's type has it: what the type does not know is gone."""
    adapter = TypeAdapter(kind)  # lives as long as what it reads item by item
    return _taken_in(adapter.validate_python(value))


def _taken_in(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _taken_in(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_taken_in(item) for item in value]
    return value


ORACLE = Path(__file__).resolve().parents[2] / "shared" / "bugs" / "oracle.py"

if ORACLE.is_file():

    @pytest.mark.parametrize("name", RUNS)
    def test_the_oracle_of_pairing_finds_nothing_in_any_request(name: str) -> None:
        oracle = runpy.run_path(str(ORACLE))
        check, key = {
            "anthropic": ("anthropic", "messages"),
            "openai chat": ("openai_chat", "messages"),
            "openai responses": ("responses", "input"),
            "gemini": ("gemini", "contents"),
        }[name.split(",")[0]]
        for request in ran(name, marks=name in SDK_TYPES).fake.requests:
            assert oracle[check](request[key]) == []
