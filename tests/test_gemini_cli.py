"""Gemini CLI chat recordings: every recorded file, and a rule a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import codes, numbers, shown

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Call, Reading
from compactor.formats.harnesses.gemini_cli import GeminiCli
from compactor.formats.raw.native import Rows, apply_edits

LENS = GeminiCli()
HEAD = {"sessionId": "s", "projectHash": "p"}
each_file = pytest.mark.parametrize("path", kit.files("gemini-cli"), ids=lambda path: path.stem)


# Recorded files against counts that know nothing of the lens.


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "gemini-cli")


@each_file
def test_requests_and_usage_are_those_that_the_recording_counts(path: Path) -> None:
    messages = json.loads(path.read_text("utf-8"))["messages"]
    counts = [message["tokens"] for message in messages if message.get("tokens")]
    reading = LENS.read(json.loads(path.read_text("utf-8")))
    prompts = [usage.input + usage.cache_read for usage in reading.usage]
    assert prompts == [count["input"] for count in counts]
    assert [u.cache_read for u in reading.usage] == [count["cached"] for count in counts]
    sums = [usage.input + usage.cache_read + usage.output for usage in reading.usage]
    assert sums == [count["total"] for count in counts]
    assert {usage.cache_write for usage in reading.usage} == {0}


@each_file
def test_every_result_is_read_once_behind_its_call(path: Path) -> None:
    messages = json.loads(path.read_text("utf-8"))["messages"]
    records = [record for message in messages for record in message.get("toolCalls", ())]
    wanted = []
    for record in records:
        [part] = record["result"]
        [(key, body)] = part["functionResponse"]["response"].items()
        wanted.append((record["id"], record["name"], body, key == "error"))
    reading = LENS.read(json.loads(path.read_text("utf-8")))
    assert [(e.call_id, e.name, e.body, e.error) for e in kit.tools(reading)] == wanted
    assert reading.findings == []


@each_file
def test_rewriting_one_result_changes_one_message(path: Path) -> None:
    kit.check_one_change(path, "gemini-cli")


@each_file
def test_a_recording_is_compacted_at_three_windows(path: Path) -> None:
    assert kit.check_compacts(path, "gemini-cli") > 0


# Rules.


def response(call_id: str, output: str, key: str = "output") -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "f", "response": {key: output}}}


def record(call_id: str, *result: Any, **more: Any) -> dict[str, Any]:
    parts = {"result": list(result)} if result else {}
    return {"id": call_id, "name": "f", "args": {"q": call_id}, **parts, **more}


def user(text: Any, key: str = "u") -> dict[str, Any]:
    content = [{"text": text}] if isinstance(text, str) else text
    return {"id": key, "type": "user", "content": content}


def turn(key: str, content: Any = "", *records: Any, **more: Any) -> dict[str, Any]:
    calls = {"toolCalls": list(records)} if records else {}
    return {"id": key, "type": "gemini", "content": content, "model": "m", **calls, **more}


def notice(text: Any, kind: str = "info") -> dict[str, Any]:
    return {"id": f"n{text}", "type": kind, "content": text}


def tokens(prompt: int, cached: int, output: int, thoughts: int = 0, tool: int = 0) -> Any:
    total = prompt + output + thoughts + tool
    counts = {"input": prompt, "cached": cached, "output": output}
    return {"tokens": {**counts, "thoughts": thoughts, "tool": tool, "total": total}}


def read(*messages: Any, **more: Any) -> Reading:
    return LENS.read({**HEAD, "messages": list(messages), **more})


def read_lines(*rows: Any) -> Reading:
    return LENS.read(Rows([HEAD, *rows]))


def test_the_results_of_a_turn_stand_behind_it_and_know_their_records() -> None:
    reading = read(
        user("go"),
        turn("a", "look", record("x", response("x", "one")), record("x", response("x", "two"))),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["look"], ["x", "x"]),
        ("tool", "x", "one"),
        ("tool", "x", "two"),
    ]
    places = [entry.call.at[3] for entry in kit.tools(reading) if entry.call]
    assert places == [0, 1]
    assert codes(reading) == []


def test_a_record_without_a_result_leaves_its_call_open_though_another_has_its_id() -> None:
    reading = read(turn("a", "", record("x"), record("x", response("x", "two"))))
    [result] = kit.tools(reading)
    at = ("messages", 0, "toolCalls", 1, "args")
    assert result.call == Call("x", "f", '{"q":"x"}', at)
    assert codes(reading) == ["unanswered_call"]


def test_cached_tokens_are_no_input_and_thoughts_are_output() -> None:
    reading = read(user("go"), turn("a", "x", **tokens(100, 80, 5, 7, 3)))
    assert [(usage.n, *numbers(usage)) for usage in reading.usage] == [(1, 23, 80, 0, 12)]
    assert (reading.model, reading.usage[0].model) == ("m", "m")


def test_a_cancelled_call_in_a_message_of_its_own_is_of_the_turn_before() -> None:
    reading = read(
        user("go"),
        turn("a", "look", **tokens(9, 0, 1)),
        notice("Request cancelled."),
        turn("b", "", record("x", response("x", "[cancelled]", "error"))),
    )
    assert shown(reading)[1:] == [("assistant", ["look"], ["x"]), ("tool", "x", "[cancelled]")]
    assert kit.tools(reading)[0].error
    assert [usage.n for usage in reading.usage] == [1]


def test_thought_summaries_and_notices_are_not_in_the_prompt() -> None:
    thought = {"subject": "s", "description": "d"}
    reading = read(
        user("go"), turn("a", "x", thoughts=[thought]), notice("i"), notice("e", "error")
    )
    assert shown(reading) == [("user", ["go"]), ("assistant", ["x"], [])]


def test_media_that_a_tool_gave_are_sent_though_they_are_recorded_as_a_notice() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    reading = read(turn("a", "x"), notice([picture]))
    assert [entry.kind.value for entry in reading.entries] == ["assistant", "user"]
    assert [part.kind.value for part in reading.entries[1].parts] == ["image"]


def test_an_answer_that_says_nothing_is_no_entry_but_a_request() -> None:
    reading = read(user("go"), turn("a", "", **tokens(5, 0, 0, 9)), user("on"))
    assert shown(reading) == [("user", ["go"]), ("user", ["on"])]
    assert [usage.n for usage in reading.usage] == [1]


def test_a_result_that_is_a_text_stays_one() -> None:
    root = {**HEAD, "messages": [turn("a", "", record("x", result="one") | {"result": "one"})]}
    [entry] = kit.tools(LENS.read(root))
    assert (entry.body, entry.name) == ("one", "f")
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new["messages"][0]["toolCalls"][0]["result"] == "gone"


def test_parts_beside_a_response_are_the_users() -> None:
    reading = read(turn("a", "", record("x", response("x", "one"), {"text": "beside"})))
    assert shown(reading)[1:] == [("tool", "x", "one"), ("user", ["beside"])]


def test_a_subagents_recording_is_said_to_be_one() -> None:
    assert codes(read(user("go"), kind="subagent")) == ["subagent_file"]
    assert codes(read(user("go"), kind="main")) == []


def test_masked_results_are_as_they_are_sent_and_counted() -> None:
    masked = "<tool_output_masked>\nhead\n</tool_output_masked>"
    reading = read(turn("a", "", record("x", response("x", masked))))
    assert (kit.tools(reading)[0].body, codes(reading)) == (masked, ["cleared_by_harness"])


# JSON Lines.


def test_the_last_line_of_an_id_is_the_message_in_the_place_of_the_first() -> None:
    rows = Rows(
        [
            HEAD,
            user("go"),
            turn("a", "look"),
            turn("a", "look", **tokens(9, 0, 1)),
            {"$set": {"lastUpdated": "t"}},
            turn("a", "look", record("x", response("x", "one")), **tokens(9, 0, 1)),
            user("on", "v"),
        ]
    )
    reading = LENS.read(rows)
    assert shown(reading)[1:] == [
        ("assistant", ["look"], ["x"]),
        ("tool", "x", "one"),
        ("user", ["on"]),
    ]
    assert ([usage.n for usage in reading.usage], codes(reading)) == ([1], [])
    edits = LENS.rewrite_body(rows, kit.tools(reading)[0], "gone")
    assert {edit.path[0] for edit in edits} == {5}


def test_responses_as_they_were_sent_stand_for_the_copies_in_the_records() -> None:
    calls = record("x", response("x", "one")), record("y", response("y", "two"))
    sent = user([response("x", "one"), response("y", "two")], "r")
    reading = read_lines(user("go"), turn("a", "look", *calls), sent, turn("b", "done"))
    assert shown(reading)[1:] == [
        ("assistant", ["look"], ["x", "y"]),
        ("tool", "x", "one"),
        ("tool", "y", "two"),
        ("assistant", ["done"], []),
    ]
    assert [entry.at[0] for entry in kit.tools(reading)] == [3, 3]
    assert codes(reading) == []


def test_calls_in_a_content_are_not_read_again_from_the_records() -> None:
    content = [{"text": "look"}, {"functionCall": {"id": "x", "name": "f", "args": {}}}]
    reading = read_lines(turn("a", content, record("x", response("x", "one"))))
    assert shown(reading) == [("assistant", ["look"], ["x"]), ("tool", "x", "one")]
    assert reading.entries[1].name == "f"


def test_what_was_rewound_is_not_live() -> None:
    reading = read_lines(
        user("go"), turn("a", "x"), user("bad", "v"), turn("b", "y"), {"$rewindTo": "v"}
    )
    assert shown(reading) == [("user", ["go"]), ("assistant", ["x"], [])]
    assert [f.message for f in reading.findings] == ["2 messages are on branches that were left"]


def test_a_rewind_to_an_unknown_message_takes_all_back() -> None:
    reading = read_lines(user("go"), {"$rewindTo": "?"}, user("new", "w"))
    assert (shown(reading), codes(reading)) == ([("user", ["new"])], ["off_branch"])


def test_a_compaction_puts_other_messages_in_the_place_of_all() -> None:
    new = [user("so far", "s"), turn("ok", [{"text": "Got it."}]), turn("b", "y")]
    reading = read_lines(
        *(user("go"), turn("a", "x", **tokens(9, 0, 1)), notice("i"), turn("b", "y")),
        {"$set": {"messages": new}},
        user("on", "w"),
    )
    assert shown(reading) == [
        ("user", ["so far"]),
        ("assistant", ["Got it.", "y"], []),
        ("user", ["on"]),
    ]
    assert [f.message for f in reading.findings] == ["2 messages lie before the last compaction"]
    assert reading.usage == ()


def test_an_aborted_prompt_that_was_taken_out_is_no_compaction() -> None:
    rows = user("go"), turn("a", "x"), user("bad", "v")
    reading = read_lines(*rows, {"$set": {"messages": list(rows[:2])}})
    assert codes(reading) == ["off_branch"]


def test_a_whole_record_on_the_first_line_is_read() -> None:
    reading = LENS.read(Rows([{**HEAD, "messages": [user("go")]}, turn("a", "x")]))
    assert shown(reading) == [("user", ["go"]), ("assistant", ["x"], [])]


# Strange input.


def test_strange_messages_give_findings() -> None:
    reading = read(5, {"type": "odd"}, user("go"), turn("a", "x", 5), turn("b", {"text": "?"}))
    assert codes(reading) == ["unknown_line"] * 2 + ["unknown_block"] * 2
    assert [f.path for f in reading.findings[:3]] == [
        *("$.messages[0]", "$.messages[1]", "$.messages[3].toolCalls[0]"),
    ]
    assert codes(read_lines(5, {"type": "user", "content": "x"})) == ["unknown_line"]


def test_what_is_no_recording_is_refused() -> None:
    roots: list[Any] = [{"messages": []}, [], [user("go")], 5, None, {"sessionId": "s"}]
    for root in roots:
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    messages = [
        user("go"),
        turn("a", "look", record("x", response("x", "one"), picture), **tokens(9, 3, 1)),
        notice([picture]),
    ]
    kit.check_damage(LENS, {**HEAD, "messages": messages})
    content = [{"functionCall": {"id": "x", "name": "f", "args": {}}}]
    rows = [HEAD, *messages, {"$rewindTo": "a"}, {"$set": {"messages": [turn("b", content)]}}]
    kit.check_damage(LENS, Rows([*rows, user([response("x", "one")], "r")]))


# Checkpoints.


def test_a_checkpoint_is_the_contents_of_the_next_request() -> None:
    history = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"text": "look"}, asked("x"), asked("y")]},
        {"role": "user", "parts": [answered("x", "one"), answered("y", "two")]},
        {"role": "model", "parts": [{"text": "done"}]},
    ]
    checkpoint = {"history": history, "authType": "oauth-personal"}
    data = json.dumps(checkpoint, indent=2).encode()
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("gemini-cli", data)
    kit.check_same(transcript.reading)
    assert transcript.lens.messages(checkpoint) == history
    [edit] = LENS.rewrite_body(checkpoint, kit.tools(transcript.reading)[0], "gone")
    assert edit.path == ("history", 2, "parts", 0, "functionResponse", "response", "output")


def asked(call_id: str) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": "bash", "args": {"command": call_id}}}


def answered(call_id: str, output: str) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "bash", "response": {"output": output}}}


@pytest.mark.parametrize("history", [[], [{"user": "a", "assistant": "b"}], "x", [{"parts": 5}]])
def test_another_history_is_no_checkpoint(history: Any) -> None:
    assert not LENS.recognises({"history": history})
