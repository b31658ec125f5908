"""Qwen Code sessions, a rule a test. None is recorded here: lines are as its source says."""

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
from compactor.formats.harnesses.qwen_code import QwenCode
from compactor.formats.raw.native import Rows, apply_edits

LENS = QwenCode()


def line(kind: str, key: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"uuid": key, "parentUuid": parent, "sessionId": "s", "type": kind, **more}


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": p} if isinstance(p, str) else p for p in parts]}


def user(key: str, parent: str | None, *parts: Any, **more: Any) -> dict[str, Any]:
    return line("user", key, parent, message=content("user", *parts), **more)


def turn(key: str, parent: str | None, *parts: Any, **more: Any) -> dict[str, Any]:
    return line("assistant", key, parent, message=content("model", *parts), model="m", **more)


def call(call_id: str) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": "f", "args": {"q": call_id}}}


def response(call_id: str, output: str) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "f", "response": {"output": output}}}


def result(key: str, parent: str, call_id: str, output: str = "ok") -> dict[str, Any]:
    copy = {"toolCallResult": {"callId": call_id, "resultDisplay": output}}
    return (
        line("tool_result", key, parent, message=content("user", response(call_id, output))) | copy
    )


def system(key: str, parent: str, subtype: str, **payload: Any) -> dict[str, Any]:
    return line("system", key, parent, subtype=subtype, systemPayload=payload)


def used(prompt: int, cached: int, said: int, thought: int, total: int) -> dict[str, Any]:
    counts = {"promptTokenCount": prompt, "cachedContentTokenCount": cached}
    more = {"candidatesTokenCount": said, "thoughtsTokenCount": thought, "totalTokenCount": total}
    return {"usageMetadata": {**counts, **more}}


def read(*rows: Any, thread: str = "") -> Reading:
    return QwenCode(thread).read(Rows(rows))


SESSION = [
    user("1", None, "go"),
    turn("2", "1", {"text": "hm", "thought": True}, "look", call("x"), call("y")),
    result("3", "2", "x", "one " * 200),
    result("4", "3", "y", "two " * 200),
    turn("5", "4", call("z"), **used(100, 80, 5, 2, 107)),
    result("6", "5", "z", "three"),
    turn("7", "6", "done", **used(200, 90, 6, 4, 206)),
]


# A session as a file.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "session.jsonl"
    lines = [json.dumps(row, indent=None, separators=(", ", ":")) for row in SESSION]
    target.write_text("\n".join(lines) + "\n", "utf-8", newline="")
    return target


def test_a_session_is_written_back_byte_for_byte_and_changed_by_the_line(path: Path) -> None:
    kit.check_untouched(path, "qwen-code")
    kit.check_one_change(path, "qwen-code")
    assert kit.check_compacts(path, "qwen-code") > 0


def test_a_session_is_told_from_one_of_claude_code() -> None:
    assert compactor.detect(SESSION) == "qwen-code"
    message = {"role": "user", "content": "go"}
    assert compactor.detect([line("user", "1", None, message=message)]) == "claude-code"


# Rules.


def test_lines_are_the_contents_of_the_next_request() -> None:
    reading = read(*SESSION)
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["hm", "look"], ["x", "y"]),
        ("tool", "x", "one " * 200),
        ("tool", "y", "two " * 200),
        ("assistant", [], ["z"]),
        ("tool", "z", "three"),
        ("assistant", ["done"], []),
    ]
    kinds = [part.kind for part in reading.entries[1].parts]
    assert kinds == [PartKind.REASONING, PartKind.TEXT]
    assert (reading.model, codes(reading), reading.overhead.known) == ("m", [], False)


def test_cached_tokens_are_no_input_and_thoughts_are_counted_once() -> None:
    """Some providers count thoughts beside the answer, some in it; the total says which."""
    usage = read(*SESSION).usage
    assert [(u.n, *numbers(u)) for u in usage] == [(4, 20, 80, 0, 7), (6, 110, 90, 0, 6)]
    [bare] = read(user("1", None, "go"), turn("2", "1", "x", **used(10, 0, 5, 2, 0))).usage
    assert numbers(bare) == (10, 0, 0, 7)


def test_only_the_branch_of_the_newest_line_is_live() -> None:
    reading = read(*SESSION, user("8", "1", "instead"))
    assert [row[1] for row in shown(reading)] == [["go"], ["instead"]]
    assert [f.message for f in reading.findings] == ["6 messages are on branches that were left"]


def test_system_lines_are_links_and_no_messages() -> None:
    rows = user("1", None, "go"), system("2", "1", "ui_telemetry"), turn("3", "2", "x")
    assert [row[1] for row in shown(read(*rows))] == [["go"], ["x"]]
    assert codes(read(*rows)) == []


