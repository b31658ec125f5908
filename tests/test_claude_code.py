"""The Claude Code lens: bug files B30, B32, B73, every recorded session, rewriting, usage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from claude_rows import *
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.core.model import Kind, PartKind, Reading, Usage
from compactor.formats.claude_code import ClaudeCode, all_usage, threads
from compactor.formats.native import Rows, apply_edits, read_document

SHARED = Path(__file__).resolve().parents[2] / "shared"
SESSIONS = sorted((SHARED / "transcripts" / "claude-code").glob("*.json*"))
OTHERS = sorted(p for p in (SHARED / "transcripts").glob("*/*.json*") if p not in SESSIONS)
BUGS = SHARED / "bugs"
LENS = ClaudeCode()

with_bugs = pytest.mark.parametrize("bugs", [BUGS] if BUGS.is_dir() else [])


# Known bugs of other readers.


@with_bugs
def test_b30_one_reply_over_several_lines_is_one_call_and_one_turn(bugs: Path) -> None:
    document = read_document((bugs / "B30.jsonl").read_bytes(), "B30.jsonl", strict=True)
    reading = LENS.read(document.root)
    calls = (
        Usage(n=1, input=4, cache_read=0, cache_write=1000, output=159, model="m"),
        Usage(n=3, input=6, cache_read=1000, cache_write=200, output=40, model="m"),
    )
    assert reading.usage == calls
    assert [usage.n for usage in all_usage(document.root)] == [0, 0]
    totals = [
        sum(getattr(usage, key) for usage in all_usage(document.root))
        for key in ("input", "cache_write", "cache_read", "output")
    ]
    assert totals == [10, 1200, 1000, 199]
    first = reading.entries[1]
    assert [part.kind for part in first.parts] == [PartKind.REASONING, PartKind.TEXT]
    assert shown(reading)[:2] == [
        ("user", ["go"]),
        ("assistant", ["hm", "I look."], ["toolu_1"]),
    ]
    assert [(entry.kind.value, entry.call_id) for entry in reading.entries[2:]] == [
        ("tool", "toolu_1"),
        ("assistant", ""),
    ]
    assert (reading.model, codes(reading)) == ("m", [])


@with_bugs
def test_b30_eliding_the_result_changes_its_line_only_and_not_its_copy(bugs: Path) -> None:
    data = (bugs / "B30.jsonl").read_bytes()
    document = read_document(data, "B30.jsonl")
    assert document.edited([]) == data
    entry = LENS.read(document.root).entries[2]
    edited = document.edited(LENS.rewrite_body(document.root, entry, "gone"))
    assert changed_lines(data, edited) == [4]
    row = json.loads(edited.splitlines()[4])
    assert row["message"]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "gone"}
    ]
    assert row["toolUseResult"] == {"mode": "content", "numLines": 30}


@with_bugs
def test_b32_what_stands_behind_a_damaged_record_is_read(bugs: Path) -> None:
    data = (bugs / "B32.jsonl").read_bytes()
    document = read_document(data, "B32.jsonl")
    reading = LENS.read(document.root)
    assert [row[:2] for row in shown(reading)] == [
        ("user", ["go"]),
        ("assistant", []),
        ("tool", "t1"),
        ("assistant", ["ok"]),
    ]
    assert reading.entries[2].body.count("\n") == 30
    stub, half = data.index(b'{"type":"progress"'), data.index(b'{"type":"user","uuid":"u3"')
    places = [finding.path for finding in document.findings]
    assert places == ["B32.jsonl:3", "B32.jsonl:5"]
    assert all(
        f"byte {at} " in finding.message
        for at, finding in zip((stub, half), document.findings, strict=True)
    )
    with pytest.raises(InputError) as refused:
        read_document(data, "B32.jsonl", strict=True)
    assert refused.value.path.startswith("B32.jsonl:3")


@with_bugs
def test_b32_eliding_the_glued_record_leaves_the_stub_before_it(bugs: Path) -> None:
    data = (bugs / "B32.jsonl").read_bytes()
    document = read_document(data, "B32.jsonl")
    assert document.edited([]) == data
    entry = LENS.read(document.root).entries[2]
    edited = document.edited(LENS.rewrite_body(document.root, entry, "gone"))
    assert changed_lines(data, edited) == [2]
    stub = b'{"type":"progress","uuid":"p1","par'
    assert edited.splitlines()[2].startswith(stub)
    record = json.loads(edited.splitlines()[2].removeprefix(stub))
    assert record["message"]["content"][0]["content"] == "gone"


@with_bugs
def test_b73_the_live_branch_is_the_one_with_the_newest_message(bugs: Path) -> None:
    document = read_document((bugs / "B73.jsonl").read_bytes(), "B73.jsonl")
    reading = LENS.read(document.root)
    texts = [(row[0], row[1]) for row in shown(reading)]
    assert texts == [
        ("user", ["go"]),
        ("assistant", []),
        ("tool", "t1"),
        ("assistant", ["live"]),
        ("user", ["next"]),
    ]
    assert codes(reading) == ["off_branch"]


@with_bugs
def test_b73_a_sidechain_is_a_transcript_of_its_own(bugs: Path) -> None:
    root = read_document((bugs / "B73.jsonl").read_bytes(), "B73.jsonl").root
    assert threads(root) == ["ag1"]
    assert shown(ClaudeCode("ag1").read(root)) == [
        ("user", ["sub task"]),
        ("assistant", ["sub done"], []),
    ]


@with_bugs
def test_b73_all_lines_are_written_back_and_one_changes(bugs: Path) -> None:
    data = (bugs / "B73.jsonl").read_bytes()
    document = read_document(data, "B73.jsonl")
    assert (document.edited([]), len(LENS.messages(document.root))) == (data, 10)
    entry = LENS.read(document.root).entries[2]
    edits = LENS.rewrite_body(document.root, entry, "gone")
    assert changed_lines(data, document.edited(edits)) == [4]


# Recorded sessions against counts that know nothing of the lens.


def changed_lines(before: bytes, after: bytes) -> list[int]:
    """Indexes of the lines that differ; the number of lines must not."""
    pairs = zip(before.split(b"\n"), after.split(b"\n"), strict=True)
    return [index for index, (old, new) in enumerate(pairs) if old != new]


def raw_rows(path: Path) -> list[Json]:
    """The records of a session, read without the library; half records are skipped."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        rows: list[Json] = json.loads(text)["loglines"]
        return rows
    return [row for part in text.split("\n") for row in _records(part)]


