"""Many processes insert into one store and are killed again and again; then all is looked at.

Each process writes to a session of its own and to one that all share, notes what it was answered,
and goes on from its notes when it is started anew. It is killed (SIGKILL) within SQLite, after a
number of steps that is drawn, and by its parent at any time. What must hold at the end is in
`_checked`: every answer is stored as it was given, no number was given twice, every marker leads to
what it stands for, and `verify` finds nothing.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Row, Table
from compactor import Policy, Session
from compactor.store import SqliteStore

POLICY = Policy(window=4_000, counter="chars4", counter_scale=1000, overhead_tokens=0)
SHARED = "shared"
_STEPS = 10
"""Steps of SQLite between two looks at whether to die."""
_ID = re.compile(r"\[#([0-9a-f]{4,8})")
_MARKER = re.compile(r"\[elided [0-9]+ chars of bash output — recall (#[0-9a-f]{4,8})\]")


class Size(NamedTuple):
    """How long a soak is.

    looks: a process dies in SQLite after at most so many looks of `_STEPS` steps each.
    seconds: a process is killed by its parent after at most so many; 0 for never.
    """

    processes: int
    inserts: int
    looks: int
    seconds: float


class Note(NamedTuple):
    """One insert of a process: its number, and the text that was answered; None for none yet."""

    number: int
    text: str | None


class Soaked(NamedTuple):
    """What came of a soak; `wrong` holds a line for everything that must not be."""

    answered: int
    kills: int
    seconds: float
    wrong: list[str]


def soak(size: Size) -> Table:
    """Run one, and show what was done.

    Raises:
        SystemExit: something was wrong.
    """
    done = run(size)
    if done.wrong:
        raise SystemExit("\n".join(done.wrong))
    rows = [
        Row("inserts that were answered", done.seconds, done.answered),
        Row("processes that were killed", done.seconds, done.kills),
    ]
    title = f"{size.processes} processes of {size.inserts:,} inserts, killed at random: all is well"
    return Table(title, rows, "times")


def run(size: Size, seed: int = 1) -> Soaked:
    """Start the processes, start them anew until all are done, and look at what they left."""
    start, told = time.perf_counter(), list[tuple[int, str]]()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        threads = [
            threading.Thread(target=_nursed, args=(folder, size, worker, seed, told))
            for worker in range(size.processes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wrong = [said for _, said in told if said]
        wrong += _checked(folder, size)
        kills = sum(count for count, _ in told)
        answered = sum(len(_answered(folder, worker)) for worker in range(size.processes))
    return Soaked(answered, kills, time.perf_counter() - start, wrong)


def _nursed(folder: Path, size: Size, worker: int, seed: int, told: list[tuple[int, str]]) -> None:
    """Start a process until it ends by itself."""
    rng = random.Random(f"{seed} parent {worker}")
    given = [str(each) for each in (folder, worker, size.inserts, size.looks, seed)]
    kills, said = 0, ""
    while True:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.soak", *given, str(kills)], stderr=subprocess.PIPE
        )
        try:
            said = process.communicate(timeout=rng.random() * size.seconds or None)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[1].decode()
        if said or process.returncode != -signal.SIGKILL:
            break
        kills += 1
    told.append(
        (kills, said or (f"a process ended with {process.returncode}" * bool(process.returncode)))
    )


# what a process does


def _work(folder: Path, worker: int, inserts: int) -> None:
    """Go on where the notes end."""
    notes = _notes(folder, worker)
    entries = _entries(worker, notes)
    with SqliteStore.open(folder / "store") as store, _log(folder, worker).open("ab", 0) as log:
        own = Session(store, f"own-{worker}", POLICY, format="entries")
        shared = Session(store, SHARED, POLICY)
        for number in range(len([note for note in notes if note.text is not None]), inserts):
            session = own if _is_own(number) else shared
            log.write(json.dumps([number, None]).encode() + b"\n")
            text = session.insert(_call(worker, number), _output(worker, number))
            log.write(json.dumps([number, text]).encode() + b"\n")
            if session is own:
                entries += _messages(worker, number, text)
            if number % 20 == 0:
                own.prepare(entries)
        own.prepare(entries)


def _is_own(number: int) -> bool:
    return number % 2 == 0


def _call(worker: int, number: int) -> dict[str, Any]:
    return {"id": f"call-{worker}-{number}", "name": "bash", "arguments": "{}"}


def _output(worker: int, number: int) -> str:
    """A text of its own for each call, of up to 8,000 characters."""
    rows = random.Random(worker * 1_000_003 + number).choice([1, 3, 10, 30, 200])
    return f"process {worker} says at its call {number}\n" * rows


def _messages(worker: int, number: int, text: str) -> list[dict[str, Any]]:
    call = _call(worker, number)
    asked = {"kind": "assistant", "text": "", "calls": [call]}
    return [asked, {"kind": "tool", "call": call["id"], "text": text}]


def _entries(worker: int, notes: Sequence[Note]) -> list[dict[str, Any]]:
    """The history of a process's own session."""
    entries: list[dict[str, Any]] = [{"kind": "user", "text": f"go, {worker}"}]
    for number, text in notes:
        if text is not None and _is_own(number):
            entries += _messages(worker, number, text)
    return entries


