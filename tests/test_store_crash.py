"""A write that ends at any step: nothing of it is there or all of it, and the next one succeeds."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from compactor.core.errors import StoreError
from compactor.store import SqliteStore, index
from tests.store_kit import filled, run
from tests.store_workers import states, write_all


class Stopped(sqlite3.Connection):
    """Once it has committed SQLite asks whether to stop once more, and would say that it has."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "COMMIT":
            self.set_progress_handler(None, 0)
        return super().execute(statement, *values)


def test_a_write_that_is_stopped_at_any_step_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BEHIND_CHARS", 2_000)  # so that the index is written to
    before, after = states(tmp_path)
    connect, stop_at = sqlite3.connect, [0]

    def stopping(*args: object, **options: object) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, factory=Stopped, **options)  # type: ignore[call-overload]
        steps = iter(range(stop_at[0] - 1, -1, -1))
        db.set_progress_handler(lambda: next(steps, 1) == 0, 1)
        return db

    stopped = 0
    with SqliteStore.open(tmp_path / "store") as store:
        session = filled(store)
        while True:
            stop_at[0] += 1 + stopped // 100
            monkeypatch.setattr(sqlite3, "connect", stopping)
            try:
                with SqliteStore.open(store.path) as other:
                    write_all(other.session("one"))
                break
            except StoreError:
                stopped += 1
            finally:
                monkeypatch.setattr(sqlite3, "connect", connect)
            assert session.load() == before
            if stopped % 10 == 0:
                assert store.verify() == []
        assert (session.load(), store.verify()) == (after, [])
    assert stopped > 200


def test_indexing_that_is_stopped_at_any_step_is_no_error_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "SLICE_CHARS", 500)
    monkeypatch.setattr(index, "SEARCHED_CHARS", 0)
    path, steps, stopped = tmp_path / "store", 0, 0
    with SqliteStore.open(path) as store:
        filled(store)
        for _ in range(3):
            write_all(store.session("one"))
        while True:
            with store._connections.reading() as db:
                (waits,) = db.execute("SELECT waiting_chars FROM session").fetchone()
            if not waits:
                break
            steps += 41
            left = iter(range(steps, -1, -1))
            with SqliteStore.open(path) as other:
                session = other.session("one")
                with other._connections.alone() as db:
                    db.set_progress_handler(lambda: next(left, 1) == 0, 1)  # noqa: B023
                session._catch_up(0)
            stopped += 1
            assert store.verify() == [], steps
        assert stopped > 10
        assert len(store.session("one").search("line", limit=50).hits) == 3


KILLED = """
    import json, sys
    from pathlib import Path
    from tests import store_workers as workers
    how = getattr(workers, sys.argv[2])
    print(json.dumps(workers.killed_at_every_step(Path(sys.argv[1]), how)))
"""

if hasattr(os, "fork"):

    @pytest.mark.parametrize("how", ["kill_at", "limit_files"])
    def test_a_process_that_is_killed_in_a_write_leaves_it_undone_or_done(
        tmp_path: Path, how: str
    ) -> None:
        ends = run(KILLED, tmp_path, how)
        assert ends["before"] > (100 if how == "kill_at" else 5)


def test_a_log_that_lost_its_end_is_the_store_as_it_was_at_some_write(tmp_path: Path) -> None:
    (tmp_path / "cut").mkdir()
    path, cut = tmp_path / "store", tmp_path / "cut" / "store"
    with SqliteStore.open(path) as store:
        session = filled(store)
        known = [session.load()]
        for _ in range(4):
            write_all(session)
            known.append(session.load())
        log = path.with_name("store-wal").read_bytes()
        seen = []
        for size in range(len(log), 0, -1_777):
            shutil.copy(path, cut)
            cut.with_name("store-wal").write_bytes(log[:size])
            with SqliteStore.open(cut) as damaged:
                if not damaged.sessions():  # cut before there was one
                    continue
                loaded = damaged.session("one").load()
                assert damaged.verify() == []
                write_all(damaged.session("one"))
                assert damaged.verify() == []
            if loaded.version:
                seen.append(known.index(loaded))
            for name in ("store", "store-wal", "store-shm"):
                cut.with_name(name).unlink(missing_ok=True)
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == set(range(len(known)))


def test_a_removal_that_was_interrupted_is_taken_up_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        filled(store, name="kept")
        for name in ("a", "b"):
            filled(store, 50, name=name)
        store.rebuild_index()
        monkeypatch.setattr("compactor.store.removal._BATCH_ROWS", 7)
        monkeypatch.setattr(SqliteStore, "_remove_rows", remove_a_little)
        store.delete("a")
        monkeypatch.undo()
        assert [info.id for info in store.sessions()] == ["b", "kept"]
        assert store.verify() == []
        filled(store, 3, name="a")
        store.delete("b")
        with store._connections.reading() as db:
            left = {body >> 32 for (body,) in db.execute("SELECT id FROM body")}
        assert (len(left), store.verify()) == (2, [])


def remove_a_little(store: SqliteStore) -> None:
    """As a process that is killed after its third small write."""
    from compactor.store import removal

    for _ in range(3):
        with store._connections.writing() as db:
            (number,) = db.execute("SELECT number FROM session WHERE id IS NULL").fetchone()
            removal.remove_some(db, number)
