"""Claude Code: compaction, what it keeps, and microcompaction, a rule a test."""

from __future__ import annotations

import pytest
from claude_rows import (
    Json,
    attachment,
    call,
    codes,
    compacted,
    line,
    microcompacted,
    prompt,
    read,
    result,
    said,
    shown,
    summary,
    used,
)

from compactor.core.model import Kind

# Compaction.

OLD = [
    prompt("u1", None, "old"),
    call("a1", "u1", "c1", usage=used(100, 9)),
    result("r1", "a1", "c1", "one"),
    said("a2", "r1", "kept?", usage=used(200, 9)),
]


def test_behind_a_compaction_the_prompt_is_the_summary_and_what_follows() -> None:
    reading = read(
        *OLD,
        compacted("b", "a2"),
        summary("s", "b"),
        said("a3", "s", "on", usage=used(300, 9)),
        prompt("u2", "a3", "new"),
    )
    assert [row[1] for row in shown(reading)] == [["so far"], ["on"], ["new"]]
    assert [(usage.n, usage.cache_read) for usage in reading.usage] == [(1, 300)]
    (finding,) = reading.findings
    assert (finding.code, finding.message) == (
        "before_compaction",
        "4 entries lie before the last compaction",
    )


def test_only_the_last_of_several_compactions_counts() -> None:
    reading = read(
        *OLD,
        compacted("b1", "a2"),
        summary("s1", "b1"),
        said("a3", "s1", "between"),
        compacted("b2", "a3"),
        summary("s2", "b2"),
        prompt("u2", "s2", "new"),
    )
    assert [row[1] for row in shown(reading)] == [["so far"], ["new"]]
    assert reading.findings[0].message == "6 entries lie before the last compaction"
    assert reading.model == "m"


def test_entries_before_a_compaction_are_those_of_the_branch_that_was_compacted() -> None:
    reading = read(
        *OLD[:3],
        prompt("v", "r1", "left"),
        compacted("b", "r1"),
        summary("s", "b"),
        prompt("u2", "s", "new"),
    )
    assert reading.findings[0].message == "1 messages are on branches that were left"
    assert reading.findings[1].message == "3 entries lie before the last compaction"


@pytest.mark.parametrize(
    ("anchor", "order"),
    [("s", ["so far", "kept?", "new"]), ("b", ["kept?", "so far", "new"])],
)
@pytest.mark.parametrize("named", ["preservedMessages", "preservedSegment"])
def test_kept_messages_stand_behind_their_anchor(anchor: str, order: list[str], named: str) -> None:
    meta: Json = {"anchorUuid": anchor, "uuids": ["a2"], "allUuids": ["a2"]}
    if named == "preservedSegment":
        meta = {"anchorUuid": anchor, "headUuid": "a2", "tailUuid": "a2"}
    reading = read(
        *OLD, compacted("b", "a2", **{named: meta}), summary("s", "b"), prompt("u2", "a2", "new")
    )
    assert [text for row in shown(reading) for text in row[1]] == order
    assert reading.usage == ()
    assert reading.findings[0].message == "3 entries lie before the last compaction"


def test_what_hangs_on_a_kept_message_stands_behind_the_compaction() -> None:
    kept = {"preservedMessages": {"uuids": ["a2"], "allUuids": ["a2", "h"]}}
    reading = read(
        *OLD,
        line("system", "h", "a2", subtype="stop_hook_summary"),
        compacted("b", "h", **kept),
        summary("s", "b"),
        prompt("u2", "h", "new"),
        said("a3", "u2", "on"),
    )
    assert [row[1] for row in shown(reading)] == [["so far"], ["kept?"], ["new"], ["on"]]


def test_a_kept_segment_holds_whole_turns_and_all_their_results() -> None:
    reading = read(
        prompt("u0", None, "before"),
        prompt("u1", "u0", "go"),
        call("a", "u1", "c1", of="m1"),
        result("r1", "a", "c1", "one"),
        call("b", "a", "c2", of="m1"),
        result("r2", "b", "c2", "two"),
        said("d", "r1", "done"),
        compacted("x", "d", preservedSegment={"headUuid": "u1", "tailUuid": "d"}),
        summary("s", "x"),
        prompt("u2", "d", "new"),
    )
    assert shown(reading) == [
        ("user", ["so far"]),
        ("user", ["go"]),
        ("assistant", [], ["c1", "c2"]),
        ("tool", "c1", "one"),
        ("tool", "c2", "two"),
        ("assistant", ["done"], []),
        ("user", ["new"]),
    ]


def test_a_result_that_follows_the_compaction_of_its_kept_call_is_live() -> None:
    reading = read(
        prompt("u1", None, "go"),
        call("a", "u1", "c1", of="m1"),
        call("b", "a", "c2", of="m1"),
        compacted("x", "b", preservedMessages={"uuids": ["a", "b"]}),
        summary("s", "x"),
        result("r1", "a", "c1", "one"),
        result("r2", "b", "c2", "two"),
        said("d", "r2", "done"),
    )
    assert shown(reading) == [
        ("user", ["so far"]),
        ("assistant", [], ["c1", "c2"]),
        ("tool", "c1", "one"),
        ("tool", "c2", "two"),
        ("assistant", ["done"], []),
    ]


