"""What the processes do that the tests of sessions start, stop and kill."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from compactor import Policy, Session
from compactor.core.errors import StoreError
from compactor.formats.entries import Entries
from tests.session_kit import ID, LINES, PATH, RESOLVED, stubs_are_answered
from tests.store_workers import in_child, kill_at

_BASH_MARKER = re.compile(
    r"\A\[#([0-9a-f]{4})\]\n\[elided [0-9]+ chars of bash output — recall #([0-9a-f]{4})\]"
)
POLICY = Policy(window=1200, counter="chars4", counter_scale=1000, overhead_tokens=0, keep_recent=3)
PRESSED = msgspec.structs.replace(POLICY, window=600)
"""Under which the conversation that is killed has its results elided."""


class Failing:
    """SQLite stops a call once after so many looks at it, a few operations each."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.stopped = 0

    def connect(self, *args: Any, **options: Any) -> sqlite3.Connection:
        """In the place of `sqlite3.connect`."""
        db: sqlite3.Connection = self._connect(*args, **options)
        db.set_progress_handler(self._look, 7)
        return db

    _connect = staticmethod(sqlite3.connect)

    def _look(self) -> bool:
        if self.left is None:
            return False
        self.left -= 1
        if self.left > 0:
            return False
        self.left = None
        self.stopped += 1
        return True


class Filling:
    """Disks that have room for so many more pages at most; SQLite says when they are full."""

    def __init__(self) -> None:
        self._made: list[sqlite3.Connection] = []
        self.filled = 0

    def connect(self, *args: Any, **options: Any) -> sqlite3.Connection:
        """In the place of `sqlite3.connect`."""
        db: sqlite3.Connection = self._connect(*args, **options)
        self._made.append(db)
        return db

    _connect = staticmethod(sqlite3.connect)

    def leave(self, pages: int | None) -> None:
        """Leave room for so many pages; None for enough."""
        self._made = [db for db in self._made if _is_open(db)]
        for db in self._made:
            used = db.execute("PRAGMA page_count").fetchone()[0]
            db.execute(f"PRAGMA max_page_count = {1 << 30 if pages is None else used + pages}")


def _is_open(db: sqlite3.Connection) -> bool:
    try:
        return db.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


class Patient:
    """A session whose disk is full now and then, and has room again when the call is made again."""

    def __init__(self, session: Session, disk: Filling, rng: random.Random) -> None:
        self._session, self._disk, self._rng = session, disk, rng

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._session, name)
        if not callable(value) or name == "close":
            return value
        return lambda *args, **options: self._call(value, *args, **options)

    def _call(self, value: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self._disk.leave(self._rng.choice([0, 0, 1, 2, None]))
        try:
            return value(*args, **options)
        except StoreError as error:
            if error.code != "store.full":
                raise
            self._disk.filled += 1
        finally:
            self._disk.leave(None)
        return value(*args, **options)


class Stubborn:
    """A session whose calls fail now and then, and are made again."""

    def __init__(self, session: Session, failing: Failing, rng: random.Random) -> None:
        self._session, self._failing, self._rng = session, failing, rng

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._session, name)
        if not callable(value) or name == "close":
            return value
        return lambda *args, **options: self._call(value, *args, **options)

    def _call(self, value: Callable[..., Any], *args: Any, **options: Any) -> Any:
        failing, before = self._failing, self._failing.stopped
        if self._rng.random() < 0.5:
            failing.left = self._rng.choice([1, 3, 10, 30, 60, 100, 200])
            try:
                return value(*args, **options)
            except Exception:
                if failing.stopped == before:
                    raise
            finally:
                failing.left = None
        return value(*args, **options)


