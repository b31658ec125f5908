"""`compactor inspect` as people and programs run it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from claude_rows import call, prompt, result, said, used
from cli_kit import environment, request
from click.testing import CliRunner, Result

import compactor
from compactor.cli import cli

ROWS = [
    prompt("u", None, "go"),
    call("a", "u", "c1", of="m1", usage=used(10_000, 1)),
    result("r", "a", "c1", "short"),
    said("b", "r", "done", of="m2", usage=used(20_000, 2)),
    prompt("x", None, "task") | {"isSidechain": True, "agentId": "ag"},
    said("y", "x", "sub", of="s1", usage=used(30_000, 3)) | {"isSidechain": True, "agentId": "ag"},
]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two transcripts, a file that is none, and what is passed over."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    rows = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "in" / "session.jsonl").write_text(rows, "utf-8")
    (tmp_path / "in" / "request.json").write_text(json.dumps(request(3)), "utf-8")
    (tmp_path / "in" / "other.json").write_text('{"a": 1}', "utf-8")
    (tmp_path / "in" / "code.py").write_text("x = 1", "utf-8")


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["inspect", *args])


def test_the_table_has_a_row_a_file_and_the_sums(tmp_path: Path) -> None:
    done = run("in")
    heads, *rows = [line.split() for line in done.stdout.splitlines()]
    assert heads == [
        *("file", "format", "entries", "requests", "tokens", "input", "cached", "written"),
        *("output", "threads", "tools", "findings"),
    ]
    first, second = compactor.inspect(tmp_path / "in")
    assert [row[:5] for row in rows[:2]] == [
        ["in/request.json", "anthropic", "7", "3", f"{first.tokens:,}"],
        ["in/session.jsonl", "claude-code", "4", "2", f"{second.tokens:,}"],
    ]
    assert rows[0][5:] == ["-", "-", "-", "-", "1", "bash", "3"]
    assert rows[1][5:] == [
        *("6", "60,000", "0", "6", "2", "Bash", "1"),
        *("other_threads,", "model_unknown,", "and", "1", "more"),
    ]
    both = (first.tokens or 0) + (second.tokens or 0)
    assert rows[2] == [
        *("total", "of", "2", "files", "11", "5", f"{both:,}"),
        *("6", "60,000", "0", "6", "2"),
    ]
    assert (done.exit_code, done.stderr) == (0, "1 other file is no transcript\n")


def test_columns_are_aligned() -> None:
    lines = run("in").stdout.splitlines()
    for head in ("format", "tools"):
        at = lines[0].index(head)
        assert {line[at - 1] for line in lines if len(line) > at} == {" "}


def test_json_has_every_field_of_every_row_and_the_sums() -> None:
    done = run("in", "--json")
    said = json.loads(done.stdout)
    rows = compactor.inspect("in")
    assert list(said) == ["files", "total", "no_transcripts"]
    assert [list(row) for row in said["files"]] == [
        [
            *("file", "size_bytes", "format", "thread", "threads", "model", "entries", "requests"),
            *("tools", "tokens", "overhead", "counter", "counter_scale", "recorded", "findings"),
            "error",
        ]
    ] * 2
    assert said["files"][1]["recorded"] == {
        "requests": 3,
        "input": 6,
        "cache_read": 60_000,
        "cache_write": 0,
        "cache_write_1h": 0,
        "output": 6,
    }
    assert said["files"][0]["recorded"] is None
    assert [row["tokens"] for row in said["files"]] == [row.tokens for row in rows]
    assert said["total"] == {
        "files": 2,
        "conversations": 2,
        "entries": 11,
        "requests": 5,
        "tokens": sum(row.tokens or 0 for row in rows),
        "recorded": said["files"][1]["recorded"],
    }
    assert said["no_transcripts"] == 1


def test_every_conversation_is_a_row_where_that_is_asked_for() -> None:
    said = json.loads(run("in/session.jsonl", "--all-threads", "--json").stdout)
    assert [(row["thread"], row["recorded"]["requests"]) for row in said["files"]] == [
        *(("main", 2), ("ag", 1))
    ]
    assert (said["total"]["files"], said["total"]["conversations"]) == (1, 2)
    shown = run("in/session.jsonl", "--all-threads").stdout.splitlines()
    assert [line.split("  ")[0] for line in shown[1:]] == [
        *("in/session.jsonl", "in/session.jsonl (ag)", "total of 1 file")
    ]
    only = json.loads(run("in/session.jsonl", "--thread", "ag", "--json").stdout)
    assert only["files"] == said["files"][1:]


def test_a_named_file_that_fails_is_said_and_exits_1_and_the_others_are_shown() -> None:
    done = run("in/other.json", "gone.json", "in/session.jsonl")
    assert done.exit_code == 1
    table, errors = done.stdout.split("\n\n")
    assert table.splitlines()[1].startswith("in/session.jsonl")
    first, second = errors.splitlines()
    assert first.startswith("in/other.json: $: this is no transcript in a known format (say which")
    assert first.endswith("[input.format_unknown]")
    assert second == (
        "gone.json: cannot be read: No such file or directory "
        "(give the name of a file that can be read) [input.unreadable]"
    )
    rows = json.loads(run("gone.json", "--json").stdout)["files"]
    assert [(row["file"], row["error"]["code"], row["format"]) for row in rows] == [
        ("gone.json", "input.unreadable", "")
    ]
    assert run("in").exit_code == 0


def test_a_thread_that_a_named_file_does_not_have_is_its_error() -> None:
    done = run("in/session.jsonl", "in/request.json", "--thread", "nobody")
    assert done.exit_code == 1
    assert "in/session.jsonl: there is no thread 'nobody' (threads: main, ag)" in done.stdout
    assert "in/request.json: there is no thread 'nobody' (the file has one" in done.stdout


def test_tokens_are_not_counted_where_that_is_asked_for() -> None:
    [row] = json.loads(run("in/session.jsonl", "--no-tokens", "--json").stdout)["files"]
    assert (row["tokens"], row["overhead"], row["counter"], row["entries"]["tool"]) == (
        *(None, None, "", 1),
    )
    shown = run("in/session.jsonl", "--no-tokens").stdout.splitlines()[1].split()
    assert shown[:5] == ["in/session.jsonl", "claude-code", "4", "2", "-"]


def test_strict_format_and_models_are_as_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "in" / "session.jsonl"
    path.write_bytes(path.read_bytes() + b'{"half')
    assert run("in/session.jsonl").exit_code == 0
    done = run("in/session.jsonl", "--strict")
    assert (done.exit_code, "[input.not_json]" in done.stdout) == (1, True)
    done = run("in/request.json", "-f", "gemini")
    assert (done.exit_code, "[input.shape]" in done.stdout) == (1, True)
    table = {
        "models": [{"name": "m", "context_in": 10, "counter": "chars4", "counter_scale": 2000}]
    }
    (tmp_path / "models.json").write_text(json.dumps(table), "utf-8")
    [row] = json.loads(run("in/session.jsonl", "--models", "models.json", "--json").stdout)["files"]
    assert (row["counter"], row["counter_scale"]) == ("chars4", 2000)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-"], "name files and folders (/dev/stdin is standard input, ./- a file of that name)"),
        (["x", "--thread", "a", "--all-threads"], "--thread chooses one conversation"),
        ([], "Missing argument 'PATH...'"),
    ],
)
def test_what_contradicts_itself_is_wrong_usage(args: list[str], said: str) -> None:
    done = run(*args)
    assert (done.exit_code, said in done.stderr) == (2, True)


def test_an_empty_folder_shows_nothing_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run("empty")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "there is no file to be read\n"
    assert run("empty", "--quiet").stderr == ""
    assert json.loads(run("empty", "--json").stdout)["files"] == []


def test_names_of_strangers_are_harmless_on_a_terminal(tmp_path: Path) -> None:
    body = request(1, tool="\x1b[31mb\u202e\n")
    (tmp_path / "\x1b[2J.json").write_text(json.dumps(body), "utf-8")
    shown = run(".").stdout
    assert r"\x1b[2J.json" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def on_a_terminal(*args: str) -> tuple[bytes, bytes, int]:
    """stdout, what a terminal at stderr shows, and the exit code of the program."""
    ours, theirs = pty.openpty()
    command: list[Any] = [sys.executable, "-m", "compactor", *args]
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment())
    os.close(theirs)
    out, _ = done.communicate(timeout=120)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return out, shown, done.returncode


def test_a_bar_is_on_the_terminal_and_nowhere_else() -> None:
    out, shown, code = on_a_terminal("inspect", "in", "--json")
    assert (b"reading" in shown, b"100%" in shown, code) == (True, True, 0)
    assert b"reading" not in out
    assert len(json.loads(out)["files"]) == 2
    assert on_a_terminal("inspect", "in", "--quiet", "--json") == (out, b"", 0)
    assert on_a_terminal("inspect", "in/request.json", "--json")[1] == b""
    assert run("in", "--json").stderr == "1 other file is no transcript\n"
