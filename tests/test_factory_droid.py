"""Factory Droid: rows with Anthropic messages, and what its compactions keep."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading
from compactor.formats.harnesses.factory_droid import FactoryDroid
from compactor.formats.raw.native import Rows, apply_edits

Json = dict[str, Any]
LENS = FactoryDroid()
TALK: Any = kit.TALK
START = {"type": "session_start", "id": "s", "title": "t", "version": 2, "cwd": "/w"}


def row(message: Json, name: str = "", **more: Any) -> Json:
    return {"type": "message", "id": name, "message": message, **more}


def text(role: str, said: str, name: str = "") -> Json:
    return row({"role": role, "content": [{"type": "text", "text": said}]}, name)


def compaction(anchor: Any = None, summary: Any = "so far") -> Json:
    more = {} if anchor is None else {"anchorMessage": {"id": anchor, "index": 1}}
    return {"type": "compaction_state", "id": "c", "summaryText": summary, **more}


def read(*rows: Any) -> Reading:
    root = Rows([START, *rows])
    assert LENS.recognises(root)
    return LENS.read(root)


def texts(reading: Reading) -> list[str]:
    return [e.body or "".join(p.text for p in e.parts) for e in reading.entries]


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def test_the_same_conversation_is_the_same_entries() -> None:
    reading = read(*map(row, TALK), {"type": "todo_state", "todos": []})
    kit.check_same(reading)
    assert (codes(reading), reading.overhead.known) == ([], False)


def test_a_session_is_given_back_byte_for_byte_but_for_what_is_elided() -> None:
    rows: list[Json] = [START, text("user", "go")]
    for i in range(12):
        call = {"type": "tool_use", "id": f"c{i}", "name": "Read", "input": {"path": str(i)}}
        rows.append(row({"role": "assistant", "content": [call]}))
        result = {"type": "tool_result", "tool_use_id": f"c{i}", "content": f"{i} " * 400}
        rows.append(row({"role": "user", "content": [result]}))
    data = b"".join(json.dumps(each).encode() + b"\n" for each in rows)
    before = compactor.load(data)
    assert (before.format, before.to_bytes()) == ("factory-droid", data)
    out = compactor.compact(before, kit.policy(3000))
    lines = zip(data.split(b"\n"), out.request.to_bytes().split(b"\n"), strict=True)
    changed = [new for old, new in lines if old != new]
    assert changed
    assert all(b"[elided" in line for line in changed)


def test_the_prompt_begins_at_the_last_compaction_with_what_it_kept() -> None:
    first = [text("user", "a", "1"), text("assistant", "b", "2")]
    then = [text("user", "c", "3"), text("assistant", "d", "4")]
    reading = read(*first, *then, compaction("2"), text("user", "e", "5"))
    assert texts(reading) == ["so far", "c", "d", "e"]
    assert [(f.code, f.message[:2]) for f in reading.findings] == [("before_compaction", "2 ")]
    again = read(*first, *then, compaction("2"), text("user", "e", "5"), compaction("4", "newer"))
    assert texts(again) == ["newer", "e"]
    assert [(f.code, f.message[:2]) for f in again.findings] == [("before_compaction", "4 ")]


def test_a_session_that_a_compaction_made_begins_with_its_summary() -> None:
    assert texts(read(compaction(), text("user", "a"))) == ["so far", "a"]
    lost = read(text("user", "a", "1"), compaction("x"), text("user", "b", "2"))
    assert texts(lost) == ["so far", "b"]
    assert codes(lost) == ["before_compaction", "preserved_missing"]


def test_what_only_the_user_saw_is_not_sent_and_what_only_the_model_saw_is() -> None:
    shown = text("user", "a") | {"visibility": "user_only"}
    reminder = text("user", "b") | {"visibility": "llm_only"}
    assert texts(read(shown, reminder)) == ["b"]


def test_signed_thinking_can_be_removed() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    root = Rows([START, row({"role": "assistant", "content": [thinking]})])
    [entry] = LENS.read(root).entries
    new = apply_edits(root, LENS.remove_reasoning(root, entry, "removed"))
    assert new[1]["message"]["content"] == [{"type": "text", "text": "removed"}]
    assert LENS.bind_reasoning(root, {}) is None
    field = {"chatCompletionReasoningContent": "hm", "model": "gpt-5"}
    reading = read(row({"role": "assistant", "content": [], **field}))
    assert (texts(reading), reading.model) == (["hm"], "gpt-5")


def test_strange_rows_are_said_and_the_rest_is_read() -> None:
    reading = read(
        None, row({"role": "judge", "content": []}), {"type": "message"}, text("user", "a")
    )
    assert (texts(reading), codes(reading)) == (["a"], ["unknown_line"])


@pytest.mark.parametrize("root", [None, {}, [], [START["id"]], [{"type": "message"}], TALK])
def test_what_is_no_session_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_a_session_it_is_read_or_refused() -> None:
    rows = [*map(row, TALK), compaction("x"), text("user", "a", "x"), compaction("x")]
    kit.check_damage(LENS, Rows([START, *rows, *map(row, TALK)]))
