"""Files with several conversations: `load(…, thread=…)`, `Transcript`, and `--thread`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_rows import call, prompt, result, said, used
from cli_kit import SMALL
from click.testing import CliRunner, Result

import compactor
from compactor.cli import cli
from compactor.core.errors import InputError
from compactor.core.model import Usage
from compactor.formats.harnesses.claude_code import ClaudeCode

SIDE = {"isSidechain": True, "agentId": "ag"}


def session() -> list[dict[str, Any]]:
    """A main conversation of one result, and a sub-agent's of eight long ones."""
    rows = [
        prompt("u", None, "go"),
        call("a", "u", "main-1", of="m1", usage=used(10, 1)),
        result("r", "a", "main-1", "short"),
        said("b", "r", "done", of="m2", usage=used(20, 2)),
        prompt("x0", None, "sub task") | SIDE,
    ]
    for n in range(8):
        rows.append(call(f"c{n}", f"x{n}", f"sub-{n}", of=f"s{n}", usage=used(30, 3)) | SIDE)
        rows.append(result(f"x{n + 1}", f"c{n}", f"sub-{n}", "a line of output\n" * 60) | SIDE)
    return rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in session()), "utf-8")
    return path


def test_a_transcript_names_its_conversations_and_the_one_that_was_read(path: Path) -> None:
    first = compactor.load(path)
    sub = compactor.load(path, thread="ag")
    assert first.threads == sub.threads == ("main", "ag")
    assert (first.thread, sub.thread) == ("main", "ag")
    assert (len(first.entries), len(sub.entries)) == (4, 17)
    assert compactor.load(path, thread="main").entries[1].calls == first.entries[1].calls
    assert [finding.code for finding in first.findings] == ["other_threads"]
    assert sub.findings == ()


def test_another_conversation_of_a_loaded_file_is_the_same_as_loading_it(path: Path) -> None:
    first = compactor.load(path)
    other, loaded = first.of_thread("ag"), compactor.load(path, thread="ag")
    assert (other.thread, other.usage) == ("ag", loaded.usage)
    assert [entry.at for entry in other.entries] == [entry.at for entry in loaded.entries]
    assert other.document is first.document
    assert other.to_bytes() == path.read_bytes()


def test_usage_is_of_the_conversation_and_all_usage_of_the_file(path: Path) -> None:
    first, sub = compactor.load(path), compactor.load(path, thread="ag")
    assert first.usage == (
        Usage(1, input=2, cache_read=10, output=1, model="m"),
        Usage(3, input=2, cache_read=20, output=2, model="m"),
    )
    assert len(sub.usage) == 8
    assert first.all_usage() == sub.all_usage()
    assert [(u.n, u.cache_read, u.output) for u in first.all_usage()] == [
        *((0, 10, 1), (0, 20, 2)),
        *[(0, 30, 3)] * 8,
    ]


def test_a_format_without_usage_or_threads_has_none() -> None:
    transcript = compactor.load([{"role": "user", "content": "go"}])
    assert (transcript.threads, transcript.thread) == ((), "")
    assert (transcript.usage, transcript.all_usage()) == ((), [])


def test_an_unknown_thread_is_refused_with_the_known_ones(path: Path) -> None:
    with pytest.raises(InputError) as refused:
        compactor.load(path, thread="nobody")
    assert (refused.value.code, refused.value.message, refused.value.hint) == (
        "input.thread_unknown",
        "there is no thread 'nobody'",
        "threads: main, ag",
    )
    with pytest.raises(InputError) as refused:
        compactor.load([{"role": "user", "content": "go"}], thread="x")
    assert refused.value.code == "input.thread_unknown"
    assert refused.value.hint == "the file has one conversation, without name"


def test_of_many_threads_the_first_are_named_and_the_rest_counted() -> None:
    rows = [session()[0]]
    rows += [prompt(f"p{n}", None, "task") | {**SIDE, "agentId": f"ag{n}"} for n in range(30)]
    with pytest.raises(InputError) as refused:
        compactor.load(rows, thread="x" * 500)
    names = ", ".join(f"ag{n}" for n in range(9))
    assert refused.value.hint == f"threads: main, {names} and 21 more"
    assert len(refused.value.message) < 120


def test_a_lens_of_your_own_is_taken_as_it_is(path: Path) -> None:
    transcript = compactor.load(path, ClaudeCode("ag"))
    assert (len(transcript.entries), transcript.format) == (17, "claude-code")


def test_compacting_a_thread_changes_its_results_only(path: Path) -> None:
    policy = compactor.Policy(window=2000, counter="chars4", overhead_tokens=0)
    out = compactor.compact(compactor.load(path, thread="ag"), policy)
    before, after = (data.splitlines() for data in (path.read_bytes(), out.request.to_bytes()))
    changed = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert len(changed) == len(out.report.passes[0]["elided"]) > 0
    assert all(b'"isSidechain": true' in before[i] for i in changed)
    assert out.request.thread == "ag"


# -- on the command line


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, [*args])


@pytest.mark.parametrize("name", ["compact", "explain", "context", "diff"])
def test_every_command_that_reads_a_recording_takes_a_thread(name: str, path: Path) -> None:
    main, sub = run(name, *SMALL, str(path)), run(name, *SMALL, str(path), "--thread", "ag")
    assert (main.exit_code, sub.exit_code) == (0, 0)
    assert main.stdout != sub.stdout
    assert "choose one with --thread" in main.stderr
    assert "choose one with --thread" not in sub.stderr


@pytest.mark.parametrize("name", ["compact", "explain", "context", "diff"])
def test_an_unknown_thread_is_an_error_that_names_the_file(name: str, path: Path) -> None:
    done = run(name, str(path), "--thread", "nobody")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.endswith(
        f"error: {path}: there is no thread 'nobody' (threads: main, ag) [input.thread_unknown]\n"
    )
