"""Many recordings by several processes: the same rows, whatever runs them and whatever fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cli_kit as kit
import msgspec
import pytest
from many_kit import TASK, Deadly, deadly, folder_of

from compactor.cli.many import items_of
from compactor.replay.many import Done, one_by_one
from compactor.replay.processes import local


def in_order(found: Any) -> list[Done]:
    return sorted(found, key=lambda done: done.index)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("many") / "talks", 8)


def test_results_do_not_depend_on_processes_or_order(folder: Path) -> None:
    items = items_of([str(folder)])
    task = TASK._replace(rows=True, page=True)
    alone = list(one_by_one(task, items))
    assert in_order(local(task, items, 3)) == alone
    assert in_order(local(task, items)) == alone
    assert in_order(one_by_one(task, items[::-1])) == alone
    assert sum(len(done.replays) for done in alone) == 2 * 9


def test_a_file_that_fails_is_a_row_and_not_the_end(folder: Path) -> None:
    done = kit.compactor("replay", folder, "--policy", "none", "--policy", "priced", "--json", "-q")
    assert done.returncode == 0
    rows = json.loads(done.stdout)["files"]
    failed = [(Path(row["file"]).name, row["error"]["code"]) for row in rows if "error" in row]
    assert failed == [("unknown.json", "policy.model_unknown")]
    assert len(rows) == 8 * 2 + 1
    shown = kit.compactor("replay", folder)
    assert b"unknown.json: window: model 'nobody-knows-it' is not in the model" in shown.stdout
    assert shown.stderr.endswith(b"2 other files are no transcript\n")


def test_a_transcript_without_a_conversation_is_a_row_too(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "0.json").write_bytes((folder / "000.json").read_bytes())
    (tmp_path / "1.json").write_text('{"model": "gpt-4o", "messages": []}', "utf-8")
    done = kit.compactor("replay", tmp_path, "--policy", "none", "--json")
    rows = json.loads(done.stdout)["files"]
    assert [row.get("error", {}).get("code", "fine") for row in rows] == ["fine", "input.no_usage"]
    alone = kit.compactor("replay", tmp_path / "1.json", "--window", "1000")
    assert (alone.returncode, b"it holds no conversation" in alone.stderr) == (1, True)


def test_a_named_file_that_fails_is_a_row_and_the_exit_code(folder: Path) -> None:
    good, bad = folder / "000.json", folder / "broken.json"
    done = kit.compactor("replay", good, bad, folder / "missing.json", "--policy", "none", "--json")
    assert done.returncode == 1
    rows = json.loads(done.stdout)["files"]
    assert [row.get("error", {}).get("code", "fine") for row in rows] == [
        "fine",
        "input.not_json",
        "input.unreadable",
    ]


def test_a_process_that_dies_takes_only_its_own_file(folder: Path) -> None:
    items = items_of([str(folder)])
    found = in_order(local(TASK, items, 2, deadly))
    [lost] = [done for done in found if done.failure and done.failure.code == "internal.worker"]
    assert items[lost.index].path.endswith("002.json")
    kept = [done for done in found if done is not lost]
    assert kept == [done for done in one_by_one(TASK, items) if done.index != lost.index]


def test_a_process_that_dies_once_is_forgiven(folder: Path, tmp_path: Path) -> None:
    items = items_of([str(folder)])
    found = in_order(local(TASK, items, 2, Deadly(tmp_path / "died")))
    assert found == list(one_by_one(TASK, items))
    assert (tmp_path / "died").exists()


def test_a_file_that_vanishes_is_a_row(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    items = items_of([str(tmp_path / "copy")])
    (tmp_path / "copy" / "003.json").unlink()
    found = in_order(local(TASK, items, 2))
    assert [done.failure.code for done in found if done.failure] == [
        "input.unreadable",
        *["input.not_json"] * 2,
    ]


def test_an_interrupt_ends_all_processes_and_says_nothing(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "compactor", "replay", folder, pipe, "--jobs", "2"]
    page = ["--html", tmp_path / "page.html"]
    done = subprocess.Popen(
        [*command, *page], env=kit.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    with pipe.open("wb", buffering=0) as told:  # until a process of it reads
        done.send_signal(signal.SIGINT)
        assert done.communicate(timeout=60) == (b"", None)
        assert done.returncode == 130
        with pytest.raises(BrokenPipeError):
            told.write(b"x")
    assert not (tmp_path / "page.html").exists()


def test_a_refused_task_ends_it_whatever_the_file(folder: Path) -> None:
    done = kit.compactor("replay", folder, "--policy", "mask:latest=3")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: ")
    assert done.stderr.count(b"\n") == 1


def test_pages_of_several_processes_are_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    pages = [tmp_path / f"{jobs}.html" for jobs in (1, 3)]
    for jobs, page in zip(("1", "3"), pages, strict=True):
        done = kit.compactor("replay", folder, "--html", page, "--jobs", jobs, "-q")
        assert done.returncode == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert str(folder).encode() not in pages[0].read_bytes()


def test_a_report_goes_over_no_input_and_no_other_report(folder: Path, tmp_path: Path) -> None:
    first = folder / "000.json"
    before = first.read_bytes()
    for args in (("--html", first), ("--html", "-"), ("--html", tmp_path / "no" / "x.html")):
        done = kit.compactor("replay", first, *args)
        assert done.returncode in (1, 2)
        assert done.stdout == b""
    assert first.read_bytes() == before


def test_all_names_that_a_page_uses_are_told_apart(folder: Path) -> None:
    names = [item.name for item in items_of([str(folder), str(folder / "000.json")])]
    assert names[:2] == ["000.json", "001.json"]
    assert len(names) == len(set(names)) == 11


def test_a_task_and_its_results_are_plain_values(folder: Path) -> None:
    [done, *_] = one_by_one(TASK._replace(page=True), items_of([str(folder)]))
    assert msgspec.convert(msgspec.to_builtins(done), Done) == done
