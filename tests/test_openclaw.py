"""OpenClaw's telemetry: a rule a test, over events of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading
from compactor.formats.harnesses.openclaw import OpenClaw
from compactor.formats.raw.native import Rows, apply_edits

LENS = OpenClaw()
MAIN, SUB = "agent:main:main", "agent:main:subagent:1"


def user(text: str, when: int = 1) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": when}


def turn(when: int, *blocks: Any, **more: Any) -> dict[str, Any]:
    counts = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10}
    told = {"role": "assistant", "content": list(blocks), "timestamp": when, "usage": counts}
    return {**told, "model": "claude-opus-4-8", "stopReason": "stop", **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {"command": call_id}}


def result(when: int, call_id: str, said: str) -> dict[str, Any]:
    told = {"toolCallId": call_id, "toolName": "bash", "isError": False}
    return {"role": "toolResult", "content": [text(said)], "timestamp": when, **told}


def start(prompt: str, messages: list[Any] | None = None, key: str = MAIN) -> dict[str, Any]:
    held = {} if messages is None else {"messages": messages}
    return {"type": "agent.start", "sessionKey": key, "prompt": prompt, **held}


def end(messages: list[Any], key: str = MAIN) -> dict[str, Any]:
    return {"type": "agent.end", "sessionKey": key, "messages": messages}


FIRST = [user("go"), turn(2, text("look"), call("x"), call("y"))]
WHOLE = [*FIRST, result(3, "x", "one"), result(4, "y", "two"), turn(5, text("done"))]
HEARD = {"type": "message.in", "content": "go"}
TOOL = {"type": "tool.end", "toolName": "bash", "sessionKey": MAIN, "success": True}
TALK = [HEARD, start("go"), start("go", []), TOOL, end(WHOLE)]


def read(*rows: Any) -> Reading:
    return LENS.read(Rows(rows))


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def test_the_last_event_says_what_a_session_holds() -> None:
    reading = read(*TALK)
    kit.check_same(reading)
    assert (reading.model, codes(reading)) == ("claude-opus-4-8", [])
    assert [(u.n, u.input, u.output, u.cache_read, u.cache_write) for u in reading.usage] == [
        (1, 1, 2, 3, 4),
        (4, 1, 2, 3, 4),
    ]


def test_it_is_told_by_its_events_and_written_back_byte_for_byte() -> None:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in TALK)
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("openclaw", data)


def test_a_prompt_stands_behind_what_the_session_held_before_it() -> None:
    reading = read(*TALK, start("more"), start("more", WHOLE))
    assert [part.text for part in reading.entries[-1].parts] == ["more"]
    assert len(reading.entries) == 6
    alone = read(start("go"))
    assert [part.text for part in alone.entries[0].parts] == ["go"]


def test_every_session_is_a_conversation_and_sub_agents_come_last() -> None:
    rows = [start("look", [], SUB), *TALK, end([user("look"), turn(9, text("so"))], SUB)]
    assert LENS.threads(rows) == [MAIN, SUB]
    assert codes(read(*rows)) == ["other_threads"]
    assert len(LENS.of_thread(SUB).read(Rows(rows)).entries) == 2


def test_usage_of_a_message_counts_once_however_often_it_is_repeated() -> None:
    summary = [user("what was done", 6), turn(7, text("yes"))]
    rows = [*TALK, start("more", WHOLE), start("on", WHOLE), end(summary)]
    assert [usage.output for usage in LENS.all_usage(rows)] == [2, 2, 2]
    reading = read(*rows)
    assert codes(reading) == ["before_compaction"]
    assert len(reading.usage) == 1


def test_turns_that_were_stopped_are_in_no_later_request() -> None:
    stopped = turn(2, text("loo"), stopReason="aborted")
    reading = read(end([user("go"), stopped, user("again", 3)]))
    assert len(reading.entries) == 2
    assert codes(reading) == ["dropped_turns"]


def test_a_result_is_rewritten_where_it_was_told_last() -> None:
    root = Rows([*TALK, start("more", WHOLE)])
    new = apply_edits(root, LENS.rewrite_body(root, kit.tools(LENS.read(root))[0], "gone"))
    assert [old is now for old, now in zip(root, new, strict=True)].index(False) == len(root) - 1
    assert new[-1]["messages"][2]["content"] == [text("gone")]


@pytest.mark.parametrize(
    "root",
    [None, {}, [], [HEARD, TOOL], [{"type": "agent.start", "prompt": "x"}], [user("go")]],
)
def test_what_tells_of_no_session_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_an_event_it_is_read_or_refused() -> None:
    kit.check_damage(LENS, Rows([start("go", []), end(WHOLE[:3]), start("look", [], SUB)]))
