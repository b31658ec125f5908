"""The word index: which bodies hold which words. An FTS5 table without texts and positions.

It is given words, not texts: FTS5's own tokenizers know neither identifiers nor scripts without
spaces, and differ between versions of SQLite. The newest texts of a session wait: they are read by
every search instead (`waiting.py`), so that a write costs little, and most sessions are never
indexed at all. When too many wait they are indexed a slice at a time, each in a small write of its
own, whose words were made before it began. Ranking and snippets read the texts (`search.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from compactor.store.texts import to_text
from compactor.store.words import words

BEHIND_CHARS = 4_000_000
"""Texts of a session that may wait behind a write."""
SEARCHED_CHARS = 200_000
"""Texts that may wait for a search, which reads them; it has more of them indexed first."""
SLICE_CHARS = 500_000
"""Indexed at once."""
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


class Slice(NamedTuple):
    """The oldest texts of a session that wait, as the index is to hold them.

    before, last: numbers of the session's bodies: indexed so far, and with this.
    chars: of the texts.
    words: body → its words.
    """

    before: int
    last: int
    chars: int
    words: list[tuple[int, str]]


def oldest(db: sqlite3.Connection, session: int, indexed: int) -> Slice:
    """A slice of what waits. O(SLICE_CHARS), and one text more."""
    base, chars, found = session << 32, 0, list[tuple[int, str]]()
    for body, text, about in placed(db, base + indexed + 1, base + (1 << 32)):
        found.append((body, " ".join(words_of(text, about))))
        chars += len(text)
        if chars >= SLICE_CHARS:
            break
    return Slice(indexed, found[-1][0] - base if found else indexed, chars, found)


def put(db: sqlite3.Connection, session: int, piece: Slice) -> bool:
    """Add a slice, unless another process was faster or made one of its bodies findable since."""
    base = session << 32
    row = db.execute(
        "SELECT indexed = ?, (SELECT count(*) FROM place WHERE body BETWEEN ? AND ?) = ?"
        " FROM session WHERE number = ? AND id IS NOT NULL",
        (piece.before, base + piece.before + 1, base + piece.last, len(piece.words), session),
    ).fetchone()
    if row != (1, 1):
        return False
    db.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", piece.words)
    db.execute(
        "UPDATE session SET indexed = ?, waiting_chars = waiting_chars - ? WHERE number = ?",
        (piece.last, piece.chars, session),
    )
    return True


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