def test_a_message_kept_by_two_compactions_leads_to_the_last_before_what_hangs_on_it() -> None:
    kept = {"preservedMessages": {"uuids": ["a2"]}}
    reading = read(
        *OLD,
        compacted("b1", "a2", **kept),
        summary("s1", "b1"),
        compacted("b2", "a2", **kept),
        summary("s2", "b2"),
        prompt("u2", "a2", "new"),
    )
    assert [entry.at[0] for entry in reading.entries] == [7, 3, 8]
    back = read(
        *OLD,
        compacted("b1", "a2", **kept),
        summary("s1", "b1"),
        prompt("u2", "a2", "between"),
        compacted("b2", "u2", **kept),
        summary("s2", "b2"),
        prompt("u3", "u2", "back to before the second"),
    )
    assert [entry.at[0] for entry in back.entries] == [5, 3, 6, 9]


def test_a_summary_of_several_lines_stands_before_what_was_kept() -> None:
    reading = read(
        *OLD,
        compacted("b", "a2", preservedMessages={"uuids": ["a2"]}),
        summary("s1", "b"),
        summary("s2", "s1"),
        prompt("u2", "a2", "new"),
    )
    assert [entry.at[0] for entry in reading.entries] == [5, 6, 3, 7]


def test_a_kept_message_that_was_written_behind_its_compaction_is_read_once() -> None:
    reading = read(
        *OLD[:3],
        compacted("b", "r1", preservedMessages={"uuids": ["r1", "v"]}),
        summary("s", "b"),
        prompt("v", "s", "kept"),
        prompt("u2", "v", "new"),
    )
    assert [entry.at[0] for entry in reading.entries] == [4, 2, 5, 6]


def test_kept_messages_that_the_file_lacks_are_said() -> None:
    reading = read(
        compacted("b", "gone", preservedMessages={"uuids": ["g1", "g2"]}),
        summary("s", "b"),
        prompt("u2", "g2", "new"),
    )
    assert [row[1] for row in shown(reading)] == [["so far"], ["new"]]
    assert codes(reading) == ["broken_link", "preserved_missing"]
    assert reading.findings[1].message.startswith("2 messages")


def test_a_rewind_to_before_a_compaction_brings_the_old_messages_back() -> None:
    reading = read(
        *OLD,
        compacted("b", "a2"),
        summary("s", "b"),
        said("a3", "s", "on"),
        prompt("u2", "a2", "new"),
    )
    assert [row[0] for row in shown(reading)] == ["user", "assistant", "tool", "assistant", "user"]
    assert codes(reading) == ["off_branch"]


def test_a_compaction_without_its_summary_has_not_happened_yet() -> None:
    unlinked = {key: value for key, value in compacted("b", "a2").items() if key != "uuid"}
    assert shown(read(*OLD, compacted("b", "a2"))) == shown(read(*OLD))
    assert shown(read(*OLD, unlinked)) == shown(read(*OLD))


def test_microcompaction_clears_earlier_results_only() -> None:
    reading = read(
        prompt("u", None, "go"),
        call("a", "u", "c1"),
        result("r1", "a", "c1", "one"),
        attachment("x", "r1", "edited_text_file", snippet="gone too"),
        call("b", "x", "c2"),
        result("r2", "b", "c2", [{"type": "image", "source": {"data": ""}}]),
        microcompacted("k", "r2", "c1", "c2", lines=["x"]),
        call("c", "k", "c1"),
        result("r3", "c", "c1", "three"),
    )
    assert [row[0] for row in shown(reading)] == ["user", *["assistant", "tool"] * 3]
    tools = [entry for entry in reading.entries if entry.kind is Kind.TOOL]
    assert [(e.call_id, e.body, e.empty, e.cleared) for e in tools] == [
        ("c1", "", True, True),
        ("c2", "", True, True),
        ("c1", "three", False, False),
    ]
    assert [f.message for f in reading.findings] == ["2 results were cleared by the harness"]
    assert codes(reading) == ["cleared_by_harness"]


def test_microcompaction_on_a_branch_that_was_left_clears_nothing() -> None:
    rows = [prompt("u", None, "go"), call("a", "u", "c1"), result("r", "a", "c1", "one")]
    left = [prompt("v", "r", "dead"), microcompacted("k", "v", "c1")]
    assert not read(*rows, *left, prompt("w", "r", "live")).entries[2].cleared
    newest = read(*rows, line("progress", "p", "r"), microcompacted("k", "p", "c1"))
    assert newest.entries[2].cleared


def test_a_result_cleared_before_a_compaction_that_kept_it_stays_cleared() -> None:
    rows = [*OLD[:3], microcompacted("k", "r1", "c1"), said("a2", "k", "x")]
    kept = {"preservedMessages": {"uuids": ["a1", "r1"]}}
    reading = read(
        *rows, compacted("b", "a2", **kept), summary("s", "b"), prompt("u2", "r1", "new")
    )
    assert [(e.kind.value, e.cleared) for e in reading.entries] == [
        ("user", False),
        ("assistant", False),
        ("tool", True),
        ("user", False),
    ]
