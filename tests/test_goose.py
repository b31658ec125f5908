"""Goose's sessions: a rule a test, over messages of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading
from compactor.formats.harnesses.goose import Goose
from compactor.formats.raw.native import Rows, apply_edits

LENS = Goose()
HEAD = {"working_dir": "/", "description": "d", "message_count": 4, "total_tokens": 100}


def message(role: str, *content: Any, **more: Any) -> dict[str, Any]:
    return {"id": None, "role": role, "created": 1750000000, "content": list(content), **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def asked(call_id: str, key: str = "value") -> dict[str, Any]:
    made = {"name": "bash", "arguments": {"command": call_id}}
    return {"type": "toolRequest", "id": call_id, "toolCall": {"status": "success", key: made}}


def given(call_id: str, value: Any, key: str = "value") -> dict[str, Any]:
    return {"type": "toolResponse", "id": call_id, "toolResult": {"status": "success", key: value}}


def talk(key: str = "value") -> list[Any]:
    return [
        message("user", text("go")),
        message("assistant", text("look"), asked("x", key), asked("y", key)),
        message("user", given("x", [text("one")], key)),
        message("user", given("y", {"content": [text("two")], "isError": False}, key)),
        message("assistant", text("done")),
    ]


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def read(*rows: Any) -> Reading:
    return LENS.read(Rows([HEAD, *rows]))


@pytest.mark.parametrize("key", ["value", "Ok"])
def test_the_same_conversation_has_the_same_entries(key: str) -> None:
    kit.check_same(read(*talk(key)))
    exported = {"id": "1", "working_dir": "/", "conversation": talk(key)}
    kit.check_same(LENS.read(exported))
    assert codes(LENS.read(exported)) == []


@pytest.mark.parametrize("is_export", [True, False])
def test_a_session_is_told_and_written_back_byte_for_byte(is_export: bool) -> None:
    rows = b"".join(json.dumps(row).encode() + b"\n" for row in [HEAD, *talk()])
    data = json.dumps({"conversation": talk()}, indent=1).encode() if is_export else rows
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("goose", data)


@pytest.mark.parametrize(
    ("result", "body", "new"),
    [
        ({"value": [text("one")]}, "one", {"value": [text("gone")]}),
        (
            {"value": {"content": [text("one")], "isError": True}},
            "one",
            {"value": {"content": [text("gone")], "isError": True}},
        ),
        ({"status": "error", "error": "no"}, "no", {"status": "error", "error": "gone"}),
    ],
)
def test_a_result_is_rewritten_in_its_own_shape(result: Any, body: str, new: Any) -> None:
    block = {"type": "toolResponse", "id": "x", "toolResult": result}
    root = Rows([message("assistant", asked("x")), message("user", block)])
    [entry] = kit.tools(LENS.read(root))
    assert (entry.body, entry.error) == (body, "value" not in result or "isError" in str(result))
    changed = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert changed[1]["content"][0]["toolResult"] == new


def test_what_is_not_for_the_agent_is_not_sent() -> None:
    hidden = message("user", text("old"), metadata={"userVisible": True, "agentVisible": False})
    reading = read(hidden, *talk())
    kit.check_same(reading)
    assert codes(reading) == ["off_branch"]


@pytest.mark.parametrize(
    "root",
    [None, [], {}, [message("user", text("go"))], {"conversation": []}, {"conversation": "x"}],
)
def test_what_is_no_session_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_a_session_it_is_read_or_refused() -> None:
    kit.check_damage(LENS, Rows(talk()[:3]))
    kit.check_damage(LENS, {"conversation": talk()[1:4]})
