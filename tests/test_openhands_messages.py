"""Rows of OpenHands' and SWE-agent's message lists: a rule a test, over rows of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading
from compactor.formats.harnesses.openhands_messages import OpenHandsMessages
from compactor.formats.raw.native import Rows, apply_edits

LENS = OpenHandsMessages()
SYSTEM = {"role": "system", "content": "be good"}


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def read(*rows: Any) -> Reading:
    return LENS.read(Rows(rows))


def facts(reading: Reading) -> list[tuple[str, str]]:
    """Kind and text of every entry; of a result the tool's name and the body."""
    return [
        (entry.name or entry.kind.value, entry.body or "".join(p.text for p in entry.parts))
        for entry in reading.entries
    ]


# Calls as calls.


def called(*names: str) -> dict[str, Any]:
    functions = [{"name": "bash", "arguments": json.dumps({"command": name})} for name in names]
    calls = [
        {"id": name, "type": "function", "function": function}
        for name, function in zip(names, functions, strict=True)
    ]
    return {"role": "assistant", "content": "look", "tool_calls": calls, "name": None}


def given(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, "tool_calls": None}


TALK = [
    *(SYSTEM, {"role": "user", "content": "go"}, called("x", "y")),
    *(given("x", "one"), given("y", "two"), {"role": "assistant", "content": "done"}),
]


def test_a_trajectory_in_the_shape_of_chats_is_a_conversation() -> None:
    row = {"trajectory_id": "t1", "instance_id": "i", "trajectory": TALK, "tools": []}
    reading = read(row, {"trajectory_id": "t2", "trajectory": TALK[:2]})
    kit.check_same(reading)
    assert codes(reading) == ["other_threads"]
    assert LENS.threads([row]) == ["t1"]
    assert LENS.recognises(row)


@pytest.mark.parametrize(
    "row",
    [
        {"messages": TALK, "tools": [{"function": {"name": "execute_bash"}}]},
        {"messages": [*TALK, {"role": "assistant", "tool_calls": [
            {"id": "z", "function": {"name": "execute_ipython_cell", "arguments": "{}"}}
        ]}]},
    ],
)  # fmt: skip
def test_rows_are_openhands_by_the_tools_that_it_alone_has(row: dict[str, Any]) -> None:
    data = json.dumps([row, {"messages": TALK}]).encode()
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("openhands-messages", data)
    assert compactor.detect([{"messages": TALK}, {"messages": TALK}]) == "openai-fine-tuning"
    assert compactor.detect({"messages": TALK}) == "openai-chat"


# Calls as texts.


def turn(name: str, before: str = "look") -> dict[str, Any]:
    told = f"<function={name}>\n<parameter=command>make</parameter>\n</function>"
    return {"role": "assistant", "content": f"{before}\n\n{told}"}


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def ran(name: str, output: str) -> dict[str, Any]:
    return user(f"EXECUTION RESULT of [{name}]:\n{output}")


def test_what_openhands_says_of_a_call_is_its_result() -> None:
    stop = user("stop")
    reading = read(
        {"messages": [SYSTEM, user("go"), turn("bash"), ran("bash", "red"), turn("bash"), stop]}
    )
    assert facts(reading) == [
        ("user", "go"),
        ("assistant", turn("bash")["content"]),
        ("bash", "red"),
        ("assistant", turn("bash")["content"]),
        ("user", "stop"),
    ]
    assert codes(reading) == ["unanswered_call"]
    assert reading.overhead.known


def test_in_a_run_of_swe_agent_all_that_stands_behind_a_call_is_its_result() -> None:
    messages = [user("go"), turn("bash"), user("OBSERVATION:\nred"), turn("edit"), user("It ran.")]
    reading = read({"messages": messages})
    assert facts(reading)[2:] == [
        ("bash", "red"),
        ("assistant", turn("edit")["content"]),
        ("edit", "It ran."),
    ]


def test_a_result_keeps_the_words_that_say_of_which_call_it_is() -> None:
    root = Rows([{"messages": [user("go"), turn("bash"), ran("bash", "red\nred")]}])
    [entry] = kit.tools(LENS.read(root))
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new[0]["messages"][2] == ran("bash", "gone")
    assert kit.tools(LENS.read(new))[0].body == "gone"


def test_a_system_message_in_mid_conversation_stays_an_entry() -> None:
    reading = read({"messages": [SYSTEM, user("go"), turn("b"), ran("b", "x"), SYSTEM, user("on")]})
    assert [kind for kind, _ in facts(reading)] == ["user", "assistant", "b", "system", "user"]
    assert reading.overhead.texts == ("be good",)


@pytest.mark.parametrize(
    "messages",
    [
        [user("go"), ran("bash", "not behind a call")],
        [turn("bash"), user("Why did you run EXECUTION RESULT of [bash]:?")],
        [{"role": "assistant", "content": "`<function=` begins a call"}, ran("x", "y")],
        [turn("x" * 200), ran("x", "y")],
    ],
)
def test_words_alone_make_no_result(messages: list[Any]) -> None:
    assert not LENS.recognises([{"messages": messages}])
    assert kit.tools(read({"messages": messages})) == []


def test_rows_of_texts_are_compacted_and_written_back() -> None:
    messages = [SYSTEM, user("go")]
    for _ in range(12):
        messages += [turn("execute_bash"), ran("execute_bash", "a line\n" * 200)]
    data = b"".join(json.dumps({"id": i, "messages": messages}).encode() + b"\n" for i in "ab")
    out = compactor.compact(compactor.load(data), kit.policy(3_000))
    assert out.request.to_bytes().count(b"EXECUTION RESULT of [execute_bash]:\\n[elided 1400") > 3
    again = compactor.load(out.request.to_bytes())
    assert (again.format, len(again.entries)) == ("openhands-messages", 25)


@pytest.mark.parametrize(
    "root",
    [
        None,
        {},
        [],
        {"messages": TALK},
        [{"messages": TALK}],
        TALK,
        {"trajectory": [{"action": "ls", "observation": "x"}]},
        [{"trajectory": [{"role": "ai", "text": "x"}]}],
    ],
)
def test_rows_of_others_are_not_claimed(root: Any) -> None:
    assert not LENS.recognises(root)


def test_rows_without_messages_are_refused() -> None:
    with pytest.raises(InputError) as refused:
        read({"messages": []})
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_a_row_it_is_read_or_refused() -> None:
    kit.check_damage(LENS, Rows([{"messages": [*TALK[:3], turn("b"), ran("b", "x")]}]))
    kit.check_damage(LENS, {"trajectory": TALK[:4], "tools": [{"function": {"name": "b"}}]})