def _records(text: str) -> Iterator[Json]:
    """The whole records of a line: there can be several, or half a one before them."""
    position, decoder = 0, json.JSONDecoder()
    while (position := text.find('{"', position)) >= 0:
        try:
            record, position = decoder.raw_decode(text, position)
        except ValueError:
            position += 1
        else:
            yield record


def raw_calls(rows: list[Json]) -> dict[str, tuple[int, int, int, int]]:
    """Usage by message id, its last line's, without what the client made itself."""
    calls = {}
    for row in rows:
        message = row.get("message", {})
        if row["type"] == "assistant" and message.get("model") != "<synthetic>":
            usage = message.get("usage")
            if usage:
                calls[message["id"]] = (
                    usage["input_tokens"],
                    usage.get("cache_read_input_tokens", 0),
                    usage.get("cache_creation_input_tokens", 0),
                    usage["output_tokens"],
                )
    return calls


def raw_prompt(rows: list[Json]) -> list[Json]:
    """Main-thread lines after the last compaction; the sidechain's where there is nothing else."""
    main = [row for row in rows if not row.get("isSidechain")] or rows
    cuts = [i for i, row in enumerate(main) if row.get("subtype") == "compact_boundary"]
    return main[cuts[-1] + 1 :] if cuts else main


def raw_results(rows: list[Json]) -> list[tuple[int, Json]]:
    """(row index, block) of every tool result."""
    found = []
    for index, row in enumerate(rows):
        content = row.get("message", {}).get("content")
        if row["type"] == "user" and isinstance(content, list):
            found += [(index, block) for block in content if block["type"] == "tool_result"]
    return found


def unique(rows: list[Json]) -> list[Json]:
    """Without lines that repeat the `uuid` of an earlier one."""
    first = {row.get("uuid") or index: index for index, row in reversed([*enumerate(rows)])}
    return [rows[index] for index in sorted(first.values())]


each_session = pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)


@each_session
def test_a_recorded_session_is_written_back_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    document = read_document(data, path.name)
    assert LENS.recognises(document.root)
    LENS.read(document.root)
    assert document.edited([]) == data


@each_session
def test_recorded_usage_is_one_per_message_id_with_its_last_lines_numbers(path: Path) -> None:
    rows = raw_rows(path)
    root = read_document(path.read_bytes(), path.name).root
    reading = LENS.read(root)
    assert [numbers(u) for u in all_usage(root)] == list(raw_calls(rows).values())
    assert [numbers(u) for u in reading.usage] == list(raw_calls(raw_prompt(rows)).values())
    for usage in reading.usage:
        assert reading.entries[usage.n].kind is Kind.ASSISTANT
    assert [u.n for u in reading.usage] == sorted({u.n for u in reading.usage})


