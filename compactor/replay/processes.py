"""The same work by processes of this machine, each of which has one file at a time.

A process that dies takes only its own file with it, which is tried once more when no other works
and memory is free again. None outlives its parent: whoever waits for a file reads the end of its
pipe. Fresh interpreters, so that no thread of ours is forked. Specification: docs/replay.md.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final, Self

from compactor.replay.many import Done, Item, Task, Work, died, one_by_one, work

ALONE_S: Final = 1.0
"""How long this process works alone: starting others takes about as long."""
SMALL_BYTES: Final = 1_500_000
"""A larger file is never replayed by this process beside others: it may need too much memory."""
_SPAWN: Final = get_context("spawn")


def local(
    task: Task, items: Sequence[Item], jobs: int | None = None, do: Work = work
) -> Iterator[Done]:
    """By processes of this machine, in any order.

    Args:
        jobs: how many at most, from the start; None is as many as there are cores, once it is known
            that this process alone would take long.
    """
    if jobs == 1 or len(items) < 2:
        yield from one_by_one(task, items, do)
        return
    waiting = deque(sorted(items, key=lambda item: (item.size_bytes, item.index)))
    if jobs is None:
        yield from _alone(task, waiting, do)
    lost: list[Item] = []
    with _Crew(task, do) as crew:
        for item, done in crew.each(waiting, jobs or cores()):
            if done is None:
                lost.append(item)
            else:
                yield done
        for item, done in crew.each(deque(lost), 1):
            yield done or Done(item.index, failure=died(item))


def _alone(task: Task, waiting: deque[Item], do: Work) -> Iterator[Done]:
    """The smallest ones, for a while."""
    end = time.monotonic() + ALONE_S
    while waiting and waiting[0].size_bytes <= SMALL_BYTES and time.monotonic() < end:
        yield do(task, waiting.popleft())


def cores() -> int:
    """How many processes can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """A process, and what it works on."""

    def __init__(self, task: Task, do: Work) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        self.process: BaseProcess = _SPAWN.Process(
            target=_serve, args=(theirs, task, do), daemon=True
        )
        with _uninterrupted():
            self.process.start()
        theirs.close()  # so that its end is seen here when it dies
        self.item: Item | None = None

    def give(self, item: Item) -> None:
        """A file to work on. If it is dead by now, `taken` will find out."""
        self.item = item
        with suppress(OSError):
            self.pipe.send(item)

    def taken(self) -> Done | None:
        """What came of it; None if the process died."""
        try:
            done = self.pipe.recv()
        except (EOFError, OSError):
            return None
        assert isinstance(done, Done)
        return done

    def end(self) -> None:
        """At once, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Crew:
    """Processes, started when there is work, ended together."""

    def __init__(self, task: Task, do: Work) -> None:
        self._task = task
        self._do = do
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in (*self._idle, *self._busy.values()):
            worker.end()

    def each(self, waiting: deque[Item], jobs: int) -> Iterator[tuple[Item, Done | None]]:
        """Files as they are done, the last first, None for one whose process died.

        The largest ones are last: no process is left alone with one of them in the end.
        """
        while waiting or self._busy:
            while waiting and len(self._busy) < jobs:
                worker = self._idle.pop() if self._idle else _Worker(self._task, self._do)
                self._busy[worker.pipe] = worker
                worker.give(waiting.pop())
            ready = connection.wait(list(self._busy))
            for pipe in [each for each in self._busy if each in ready]:
                yield self._took(self._busy.pop(pipe))

    def _took(self, worker: _Worker) -> tuple[Item, Done | None]:
        item, done = worker.item, worker.taken()
        assert item is not None
        if done is None:
            worker.end()
        else:
            self._idle.append(worker)
        return item, done


def _serve(pipe: Connection, task: Task, do: Work) -> None:
    """What a process does: a file after the other, until the other end is closed or gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and ends us
    with suppress(EOFError, OSError, MemoryError):
        while True:
            pipe.send(do(task, pipe.recv()))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """What is started here is never interrupted by a terminal, not even while it starts."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
