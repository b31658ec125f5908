"""Amp's threads: a rule a test, over messages of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading
from compactor.formats.harnesses.amp import Amp
from compactor.formats.raw.native import apply_edits

LENS = Amp()


def thread(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"v": 12, "id": "T-1", "created": 1, "messages": list(messages), **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "messageId": 0, "content": list(blocks)}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(call_id: str) -> dict[str, Any]:
    given = {"command": call_id}
    return {"type": "tool_use", "complete": True, "id": call_id, "name": "bash", "input": given}


def ran(call_id: str, result: Any = None, **run: Any) -> dict[str, Any]:
    told = {"status": "done", **({} if result is None else {"result": result}), **run}
    return {"type": "tool_result", "toolUseID": call_id, "run": told}


def turn(*blocks: Any, **usage: Any) -> dict[str, Any]:
    counts = {"model": "claude-sonnet-4-5", "inputTokens": 12, "outputTokens": 80}
    cached = {"cacheCreationInputTokens": 2100, "cacheReadInputTokens": 9000}
    told = {**counts, **cached, "totalInputTokens": 11112, "timestamp": "2026-03-01T10:00:00Z"}
    return {"role": "assistant", "content": list(blocks), "usage": told | usage}


TALK = thread(
    user(text("go")),
    turn(text("look"), call("x"), call("y")),
    user(ran("x", "one"), ran("y", {"output": "two", "exitCode": 0})),
    turn(text("done")),
)


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def test_the_same_conversation_has_the_same_entries() -> None:
    reading = LENS.read(TALK)
    kit.check_same(reading)
    assert (reading.model, codes(reading)) == ("claude-sonnet-4-5", [])
    facts = [(u.n, u.input, u.cache_read, u.cache_write, u.output) for u in reading.usage]
    assert facts == [(1, 12, 9000, 2100, 80), (4, 12, 9000, 2100, 80)]
    assert len(LENS.all_usage(TALK)) == 2


def test_a_thread_is_told_and_written_back_byte_for_byte() -> None:
    data = json.dumps(TALK, indent=2).encode()
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("amp", data)
    assert compactor.detect({"messages": TALK["messages"]}) == "amp"


@pytest.mark.parametrize(
    ("block", "body", "new"),
    [
        (ran("x", "one"), "one", ran("x", "gone")),
        (ran("x", {"diff": "-a", "n": 1}), "-a", ran("x", {"diff": "gone", "n": 1})),
        (ran("x", [1, 2]), "[1,2]", ran("x", {"output": "gone"})),
        (
            ran("x", status="error", error={"message": "no a.py"}),
            "no a.py",
            ran("x", status="error", error={"message": "gone"}),
        ),
    ],
)
def test_a_result_is_the_text_that_its_run_gave(block: Any, body: str, new: Any) -> None:
    root = thread(user(text("go")), turn(call("x")), user(block))
    [entry] = kit.tools(LENS.read(root))
    assert (entry.body, entry.error) == (body, block["run"]["status"] == "error")
    changed = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert changed["messages"][2] == user(new)


def test_a_run_that_gave_nothing_yet_is_an_empty_result() -> None:
    reading = LENS.read(thread(user(text("go")), turn(call("x")), user(ran("x", status="queued"))))
    assert kit.tools(reading)[0].empty


def test_messages_of_another_kind_are_said() -> None:
    root = thread(user(text("go")), {"role": "info", "content": [{"type": "summary"}]})
    assert codes(LENS.read(root)) == ["unknown_line"]


@pytest.mark.parametrize(
    "root",
    [
        None,
        [],
        {},
        thread(),
        {"messages": [user(text("go"))]},
        {"messages": [user({"type": "tool_result", "tool_use_id": "a", "content": "x"})]},
    ],
)
def test_what_is_no_thread_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_a_thread_it_is_read_or_refused() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    kit.check_damage(LENS, thread(user(text("go")), turn(thought, call("x")), user(ran("x", "1"))))
