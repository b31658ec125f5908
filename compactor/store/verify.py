"""Compares a store with its own checksums, counts and index. Reads everything, changes nothing."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator

from compactor.core.errors import Finding
from compactor.line_sum import line_sum
from compactor.store import index
from compactor.store.failures import REASONS
from compactor.store.texts import bytes_of
from compactor.store.transaction import MOST, NUMBERS, Numbers, row_sum

_TABLES = ("body", "entry", "result", "record", "live")
_HAS_TEXT = "body, facts, facts_body, searchable"
_ROWS = {
    "entry": f"kind, digest, name, call_id, head, {_HAS_TEXT}",
    "result": f"call_id, tool, arguments, {_HAS_TEXT}, root, root_seq, line_offset, line_limit",
}
"""Tables whose rows have a sum, and the columns that it is over, besides the bodies' digests."""
_LINES = 20
"""Of what SQLite finds by itself."""
_SOME = 5
"""Numbers that a finding names."""


def findings(db: sqlite3.Connection, path: str, session: int | None) -> list[Finding]:
    """What is wrong with a store, or with one session of it.

    Args:
        path: named by the findings.
        session: its number; None for all.
    """
    found: list[str] = []
    try:
        found += _file(db)
        rows = db.execute(
            f"SELECT number, id, {NUMBERS} FROM session WHERE id IS NOT NULL ORDER BY number"
        )
        for number, name, *numbers in rows.fetchall():
            if session in (None, number):
                said = _session(db, number, Numbers(*numbers))
                found += (f"session {name}: {each}" for each in said)
        found += _index(db, session)
    except REASONS as error:
        found.append(f"it cannot be read further: {error}")
    return [Finding("store_damaged", each, path) for each in found]


def _file(db: sqlite3.Connection) -> Iterator[str]:
    """SQLite's own check, and rows that belong to no session."""
    for (said,) in db.execute(f"PRAGMA integrity_check({_LINES})").fetchall():
        lines = said.splitlines() if said != "ok" else []
        yield from (f"SQLite: {line}" for line in lines if not line.startswith("***"))
    known = {number for (number,) in db.execute("SELECT number FROM session")}
    for table in _TABLES:
        at = 0
        while row := db.execute(f"SELECT min(id) FROM {table} WHERE id >= ?", (at,)).fetchone():
            if row[0] is None:
                break
            session = row[0] >> 32
            if session not in known:
                yield f"table {table} has rows of session number {session}, which there is not"
            at = session + 1 << 32


def _session(db: sqlite3.Connection, session: int, numbers: Numbers) -> Iterator[str]:
    ranges = (
        ("body", 1, numbers.bodies),
        ("entry", 0, numbers.next_seq),
        ("result", 1, numbers.next_number - 1),
        ("record", 0, numbers.records),
        ("live", 0, numbers.live),
    )
    for table, first, count in ranges:
        yield from _contiguous(db, table, session << 32, first, count)
    yield from _bodies(db, session)
    for table, columns in _ROWS.items():
        yield from _rows(db, table, columns, session)
    yield from _records(db, session, numbers.record_sum)
    yield from _state(db, session)
    yield from _places(db, session)
    yield from _live_and_size(db, session, numbers)


def _contiguous(
    db: sqlite3.Connection, table: str, base: int, first: int, count: int
) -> Iterator[str]:
    found = db.execute(
        f"SELECT count(*), min(id), max(id) FROM {table} WHERE id BETWEEN ? AND ?",
        (base, base + MOST),
    ).fetchone()
    wanted = (count, base + first, base + first + count - 1) if count else (0, None, None)
    if found != wanted:
        yield f"table {table} does not hold the {count} rows from {first} on"


def _bodies(db: sqlite3.Connection, session: int) -> Iterator[str]:
    rows = db.execute("SELECT id, digest, data FROM body WHERE id BETWEEN ? AND ?", _range(session))
    found = ((row, digest, hashlib.sha256(bytes_of(data)).digest()) for row, digest, data in rows)
    wrong = (row & MOST for row, digest, derived in found if derived != digest)
    yield from _said("texts that are not what was written", wrong)


