"""The Claude Code lens: bug files B30, B32, B73 and every recorded session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from claude_rows import Json, codes, numbers, shown

from compactor.core.errors import InputError
from compactor.core.model import Kind, PartKind, Usage
from compactor.formats.harnesses.claude_code import ClaudeCode
from compactor.formats.raw.native import apply_edits, read_document

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
    assert [usage.n for usage in LENS.all_usage(document.root)] == [0, 0]
    totals = [
        sum(getattr(usage, key) for usage in LENS.all_usage(document.root))
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
    assert codes(reading) == ["off_branch", "other_threads"]


@with_bugs
def test_b73_a_sidechain_is_a_transcript_of_its_own(bugs: Path) -> None:
    root = read_document((bugs / "B73.jsonl").read_bytes(), "B73.jsonl").root
    assert LENS.threads(root) == ["main", "ag1"]
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
    assert [numbers(u) for u in LENS.all_usage(root)] == list(raw_calls(rows).values())
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
        "other_threads",
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
