"""The same work on a cluster, by Ray Data.

Needs the extra `ray`, imported when it is asked for. Ray splits the list of files, runs `work`
where there is room, and tries again; a file whose worker dies each time is a row, and no other is
lost. Before that one worker is asked whether it has this package: a cluster that cannot work is an
error and not a row a file. Specification: docs/replay.md.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

from compactor.core.errors import PolicyError
from compactor.replay.many import Done, Item, Task, Work, died, work
from compactor.replay.remote import package

_ATTEMPTS: Final = 3
"""Ray itself tries without end when a worker dies or is killed for its memory."""
_BLOCKS_MAX: Final = 10_000
_QUIET: Final = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
_ADDRESS: Final = "RAY_ADDRESS"
_WAIT_S: Final = 10.0


def on_ray(task: Task, items: Sequence[Item], do: Work = work) -> Iterator[Done]:
    """By Ray, in any order: a running one, that of `RAY_ADDRESS`, or one of this machine.

    Raises:
        PolicyError: `policy.not_installed`; `policy.engine`: there is no Ray, or none that can do
            this work.
    """
    ray, data = package("ray"), package("ray.data")
    with _said():
        _connect(ray)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1
    begun = ray.remote(_Begun).options(num_cpus=0, max_restarts=-1, max_task_retries=-1).remote()
    rows = [{"item": pickle.dumps(item)} for item in items]
    made = data.from_items(rows, override_num_blocks=min(len(rows), _BLOCKS_MAX))
    left = {item.index: item for item in items}
    for row in _rows(ray, made.map(_Mapper(task, do, begun))):
        done: Done = pickle.loads(row["done"])
        if left.pop(done.index, None) is not None:
            yield done
    for item in left.values():
        yield Done(item.index, failure=died(item))


class _Begun:
    """How often each file was begun whose end was never told: on one node, asked by all."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def begin(self, index: int) -> int:
        """Which attempt this is, from 1."""
        self._times[index] += 1
        return self._times[index]

    def end(self, index: int) -> None:
        del self._times[index]


class _Mapper:
    """A row of a data set to a row of another."""

    def __init__(self, task: Task, do: Work, begun: Any) -> None:
        self._task = task
        self._do = do
        self._begun = begun
        self._folder = os.getcwd()

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        with suppress(OSError):  # a node that has not this folder has none of its files either
            os.chdir(self._folder)
        item: Item = pickle.loads(row["item"])
        attempt = package("ray").get(self._begun.begin.remote(item.index))
        lost = attempt > _ATTEMPTS
        done = Done(item.index, failure=died(item)) if lost else self._do(self._task, item)
        self._begun.end.remote(item.index)
        return {"done": pickle.dumps(done)}


def _rows(ray: Any, mapped: Any) -> Iterator[Any]:
    """What came back before the cluster was lost, if it was."""
    try:
        yield from mapped.iter_rows()
    except ray.exceptions.RayError:
        return


def _connect(ray: Any) -> None:
    if not ray.is_initialized():
        _knock(os.environ.get(_ADDRESS, ""))
        ray.init(**_QUIET)
    theirs, ours = ray.get(ray.remote(_version).options(num_cpus=0).remote()), _version()
    if theirs != ours:
        raise RuntimeError(f"its nodes have version {theirs} of this package, here is {ours}")


def _version() -> str:
    return str(package("compactor").__version__)


def _knock(address: str) -> None:
    """Ray waits for minutes for a cluster that is not there.

    Raises:
        OSError: nobody answers.
    """
    place = urlsplit(address if "://" in address else f"//{address}")
    if place.hostname and place.port:
        socket.create_connection((place.hostname, place.port), _WAIT_S).close()


@contextmanager
def _said() -> Iterator[None]:
    """What is wrong with a cluster, as an error of ours."""
    try:
        yield
    except PolicyError:
        raise
    except Exception as error:  # Ray raises errors of many libraries
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise PolicyError(
            f"Ray cannot do this work: {lines[-1]}",
            code="policy.engine",
            path=os.environ.get(_ADDRESS, ""),
            hint=f"see {_ADDRESS}, and that this package is installed on the nodes",
        ) from error
