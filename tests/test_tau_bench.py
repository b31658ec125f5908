"""tau-bench and tau2-bench: trials are threads; of two people's tools only the agent's are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Kind, Reading, Usage
from compactor.formats.datasets.tau2_bench import Tau2Bench
from compactor.formats.datasets.tau_bench import TauBench
from compactor.formats.raw.native import Rows, apply_edits

Json = dict[str, Any]
TAU, TAU2 = TauBench(), Tau2Bench()
FILES = kit.files("tau-bench")
paths = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def called(content: str | None, *names: str) -> Json:
    functions = [{"name": "bash", "arguments": json.dumps({"command": name})} for name in names]
    calls = [
        {"id": name, "type": "function", "function": function}
        for name, function in zip(names, functions, strict=True)
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls, "function_call": None}


def given(call_id: str, content: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": content}


SYSTEM, GO = {"role": "system", "content": "policy"}, {"role": "user", "content": "go"}
DONE = {"role": "assistant", "content": "done"}
TALK = [SYSTEM, GO, called("look", "x", "y"), given("x", "one"), given("y", "two"), DONE]


def trial(*traj: Json, task: int = 0, number: int = 0) -> Json:
    return {"task_id": task, "trial": number, "reward": 0.0, "info": {}, "traj": [*traj]}


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


@paths
def test_a_recording_is_read_and_given_back_as_it_is(path: Path) -> None:
    kit.check_untouched(path, "tau-bench")
    kit.check_one_change(path, "tau-bench")


@paths
def test_every_trial_of_a_recording_is_a_thread(path: Path) -> None:
    root = json.loads(path.read_text("utf-8"))
    names = TAU.threads(root)
    assert names == [f"task-{row['task_id']}/trial-{row['trial']}" for row in root]
    for name, row in zip(names, root, strict=True):
        reading = TAU.of_thread(name).read(root)
        results = [m["content"] for m in row["traj"] if m["role"] == "tool"]
        assert [entry.body for entry in kit.tools(reading)] == results
        assert reading.overhead.texts == (row["traj"][0]["content"],)
        assert codes(reading) == []


@paths
def test_a_compacted_recording_reads_the_same_but_for_elided_bodies(path: Path) -> None:
    assert kit.check_compacts(path, "tau-bench")


def test_the_same_conversation_is_the_same_entries() -> None:
    for root in ([trial(*TALK)], trial(*TALK), Rows([trial(*TALK), trial(GO, number=1)])):
        assert TAU.recognises(root)
        kit.check_same(TAU.read(root))
    reading = TAU.read([trial(*TALK), trial(GO, number=1)])
    assert (reading.overhead.known, codes(reading)) == (False, ["other_threads"])
    assert codes(TAU.of_thread("task-0/trial-1").read([trial(*TALK), trial(GO, number=1)])) == []


def test_a_trial_is_rewritten_where_it_stands() -> None:
    root = [trial(GO), trial(*TALK, task=1)]
    lens = TAU.of_thread("task-1/trial-0")
    new = apply_edits(root, lens.rewrite_body(root, kit.tools(lens.read(root))[0], "gone"))
    assert new[0] is root[0]
    assert new[1]["traj"][3] == given("x", "gone")


@pytest.mark.parametrize("root", [None, [], {}, [{"task_id": 1, "traj": []}], [{"traj": TALK}]])
def test_what_is_no_trial_is_not_claimed_and_refused(root: Any) -> None:
    assert not TAU.recognises(root)
    with pytest.raises(InputError) as refused:
        TAU.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_trials_they_are_read_or_refused() -> None:
    kit.check_damage(TAU, [trial(*TALK), trial(GO)])


# tau2-bench.


def said(role: str, content: Any, **more: Any) -> Json:
    return {"role": role, "content": content, "tool_calls": None, "turn_idx": 0, **more}


def asked(role: str, content: Any, *names: str, **more: Any) -> Json:
    calls = [
        {"id": name, "name": "bash", "arguments": {"command": name}, "requestor": role}
        for name in names
    ]
    return said(role, content, **more) | {"tool_calls": calls}


def got(call_id: str, content: Any, requestor: str = "assistant", **more: Any) -> Json:
    keys = {"role": "tool", "requestor": requestor, "error": False}
    return {"id": call_id, "content": content, **keys, **more}


def simulation(*messages: Any, trial: int = 0, **more: Any) -> Json:
    return {"id": f"s{trial}", "task_id": "t", "trial": trial, "messages": [*messages], **more}


def results(*simulations: Json) -> Json:
    info = {
        "agent_info": {"llm": "gpt-5"},
        "user_info": {"llm": "gpt-4.1"},
        "environment_info": {"domain_name": "telecom", "policy": "be good", "tool_defs": None},
    }
    return {"timestamp": "t", "info": info, "tasks": [], "simulations": [*simulations]}


ONE, TWO = got("x", "one"), got("y", "two")
TALK2 = [
    said("user", "go"),
    asked("assistant", "look", "x", "y"),
    ONE,
    TWO,
    said("assistant", "done"),
]


def test_the_same_conversation_is_the_same_entries_in_tau2() -> None:
    together = [*TALK2[:2], {"role": "tool", "tool_messages": [ONE, TWO]}, TALK2[4]]
    for messages in (TALK2, together):
        root = results(simulation(*messages))
        assert TAU2.recognises(root)
        reading = TAU2.read(root)
        kit.check_same(reading)
        assert (reading.overhead.texts, reading.overhead.known) == (("be good",), False)
        assert (reading.model, codes(reading)) == ("gpt-5", [])
    kit.check_same(TAU2.read(simulation(*TALK2)))


def test_what_the_simulated_user_calls_is_in_no_prompt_of_the_agent() -> None:
    root = results(
        simulation(
            said("assistant", "hello"),
            said("user", "go"),
            asked("assistant", None, "x"),
            got("x", "one"),
            said("assistant", "check your phone"),
            asked("user", None, "p"),
            got("p", "airplane mode", "user"),
            said("user", "it is in airplane mode"),
        )
    )
    reading = TAU2.read(root)
    assert [entry.kind.value for entry in reading.entries] == [
        *("assistant", "user", "assistant", "tool", "assistant", "user"),
    ]
    assert [(f.code, f.message[:2]) for f in reading.findings] == [("not_in_prompt", "2 ")]
    assert [entry.body for entry in kit.tools(reading)] == ["one"]


def test_a_result_that_failed_is_one_and_is_rewritten_in_place() -> None:
    root = results(simulation(asked("assistant", None, "x"), got("x", "no", error=True)))
    entry = TAU2.read(root).entries[1]
    assert (entry.error, entry.call_id) == (True, "x")
    new = apply_edits(root, TAU2.rewrite_body(root, entry, "gone"))
    assert new["simulations"][0]["messages"][1] == got("x", "gone", error=True)


def test_an_argument_is_rewritten_in_its_call() -> None:
    root = results(simulation(*TALK2))
    entry = TAU2.read(root).entries[1]
    new = apply_edits(root, TAU2.rewrite_argument(root, entry, 1, ("command",), "gone"))
    arguments = [c["arguments"] for c in new["simulations"][0]["messages"][1]["tool_calls"]]
    assert arguments == [{"command": "x"}, {"command": "gone"}]


def test_usage_is_the_agents_and_in_all_usage_the_simulators_too() -> None:
    def used(prompt: int, completion: int) -> Json:
        return {"prompt_tokens": prompt, "completion_tokens": completion}

    raw = {"model": "m", "usage": {**used(20, 2), "prompt_tokens_details": {"cached_tokens": 5}}}
    when = "2025-06-01T00:00:01"
    root = results(
        simulation(
            said("assistant", "hello"),
            said("user", "go", usage=used(9, 1)),
            asked("assistant", None, "x", usage=used(10, 3), timestamp=when),
            got("x", "one"),
            said("assistant", "done", usage=used(20, 2), raw_data=raw),
        ),
        simulation(said("user", "b", usage=used(7, 1)), trial=1),
    )
    ms = 1748736001000
    assert TAU2.read(root).usage == (
        Usage(2, input=10, output=3, model="gpt-5", time_ms=ms),
        Usage(4, input=15, cache_read=5, output=2, model="m"),
    )
    assert [(u.n, u.input, u.model) for u in TAU2.all_usage(root)] == [
        (0, 9, "gpt-4.1"),
        (0, 10, "gpt-5"),
        (0, 15, "m"),
        (0, 7, "gpt-4.1"),
    ]


def test_simulations_are_threads_and_their_own_policy_comes_first() -> None:
    root = results(simulation(*TALK2), simulation(said("user", "b"), trial=1, policy="own"))
    assert TAU2.threads(root) == ["task-t/trial-0", "task-t/trial-1"]
    assert codes(TAU2.read(root)) == ["other_threads"]
    other = TAU2.of_thread("task-t/trial-1").read(root)
    assert (other.entries[0].parts[0].text, other.overhead.texts) == ("b", ("own",))


VOICE = {"id": "v", "task_id": "40", "mode": "full_duplex", "ticks": [{"tick_id": 0}]}


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (VOICE, "voice"),
        (results(VOICE), "voice"),
        (results({**VOICE, "messages": TALK2}), "voice"),
        (results(), "no simulation"),
    ],
)
def test_a_conversation_by_voice_is_refused_with_the_reason(root: Json, said: str) -> None:
    assert compactor.detect(root) == "tau2-bench"
    with pytest.raises(InputError, match=said) as refused:
        TAU2.read(root)
    assert refused.value.code == "input.shape"
    assert refused.value.hint


@pytest.mark.parametrize("root", [None, [], {}, {"simulations": []}, {"id": "x", "messages": TALK}])
def test_what_is_no_result_of_tau2_is_not_claimed(root: Any) -> None:
    assert not TAU2.recognises(root)


def test_strange_messages_are_said_and_the_rest_is_read() -> None:
    reading = TAU2.read(results(simulation(None, said("judge", "x"), got("z", 5), got("z", "y"))))
    assert [(e.kind, e.required) for e in reading.entries] == [
        (Kind.TOOL, True),
        (Kind.TOOL, False),
    ]
    assert codes(reading) == ["unknown_line", "unknown_line", "orphan_result", "orphan_result"]


def test_whatever_is_broken_in_tau2_it_is_read_or_refused() -> None:
    small = results(
        simulation(*TALK2[:3], {"role": "tool", "tool_messages": [TWO]}, asked("user", "u", "p")),
        simulation(said("user", "b"), trial=1),
    )
    kit.check_damage(TAU2, small)
    for broken in kit.damaged(small):
        assert isinstance(TAU2.all_usage(broken), list)
