"""Claude Code: turns, branches and what of a session is sent, a rule a test."""

from __future__ import annotations

import pytest
from claude_rows import (
    Json,
    attachment,
    call,
    codes,
    line,
    numbers,
    prompt,
    read,
    result,
    said,
    shown,
    used,
)
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.formats.harnesses.claude_code import ClaudeCode
from compactor.formats.raw.native import Rows

# The turn.


def test_calls_and_results_that_interleave_are_one_turn_with_its_results_behind_it() -> None:
    reading = read(
        prompt("u", None, "go"),
        call("a", "u", "c1", of="m1"),
        result("r1", "a", "c1", "one"),
        call("b", "a", "c2", of="m1"),
        result("r2", "b", "c2", "two"),
        said("d", "r2", "done"),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", [], ["c1", "c2"]),
        ("tool", "c1", "one"),
        ("tool", "c2", "two"),
        ("assistant", ["done"], []),
    ]
    assert [entry.at for entry in reading.entries] == [
        (0, "message"),
        (1, "message"),
        (2, "message", "content", 0),
        (4, "message", "content", 0),
        (5, "message"),
    ]


def test_results_of_parallel_calls_are_live_though_the_next_turn_hangs_on_one_only() -> None:
    reading = read(
        prompt("u", None, "go"),
        call("a", "u", "c1", of="m1"),
        call("b", "a", "c2", of="m1"),
        result("r2", "b", "c2", "two"),
        result("r1", "a", "c1", "one"),
        said("d", "r2", "done"),
    )
    assert shown(reading)[1:4] == [
        ("assistant", [], ["c1", "c2"]),
        ("tool", "c2", "two"),
        ("tool", "c1", "one"),
    ]
    assert codes(reading) == []


def test_the_other_lines_of_a_turn_are_live_when_the_newest_line_hangs_on_its_first() -> None:
    reading = read(
        prompt("u", None, "go"),
        call("a", "u", "c1", of="m1"),
        call("b", "a", "c2", of="m1"),
        prompt("v", "a", "stop"),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", [], ["c1", "c2"]),
        ("user", ["stop"]),
    ]
    assert codes(reading) == ["unanswered_call", "unanswered_call"]
    assert [f.path for f in reading.findings] == [
        "$[1].message.content[0]",
        "$[2].message.content[0]",
    ]


def test_user_text_between_a_call_and_its_result_stands_behind_the_result() -> None:
    reading = read(
        prompt("u", None, "go"),
        call("a", "u", "c1"),
        prompt("s", "a", "skill text", isMeta=True),
        result("r", "s", "c1", "one"),
    )
    assert shown(reading)[2:] == [("tool", "c1", "one"), ("user", ["skill text"])]


def test_a_result_in_a_line_with_text_keeps_the_order_of_the_line() -> None:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": "one"}
    content = [block, {"type": "text", "text": "and more"}]
    reading = read(prompt("u", None, "go"), call("a", "u", "c1"), prompt("r", "a", content))
    assert shown(reading)[2:] == [("tool", "c1", "one"), ("user", ["and more"])]


def test_turns_without_message_ids_are_one_a_line_and_merge_where_they_touch() -> None:
    rows = [prompt("u", None, "go"), said("a", "u", "x"), said("b", "a", "y")]
    for row in rows[1:]:
        del row["message"]["id"]
    reading = read(*rows, prompt("v", "b", "on"), said("c", "v", "z"))
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["x", "y"], []),
        ("user", ["on"]),
        ("assistant", ["z"], []),
    ]


# The branch.


def test_what_was_said_on_a_branch_that_was_left_is_not_in_the_prompt() -> None:
    reading = read(
        prompt("u", None, "go"),
        call("a", "u", "c1"),
        result("r", "a", "c1", "dead"),
        said("b", "r", "dead"),
        prompt("v", "u", "again"),
        said("c", "v", "live"),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("user", ["again"]),
        ("assistant", ["live"], []),
    ]
    (finding,) = reading.findings
    assert (finding.code, finding.path) == ("off_branch", "$[1]")
    assert finding.message.startswith("3 messages")


