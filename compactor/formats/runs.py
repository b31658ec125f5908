"""Files that hold several conversations: their names, which one is read, what is said of others.

A lens of such a file lists its runs; this file gives them unique names and picks the one to read,
the same way in every format. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from compactor.core.errors import Finding
from compactor.core.model import Path
from compactor.formats.messages import field, shape_error, value_at
from compactor.formats.raw.native import LazyRows

MAIN = "main"
"""The name of the one main conversation, in formats that have one."""
_SHOWN = 10


class Run(NamedTuple):
    """One conversation of a file.

    name: unique in the file.
    at: address of the object that holds it.
    native: that object; None of a large file, in which it is looked for when it is wanted.
    part: which of several conversations in that object; "" where it holds one.
    """

    name: str
    at: Path
    native: Any
    part: str = ""


def named(found: Iterable[Run], root: Any = None) -> list[Run]:
    """Runs in document order, each by its own name or, where it has none or repeats one, by a
    number as well. O(runs).

    Args:
        root: what the addresses lead into; of rows that are read on demand none is kept.
    """
    runs: list[Run] = []
    counts: dict[str, int] = {}
    for index, run in enumerate(found):
        name = base = run.name or f"run-{index + 1}"
        while name in counts:
            counts[base] += 1
            name = f"{base}#{counts[base]}"
        counts[name] = 1
        native = None if isinstance(root, LazyRows) else run.native
        runs.append(run._replace(name=name, native=native))
    return runs


def id_of(native: Any, keys: Iterable[str]) -> str:
    """The first of these ids that an object has; "" when it has none."""
    ids = (field(native, key) for key in keys)
    return next((str(i) for i in ids if isinstance(i, (str, int)) and i != ""), "")


def chosen(runs: Sequence[Run], wanted: str, root: Any = None) -> Run:
    """The run of this name; the first when no name is given.

    Args:
        root: as for `named`.

    Raises:
        InputError: `input.shape` when there is no such run, or none at all.
    """
    if not runs:
        raise shape_error((), "no conversation is in it")
    for run in runs[:1] if not wanted else runs:
        if wanted in ("", run.name):
            is_there = run.native is not None or root is None
            return run if is_there else run._replace(native=value_at(root, run.at))
    names = ", ".join(run.name for run in runs[:_SHOWN])
    more = f" and {len(runs) - _SHOWN} more" if len(runs) > _SHOWN else ""
    raise shape_error((), f"there is no thread {wanted[:80]!r}", f"threads: {names}{more}")


def others(runs: Sequence[Run]) -> list[Finding]:
    """What is said of the conversations that are not read."""
    count = len(runs) - 1
    message = f"{count} more conversations; choose one with --thread"
    return [Finding("other_threads", message)] if count > 0 else []
