"""opencode exports: every recorded file against counts of its raw messages, and a rule a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, numbers, shown
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading
from compactor.formats.harnesses.opencode import OpenCode
from compactor.formats.raw.native import apply_edits

LENS = OpenCode()
each_file = pytest.mark.parametrize("path", kit.files("opencode"), ids=lambda path: path.stem)


# Recorded files against counts that know nothing of the lens.


def raw(path: Path) -> Json:
    root: Json = json.loads(path.read_text("utf-8"))
    return root


def start_of(messages: list[Json]) -> int:
    """Index of the message that asked for the last compaction; 0 without one."""
    asked = [
        index
        for index, message in enumerate(messages)
        if any(part["type"] == "compaction" for part in message["parts"])
    ]
    return asked[-1] if asked else 0


def raw_usage(messages: list[Json]) -> list[tuple[int, int, int, int]]:
    """Of every message with tokens; reasoning is output where the total does not hold it yet."""
    found = []
    for message in messages:
        tokens = message["info"].get("tokens")
        if tokens and tokens.get("total"):
            read, write = tokens["cache"]["read"], tokens["cache"]["write"]
            output = tokens["total"] - tokens["input"] - read - write
            found.append((tokens["input"], read, write, output))
    return found


def tool_parts(messages: list[Json]) -> list[Json]:
    return [part for message in messages for part in message["parts"] if part["type"] == "tool"]


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "opencode")


@each_file
def test_requests_are_the_messages_with_tokens(path: Path) -> None:
    messages = raw(path)["messages"]
    start = start_of(messages)
    live = [m for m in messages[start:] if m["info"].get("summary") is not True]
    reading = LENS.read(raw(path))
    assert [numbers(usage) for usage in LENS.all_usage(raw(path))] == raw_usage(messages)
    assert [numbers(usage) for usage in reading.usage] == raw_usage(live)


@each_file
def test_requests_were_made_over_the_messages_and_results_before_them(path: Path) -> None:
    wanted: list[int] = []
    size = 0
    messages = raw(path)["messages"]
    for message in messages[start_of(messages) :]:
        info = message["info"]
        if info.get("tokens", {}).get("total") and info.get("summary") is not True:
            wanted.append(size)
        size += 1 + len(tool_parts([message]))
    assert [usage.n for usage in LENS.read(raw(path)).usage] == wanted


@each_file
def test_every_live_result_is_read_once_and_in_order(path: Path) -> None:
    messages = raw(path)["messages"]
    wanted = []
    for part in tool_parts(messages[start_of(messages) :]):
        state = part["state"]
        is_cleared = "compacted" in state["time"]
        body = state["output"] if state["status"] == "completed" else state["error"]
        failed = state["status"] == "error"
        wanted.append(
            (part["callID"], part["tool"], "" if is_cleared else body, failed, is_cleared)
        )
    found = kit.tools(LENS.read(raw(path)))
    assert [(e.call_id, e.name, e.body, e.error, e.cleared) for e in found] == wanted


@each_file
def test_each_result_answers_the_call_beside_it_though_ids_repeat(path: Path) -> None:
    for entry in kit.tools(LENS.read(raw(path))):
        assert entry.call is not None
        assert entry.call.at == (*entry.at, "state", "input")


@each_file
def test_a_recording_says_what_it_leaves_out_and_nothing_was_misread(path: Path) -> None:
    reading = LENS.read(raw(path))
    assert set(codes(reading)) <= {"before_compaction", "cleared_by_harness", "subagent_file"}


@each_file
def test_rewriting_one_result_changes_one_message(path: Path) -> None:
    kit.check_one_change(path, "opencode", every=10)


@each_file
def test_a_recording_is_compacted_at_three_windows(path: Path) -> None:
    assert kit.check_compacts(path, "opencode") > 0


# Messages, as small as they can be.


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def prompt(key: str, *parts: Any, **info: Any) -> Json:
    said = [text(part) if isinstance(part, str) else part for part in parts or (key,)]
    return {"info": {"id": key, "role": "user", **info}, "parts": said}


def turn(key: str, *parts: Any, used: Any = None, **info: Any) -> Json:
    said = [text(part) if isinstance(part, str) else part for part in parts]
    about = {"id": key, "role": "assistant", "modelID": "m", "finish": "stop", **info}
    if used:
        about["tokens"] = used
    return {"info": about, "parts": said}


def tokens(fresh: int, read: int, write: int, output: int, **more: int) -> Json:
    cache = {"read": read, "write": write}
    return {"input": fresh, "output": output, "cache": cache, **more}


def tool(call_id: str, output: Any = "ok", status: str = "completed", **state: Any) -> Json:
    key = "error" if status == "error" else "output"
    about = {"status": status, "input": {"command": call_id}, key: output, "time": {}, **state}
    return {"type": "tool", "callID": call_id, "tool": "bash", "state": about}


def export(*messages: Any, **info: Any) -> Json:
    return {"info": {"id": "ses_1", "time": {}, **info}, "messages": list(messages)}


def read(*messages: Any, **info: Any) -> Reading:
    return LENS.read(export(*messages, **info))


STEP = {"type": "step-start"}


# The turn.


def test_a_tool_part_is_a_call_in_the_turn_and_a_result_behind_it() -> None:
    thought = {"type": "reasoning", "text": "hm", "metadata": {"p": {"signature": "s"}}}
    reading = read(
        prompt("u", "go", text("hidden", ignored=True), text("read in", synthetic=True)),
        turn(
            "a",
            *(STEP, thought, "look", tool("x", "one"), "and", tool("y", "no", "error")),
            *(
                {"type": "step-finish", "tokens": tokens(1, 2, 3, 4)},
                {"type": "patch", "files": []},
            ),
        ),
        turn("b", "done"),
    )
    assert shown(reading) == [
        ("user", ["go", "read in"]),
        ("assistant", ["hm", "look", "and"], ["x", "y"]),
        ("tool", "x", "one"),
        ("tool", "y", "no"),
        ("assistant", ["done"], []),
    ]
    assert [entry.error for entry in kit.tools(reading)] == [False, True]
    assert [entry.at for entry in reading.entries[:3]] == [
        ("messages", 0),
        ("messages", 1),
        ("messages", 1, "parts", 3),
    ]
    assert [(usage.n, *numbers(usage)) for usage in reading.usage] == [(1, 1, 2, 3, 4)]
    assert (codes(reading), reading.model, reading.overhead.known) == ([], "m", False)


def test_a_conversation_is_the_same_entries_as_in_another_format() -> None:
    results = (tool("x", "one"), tool("y", "two"))
    kit.check_same(read(prompt("u", "go"), turn("a", "look", *results), turn("b", "done")))


def test_calls_with_the_same_id_keep_their_own_results() -> None:
    reading = read(turn("a", {**tool("REDACTED", "one"), "tool": "read"}, tool("REDACTED", "two")))
    assert [(e.name, e.body) for e in kit.tools(reading)] == [("read", "one"), ("bash", "two")]
    assert codes(reading) == []


def test_a_call_that_is_still_running_has_no_result() -> None:
    reading = read(turn("a", tool("x", status="running"), tool("y", status="pending")))
    assert shown(reading) == [("assistant", [], ["x", "y"])]
    assert codes(reading) == ["unanswered_call", "unanswered_call"]


def test_what_an_interrupted_call_gave_is_its_result_and_no_failure() -> None:
    metadata = {"interrupted": True, "output": "partial"}
    root = export(turn("a", tool("x", "stopped", "error", metadata=metadata)))
    [entry] = kit.tools(LENS.read(root))
    assert (entry.body, entry.error) == ("partial", False)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    state = new["messages"][0]["parts"][0]["state"]
    assert (state["error"], state["metadata"]) == (
        "stopped",
        {"interrupted": True, "output": "gone"},
    )


def test_a_result_that_was_cleared_is_known_and_empty() -> None:
    image = {"mime": "image/png", "url": "data:image/png;base64,x"}
    cleared = tool("x", "long", time={"compacted": 5}, attachments=[image])
    reading = read(turn("a", cleared, tool("y", "no", "error", time={"compacted": 5})))
    assert [(e.body, e.cleared, e.empty) for e in kit.tools(reading)] == [
        ("", True, True),
        ("no", False, False),
    ]
    assert codes(reading) == ["cleared_by_harness"]


def test_a_hosted_tool_belongs_to_the_turn() -> None:
    hosted = {**tool("x", "found"), "metadata": {"providerExecuted": True}}
    reading = read(turn("a", "look", hosted))
    assert shown(reading) == [("assistant", ["look"], [])]
    assert [part.kind for part in reading.entries[0].parts] == [PartKind.TEXT, PartKind.OTHER]


def test_each_step_of_an_old_message_is_a_turn_and_a_request_of_its_own() -> None:
    ends = [{"type": "step-finish", "tokens": tokens(n, 0, 0, 1)} for n in (1, 2)]
    reading = read(
        prompt("u"),
        turn("a", *(STEP, tool("x"), ends[0], STEP, "done", ends[1]), used=tokens(3, 0, 0, 2)),
    )
    assert shown(reading) == [
        ("user", ["u"]),
        ("assistant", [], ["x"]),
        ("tool", "x", "ok"),
        ("assistant", ["done"], []),
    ]
    assert [(usage.n, usage.input) for usage in reading.usage] == [(1, 1), (3, 2)]


def test_files_and_pictures_are_media_unless_they_were_read_into_a_text() -> None:
    picture = {"type": "file", "mime": "image/gif", "url": "data:image/gif;base64,R0lGODlhgAJoAQAA"}
    paper = {"type": "file", "mime": "application/pdf", "url": "data:application/pdf;base64,x"}
    source = {"type": "file", "mime": "text/plain", "url": "file:///a.py"}
    reading = read(prompt("u", picture, paper, source), turn("a", tool("x", attachments=[picture])))
    kinds = [[part.kind for part in entry.parts] for entry in reading.entries]
    assert kinds == [[PartKind.IMAGE, PartKind.DOCUMENT], [], [PartKind.IMAGE]]
    assert reading.entries[0].parts[0] == reading.entries[2].parts[0]


def test_sealed_reasoning_counts_by_its_seal() -> None:
    metadata = {"openai": {"itemId": "i", "reasoningEncryptedContent": "xxxx"}}
    sealed = {"type": "reasoning", "text": "", "metadata": metadata}
    [part] = read(turn("a", sealed)).entries[0].parts
    assert (part.kind, part.size) == (PartKind.SEALED, 4)


# Usage.


@pytest.mark.parametrize(
    ("used", "output"),
    [
        (tokens(10, 5, 1, 4, reasoning=3), 4),
        (tokens(10, 5, 1, 4, reasoning=3, total=20), 4),
        (tokens(10, 5, 1, 4, reasoning=3, total=23), 7),
        (tokens(10, 5, 1, 4, reasoning=0, total=20), 4),
    ],
)
def test_reasoning_is_output_once(used: Json, output: int) -> None:
    [usage] = read(prompt("u"), turn("a", "x", used=used)).usage
    assert (usage.n, *numbers(usage), usage.model) == (1, 10, 5, 1, output, "m")


def test_a_tool_that_the_user_ran_is_no_request() -> None:
    subtask = {"type": "subtask", "prompt": "review", "agent": "a"}
    reading = read(prompt("u", subtask), turn("a", tool("x"), used=tokens(0, 0, 0, 0)))
    assert shown(reading) == [("user", []), ("assistant", [], ["x"]), ("tool", "x", "ok")]
    assert (reading.usage, LENS.all_usage(export(turn("a", tool("x"))))) == ((), [])


# What is in the prompt.


def test_a_turn_that_failed_is_a_request_and_in_no_prompt_and_one_that_was_stopped_stays() -> None:
    failed, stopped = {"name": "APIError"}, {"name": "MessageAbortedError"}
    reading = read(
        prompt("u"),
        turn("a", "half", error=failed, used=tokens(1, 0, 0, 1)),
        turn("b", STEP, {"type": "reasoning", "text": "hm"}, error=stopped),
        prompt("v"),
        turn("c", "said", error=stopped),
    )
    assert shown(reading) == [("user", ["u"]), ("user", ["v"]), ("assistant", ["said"], [])]
    assert [(usage.n, usage.input) for usage in reading.usage] == [(1, 1)]
    assert [(f.code, f.message[:2]) for f in reading.findings] == [("dropped_turns", "2 ")]


ASK = {"type": "compaction", "auto": True}


def test_the_request_begins_at_the_last_finished_compaction() -> None:
    reading = read(
        prompt("u"),
        turn("a", "gone", tool("x"), used=tokens(1, 0, 0, 1)),
        prompt("c", ASK, model={"modelID": "n"}),
        turn("s", "so far", summary=True, modelID="small", used=tokens(9, 0, 0, 1)),
        prompt("v", text("on", synthetic=True)),
        turn("b", "new", used=tokens(2, 0, 0, 1), modelID="n"),
        prompt("d", ASK),
        turn("t", "failed", summary=True, error={"name": "APIError"}),
    )
    assert shown(reading) == [
        ("user", []),
        ("assistant", ["so far"], []),
        ("user", ["on"]),
        ("assistant", ["new"], []),
        ("user", []),
    ]
    assert [(usage.n, usage.input) for usage in reading.usage] == [(3, 2)]
    alone = export(turn("s", used=tokens(9, 0, 0, 1)))
    assert [usage.input for usage in LENS.all_usage(alone)] == [9]
    assert [(f.code, f.message[:2]) for f in reading.findings] == [
        ("before_compaction", "2 "),
        ("dropped_turns", "1 "),
    ]
    assert reading.model == "n"


def test_what_a_compaction_kept_stands_behind_its_summary() -> None:
    reading = read(
        prompt("u"),
        turn("a", "gone"),
        prompt("k", "kept"),
        turn("l", "kept too", used=tokens(5, 0, 0, 1)),
        prompt("c", {**ASK, "tail_start_id": "k"}),
        turn("s", "so far", summary=True),
        prompt("v"),
        turn("b", "new", used=tokens(2, 0, 0, 1)),
    )
    assert [row[1] for row in shown(reading)] == [
        *([], ["so far"], ["kept"], ["kept too"], ["v"], ["new"]),
    ]
    assert [(usage.n, usage.input) for usage in reading.usage] == [(5, 2)]
    assert codes(reading) == ["before_compaction"]


def test_a_first_message_to_keep_that_is_not_there_is_said() -> None:
    reading = read(
        prompt("u"),
        prompt("c", {**ASK, "tail_start_id": "gone"}),
        turn("s", "so far", summary=True),
    )
    assert [row[1] for row in shown(reading)] == [[], ["so far"]]
    assert codes(reading) == ["before_compaction", "preserved_missing"]


def test_a_summary_that_nobody_asked_for_begins_the_request_itself() -> None:
    reading = read(prompt("u"), turn("s", "so far", summary=True), prompt("v"))
    assert [row[1] for row in shown(reading)] == [["so far"], ["v"]]


def test_messages_that_were_taken_back_are_not_sent() -> None:
    said = [prompt("u"), turn("a", "x"), prompt("v"), turn("b", "y", used=tokens(1, 0, 0, 1))]
    reading = read(*said, revert={"messageID": "v"})
    assert shown(reading) == [("user", ["u"]), ("assistant", ["x"], [])]
    assert [(f.code, f.path, f.message[:2]) for f in reading.findings] == [
        ("off_branch", "$.messages[2]", "2 ")
    ]
    assert (reading.usage, codes(read(*said, revert={"messageID": "z"}))) == ((), [])


def test_a_message_that_was_taken_back_in_part_keeps_its_first_parts() -> None:
    parts = [tool("x", "one"), {**tool("y", "two"), "id": "p2"}, text("z")]
    said = [prompt("u"), turn("a", *parts, used=tokens(1, 0, 0, 1)), prompt("v")]
    reading = read(*said, revert={"messageID": "a", "partID": "p2"})
    assert shown(reading) == [("user", ["u"]), ("assistant", [], ["x"]), ("tool", "x", "one")]
    assert [usage.n for usage in reading.usage] == [1]


def test_a_step_that_was_taken_back_is_no_request_any_more() -> None:
    ends = [{"type": "step-finish", "tokens": tokens(n, 0, 0, 1)} for n in (1, 2)]
    steps = (STEP, tool("x", "one"), ends[0], {**STEP, "id": "p2"}, "z", ends[1])
    reading = read(prompt("u"), turn("a", *steps), revert={"messageID": "a", "partID": "p2"})
    assert shown(reading)[1:] == [("assistant", [], ["x"]), ("tool", "x", "one")]
    assert [(usage.n, usage.input) for usage in reading.usage] == [(1, 1)]


def test_the_session_of_a_subagent_is_said_to_be_one() -> None:
    assert codes(read(prompt("u"), parentID="ses_0")) == ["subagent_file"]


# Rewriting.


def test_a_result_is_rewritten_in_its_state_and_its_attachments_go() -> None:
    picture = {"mime": "image/png", "url": "data:image/png;base64,x"}
    root = export(turn("a", tool("x", "one", attachments=[picture], title="t"), tool("y")))
    entry = LENS.read(root).entries[1]
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    before, after = (r["messages"][0]["parts"] for r in (root, new))
    assert after[1] is before[1]
    wanted = {**before[0]["state"], "output": "gone"}
    del wanted["attachments"]
    assert after[0] == {**before[0], "state": wanted}


def test_a_failure_stays_one_when_it_is_rewritten() -> None:
    root = export(turn("a", tool("x", "no such file", "error")))
    new = apply_edits(root, LENS.rewrite_body(root, LENS.read(root).entries[1], "gone"))
    assert new["messages"][0]["parts"][0]["state"]["error"] == "gone"
    assert kit.tools(LENS.read(new))[0].error


def test_an_argument_is_rewritten_in_its_state() -> None:
    root = export(turn("a", "text", tool("x")))
    entry = LENS.read(root).entries[0]
    new = apply_edits(root, LENS.rewrite_argument(root, entry, 0, ("command",), "gone"))
    assert new["messages"][0]["parts"][1]["state"]["input"] == {"command": "gone"}


# What is no session, and what is a strange one.


def test_a_bare_list_of_messages_and_a_session_without_any_are_sessions() -> None:
    bare = [prompt("u"), turn("a", tool("x", "one"))]
    assert LENS.recognises(bare)
    reading = LENS.read(bare)
    assert (reading.entries[2].body, reading.entries[2].at) == ("one", (1, "parts", 0))
    assert LENS.recognises(export())
    assert LENS.read(export()).entries == []


@pytest.mark.parametrize(
    "root",
    [
        None,
        {},
        [],
        {"messages": []},
        {"info": {}, "messages": []},
        {"info": {"id": "s"}, "messages": [{"role": "user", "content": "go"}]},
        [{"role": "user", "parts": [text("go")]}],
        [{"info": {"role": ["user"]}, "parts": []}],
        [{"info": {"role": "user"}, "parts": {}}],
    ],
)
def test_what_is_no_session_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_strange_messages_and_parts_are_said_and_the_rest_is_read() -> None:
    reading = read(
        None,
        {"info": {"role": "judge"}, "parts": []},
        prompt("u", "go", {"type": "mystery"}, None),
        turn("a", tool("x", {"odd": 1}), {"type": "tool"}, {"type": "mystery"}),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", [], ["x", ""]),
        ("tool", "x", ""),
    ]
    assert [entry.required for entry in kit.tools(reading)] == [True]
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unknown_block", "$.messages[2].parts[1]"),
        ("unknown_block", "$.messages[2].parts[2]"),
        ("unknown_block", "$.messages[3].parts[2]"),
        ("unknown_block", "$.messages[3].parts[0].state.output"),
        ("unanswered_call", "$.messages[3].parts[1].state"),
        ("unknown_line", "$.messages[0]"),
    ]


SMALL = export(
    prompt("k", {"type": "file", "mime": "image/png", "url": "data:,x"}),
    prompt("c", {**ASK, "tail_start_id": "k"}),
    turn("s", "so far", summary=True),
    turn(
        "a",
        STEP,
        {"type": "reasoning", "text": "", "metadata": {"p": {"signature": "s"}}},
        tool("x", "one", attachments=[{"mime": "image/png", "url": "data:,x"}]),
        tool("y", "no", "error", metadata={"interrupted": True, "output": "part"}),
        {"type": "step-finish", "tokens": tokens(1, 2, 3, 4, reasoning=1, total=11)},
    ),
    parentID="p",
)


@pytest.mark.parametrize("revert", [None, {"messageID": "a", "partID": "p"}])
def test_whatever_is_broken_in_a_session_it_is_read_or_refused(revert: Json | None) -> None:
    kit.check_damage(LENS, {**SMALL, "info": {**SMALL["info"], "revert": revert}})


MESSAGES = st.lists(
    st.sampled_from(
        [
            *(prompt("u"), prompt("c", ASK), prompt("d", {**ASK, "tail_start_id": "u"})),
            *(turn("s", "so far", summary=True, used=tokens(3, 0, 0, 1)), turn("a", STEP, "x")),
            *(turn("b", tool("x"), STEP, tool("x"), used=tokens(1, 0, 0, 1)), turn("e")),
            turn("f", "x", error={"name": "APIError"}, used=tokens(2, 0, 0, 1)),
        ]
    ),
    max_size=10,
)
REVERTS = st.none() | st.builds(lambda key: {"messageID": key}, st.sampled_from("ucdabf"))


@given(MESSAGES, REVERTS)
def test_any_messages_in_any_order_are_read_and_no_result_twice(
    messages: list[Json], revert: Json | None
) -> None:
    root = export(*messages, revert=revert)
    reading = LENS.read(root)
    places = [entry.at for entry in kit.tools(reading)]
    assert len(places) == len(set(places))
    assert len(reading.usage) <= len(LENS.all_usage(root))
    assert all(0 <= usage.n <= len(reading.entries) for usage in reading.usage)
