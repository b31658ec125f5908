"""Counts remembered between runs: the same counts, whatever becomes of the file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import cli_kit as kit
import pytest

from compactor import counters, token_cache
from compactor.token_cache import TEXT_CHARS_MIN, TokenCache, default_path, used

LONG = "a text that is long enough to be remembered " * 20


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPACTOR_CACHE_DIR", str(tmp_path))
    path = default_path()
    assert path is not None
    return path


def put(file: Path, text: str, tokens: int, counter: str = "c") -> None:
    store = TokenCache(file)
    store.put(counter, text, tokens)
    store.close()


def get(file: Path, text: str, counter: str = "c") -> int | None:
    store = TokenCache(file)
    try:
        return store.get(counter, text)
    finally:
        store.close()


def test_a_count_is_there_in_the_next_run(file: Path) -> None:
    for text in (LONG, LONG + "\ud800", "\x00" * 500):
        put(file, text, len(text))
        assert get(file, text) == len(text)
    assert get(file, LONG + "!") is None


def test_counters_never_see_each_others_counts(file: Path) -> None:
    put(file, LONG, 5, "one")
    put(file, LONG, 7, "two")
    assert (get(file, LONG, "one"), get(file, LONG, "two")) == (5, 7)


def test_short_texts_are_counted_and_not_looked_for(file: Path) -> None:
    put(file, "x" * (TEXT_CHARS_MIN - 1), 5)
    assert get(file, "x" * (TEXT_CHARS_MIN - 1)) is None


def test_a_counter_asks_the_file_and_counts_what_it_does_not_know(file: Path) -> None:
    counter = counters.get("cl100k_base")
    text = LONG + os.urandom(4).hex()  # no other test has counted it in this process
    put(file, text, 12345, counter.fingerprint)
    with used(True):
        assert counter.count(text) == 12345
    other = text + "."
    with used(True):
        counted = counter.count(other)
    assert get(file, other, counter.fingerprint) == counted > 100
    with used(False):
        assert counter.count(text + "!") > 100
    assert get(file, text + "!", counter.fingerprint) is None


@pytest.mark.parametrize("keep", [0, 10, 100, 4096])
def test_a_damaged_file_is_thrown_away_and_begun_anew(file: Path, keep: int) -> None:
    for k in range(300):
        put(file, f"{k}{LONG}", k) if k % 100 == 0 else None
    file.write_bytes(file.read_bytes()[:keep] + b"\xff" * 5000)
    for end in ("-wal", "-shm"):
        Path(f"{file}{end}").unlink(missing_ok=True)
    assert get(file, LONG) is None
    put(file, LONG, 5)
    assert get(file, LONG) == 5


def test_a_count_that_is_not_what_was_written_is_not_believed(file: Path) -> None:
    put(file, LONG, 5)
    changed = sqlite3.connect(file)
    changed.execute("UPDATE counts SET tokens = tokens + 1")
    changed.commit()
    changed.close()
    assert get(file, LONG) is None
    assert not file.exists()


def test_a_file_of_another_kind_is_thrown_away(file: Path) -> None:
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE counts (a TEXT, b TEXT)")
    other.commit()
    other.close()
    put(file, LONG, 5)
    assert get(file, LONG) == 5


def test_where_nothing_can_be_written_counting_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    put(tmp_path / "file" / "tokens.sqlite", LONG, 5)
    assert get(tmp_path / "file" / "tokens.sqlite", LONG) is None


def test_a_user_without_a_home_counts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COMPACTOR_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", _no_home)
    assert default_path() is None
    with used(True):
        assert counters.get("cl100k_base").count(LONG) > 100


def _no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_an_outgrown_file_is_begun_anew(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(file, LONG, 5)
    monkeypatch.setattr(token_cache, "BYTES_MAX", 100)
    assert get(file, LONG) is None


_WRITER = """
import sys
from pathlib import Path
from compactor.token_cache import TokenCache
store = TokenCache(Path(sys.argv[1]))
for k in range(3000):
    text = f"{k}" * 300
    assert store.get("c", text) in (None, k)
    store.put("c", text, k)
    if k % 200 == 0:
        store._write()
store.close()
"""


def test_several_processes_write_one_file(file: Path) -> None:
    command = [sys.executable, "-c", _WRITER, str(file)]
    writers = [subprocess.Popen(command, env=kit.environment()) for _ in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    store = TokenCache(file)
    assert [store.get("c", f"{k}" * 300) for k in range(3000)] == list(range(3000))
    store.close()


def test_commands_remember_and_say_the_same(file: Path, tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_bytes(kit.as_bytes(kit.request(12)))
    for command in (["replay", request, "--json"], ["recommend", request], ["inspect", request]):
        first = kit.compactor(*command, "-q", "--no-token-cache").stdout
        assert not file.exists()
        assert kit.compactor(*command, "-q").stdout == first
        assert file.exists()
        assert kit.compactor(*command, "-q").stdout == first
        file.unlink()
