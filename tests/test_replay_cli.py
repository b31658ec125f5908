"""`compactor replay` and `compactor recommend` as processes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import cli_kit as kit

from compactor import Policy
from compactor.config import load_policy

ROW = [
    "file", "format", "policy", "requests", "tokens_sent", "cached", "written", "uncached",
    "cost_nano", "cost_to_none", "cost_to_optimum", "breaks", "passes", "overflow_requests",
    "regret", "model", "cache", "window",
]  # fmt: skip


def request_file(folder: Path, name: str = "request.json", turns: int = 20) -> Path:
    file = folder / name
    file.write_bytes(kit.as_bytes(kit.request(turns)))
    return file


def replay(*args: str | Path) -> Any:
    done = kit.compactor("replay", *args, "--json", "-q")
    assert done.stderr == b""
    return json.loads(done.stdout)["files"]


def test_a_row_a_file_and_policy(tmp_path: Path) -> None:
    file = request_file(tmp_path)
    rows = replay(file, "--policy", "none", "--policy", "mask:last=3", "--cache", "prefix")
    assert [row["policy"] for row in rows] == ["none", "mask:last=3"]
    for row in rows:
        assert [key for key in row if key != "findings"] == ROW
        assert row["tokens_sent"] == row["cached"] + row["written"] + row["uncached"]
        assert row["file"] == str(file)
        assert row["requests"] == 21
    assert rows[0]["cost_to_none"] == 1
    assert rows[0]["breaks"] == rows[0]["passes"] == 0
    assert rows[1]["breaks"] > 10


def test_requests_are_rows_of_their_own(tmp_path: Path) -> None:
    [row] = replay(request_file(tmp_path), "--policy", "threshold:window=2000", "--requests")
    assert len(row["rows"]) == row["requests"] == 21
    for name in ("tokens_sent", "cached", "written", "uncached", "cost_nano", "passes"):
        assert sum(each[name] for each in row["rows"]) == row[name]


def test_the_table_sums_up_what_several_files_cost(tmp_path: Path) -> None:
    request_file(tmp_path, "a.json")
    request_file(tmp_path, "b.json", turns=8)
    done = kit.compactor("replay", tmp_path, "--policy", "none", "--policy", "priced", "-q")
    lines = done.stdout.decode().splitlines()
    assert [line.split()[0] for line in lines[1:5]] == [str(tmp_path / "a.json")] * 2 + [
        str(tmp_path / "b.json")
    ] * 2
    assert [line.split()[:4] for line in lines[5:]] == [
        ["all", "2", "recordings", "none"],
        ["all", "2", "recordings", "priced"],
    ]


def test_prices_of_a_file_hold(tmp_path: Path) -> None:
    file, prices = request_file(tmp_path), tmp_path / "prices.json"
    prices.write_text('{"prices": [{"input": 1000, "output": 0}]}')
    [row] = replay(file, "--policy", "none", "--prices", prices, "--cache", "prefix")
    assert row["cost_nano"] == row["tokens_sent"]
    prices.write_text('{"prices": []}')
    done = kit.compactor("replay", file, "--prices", prices)
    assert done.returncode == 1
    assert b"must begin" in done.stderr


def test_wrong_input_is_one_line(tmp_path: Path) -> None:
    file = request_file(tmp_path)
    for args in (("--policy", "nothing"), ("--cache", "cheap"), ("--against-usage",)):
        done = kit.compactor("replay", file, *args)
        assert done.returncode == 1
        assert done.stdout == b""
        assert done.stderr.startswith(b"error: ")
        assert done.stderr.count(b"\n") == 1
    (tmp_path / "empty").mkdir()
    for command in ("replay", "recommend"):
        done = kit.compactor(command, tmp_path / "empty")
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"there is no recording to replay (name a transcript" in done.stderr


def test_a_likely_name_is_suggested(tmp_path: Path) -> None:
    file = request_file(tmp_path)
    for args, meant in (
        (("--policy", "thresold"), b"'threshold'"),
        (("--cache", "antropic"), b"'anthropic'"),
    ):
        assert b"did you mean " + meant + b"?" in kit.compactor("replay", file, *args).stderr


def test_a_folder_of_which_nothing_can_be_replayed_is_no_success(tmp_path: Path) -> None:
    """Files without a model have no window."""
    (tmp_path / "talk.json").write_bytes(kit.as_bytes({"messages": kit.request(3)["messages"]}))
    done = kit.compactor("replay", tmp_path)
    assert done.returncode == 1
    assert b"talk.json: window: " in done.stdout
    assert b"give --window N" in done.stdout
    done = kit.compactor("recommend", tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("error: none of the recordings could be replayed (")


def test_a_recording_of_one_entry_has_one_request(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    rows = replay(file, "--window", "1000", "--cache", "prefix")
    assert [(row["requests"], row["tokens_sent"], row["cost_to_optimum"]) for row in rows] == [
        (1, 5, 1.0)
    ] * 3


def test_a_recommendation_is_a_policy_file(tmp_path: Path) -> None:
    file = request_file(tmp_path, turns=60)
    done = kit.compactor("recommend", file, "--window", "20000", "-q")
    found = tmp_path / "compactor.toml"
    found.write_bytes(done.stdout)
    assert load_policy(found) != Policy()
    assert done.stdout.count(b"<- use this") == 1
    assert tomllib.loads(done.stdout.decode())["trigger"] in ("threshold", "priced")
    sweep = json.loads(kit.compactor("recommend", file, "--json", "-q").stdout)["policies"]
    assert [each["policy"] for each in sweep if each["chosen"]] != []


def test_a_sweep_counts_overflows_by_the_window_that_there_is(tmp_path: Path) -> None:
    """A policy with a smaller window of its own fits as well as any."""
    file = tmp_path / "long.json"
    file.write_bytes(kit.as_bytes(kit.request(3, topic="word " * 120_000)))
    done = kit.compactor("recommend", file, "--window", "300000", "--json", "-q")
    assert [each["overflow_requests"] for each in json.loads(done.stdout)["policies"]] == [0] * 8