def _log(folder: Path, worker: int) -> Path:
    return folder / f"{worker}.log"


def _notes(folder: Path, worker: int) -> list[Note]:
    """What a process noted; a line that was cut off is mended away."""
    path = _log(folder, worker)
    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        path.write_bytes(whole)
    return [Note(*json.loads(line)) for line in whole.splitlines()]


def _answered(folder: Path, worker: int) -> dict[int, str]:
    return {note.number: note.text for note in _notes(folder, worker) if note.text is not None}


def _die_after(looks: int) -> None:
    """This process ends within SQLite, whichever connection it is that looks."""
    connect, left = sqlite3.connect, iter(range(looks, -1, -1))

    def mortal(*args: Any, **options: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **options)
        db.set_progress_handler(
            lambda: next(left, 1) == 0 and os.kill(os.getpid(), signal.SIGKILL), _STEPS
        )
        return db

    sqlite3.connect = mortal  # type: ignore[assignment]


# what must hold at the end


def _checked(folder: Path, size: Size) -> Iterator[str]:
    """A line for everything that is wrong."""
    with SqliteStore.open(folder / "store", create=False) as store:
        yield from (finding.message for finding in store.verify())
        answers = {worker: _answered(folder, worker) for worker in range(size.processes)}
        asked = {
            (worker, note.number)
            for worker in answers
            for note in _notes(folder, worker)
            if note.text is None
        }
        for worker, texts in answers.items():
            if sorted(texts) != list(range(size.inserts)):
                yield f"process {worker} has {len(texts)} answers, not {size.inserts}"
        own = {worker: Session(store, f"own-{worker}", POLICY) for worker in answers}
        shared = Session(store, SHARED, POLICY, create=False)
        yield from _given(shared, answers, asked, own=False)
        for worker, session in own.items():
            yield from _given(session, {worker: answers[worker]}, asked, own=True)
            yield from _shown(session, worker, _entries(worker, _notes(folder, worker)))


def _given(
    session: Session, answers: dict[int, dict[int, str]], asked: set[tuple[int, int]], *, own: bool
) -> Iterator[str]:
    """Whether each answer is stored under its number, and nothing is that nobody asked for."""
    calls, seen = dict[str, tuple[int, int]](), dict[int, str]()
    for worker, number in sorted(asked):
        calls[_call(worker, number)["id"]] = (worker, number)
    for worker, texts in answers.items():
        for number, text in texts.items():
            if _is_own(number) != own:
                continue
            found = _ID.match(text)
            known = int(found[1], 16) if found else 0
            if known in seen:
                yield f"{session.id}: #{known:04x} was given to {seen[known]} and {worker}-{number}"
            seen[known] = f"{worker}-{number}"
            stored = session.kept.result(known)
            wanted = (_call(worker, number)["id"], _output(worker, number))
            if stored is None or (stored.call_id, stored.text) != wanted:
                yield f"{session.id}: #{known:04x} is not what {worker}-{number} was answered"
    for known in session.kept.book.facts:
        stored = session.kept.result(known)
        place = calls.get(stored.call_id) if stored is not None else None
        if stored is None or place is None or stored.text != _output(*place):
            yield f"{session.id}: #{known:04x} is of nobody"


def _shown(session: Session, worker: int, entries: list[dict[str, Any]]) -> Iterator[str]:
    """Whether the last request shows every entry, or a marker that leads to it."""
    view = session.prepare(entries).request
    outputs = {_call(worker, n)["id"]: _output(worker, n) for n in range(len(entries))}
    seqs, elided = session.kept.branch.seqs, 0
    for seq, entry, shown in zip(seqs, entries, view, strict=True):
        if session.recall(seq=seq) != entry["text"] and entry["kind"] != "assistant":
            yield f"{session.id}: seq {seq} is not the entry that was sent"
        marker = _MARKER.search(shown["text"]) if shown["kind"] == "tool" else None
        if marker is None:
            continue
        elided += 1
        _, _, said = session.recall(id=marker[1]).partition("\n")
        if said.rstrip("\n") != outputs[entry["call"]].rstrip("\n"):
            yield f"{session.id}: {marker[0]} leads to something else"
    if not elided and len(entries) > 100:
        yield f"{session.id}: nothing was elided"


def main(given: Sequence[str]) -> None:
    """One process of a soak."""
    folder, worker, inserts, looks, seed, life = Path(given[0]), *map(int, given[1:])
    rng = random.Random(f"{seed} {worker} {life}")
    _die_after(rng.randrange(1, looks + life * looks // 8))  # longer lives come to an end
    _work(folder, worker, inserts)


if __name__ == "__main__":
    main(sys.argv[1:])