@each_session
def test_every_live_result_of_a_session_is_read_once_behind_its_turn(path: Path) -> None:
    reading = LENS.read(read_document(path.read_bytes(), path.name).root)
    live = [block["tool_use_id"] for _, block in raw_results(raw_prompt(unique(raw_rows(path))))]
    found = [entry.call_id for entry in reading.entries if entry.kind is Kind.TOOL]
    assert sorted(found) == sorted(live)
    assert len(live) == len(set(live))
    open_calls: list[str] = []
    for entry in reading.entries:
        if entry.kind is Kind.ASSISTANT:
            open_calls = [call.id for call in entry.calls]
        elif entry.kind is Kind.TOOL:
            open_calls.remove(entry.call_id)


@each_session
def test_no_finding_says_that_a_recorded_session_was_misread(path: Path) -> None:
    reading = LENS.read(read_document(path.read_bytes(), path.name).root)
    harmless = {
        "attachments_not_counted",
        "before_compaction",
        "cleared_by_harness",
        "off_branch",
        "repeated_line",
        "subagent_file",
        "unanswered_call",
    }
    assert set(codes(reading)) <= harmless


@each_session
def test_rewriting_one_result_changes_its_content_and_nothing_else(path: Path) -> None:
    document = read_document(path.read_bytes(), path.name)
    entries = [e for e in LENS.read(document.root).entries if e.kind is Kind.TOOL and not e.empty]
    for entry in sorted(entries, key=lambda e: len(e.body))[-1:] + entries[:1]:
        wanted = raw_rows(path)
        index, block = next(
            found for found in raw_results(wanted) if found[1]["tool_use_id"] == entry.call_id
        )
        is_text = isinstance(block["content"], str)
        block["content"] = "gone" if is_text else [{"type": "text", "text": "gone"}]
        edited = document.edited(LENS.rewrite_body(document.root, entry, "gone"))
        if path.suffix == ".json":
            assert json.loads(edited)["loglines"] == wanted
            continue
        (changed,) = changed_lines(path.read_bytes(), edited)
        assert wanted[index] in _records(edited.split(b"\n")[changed].decode())


@each_session
def test_rewriting_all_live_results_touches_no_other_line(path: Path) -> None:
    root = read_document(path.read_bytes(), path.name).root
    entries = [e for e in LENS.read(root).entries if e.kind is Kind.TOOL and not e.empty]
    new = apply_edits(root, [x for e in entries for x in LENS.rewrite_body(root, e, "gone")])
    pairs = zip(LENS.messages(root), LENS.messages(new), strict=True)
    touched = [row for row, (old, now) in enumerate(pairs) if old is not now]
    assert touched == sorted(int(e.at[-4]) for e in entries)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_recording_of_another_format_is_claimed(path: Path) -> None:
    assert not LENS.recognises(read_document(path.read_bytes(), path.name).root)


# Usage.


def test_usage_is_the_last_lines_that_has_any_and_odd_numbers_count_nothing() -> None:
    odd = {"input_tokens": None, "output_tokens": -4, "cache_read_input_tokens": "7"}
    rows = [
        prompt("u", None, "go"),
        said("a", "u", "x", of="m1", usage=used(10, 1)),
        said("b", "a", "y", of="m1", usage=used(10, 5, cache_creation_input_tokens=3)),
        said("c", "b", "z", of="m1"),
        prompt("v", "c", "on"),
        said("d", "v", "w", of="m2", usage=odd),
    ]
    assert read(*rows).usage == (
        Usage(n=1, input=2, cache_read=10, cache_write=3, output=5, model="m"),
        Usage(n=3, model="m"),
    )


def test_calls_of_a_branch_that_was_left_are_in_all_usage_only() -> None:
    rows = [
        prompt("u", None, "go"),
        said("a", "u", "dead", usage=used(1, 1)),
        said("b", "u", "live", usage=used(2, 2), model="n"),
        said("c", "b", "error", usage=used(9, 9), model="<synthetic>"),
    ]
    reading = read(*rows)
    assert [usage.cache_read for usage in reading.usage] == [2]
    assert [usage.cache_read for usage in all_usage(Rows(rows))] == [1, 2]
    assert reading.model == "n"


# Rewriting.


def test_a_result_keeps_its_flags_and_its_cache_mark_when_it_is_rewritten() -> None:
    marked = {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
    row = result("r", "a", "c1", [{"type": "text", "text": "one"}, image, marked])
    row["message"]["content"][0]["is_error"] = True
    root = Rows([prompt("u", None, "go"), call("a", "u", "c1"), row])
    entry = LENS.read(root).entries[2]
    assert (entry.body, entry.error, [p.kind for p in entry.parts]) == (
        "one\ntwo",
        True,
        [PartKind.IMAGE],
    )
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new[:2] == root[:2]
    assert new[2] == {
        **row,
        "message": {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [
                        {"type": "text", "text": "gone", "cache_control": {"type": "ephemeral"}}
                    ],
                    "is_error": True,
                }
            ],
        },
    }


