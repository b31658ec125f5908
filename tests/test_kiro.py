"""Kiro and Amazon Q CLI: pairs of a user's message and the answer, each named by its kind."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading
from compactor.formats.harnesses.kiro import Kiro
from compactor.formats.raw.native import apply_edits

Json = dict[str, Any]
LENS = Kiro()


def prompt(text: str, **more: Any) -> Json:
    return {
        "additional_context": "",
        "content": {"Prompt": {"prompt": text}},
        "images": None,
        **more,
    }


def result(call_id: str, *content: Any, status: str = "Success") -> Json:
    return {"tool_use_id": call_id, "content": [*content], "status": status}


def results(*given: Json, kind: str = "ToolUseResults", **more: Any) -> Json:
    content = {kind: {"tool_use_results": [*given], **more}}
    return {"additional_context": "", "content": content, "images": None}


def answer(text: str, *names: str) -> Json:
    if not names:
        return {"Response": {"message_id": "m", "content": text}}
    named = {"name": "bash", "orig_name": "bash"}
    calls = [
        {"id": name, **named, "args": {"command": name}, "orig_args": {"command": name}}
        for name in names
    ]
    return {"ToolUse": {"message_id": "m", "content": text, "tool_uses": calls}}


def pair(user: Json, assistant: Json, model: str | None = None) -> Json:
    return {"user": user, "assistant": assistant, "request_metadata": {"model_id": model}}


def conversation(*history: Any, **more: Any) -> Json:
    return {"conversation_id": "c", "next_message": None, "history": [*history], **more}


ONE, TWO = result("x", {"Text": "one"}), result("y", {"Text": "two"})
TALK = [pair(prompt("go"), answer("look", "x", "y")), pair(results(ONE, TWO), answer("done"), "m")]


def read(root: Json) -> Reading:
    assert LENS.recognises(root)
    return LENS.read(root)


def texts(reading: Reading) -> list[str]:
    return [e.body or "".join(p.text for p in e.parts) for e in reading.entries]


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def test_the_same_conversation_is_the_same_entries() -> None:
    reading = read(conversation(*TALK))
    kit.check_same(reading)
    assert (reading.model, codes(reading), reading.overhead.known) == ("m", [], False)
    data = json.dumps(conversation(*TALK), indent=1).encode()
    assert (compactor.detect(data), compactor.load(data).to_bytes()) == ("kiro", data)


def test_a_value_counts_as_its_json_and_a_failure_is_one() -> None:
    values = result("x", {"Json": {"a": [1]}}, {"Text": "end"}, status="Error")
    root = conversation(pair(prompt("go"), answer("", "x")), pair(results(values), answer("done")))
    [entry] = kit.tools(read(root))
    assert (entry.body, entry.error) == ('{"a":[1]}\nend', True)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new["history"][0] is root["history"][0]
    assert new["history"][1]["user"] == results(result("x", {"Text": "gone"}, status="Error"))


def test_calls_that_the_user_stopped_have_results_and_what_the_user_said_then() -> None:
    stopped = results(ONE, TWO, kind="CancelledToolUses", prompt="no, this")
    reading = read(conversation(TALK[0], pair(stopped, answer("ok"))))
    assert texts(reading) == ["go", "look", "one", "two", "no, this", "ok"]


def test_context_of_hooks_and_pictures_and_the_waiting_prompt_are_sent() -> None:
    image = {"format": "png", "source": {"Bytes": [1, 2]}}
    waiting = prompt("next", additional_context="hook\n", images=[image])
    reading = read(conversation(*TALK, next_message=waiting))
    last = reading.entries[-1]
    assert [part.kind for part in last.parts] == [PartKind.TEXT, PartKind.TEXT, PartKind.IMAGE]
    assert texts(reading)[-1] == "hook\nnext"
    assert last.at == ("next_message",)


def test_a_summary_comes_first_and_tools_are_overhead() -> None:
    tool = {"name": "bash", "description": "runs", "input_schema": {"json": {}}}
    tools = {"native___": [{"ToolSpecification": tool}]}
    reading = read(conversation(*TALK, latest_summary=["so far", {}], tools=tools))
    assert texts(reading)[0] == "so far"
    assert codes(reading) == ["before_compaction"]
    assert reading.overhead.texts == ("bash", "runs", '{"json":{}}')


def test_an_argument_is_rewritten_in_both_copies_where_they_are_the_same() -> None:
    root = conversation(*TALK)
    root["history"][0]["assistant"]["ToolUse"]["tool_uses"][1]["orig_args"] = {"cmd": "y"}
    entry = read(root).entries[1]
    edits = [e for i in (0, 1) for e in LENS.rewrite_argument(root, entry, i, ("command",), "gone")]
    calls = apply_edits(root, edits)["history"][0]["assistant"]["ToolUse"]["tool_uses"]
    assert [(call["args"], call["orig_args"]) for call in calls] == [
        ({"command": "gone"}, {"command": "gone"}),
        ({"command": "gone"}, {"cmd": "y"}),
    ]


def test_a_conversation_that_has_only_begun_is_empty() -> None:
    assert read(conversation()).entries == []


@pytest.mark.parametrize(
    "root",
    [
        None,
        [],
        {},
        {"conversation_id": "c", "history": [{"role": "user"}]},
        {"conversation_id": "c", "history": 5},
        {"history": TALK},
    ],
)
def test_what_is_no_conversation_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_a_conversation_it_is_read_or_refused() -> None:
    stopped = results(result("x", {"Json": 1}), kind="CancelledToolUses", prompt="no")
    more = {"latest_summary": ["s", {}], "tools": {"a": [{"ToolSpecification": {}}]}}
    small = conversation(*TALK, pair(stopped, answer("ok")), **more)
    kit.check_damage(LENS, {**small, "next_message": prompt("n", images=[{}])})
