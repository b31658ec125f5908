"""Codex rollouts: every recorded file against counts of its raw rows, and a rule a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, numbers, shown
from hypothesis import given
from hypothesis import strategies as st

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Kind, PartKind, Reading, Usage
from compactor.formats.harnesses.codex import Codex
from compactor.formats.raw.native import Rows, apply_edits

LENS = Codex()
OUTPUTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")
each_file = pytest.mark.parametrize("path", kit.files("codex"), ids=lambda path: path.stem)


# Recorded files against counts that know nothing of the lens.


def raw_usage(rows: list[Json]) -> list[tuple[int, Json]]:
    """(row index, usage) of every count whose totals are not those of the count before."""
    found: list[tuple[int, Json]] = []
    before = None
    for index, row in enumerate(rows):
        if row["payload"].get("type") != "token_count" or not row["payload"]["info"]:
            continue
        info = row["payload"]["info"]
        if info["total_token_usage"] != before and info["last_token_usage"]["input_tokens"]:
            found.append((index, info["last_token_usage"]))
        before = info["total_token_usage"]
    return found


def split(usage: Json) -> tuple[int, ...]:
    cached = usage["cached_input_tokens"]
    return (usage["input_tokens"] - cached, cached, 0, usage["output_tokens"])


def last_compaction(rows: list[Json]) -> int:
    """Index of the row; -1 without one."""
    return max((i for i, row in enumerate(rows) if row["type"] == "compacted"), default=-1)


def live_items(rows: list[Json]) -> list[tuple[int, Json]]:
    """(row index, item) of what the next request carries, leading developer messages aside."""
    cut = last_compaction(rows)
    history = rows[cut]["payload"]["replacement_history"] if cut >= 0 else []
    after = [(i, row["payload"]) for i, row in enumerate(rows) if row["type"] == "response_item"]
    items = [(cut, item) for item in history] + [item for item in after if item[0] > cut]
    while items and items[0][1].get("role") == "developer":
        del items[0]
    return [item for item in items if item[1]["type"] != "ghost_snapshot"]


def places_of_turns(items: list[tuple[int, Json]]) -> list[tuple[int, int]]:
    """(row of the first item, entry index) of each turn: a run of items of the model."""
    found: list[tuple[int, int]] = []
    entries, in_turn = 0, False
    for row, item in items:
        given_back = item["type"] in (*OUTPUTS, "agent_message")
        of_model = not given_back and item.get("role", "assistant") == "assistant"
        if of_model and not in_turn:
            found.append((row, entries))
        entries += not (of_model and in_turn)
        in_turn = of_model
    return found


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "codex")


@each_file
def test_requests_are_the_counts_whose_totals_changed(path: Path) -> None:
    rows = kit.rows_of(path)
    counts = raw_usage(rows)
    found = [numbers(usage) for usage in LENS.all_usage(rows)]
    assert found == [split(usage) for _, usage in counts]
    live = [(at, usage) for at, usage in counts if at > last_compaction(rows)]
    reading = LENS.read(rows)
    assert [numbers(usage) for usage in reading.usage] == [split(usage) for _, usage in live]
    turns = places_of_turns(live_items(rows))
    wanted = [[n for row, n in turns if row < at][-1] for at, _ in live]
    assert [usage.n for usage in reading.usage] == wanted


@each_file
def test_usage_adds_up_to_the_totals_that_the_recording_keeps(path: Path) -> None:
    rows = kit.rows_of(path)
    counts = [row["payload"] for row in rows if row["payload"].get("type") == "token_count"]
    infos = [count["info"]["total_token_usage"] for count in counts if count["info"]]
    total = max(infos, key=lambda info: int(info["total_tokens"]))
    _, fresh, read, _, output = kit.totals(LENS.all_usage(rows))
    assert (fresh + read, read, output) == (
        total["input_tokens"],
        total["cached_input_tokens"],
        total["output_tokens"],
    )


@each_file
def test_every_live_result_is_read_once_and_in_order(path: Path) -> None:
    rows = kit.rows_of(path)
    items = [item for _, item in live_items(rows)]
    reading = LENS.read(rows)
    wanted = [item["call_id"] for item in items if item["type"] in OUTPUTS]
    assert [entry.call_id for entry in kit.tools(reading)] == wanted
    texts = [item["output"] for item in items if isinstance(item.get("output"), str)]
    assert [entry.body for entry in kit.tools(reading) if entry.body in texts] == texts


@each_file
def test_a_recording_says_what_it_leaves_out_and_nothing_was_misread(path: Path) -> None:
    harmless = {
        *("before_compaction", "overhead_partial", "provider_compaction", "subagent_file"),
        "unanswered_call",
    }
    reading = LENS.read(kit.rows_of(path))
    assert set(codes(reading)) <= harmless
    assert not any(entry.required for entry in reading.entries)


@each_file
def test_rewriting_one_result_changes_one_row(path: Path) -> None:
    kit.check_one_change(path, "codex", every=10)


@each_file
def test_a_recording_is_compacted_at_three_windows(path: Path) -> None:
    count = kit.check_compacts(path, "codex")
    assert count > 0 or path.stem == "agent-sessions-fixture"


# Rows, as small as they can be.


def row(kind: str, **payload: Any) -> Json:
    return {"timestamp": "t", "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> Json:
    return row("response_item", type=kind, **fields)


def event(kind: str, **fields: Any) -> Json:
    return row("event_msg", type=kind, **fields)


def prompt(text: str, role: str = "user") -> Json:
    content = [{"type": "input_text", "text": text}]
    return item("message", role=role, content=content)


def said(text: str) -> Json:
    content = [{"type": "output_text", "text": text}]
    return item("message", role="assistant", content=content)


def call(call_id: str, name: str = "shell") -> Json:
    return item("function_call", name=name, arguments='{"c": "ls"}', call_id=call_id)


def result(call_id: str, output: Any = "ok") -> Json:
    return item("function_call_output", call_id=call_id, output=output)


def counted(total: int, cached: int, output: int, fresh: int = 1, written: int = 0) -> Json:
    last = {
        "input_tokens": fresh + cached + written,
        "cached_input_tokens": cached,
        "cache_write_input_tokens": written,
        "output_tokens": output,
    }
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": last}
    return event("token_count", info=info)


def compacted(*natives: Any, **more: Any) -> Json:
    history = [native["payload"] for native in natives]
    return row("compacted", message="", replacement_history=history, **more)


def read(*rows: Any) -> Reading:
    return LENS.read(Rows(rows))


def ns(reading: Reading) -> list[int]:
    return [usage.n for usage in reading.usage]


# The prompt.


def test_items_are_entries_and_events_that_repeat_them_are_not() -> None:
    reading = read(
        row("session_meta", id="s", base_instructions={"text": "be brief"}),
        prompt("rules", "developer"),
        prompt("go"),
        event("user_message", message="go"),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        event("agent_message", message="look"),
        said("look"),
        call("a"),
        call("b"),
        event("exec_command_end", call_id="a", aggregated_output="one"),
        result("a", "one"),
        result("b", [{"type": "input_text", "text": "two"}, {"type": "input_image"}]),
        prompt("mind", "developer"),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["hm", "look"], ["a", "b"]),
        ("tool", "a", "one"),
        ("tool", "b", "two"),
        ("system", ["mind"]),
    ]
    assert [part.kind for part in reading.entries[3].parts] == [PartKind.IMAGE]
    assert [entry.at for entry in reading.entries] == [(i, "payload") for i in (2, 4, 10, 11, 12)]
    assert reading.overhead.texts == ("be brief", "rules")
    assert (reading.overhead.known, codes(reading)) == (False, ["overhead_partial"])


def test_a_conversation_is_the_same_entries_as_in_another_format() -> None:
    calls = [
        item("function_call", name="bash", arguments=f'{{"command": "{key}"}}', call_id=key)
        for key in "xy"
    ]
    results = (result("x", "one"), result("y", "two"))
    kit.check_same(read(prompt("go"), said("look"), *calls, *results, said("done")))


def test_the_first_instructions_are_counted_and_tools_that_are_not_deferred() -> None:
    late = {"name": "late", "description": "d", "inputSchema": {}, "deferLoading": True}
    tool = {"name": "t", "description": "d", "inputSchema": {"type": "object"}}
    reading = read(
        row("session_meta", base_instructions={"text": "first"}, dynamic_tools=[late, tool]),
        row("session_meta", base_instructions={"text": "again"}, dynamic_tools=[tool]),
        row("turn_context", model="m", base_instructions="other"),
        prompt("go"),
    )
    assert reading.overhead.texts == ("first", "t", "d", '{"type":"object"}')
    assert reading.model == "m"


def test_instructions_of_a_turn_stand_in_where_the_session_has_none() -> None:
    reading = read(row("turn_context", model="m", base_instructions="other"), prompt("go"))
    assert reading.overhead.texts == ("other",)


def test_a_compaction_puts_its_list_in_the_place_of_all_before() -> None:
    reading = read(
        prompt("go"),
        call("a"),
        result("a"),
        counted(5, 0, 1),
        compacted(prompt("go"), prompt("env", "developer"), call("b"), result("b", "kept")),
        counted(5, 0, 0, fresh=0),
        event("context_compacted"),
        said("on"),
        counted(9, 4, 2),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("system", ["env"]),
        ("assistant", [], ["b"]),
        ("tool", "b", "kept"),
        ("assistant", ["on"], []),
    ]
    assert reading.entries[3].at == (4, "payload", "replacement_history", 3)
    assert [(f.code, f.message[:8]) for f in reading.findings] == [
        ("before_compaction", "3 items ")
    ]
    assert (ns(reading), [numbers(u) for u in reading.usage]) == ([4], [(1, 4, 0, 2)])


def test_what_all_compactions_took_out_is_counted() -> None:
    reading = read(prompt("a"), row("compacted", message="s"), compacted(prompt("b")), said("x"))
    assert shown(reading) == [("user", ["b"]), ("assistant", ["x"], [])]
    assert [(f.code, f.message[:2]) for f in reading.findings] == [("before_compaction", "2 ")]
    twice = read(prompt("a"), compacted(prompt("b"), said("c")), compacted(prompt("d")))
    assert twice.findings[0].message.startswith("3 ")


def test_a_result_that_a_compaction_kept_is_rewritten_inside_its_row() -> None:
    root = Rows([compacted(call("b"), result("b", "kept")), said("on")])
    entry = LENS.read(root).entries[1]
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new[1] is root[1]
    assert new[0]["payload"]["replacement_history"][1]["output"] == "gone"
    assert (
        new[0]["payload"]["replacement_history"][0] is root[0]["payload"]["replacement_history"][0]
    )


def test_a_sealed_summary_belongs_to_the_turn_behind_it_and_is_said() -> None:
    summary = item("compaction", encrypted_content="xxxx")
    reading = read(prompt("old"), compacted(prompt("go"), summary), said("on"))
    assert shown(reading) == [("user", ["go"]), ("assistant", ["on"], [])]
    assert codes(reading) == ["provider_compaction", "before_compaction"]


def test_an_old_compaction_keeps_the_messages_and_adds_its_summary() -> None:
    reading = read(
        prompt("rules", "developer"),
        prompt("go"),
        call("a"),
        result("a"),
        row("compacted", message="first summary"),
        prompt("more"),
        said("yes"),
        row("compacted", message="second summary"),
        prompt("now"),
        said("last"),
        counted(1, 0, 1),
    )
    assert shown(reading) == [
        ("user", ["go"]),
        ("user", ["more"]),
        ("user", ["second summary"]),
        ("user", ["now"]),
        ("assistant", ["last"], []),
    ]
    assert reading.findings[0].message.startswith("4 ")
    assert ns(reading) == [4]
    assert reading.entries[2].at == (7, "payload", "message")
    assert codes(reading) == ["before_compaction", "compaction_rebuilt"]


def test_a_rollback_takes_back_the_last_turns_of_the_user() -> None:
    reading = read(
        prompt("context"),
        *(prompt("one"), event("user_message"), said("1"), counted(1, 0, 1)),
        *(prompt("two"), event("user_message"), call("a"), result("a"), counted(2, 0, 1)),
        *(prompt("three"), event("user_message"), said("3"), counted(3, 0, 1)),
        event("thread_rolled_back", num_turns=2),
        *(prompt("again"), event("user_message"), said("4"), counted(4, 0, 7)),
    )
    assert shown(reading) == [
        ("user", ["context"]),
        ("user", ["one"]),
        ("assistant", ["1"], []),
        ("user", ["again"]),
        ("assistant", ["4"], []),
    ]
    assert ([u.output for u in reading.usage], ns(reading)) == ([1, 7], [2, 4])
    assert [(f.code, f.path) for f in reading.findings] == [("off_branch", "$[5].payload")]


def test_a_rollback_of_more_turns_than_there_are_keeps_what_stands_before_the_first() -> None:
    rows = [prompt("context"), event("user_message"), prompt("one"), said("1")]
    reading = read(*rows, event("thread_rolled_back", num_turns=9), prompt("on"))
    assert shown(reading) == [("user", ["on"])]


def test_a_rollback_across_a_compaction_undoes_it() -> None:
    reading = read(
        *(prompt("one"), event("user_message"), said("1"), counted(1, 0, 1)),
        *(prompt("two"), event("user_message"), compacted(prompt("short")), said("2")),
        event("thread_rolled_back", num_turns=1),
        prompt("on"),
    )
    assert shown(reading) == [("user", ["one"]), ("assistant", ["1"], []), ("user", ["on"])]
    assert (ns(reading), codes(reading)) == ([1], ["off_branch"])
    assert reading.findings[0].message.startswith("3 ")


# Requests.


def test_a_count_that_repeats_the_totals_is_no_request() -> None:
    reading = read(
        event("token_count", info=None),
        prompt("go"),
        said("a"),
        counted(7, 4, 2, fresh=2, written=1),
        counted(7, 4, 2, fresh=2, written=1),
        prompt("on"),
        said("b"),
        counted(9, 0, 3),
    )
    wanted = [
        Usage(n=1, input=2, cache_read=4, cache_write=1, output=2),
        Usage(n=3, input=1, output=3),
    ]
    assert list(reading.usage) == wanted


def test_a_count_without_tokens_is_no_request_and_one_without_an_answer_is_behind_the_last() -> (
    None
):
    silent = read(prompt("go"), counted(3, 0, 0, fresh=0), prompt("on"), counted(9, 0, 1))
    behind = read(prompt("go"), said("x"), counted(3, 0, 1), prompt("on"), counted(9, 0, 1))
    assert (ns(silent), ns(behind)) == ([2], [1, 3])


def test_a_request_before_a_turn_that_was_taken_back_stays() -> None:
    turn = (prompt("one"), event("user_message"), said("1"), counted(2, 0, 2))
    reading = read(prompt("go"), counted(1, 0, 1), *turn, event("thread_rolled_back", num_turns=1))
    assert [(usage.n, usage.output) for usage in reading.usage] == [(1, 1)]


def test_the_count_of_an_answer_comes_before_or_behind_the_results() -> None:
    before = read(
        prompt("go"), call("a"), counted(1, 0, 1), result("a"), said("x"), counted(2, 0, 1)
    )
    behind = read(
        prompt("go"), call("a"), result("a"), counted(1, 0, 1), said("x"), counted(2, 0, 1)
    )
    assert ns(before) == ns(behind) == [1, 3]


def test_the_count_behind_an_answer_that_was_stopped_belongs_to_the_next_one() -> None:
    reading = read(prompt("go"), said("half"), prompt("stop"), said("whole"), counted(1, 0, 1))
    assert ns(reading) == [3]


def test_the_count_behind_a_message_that_follows_its_answer_belongs_to_the_answer() -> None:
    reading = read(prompt("go"), said("x"), prompt("hook", "developer"), counted(1, 0, 1))
    assert ns(reading) == [1]


def test_the_model_of_a_request_is_that_of_its_turn() -> None:
    reading = read(
        *(row("turn_context", model="a"), prompt("go"), said("x"), counted(1, 0, 1)),
        *(row("turn_context", model="b"), prompt("on"), said("y"), counted(2, 0, 1)),
    )
    assert ([usage.model for usage in reading.usage], reading.model) == (["a", "b"], "b")


# Items that only Codex has, and old shapes.


def test_a_message_of_another_agent_is_no_turn() -> None:
    content = [
        {"type": "input_text", "text": "done"},
        {"type": "encrypted_content", "encrypted_content": "xxxx"},
    ]
    reading = read(prompt("go"), item("agent_message", author="b", content=content), said("ok"))
    assert [entry.kind for entry in reading.entries] == [Kind.USER, Kind.USER, Kind.ASSISTANT]
    assert [part.kind for part in reading.entries[1].parts] == [PartKind.TEXT, PartKind.SEALED]
    assert codes(reading) == []


def test_a_snapshot_is_never_sent_and_does_not_split_a_turn() -> None:
    reading = read(prompt("go"), said("a"), item("ghost_snapshot", ghost_commit={}), said("b"))
    assert shown(reading) == [("user", ["go"]), ("assistant", ["a", "b"], [])]
    assert codes(reading) == []


def test_a_text_in_an_object_is_rewritten_there_and_may_say_that_it_failed() -> None:
    outputs = [{"content": "no", "success": False, "x": 1}, {"type": "input_text", "text": "yes"}]
    root = Rows([call("a"), call("b"), *map(result, "ab", outputs)])
    reading = LENS.read(root)
    assert [(e.body, e.error, e.required) for e in kit.tools(reading)] == [
        ("no", True, False),
        ("yes", False, False),
    ]
    edits = [x for e in kit.tools(reading) for x in LENS.rewrite_body(root, e, "gone")]
    new = apply_edits(root, edits)
    assert [new[i]["payload"]["output"] for i in (2, 3)] == [
        {"content": "gone", "success": False, "x": 1},
        {"type": "input_text", "text": "gone"},
    ]


def test_files_from_before_rows_had_a_payload_hold_the_items_themselves() -> None:
    rows = [
        {"id": "s", "timestamp": "t", "instructions": None},
        {"record_type": "state"},
        *(native["payload"] for native in (prompt("go"), call("a"), result("a", "one"))),
    ]
    assert LENS.recognises(rows)
    assert compactor.formats.detect(Rows(rows)).name == "codex"
    reading = read(*rows)
    assert shown(reading)[1:] == [("assistant", [], ["a"]), ("tool", "a", "one")]
    assert reading.entries[2].at == (4,)
    new = apply_edits(rows, LENS.rewrite_body(rows, reading.entries[2], "gone"))
    assert new[4]["output"] == "gone"


def test_a_call_id_that_comes_twice_is_answered_in_its_own_place() -> None:
    reading = read(call("a", "one"), result("a", "1"), call("a", "two"), result("a", "2"))
    assert [(entry.name, entry.body) for entry in kit.tools(reading)] == [
        ("one", "1"),
        ("two", "2"),
    ]


def test_the_file_of_a_sub_agent_is_said_to_be_one() -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}
    assert codes(read(row("session_meta", source=spawned), prompt("go"))) == ["subagent_file"]


# What is no rollout, and what is a strange one.


@pytest.mark.parametrize(
    "root",
    [
        None,
        {},
        [],
        [{"type": "message", "role": "user", "content": "go"}],
        [{"role": "user", "content": "go"}],
        [{"type": ["response_item"], "payload": {}}],
        [{"type": "session", "id": "s", "cwd": "/", "payload": 5}],
    ],
)
def test_what_is_no_rollout_is_not_claimed(root: Any) -> None:
    assert not LENS.recognises(root)


@pytest.mark.parametrize("root", [[row("session_meta", id="s")], [event("error")]])
def test_a_rollout_that_has_only_begun_is_empty(root: Any) -> None:
    assert LENS.read(root).entries == []


@pytest.mark.parametrize("root", [None, {}, []])
def test_what_holds_no_item_is_refused(root: Any) -> None:
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_strange_rows_are_said_and_the_rest_is_read() -> None:
    reading = read(
        None,
        {"type": "response_item", "payload": 5},
        prompt("go"),
        item("message", role="nobody", content="x"),
        item("mystery", value=1),
        row("compacted_", replacement_history=[]),
        {"type": "compacted"},
        result("none"),
    )
    assert [row_[0] for row_ in shown(reading)] == ["user", "assistant", "tool"]
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unknown_block", "$[4].payload"),
        ("orphan_result", "$[7].payload"),
        ("unknown_line", "$[1]"),
    ]
    assert reading.findings[-1].message.startswith("3 rows")


def test_a_request_whose_answer_cannot_be_read_was_made_over_what_was_there() -> None:
    odd = {"type": "response_item", "payload": {"type": 5}}
    assert ns(read(odd, counted(1, 0, 1), prompt("go"))) == [0]
    assert ns(read(prompt("go"), odd, counted(1, 0, 1), prompt("on"))) == [1]


SMALL = Rows(
    [
        row("session_meta", base_instructions={"text": "x"}, dynamic_tools=[{"name": "t"}]),
        row("turn_context", model="m"),
        prompt("go"),
        event("user_message", message="go"),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="x"),
        call("a"),
        result("a", {"content": "no", "success": False}),
        counted(9, 4, 2),
        compacted(prompt("go"), call("b"), result("b", [{"type": "input_text", "text": "x"}])),
        item("agent_message", content=[{"type": "encrypted_content", "encrypted_content": "x"}]),
        event("thread_rolled_back", num_turns=1),
        said("on"),
    ]
)


def test_whatever_is_broken_in_a_rollout_it_is_read_or_refused() -> None:
    kit.check_damage(LENS, SMALL)


KINDS: list[Json] = [
    *(prompt("u"), prompt("d", "developer"), said("a"), call("a"), call("b"), result("a")),
    *(result("b"), counted(1, 0, 1), counted(2, 1, 1), event("user_message")),
    *(event("thread_rolled_back", num_turns=n) for n in (0, 1, 2)),
    *(compacted(prompt("c"), said("s")), row("compacted", message="s"), row("turn_context")),
]


@given(st.lists(st.sampled_from(KINDS), max_size=14))
def test_any_rows_in_any_order_are_read_and_requests_are_made_over_what_is_there(
    rows: list[Json],
) -> None:
    root = Rows(rows)
    LENS.all_usage(root)
    try:
        reading = LENS.read(root)
    except InputError:
        return
    assert all(0 <= n <= len(reading.entries) for n in ns(reading))
    assert ns(reading) == sorted(ns(reading))
    assert set(map(numbers, reading.usage)) <= set(map(numbers, LENS.all_usage(root)))
    places = [entry.at for entry in reading.entries]
    assert len(places) == len(set(places))
