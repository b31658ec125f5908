"""The tables of a store file, how a file becomes one, and how an older one is brought up to date.

Ids of rows are `session << 32 | number within the session`, so a session is a range of every table,
and of the word index too. Text is kept as bytes (UTF-8, lone surrogates as they are): SQLite's own
text ends at a NUL for some readers. A step, once released, is never changed; a new version is a new
step. Specification: docs/store.md, Schema.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from compactor.core.errors import StoreError
from compactor.store.failures import DAMAGED, FOREIGN, MISSING, refused

APPLICATION_ID = 0x54436D70
"""`TCmp`, in the header of the file."""
NEEDED_SQLITE = (3, 37, 0)
"""STRICT tables."""

_STEP_1 = """
CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
    id TEXT UNIQUE,                            -- NULL: deleted, its rows are being removed
    version INTEGER NOT NULL DEFAULT 0,        -- grows with each committed write
    next_seq INTEGER NOT NULL DEFAULT 0,
    next_number INTEGER NOT NULL DEFAULT 1,
    records INTEGER NOT NULL DEFAULT 0,
    record_sum TEXT NOT NULL DEFAULT '',       -- of the last record
    live INTEGER NOT NULL DEFAULT 0,           -- entries on the live branch
    bodies INTEGER NOT NULL DEFAULT 0,
    indexed INTEGER NOT NULL DEFAULT 0,        -- of the bodies: the first so many are in `words`
    waiting_chars INTEGER NOT NULL DEFAULT 0,  -- of those that can be found, but are not yet there
    size_bytes INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    format TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE body (                            -- each text once in a session
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL,                      -- SHA-256 of data
    data BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX body_by_digest ON body (id >> 32, digest);
CREATE TABLE entry (
    id INTEGER PRIMARY KEY,                    -- number: seq
    kind BLOB NOT NULL,
    digest BLOB NOT NULL,                      -- as the caller identifies it
    name BLOB NOT NULL,
    call_id BLOB NOT NULL,
    head BLOB NOT NULL,                        -- a hygiene bracket before the body
    body INTEGER NOT NULL,                     -- 0: no text
    facts BLOB NOT NULL,
    facts_body INTEGER NOT NULL,               -- large facts: a body
    searchable INTEGER NOT NULL,
    sum BLOB NOT NULL
) STRICT;
CREATE TABLE result (
    id INTEGER PRIMARY KEY,                    -- number: the hygiene id
    call_id BLOB NOT NULL,
    tool BLOB NOT NULL,
    arguments BLOB NOT NULL,
    body INTEGER NOT NULL,
    facts BLOB NOT NULL,
    facts_body INTEGER NOT NULL,
    searchable INTEGER NOT NULL,
    root INTEGER NOT NULL,                     -- a recall: of this result
    root_seq INTEGER NOT NULL,                 -- or of this entry
    line_offset INTEGER NOT NULL,
    line_limit INTEGER NOT NULL,
    sum BLOB NOT NULL
) STRICT;
CREATE TABLE record (id INTEGER PRIMARY KEY, data BLOB NOT NULL, sum TEXT NOT NULL) STRICT;
CREATE TABLE live (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
CREATE TABLE state (session INTEGER PRIMARY KEY, data BLOB NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE place (                           -- where a body that can be found stands
    body INTEGER PRIMARY KEY,
    seq INTEGER,                               -- the newest entry with it
    number INTEGER,                            -- the newest result with it
    about BLOB NOT NULL                        -- further text it is found by
) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (        -- rowid: body; the words of words.py
    text, content='', columnsize=0, detail=none, tokenize="ascii tokenchars '_'"
);
"""

STEPS: Sequence[str] = (_STEP_1,)
"""Step n takes a file from schema version n - 1 to n; `user_version` is a file's version."""

_RETRY_S = 0.01


def prepare(db: sqlite3.Connection, path: str, wait_ms: int) -> None:
    """Make an empty file a store, or bring an older one up to date, in one transaction.

    Raises:
        StoreError: `store.foreign_file`, `store.unsupported`, `store.damaged`. A file that it is
            raised for is unchanged.
    """
    if _version(db, path) < len(STEPS):
        _make_wal(db, wait_ms)
        db.execute("BEGIN IMMEDIATE")
        for step in STEPS[_version(db, path) :]:  # another process may have been first
            _run(db, step, path)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(STEPS)}")
        db.execute("COMMIT")
    elif _value(db, "journal_mode") != "wal":
        _make_wal(db, wait_ms)  # it was restored from a backup


def check(db: sqlite3.Connection, path: str) -> None:
    """Whether a file can be read as it is.

    Raises:
        StoreError: as `prepare`, `store.outdated`, and `store.missing` for a file without tables.
    """
    version = _version(db, path)
    if not version:
        raise refused(MISSING, path)
    if version < len(STEPS):
        raise StoreError(
            "an older version of this program made the store",
            code="store.outdated",
            path=path,
            hint="open it for writing once, which brings it up to date",
        )


def check_sqlite(path: str) -> None:
    """Whether this Python's SQLite can do what we need.

    Raises:
        StoreError: `store.unsupported`.
    """
    if sqlite3.sqlite_version_info < NEEDED_SQLITE:
        needed = ".".join(map(str, NEEDED_SQLITE))
        raise _unsupported(
            f"this Python has SQLite {sqlite3.sqlite_version}; a store needs {needed} or newer",
            path,
            "use a Python with a newer SQLite",
        )


def _version(db: sqlite3.Connection, path: str) -> int:
    """The schema version of the file; 0 where there is nothing yet.

    All of it is read in one state of the file: another process may be making it a store.
    """
    if db.in_transaction:
        return _version_now(db, path)
    db.execute("BEGIN")
    try:
        return _version_now(db, path)
    finally:
        db.execute("ROLLBACK")


def _version_now(db: sqlite3.Connection, path: str) -> int:
    application, version = _value(db, "application_id"), _value(db, "user_version")
    if application != APPLICATION_ID:
        if application or version or db.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise refused(FOREIGN, path)
        return 0
    if version < 1:
        raise refused(DAMAGED, path)
    if version > len(STEPS):
        raise _unsupported(
            f"the store has schema version {version}; this program knows {len(STEPS)}",
            path,
            "use the version of this program that made it, or a newer one",
        )
    return int(version)


def _value(db: sqlite3.Connection, pragma: str) -> Any:
    return db.execute(f"PRAGMA {pragma}").fetchone()[0]


def _make_wal(db: sqlite3.Connection, wait_ms: int) -> None:
    """Writers and readers side by side. SQLite itself does not wait for others here."""
    deadline = time.monotonic() + wait_ms / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_S)


def _run(db: sqlite3.Connection, step: str, path: str) -> None:
    """The statements of a step; `executescript` would commit what is open."""
    statement = ""
    for line in step.splitlines(keepends=True):
        statement += line
        if not sqlite3.complete_statement(statement):
            continue
        try:
            db.execute(statement)
        except sqlite3.OperationalError as error:
            if "no such module" not in str(error):
                raise
            raise _unsupported(
                "this Python's SQLite has no full-text search (FTS5)",
                path,
                "use a Python whose SQLite has it",
            ) from error
        statement = ""


def _unsupported(message: str, path: str, hint: str) -> StoreError:
    return StoreError(message, code="store.unsupported", path=path, hint=hint)
