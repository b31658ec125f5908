"""OpenHands' logs of LLM calls: every recorded file against its raw values, and a rule a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, numbers, shown

from compactor.core.errors import InputError
from compactor.core.model import entry_digest
from compactor.formats.harnesses.openhands_llm_log import OpenHandsLlmLog
from compactor.formats.raw.native import Rows, apply_edits

LENS = OpenHandsLlmLog()
FILES = kit.files("openhands-llm-log")
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def raw(path: Path) -> Json:
    root: Json = json.loads(path.read_text("utf-8"))
    return root


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "openhands-llm-log")


@each_file
def test_usage_is_what_the_response_says(path: Path) -> None:
    counts = raw(path)["response"]["usage"]
    cached = counts["prompt_tokens_details"]["cached_tokens"]
    written = counts["cache_creation_input_tokens"]
    wanted = (counts["prompt_tokens"] - cached - written, cached, written)
    reading = LENS.read(raw(path))
    (usage,) = reading.usage
    assert numbers(usage) == (*wanted, counts["completion_tokens"])
    assert usage.n == len(reading.entries) == len(raw(path)["messages"]) - 1
    assert usage.time_ms == int(raw(path)["response"]["created"] * 1000)
    assert LENS.all_usage(raw(path)) == [kit_usage(usage)]


def kit_usage(usage: Any) -> Any:
    """The usage of a request without the entries it was made over."""
    return type(usage)(**{**{f: getattr(usage, f) for f in usage.__struct_fields__}, "n": 0})


@each_file
def test_system_prompt_and_tools_are_overhead(path: Path) -> None:
    overhead = LENS.read(raw(path)).overhead
    assert overhead.known
    assert overhead.texts[0] == raw(path)["messages"][0]["content"][0]["text"]
    assert len(overhead.texts) == 1 + 3 * len(raw(path)["tools"])


@each_file
def test_rewriting_one_result_changes_one_message(path: Path) -> None:
    kit.check_one_change(path, "openhands-llm-log")


def test_recordings_are_compacted_at_three_windows() -> None:
    assert not FILES or sum(kit.check_compacts(path, "openhands-llm-log") for path in FILES) > 0


def test_files_of_consecutive_requests_are_one_conversation() -> None:
    reading = LENS.read([raw(path) for path in FILES]) if FILES else None
    if reading is not None:
        assert [usage.n for usage in reading.usage] == [1, 3, 5, 7, 9, 11]
        assert codes(reading) == []
        last = LENS.read(raw(FILES[-1]))
        assert [*map(entry_digest, reading.entries)] == [*map(entry_digest, last.entries)]


# Logs, as small as they can be.

CALL = {"id": "x", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
MESSAGES = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "look", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "x", "name": "bash", "content": "one"},
]
TOOL = {"type": "function", "function": {"name": "bash", "description": "runs"}}


def log(messages: Any = MESSAGES, **more: Any) -> Json:
    counts = {"prompt_tokens": 10, "completion_tokens": 2}
    response = {"id": "r", "model": "m", "usage": counts, "choices": []}
    return {"messages": messages, "response": response, "cost": 0.1, "kwargs": {}, **more}


def test_older_logs_have_their_tools_among_the_arguments() -> None:
    reading = LENS.read(log(kwargs={"tools": [TOOL]}, timestamp=7.5))
    assert reading.overhead.texts == ("be brief", "bash", "runs")
    assert (reading.model, reading.usage[0].time_ms) == ("m", 7500)


@pytest.mark.parametrize("key", ["raw_messages", "fncall_messages"])
def test_what_a_model_without_calls_was_not_sent_is_not_counted(key: str) -> None:
    talk = [MESSAGES[0], MESSAGES[1], {"role": "assistant", "content": "<function=bash>"}]
    reading = LENS.read(log(talk, tools=[TOOL], **{key: MESSAGES}))
    assert shown(reading) == [("user", ["go"]), ("assistant", ["<function=bash>"], [])]
    assert reading.overhead.texts == ("be brief",)


def test_a_log_of_the_responses_api_is_read() -> None:
    items = [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "x", "name": "bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "x", "output": "one"},
    ]
    counts = {"input_tokens": 10, "output_tokens": 2}
    root = {
        "llm_path": "responses",
        "instructions": "be brief",
        "input": items,
        "response": {"object": "response", "model": "m", "usage": counts},
    }
    reading = LENS.read(root)
    assert shown(reading)[2] == ("tool", "x", "one")
    assert (reading.overhead.texts, numbers(reading.usage[0])) == (("be brief",), (10, 0, 0, 2))
    changed = apply_edits(root, LENS.rewrite_body(root, reading.entries[2], "gone"))
    assert changed["input"][2]["output"] == "gone"


def test_a_request_that_failed_is_read_alone_and_passed_over_beside_others() -> None:
    failed = {"messages": MESSAGES, "error": {"type": "Timeout"}, "latency_sec": 1.0}
    assert len(LENS.read(failed).entries) == 3
    assert codes(LENS.read(failed)) == ["failed_requests"]
    reading = LENS.read(Rows([log(MESSAGES[:2]), failed]))
    assert (shown(reading), codes(reading)) == ([("user", ["go"])], ["failed_requests"])


def test_what_litellm_hands_to_a_callback_is_a_log_with_the_answer_as_text() -> None:
    counts = {"prompt_tokens": 40, "completion_tokens": 5}
    text = "\n\n " + json.dumps({"model": "m-1", "choices": [], "usage": counts})
    told = {"litellm_call_id": "c", "api_call_start_time": "2026-03-01T10:00:00", "model": "m"}
    root = {"messages": MESSAGES, **told, "original_response": text}
    assert LENS.recognises(root)
    [usage] = LENS.read(root).usage
    assert (numbers(usage), usage.model, usage.time_ms) == ((40, 0, 0, 5), "m-1", 1772359200000)
    del root["litellm_call_id"]
    assert not LENS.recognises(root)


def test_lines_of_logs_are_conversations() -> None:
    rows = Rows([log(MESSAGES[:2]), log(), log([{"role": "user", "content": "other"}])])
    assert LENS.threads(rows) == ["main", "request-3"]
    assert [usage.n for usage in LENS.read(rows).usage] == [1, 3]


def test_the_same_conversation_has_the_same_entries() -> None:
    given = [
        {"id": key, "type": "function", "function": {"name": "bash", "arguments": arguments}}
        for key, arguments in (("x", '{"command":"x"}'), ("y", '{"command": "y"}'))
    ]
    talk = [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": "look", "tool_calls": given},
        {"role": "tool", "tool_call_id": "x", "content": "one"},
        {"role": "tool", "tool_call_id": "y", "content": [{"type": "text", "text": "two"}]},
        {"role": "assistant", "content": "done"},
    ]
    kit.check_same(LENS.read(log(talk)))


def test_what_is_no_log_is_not_read() -> None:
    for root in ([], {}, None, {"messages": MESSAGES}, {"messages": MESSAGES, "response": "x"}):
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    kit.check_damage(LENS, log(tools=[TOOL], raw_messages=None))
    kit.check_damage(LENS, Rows([log(MESSAGES[:2]), log()]))
