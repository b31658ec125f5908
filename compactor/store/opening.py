"""Opens a store file: what may be one, making it, bringing it up to date, reading only.

A file that is no store is refused and left untouched, the files beside it too. Only SQLite opens an
existing file: a descriptor that anyone else closes takes this process's locks on the file with it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
from pathlib import Path

from compactor.core.errors import StoreError
from compactor.store import schema
from compactor.store.connections import Connections, is_open
from compactor.store.failures import FOREIGN, MISSING, READONLY, REASONS, UNREADABLE, refused

_MAGIC = b"SQLite format 3\0"
_SMALLEST = 512
"""Bytes of the smallest database; SQLite takes a smaller file for an empty one."""
_ONE_AT_A_TIME = threading.Lock()
"""Over looking at a file: no other thread may have it open when it is closed again."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ONE_AT_A_TIME.acquire,
        after_in_parent=_ONE_AT_A_TIME.release,
        after_in_child=_ONE_AT_A_TIME.release,
    )


def open_file(path: Path, *, create: bool, readonly: bool, wait_ms: int) -> Connections:
    """Connections to a store file, as `SqliteStore.open` says."""
    schema.check_sqlite(str(path))
    with _ONE_AT_A_TIME:
        if not _is_there(path):
            if readonly or not create:
                raise refused(MISSING, path)
            _make(path)
        if not is_open(path) and not _may_be_ours(path):
            raise refused(FOREIGN, path)
        connections = Connections(path, "mode=ro" if readonly else "mode=rw", wait_ms, readonly)
    try:
        with connections.alone() as db:
            if readonly:
                schema.check(db, str(path))
            else:
                schema.prepare(db, str(path), wait_ms)
    except StoreError as error:
        connections.close()
        if readonly and _has_no_room_for_locks(path, error):
            return _as_it_is(path, wait_ms)
        raise
    return connections


def _is_there(path: Path) -> bool:
    try:
        known = path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(known.st_mode) or 0 < known.st_size < _SMALLEST:
        raise refused(FOREIGN, path)
    return True


def _may_be_ours(path: Path) -> bool:
    """Ours, or with nothing in it yet. Not for a file that this process has open."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise _unreadable(path, error) from error
    application = int.from_bytes(header[68:72], "big")
    if application or not header.startswith(_MAGIC):
        return application == schema.APPLICATION_ID or not header
    return not has_foreign_tables(path)


def has_foreign_tables(path: Path) -> bool:
    """Whether a database has tables, and not our id. `immutable`: no file beside it is touched.

    Both are looked at in one state of the file, as another process may be making it a store.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        try:
            db.execute("BEGIN")
            has_tables = db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
            (application,) = db.execute("PRAGMA application_id").fetchone()
            return has_tables and application != schema.APPLICATION_ID
        except REASONS:  # it may be whole together with its log
            return False


def _make(path: Path) -> None:
    """An empty file that only its owner may read; SQLite gives the files beside it the same."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        from compactor.durable import sync_folder  # locks files: only who makes one pays for it

        sync_folder(path.parent)
    except FileExistsError:
        pass  # another process was faster
    except OSError as error:
        raise StoreError(
            f"the store cannot be made: {error.strerror}",
            code="store.unwritable",
            path=str(path),
            hint="its folder must be there, and writable",
        ) from error


def _has_no_room_for_locks(path: Path, error: StoreError) -> bool:
    """A folder that may not be written to, and no log beside the file: nobody is writing."""
    log = path.with_name(f"{path.name}-wal")
    return error.code in (UNREADABLE.code, READONLY.code) and not log.exists()


def _as_it_is(path: Path, wait_ms: int) -> Connections:
    connections = Connections(path, "mode=ro&immutable=1", wait_ms, readonly=True)
    with connections.alone() as db:
        schema.check(db, str(path))
    return connections


def _unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{UNREADABLE.message}: {error.strerror}",
        code=UNREADABLE.code,
        path=str(path),
        hint=UNREADABLE.hint,
    )