@given(st.lists(st.integers(min_value=0, max_value=4), max_size=30))
def test_the_live_branch_of_any_tree_is_the_way_up_from_its_newest_message(
    steps_up: list[int],
) -> None:
    rows = [prompt("0", None, "0"), prompt("1", "0", "1")]
    for number, up in enumerate(steps_up, 2):
        rows.append(prompt(str(number), str(max(number - 1 - up, 0)), str(number)))
    parents = {row["uuid"]: row["parentUuid"] for row in rows}
    way, uuid = [], rows[-1]["uuid"]
    while uuid is not None:
        way.append(("user", [uuid]))
        uuid = parents[uuid]
    assert shown(read(*rows)) == way[::-1]


def test_a_result_that_comes_late_does_not_revive_its_branch() -> None:
    left = read(
        prompt("u", None, "go"),
        call("a", "u", "c1"),
        prompt("v", "u", "rather this"),
        result("r", "a", "c1", "late"),
    )
    assert shown(left) == [("user", ["go"]), ("user", ["rather this"])]
    going_on = read(
        prompt("u", None, "go"),
        call("a", "u", "c1", of="m1"),
        call("b", "a", "c2", of="m1"),
        result("r2", "b", "c2", "two"),
        said("d", "r2", "done"),
        result("r1", "a", "c1", "late"),
    )
    assert shown(going_on)[2:] == [
        ("tool", "c2", "two"),
        ("tool", "c1", "late"),
        ("assistant", ["done"], []),
    ]


def test_a_command_on_an_older_message_is_a_rewind_and_progress_is_none() -> None:
    rows = [prompt("u", None, "go"), said("a", "u", "one"), prompt("v", "a", "two")]
    command = line("system", "s", "a", subtype="local_command", content="<command-name>/x")
    progress = line("progress", "p", "a", data={"type": "hook_progress"})
    assert shown(read(*rows, progress)) == [
        ("user", ["go"]),
        ("assistant", ["one"], []),
        ("user", ["two"]),
    ]
    assert shown(read(*rows, command)) == [("user", ["go"]), ("assistant", ["one"], [])]


def test_a_system_line_that_hangs_on_nothing_said_decides_nothing() -> None:
    notice = line("system", "s", None, subtype="informational", content="hello")
    more = line("system", "t", "s", subtype="informational", content="again")
    rows = [prompt("u", None, "go"), said("a", "u", "one")]
    assert shown(read(*rows, notice, more)) == shown(read(*rows))


@pytest.mark.parametrize("keys", [("uuid", "parentUuid"), ("parentUuid",), ("uuid",)])
def test_without_links_the_order_of_the_file_holds(keys: tuple[str, ...]) -> None:
    rows = [
        prompt("u", None, "go"),
        call("a", "u", "c1"),
        result("r", "a", "c1", "one"),
        said("b", "r", "done"),
    ]
    linked = shown(read(*rows))
    stripped = [{key: row[key] for key in row if key not in keys} for row in rows]
    assert shown(read(*stripped)) == linked
    assert len(linked) == 4


def test_a_file_without_any_parent_is_in_file_order_too() -> None:
    rows = [prompt("u", None, "one"), said("a", None, "two"), prompt("v", None, "three")]
    assert [row[1] for row in shown(read(*rows))] == [["one"], ["two"], ["three"]]


def test_a_file_that_begins_in_mid_session_is_read_from_its_first_line() -> None:
    reading = read(said("a", "gone", "one"), prompt("u", "a", "two"))
    assert [row[1] for row in shown(reading)] == [["one"], ["two"]]
    assert [(f.code, f.path) for f in reading.findings] == [("broken_link", "$[0]")]


