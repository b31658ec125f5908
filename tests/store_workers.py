"""What the processes do that the tests of the store start, stop and kill."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

from compactor.store import SqliteStore, Stored, StoredEntry, StoredResult, index
from compactor.store.session import SqliteSession
from tests.store_kit import filled, result

TEXT = "a line of the text\n" * 300


def write_all(session: SqliteSession) -> None:
    """A write that uses every table, and then reads back what it wrote."""
    loaded = session.load()
    with session.write(loaded.version) as write:
        start, number = write.next_seq, write.next_number
        write.add_result(result(number, f"{TEXT}{number}"))
        write.add_result(StoredResult(number + 1, tool="recall", root=number))
        write.add_entries(
            [
                StoredEntry(start, "tool", "a", f"[#{number:04x} x]\n{TEXT}{number}", "bash"),
                StoredEntry(start + 1, "user", "b", f"other {start}", facts=b"f" * 2_000),
            ]
        )
        write.set_live(len(loaded.live) // 2, [start, start + 1])
        write.add_records([b"{}", b'{"n":%d}' % start])
        write.put_state(b"state %d" % start)


def states(folder: Path) -> tuple[Stored, Stored]:
    """What a session says before and after the write, with nothing happening."""
    with SqliteStore.open(folder / "model") as store:
        session = filled(store)
        before = session.load()
        write_all(session)
        return before, session.load()


def in_child(work: Callable[[], None], prepare: Callable[[], None]) -> int:
    """Do some work in a forked process. Its exit status; negative: it was killed."""
    child = os.fork()
    if child == 0:
        try:
            prepare()
            work()
        except BaseException as error:  # a child must not go on with the tests
            os.write(2, f"{error!r}\n".encode())
            os._exit(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(step: int) -> None:
    """This process ends at the n-th step of the first connection that it opens."""
    connect = sqlite3.connect

    def killing(*args: object, **options: object) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **options)  # type: ignore[call-overload]
        steps = iter(range(step - 1, -1, -1))
        db.set_progress_handler(
            lambda: next(steps, 1) == 0 and os.kill(os.getpid(), signal.SIGKILL), 1
        )
        return db

    sqlite3.connect = killing  # type: ignore[assignment]


def limit_files(size: int) -> None:
    """This process ends when it makes a file larger than that."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def one_write(path: Path) -> None:
    with SqliteStore.open(path) as store:
        write_all(store.session("one"))


def killed_at_every_step(folder: Path, prepare: Callable[[int], None]) -> dict[str, int]:
    """Kill a process in the midst of a write again and again until one is done."""
    index.BEHIND_CHARS = 2_000
    before, after = states(folder)
    path = folder / "store"
    with SqliteStore.open(path) as store:
        filled(store)
    step, stride = 0, 4_099 if prepare is limit_files else 1
    ends = {"before": 0, "after": 0}
    while True:
        # A write that was kept makes the file longer, so the next limit is farther off.
        step += stride * (1 + 8 * ends["after"]) + (ends["before"] // 50 if stride == 1 else 0)
        status = in_child(lambda: one_write(path), lambda: prepare(step))  # noqa: B023
        with SqliteStore.open(path) as store:
            loaded = store.session("one").load()
            assert loaded in (before, after), step
            assert store.verify() == [], step
        ends["after" if loaded == after else "before"] += 1
        if status == 0:
            assert loaded == after
            return ends
        assert status < 0, step
        if loaded == after:
            after = states_after(folder, before := after)


def states_after(folder: Path, before: Stored) -> Stored:
    """What the next write leaves: the model takes it too."""
    with SqliteStore.open(folder / "model") as store:
        session = store.session("one")
        assert session.load() == before
        write_all(session)
        return session.load()
