"""mini-SWE-agent: all three ways of its messages, what is an observation, what a person said."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.model import Reading, Usage
from compactor.formats.harnesses.mini_swe_agent import MiniSweAgent
from compactor.formats.raw.native import apply_edits

Json = dict[str, Any]
LENS = MiniSweAgent()
BARE = kit.files("mini-swe-agent")
FENCED = "look\n\n```mswea_bash_command\nls\n```"
RESULT = {"raw_output": "x", "returncode": 0, "exception_info": None, "timestamp": 5.5}


def traj(*messages: Json, version: str = "mini-swe-agent-1.1") -> Json:
    config = {"model": {"model_name": "gpt-5"}}
    stats = {"instance_cost": 0.1, "api_calls": 1}
    info = {"config": config, "model_stats": stats, "exit_status": "Submitted"}
    return {"info": info, "messages": [*messages], "trajectory_format": version}


def said(role: str, content: Any, **extra: Any) -> Json:
    return {"role": role, "content": content, **({"extra": extra} if extra else {})}


def called(content: str | None, *names: str, **extra: Any) -> Json:
    functions = [{"name": "bash", "arguments": json.dumps({"command": name})} for name in names]
    calls = [
        {"id": name, "type": "function", "function": function}
        for name, function in zip(names, functions, strict=True)
    ]
    return {**said("assistant", content, **extra), "tool_calls": calls}


def given(call_id: str, content: Any) -> Json:
    return {**said("tool", content, **RESULT), "tool_call_id": call_id}


SYSTEM, TASK = said("system", "be good"), said("user", "go")
EXIT = said("exit", "done", exit_status="Submitted", submission="diff")


def read(root: Json) -> Reading:
    assert LENS.recognises(root)
    return LENS.read(root)


def shown(reading: Reading) -> list[tuple[str, str, str]]:
    rows = []
    for entry in reading.entries:
        text = entry.body or "".join(part.text for part in entry.parts)
        tool = entry.name or ",".join(call.name for call in entry.calls)
        rows.append((entry.kind.value, tool, text))
    return rows


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


@pytest.mark.parametrize("path", BARE, ids=lambda path: path.stem)
def test_a_bare_list_of_messages_is_only_that_unless_it_is_said_to_be_more(path: Path) -> None:
    assert compactor.detect(path) == "openai-chat"
    root = json.loads(path.read_text("utf-8"))
    pairs = itertools.pairwise(root)
    wanted = [b["content"] for a, b in pairs if a["role"] == "assistant" and b["role"] == "user"]
    read = compactor.load(path, "mini-swe-agent")
    assert [entry.body for entry in kit.tools(read.reading)] == wanted
    assert read.to_bytes() == path.read_bytes()
    kit.check_one_change(path, "mini-swe-agent")
    assert kit.check_compacts(path, "mini-swe-agent")


# Tool calls.


def test_the_same_conversation_is_the_same_entries() -> None:
    talk = [
        called("look", "x", "y"),
        given("x", "one"),
        given("y", "two"),
        said("assistant", "done"),
    ]
    reading = read(traj(SYSTEM, TASK, *talk, EXIT))
    kit.check_same(reading)
    assert (reading.overhead.texts, reading.overhead.known) == (("be good",), False)
    assert (reading.model, codes(reading)) == ("gpt-5", [])


def test_a_recording_is_given_back_byte_for_byte_but_for_what_is_elided() -> None:
    talk = [SYSTEM, TASK]
    for number in range(12):
        name = f"c{number}"
        talk += [called("look", name), given(name, f"{number} " * 400)]
    data = json.dumps(traj(*talk), indent=2).encode()
    assert compactor.load(data).to_bytes() == data
    out = compactor.compact(compactor.load(data), kit.policy(3000))
    after = json.loads(out.request.to_bytes())
    changed = [i for i, m in enumerate(after["messages"]) if m != talk[i]]
    assert changed
    for index in changed:
        assert after["messages"][index]["content"].startswith("[elided")
        assert after["messages"][index]["extra"] == talk[index]["extra"]


def test_thinking_is_counted_once() -> None:
    thinking = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    both = {**called("x", "c"), "thinking_blocks": thinking, "reasoning_content": "hm"}
    alone = {**called("x", "c"), "thinking_blocks": thinking}
    for message in (both, alone):
        [entry] = [e for e in read(traj(SYSTEM, TASK, message)).entries if e.calls]
        assert [part.text for part in entry.parts] == ["hm", "x"]


# Text.


def test_what_a_command_gave_is_a_result_though_a_user_message() -> None:
    root = traj(
        SYSTEM,
        TASK,
        said("assistant", FENCED, actions=[{"command": "ls"}]),
        said("user", "<output>\na.py</output>", **RESULT),
        said("assistant", "hm", actions=[]),
        said("user", "format!", interrupt_type="FormatError"),
        EXIT,
    )
    reading = read(root)
    assert shown(reading) == [
        ("user", "", "go"),
        ("assistant", "bash", FENCED),
        ("tool", "bash", "<output>\na.py</output>"),
        ("assistant", "", "hm"),
        ("user", "", "format!"),
    ]
    assert (reading.overhead.known, codes(reading)) == (True, [])
    new = apply_edits(root, LENS.rewrite_body(root, reading.entries[2], "gone"))
    assert new["messages"][3] == {**root["messages"][3], "content": "gone"}


def test_what_a_person_ran_is_said_by_a_person() -> None:
    command = said("user", "User command: \n```bash\nls\n```", actions=[{"command": "ls"}])
    reading = read(traj(SYSTEM, TASK, command, said("user", "a.py", **RESULT)))
    assert [row[0] for row in shown(reading)] == ["user", "user", "user"]


def test_a_note_between_a_command_and_what_follows_ends_it() -> None:
    talk = [
        said("assistant", FENCED, actions=[{"command": "ls"}]),
        said("user", "Interrupted by user: stop", interrupt_type="UserInterruption"),
        said("user", "late", **RESULT),
    ]
    reading = read(traj(SYSTEM, TASK, *talk))
    assert [row[0] for row in shown(reading)[2:]] == ["user", "user"]
    assert codes(reading) == ["unanswered_call"]


FIRST = "mini-swe-agent-1"
ONE = "x\n```bash\nls\n```"


@pytest.mark.parametrize(
    ("turn", "answer", "kind"),
    [
        (ONE, "<returncode>0</returncode>", "tool"),
        ("x\n<mswea_bash_command>ls</mswea_bash_command>", "Observation: x", "tool"),
        (ONE, "The user added a new task: also y", "user"),
        (ONE, "Interrupted by user: no", "user"),
        (ONE, "Command not executed. The user rejected your command", "user"),
        ("no command", "format!", "user"),
        (ONE + "\n" + ONE, "format!", "user"),
    ],
)
def test_in_the_first_version_the_message_behind_one_command_answers_it(
    turn: str, answer: str, kind: str
) -> None:
    stamped = {**said("assistant", turn, response={}), "timestamp": 5.5}
    reading = read(traj(SYSTEM, TASK, stamped, said("user", answer), version=FIRST))
    assert reading.entries[-1].kind == kind
    assert reading.overhead.known


# The Responses API.


def response(*names: str, text: str = "", **more: Any) -> Json:
    content = [{"type": "output_text", "text": text}]
    output: list[Json] = [{"type": "message", "role": "assistant", "content": content}]
    output += [
        {
            "type": "function_call",
            "call_id": name,
            "name": "bash",
            "arguments": json.dumps({"command": name}),
        }
        for name in names
    ]
    return {"object": "response", "model": "gpt-5", "output": output, **more}


def output(call_id: str, text: str) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": text, "extra": RESULT}


def test_items_of_a_response_are_the_turn() -> None:
    refused = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "no"}]}
    root = traj(
        SYSTEM,
        TASK,
        response("x", "y", text="look"),
        output("x", "one"),
        output("y", "two"),
        response(text="done"),
        EXIT,
    )
    reading = read(root)
    kit.check_same(reading)
    new = apply_edits(root, LENS.rewrite_body(root, reading.entries[2], "gone"))
    assert new["messages"][3] == {**root["messages"][3], "output": "gone"}
    reading = read(traj(SYSTEM, TASK, refused, {"type": "mystery"}, {"type": "message"}))
    assert [row[2] for row in shown(reading)] == ["go", "no"]
    assert codes(reading) == ["unknown_line", "unknown_line"]


# Usage.


def counted(prompt: int, cached: int, completion: int) -> Json:
    details = {"cached_tokens": cached}
    return {
        "model": "m",
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "prompt_tokens_details": details,
        },
    }


def test_usage_stands_beside_the_request_it_belongs_to() -> None:
    refused = said("user", "format!", response=counted(30, 0, 3), interrupt_type="FormatError")
    root = traj(
        SYSTEM,
        TASK,
        called("look", "x", response=counted(10, 4, 1), timestamp=7.25),
        given("x", "one"),
        refused,
        called("done", response=counted(50, 20, 5)),
    )
    wanted = [
        Usage(1, input=6, cache_read=4, output=1, model="m", time_ms=7250),
        Usage(3, input=30, output=3, model="m"),
        Usage(4, input=30, cache_read=20, output=5, model="m"),
    ]
    assert read(root).usage == tuple(wanted)
    assert [u.input for u in LENS.all_usage(root)] == [6, 30, 30]
    assert {u.n for u in LENS.all_usage(root)} == {0}


def test_usage_of_responses_is_their_own() -> None:
    usage = {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    root = traj(SYSTEM, TASK, response("x", usage=usage, extra={"timestamp": 2.0}))
    [found] = read(root).usage
    assert found == Usage(1, input=5, cache_read=4, output=2, model="gpt-5", time_ms=2000)


# What is none, and what is a strange one.


@pytest.mark.parametrize(
    "root", [None, {}, [], {"messages": []}, {"trajectory_format": "x", "messages": []}, [TASK]]
)
def test_what_is_no_trajectory_is_not_claimed(root: Any) -> None:
    assert not LENS.recognises(root)


@pytest.mark.parametrize("version", ["mini-swe-agent-1.1", FIRST])
def test_whatever_is_broken_in_a_trajectory_it_is_read_or_refused(version: str) -> None:
    small = traj(
        SYSTEM,
        called("x", "c", response=counted(1, 1, 1)),
        given("c", "one"),
        said("assistant", ONE, actions=[{"command": "ls"}]),
        said("user", [{"type": "text", "text": "a"}], **RESULT),
        response("d"),
        output("d", "two"),
        version=version,
    )
    kit.check_damage(LENS, small)
    for broken in kit.damaged(small):
        assert isinstance(LENS.all_usage(broken), list)
