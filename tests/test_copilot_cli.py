"""Copilot CLI sessions: every recorded file, and a rule a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import codes, shown

from compactor.core.errors import InputError
from compactor.core.model import Call, PartKind, Reading
from compactor.formats.harnesses.copilot_cli import CopilotCli
from compactor.formats.raw.native import Rows, apply_edits

LENS = CopilotCli()
each_file = pytest.mark.parametrize("path", kit.files("copilot-cli"), ids=lambda path: path.stem)


# Recorded files against counts that know nothing of the lens.


def of_kind(path: Path, kind: str) -> list[Any]:
    return [row["data"] for row in kit.rows_of(path) if row["type"] == kind]


@each_file
def test_a_session_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "copilot-cli")


@each_file
def test_there_is_a_request_for_each_response_with_its_output(path: Path) -> None:
    messages = of_kind(path, "assistant.message")
    calls = {message.get("apiCallId", message["messageId"]): message for message in messages}
    reading = LENS.read(Rows(kit.rows_of(path)))
    assert [u.output for u in reading.usage] == [c.get("outputTokens", 0) for c in calls.values()]
    assert kit.totals(reading.usage)[1:4] == (0, 0, 0)
    assert sum(usage.output for usage in reading.usage) == sum(
        message.get("outputTokens", 0) for message in messages
    )
    ends = of_kind(path, "assistant.turn_end")
    aborted = len(of_kind(path, "abort"))
    assert len(ends) <= len(reading.usage) <= len(ends) + aborted
    assert codes(reading) == ["usage_partial"]


@each_file
def test_every_call_and_result_is_read_once_and_no_hook(path: Path) -> None:
    messages = of_kind(path, "assistant.message")
    asked = [request for message in messages for request in message["toolRequests"]]
    results = {row["toolCallId"]: row for row in of_kind(path, "tool.execution_complete")}
    reading = LENS.read(Rows(kit.rows_of(path)))
    calls = [call for entry in reading.entries for call in entry.calls]
    assert [(call.id, call.name) for call in calls] == [(r["toolCallId"], r["name"]) for r in asked]
    tools = kit.tools(reading)
    assert {entry.call_id for entry in tools} == set(results)
    assert len(tools) == len(results) == len(calls)
    for entry in tools:
        row = results[entry.call_id]
        assert entry.error is not row["success"]
        assert entry.body == (row["error"]["message"] if entry.error else row["result"]["content"])


@each_file
def test_users_messages_are_as_they_were_sent_and_the_system_prompt_is_overhead(path: Path) -> None:
    users = of_kind(path, "user.message")
    reading = LENS.read(Rows(kit.rows_of(path)))
    said = [row[1] for row in shown(reading) if row[0] == "user"]
    assert said == [[user.get("transformedContent", user["content"])] for user in users]
    assert reading.overhead.texts == (of_kind(path, "system.message")[-1]["content"],)
    assert reading.overhead.known


@each_file
def test_rewriting_one_result_changes_one_event(path: Path) -> None:
    kit.check_one_change(path, "copilot-cli")


@each_file
def test_a_session_is_compacted_at_three_windows(path: Path) -> None:
    assert kit.check_compacts(path, "copilot-cli") > 0


# Rules.


def event(kind: str, key: str = "", **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": key or kind, "parentId": None}


def user(said: str, key: str = "u", **more: Any) -> dict[str, Any]:
    return event("user.message", key, content=said, **more)


def turn(key: str, said: str = "", *calls: str, **more: Any) -> dict[str, Any]:
    requests = [{"toolCallId": call, "name": "f", "arguments": {"q": call}} for call in calls]
    more = {"messageId": key, "toolRequests": requests, "model": "m", **more}
    return event("assistant.message", key, content=said, **more)


def result(call: str, said: str = "ok", **more: Any) -> dict[str, Any]:
    given = {"result": {"content": said, "detailedContent": "for the screen"}, "success": True}
    return event("tool.execution_complete", f"r{call}", toolCallId=call, **{**given, **more})


def read(*rows: Any, thread: str = "") -> Reading:
    return CopilotCli(thread).read(Rows(rows))


def test_the_messages_of_one_response_are_one_turn_and_one_request() -> None:
    same = {"apiCallId": "api", "interactionId": "i", "turnId": "0"}
    reading = read(
        user("go"),
        turn("a", "", reasoningOpaque="abc", **same),
        turn("b", "look", "x", "y", outputTokens=7, **same),
        result("y", "two"),
        result("x", "one"),
        turn("c", "done", apiCallId="api", interactionId="i", turnId="1", outputTokens=2),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["look"], ["x", "y"]),
        ("tool", "y", "two"),
        ("tool", "x", "one"),
        ("assistant", ["done"], []),
    ]
    assert [(usage.n, usage.output) for usage in reading.usage] == [(1, 7), (4, 2)]


def test_a_response_whose_results_lie_between_its_messages_is_whole() -> None:
    rows = turn("a", "", "x", apiCallId="api"), result("x"), turn("b", "", "y", apiCallId="api")
    reading = read(user("go"), *rows, result("y"))
    assert [row[0] for row in shown(reading)] == ["user", "assistant", "tool", "tool"]
    assert reading.entries[1].calls[1].id == "y"
    assert codes(reading) == ["usage_partial"]


def test_what_is_said_between_results_is_sent_behind_them() -> None:
    reading = read(turn("a", "", "x", "y"), result("x"), user("note"), result("y"))
    assert [row[0] for row in shown(reading)] == ["assistant", "tool", "tool", "user"]


def test_what_is_sent_of_a_users_message_is_its_transformed_content() -> None:
    blob = {"type": "blob", "data": "AAAA", "mimeType": "image/png"}
    reading = read(user("go", transformedContent="<now/>go", attachments=[blob, {"type": "file"}]))
    [entry] = reading.entries
    assert [(part.kind, part.text) for part in entry.parts] == [
        (PartKind.TEXT, "<now/>go"),
        (PartKind.IMAGE, ""),
    ]


def test_hooks_partial_results_and_copies_are_not_counted() -> None:
    hook = event("hook.start", hookType="postToolUse", input={"toolResult": "one"})
    start = event("tool.execution_start", toolCallId="x", arguments={"q": "x"})
    reading = read(turn("a", "", "x"), start, hook, result("x", "one"), hook)
    assert shown(reading) == [("assistant", [], ["x"]), ("tool", "x", "one")]


def test_a_failed_call_has_the_message_of_its_error() -> None:
    error = {"message": "no file", "code": "failure"}
    rows = Rows([turn("a", "", "x"), result("x", result=None, error=error, success=False)])
    [entry] = kit.tools(LENS.read(rows))
    assert (entry.body, entry.error) == ("no file", True)
    new = apply_edits(rows, LENS.rewrite_body(rows, entry, "gone"))
    assert new[1]["data"]["error"] == {"message": "gone", "code": "failure"}


def test_media_of_a_result_go_with_its_text() -> None:
    media = [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    given = {"content": "seen", "detailedContent": "d", "binaryResultsForLlm": media}
    rows = Rows([turn("a", "", "x"), result("x", result=given)])
    [entry] = kit.tools(LENS.read(rows))
    assert [part.kind for part in entry.parts] == [PartKind.IMAGE]
    new = apply_edits(rows, LENS.rewrite_body(rows, entry, "gone"))
    assert new[1]["data"]["result"] == {"content": "gone", "detailedContent": "d"}


def test_reasoning_is_its_text_or_what_is_sealed() -> None:
    told = turn("a", "x", reasoningText="hm", reasoningOpaque="sig")
    sealed = turn("b", "y", reasoningOpaque="id", encryptedContent="abcdef")
    parts = [read(row).entries[0].parts[0] for row in (told, sealed)]
    assert [(part.kind, part.text, part.size) for part in parts] == [
        (PartKind.REASONING, "hm", 0),
        (PartKind.SEALED, "", 6),
    ]


def test_arguments_of_a_custom_tool_are_as_written() -> None:
    row = turn("a")
    patch = {"toolCallId": "x", "name": "apply_patch", "arguments": "*** Begin", "type": "custom"}
    row["data"]["toolRequests"] = [patch]
    rows = Rows([row, result("x")])
    entry = LENS.read(rows).entries[0]
    at = (0, "data", "toolRequests", 0, "arguments")
    assert entry.calls == (Call("x", "apply_patch", "*** Begin", at),)
    new = apply_edits(rows, LENS.rewrite_argument(rows, entry, 0, (), "gone"))
    assert new[0]["data"]["toolRequests"][0]["arguments"] == "gone"


def test_a_subagent_is_a_thread_of_its_own() -> None:
    rows = Rows(
        [
            user("go"),
            turn("a", "", "x"),
            {**user("task"), "agentId": "ag"},
            {**turn("b", "sub", outputTokens=3), "agentId": "ag"},
            turn("c", "older", parentToolCallId="x"),
            result("x"),
        ]
    )
    assert LENS.threads(rows) == ["main", "ag", "x"]
    assert [row[0] for row in shown(LENS.read(rows))] == ["user", "assistant", "tool"]
    sub = CopilotCli("ag").read(rows)
    assert shown(sub) == [("user", ["task"]), ("assistant", ["sub"], [])]
    assert [usage.output for usage in sub.usage] == [3]
    with pytest.raises(InputError) as refused:
        CopilotCli("none").read(rows)
    assert refused.value.hint == "threads: main, ag, x"


def test_a_compaction_leaves_its_summary_and_what_was_said_since_it_began() -> None:
    reading = read(
        event("session.model_change", newModel="first"),
        *(user("go"), turn("a", "", "x", model=""), result("x")),
        event("session.compaction_start"),
        user("meanwhile", "v"),
        event("session.compaction_complete", success=True, summaryContent="so far"),
        turn("b", "on", model="", outputTokens=1),
    )
    assert [row[1] for row in shown(reading)] == [["so far"], ["meanwhile"], ["on"]]
    assert [(usage.n, usage.model) for usage in reading.usage] == [(2, "first")]
    assert reading.findings[0].message == "3 events lie before the last compaction"


def test_a_failed_compaction_changes_nothing() -> None:
    failed = event("session.compaction_complete", success=False, error="?")
    reading = read(user("go"), event("session.compaction_start"), failed, user("on", "v"))
    assert [row[1] for row in shown(reading)] == [["go"], ["on"]]


def test_only_the_last_of_several_compactions_counts() -> None:
    compactions = [
        event("session.compaction_complete", success=True, summaryContent=said) for said in "12"
    ]
    reading = read(user("go"), compactions[0], user("on", "v"), compactions[1], user("now", "w"))
    assert [row[1] for row in shown(reading)] == [["2"], ["now"]]
    assert reading.findings[0].message == "2 events lie before the last compaction"


def test_a_cleared_context_begins_anew() -> None:
    reading = read(user("go"), event("session.context_cleared", messagesCleared=1), user("on", "v"))
    assert [row[1] for row in shown(reading)] == [["on"]]
    assert codes(reading) == ["before_compaction"]


def test_what_was_rewound_is_not_live() -> None:
    rewound = event("session.snapshot_rewind", upToEventId="v", eventsRemoved=2)
    reading = read(user("go"), turn("a", "x"), user("bad", "v"), turn("b", "y"), rewound)
    assert [row[1] for row in shown(reading)] == [["go"], ["x"]]
    assert reading.findings[0].message == "2 messages are on branches that were left"


def test_the_system_prompt_is_the_one_that_was_sent_last() -> None:
    prompts = [event("system.message", role="system", content=said) for said in ("old", "new")]
    reading = read(prompts[0], user("go"), prompts[1])
    assert (reading.overhead.texts, len(reading.entries)) == (("new",), 1)
    assert not read(user("go")).overhead.known


# Strange input.


def test_strange_lines_give_findings() -> None:
    reading = read(5, user("go"), {"type": "user.message", "data": 5}, result("?"), {"type": "new"})
    assert codes(reading) == ["orphan_result", "unknown_line"]
    assert [f.path for f in reading.findings] == ["$[3].data", "$[2]"]


def test_what_is_no_session_is_refused() -> None:
    roots: list[Any] = [[], [5], 5, None, {"type": "user.message"}, [event("session.start")]]
    for root in roots:
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    blob = {"type": "blob", "data": "AAAA", "mimeType": "image/png"}
    given = {"content": "seen", "binaryResultsForLlm": [blob]}
    rows = [
        event("system.message", role="system", content="s"),
        user("go", transformedContent="t", attachments=[blob]),
        turn("a", "x", "x", "y", apiCallId="api", outputTokens=3, reasoningText="hm"),
        result("x", result=given),
        result("y", result=None, error={"message": "no"}, success=False),
        event("session.compaction_start"),
        event("session.compaction_complete", success=True, summaryContent="so far"),
        event("session.snapshot_rewind", upToEventId="q"),
        {**turn("b", "z", "z"), "agentId": ""},
        result("z"),
    ]
    kit.check_damage(LENS, Rows(rows))
    kit.check_damage(LENS, Rows(rows[:5]))


def ended(model: str = "m", count: int = 2, **counts: int) -> dict[str, Any]:
    """The end of a run, with what it used."""
    metrics = {model: {"requests": {"count": count, "cost": 1}, "usage": counts}}
    return event("session.shutdown", modelMetrics=metrics)


FIRST, SECOND = turn("a", "so", outputTokens=7), turn("b", "x", outputTokens=2)
TOLD = [user("go"), FIRST, user("on", "v"), SECOND]


def sums(*rows: Any) -> list[tuple[int, int, int, int, int]]:
    """Requests, input, cache read, cache write, output."""
    found = LENS.all_usage(Rows([*rows]))
    return [(u.requests, u.input, u.cache_read, u.cache_write, u.output) for u in found]


def test_the_end_of_a_run_counts_what_its_responses_do_not() -> None:
    used = {"inputTokens": 100, "outputTokens": 9, "cacheReadTokens": 60, "cacheWriteTokens": 30}
    assert sums(*TOLD) == [(1, 0, 0, 0, 7), (1, 0, 0, 0, 2)]
    assert sums(*TOLD, ended(**used)) == [(2, 10, 60, 30, 9)]
    resumed = [*TOLD, ended(**used), user("more", "w"), turn("c", "y", outputTokens=4)]
    assert sums(*resumed) == [(2, 10, 60, 30, 9), (1, 0, 0, 0, 4)]


def test_a_resumed_run_counts_anew_or_goes_on_counting() -> None:
    first = ended(inputTokens=50, outputTokens=9)
    more = [user("more", "w"), turn("c", "y", outputTokens=4)]
    anew = ended(count=1, inputTokens=70, outputTokens=4)
    assert sums(*TOLD, first, *more, anew) == [(2, 50, 0, 0, 9), (1, 70, 0, 0, 4)]
    on = ended(count=3, inputTokens=120, outputTokens=13)
    assert sums(*TOLD, first, *more, on) == [(3, 120, 0, 0, 13)]


@pytest.mark.parametrize("end", [ended(), event("session.shutdown", modelMetrics=5)])
def test_an_end_that_counts_nothing_stands_for_nothing(end: dict[str, Any]) -> None:
    assert sums(*TOLD, end) == [(1, 0, 0, 0, 7), (1, 0, 0, 0, 2)]
