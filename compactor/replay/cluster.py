"""The same work on a cluster, by Ray Data.

Needs the extra `ray`, imported when it is asked for. Ray splits the list of files, runs `work`
where there is room, and retries; a file whose worker dies again is a row, and no other is lost.
Specification: docs/replay.md.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from compactor.inspection import Failure
from compactor.replay.many import Done, Item, Task, Work, work
from compactor.replay.remote import package

_ATTEMPTS: Final = 2
"""The second one has each file that was left in a task of its own."""
_BLOCKS_MAX: Final = 10_000
_QUIET: Final = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}


def on_ray(task: Task, items: Sequence[Item], do: Work = work) -> Iterator[Done]:
    """By Ray, in any order: a running one, that of `RAY_ADDRESS`, or one of this machine.

    Raises:
        PolicyError: `policy.not_installed`.
    """
    ray, data = package("ray"), package("ray.data")
    if not ray.is_initialized():
        ray.init(**_QUIET)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1
    left = {item.index: item for item in items}
    for attempt in range(_ATTEMPTS):
        if not left:
            return
        rows = [{"item": pickle.dumps(item)} for item in left.values()]
        blocks = len(rows) if attempt else min(len(rows), _BLOCKS_MAX)
        made = data.from_items(rows, override_num_blocks=blocks)
        mapped = made.map(_Mapper(task, do), max_retries=1)
        for row in _rows(mapped):
            done: Done = pickle.loads(row["done"])
            left.pop(done.index, None)
            yield done
    for item in left.values():
        text = "the worker that replayed it died, twice; it may need more memory than there is"
        yield Done(item.index, failure=Failure("internal.worker", text, item.path))


class _Mapper:
    """A row of a data set to a row of another."""

    def __init__(self, task: Task, do: Work) -> None:
        self._task = task
        self._do = do

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        item: Item = pickle.loads(row["item"])
        return {"done": pickle.dumps(self._do(self._task, item))}


def _rows(mapped: Any) -> Iterator[Any]:
    """What came back; of a run in which every task died nothing does, and Ray says so."""
    ray = package("ray")
    try:
        yield from mapped.iter_rows()
    except (ray.exceptions.RayError, package("ray.data").exceptions.RayDataUserCodeException):
        return
