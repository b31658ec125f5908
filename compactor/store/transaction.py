"""One write of a session: rows are added as they come, the session's numbers at the end.

Numbers are given here and checked against what the caller counted, so that two writers can never
give one twice. Every row carries a checksum over what it says.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from compactor.core.errors import StoreError
from compactor.line_sum import line_sum
from compactor.store.bodies import Bodies, head_of
from compactor.store.failures import translated
from compactor.store.protocol import StoredEntry, StoredResult
from compactor.store.texts import to_bytes

Columns = tuple[Any, ...]
Digests = tuple[bytes, ...]
MOST = (1 << 32) - 1
"""Numbers that a session has of each kind."""


class Numbers(NamedTuple):
    """What a session's row counts."""

    version: int
    next_seq: int
    next_number: int
    records: int
    record_sum: str
    live: int
    bodies: int
    indexed: int
    waiting_chars: int
    size_bytes: int


NUMBERS = ", ".join(Numbers._fields)


def row_sum(number: int, columns: Iterable[object]) -> bytes:
    """A checksum over a row: its number within the session, its columns, its bodies' digests."""
    digest = hashlib.sha256(b"%d" % number)
    for column in columns:
        data = column if isinstance(column, bytes) else str(column).encode()
        digest.update(b" %d:" % len(data))
        digest.update(data)
    return digest.digest()[:16]


class SqliteTransaction:
    """See `protocol.Transaction`. Made by `SqliteSession.write` only."""

    def __init__(self, db: sqlite3.Connection, path: str, session: int, numbers: Numbers) -> None:
        self._db = db
        self._path = path
        self._session = session
        self._base = session << 32
        self._was = self._is = numbers
        self._bodies = Bodies(db, session, numbers.bodies, numbers.indexed)
        self._about: dict[str, str] = {}
        self._wrote = False

    @property
    def next_seq(self) -> int:
        return self._is.next_seq

    @property
    def next_number(self) -> int:
        return self._is.next_number

    @property
    def base(self) -> int:
        """The version that this write is based on."""
        return self._was.version

    @property
    def version(self) -> int:
        """The session's, once this is committed."""
        return self._was.version + self._wrote

    @property
    def waiting_chars(self) -> int:
        """Of texts that can be found but are not in the index."""
        return self._was.waiting_chars + self._bodies.waiting_chars

    def add_entries(self, entries: Sequence[StoredEntry]) -> None:
        with self._writing():
            for entry in entries:
                self._expect("seq", entry.seq, self._is.next_seq)
                self._insert("entry", entry.seq, *self._entry_row(entry))
                self._is = self._is._replace(next_seq=entry.seq + 1)

    def set_live(self, keep: int, seqs: Sequence[int]) -> None:
        was = self._is.live
        if not 0 <= keep <= was:
            raise self._out_of_order(f"the live branch has {was} entries, so {keep} cannot stay")
        for seq in seqs:
            if not 0 <= seq < self._is.next_seq:
                raise self._out_of_order(f"there is no entry {seq} to put on the live branch")
        with self._writing():
            self._db.execute(
                "DELETE FROM live WHERE id BETWEEN ? AND ?",
                (self._base + keep, self._base + MOST),
            )
            rows = ((self._base + place, seq) for place, seq in enumerate(seqs, keep))
            self._db.executemany("INSERT INTO live VALUES (?, ?)", rows)
        self._is = self._is._replace(live=keep + len(seqs))

    def add_result(self, result: StoredResult) -> None:
        self._expect("number", result.number, self._is.next_number)
        if not (0 <= result.root < result.number and -1 <= result.root_seq < self._is.next_seq):
            raise self._out_of_order("a recall points at what is not stored")
        with self._writing():
            self._insert("result", result.number, *self._result_row(result))
            self._is = self._is._replace(next_number=result.number + 1)

    def add_records(self, records: Sequence[bytes]) -> None:
        with self._writing():
            for record in records:
                count, last = self._is.records, line_sum(self._is.record_sum, record)
                self._insert_as_is("record", count, (record, last))
                self._is = self._is._replace(records=count + 1, record_sum=last)
                self._bodies.new_bytes += len(record)

    def put_state(self, state: bytes) -> None:
        with self._writing():
            self._db.execute(
                "INSERT OR REPLACE INTO state VALUES (?, ?, ?)",
                (self._session, state, row_sum(self._session, (state,))),
            )

    def put_about(self, *, format_name: str | None = None, model: str | None = None) -> None:
        given = {"format": format_name, "model": model}
        self._about |= {
            name: value.encode("utf-8", "replace").decode()
            for name, value in given.items()
            if value is not None
        }
        self._wrote = True

    def finish(self, now_ms: int) -> None:
        """Write the session's numbers. Nothing was written, nothing is changed."""
        if not self._wrote:
            return
        with self._writing():
            numbers = self._is._replace(
                version=self.version,
                bodies=self._bodies.count,
                waiting_chars=self.waiting_chars,
                size_bytes=self._was.size_bytes + self._bodies.new_bytes,
            )
            values = numbers._asdict() | self._about | {"updated_ms": now_ms}
            self._db.execute(
                f"UPDATE session SET {', '.join(f'{name} = ?' for name in values)}"
                " WHERE number = ?",
                (*values.values(), self._session),
            )

    def _entry_row(self, entry: StoredEntry) -> tuple[Columns, Digests]:
        head = head_of(entry.text)
        text = entry.text[len(head) :]
        body = self._bodies.put(to_bytes(text))
        if entry.searchable:
            self._bodies.place(body, text, f"{entry.name} {entry.about}", seq=entry.seq)
        facts = self._bodies.put_facts(entry.facts)
        names = map(to_bytes, (entry.kind, entry.digest, entry.name, entry.call_id, head))
        columns = (*names, body.id, facts.inline, facts.body.id, int(entry.searchable))
        return columns, (body.digest, facts.body.digest)

    def _result_row(self, result: StoredResult) -> tuple[Columns, Digests]:
        body = self._bodies.put(to_bytes(result.text))
        if result.searchable:
            about = f"{result.tool} {result.arguments}"
            self._bodies.place(body, result.text, about, number=result.number)
        facts = self._bodies.put_facts(result.facts)
        names = map(to_bytes, (result.call_id, result.tool, result.arguments))
        points = (result.root, result.root_seq, result.offset, result.limit)
        found = (body.id, facts.inline, facts.body.id, int(result.searchable))
        return (*names, *found, *points), (body.digest, facts.body.digest)

    def _insert(self, table: str, number: int, columns: Columns, digests: Digests) -> None:
        self._insert_as_is(table, number, (*columns, row_sum(number, (*columns, *digests))))

    def _insert_as_is(self, table: str, number: int, columns: Columns) -> None:
        if number >= MOST:
            raise self._out_of_order(f"a session has no room for more than {MOST} of them")
        marks = ", ".join("?" * (len(columns) + 1))
        self._db.execute(f"INSERT INTO {table} VALUES ({marks})", (self._base + number, *columns))

    def _writing(self) -> Any:
        self._wrote = True
        return translated(self._path)

    def _expect(self, what: str, given: int, wanted: int) -> None:
        if given != wanted:
            raise self._out_of_order(f"the next {what} is {wanted}, not {given}")

    def _out_of_order(self, message: str) -> StoreError:
        return StoreError(
            message,
            code="store.out_of_order",
            path=self._path,
            hint="numbers are given by the transaction: next_seq, next_number",
        )