def test_an_argument_is_rewritten_in_its_line() -> None:
    root = Rows([prompt("u", None, "go"), call("a", "u", "c1"), call("b", "a", "c2", of="m-a")])
    entry = LENS.read(root).entries[1]
    assert [c.arguments for c in entry.calls] == ['{"command":"c1"}', '{"command":"c2"}']
    new = apply_edits(root, LENS.rewrite_argument(root, entry, 1, ("command",), "gone"))
    assert [row is old for row, old in zip(new, root, strict=True)] == [True, True, False]
    assert new[2]["message"]["content"][0]["input"] == {"command": "gone"}


def test_the_lines_of_a_web_export_are_addressed_inside_it() -> None:
    rows = [prompt(None, None, "go"), call(None, None, "c1"), result(None, None, "c1", "one")]
    root = {"loglines": rows, "title": "x"}
    assert LENS.recognises(root)
    entry = LENS.read(root).entries[2]
    assert entry.at == ("loglines", 2, "message", "content", 0)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new["loglines"][2]["message"]["content"][0]["content"] == "gone"
    assert LENS.messages(root) is rows


# What is no session, and what is a strange one.


@pytest.mark.parametrize(
    "root",
    [
        [{"role": "user", "content": "hi"}],
        {"messages": [{"role": "user", "content": "hi"}]},
        [{"type": "message", "message": {"role": "user", "content": "hi"}}],
        [{"type": "user", "content": "hi", "id": "1"}],
        [{"type": "summary", "summary": "x"}],
        {"loglines": {}},
        "text",
        None,
        [],
    ],
)
def test_what_is_no_session_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_strange_lines_are_said_and_never_raise() -> None:
    odd: list[Any] = [
        None,
        7,
        [],
        {},
        {"type": ["user"], "message": {"role": "user", "content": "x"}},
        {"type": "user", "uuid": "q", "message": "text"},
        {"type": "mail", "uuid": 5, "message": {"role": "user", "content": "x"}},
        {"type": "system", "uuid": "k", "subtype": "compact_boundary", "compactMetadata": 3},
        {"type": "system", "uuid": "l", "parentUuid": 3, "microcompactMetadata": {"x": 1}},
        {"type": "attachment", "uuid": "t", "attachment": "x"},
    ]
    rows = [
        prompt("u", None, "go"),
        said("a", "u", "one"),
        prompt("v", "a", 5),
        said("b", "v", "x"),
    ]
    reading = LENS.read(Rows([*odd, *rows]))
    assert [row[0] for row in shown(reading)] == ["user", "assistant", "user", "assistant"]
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unknown_block", "$[12].message.content"),
        ("unknown_line", "$[4]"),
    ]
    assert reading.findings[-1].message.startswith("3 lines")


IDS = st.sampled_from(["a", "b", "c", "d", "", None, 5])
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": IDS}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": IDS, "name": IDS, "input": IDS}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "tool_use_id": IDS, "content": IDS}),
    IDS,
)
MESSAGES = st.fixed_dictionaries(
    {"content": st.one_of(IDS, st.lists(BLOCKS, max_size=3))},
    optional={"id": IDS, "model": IDS, "usage": st.one_of(IDS, st.dictionaries(IDS, IDS))},
)
META = st.dictionaries(
    st.sampled_from(
        [
            "uuids",
            "allUuids",
            "headUuid",
            "tailUuid",
            "anchorUuid",
            "preservedMessages",
            "preservedSegment",
            "compactedToolIds",
        ]
    ),
    st.recursive(
        st.one_of(IDS, st.lists(IDS, max_size=3)),
        lambda inner: st.dictionaries(st.sampled_from(["uuids", "headUuid", "tailUuid"]), inner),
        max_leaves=4,
    ),
    max_size=4,
)
ROWS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "progress", None])},
    optional={
        "uuid": IDS,
        "parentUuid": IDS,
        "logicalParentUuid": IDS,
        "isSidechain": st.booleans(),
        "isCompactSummary": st.booleans(),
        "message": st.one_of(MESSAGES, IDS),
        "subtype": st.sampled_from(["compact_boundary", "microcompact_boundary"]),
        "compactMetadata": st.one_of(META, IDS),
        "microcompactMetadata": st.one_of(META, IDS),
        "attachment": st.one_of(IDS, st.just({"type": "file", "content": "x"})),
    },
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(ROWS, IDS), max_size=12))
def test_any_lines_are_read_or_refused_and_no_line_is_read_twice(rows: list[Any]) -> None:
    root = Rows(rows)
    all_usage(root)
    for name in ["", *threads(root)]:
        try:
            reading = ClaudeCode(name).read(root)
        except InputError:
            continue
        places = [entry.at for entry in reading.entries]
        assert len(places) == len(set(places))
        for entry in reading.entries:
            if entry.kind is Kind.TOOL:
                apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