def _rows(db: sqlite3.Connection, table: str, columns: str, session: int) -> Iterator[str]:
    named = ", ".join(f"r.{column.strip()}" for column in columns.split(","))
    rows = db.execute(
        f"SELECT r.id, r.sum, b.digest, f.digest, {named} FROM {table} r"
        " LEFT JOIN body b ON b.id = r.body LEFT JOIN body f ON f.id = r.facts_body"
        " WHERE r.id BETWEEN ? AND ? ORDER BY r.id",
        _range(session),
    )
    wrong = (
        row & MOST
        for row, given, text, facts, *found in rows
        if row_sum(row & MOST, (*found, text or b"", facts or b"")) != given
    )
    yield from _said(f"rows of table {table} that are not what was written", wrong)


def _records(db: sqlite3.Connection, session: int, wanted: str) -> Iterator[str]:
    last = ""
    rows = db.execute(
        "SELECT id, data, sum FROM record WHERE id BETWEEN ? AND ? ORDER BY id", _range(session)
    )
    for row, data, given in rows:
        last = line_sum(last, bytes_of(data))
        if last != given:
            yield f"record {row & MOST} of the journal is not what was written"
            return
    if last != wanted:
        yield "the journal does not end with the record that it should"


def _state(db: sqlite3.Connection, session: int) -> Iterator[str]:
    row = db.execute("SELECT data, sum FROM state WHERE session = ?", (session,)).fetchone()
    if row is not None and row_sum(session, row[:1]) != row[1]:
        yield "the state is not what was written"


def _places(db: sqlite3.Connection, session: int) -> Iterator[str]:
    """Every searchable text is placed at the newest row that holds it."""
    wrong = db.execute(
        "SELECT b.id, p.seq, p.number, e.id, r.id FROM body b LEFT JOIN place p ON p.body = b.id"
        " LEFT JOIN (SELECT body, max(id) AS id FROM entry"
        "  WHERE id BETWEEN :first AND :last AND searchable GROUP BY body) e ON e.body = b.id"
        " LEFT JOIN (SELECT body, max(id) AS id FROM result"
        "  WHERE id BETWEEN :first AND :last AND searchable GROUP BY body) r ON r.body = b.id"
        " WHERE b.id BETWEEN :first AND :last"
        "  AND (p.seq IS NOT e.id & :most OR p.number IS NOT r.id & :most)",
        {"first": session << 32, "last": session << 32 | MOST, "most": MOST},
    )
    yield from _said("texts whose place is not noted", (row[0] & MOST for row in wrong))


def _live_and_size(db: sqlite3.Connection, session: int, numbers: Numbers) -> Iterator[str]:
    beyond = db.execute(
        "SELECT count(*) FROM live WHERE id BETWEEN ? AND ? AND NOT seq BETWEEN 0 AND ?",
        (*_range(session), numbers.next_seq - 1),
    ).fetchone()[0]
    if beyond:
        yield f"{beyond} entries of the live branch do not exist"
    size = sum(
        db.execute(
            f"SELECT ifnull(sum(length({column})), 0) FROM {table} WHERE id BETWEEN ? AND ?",
            _range(session),
        ).fetchone()[0]
        for table, column in (
            ("body", "data"),
            ("entry", "facts"),
            ("result", "facts"),
            ("record", "data"),
        )
    )
    if size != numbers.size_bytes:
        yield f"it holds {size} bytes, not {numbers.size_bytes}"


def _index(db: sqlite3.Connection, session: int | None) -> Iterator[str]:
    """Whether the index holds exactly the words of the texts. Sums of hashes, so in any order."""
    says: dict[int, int] = {}
    last, value = "", 0
    for word, body in index.held(db):
        if word != last:
            last, value = word, _hash(word)
        says[body] = says.get(body, 0) + value
    wrong = []
    indexed = dict(db.execute("SELECT number, indexed FROM session"))
    for body, text, about in index.placed(db):
        waits = body & MOST > indexed.get(body >> 32, 0)
        wanted = 0 if waits else sum(map(_hash, set(index.words_of(text, about))))
        if says.pop(body, 0) != wanted:
            wrong.append(body)
    wrong += says
    concerned = sorted(body for body in wrong if session in (None, body >> 32))
    said = _said("texts whose words are not in the index (rebuild_index mends it)", concerned)
    yield from said


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")


def _range(session: int) -> tuple[int, int]:
    return session << 32, session << 32 | MOST


def _said(what: str, numbers: Iterable[int]) -> Iterator[str]:
    """One finding for all that have the same fault."""
    wrong = list(numbers)
    if wrong:
        some = ", ".join(map(str, wrong[:_SOME])) + (", …" if len(wrong) > _SOME else "")
        yield f"{len(wrong)} {what}: {some}"
