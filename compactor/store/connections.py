"""Connections to one SQLite file: borrowed by one thread at a time, never taken across a fork.

SQLite keeps its locks on a file for the whole process, so a child must not inherit an open
connection, not even to close it. Idle connections are closed before a fork, and those that other
threads are using are waited for; a child that was forked in the middle of a write is refused.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

from compactor.core.errors import StoreError
from compactor.store.failures import LOCKED, READONLY, Problem, refused, translated

IDLE = 8
"""Connections that are kept open for the next call."""

_SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",  # macOS: FULL is not the disk without it
    "PRAGMA cache_size = -16000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)

_CLOSED = Problem("store.closed", "the store is closed", "open it again")
_FORKED = Problem(
    "store.forked",
    "this process was forked while a call was being made on the store",
    "open the store in a process that is started anew (multiprocessing: the method spawn)",
)


class Connections:
    """A pool. Its errors are `StoreError`s with the file's path.

    Args:
        path: of the file, for errors and to connect to.
        options: of the URI, e.g. `mode=rw`.
        wait_ms: how long to wait for another writer.
        readonly: a write is refused.
    """

    def __init__(self, path: Path, options: str, wait_ms: int, readonly: bool) -> None:
        self.path = path
        self.wait_ms = wait_ms
        self._readonly = readonly
        self._uri = f"{path.absolute().as_uri()}?{options}"
        self._changed = threading.Condition()
        self._idle: list[sqlite3.Connection] = []
        self._busy: dict[int, tuple[sqlite3.Connection, int]] = {}
        self._refusal: Problem | None = None
        weakref.finalize(self, _close_all, self._idle, os.getpid())
        _POOLS.add(self)

    def close(self) -> None:
        """Close the idle connections; busy ones are closed when they are given back."""
        with self._changed:
            self._refusal = self._refusal or _CLOSED
            _close_all(self._idle, os.getpid())

    @property
    def is_in_use(self) -> bool:
        """Whether there are connections, or may be some at any time."""
        with self._changed:
            return self._refusal is None or bool(self._busy)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent state of the file."""
        with translated(self.path), self._borrowed() as db:
            db.execute("BEGIN")
            yield db

    @contextlib.contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[sqlite3.Connection]:
        """A write: committed at the end, rolled back by any exception.

        Errors of SQLite inside are the caller's to translate: the body is not only ours.

        Args:
            wait: for another writer.

        Raises:
            StoreError: `store.locked`, after `wait_ms` or at once.
        """
        if self._readonly:
            raise refused(READONLY, self.path)
        with self._borrowed() as db:
            with translated(self.path):
                self._begin(db, self.wait_ms if wait else 0)
            yield db
            with translated(self.path):
                if not self._is_ours(db):
                    raise refused(_FORKED, self.path)
                db.execute("COMMIT")

    @contextlib.contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """A connection without a transaction, for what SQLite does only outside of one."""
        with translated(self.path), self._borrowed() as db:
            yield db

    def stop(self) -> None:
        """Before a fork: wait for what other threads are doing, and close what is idle."""
        me = threading.get_ident()
        self._changed.acquire()
        self._changed.wait_for(
            lambda: all(thread == me for _, thread in self._busy.values()), self.wait_ms / 1000
        )
        _close_all(self._idle, os.getpid())

    def go_on(self) -> None:
        """After a fork, in the parent."""
        self._changed.release()

    def begin_in_child(self) -> None:
        """After a fork, in the child: what is still in use is the parent's."""
        self._changed = threading.Condition()
        if self._busy:
            self._refusal = _FORKED
        for db, _ in self._busy.values():
            _never_close(db)
        self._busy = {}

    def _begin(self, db: sqlite3.Connection, wait_ms: int) -> None:
        if wait_ms != self.wait_ms:
            db.execute(f"PRAGMA busy_timeout = {wait_ms}")
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            raise StoreError(
                f"{LOCKED.message} ({wait_ms / 1000:g} s)",
                code=LOCKED.code,
                path=str(self.path),
                hint=LOCKED.hint,
            ) from error
        finally:
            if wait_ms != self.wait_ms:
                db.execute(f"PRAGMA busy_timeout = {self.wait_ms}")

    @contextlib.contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        db = self._take()
        try:
            yield db
        except sqlite3.Error:
            self._give_back(db, keep=False)
            raise
        except BaseException:
            self._give_back(db, keep=True)
            raise
        self._give_back(db, keep=True)

    def _take(self) -> sqlite3.Connection:
        with self._changed:
            if self._refusal is not None:
                raise refused(self._refusal, self.path)
            with translated(self.path):
                db = self._idle.pop() if self._idle else self._connect()
            self._busy[id(db)] = (db, threading.get_ident())
            return db

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self._uri,
            uri=True,
            timeout=self.wait_ms / 1000,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            for setting in _SETTINGS:
                db.execute(setting)
        except BaseException:
            db.close()
            raise
        return db

    def _is_ours(self, db: sqlite3.Connection) -> bool:
        """False after a fork."""
        with self._changed:
            return id(db) in self._busy

    def _give_back(self, db: sqlite3.Connection, *, keep: bool) -> None:
        if not self._is_ours(db):
            return
        if db.in_transaction:
            try:
                db.execute("ROLLBACK")
            except sqlite3.Error:
                keep = False  # closing rolls back too
        with self._changed:
            del self._busy[id(db)]
            if keep and self._refusal is None and len(self._idle) < IDLE:
                self._idle.append(db)
            else:
                db.close()
            self._changed.notify_all()


def is_open(path: Path) -> bool:
    """Whether this process has a file open already."""
    for pool in list(_POOLS):
        with contextlib.suppress(OSError):
            if pool.is_in_use and pool.path.samefile(path):
                return True
    return False


def _close_all(idle: list[sqlite3.Connection], pid: int) -> None:
    while idle and pid == os.getpid():
        idle.pop().close()


def _never_close(db: sqlite3.Connection) -> None:
    """Leak it: closing it in a child would undo in shared memory what its owner is writing."""
    with contextlib.suppress(ImportError):
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


_POOLS: weakref.WeakSet[Connections] = weakref.WeakSet()
_FORKING = threading.local()
"""The pools that the thread which forks has stopped."""


def _before_fork() -> None:
    _FORKING.pools = sorted(_POOLS, key=id)
    for pool in _FORKING.pools:
        pool.stop()


def _after_fork_in_parent() -> None:
    for pool in _FORKING.pools:
        pool.go_on()


def _after_fork_in_child() -> None:
    for pool in _FORKING.pools:
        pool.begin_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