def test_a_parent_that_was_lost_is_the_line_before() -> None:
    reading = read(
        prompt("u", None, "go"),
        said("a", "u", "one"),
        prompt("v", "lost", "two"),
        said("b", "v", "x"),
    )
    assert [row[1] for row in shown(reading)] == [["go"], ["one"], ["two"], ["x"]]
    assert [(f.code, f.path) for f in reading.findings] == [("broken_link", "$[2]")]


def test_links_in_a_ring_end() -> None:
    reading = read(prompt("u", "b", "go"), said("a", "a", "one"), prompt("b", "u", "two"))
    assert [row[1] for row in shown(reading)] == [["go"], ["two"]]
    assert codes(reading) == ["broken_link", "off_branch"]


def test_a_message_without_a_link_among_linked_ones_is_live_where_it_stands() -> None:
    reading = read(prompt("u", None, "go"), prompt(None, None, "unlinked"), said("a", "u", "x"))
    assert [row[1] for row in shown(reading)] == [["go"], ["unlinked"], ["x"]]


def test_a_second_root_begins_a_new_conversation() -> None:
    rows = [prompt("u", None, "old"), said("a", "u", "old"), prompt("v", None, "new")]
    assert shown(read(*rows)) == [("user", ["new"])]


def test_a_line_that_was_written_twice_is_read_once() -> None:
    rows = [prompt("u", None, "go"), said("a", "u", "one"), said("a", "u", "one")]
    reading = read(*rows, prompt("v", "a", "on"))
    assert [row[1] for row in shown(reading)] == [["go"], ["one"], ["on"]]
    assert codes(reading) == ["repeated_line"]


def test_a_chain_of_a_hundred_thousand_lines_is_read() -> None:
    rows = [prompt("0", None, "0")]
    for number in range(1, 100_000):
        make = said if number % 2 else prompt
        rows.append(make(str(number), str(number - 1), str(number)))
    reading = read(*rows)
    assert len(reading.entries) == 100_000
    assert reading.entries[-1].parts[0].text == "99999"


# What is sent and what is not.


def test_what_the_client_wrote_for_itself_is_not_in_the_prompt() -> None:
    notice = said("n", "a", "No response requested.", model="<synthetic>")
    error = {**said("e", "n", "API Error", model="m"), "isApiErrorMessage": True}
    reading = read(
        {"type": "summary", "summary": "Fix tests", "leafUuid": "a"},
        {"type": "file-history-snapshot", "messageId": "u", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "content": "later"},
        prompt("u", None, "go"),
        said("a", "u", "one", model="first"),
        notice,
        error,
        line("system", "s", "e", subtype="turn_duration", durationMs=5),
        line("progress", "p", "s", data={"message": {"message": {"content": "agent"}}}),
        prompt("h", "p", "for the eye only", isVisibleInTranscriptOnly=True),
        prompt("v", "h", "injected", isMeta=True),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["one"], []),
        ("user", ["injected"]),
    ]
    assert (codes(reading), reading.model) == ([], "first")


def test_a_sidechain_in_the_same_file_is_offered_by_its_first_line() -> None:
    def side(row: Json) -> Json:
        return {**row, "isSidechain": True}

    rows = [
        prompt("u", None, "go"),
        call("a", "u", "c1"),
        side(prompt("x", None, "sub task")),
        side(call("y", "x", "c1", usage=used(5, 7))),
        side(prompt("z", None, "another")),
        result("r", "a", "c1", "main"),
        side(result("w", "y", "c1", "sub")),
    ]
    assert shown(read(*rows))[1:] == [("assistant", [], ["c1"]), ("tool", "c1", "main")]
    assert ClaudeCode().threads(Rows(rows)) == ["main", "x", "z"]
    assert shown(read(*rows, thread="x")) == [
        ("user", ["sub task"]),
        ("assistant", [], ["c1"]),
        ("tool", "c1", "sub"),
    ]
    assert read(*rows).usage == ()
    assert [numbers(usage) for usage in ClaudeCode().all_usage(Rows(rows))] == [(2, 5, 0, 7)]


