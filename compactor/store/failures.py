"""SQLite's errors as ours: a code, the file and the next step instead of a traceback."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from compactor.core.errors import StoreError


class Problem(NamedTuple):
    """What is said about one kind of failure."""

    code: str
    message: str
    hint: str


LOCKED = Problem(
    "store.locked",
    "another process or thread has been writing all the time",
    "call again; if it stays so, end the process that holds the file, or wait longer (wait_ms)",
)
DAMAGED = Problem(
    "store.damaged",
    "the file is damaged",
    "put a copy in its place, or save what can be read: sqlite3 FILE .recover",
)
READONLY = Problem(
    "store.readonly",
    "the store cannot be written to",
    "open it for writing, as a user who may write the file and its folder",
)
UNREADABLE = Problem(
    "store.unreadable",
    "the file cannot be opened",
    "it needs a regular file that can be read, in a folder that can be written to",
)
FOREIGN = Problem(
    "store.foreign_file",
    "this is no store",
    "name a store, or a file that does not exist yet; this one was left as it is",
)
MISSING = Problem(
    "store.missing",
    "there is no such store",
    "name the file of a store; `compactor import`, `insert` and `prepare` make one",
)
PROBLEMS: Mapping[int, Problem] = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_FULL: Problem(
        "store.full",
        "there is no room left on the disk",
        "make room and call again; nothing of this write was kept",
    ),
    sqlite3.SQLITE_IOERR: Problem(
        "store.unwritable",
        "the disk failed, or the file may not grow",
        "look at the disk and its limits and call again; nothing of this write was kept",
    ),
    sqlite3.SQLITE_READONLY: READONLY,
    sqlite3.SQLITE_PERM: READONLY,
    sqlite3.SQLITE_CANTOPEN: UNREADABLE,
    sqlite3.SQLITE_AUTH: UNREADABLE,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_CONSTRAINT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_TOOBIG: Problem(
        "store.too_large",
        "one text is larger than SQLite can hold",
        "cut it before it is stored; the limit is a billion bytes",
    ),
}
"""Primary result code → what is said. Anything else is `store.failed`."""

_LOST = re.compile("no such (?:table|column|index)|has no column|columns but")
"""SQLite's words where the tables are not as we made them."""
_FAILED = Problem("store.failed", "SQLite refused", "please report it")


class OtherKindError(ValueError):
    """A column does not hold what is ever written to it."""


REASONS = (sqlite3.Error, UnicodeDecodeError, OtherKindError)
"""What reading a damaged file may raise; text is no UTF-8 then, even in an error of SQLite's."""


def failure(
    error: sqlite3.Error | UnicodeDecodeError | OtherKindError, path: Path | str
) -> StoreError:
    """An error of SQLite, or of what it gave, as ours."""
    code = getattr(error, "sqlite_errorcode", None)
    problem = _FAILED if code is None else PROBLEMS.get(code & 0xFF, _FAILED)
    if not isinstance(error, sqlite3.Error) or _LOST.search(str(error)):
        problem = DAMAGED
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return StoreError(
        f"{problem.message} [{name}: {error}]",
        code=problem.code,
        path=str(path),
        hint=problem.hint,
    )


@contextlib.contextmanager
def translated(path: Path | str) -> Iterator[None]:
    """Inside, SQLite's errors become ours.

    Raises:
        StoreError: with a code of `PROBLEMS`.
    """
    try:
        yield
    except REASONS as error:
        raise failure(error, path) from error


def refused(problem: Problem, path: Path | str) -> StoreError:
    """A refusal of our own."""
    return StoreError(problem.message, code=problem.code, path=str(path), hint=problem.hint)
