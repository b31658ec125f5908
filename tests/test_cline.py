"""Cline sessions and the message lists of Cline and Roo Code: recorded files, and a rule a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import codes, numbers, shown

import compactor
from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading
from compactor.formats.harnesses.cline import Cline
from compactor.formats.raw.native import apply_edits

LENS = Cline()
each_file = pytest.mark.parametrize("path", kit.files("cline"), ids=lambda path: path.stem)


# Recorded files against counts that know nothing of the lens.


@each_file
def test_a_session_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "cline")


@each_file
def test_requests_and_usage_are_those_that_the_session_counts(path: Path) -> None:
    session = json.loads(path.read_text("utf-8"))
    counts = [message["metrics"] for message in session["messages"] if "metrics" in message]
    reading = LENS.read(session)
    sums = [(u.input + u.cache_read + u.cache_write, u.cache_read, u.output) for u in reading.usage]
    assert sums == [(c["inputTokens"], c["cacheReadTokens"], c["outputTokens"]) for c in counts]
    asked = [m["modelInfo"]["id"] for m in session["messages"] if m["role"] == "assistant"]
    assert [usage.model for usage in reading.usage] == asked
    assert reading.model == asked[-1]


@each_file
def test_what_a_prompt_reads_from_the_cache_is_the_prompt_before_it(path: Path) -> None:
    """So that `inputTokens` holds what was cached: this provider caches all but two tokens."""
    usage = LENS.read(json.loads(path.read_text("utf-8"))).usage
    prompts = [u.input + u.cache_read + u.cache_write for u in usage]
    asked = [
        (prompt, new.cache_read)
        for prompt, old, new in zip(prompts, usage, usage[1:], strict=False)
        if new.cache_read and new.model == old.model
    ]
    assert len(asked) > 10
    assert [prompt - read for prompt, read in asked] == [2] * len(asked)


@each_file
def test_every_message_and_result_is_read_once(path: Path) -> None:
    session = json.loads(path.read_text("utf-8"))
    blocks = [block for message in session["messages"] for block in message["content"]]
    results = [block for block in blocks if block["type"] == "tool_result"]
    reading = LENS.read(session)
    tools = kit.tools(reading)
    wanted = [(block["tool_use_id"], block["name"]) for block in results]
    assert [(entry.call_id, entry.name) for entry in tools] == wanted
    for entry, block in zip(tools, results, strict=True):
        content = block["content"]
        said = content if isinstance(content, str) else json.loads(entry.body)
        assert said == content
        assert entry.body
    assert len(reading.entries) == len(session["messages"])
    assert reading.overhead.texts == (session["system_prompt"],)
    assert reading.findings == []


@each_file
def test_rewriting_one_result_changes_one_message(path: Path) -> None:
    kit.check_one_change(path, "cline")


@each_file
def test_a_session_is_compacted_at_three_windows(path: Path) -> None:
    assert kit.check_compacts(path, "cline") > 0


# Rules.


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, "ts": 1, **more}


def turn(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), "ts": 1, **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {"q": call_id}}


def result(call_id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def metrics(prompt: int, read: int, write: int, output: int) -> dict[str, Any]:
    counts = {"inputTokens": prompt, "cacheReadTokens": read, "cacheWriteTokens": write}
    return {"metrics": {**counts, "outputTokens": output}, "modelInfo": {"id": "m"}}


def session(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"version": 1, "sessionId": "s", "messages": list(messages), **more}


def read(*messages: Any, **more: Any) -> Reading:
    return LENS.read(session(*messages, **more))


def test_input_tokens_of_a_session_hold_what_was_cached() -> None:
    reading = read(user("go"), turn(text("x"), **metrics(100, 70, 20, 5)))
    assert [(usage.n, *numbers(usage)) for usage in reading.usage] == [(1, 10, 70, 20, 5)]


def test_prompt_tokens_of_an_older_list_do_not() -> None:
    counts = {"tokens": {"prompt": 10, "completion": 5, "cached": 90}}
    messages = [user("go"), turn(text("x"), metrics=counts, modelInfo={"modelId": "old"})]
    reading = LENS.read(messages)
    assert [numbers(usage) for usage in reading.usage] == [(10, 90, 0, 5)]
    assert (reading.model, reading.overhead.known) == ("old", False)


def test_what_a_tool_gave_as_objects_is_read_as_its_json_and_rewritten_as_a_text() -> None:
    picture = {"type": "image", "data": "AAAA", "mediaType": "image/png"}
    given = [{"query": "a", "result": [text("seen"), picture], "success": True}]
    root = session(user("go"), turn(call("x")), user([result("x", given)]))
    [entry] = kit.tools(LENS.read(root))
    assert entry.body == '[{"query":"a","result":[{"type":"text","text":"seen"}],"success":true}]'
    assert [part.kind for part in entry.parts] == [PartKind.IMAGE]
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new["messages"][2]["content"] == [result("x", [text("gone")])]


def test_a_file_that_a_user_gave_is_text() -> None:
    file = {"type": "file", "path": "/a.py", "content": "code"}
    assert shown(read(user([text("see"), file]))) == [("user", ["see", "/a.py\ncode"])]


def test_results_and_what_the_user_says_beside_them_are_entries_of_their_own() -> None:
    blocks = [result("x", "one"), result("y", "two", is_error=True), text("on")]
    reading = read(user("go"), turn(call("x"), call("y")), user(blocks))
    assert shown(reading)[2:] == [("tool", "x", "one"), ("tool", "y", "two"), ("user", ["on"])]
    assert [entry.error for entry in kit.tools(reading)] == [False, True]


def test_a_condensed_message_is_hidden_while_its_summary_is_there() -> None:
    messages = [
        user("task"),
        turn(call("x"), condenseParent="c"),
        user([result("x")], condenseParent="c"),
        turn(text("so far"), isSummary=True, condenseId="c"),
        user("on"),
    ]
    reading = LENS.read(messages)
    assert [row[1] for row in shown(reading)] == [["task"], ["so far"], ["on"]]
    assert [f.message for f in reading.findings] == ["2 messages lie before the last compaction"]
    del messages[3]
    assert len(LENS.read(messages).entries) == 4
    assert codes(LENS.read(messages)) == []


def test_a_truncated_message_is_hidden_while_its_marker_is_there() -> None:
    marker = user("[hidden]", isTruncationMarker=True, truncationId="t")
    reading = LENS.read([user("a"), user("b", truncationParent="t"), marker, user("c")])
    assert [row[1] for row in shown(reading)] == [["a"], ["[hidden]"], ["c"]]
    assert codes(reading) == ["before_compaction"]


def test_an_older_summary_stands_for_all_behind_the_first_message() -> None:
    summary = turn(text("so far"), isSummary=True)
    reading = LENS.read([user("task"), turn(text("x")), user("y"), summary, user("on")])
    assert [row[1] for row in shown(reading)] == [["task"], ["so far"], ["on"]]


def test_a_session_says_how_many_messages_its_compaction_took_out() -> None:
    noted = {"kind": "compaction", "messagesRemoved": 22}
    reading = read(user("so far", metadata=noted), turn(text("x"), metadata={"compaction": "kept"}))
    assert [f.message for f in reading.findings] == ["22 messages lie before the last compaction"]


def test_what_was_answered_before_a_compaction_is_no_request_over_what_is_left() -> None:
    noted = {"kind": "compaction_summary", "generatedAt": 50}
    old, new = (turn(text("x"), **metrics(9, 0, 0, 1)) | {"ts": ts} for ts in (40, 60))
    reading = read(user("so far", metadata=noted), old, user("on"), new)
    assert [usage.n for usage in reading.usage] == [3]


def test_a_subagents_session_is_said_to_be_one() -> None:
    assert codes(read(user("go"), agent="teammate")) == ["subagent_file"]
    assert codes(read(user("go"), agent="lead")) == []


def test_reasoning_of_other_providers_is_reasoning() -> None:
    sealed = {"role": "assistant", "type": "reasoning", "encrypted_content": "abc", "ts": 1}
    thought = {"type": "thoughtSignature", "thoughtSignature": "sig"}
    reading = LENS.read([user("go"), sealed, turn({"type": "reasoning", "text": "hm"}, thought)])
    [entry] = reading.entries[1:]
    kinds = [PartKind.SEALED, PartKind.REASONING, PartKind.SEALED]
    assert [part.kind for part in entry.parts] == kinds
    assert codes(reading) == []


def test_signed_thinking_can_be_removed() -> None:
    signed = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    root = session(user("go"), turn(signed, text("x")), turn(signed))
    entry = LENS.read(root).entries[1]
    new = apply_edits(root, LENS.remove_reasoning(root, entry, "removed"))
    contents = [message["content"] for message in new["messages"][1:]]
    assert contents == [[text("x")], [text("removed")]]
    assert LENS.bind_reasoning(root, {}) is None


# Which it is, and strange input.


def test_a_list_is_told_from_anthropics_by_its_times() -> None:
    messages = [user("go"), turn(call("x")), user([result("x")])]
    assert compactor.detect(messages) == "cline"
    bare = [{key: value for key, value in m.items() if key != "ts"} for m in messages]
    assert compactor.detect(bare) == "anthropic"
    assert len(LENS.read(bare).entries) == 3
    assert compactor.detect(session(*bare)) == "cline"
    assert compactor.detect({"messages": bare, "system": "s"}) == "anthropic"


def test_strange_messages_give_findings() -> None:
    reading = read(5, {"role": "odd"}, user("go"), turn({"type": "?"}), user([result("?")]))
    assert codes(reading) == ["unknown_line"] * 2 + ["unknown_block", "orphan_result"]
    assert [row[0] for row in shown(reading)] == ["user", "assistant", "tool"]


def test_what_is_no_session_is_refused() -> None:
    roots: list[Any] = [{"messages": []}, [], [5], 5, None, {"version": 1, "sessionId": "s"}]
    for root in roots:
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    picture = {"type": "image", "data": "AAAA", "mediaType": "image/png"}
    given = [{"query": "a", "result": [picture], "success": True}]
    messages = [
        user([text("go"), {"type": "file", "path": "a", "content": "b"}]),
        turn(text("x"), call("x"), **metrics(9, 3, 1, 2)),
        user([result("x", given)], metadata={"kind": "compaction", "messagesRemoved": 2}),
        user("hidden", condenseParent="c"),
        turn({"type": "reasoning", "text": "hm"}, isSummary=True, condenseId="c"),
    ]
    kit.check_damage(LENS, messages)
    kit.check_damage(LENS, session(*messages, system_prompt="s", agent="lead"))