def test_a_subagents_own_file_is_read_as_its_thread() -> None:
    rows = [{**prompt("x", None, "task"), "isSidechain": True, "agentId": "ag"}]
    reading = read(*rows)
    assert (shown(reading), codes(reading)) == ([("user", ["task"])], ["subagent_file"])
    newer = {**rows[0], "uuid": "y", "agentId": "new", "message": {"content": "newer"}}
    assert shown(read(*rows, newer)) == [("user", ["newer"])]
    assert shown(read(*rows, thread="ag")) == shown(reading)
    with pytest.raises(InputError, match="no thread 'b'") as refused:
        read(*rows, thread="b")
    assert (refused.value.code, refused.value.hint) == ("input.shape", "threads: ag")


def test_attachments_whose_text_is_recorded_are_user_entries_one_a_run() -> None:
    reading = read(
        prompt("u", None, "go"),
        attachment("x1", "u", "skill_listing", content="- skill"),
        attachment("x2", "x1", "hook_additional_context", content=["hook one", "hook two"]),
        call("a", "x2", "c1"),
        attachment("x3", "a", "edited_text_file", filename="f", snippet="1\tx"),
        result("r", "x3", "c1", "one"),
        attachment("x4", "r", "nested_memory", path="f", content={"content": "rules"}),
        attachment("x5", "x4", "invoked_skills", skills=[{"name": "s", "content": "how"}]),
        attachment("x6", "x5", "queued_command", prompt=[{"type": "text", "text": "also"}]),
        attachment("x7", "x6", "file", content={"type": "text", "file": {"content": "text"}}),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("user", ["- skill", "hook one", "hook two"]),
        ("assistant", [], ["c1"]),
        ("tool", "c1", "one"),
        ("user", ["1\tx", "rules", "how", "also", "text"]),
    ]
    assert [entry.at for entry in reading.entries[::4]] == [(0, "message"), (4, "attachment")]
    assert codes(reading) == []


def test_attachments_without_text_are_counted_in_one_finding() -> None:
    reading = read(
        prompt("u", None, "go"),
        attachment("x1", "u", "task_reminder", content=[], itemCount=0),
        attachment("x2", "x1", "command_permissions", allowedTools=[]),
        attachment("x3", "x2", "deferred_tools_delta", addedLines=[]),
        attachment("x4", "x3", "task_reminder", content=[], itemCount=0),
        attachment("x5", "x4", "auto_mode"),
        attachment("x6", "x5", "hook_success", content="", stdout="not sent"),
        said("a", "x6", "x"),
    )
    assert [row[0] for row in shown(reading)] == ["user", "assistant"]
    (finding,) = reading.findings
    assert finding.code == "attachments_not_counted"
    assert finding.message == (
        "3 attachments whose text is not in the file: auto_mode 1, task_reminder 2"
    )


def test_attachments_of_a_parallel_result_and_behind_the_last_line_are_live() -> None:
    reading = read(
        prompt("u", None, "go"),
        call("a", "u", "c1", of="m1"),
        call("b", "a", "c2", of="m1"),
        result("r1", "a", "c1", "one"),
        attachment("x1", "r1", "edited_text_file", snippet="of c1"),
        result("r2", "b", "c2", "two"),
        said("d", "r2", "done"),
        line("progress", "p", "d"),
        attachment("x2", "p", "edited_text_file", snippet="trailing"),
        attachment("x3", "u", "edited_text_file", snippet="of another branch"),
    )
    assert shown(reading)[2:] == [
        ("tool", "c1", "one"),
        ("tool", "c2", "two"),
        ("user", ["of c1"]),
        ("assistant", ["done"], []),
        ("user", ["trailing"]),
    ]
