"""The store's file: which are refused and left alone, how old ones are brought up to date, what is
said when it cannot be read or written."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compactor.core.errors import StoreError
from compactor.store import SqliteStore, StoredResult, schema
from compactor.store.opening import has_foreign_tables
from compactor.store.schema import APPLICATION_ID, STEPS
from tests.store_kit import entry, files, filled, run


def refusal(path: Path, **options: bool) -> StoreError:
    with pytest.raises(StoreError) as caught:
        SqliteStore.open(path, wait_ms=0, **options)
    assert caught.value.path == str(path)
    assert caught.value.hint
    return caught.value


def database(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def test_a_new_store_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with SqliteStore.open(tmp_path / "store") as store:
            filled(store)
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"store": 0o600, "store-shm": 0o600, "store-wal": 0o600}


def test_one_file_is_left_when_the_last_one_closes_it(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        filled(store)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_store_file_says_what_it_is(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "store") as store, store._connections.alone() as db:
        asked = ("application_id", "user_version", "journal_mode", "synchronous")
        said = [db.execute(f"PRAGMA {each}").fetchone()[0] for each in asked]
        loose = db.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
            " AND NOT strict AND name NOT LIKE 'sqlite%'"
        ).fetchall()
    assert (said, loose) == ([APPLICATION_ID, len(STEPS), "wal", 2], [])


FOREIGN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("# Readme\n"),
    "one byte": lambda path: path.write_bytes(b"x"),
    "almost a database": lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "a database": lambda path: database(path, "CREATE TABLE t (x)"),
    "a database in WAL mode": lambda path: database(
        path, "PRAGMA journal_mode = WAL", "CREATE TABLE session (x)"
    ),
    "a database with an id": lambda path: database(path, "PRAGMA application_id = 7"),
    "a folder": lambda path: path.mkdir(),
}
if hasattr(os, "mkfifo"):
    FOREIGN["a pipe"] = lambda path: os.mkfifo(path)


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("readonly", [False, True])
def test_what_is_no_store_is_refused_and_left_as_it_is(
    tmp_path: Path, kind: str, readonly: bool
) -> None:
    path = tmp_path / "file"
    FOREIGN[kind](path)
    before, names = dict(files(tmp_path)), sorted(os.listdir(tmp_path))
    assert refusal(path, readonly=readonly).code == "store.foreign_file"
    assert (dict(files(tmp_path)), sorted(os.listdir(tmp_path))) == (before, names)


def test_a_file_that_another_process_makes_a_store_meanwhile_is_one(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")

        class Overtaken(sqlite3.Connection):
            """Where somebody else is faster, between any two statements."""

            def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
                found = super().execute(sql, *given)
                row = found.fetchone() if sql == "PRAGMA application_id" else None
                if row is None:
                    return found
                schema.prepare(other, "s.db", 0)
                return super().execute("SELECT ?", row)

        with contextlib.closing(
            sqlite3.connect(path, isolation_level=None, factory=Overtaken)
        ) as db:
            schema.prepare(db, "s.db", 0)
            assert db.execute("PRAGMA user_version").fetchone() == (len(schema.STEPS),)
    assert not has_foreign_tables(path)


def test_a_socket_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("s")
        assert refusal(Path("s")).code == "store.foreign_file"


@pytest.mark.parametrize("make", [Path.touch, database], ids=["no bytes", "no tables"])
def test_an_empty_file_becomes_a_store(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "store")
    with SqliteStore.open(tmp_path / "store") as store:
        filled(store)
        assert store.verify() == []


def test_a_missing_store_is_an_error_where_it_may_not_be_made(tmp_path: Path) -> None:
    for options in ({"create": False}, {"readonly": True}):
        assert refusal(tmp_path / "store", **options).code == "store.missing"
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no" / "store").code == "store.unwritable"


def test_a_link_leads_to_the_store(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with SqliteStore.open(tmp_path / "store") as store, SqliteStore.open(tmp_path / "link") as same:
        filled(store)
        assert same.session("one").load() == store.session("one").load()


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "store")
    assert refusal(tmp_path / "link").code == "store.unreadable"


@pytest.mark.parametrize("name", ["a b?mode=memory#x%41", "é文件", "'\"; DROP"])
def test_any_name_of_a_file_will_do(tmp_path: Path, name: str) -> None:
    with SqliteStore.open(tmp_path / name) as store:
        filled(store)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_newer_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with SqliteStore.open(path) as store:
        filled(store)
    database(path, "PRAGMA journal_mode = DELETE", f"PRAGMA user_version = {len(STEPS) + 1}")
    before = dict(files(tmp_path))
    for readonly in (False, True):
        error = refusal(path, readonly=readonly)
        assert error.code == "store.unsupported"
        assert f"version {len(STEPS) + 1}" in error.message
    assert dict(files(tmp_path)) == before


NEXT = ("ALTER TABLE session ADD COLUMN title TEXT NOT NULL DEFAULT 'none';\n",)
"""A step of a later version, for the schema of today to be an older one."""


def test_an_older_store_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store"
    with SqliteStore.open(path) as store:
        before = filled(store).load()
    monkeypatch.setattr(schema, "STEPS", (*STEPS, *NEXT))
    assert refusal(path, readonly=True).code == "store.outdated"
    with SqliteStore.open(path) as store:
        with store._connections.alone() as db:
            title, version = (
                db.execute(each).fetchone()[0]
                for each in ("SELECT title FROM session", "PRAGMA user_version")
            )
        assert (title, version) == ("none", len(STEPS) + 1)
        assert (store.session("one").load(), store.verify()) == (before, [])
    with SqliteStore.open(path, readonly=True) as store:
        assert store.session("one").load() == before
    monkeypatch.undo()
    assert refusal(path).code == "store.unsupported"


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store"
    with SqliteStore.open(path) as store:
        before = filled(store).load()
    monkeypatch.setattr(schema, "STEPS", (*STEPS, NEXT[0] + "SELECT no_such_function();\n"))
    assert refusal(path).code == "store.failed"
    monkeypatch.undo()
    with SqliteStore.open(path) as store:
        assert (store.session("one").load(), store.verify()) == (before, [])


def test_a_copy_made_by_sqlite_is_a_store(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        before = filled(store).load()
        with store._connections.alone() as db:
            db.execute("VACUUM INTO ?", (str(tmp_path / "copy"),))
    with SqliteStore.open(tmp_path / "copy") as copy:
        assert (copy.session("one").load(), copy.verify()) == (before, [])
        with copy._connections.alone() as db:
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_store_opened_for_reading_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with SqliteStore.open(path) as store:
        before = filled(store).load()
    content = path.read_bytes()
    with SqliteStore.open(path, readonly=True) as store:
        session = store.session("one")
        assert (session.load(), store.verify()) == (before, [])
        assert [hit.number for hit in session.search("one result").hits] == [1]
        writes = (
            lambda: session.write(1).__enter__(),
            lambda: store.session("two", create=True),
            lambda: store.delete("one"),
            lambda: store.prune(10**15),
            store.rebuild_index,
            store.shrink,
        )
        for write in writes:
            with pytest.raises(StoreError) as error:
                write()
            assert (error.value.code, error.value.path) == ("store.readonly", str(path))
    assert path.read_bytes() == content


READ_ONLY_FOLDER = """
    import json, os, sys
    from pathlib import Path
    from compactor.store import SqliteStore, StoreError
    path = Path(sys.argv[1])
    if os.geteuid() == 0:
        os.setresuid(65534, 65534, 65534)  # root may write anywhere
    said = []
    for options in ({"readonly": True}, {}, {"create": False}):
        try:
            with SqliteStore.open(path, **options) as store:
                session = store.session("one")
                said.append(session.entry(0).text)
                with session.write(session.version()) as write:
                    write.put_state(b"x")
        except StoreError as error:
            said.append([error.code, error.path == str(path), bool(error.hint)])
    print(json.dumps(said))
