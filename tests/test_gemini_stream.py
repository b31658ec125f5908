"""What Gemini CLI prints as a stream: a rule a test, over events of our own."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading, Usage
from compactor.formats.harnesses.gemini_stream import GeminiStream
from compactor.formats.raw.native import Rows

LENS = GeminiStream()
TIME = "2026-03-01T10:00:00.000Z"
INIT = {"type": "init", "timestamp": TIME, "session_id": "s", "model": "gemini-3-pro"}


def said(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "timestamp": TIME, "role": role, "content": content, **more}


def piece(content: str) -> dict[str, Any]:
    return said("assistant", content, delta=True)


def call(call_id: str) -> dict[str, Any]:
    tool = {"tool_name": "bash", "tool_id": call_id, "parameters": {"command": call_id}}
    return {"type": "tool_use", "timestamp": TIME, **tool}


def result(call_id: str, output: str | None, **more: Any) -> dict[str, Any]:
    shown = {} if output is None else {"output": output}
    told = {"tool_id": call_id, "status": "success", **shown, **more}
    return {"type": "tool_result", "timestamp": TIME, **told}


def end(**stats: int) -> dict[str, Any]:
    return {"type": "result", "timestamp": TIME, "status": "success", "stats": stats}


TALK = [
    INIT,
    said("user", "go"),
    *(piece("lo"), piece("ok"), call("x"), call("y")),
    *(result("x", "one"), result("y", "two"), piece("done")),
]
STATS = {"total_tokens": 60, "input_tokens": 40, "output_tokens": 15, "cached": 30, "input": 10}


def read(*rows: Any) -> Reading:
    return LENS.read(Rows([INIT, *rows]))


def test_the_same_conversation_has_the_same_entries() -> None:
    reading = LENS.read(Rows(TALK))
    kit.check_same(reading)
    assert (reading.model, reading.findings) == ("gemini-3-pro", [])
    assert not reading.overhead.known


def test_it_is_told_by_its_events_and_written_back_byte_for_byte() -> None:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in TALK)
    transcript = compactor.load(data)
    assert transcript.format == "gemini-cli-stream"
    assert transcript.to_bytes() == data


def test_a_run_ends_with_the_sum_over_its_requests() -> None:
    rows = [*TALK, end(**STATS), INIT, said("user", "more"), piece("yes"), end(**STATS)]
    first = Usage(0, 10, 30, 0, 15, "gemini-3-pro", time_ms=1772359200000, requests=2)
    assert LENS.all_usage(rows) == [first, msgspec.structs.replace(first, requests=1)]


def test_what_a_failed_call_says_is_its_body() -> None:
    failed = result("a", None, status="error", error={"type": "X", "message": "no such file"})
    reading = read(call("a"), failed)
    [entry] = kit.tools(reading)
    assert (entry.name, entry.body, entry.error) == ("bash", "no such file", True)
    [edit] = LENS.rewrite_body(Rows([INIT, call("a"), failed]), entry, "gone")
    assert edit.path == (2, "error", "message")


def test_results_of_which_nothing_was_shown_are_said() -> None:
    reading = read(call("a"), result("a", None), call("b"), result("b", ""))
    assert [entry.empty for entry in kit.tools(reading)] == [True, True]
    assert [f.code for f in reading.findings] == ["results_not_recorded"]


def test_a_message_that_is_no_piece_is_a_text_of_its_own() -> None:
    [entry] = read(piece("a"), piece("b"), said("assistant", "c")).entries
    assert [part.text for part in entry.parts] == ["ab", "c"]


@pytest.mark.parametrize(
    "root",
    [
        None,
        {},
        [],
        [{"type": "init"}, said("user", "go")],
        [{"type": "tool_use", "id": "a", "name": "bash", "input": {}}],
        [{"type": "tool_result", "tool_use_id": "a", "content": "x"}],
    ],
)
def test_events_of_others_are_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_a_stream_it_is_read_or_refused() -> None:
    failed = result("y", None, status="error", error={"type": "X", "message": "no"})
    kit.check_damage(LENS, Rows([*TALK[:6], result("x", "one"), failed, end(**STATS)]))