def steps() -> Iterator[tuple[str, Any]]:
    """A conversation: what to insert, and when to send or to summarise."""
    rng = random.Random(7)
    for number in range(1, 26):
        kind = rng.choice(["read", "read", "bash", "bash", "search"])
        if kind == "read":
            first = rng.randint(1, 30)
            read = {"path": PATH, "resolved": RESOLVED, "first": first, "last": first + 20,
                    "total_lines": len(LINES), "content": "".join(LINES)}  # fmt: skip
            yield "insert", ["read", f"c{number}", "", {"read": read}]
        else:
            tool, rows = ("grep", 9) if kind == "search" else ("bash", rng.randint(0, 90))
            row = "a row of it\n" if kind == "search" else f"a row of {number}\n"
            yield "insert", [tool, f"c{number}", row * rows, {}]
        yield "prepare", None
        if number % 10 == 9:
            yield "summarised", f"what was done before {number}"


def talk(folder: Path) -> None:
    """Go on with the conversation where the log ends, and write down what is done."""
    log = folder / "log"
    done = _read(log)
    entries: list[dict[str, Any]] = [{"kind": "user", "text": "go"}]
    opened = Session.open(folder / "store", "s", PRESSED, format="entries")
    with opened as session, open(log, "ab") as file:
        for number, (kind, given) in enumerate(steps()):
            is_done = number < len(done)
            result = done[number] if is_done else _do(session, kind, given, entries)
            if kind == "insert":
                entries += _messages(given, result)
            if not is_done:
                file.write(json.dumps(result).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())


def _read(log: Path) -> list[Any]:
    """What is done; the last line may have been cut off."""
    text = log.read_bytes() if log.exists() else b""
    return [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]


def _do(session: Session, kind: str, given: Any, entries: list[dict[str, Any]]) -> Any:
    if kind == "insert":
        tool, call_id, output, more = given
        call = {"id": call_id, "name": tool, "arguments": "{}"}
        return session.insert(call, output, **more)
    if kind == "prepare":
        return session.prepare(entries).request
    return session.summarised(given)


def _messages(given: Any, text: str) -> list[dict[str, Any]]:
    call = {"id": given[1], "name": given[0], "arguments": "{}"}
    asked = {"kind": "assistant", "text": "", "calls": [call]}
    return [asked, {"kind": "tool", "call": given[1], "text": text}]


def killed_again_and_again(folder: Path) -> dict[str, Any]:
    """Kill the conversation in the midst of its calls until it is done; what came of it."""
    kills, step, lines = 0, 400, 0
    while in_child(lambda: talk(folder), lambda: kill_at(step)):  # noqa: B023
        kills += 1
        known, lines = lines, len(_read(folder / "log"))
        step += 601 if lines == known else 37
    done = _read(folder / "log")
    told = list(zip(steps(), done, strict=True))
    outputs = {re.match(ID, text)[1]: given[2] for (kind, given), text in told if kind == "insert"}  # type: ignore[index]
    markers: list[tuple[str, str]] = []
    for (kind, _), result in told:
        if kind == "prepare":
            entries = Entries().read(result).entries
            stubs_are_answered(entries)
            markers += [found.groups() for e in entries if (found := _BASH_MARKER.search(e.body))]
    with Session.open(folder / "store", "s", PRESSED, format="entries", create=False) as session:
        found = [finding.code for finding in session._store.verify()]
        texts = {text for (kind, _), text in zip(steps(), done, strict=True) if kind == "insert"}
        numbers = [facts.number for facts in session.kept.book.facts.values()]
        seqs = session.kept.branch.seqs
        recalled = {session.recall(seq=seq) for seq in seqs}
        wrong = [
            marker for marker in markers
            if session.kept.text_of_result(int(marker[1], 16)) != outputs[marker[0]]
        ]  # fmt: skip
    return {
        "kills": kills,
        "findings": found,
        "numbers": numbers == list(range(1, len(numbers) + 1)),
        "lost": len(texts - recalled),
        "seqs": seqs == list(range(len(seqs))),
        "markers": len(markers),
        "wrong": wrong,
    }
