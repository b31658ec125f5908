"""Kimi sessions: every recorded file, and a rule a test."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import codes, numbers, shown

from compactor.core.errors import InputError
from compactor.core.model import Kind, PartKind, Reading
from compactor.formats.harnesses.kimi_cli import KimiCli
from compactor.formats.raw.native import Rows, apply_edits

LENS = KimiCli()
each_file = pytest.mark.parametrize("path", kit.files("kimi-cli"), ids=lambda path: path.stem)


# Recorded files against counts that know nothing of the lens. The recorded session ends with a
# compaction, so it is also read as it was before that.


def before_compaction(path: Path) -> list[Any]:
    rows = kit.rows_of(path)
    cut = next(i for i, row in enumerate(rows) if row["type"] == "full_compaction.begin")
    return rows[:cut]


def events(rows: list[Any], kind: str) -> list[Any]:
    return [row["event"] for row in rows if row.get("event", {}).get("type") == kind]


@pytest.fixture
def earlier(path: Path, tmp_path: Path) -> Path:
    """The session as it was before its compaction."""
    lines = path.read_text("utf-8").split("\n")
    target = tmp_path / path.name
    target.write_text("\n".join(lines[: len(before_compaction(path))]), "utf-8", newline="")
    return target


@each_file
def test_a_session_is_written_back_byte_for_byte(path: Path, earlier: Path) -> None:
    kit.check_untouched(path, "kimi-cli")
    kit.check_untouched(earlier, "kimi-cli")


@each_file
def test_there_is_a_request_for_each_ended_step_over_the_messages_it_counted(path: Path) -> None:
    rows = before_compaction(path)
    reading = LENS.read(Rows(rows))
    records = [row for row in rows if row["type"] == "usage.record"]
    keys = ("inputOther", "inputCacheRead", "inputCacheCreation", "output")
    assert [numbers(usage) for usage in reading.usage] == [
        tuple(record["usage"][key] for key in keys) for record in records
    ]
    asked = [row["messageCount"] for row in rows if row["type"] == "llm.request"]
    # Kimi sends adjacent messages of the user's own as one; its first steps failed.
    own = [e.kind is Kind.USER and not is_injected(e.parts[0].text) for e in reading.entries]
    merged = sum(a and b for a, b in pairwise(own))
    assert [usage.n - merged for usage in reading.usage] == asked[-len(reading.usage) :]


def is_injected(text: str) -> bool:
    return text.startswith("<system-reminder>")


@each_file
def test_every_result_is_read_once_with_its_note(path: Path) -> None:
    rows = before_compaction(path)
    reading = LENS.read(Rows(rows))
    wanted = [
        (
            result["toolCallId"],
            "\n".join(filter(None, (result["result"]["output"], result["result"].get("note")))),
            result["result"].get("isError", False),
        )
        for result in events(rows, "tool.result")
    ]
    assert [(e.call_id, e.body, e.error) for e in kit.tools(reading)] == wanted
    calls = [(call.id, call.name) for entry in reading.entries for call in entry.calls]
    assert calls == [(call["toolCallId"], call["name"]) for call in events(rows, "tool.call")]
    assert reading.findings == []


@each_file
def test_behind_the_compaction_there_are_the_users_own_messages_and_its_summary(path: Path) -> None:
    rows = kit.rows_of(path)
    [compaction] = [row for row in rows if row["type"] == "context.apply_compaction"]
    prompts = [row["input"][0]["text"] for row in rows if row["type"] == "turn.prompt"]
    reading = LENS.read(Rows(rows))
    kept = compaction["keptUserMessageCount"]
    assert [row[1] for row in shown(reading)] == [
        *([text] for text in prompts[-kept:]),
        [compaction["contextSummary"]],
    ]
    gone = compaction["compactedCount"] - kept
    [finding] = reading.findings
    assert finding.message == f"{gone} messages lie before the last compaction"
    assert reading.usage == ()
    assert reading.overhead.texts == (rows[1]["systemPrompt"],)


@each_file
def test_rewriting_one_result_changes_one_event(earlier: Path) -> None:
    kit.check_one_change(earlier, "kimi-cli")


@each_file
def test_a_session_is_compacted_at_three_windows(path: Path, earlier: Path) -> None:
    assert kit.check_compacts(earlier, "kimi-cli") > 0
    assert kit.check_compacts(path, "kimi-cli") == 0


# Rules.


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def said(content: str, kind: str = "user", role: str = "user", **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": [text(content)], "origin": {"kind": kind}, **more}
    return {"type": "context.append_message", "message": message}


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": kind, **more}}


def part(step: str, **more: Any) -> dict[str, Any]:
    return event("content.part", stepUuid=step, part=more)


def call(step: str, call_id: str) -> dict[str, Any]:
    more = {"name": "f", "args": {"q": call_id}}
    return event("tool.call", stepUuid=step, uuid=call_id, toolCallId=call_id, **more)


def result(call_id: str, output: Any = "ok", **more: Any) -> dict[str, Any]:
    return event("tool.result", toolCallId=call_id, result={"output": output, **more})


def begin(step: str) -> dict[str, Any]:
    return event("step.begin", uuid=step)


def end(step: str, *counts: int) -> dict[str, Any]:
    keys = ("inputOther", "inputCacheRead", "inputCacheCreation", "output")
    usage = {"usage": dict(zip(keys, counts, strict=True))} if counts else {}
    return event("step.end", uuid=step, **usage)


def answer(step: str, content: str) -> list[dict[str, Any]]:
    return [begin(step), part(step, **text(content)), end(step)]


def compaction(**counts: int) -> dict[str, Any]:
    summary = {"summary": "s", "contextSummary": "so far"}
    return {"type": "context.apply_compaction", **summary, **counts}


def read(*rows: Any) -> Reading:
    return LENS.read(Rows(rows))


def test_the_lines_of_a_step_are_one_turn_and_one_request() -> None:
    reading = read(
        {"type": "turn.prompt", "input": [text("go")]},
        said("go"),
        begin("s"),
        {"type": "llm.request", "kind": "loop", "model": "m"},
        part("s", type="think", think="hm"),
        part("s", **text("look")),
        *(call("s", "x"), call("s", "y"), result("y", "two"), result("x", "one", note="<n/>")),
        end("s", 1, 2, 3, 4),
        {"type": "usage.record", "usage": {"inputOther": 1}},
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["hm", "look"], ["x", "y"]),
        ("tool", "y", "two"),
        ("tool", "x", "one\n<n/>"),
    ]
    assert [(usage.n, *numbers(usage), usage.model) for usage in reading.usage] == [
        (1, 1, 2, 3, 4, "m")
    ]
    assert codes(reading) == []


def test_a_step_that_said_nothing_is_not_sent() -> None:
    reading = read(said("go"), begin("s"), said("again"), *answer("t", "x"))
    assert [row[0] for row in shown(reading)] == ["user", "user", "assistant"]


def test_what_is_said_while_calls_are_open_waits_for_their_results() -> None:
    reading = read(
        *(begin("s"), call("s", "x"), call("s", "y"), said("note", "injection")),
        *(result("x"), said("more"), result("y")),
    )
    assert [row[0] for row in shown(reading)] == ["assistant", "tool", "tool", "user", "user"]
    waiting = read(begin("s"), call("s", "x"), said("note"))
    assert [row[0] for row in shown(waiting)] == ["assistant", "user"]
    assert codes(waiting) == ["unanswered_call"]


def test_a_result_of_no_open_call_is_not_sent() -> None:
    reading = read(begin("s"), call("s", "x"), result("x"), result("x", "again"), result("?"))
    assert [row[1:] for row in shown(reading)[1:]] == [("x", "ok")]
    assert codes(reading) == ["unknown_line"]


def test_rewriting_a_result_keeps_its_shape_and_takes_its_note() -> None:
    picture = {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,AAAA"}}
    rows = Rows(
        [
            *(begin("s"), call("s", "x"), call("s", "y"), call("s", "z")),
            result("x", "one", note="n", isError=True),
            result("y", [text("two"), picture], note="n"),
            result("z", None, note="n"),
        ]
    )
    entries = kit.tools(LENS.read(rows))
    assert [entry.body for entry in entries] == ["one\nn", "two\nn", "n"]
    assert [part.kind for part in entries[1].parts] == [PartKind.IMAGE]
    edits = [edit for entry in entries for edit in LENS.rewrite_body(rows, entry, "gone")]
    new = [row["event"]["result"] for row in apply_edits(rows, edits)[4:]]
    assert new == [
        {"output": "gone", "isError": True},
        {"output": [text("gone")]},
        {"output": "gone"},
    ]


def test_a_compaction_keeps_the_users_own_messages_before_its_summary() -> None:
    rows = [
        *(said("1"), said("note", "injection"), *answer("s", "x"), said("2"), *answer("t", "y")),
        *(said("3"), *answer("u", "z")),
    ]
    all_kept = read(*rows, compaction(keptUserMessageCount=3), said("on"))
    assert [row[1] for row in shown(all_kept)] == [["1"], ["2"], ["3"], ["so far"], ["on"]]
    assert all_kept.findings[0].message == "4 messages lie before the last compaction"
    some = {"keptUserMessageCount": 2, "keptHeadUserMessageCount": 1}
    assert [row[1] for row in shown(read(*rows, compaction(**some)))] == [["1"], ["3"], ["so far"]]
    again = read(*rows, compaction(keptUserMessageCount=1), compaction(keptUserMessageCount=1))
    assert [row[1] for row in shown(again)] == [["3"], ["so far"]]
    assert again.findings[0].message == "7 messages lie before the last compaction"


def test_an_older_compaction_keeps_what_is_behind_it() -> None:
    rows = said("1"), *answer("s", "x"), said("2"), *answer("t", "y")
    reading = read(*rows, compaction(compactedCount=2), said("on"))
    assert [row[1] for row in shown(reading)] == [["so far"], ["2"], ["y"], ["on"]]
    again = read(*rows, compaction(compactedCount=2), compaction(compactedCount=2))
    assert [row[1] for row in shown(again)] == [["so far"], ["y"]]


def test_a_cleared_context_begins_anew() -> None:
    reading = read(said("1"), *answer("s", "x"), {"type": "context.clear"}, said("on"))
    assert (shown(reading), codes(reading)) == ([("user", ["on"])], ["before_compaction"])


def test_an_undo_takes_back_the_users_last_messages_and_what_followed() -> None:
    rows = said("1"), *answer("s", "x"), said("2"), said("note", "injection"), *answer("t", "y")
    one = read(*rows, {"type": "context.undo", "count": 1})
    assert [row[1] for row in shown(one)] == [["1"], ["x"], ["note"]]
    assert one.findings[0].message == "2 messages are on branches that were left"
    assert shown(read(*rows, {"type": "context.undo", "count": 9})) == [("user", ["note"])]
    kept = compaction(keptUserMessageCount=2)
    behind = read(*rows, kept, said("3"), {"type": "context.undo", "count": 2})
    assert [row[1] for row in shown(behind)] == [["1"], ["2"], ["so far"]]


def test_long_results_that_microcompaction_cleared_are_not_in_the_prompt() -> None:
    reading = read(
        *(said("go"), begin("s"), call("s", "x"), call("s", "y"), result("x", "a" * 400)),
        *(result("y", "short"), end("s"), begin("t"), call("t", "z"), result("z", "b" * 400)),
        {"type": "micro_compaction.apply", "cutoff": 4},
    )
    assert [(entry.body[:5], entry.cleared) for entry in kit.tools(reading)] == [
        *(("", True), ("short", False), ("bbbbb", False)),
    ]
    assert codes(reading) == ["cleared_by_harness"]


def test_messages_that_were_appended_whole_are_read() -> None:
    calls = [{"type": "function", "id": "x", "name": "f", "arguments": '{"q": 1}'}]
    rows = Rows(
        [
            said("be brief", role="system"),
            said("look", role="assistant", toolCalls=calls),
            said("one", role="tool", toolCallId="x"),
        ]
    )
    reading = LENS.read(rows)
    assert shown(reading) == [
        ("system", ["be brief"]),
        ("assistant", ["look"], ["x"]),
        ("tool", "x", "one"),
    ]
    assert reading.entries[1].calls[0].arguments == '{"q":1}'
    new = apply_edits(rows, LENS.rewrite_body(rows, reading.entries[2], "gone"))
    assert new[2]["message"]["content"] == [text("gone")]


def test_system_prompt_and_tools_are_as_they_were_set_last() -> None:
    tool = {"name": "f", "description": "does", "parameters": {"type": "object"}}
    reading = read(
        {"type": "config.update", "systemPrompt": "old"},
        {"type": "config.update", "systemPrompt": "new"},
        {"type": "config.update", "modelAlias": "m"},
        {"type": "llm.tools_snapshot", "hash": "h", "tools": [tool]},
        said("go"),
    )
    assert reading.overhead.texts == ("new", "f", "does", '{"type":"object"}')
    assert not read(said("go")).overhead.known


# Strange input.


def test_strange_lines_give_findings() -> None:
    odd = {"type": "context.append_message", "message": {"role": "?"}}
    reading = read(5, odd, event("new"), part("?", **text("x")), said("go"))
    [finding] = reading.findings
    assert (finding.code, finding.path) == ("unknown_line", "$[1]")
    assert finding.message == "3 lines look like messages and cannot be read"


def test_what_is_no_session_is_refused() -> None:
    roots: list[Any] = [[], [5], 5, None, {"type": "turn.prompt"}, [{"type": "metadata"}]]
    for root in roots:
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    picture = {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,AAAA"}}
    rows = [
        {"type": "config.update", "systemPrompt": "s"},
        {"type": "llm.tools_snapshot", "tools": [{"name": "f", "parameters": {}}]},
        *(said("go"), begin("s"), part("s", type="think", think="hm"), call("s", "x")),
        *(said("note"), result("x", [text("one"), picture], note="n"), end("s", 1, 2, 3, 4)),
        {"type": "micro_compaction.apply", "cutoff": 9},
        {"type": "context.undo", "count": 1},
    ]
    kit.check_damage(LENS, Rows(rows))
    kept = compaction(keptUserMessageCount=1, keptHeadUserMessageCount=1)
    kit.check_damage(LENS, Rows([*rows[2:9], kept, compaction(compactedCount=1), said("on")]))
