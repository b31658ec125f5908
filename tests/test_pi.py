"""pi sessions: every recorded file against counts of its raw rows, and a rule a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, numbers, shown
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.core.model import Kind, PartKind, Reading
from compactor.formats.harnesses.pi import Pi
from compactor.formats.raw.native import Rows, apply_edits

LENS = Pi()
DROPPED = ("aborted", "error")
each_file = pytest.mark.parametrize("path", kit.files("pi"), ids=lambda path: path.stem)


# Recorded files, which have one branch each, against counts that know nothing of the lens.


def raw_prompt(rows: list[Json]) -> tuple[list[Json], int]:
    """The rows of the prompt, and how many of them were kept by the compaction."""
    cuts = [index for index, row in enumerate(rows) if row["type"] == "compaction"]
    if not cuts:
        return rows[1:], 0
    kept = rows[rows[cuts[-1]]["firstKeptEntryIndex"] : cuts[-1]]
    return [*kept, *rows[cuts[-1] + 1 :]], len(kept)


def messages(rows: list[Json], role: str) -> list[Json]:
    found = [row["message"] for row in rows if row["type"] == "message"]
    return [message for message in found if message["role"] == role]


def used(message: Json) -> tuple[int, ...]:
    keys = ("input", "cacheRead", "cacheWrite", "output")
    return tuple(message["usage"][key] for key in keys)


def raw_usage(rows: list[Json]) -> list[tuple[int, ...]]:
    return [counts for counts in map(used, messages(rows, "assistant")) if any(counts)]


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "pi")


@each_file
def test_requests_are_the_turns_that_used_tokens(path: Path) -> None:
    rows = kit.rows_of(path)
    prompt, kept = raw_prompt(rows)
    reading = LENS.read(rows)
    assert [numbers(usage) for usage in LENS.all_usage(rows)] == raw_usage(rows)
    assert [numbers(usage) for usage in reading.usage] == raw_usage(prompt[kept:])
    assert reading.model == messages(rows, "assistant")[-1]["model"]


@each_file
def test_requests_were_made_over_the_rows_before_their_answers(path: Path) -> None:
    """A row is an entry, but for turns that were dropped and for summaries."""
    prompt, kept = raw_prompt(kit.rows_of(path))
    size = int(kept > 0)
    wanted: list[int] = []
    in_turn = False
    for index, row in enumerate(prompt):
        message = row.get("message")
        if message is None:
            continue
        is_turn = message["role"] == "assistant"
        if is_turn and index >= kept and any(used(message)):
            wanted.append(size - (in_turn and message["stopReason"] not in DROPPED))
        if not (is_turn and message["stopReason"] in DROPPED):
            size += not (is_turn and in_turn)
            in_turn = is_turn
    assert [usage.n for usage in LENS.read(kit.rows_of(path)).usage] == wanted


@each_file
def test_every_live_result_is_read_once_and_in_order(path: Path) -> None:
    rows = kit.rows_of(path)
    results = messages(raw_prompt(rows)[0], "toolResult")
    found = kit.tools(LENS.read(rows))
    assert [
        (entry.call_id, entry.name, entry.body, entry.error, len(entry.parts)) for entry in found
    ] == [
        (
            *(result["toolCallId"], result["toolName"]),
            "\n".join(b["text"] for b in result["content"] if b.get("text")),
            *(result["isError"], sum(b["type"] == "image" for b in result["content"])),
        )
        for result in results
    ]


@each_file
def test_a_recording_says_what_it_leaves_out_and_nothing_was_misread(path: Path) -> None:
    reading = LENS.read(kit.rows_of(path))
    assert set(codes(reading)) <= {"before_compaction", "dropped_turns", "unanswered_call"}
    dropped = [
        turn
        for turn in messages(raw_prompt(kit.rows_of(path))[0], "assistant")
        if turn["stopReason"] in DROPPED
    ]
    said = next(f.message for f in reading.findings if f.code == "dropped_turns")
    assert said.startswith(f"{len(dropped)} ")


@each_file
def test_rewriting_one_result_changes_one_row(path: Path) -> None:
    kit.check_one_change(path, "pi", every=20)


@each_file
def test_a_recording_is_compacted_at_three_windows(path: Path) -> None:
    assert kit.check_compacts(path, "pi") > 0


# Rows, as small as they can be. Each hangs on the one before, unless it says otherwise.


def row(kind: str, key: str, **fields: Any) -> Json:
    return {"type": kind, "id": key, "timestamp": "t", **fields}


def said_by(role: str, key: str, content: Any, **more: Any) -> Json:
    message = {"role": role, "content": content, **more}
    return row("message", key, message=message)


def prompt(key: str, text: str = "") -> Json:
    return said_by("user", key, [{"type": "text", "text": text or key}])


def turn(
    key: str, *blocks: Any, uses: tuple[int, int, int, int] = (0, 0, 0, 0), **more: Any
) -> Json:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    usage = dict(zip(("input", "cacheRead", "cacheWrite", "output"), uses, strict=True))
    return said_by(
        "assistant", key, content, **{"usage": usage, "stopReason": "stop", "model": "m"} | more
    )


def call(call_id: str) -> Json:
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {"command": "ls"}}


def result(key: str, call_id: str, *content: Any, **more: Any) -> Json:
    blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in content]
    return said_by("toolResult", key, blocks, toolCallId=call_id, toolName="bash", **more)


def tree(*rows: Any) -> Rows:
    """A session of these rows, each hanging on the one before where it names no parent."""
    linked: list[Any] = [{"type": "session", "version": 3, "id": "s", "cwd": "/", "modelId": "m0"}]
    before = None
    for native in rows:
        linked.append({"parentId": before, **native})
        before = native["id"]
    return Rows(linked)


def read(*rows: Any) -> Reading:
    return LENS.read(tree(*rows))


# The prompt.


def test_messages_are_entries_and_settings_are_not() -> None:
    image = {"type": "image", "data": "R0lGODlhgAJoAQAA", "mimeType": "image/gif"}
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    reading = read(
        row("model_change", "m1", provider="p", modelId="n"),
        prompt("u", "go"),
        turn("a", thought, "look", call("x"), call("y"), uses=(1, 2, 3, 4)),
        row("custom", "c", customType="state", data={"x": 1}),
        result("r", "x", "one", image, "two"),
        result("q", "y", "no", isError=True),
        row("label", "l", targetId="a", label="here"),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["hm", "look"], ["x", "y"]),
        ("tool", "x", "one\ntwo"),
        ("tool", "y", "no"),
    ]
    assert [part.kind for part in reading.entries[2].parts] == [PartKind.IMAGE]
    assert [entry.error for entry in kit.tools(reading)] == [False, True]
    assert [(u.n, *numbers(u), u.model) for u in reading.usage] == [(1, 1, 2, 3, 4, "m")]
    assert (codes(reading), reading.model, reading.overhead.known) == ([], "m", False)


def test_a_conversation_is_the_same_entries_as_in_another_format() -> None:
    calls = [{**call(key), "arguments": {"command": key}} for key in "xy"]
    results = (result("r", "x", "one"), result("q", "y", "two"))
    kit.check_same(read(prompt("u", "go"), turn("a", "look", *calls), *results, turn("b", "done")))


def test_what_the_user_ran_what_extensions_say_and_summaries_are_user_messages() -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 0}
    hidden = {**ran, "excludeFromContext": True}
    reading = read(
        row("message", "b", message=ran),
        row("message", "h", message=hidden),
        row("custom_message", "e", customType="x", content="note", display=False),
        said_by("custom", "f", [{"type": "text", "text": "other"}]),
        said_by("hookMessage", "g", "old"),
        row("branch_summary", "s", summary="elsewhere", fromId="z"),
    )
    assert shown(reading) == [
        ("user", ["ls", "a.py"]),
        ("user", ["note"]),
        ("user", ["other"]),
        ("user", ["old"]),
        ("user", ["elsewhere"]),
    ]
    assert [entry.at for entry in reading.entries] == [
        (1, "message"),
        (3,),
        (4, "message"),
        (5, "message"),
        (6,),
    ]


def test_a_turn_that_failed_or_was_stopped_is_a_request_and_in_no_prompt() -> None:
    reading = read(
        prompt("u"),
        turn("a", "half", call("x"), stopReason="aborted", uses=(1, 0, 0, 1)),
        turn("b", stopReason="error"),
        prompt("v"),
        turn("c", "whole", uses=(2, 0, 0, 2)),
    )
    assert shown(reading) == [("user", ["u"]), ("user", ["v"]), ("assistant", ["whole"], [])]
    assert [(usage.n, usage.input) for usage in reading.usage] == [(1, 1), (2, 2)]
    assert codes(reading) == ["dropped_turns"]


def test_sealed_reasoning_counts_by_its_seal() -> None:
    sealed = {"type": "thinking", "thinking": "", "thinkingSignature": "xxxx", "redacted": True}
    [part] = read(turn("a", sealed)).entries[0].parts
    assert (part.kind, part.size, part.signed) == (PartKind.SEALED, 4, False)


# Branches.


def test_the_live_branch_is_that_of_the_newest_row_in_the_order_of_its_links() -> None:
    reading = read(
        prompt("u"),
        turn("a", "left", uses=(1, 0, 0, 1)),
        prompt("v"),
        {**turn("b", "live", uses=(2, 0, 0, 2)), "parentId": "u"},
        prompt("w"),
    )
    assert shown(reading) == [("user", ["u"]), ("assistant", ["live"], []), ("user", ["w"])]
    assert [(f.code, f.path, f.message[:2]) for f in reading.findings] == [
        ("off_branch", "$[2]", "2 ")
    ]
    assert [usage.input for usage in reading.usage] == [2]


def test_usage_of_dead_branches_is_in_all_usage_only() -> None:
    rows = tree(
        prompt("u"),
        turn("a", "left", uses=(1, 0, 0, 1)),
        {**turn("b", "live", uses=(2, 0, 0, 2)), "parentId": "u"},
    )
    assert [usage.input for usage in LENS.all_usage(rows)] == [1, 2]
    assert [usage.input for usage in LENS.read(rows).usage] == [2]


def test_a_second_root_begins_a_conversation_of_its_own() -> None:
    reading = read(prompt("u"), {**prompt("v"), "parentId": None}, turn("a", "x"))
    assert shown(reading) == [("user", ["v"]), ("assistant", ["x"], [])]


def test_rows_without_ids_hang_on_the_row_before() -> None:
    rows: list[Json] = [{"type": "session", "id": "s", "cwd": "/", "modelId": "m0"}]
    for native in (prompt("u"), turn("a", "x", model="")):
        del native["id"]
        rows.append(native)
    reading = LENS.read(Rows(rows))
    assert shown(reading) == [("user", ["u"]), ("assistant", ["x"], [])]
    assert reading.model == "m0"


def test_a_link_that_leads_nowhere_falls_back_to_the_row_before_and_is_said() -> None:
    reading = read(prompt("u"), {**turn("a", "x"), "parentId": "gone"}, prompt("v"))
    assert shown(reading) == [("user", ["u"]), ("assistant", ["x"], []), ("user", ["v"])]
    assert [(f.code, f.path) for f in reading.findings] == [("broken_link", "$[2]")]


def test_a_row_that_repeats_an_id_is_left_out_and_said() -> None:
    reading = read(prompt("u"), turn("a", "x"), turn("a", "again"), prompt("v"))
    assert shown(reading) == [("user", ["u"]), ("assistant", ["x"], []), ("user", ["v"])]
    assert [(f.code, f.path) for f in reading.findings] == [("repeated_line", "$[3]")]


# Compaction.


def compaction(key: str, **fields: Any) -> Json:
    return row("compaction", key, summary="so far", tokensBefore=9, **fields)


def test_a_compaction_shows_its_summary_then_what_it_kept_then_what_follows() -> None:
    reading = read(
        prompt("u"),
        turn("a", "gone", uses=(1, 0, 0, 1)),
        prompt("v"),
        turn("b", "kept", call("x"), uses=(2, 0, 0, 2)),
        result("r", "x", "one"),
        compaction("c", firstKeptEntryId="v"),
        prompt("w"),
        turn("d", "new", uses=(3, 0, 0, 3)),
    )
    assert shown(reading) == [
        ("user", ["so far"]),
        ("user", ["v"]),
        ("assistant", ["kept"], ["x"]),
        ("tool", "x", "one"),
        ("user", ["w"]),
        ("assistant", ["new"], []),
    ]
    assert [(usage.n, usage.input) for usage in reading.usage] == [(5, 3)]
    assert [(f.code, f.message[:2]) for f in reading.findings] == [("before_compaction", "2 ")]


def test_the_last_compaction_decides_and_may_keep_what_stands_before_an_earlier_one() -> None:
    reading = read(
        prompt("u"),
        prompt("v"),
        compaction("c", firstKeptEntryId="v"),
        prompt("w"),
        {**compaction("d", firstKeptEntryId="v"), "summary": "all of it"},
        prompt("x"),
    )
    texts = [texts for _, texts in shown(reading)]
    assert texts == [["all of it"], ["v"], ["w"], ["x"]]


def test_an_old_compaction_names_the_first_row_that_it_kept_by_its_index() -> None:
    rows = tree(prompt("u"), prompt("v"), compaction("c", firstKeptEntryIndex=2), prompt("w"))
    for native in rows[1:]:
        del native["id"], native["parentId"]
    assert [texts for _, texts in shown(LENS.read(rows))] == [["so far"], ["v"], ["w"]]


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ({"firstKeptEntryId": "gone"}, ["preserved_missing"]),
        ({"firstKeptEntryId": "w"}, ["preserved_missing"]),
        ({"firstKeptEntryIndex": 0}, ["preserved_missing"]),
        ({"firstKeptEntryIndex": -1}, ["preserved_missing"]),
        ({"firstKeptEntryIndex": 99}, ["preserved_missing"]),
        ({}, []),
    ],
)
def test_a_compaction_whose_first_row_is_not_there_kept_nothing(named: Any, found: Any) -> None:
    reading = read(prompt("u"), compaction("c", **named), prompt("w"))
    assert [texts for _, texts in shown(reading)] == [["so far"], ["w"]]
    assert codes(reading) == ["before_compaction", *found]


def test_a_compaction_on_a_branch_that_was_left_does_not_count() -> None:
    reading = read(
        prompt("u"), compaction("c", firstKeptEntryId="u"), {**prompt("v"), "parentId": "u"}
    )
    assert [texts for _, texts in shown(reading)] == [["u"], ["v"]]


# Rewriting.


def test_a_result_is_rewritten_in_its_row_and_its_details_stay() -> None:
    image = {"type": "image", "data": "x", "mimeType": "image/png"}
    rows = tree(
        turn("a", call("x|fc_1")),
        result("r", "x|fc_1", "one", image, details={"d": 1}, isError=True),
    )
    entry = LENS.read(rows).entries[1]
    new = apply_edits(rows, LENS.rewrite_body(rows, entry, "gone"))
    assert [old is now for old, now in zip(rows, new, strict=True)] == [True, True, False]
    wanted = [{"type": "text", "text": "gone"}]
    assert new[2] == {**rows[2], "message": {**rows[2]["message"], "content": wanted}}


def test_an_argument_is_rewritten_in_its_block() -> None:
    rows = tree(turn("a", "text", call("x")))
    entry = LENS.read(rows).entries[0]
    new = apply_edits(rows, LENS.rewrite_argument(rows, entry, 0, ("command",), "gone"))
    assert new[1]["message"]["content"][1]["arguments"] == {"command": "gone"}


# What is no session, and what is a strange one.


@pytest.mark.parametrize(
    "root",
    [
        None,
        {},
        [],
        [{"role": "user", "content": "go"}],
        [{"type": "session", "id": "s"}],
        [{"type": "message", "message": {"role": "user", "content": "go"}}],
        [{"type": "user", "message": {"role": "toolResult"}}],
        [{"type": ["message"], "message": {"role": ["toolResult"]}}],
    ],
)
def test_what_is_no_session_is_not_claimed(root: Any) -> None:
    assert not LENS.recognises(root)


@pytest.mark.parametrize("root", [None, {}, [], tree(), tree(row("custom", "c"))])
def test_what_holds_no_message_is_refused(root: Any) -> None:
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_a_session_without_its_first_row_is_known_by_what_only_pi_writes() -> None:
    rows = tree(prompt("u"), turn("a", call("x")), result("r", "x", "one"))[1:]
    assert LENS.recognises(rows)
    assert not LENS.recognises(rows[:1])


def test_strange_rows_are_said_and_the_rest_is_read() -> None:
    rows = tree(
        prompt("u"),
        row("message", "x", message=5),
        said_by("nobody", "y", "x"),
        turn("a", {"type": "mystery"}, "z"),
        result("r", "none", "one"),
    )
    reading = LENS.read(Rows([None, 7, [], *rows, {"type": 5}]))
    assert [entry.kind for entry in reading.entries] == [Kind.USER, Kind.ASSISTANT, Kind.TOOL]
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unknown_block", "$[7].message.content[0]"),
        ("orphan_result", "$[8].message"),
        ("unknown_line", "$[5]"),
    ]


SMALL = tree(
    prompt("u"),
    turn(
        "a",
        {"type": "thinking", "thinking": "", "thinkingSignature": "s"},
        call("x"),
        uses=(1,) * 4,
    ),
    result("r", "x", "one", {"type": "image", "data": "x"}),
    compaction("c", firstKeptEntryId="a"),
    row("message", "b", message={"role": "bashExecution", "command": "ls", "output": "x"}),
    row("custom_message", "e", content="note"),
    row("branch_summary", "s", summary="elsewhere"),
)


def test_whatever_is_broken_in_a_session_it_is_read_or_refused() -> None:
    kit.check_damage(LENS, SMALL)


IDS = st.sampled_from(["a", "b", "c", "d", "e", None, 5])
ROWS = st.builds(
    lambda native, key, parent, kept: {**native, "id": key, "parentId": parent, **kept},
    st.sampled_from(
        [
            *(prompt("p"), turn("t", "x", call("x"), uses=(1, 1, 1, 1)), result("r", "x", "one")),
            *(turn("t", "x", stopReason="error", uses=(2, 1, 1, 1)), compaction("c")),
            *(row("branch_summary", "b", summary="s"), row("label", "l")),
        ]
    ),
    IDS,
    IDS,
    st.one_of(
        st.builds(lambda key: {"firstKeptEntryId": key}, IDS),
        st.builds(lambda at: {"firstKeptEntryIndex": at}, st.integers(-1, 9)),
    ),
)


@given(st.lists(ROWS, max_size=10))
def test_any_tree_is_read_and_no_row_twice(rows: list[Json]) -> None:
    root = Rows(rows)
    try:
        reading = LENS.read(root)
    except InputError:
        return
    places = [entry.at for entry in reading.entries]
    assert len(places) == len(set(places))
    assert len(reading.usage) <= len(LENS.all_usage(root))
    assert all(0 <= usage.n <= len(reading.entries) for usage in reading.usage)
