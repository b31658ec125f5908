"""Removes the rows of a deleted session, a small write at a time."""

from __future__ import annotations

import hashlib
import sqlite3

from compactor.store import index
from compactor.store.texts import to_text
from compactor.store.transaction import MOST

_BATCH_BYTES = 4_000_000
_BATCH_ROWS = 2_000


def remove_some(db: sqlite3.Connection, session: int) -> None:
    """One small write's worth of a deleted session's rows; at last the session itself."""
    base, last = session << 32, session << 32 | MOST
    size = 0
    placed = db.execute(
        "SELECT body, about FROM place WHERE body BETWEEN ? AND ? LIMIT ?",
        (base, last, _BATCH_ROWS),
    )
    (indexed,) = db.execute("SELECT indexed FROM session WHERE number = ?", (session,)).fetchone()
    for body, about in placed.fetchall():
        data = _data(db, body)
        if body <= base + indexed and data:  # where it is lost, `rebuild_index` forgets its words
            index.remove(db, body, to_text(data), to_text(about))
        db.execute("DELETE FROM place WHERE body = ?", (body,))
        size += len(data)
        if size > _BATCH_BYTES:
            return
    for table in ("body", "entry", "result", "record", "live"):
        gone = db.execute(
            f"DELETE FROM {table} WHERE id IN"
            f" (SELECT id FROM {table} WHERE id BETWEEN ? AND ? LIMIT ?)",
            (base, last, _BATCH_ROWS),
        )
        if gone.rowcount == _BATCH_ROWS:
            return
    db.execute("DELETE FROM state WHERE session = ?", (session,))
    db.execute("DELETE FROM session WHERE number = ?", (session,))


def _data(db: sqlite3.Connection, body: int) -> bytes:
    """A text as it was written; b"" where it is lost. A damaged session can be removed too."""
    row = db.execute("SELECT data, digest FROM body WHERE id = ?", (body,)).fetchone()
    data, digest = row or (b"", b"")
    if not isinstance(data, bytes) or hashlib.sha256(data).digest() != digest:
        return b""
    return data
