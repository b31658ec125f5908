"""One session in a SQLite file: what it is taken up from, its originals, its writes."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from compactor.core.errors import StoreError
from compactor.line_sum import line_sum
from compactor.store import index, search
from compactor.store.connections import Connections
from compactor.store.failures import DAMAGED, translated
from compactor.store.protocol import Found, StaleError, Stored, StoredEntry, StoredResult
from compactor.store.texts import bytes_of, to_text
from compactor.store.transaction import (
    MOST,
    NUMBERS,
    Columns,
    Numbers,
    SqliteTransaction,
    row_sum,
)

_ENTRIES = (
    "SELECT e.id, e.kind, e.digest, e.name, e.call_id, e.head, e.body, e.facts, e.facts_body,"
    " e.searchable, e.sum, b.data, b.digest, f.data, f.digest"
    " FROM entry e LEFT JOIN body b ON b.id = e.body LEFT JOIN body f ON f.id = e.facts_body"
    " WHERE e.id BETWEEN ? AND ? ORDER BY e.id"
)
_RESULT = (
    "SELECT r.id, r.call_id, r.tool, r.arguments, r.body, r.facts, r.facts_body, r.searchable,"
    " r.root, r.root_seq, r.line_offset, r.line_limit, r.sum, b.data, b.digest, f.data, f.digest"
    " FROM result r LEFT JOIN body b ON b.id = r.body LEFT JOIN body f ON f.id = r.facts_body"
    " WHERE r.id = ?"
)


class SqliteSession:
    """See `protocol.SessionStore`."""

    def __init__(
        self,
        connections: Connections,
        session_id: str,
        number: int,
        clock: Callable[[], int],
    ) -> None:
        self._connections = connections
        self._id = session_id
        self._number = number
        self._base = number << 32
        self._clock = clock
        self._path = str(connections.path)

    @property
    def id(self) -> str:
        return self._id

    def version(self) -> int:
        with self._connections.reading() as db:
            return self._numbers(db).version

    def load(self, records_from: int = 0) -> Stored:
        with self._connections.reading() as db:
            numbers = self._numbers(db)
            return Stored(
                numbers.version,
                numbers.next_seq,
                numbers.next_number,
                self._records(db, numbers.record_sum, records_from),
                self._live(db, numbers.live),
                self._state(db),
            )

    @contextlib.contextmanager
    def write(self, version: int | None) -> Iterator[SqliteTransaction]:
        with self._connections.writing() as db:
            with translated(self._path):
                numbers = self._numbers(db)
            if version is not None and numbers.version != version:
                raise StaleError(
                    f"session {self._id} is at version {numbers.version}, not {version}",
                    code="store.stale",
                    path=self._path,
                    hint="another process or thread wrote first: load the session and decide again",
                )
            transaction = SqliteTransaction(db, self._path, self._number, numbers)
            yield transaction
            transaction.finish(self._clock())
        if transaction.waiting_chars > index.BEHIND_CHARS:
            self._catch_up(index.BEHIND_CHARS)

    def entry(self, seq: int) -> StoredEntry:
        found = self.entries(seq, 1)
        if not found:
            raise self._unknown(
                "store.unknown_entry", f"there is no entry {seq} in session {self._id}"
            )
        return found[0]

    def entries(self, first: int, count: int) -> list[StoredEntry]:
        first, last = max(first, 0), min(first + count - 1, MOST)
        with self._connections.reading() as db:
            self._numbers(db)
            if first > last:
                return []
            rows = db.execute(_ENTRIES, (self._base + first, self._base + last))
            return [self._entry(row) for row in rows]

    def result(self, number: int) -> StoredResult:
        with self._connections.reading() as db:
            self._numbers(db)
            known = 0 < number <= MOST
            row = db.execute(_RESULT, (self._base + number,)).fetchone() if known else None
        if row is None:
            raise self._unknown(
                "store.unknown_result", f"there is no result {number} in session {self._id}"
            )
        return self._result(row)

    def search(self, query: str, *, limit: int = 10) -> Found:
        self._catch_up(index.SEARCHED_CHARS, wait=False)
        with self._connections.reading() as db:
            numbers = self._numbers(db)
            try:
                return search.find(db, self._number, numbers.bodies, numbers.indexed, query, limit)
            except search.LostTextError as error:
                raise StoreError(
                    f"{error.__doc__}",
                    code=DAMAGED.code,
                    path=self._path,
                    hint="`rebuild_index` makes the index anew; `verify` says what else is wrong",
                ) from error

    def _catch_up(self, behind: int, *, wait: bool = True) -> None:
        """Index the oldest texts while more than so many characters wait.

        What keeps it from going on (another writer, a full disk, a file for reading only) is no
        error: a search reads what waits, and the next call catches up.
        """
        with contextlib.suppress(StoreError):
            while (piece := self._oldest(behind)) is not None:
                with self._connections.writing(wait=wait) as db, translated(self._path):
                    if not index.put(db, self._number, piece):
                        return

    def _oldest(self, behind: int) -> index.Slice | None:
        with self._connections.reading() as db:
            numbers = self._numbers(db)
            if numbers.waiting_chars <= behind:
                return None
            piece = index.oldest(db, self._number, numbers.indexed)
            return piece if piece.words else None

    def _numbers(self, db: sqlite3.Connection) -> Numbers:
        row = db.execute(
            f"SELECT {NUMBERS} FROM session WHERE number = ? AND id IS NOT NULL", (self._number,)
        ).fetchone()
        if row is None:
            raise self._unknown("store.unknown_session", f"session {self._id} was deleted")
        numbers = Numbers(*row)
        counts = (each for each in numbers if each is not numbers.record_sum)
        if not isinstance(numbers.record_sum, str) or not all(map(_is_count, counts)):
            raise self._damaged("the row")
        return numbers

    def _records(self, db: sqlite3.Connection, wanted: str, start: int) -> list[bytes]:
        before = db.execute("SELECT sum FROM record WHERE id = ?", (self._base + start - 1,))
        last = next((row[0] for row in before), "") if start else ""
        rows = db.execute(
            "SELECT data, sum FROM record WHERE id BETWEEN ? AND ? ORDER BY id",
            (self._base + start, self._base + MOST),
        )
        records: list[bytes] = []
        for data, given in rows:
            last = line_sum(last, bytes_of(data))
            if last != given:
                raise self._damaged(f"record {start + len(records)}")
            records.append(data)
        if last != wanted:
            raise self._damaged("the journal")
        return records

    def _live(self, db: sqlite3.Connection, wanted: int) -> list[tuple[int, str]]:
        rows = db.execute(
            "SELECT l.seq, e.digest FROM live l JOIN entry e ON e.id = ? + l.seq"
            " WHERE l.id BETWEEN ? AND ? ORDER BY l.id",
            (self._base, self._base, self._base + MOST),
        )
        live = [(seq, to_text(digest)) for seq, digest in rows]
        if len(live) != wanted:
            raise self._damaged("the live branch")
        return live

    def _state(self, db: sqlite3.Connection) -> bytes:
        row = db.execute(
            "SELECT data, sum FROM state WHERE session = ?", (self._number,)
        ).fetchone()
        if row is None:
            return b""
        if row_sum(self._number, row[:1]) != row[1]:
            raise self._damaged("the state")
        return bytes_of(row[0])

    def _entry(self, row: tuple[Any, ...]) -> StoredEntry:
        seq, columns, given, bodies = row[0] - self._base, row[1:10], row[10], row[11:]
        kind, digest, name, call_id, head, _, facts, _, searchable = columns
        text, large = self._bodies(f"entry {seq}", seq, columns, bodies, given)
        return StoredEntry(
            seq,
            to_text(kind),
            to_text(digest),
            to_text(head + text),
            to_text(name),
            to_text(call_id),
            large or facts,
            searchable=bool(searchable),
        )

    def _result(self, row: tuple[Any, ...]) -> StoredResult:
        number, columns, given, bodies = row[0] - self._base, row[1:12], row[12], row[13:]
        call_id, tool, arguments, _, facts, _, searchable, *points = columns
        text, large = self._bodies(f"result {number}", number, columns, bodies, given)
        return StoredResult(
            number,
            to_text(call_id),
            to_text(tool),
            to_text(arguments),
            to_text(text),
            large or facts,
            bool(searchable),
            *points,
        )

    def _bodies(
        self, what: str, number: int, columns: Columns, bodies: Columns, given: bytes
    ) -> tuple[bytes, bytes]:
        """A row's text and large facts, if row and bodies are still what was stored."""
        text, text_digest, facts, facts_digest = (each or b"" for each in bodies)
        if row_sum(number, (*columns, text_digest, facts_digest)) != given:
            raise self._damaged(what)
        for data, digest in ((text, text_digest), (facts, facts_digest)):
            if digest and hashlib.sha256(bytes_of(data)).digest() != digest:
                raise self._damaged(what)
        return text, facts

    def _damaged(self, what: str) -> StoreError:
        return StoreError(
            f"{what} of session {self._id} is not what was written",
            code=DAMAGED.code,
            path=self._path,
            hint=DAMAGED.hint,
        )

    def _unknown(self, code: str, message: str) -> StoreError:
        return StoreError(message, code=code, path=self._path)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 62
