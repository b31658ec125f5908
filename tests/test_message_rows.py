"""Files of many conversations: fine-tuning rows, and rows in ShareGPT's and AgentBench's shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading
from compactor.formats.datasets.openai_fine_tuning import OpenAIFineTuning
from compactor.formats.datasets.sharegpt import ShareGpt
from compactor.formats.raw.native import Rows, apply_edits

Json = dict[str, Any]
TUNING, SHARE = OpenAIFineTuning(), ShareGpt()


def called(content: str | None, *names: str) -> Json:
    functions = [{"name": "bash", "arguments": json.dumps({"command": name})} for name in names]
    calls = [
        {"id": name, "type": "function", "function": function}
        for name, function in zip(names, functions, strict=True)
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls, "weight": 0}


def given(call_id: str, content: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


SYSTEM, GO = {"role": "system", "content": "be good"}, {"role": "user", "content": "go"}
DONE = {"role": "assistant", "content": "done"}
CALLED = called("look", "x", "y")
TALK = [SYSTEM, GO, CALLED, given("x", "one"), given("y", "two"), DONE]
TOOL = {"type": "function", "function": {"name": "bash", "description": "runs"}}


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def texts(reading: Reading) -> list[str]:
    return [e.body or "".join(p.text for p in e.parts) for e in reading.entries]


# Fine-tuning.


def test_each_row_is_a_conversation() -> None:
    rows = [{"messages": TALK, "tools": [TOOL]}, {"messages": [GO, DONE]}]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    assert compactor.detect(data) == "openai-fine-tuning"
    transcript = compactor.load(data)
    kit.check_same(transcript.reading)
    assert transcript.to_bytes() == data
    assert codes(transcript.reading) == ["other_threads"]
    overhead = transcript.reading.overhead
    assert (overhead.texts, overhead.known) == (("be good", "bash", "runs"), True)
    assert TUNING.threads(rows) == ["row-1", "row-2"]
    assert texts(TUNING.of_thread("row-2").read(rows)) == ["go", "done"]


def test_calls_need_tools_so_without_them_the_overhead_is_not_known() -> None:
    assert not TUNING.read([{"messages": TALK}]).overhead.known
    assert TUNING.read([{"messages": [SYSTEM, GO, DONE]}]).overhead.known


def test_two_answers_that_are_compared_end_two_conversations() -> None:
    other = {"role": "assistant", "content": "no"}
    ask = {"messages": [SYSTEM, GO, called(None, "x"), given("x", "one")], "tools": [TOOL]}
    row = {"input": ask, "preferred_output": [DONE], "non_preferred_output": [other]}
    root = Rows([row, row])
    assert TUNING.recognises(root)
    assert TUNING.threads(root) == [
        *("row-1", "row-1/non-preferred", "row-2", "row-2/non-preferred"),
    ]
    reading = TUNING.read(root)
    assert (texts(reading), reading.overhead.known) == (["go", "", "one", "done"], True)
    assert texts(TUNING.of_thread("row-2/non-preferred").read(root))[-1] == "no"
    new = apply_edits(root, TUNING.rewrite_body(root, reading.entries[2], "gone"))
    assert new[0]["input"]["messages"][3] == given("x", "gone")
    assert new[1] is root[1]


def test_rows_of_a_data_set_are_known_by_their_ids() -> None:
    rows = [{"messages": [GO], "id": i, "model": "gpt-5"} for i in ("a", 7, "a", None, "")]
    assert TUNING.threads(rows) == ["a", "7", "a#2", "row-4", "row-5"]
    assert TUNING.read(rows).model == "gpt-5"


def test_calls_by_the_old_functions_find_their_results_by_name() -> None:
    call = {"name": "bash", "arguments": "{}"}
    turn = {"role": "assistant", "content": None, "function_call": call}
    result = {"role": "function", "name": "bash", "content": "one"}
    [entry] = kit.tools(TUNING.read([{"messages": [GO, turn, result], "functions": []}]))
    assert (entry.name, entry.body) == ("bash", "one")


@pytest.mark.parametrize(
    "row",
    [
        {"messages": TALK},
        {"messages": TALK, "tools": [TOOL], "parallel_tool_calls": False},
    ],
)
def test_one_row_alone_is_a_request_body(row: Json) -> None:
    assert compactor.detect(row) == "openai-chat"
    assert compactor.detect(json.dumps(row).encode() + b"\n") == "openai-chat"


BLOCK = {"type": "tool_use", "id": "x", "name": "bash", "input": {}}


@pytest.mark.parametrize(
    "root",
    [
        None,
        [],
        {},
        {"messages": TALK},
        [GO],
        [{"messages": []}],
        [{"messages": TALK}, {"messages": 5}],
        [{"messages": [{"role": "assistant", "content": [BLOCK]}]}],
        [{"prompt": "x", "completion": "y"}],
        [{"input": {"messages": TALK}}],
    ],
)
def test_what_is_no_row_is_not_claimed(root: Any) -> None:
    assert not TUNING.recognises(root)


def test_whatever_is_broken_in_rows_they_are_read_or_refused() -> None:
    ask = {"messages": [GO]}
    compared = {"input": ask, "preferred_output": [DONE], "non_preferred_output": [DONE]}
    kit.check_damage(TUNING, [{"messages": TALK, "tools": [TOOL]}, compared])
    kit.check_damage(TUNING, [compared])


# ShareGPT, AgentBench.


def sharegpt(*messages: tuple[str, str], **more: Any) -> Json:
    said = [{"from": speaker, "value": value} for speaker, value in messages]
    return {"conversations": said, **more}


def test_what_a_tool_gave_answers_the_message_before_it() -> None:
    row = sharegpt(
        ("system", "be good"),
        ("human", "go"),
        ("function_call", '{"name": "ls"}'),
        ("observation", "a.py"),
        ("gpt", "two calls"),
        ("tool", "one"),
        ("tool", "two"),
        ("gpt", "done"),
        tools="[]",
        system="be brief",
    )
    reading = SHARE.read([row])
    assert [(e.kind.value, e.name, len(e.calls)) for e in reading.entries] == [
        ("user", "", 0),
        ("assistant", "", 1),
        ("tool", "tool", 0),
        ("assistant", "", 2),
        ("tool", "tool", 0),
        ("tool", "tool", 0),
        ("assistant", "", 0),
    ]
    assert reading.overhead.texts == ("be brief", "[]", "be good")
    assert (reading.overhead.known, codes(reading)) == (True, [])


def test_a_call_in_a_text_is_counted_there() -> None:
    reading = SHARE.read([sharegpt(("gpt", "ls"), ("tool", "a"))])
    [call] = reading.entries[0].calls
    assert (call.arguments, texts(reading)) == ("", ["ls", "a"])


def test_agentbench_rows_are_read_and_observations_of_a_person_stay() -> None:
    rows = [
        {"id": "os_1", "conversations": [GO, {"role": "assistant", "content": "Act: bash"}]},
        {"id": "os_2", "conversations": [{"role": "user", "content": "b"}]},
    ]
    assert compactor.detect(rows) == "sharegpt"
    assert SHARE.threads(rows) == ["os_1", "os_2"]
    reading = SHARE.read(rows)
    assert ([e.kind.value for e in reading.entries], codes(reading)) == (
        ["user", "assistant"],
        ["other_threads"],
    )
    assert texts(SHARE.of_thread("os_2").read(rows)) == ["b"]


def test_a_row_is_rewritten_where_it_stands() -> None:
    root = [sharegpt(("gpt", "x"), ("observation", "long"))]
    new = apply_edits(root, SHARE.rewrite_body(root, SHARE.read(root).entries[1], "gone"))
    assert new == [sharegpt(("gpt", "x"), ("observation", "gone"))]
    one = {"conversations": [DONE, {"role": "tool", "content": "long"}]}
    new = apply_edits(one, SHARE.rewrite_body(one, SHARE.read(one).entries[1], "gone"))
    assert new["conversations"][1] == {"role": "tool", "content": "gone"}


def test_strange_messages_are_said_and_the_rest_is_read() -> None:
    row = sharegpt(("judge", "x"), ("human", "go"), ("tool", "lost"), ("system", "late"))
    row["conversations"].append({"from": "human", "value": 5})
    reading = SHARE.read([row])
    assert texts(reading) == ["go", "lost", "late"]
    assert codes(reading) == ["unknown_line", "orphan_result", "unknown_line"]


@pytest.mark.parametrize(
    "root", [None, [], {}, {"conversations": []}, {"conversations": [{"x": 1}]}, [GO], TALK]
)
def test_what_has_no_conversations_is_not_claimed_and_refused(root: Any) -> None:
    assert not SHARE.recognises(root)
    with pytest.raises(InputError) as refused:
        SHARE.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_conversations_they_are_read_or_refused() -> None:
    rows = [sharegpt(("system", "s"), ("human", "go"), ("gpt", "x"), ("tool", "one"), id="a")]
    kit.check_damage(SHARE, [*rows, {"conversations": TALK}])


def test_a_session_of_one_line_is_told_as_it_is_read() -> None:
    """One line is one JSON value too, and as a value it is of no format."""
    row = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "go"}}
    data = json.dumps(row).encode()
    assert compactor.load(data).format == "claude-code"
    assert compactor.detect(data) == "claude-code"
