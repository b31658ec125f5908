"""The store in one SQLite file: opening it, its sessions, and what removes them.

A write is on the disk when it returns (WAL, `synchronous=FULL`); readers never wait for writers. A
deleted session is gone at once; its rows are removed after that in small writes, so that nobody
waits long, and a removal that was interrupted is taken up by the next one.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from compactor.core.errors import Finding, StoreError
from compactor.store import index, removal, verify
from compactor.store.connections import Connections
from compactor.store.failures import translated
from compactor.store.opening import open_file
from compactor.store.protocol import SessionInfo
from compactor.store.session import SqliteSession

WAIT_MS = 10_000
"""How long a write waits for other writers."""
TEMPORARY = ":memory:"
"""The path of a store that is gone when it is closed."""

_ID_CHARS = 200
_NO_ID = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def now_ms() -> int:
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


class SqliteStore:
    """See `protocol.Store`. Use it as a context manager, or `close` it.

    Attributes:
        path: of the file.
    """

    def __init__(
        self,
        path: Path,
        connections: Connections,
        clock: Callable[[], int],
        folder: Path | None = None,
    ) -> None:
        self.path = path
        self._connections = connections
        self._clock = clock
        self.own_folder = str(folder) if folder else None
        """Of a temporary store: gone when it is closed or given up."""
        self._remove_folder = (
            weakref.finalize(connections, _remove_folder, folder, os.getpid()) if folder else None
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        readonly: bool = False,
        wait_ms: int = WAIT_MS,
        clock: Callable[[], int] = now_ms,
    ) -> Self:
        """Open a store file; an older one is brought up to date.

        Args:
            path: of the file. A new one can be read by its owner only. `:memory:` is a file in a
                temporary folder, gone when the store is closed (threads cannot share memory).
            create: make the file when it is missing; its folder must be there.
            readonly: for reading only: nothing is made and nothing brought up to date.
            wait_ms: how long a write waits for other writers.
            clock: milliseconds since 1970, for the times in lists of sessions.

        Raises:
            StoreError: `store.missing`, `store.foreign_file` (left untouched), `store.unsupported`,
                `store.outdated`, `store.unreadable`, `store.unwritable`, `store.damaged`,
                `store.locked`.
        """
        folder = Path(tempfile.mkdtemp(prefix="compactor-")) if path == TEMPORARY else None
        path = folder / "store" if folder else Path(path)
        try:
            connections = open_file(path, create=create, readonly=readonly, wait_ms=wait_ms)
        except BaseException:
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(path, connections, clock, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connections.close()
        if self._remove_folder is not None:
            self._remove_folder()

    def sessions(self) -> list[SessionInfo]:
        with self._connections.reading() as db:
            rows = db.execute(
                "SELECT id, next_seq, next_number - 1, records, size_bytes, created_ms, updated_ms,"
                " format, model FROM session WHERE id IS NOT NULL ORDER BY updated_ms DESC, number"
            )
            return [SessionInfo(*row) for row in rows]

    def session(self, session_id: str, *, create: bool = False) -> SqliteSession:
        self._check_id(session_id)
        with self._connections.reading() as db:
            number = _number(db, session_id)
        if number is None and create:
            number = self._create(session_id)
        if number is None:
            raise self._unknown(session_id)
        return SqliteSession(self._connections, session_id, number, self._clock)

    def delete(self, session_id: str) -> None:
        self._check_id(session_id)
        with self._connections.writing() as db, translated(self.path):
            gone = db.execute("UPDATE session SET id = NULL WHERE id = ?", (session_id,)).rowcount
        if not gone:
            raise self._unknown(session_id)
        self._remove_rows()

    def prune(self, before_ms: int) -> list[str]:
        with self._connections.writing() as db, translated(self.path):
            old = "FROM session WHERE updated_ms < ? AND id IS NOT NULL ORDER BY number"
            gone = db.execute(f"SELECT id {old}", (before_ms,)).fetchall()
            db.execute("UPDATE session SET id = NULL WHERE updated_ms < ?", (before_ms,))
        self._remove_rows()
        return [each for (each,) in gone]

    def verify(self, session_id: str | None = None) -> list[Finding]:
        with self._connections.reading() as db:
            number = None
            if session_id is not None:
                number = _number(db, session_id)
                if number is None:
                    raise self._unknown(session_id)
            return verify.findings(db, str(self.path), number)

    def rebuild_index(self) -> None:
        """Make the word index anew from the texts. O(the whole file), in one write."""
        with self._connections.writing() as db, translated(self.path):
            index.rebuild(db)

    def shrink(self) -> None:
        """Give freed space back to the disk; nothing of deleted sessions is in the file after it.

        O(the whole file), and as much room beside it. Others wait meanwhile.
        """
        with self._connections.writing() as db, translated(self.path):
            index.merge(db)
        with self._connections.alone() as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _create(self, session_id: str) -> int:
        now = self._clock()
        with self._connections.writing() as db, translated(self.path):
            db.execute(
                "INSERT INTO session (id, created_ms, updated_ms) VALUES (?, ?, ?)"
                " ON CONFLICT DO NOTHING",  # another process may have been faster
                (session_id, now, now),
            )
            number = _number(db, session_id)
        assert number is not None
        return number

    def _remove_rows(self) -> None:
        """Remove what is left of deleted sessions, in small writes."""
        while True:
            with self._connections.writing() as db, translated(self.path):
                row = db.execute("SELECT number FROM session WHERE id IS NULL LIMIT 1").fetchone()
                if row is None:
                    return
                removal.remove_some(db, row[0])

    def _check_id(self, session_id: str) -> None:
        if not 1 <= len(session_id) <= _ID_CHARS or _NO_ID.search(session_id):
            raise StoreError(
                "this is no id of a session",
                code="store.session_id",
                path=str(self.path),
                hint=f"1 to {_ID_CHARS} characters, no control characters",
            )

    def _unknown(self, session_id: str) -> StoreError:
        return StoreError(
            f"there is no session {session_id}",
            code="store.unknown_session",
            path=str(self.path),
            hint="`compactor sessions` lists those that there are",
        )


def _number(db: sqlite3.Connection, session_id: str) -> int | None:
    row = db.execute("SELECT number FROM session WHERE id = ?", (session_id,)).fetchone()
    return None if row is None else int(row[0])


def _remove_folder(folder: Path, pid: int) -> None:
    if pid == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
