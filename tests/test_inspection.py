"""`compactor.inspect`: rows of files, against counts of the raw files and of `compact`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import call, prompt, result, said, used

import compactor
from compactor.core.model import Kind
from compactor.inspection import Failure, Inspected, Recorded, total

ROWS = [
    prompt("u", None, "go"),
    call("a", "u", "main-1", of="m1", usage=used(10, 1, cache_creation_input_tokens=5)),
    result("r", "a", "main-1", "short"),
    said("b", "r", "done", of="m2", usage=used(20, 2)),
    prompt("x", None, "task") | {"isSidechain": True, "agentId": "ag"},
    said("y", "x", "sub", of="s1", usage=used(30, 3)) | {"isSidechain": True, "agentId": "ag"},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_row_says_what_a_file_is_and_holds(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", ROWS)
    [row] = compactor.inspect(path)
    out = compactor.compact(compactor.load(path), compactor.Policy(window=10**9))
    assert row == Inspected(
        file=str(path),
        size_bytes=path.stat().st_size,
        format="claude-code",
        thread="main",
        threads=2,
        model="m",
        entries={"user": 1, "assistant": 2, "tool": 1, "system": 0},
        requests=2,
        tools={"Bash": 1},
        tokens=out.report.tokens_before,
        overhead=None,
        counter="o200k_base",
        counter_scale=1000,
        recorded=Recorded(3, 6, 60, 5, 0, 6),
        findings=out.report.findings,
    )
    assert [finding.code for finding in row.findings] == [
        *("other_threads", "model_unknown", "overhead_unknown")
    ]


def test_conversations_are_rows_with_their_own_requests_where_they_are_asked_for(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "s.jsonl", ROWS)
    whole = compactor.inspect(path)[0]
    main, sub = compactor.inspect(path, all_threads=True)
    assert [(row.thread, row.threads, row.requests) for row in (main, sub)] == [
        *(("main", 2, 2), ("ag", 2, 1))
    ]
    assert (main.recorded, sub.recorded) == (
        Recorded(2, 4, 30, 5, 0, 3),
        Recorded(1, 2, 30, 0, 0, 3),
    )
    assert total([main, sub]) == whole.recorded
    assert compactor.inspect(path, thread="ag") == [sub]


def test_tokens_are_those_of_a_request_with_its_overhead(tmp_path: Path) -> None:
    body = {
        "model": "gpt-4.1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "go"}],
    }
    path = tmp_path / "request.json"
    path.write_text(json.dumps(body), "utf-8")
    report = compactor.compact(body, compactor.Policy()).report
    [row] = compactor.inspect(path)
    assert (row.tokens, row.overhead) == (report.tokens_before, report.overhead)
    assert (row.counter, row.counter_scale, row.recorded) == ("o200k_base", 1000, None)
    [bare] = compactor.inspect(path, tokens=False)
    assert (bare.tokens, bare.overhead, bare.counter, bare.counter_scale) == (None, None, "", 0)
    assert (bare.requests, bare.entries) == (0, row.entries)


def test_a_file_that_cannot_be_read_is_a_row_with_its_error(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": 1}')
    rows = compactor.inspect(path, tmp_path / "gone.json")
    assert [row.error for row in rows] == [
        Failure(
            "input.format_unknown",
            "this is no transcript in a known format",
            "$",
            rows[0].error.hint if rows[0].error else "",
        ),
        Failure(
            "input.unreadable",
            "cannot be read: No such file or directory",
            str(tmp_path / "gone.json"),
            "give the name of a file that can be read",
        ),
    ]
    assert [(row.file, row.size_bytes) for row in rows] == [
        *((str(path), 8), (str(tmp_path / "gone.json"), 0))
    ]


def test_of_a_folder_what_is_no_transcript_is_left_out_and_what_is_a_broken_one_is_not(
    tmp_path: Path,
) -> None:
    write(tmp_path / "b.jsonl", ROWS)
    (tmp_path / "a.json").write_bytes(b'{"a": 1}')
    (tmp_path / "c.txt").write_bytes(b"a text")
    (tmp_path / "d.json").write_bytes(b'{"messages": [], "previous_response_id": "r"}')
    rows = compactor.inspect(tmp_path)
    assert [(Path(row.file).name, row.error and row.error.code) for row in rows] == [
        *(("b.jsonl", None), ("d.json", "input.provider_history"))
    ]


@pytest.mark.parametrize("value", [{"a": {"b": [1]}, "c": "d"}, {"a": [{"b": 1}, {"b": 2}]}])
def test_an_object_over_several_lines_is_no_transcript_of_lines(
    value: object, tmp_path: Path
) -> None:
    path = tmp_path / "package.json"
    path.write_text(json.dumps(value, indent=1), "utf-8")
    [row] = compactor.inspect(path)
    assert row.error is not None
    assert row.error.code == "input.format_unknown"


def test_damage_is_a_finding_and_an_error_where_it_is_not_accepted(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", ROWS[:2])
    path.write_bytes(path.read_bytes() + b'{"half')
    [row] = compactor.inspect(path)
    assert "damaged_line" in [finding.code for finding in row.findings]
    [strict] = compactor.inspect(path, strict=True)
    assert strict.error is not None
    assert strict.error.code == "input.not_json"


def test_a_name_of_a_format_is_the_format_of_all(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(b'[{"role": "user", "content": "go"}]')
    assert [row.format for row in compactor.inspect(path)] == ["anthropic"]
    assert [row.format for row in compactor.inspect(path, format="openai-chat")] == ["openai-chat"]


def test_calls_are_counted_by_tool_the_most_called_first_then_by_name(tmp_path: Path) -> None:
    blocks = [
        {"type": "tool_use", "id": f"t{n}", "name": name, "input": {}}
        for n, name in enumerate("cabbacb")
    ]
    body = [{"role": "user", "content": "go"}, {"role": "assistant", "content": blocks}]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(body), "utf-8")
    [row] = compactor.inspect(path)
    assert list(row.tools.items()) == [("b", 3), ("a", 2), ("c", 2)]


FILES = [path for name in ("claude-code", "codex", "pi", "opencode") for path in kit.files(name)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_row_of_a_recording_counts_what_is_read_and_what_compact_estimates(path: Path) -> None:
    [row] = compactor.inspect(path)
    transcript = compactor.load(path)
    policy = compactor.Policy(window=10**9)
    assert row.tokens == compactor.compact(transcript, policy).report.tokens_before
    kinds = Counter(entry.kind for entry in transcript.entries)
    assert row.entries == {kind.value: kinds[kind] for kind in Kind}
    assert sum(row.tools.values()) == sum(len(entry.calls) for entry in transcript.entries)
    usage = transcript.all_usage()
    assert (row.recorded.requests if row.recorded else 0) == len(usage)
    assert (row.error, row.format, row.size_bytes) == (None, path.parent.name, path.stat().st_size)
