"""Cursor: transcripts mostly without results, and results that answer calls by their place."""

from __future__ import annotations

from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading
from compactor.formats.harnesses.cursor import Cursor
from compactor.formats.raw.native import Rows, apply_edits

Json = dict[str, Any]
LENS = Cursor()
TALK: Any = kit.TALK


def said(role: str, *blocks: Any) -> Json:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return {"role": role, "message": {"content": content}}


def call(name: str, **more: Any) -> Json:
    return {"type": "tool_use", "name": name, "input": {"command": "x"}, **more}


def result(content: Any, **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": "t", "content": content, **more}


def read(*rows: Any) -> Reading:
    root = Rows(rows)
    assert LENS.recognises(root)
    return LENS.read(root)


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def test_the_same_conversation_is_the_same_entries() -> None:
    rows = [{"role": m["role"], "message": {"content": m["content"]}} for m in TALK]
    kit.check_same(read(*rows))
    assert compactor.detect(Rows(rows)) == "cursor"


def test_calls_whose_results_are_not_in_the_file_are_said_once() -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    rows = [said("user", "go"), said("assistant", thinking, "look", call("Shell"), call("Read"))]
    reading = read(*rows, said("assistant", "done"))
    assert [[part.text for part in entry.parts] for entry in reading.entries] == [
        ["go"],
        ["hm", "look", "done"],
    ]
    assert [(f.code, f.message[:24]) for f in reading.findings] == [
        ("results_not_recorded", "the results of 2 calls a"),
    ]


def test_results_answer_the_calls_of_the_turn_before_in_their_order() -> None:
    reading = read(
        said("assistant", call("Shell"), call("Read")),
        said("user", result("one"), result([{"type": "text", "text": "two"}], is_error=True)),
        said("assistant", call("Grep"), call("Glob")),
        said("user", result("three"), "and more"),
        said("assistant", "x"),
        said("user", result("lost")),
    )
    found = [(entry.name, entry.body, entry.error) for entry in kit.tools(reading)]
    assert found == [
        ("Shell", "one", False),
        ("Read", "two", True),
        ("Grep", "three", False),
        ("", "lost", False),
    ]
    assert codes(reading) == ["orphan_result", "unanswered_call"]


def test_a_result_is_rewritten_in_place() -> None:
    root = Rows([said("assistant", call("Shell")), said("user", result("long"))])
    new = apply_edits(root, LENS.rewrite_body(root, LENS.read(root).entries[1], "gone"))
    assert new[1] == said("user", result("gone"))


@pytest.mark.parametrize(
    "root",
    [
        None,
        {},
        [],
        TALK,
        [{"role": "user", "message": {"role": "user", "content": "x"}}],
        [{"role": "user", "message": "x"}],
        [{"type": "user", "message": {"role": "user", "content": "x"}}],
    ],
)
def test_what_is_no_transcript_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_a_transcript_it_is_read_or_refused() -> None:
    rows = [said("user", "a"), said("assistant", call("b")), said("user", result([{}]), "c")]
    kit.check_damage(LENS, Rows([*rows, {"role": "user", "message": {"content": "x"}}]))
    assert codes(read(*rows, {"role": "judge"})) == ["unknown_block", "unknown_line"]