def test_lines_of_one_uuid_are_one_message() -> None:
    rows = user("1", None, "go"), turn("2", "1", "look"), turn("2", "1", call("x"))
    reading = read(*rows, result("3", "2", "x"))
    assert shown(reading)[1:] == [("assistant", ["look"], ["x"]), ("tool", "x", "ok")]


def test_a_compression_stands_for_all_before_it() -> None:
    history = [content("user", "so far"), content("model", "Got it.", call("k"))]
    history.append(content("user", response("k", "kept")))
    rows = Rows(
        [
            *SESSION,
            system("8", "7", "chat_compression", info={}, compressedHistory=history),
            user("9", "8", "on"),
            turn("10", "9", "x", **used(9, 0, 1, 0, 10)),
        ]
    )
    reading = LENS.read(rows)
    assert shown(reading) == [
        ("user", ["so far"]),
        ("assistant", ["Got it."], ["k"]),
        ("tool", "k", "kept"),
        ("user", ["on"]),
        ("assistant", ["x"], []),
    ]
    assert [usage.n for usage in reading.usage] == [4]
    assert [f.message for f in reading.findings] == ["7 messages lie before the last compaction"]
    new = apply_edits(rows, LENS.rewrite_body(rows, reading.entries[2], "gone"))
    kept = new[7]["systemPayload"]["compressedHistory"][2]["parts"][0]
    assert kept == response("k", "gone")


def test_only_the_last_of_several_compressions_counts() -> None:
    rows = [
        user("1", None, "go"),
        system("2", "1", "chat_compression", compressedHistory=[content("user", "1")]),
        user("3", "2", "on"),
        system("4", "3", "chat_compression", compressedHistory=[content("user", "2")]),
    ]
    assert [row[1] for row in shown(read(*rows))] == [["2"]]


def test_a_command_for_the_client_alone_is_not_sent() -> None:
    said = {"phase": "result", "rawCommand": "/about"}
    rows = user("1", None, "go"), turn("2", "1", "x"), user("3", "2", "/about")
    assert len(read(*rows, system("4", "3", "slash_command", **said)).entries) == 2
    sent = system("4", "3", "slash_command", **said, sentToModel=True)
    assert len(read(*rows, sent).entries) == 3


def test_what_the_model_never_saw_is_not_read() -> None:
    spoken = user("2", "1", "spoken", subtype="realtime_message")
    inner = result("3", "2", "x") | {"subtype": "code_mode_tool_result"}
    assert shown(read(user("1", None, "go"), spoken, inner)) == [("user", ["go"])]


def test_a_subagent_is_a_thread_of_its_own() -> None:
    side = {"isSidechain": True, "agentId": "ag"}
    rows = Rows([*SESSION, user("a", None, "task", **side), turn("b", "a", "sub", **side)])
    assert LENS.threads(rows) == ["main", "ag"]
    assert len(LENS.read(rows).entries) == len(SESSION)
    assert [row[1] for row in shown(QwenCode("ag").read(rows))] == [["task"], ["sub"]]
    alone = LENS.read(Rows(rows[-2:]))
    assert codes(alone) == ["subagent_file"]
    with pytest.raises(InputError) as refused:
        QwenCode("none").read(rows)
    assert refused.value.hint == "threads: main, ag"


# Strange input.


def test_a_link_to_a_line_that_is_not_above_leads_to_the_line_before() -> None:
    reading = read(user("1", None, "go"), turn("2", "?", "x"))
    assert [row[1] for row in shown(reading)] == [["go"], ["x"]]
    assert [(f.code, f.path) for f in reading.findings] == [("broken_link", "$[1]")]
    ring = read(user("1", "2", "go"), turn("2", "1", "x"))
    assert [row[1] for row in shown(ring)] == [["go"], ["x"]]


def test_strange_lines_give_findings() -> None:
    bad = system("2", "1", "chat_compression", compressedHistory=[5, content("?", "x")])
    reading = read(5, line("user", "0", None), user("1", None, "go"), bad, user("3", "2", "on"))
    assert [row[1] for row in shown(reading)] == [["on"]]
    assert codes(reading) == ["unknown_line"] * 3 + ["before_compaction"]


def test_what_is_no_session_is_refused() -> None:
    roots: list[Any] = [[], [5], 5, None, line("user", "1", None), [system("1", "0", "x")]]
    for root in roots:
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    history = [content("model", call("k")), content("user", response("k", "kept"))]
    command = system("b", "a", "slash_command", phase="result", rawCommand="/x")
    rows = [
        *SESSION[:4],
        system("8", "4", "chat_compression", compressedHistory=history),
        turn("9", "8", call("x"), **used(9, 3, 1, 1, 11)),
        result("10", "9", "x"),
        user("a", "10", "/x"),
        command,
    ]
    kit.check_damage(LENS, Rows(rows))
    kit.check_damage(LENS, Rows(SESSION[:3]))
