"""The word index: which bodies hold which words. An FTS5 table without texts and positions.

It is given words, not texts: FTS5's own tokenizers know neither identifiers nor scripts without
spaces, and differ between versions of SQLite. The newest texts of a session wait: they are read by
every search instead (`waiting.py`), so that a write costs little, and most sessions are never
indexed at all. Ranking and snippets read the texts (`search.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from compactor.store.texts import to_text
from compactor.store.words import words

BEHIND_CHARS = 8_000_000
"""Texts of a session that may wait; a search reads them in some tenths of a second."""
SLICE_CHARS = 500_000
"""Indexed at once when more than that waits."""
_PLACED = (
    "SELECT p.body, b.data, p.about FROM place p JOIN body b ON b.id = p.body"
    " WHERE p.body BETWEEN ? AND ? ORDER BY p.body"
)


def words_of(text: str, about: str) -> list[str]:
    """The words that a body is found by."""
    found = words(text)
    return [*found, *words(about)] if about else found


def add(db: sqlite3.Connection, body: int, text: str, about: str) -> None:
    db.execute(
        "INSERT INTO words(rowid, text) VALUES (?, ?)", (body, " ".join(words_of(text, about)))
    )


def remove(db: sqlite3.Connection, body: int, text: str, about: str) -> None:
    """Take a body out. Text and `about` must be those that it was added with."""
    db.execute(
        "INSERT INTO words(words, rowid, text) VALUES ('delete', ?, ?)",
        (body, " ".join(words_of(text, about))),
    )


def catch_up(
    db: sqlite3.Connection, session: int, indexed: int, waiting: int, behind: int = BEHIND_CHARS
) -> tuple[int, int]:
    """Index the oldest waiting texts, if more than `behind` characters of them wait.

    Returns:
        how many bodies are indexed then, and how many characters wait.
    """
    if waiting <= behind:
        return indexed, waiting
    target = max(0, min(behind, waiting - SLICE_CHARS))
    for body, text, about in placed(db, (session << 32) + indexed + 1, session + 1 << 32):
        if waiting <= target:
            break
        add(db, body, text, about)
        indexed, waiting = body - (session << 32), waiting - len(text)
    return indexed, waiting


def newest(db: sqlite3.Connection, session: int, expression: str, limit: int) -> list[int]:
    """The bodies of a session that an expression of quoted words matches, newest first."""
    rows = db.execute(
        "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
        " ORDER BY rowid DESC LIMIT ?",
        (expression, session << 32, (session + 1 << 32) - 1, limit),
    )
    return [body for (body,) in rows]


def rebuild(db: sqlite3.Connection) -> None:
    """Make the index anew from the texts: all of them, none waits."""
    (made,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'words'").fetchone()
    db.execute("DROP TABLE words")
    db.execute(made)
    for body, text, about in placed(db):
        add(db, body, text, about)
    db.execute("UPDATE session SET indexed = bodies, waiting_chars = 0")


def merge(db: sqlite3.Connection) -> None:
    """Leave nothing of what was taken out. O(the index)."""
    db.execute("INSERT INTO words(words) VALUES ('optimize')")


def placed(
    db: sqlite3.Connection, first: int = 0, last: int = (1 << 63) - 1
) -> Iterator[tuple[int, str, str]]:
    """Bodies that can be found, with their text and what else they are found by."""
    for body, data, about in db.execute(_PLACED, (first, last)):
        yield body, to_text(data), to_text(about)


def held(db: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Everything that the index says: words in order, each with its bodies. O(the index)."""
    db.execute("CREATE VIRTUAL TABLE temp.held USING fts5vocab(main, words, instance)")
    yield from db.execute("SELECT term, doc FROM temp.held")