"""

if os.name == "posix":

    @pytest.fixture
    def anyones() -> Iterator[Path]:
        """A folder that every user of the system can reach."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "folder"
            folder.mkdir()
            Path(name).chmod(0o755)
            yield folder
            folder.chmod(0o755)

    def test_a_store_in_a_folder_that_may_not_be_written_to_can_be_read(anyones: Path) -> None:
        path = anyones / "store"
        with SqliteStore.open(path) as store:
            filled(store)
        path.chmod(0o444)
        anyones.chmod(0o555)
        said = run(READ_ONLY_FOLDER, path)
        assert said[:2] == ["text of 0\n", ["store.readonly", True, True]]
        assert {each[0] for each in said[2:]} <= {"store.readonly", "store.unreadable"}
        assert [each[1:] for each in said[2:]] == [[True, True]] * 2

    def test_a_store_that_may_not_be_read_is_an_error(anyones: Path) -> None:
        path = anyones / "store"
        with SqliteStore.open(path) as store:
            filled(store)
        path.chmod(0)
        assert run(READ_ONLY_FOLDER, path) == [["store.unreadable", True, True]] * 3


def originals(store: SqliteStore) -> object:
    session = store.session("one")
    return session.load(), session.entries(0, 99), session.result(1), session.result(2)


