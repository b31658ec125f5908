"""What a session's store costs: inserts beside bare SQLite, recalls as it grows, the write lock.

Medians and 95th percentiles of many calls, taken in turn with what they are compared to: what a
disk does in the middle of one must not count for the other only.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Table
from benchmarks.talks import messages, result
from compactor import Policy, Session
from compactor.store import SqliteStore, StoredEntry
from compactor.store.connections import Connections

ROOMY = Policy(window=10**9, counter="chars4")
_BODY_CHARS = 10_000
_BATCH = 10_000
_QUERIES = 40


def inserts(count: int) -> Table:
    """Results of 10 kB, each beside the same bytes put into a table, at the same `synchronous`.

    The mean holds what the word index costs later, the median what one call does.
    """
    bare, ours = [], []
    with _folder() as folder, Session.open(folder / "store", "a", ROOMY) as session:
        db = sqlite3.connect(folder / "bare", isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE body (id INTEGER PRIMARY KEY, data BLOB)",
        ):
            db.execute(statement)
        for k in range(count):
            text = result(k, 200)[:_BODY_CHARS]
            data, call = text.encode(), {"id": f"c{k}", "name": "bash", "arguments": "{}"}
            insert = "INSERT INTO body (data) VALUES (?)"
            bare.append(_seconds(lambda: db.execute(insert, (data,))))  # noqa: B023
            ours.append(_seconds(lambda: session.insert(call, text)))  # noqa: B023
        db.close()
    rows = [Row("bare SQLite, median", statistics.median(bare))]
    rows += [Row("insert, median", statistics.median(ours)), Row("insert, mean", _mean(ours))]
    return Table(f"{count:,} inserts of 10 kB, synchronous=FULL", rows, ratio="time")


def by_seq(sizes: Sequence[int]) -> Table:
    """`recall(seq=…)` anywhere in sessions of so many entries, median."""
    rows, rng = [], random.Random(1)
    for size in sizes:
        with _folder() as folder:
            _fill(folder / "store", size)
            with Session.open(folder / "store", "a", ROOMY) as session:
                seqs = [rng.randrange(size) for _ in range(_QUERIES * 10)]
                took = [_seconds(lambda: session.recall(seq=seq)) for seq in seqs]  # noqa: B023
        rows.append(Row(f"{size:,} entries", statistics.median(took)))
    return Table("recall by seq, median", rows, ratio="time")


def by_words(size: int) -> Table:
    """`recall(query=…)` in a session of so many entries, 95th percentiles."""
    rng = random.Random(2)
    with _folder() as folder:
        _fill(folder / "store", size)
        with Session.open(folder / "store", "a", ROOMY) as session:
            first = _seconds(lambda: session.recall(query="nowhere"))
            rows = []
            for what, query in QUERIES.items():
                queries = [query.format_map(_drawn(rng, size)) for _ in range(_QUERIES)]
                took = [_seconds(lambda: session.recall(query=each)) for each in queries]  # noqa: B023
                rows.append(Row(what, _p95(took)))
    rows.append(Row("the first, which catches up", first))
    return Table(f"recall by words, {size:,} entries, 95th percentile", rows)


def write_lock(entries: int, lines: int) -> Table:
    """A session's first request: how long it takes, and how long others cannot write meanwhile."""
    request = messages(entries, lines)
    with (
        _folder() as folder,
        Session.open(folder / "store", "a", ROOMY) as session,
        _held() as held,
    ):
        took = _seconds(lambda: session.prepare(request))
    size = sum(len(str(message)) for message in request) / 1_000_000
    rows = [Row("the request", took), Row("the lock, at the longest", max(held))]
    rows.append(Row("the lock, all together", sum(held)))
    title = f"a first request of {entries:,} entries, {size:.0f} MB"
    return Table(title, rows, ratio="time")


QUERIES = {
    "a word of one entry": "{one}",
    "a word of 0.1 % of the entries": "unit_{unit}",
    "a path of 0.1 %": "src/unit_{unit}/main.py",
    "a word of 1 %": "{a}",
    "three words of 1 %": "{a} {b} {c}",
    "a word of 1 % and one of all": "main {a}",
    "a word of all entries": "main",
    "the beginning of a word of all": "src/uni mai",
    "sixteen words": "src unit main py open and read row of total {a} {b} {c} {d} {e} {f}",
}
"""What is asked → a query of it, with words that are drawn anew for each."""


def _drawn(rng: random.Random, size: int) -> dict[str, object]:
    """Words for `QUERIES`: of one entry, of every thousandth, and of every hundredth."""
    words = dict(zip("abcdef", map(_hundredth, rng.sample(range(100), 6)), strict=True))
    return {"one": f"{rng.randrange(size):08x}", "unit": rng.randrange(1000), **words}


def _hundredth(k: int) -> str:
    """A word that every hundredth entry has."""
    return f"word{'abcdefghij'[k // 10]}{'klmnopqrst'[k % 10]}"


def _text(k: int) -> str:
    """Some 110 characters, with words of all, of each hundredth, of each thousandth and of one."""
    unit = k * 7919 % 1000
    return (
        f"src/unit_{unit}/main.py: open and read row {k % 97} of {k:08x}\n"
        f"  total {k * 31 % 9973}, {_hundredth(k * 613 % 100)} and {_hundredth(k // 100 % 100)}\n"
    )


def _fill(path: Path, size: int) -> None:
    with SqliteStore.open(path) as store:
        session = store.session("a", create=True)
        for start in range(0, size, _BATCH):
            seqs = range(start, min(size, start + _BATCH))
            with session.write(None) as write:
                write.add_entries([_entry(seq) for seq in seqs])
                write.set_live(start, seqs)


def _entry(seq: int) -> StoredEntry:
    return StoredEntry(seq, "user", f"{seq:032x}", _text(seq), facts=b'{"kind":"user"}')


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        yield Path(name)


@contextmanager
def _held() -> Iterator[list[float]]:
    """Seconds that each write held the lock of its file."""
    held: list[float] = []
    writing = Connections.writing

    @contextmanager
    def timed(self: Connections, **options: Any) -> Iterator[sqlite3.Connection]:
        with writing(self, **options) as db:
            start = time.perf_counter()
            yield db
        held.append(time.perf_counter() - start)

    Connections.writing = timed  # type: ignore[method-assign]
    try:
        yield held
    finally:
        Connections.writing = writing  # type: ignore[method-assign]


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _mean(seconds: Sequence[float]) -> float:
    return sum(seconds) / len(seconds)


def _p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)]
