"""The texts of a session: each kept once, told by its SHA-256, and put into the word index.

Within a session, a text that comes again (an inserted result as an entry, a file read twice, a
branch taken up again) costs a row of numbers. A hygiene bracket in front of a text is kept beside
it, so that the result that was inserted and the entry that the harness sends are one body.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from typing import NamedTuple

from compactor.store import index
from compactor.store.texts import to_bytes

_BRACKET = re.compile(r"\[#[^\n]{1,600}\]\n(?=.)", re.DOTALL)
INLINE = 512
"""Bytes of facts that are kept in the row; larger ones are a body."""
ABOUT = 4_000
"""Characters of what else a text is found by."""


class Body(NamedTuple):
    """A body's id and SHA-256; 0 and b"" for no bytes."""

    id: int
    digest: bytes


class Facts(NamedTuple):
    """Facts as a row has them: in it, or as a body."""

    inline: bytes
    body: Body


NONE = Body(0, b"")


def head_of(text: str) -> str:
    """The bracket line in front of a result's text; "" when there is none."""
    match = _BRACKET.match(text)
    return match.group() if match else ""


class Bodies:
    """Puts the texts of one session into the store, within a transaction.

    Args:
        indexed: so many of the session's bodies are in the word index.

    Attributes:
        count: bodies of the session.
        new_bytes: that this transaction added.
        waiting_chars: of those that are to be indexed later.
    """

    def __init__(self, db: sqlite3.Connection, session: int, count: int, indexed: int) -> None:
        self._db = db
        self._session = session
        self._indexed = session << 32 | indexed
        self.count = count
        self.new_bytes = 0
        self.waiting_chars = 0

    def put(self, data: bytes) -> Body:
        """A body, which is added where it is new."""
        if not data:
            return NONE
        digest = hashlib.sha256(data).digest()
        known = self._db.execute(
            "SELECT id FROM body WHERE id >> 32 = ? AND digest = ?", (self._session, digest)
        ).fetchone()
        if known is not None:
            return Body(known[0], digest)
        self.count += 1
        self.new_bytes += len(data)
        body = self._session << 32 | self.count
        self._db.execute("INSERT INTO body VALUES (?, ?, ?)", (body, digest, data))
        return Body(body, digest)

    def put_facts(self, facts: bytes) -> Facts:
        if len(facts) <= INLINE:
            self.new_bytes += len(facts)
            return Facts(facts, NONE)
        return Facts(b"", self.put(facts))

    def place(
        self,
        body: Body,
        text: str,
        about: str,
        *,
        seq: int | None = None,
        number: int | None = None,
    ) -> None:
        """Make a body findable, and remember the newest place where it stands.

        Args:
            text: the body's.
            about: text that it is found by as well, if this is its first place.
        """
        if not body.id:
            return
        moved = self._db.execute(
            "UPDATE place SET seq = ifnull(?, seq), number = ifnull(?, number) WHERE body = ?",
            (seq, number, body.id),
        )
        if moved.rowcount:
            return
        about = about[:ABOUT]
        self._db.execute(
            "INSERT INTO place VALUES (?, ?, ?, ?)", (body.id, seq, number, to_bytes(about))
        )
        if body.id <= self._indexed:  # kept before, but not to be found until now
            index.add(self._db, body.id, text, about)
        else:
            self.waiting_chars += len(text)