def found(store: SqliteStore) -> object:
    return store.session("one").search("text 39")


def answer(path: Path, call: Callable[[SqliteStore], object]) -> object:
    """What a call gives, or the error that refuses it."""
    try:
        with SqliteStore.open(path, readonly=True) as store:
            return call(store)
    except StoreError as error:
        return error


def test_a_damaged_original_is_an_error_and_all_damage_is_found(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole", tmp_path / "damaged"
    with SqliteStore.open(whole) as store:
        filled(store, 40)
        store.rebuild_index()
    data, right = whole.read_bytes(), [answer(whole, call) for call in (originals, found)]
    refused = 0
    for at in range(0, len(data), 509):
        other = bytes(each ^ 0x5A for each in data[at : at + 64])
        path.write_bytes(data[:at] + other + data[at + 64 :])
        given = [answer(path, call) for call in (originals, found)]
        assert given[0] == right[0] or isinstance(given[0], StoreError)
        assert given == right or answer(path, SqliteStore.verify) != []
        refused += given != right
    assert refused > 20


@pytest.mark.parametrize("share", range(0, 100, 9))
def test_a_file_cut_short_is_an_error(tmp_path: Path, share: int) -> None:
    path = tmp_path / "store"
    with SqliteStore.open(path) as store:
        filled(store, 100)
    data = path.read_bytes()
    path.write_bytes(data[: max(1, len(data) * share // 100)])
    given = answer(path, originals)
    assert isinstance(given, StoreError)
    assert given.code in ("store.damaged", "store.foreign_file")


def test_a_full_disk_is_an_error_and_the_store_is_as_it_was(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        session = filled(store)
        before = session.load()
        with store._connections.alone() as db:
            pages = db.execute("PRAGMA page_count").fetchone()[0]
            db.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(StoreError) as error, session.write(1) as write:
            write.add_entries([entry(4, "big " * 10_000)])
        assert (error.value.code, error.value.path) == ("store.full", str(store.path))
        with store._connections.alone() as db:
            db.execute("PRAGMA max_page_count = 1000000")
        assert (session.load(), store.verify()) == (before, [])
        with session.write(1) as write:
            write.add_entries([entry(4, "big " * 10_000)])
        assert store.verify() == []


FULL_DISK = """
    import json, resource, signal, sys
    from compactor.store import SqliteStore, StoredEntry, StoreError
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    codes = []
    with SqliteStore.open(sys.argv[1]) as store:
        session = store.session("one")
        before = session.load()
        text = "big\\n" * 10_000
        for limit in range(0, 400_000, 5_003):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            try:
                with session.write(session.version()) as write:
                    write.add_entries([StoredEntry(write.next_seq, "user", "d", text + str(limit))])
                codes.append("written")
            except StoreError as error:
                codes.append(error.code)
                assert session.load() == before
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            before = session.load()
            assert store.verify() == [], limit
    print(json.dumps(codes))
"""

if sys.platform == "linux":

    def test_a_file_that_may_not_grow_is_an_error_at_any_size(tmp_path: Path) -> None:
        path = tmp_path / "store"
        with SqliteStore.open(path) as store:
            filled(store)
        codes = run(FULL_DISK, path)
        assert set(codes) == {"store.unwritable", "written"}
        assert codes.index("written") > 5


def test_a_copy_of_the_file_and_its_log_made_at_any_time_is_a_store(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        session = filled(store)
        before = session.load()
        for name in ("store", "store-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"copied-{name}")
    (tmp_path / "copied-store-wal").rename(tmp_path / "copied-store-wal")
    with SqliteStore.open(tmp_path / "copied-store") as copy:
        assert (copy.session("one").load(), copy.verify()) == (before, [])


def test_what_was_deleted_is_overwritten_and_shrinking_forgets_its_words(tmp_path: Path) -> None:
    path, secrets = tmp_path / "store", (b"hunter2 swordfish\n" * 99, b"swordfish")
    with SqliteStore.open(path) as store:
        filled(store, name="kept")
        with store.session("gone", create=True).write(0) as write:
            write.add_entries([entry(0, secrets[0].decode()), entry(1, "another")])
            write.add_result(StoredResult(1, text="swordfish", arguments="swordfish"))
        store.rebuild_index()
    found = [[secret in path.read_bytes() for secret in secrets]]
    for shrinks in (False, True):
        with SqliteStore.open(path) as store:
            if shrinks:
                store.shrink()
            else:
                store.delete("gone")
        found.append([secret in path.read_bytes() for secret in secrets])
    assert found == [[True, True], [False, True], [False, False]]
