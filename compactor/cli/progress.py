"""A bar that tells how far a command is with its files: on a terminal's stderr, nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from compactor.walk import Found


def each_file(found: Sequence[Found], *, quiet: bool) -> Iterator[Found]:
    """The files one after the other, with a bar in bytes where there are several."""
    is_heard = not quiet and sys.stderr is not None and sys.stderr.isatty()
    if len(found) < 2 or not is_heard:
        yield from found
        return
    length = sum(file.size_bytes for file in found)
    with click.progressbar(length=length, label="reading", file=sys.stderr) as bar:
        for file in found:
            yield file
            bar.update(file.size_bytes)


@contextmanager
def bar(length: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar of so many bytes, and what moves it: files may end in any order."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _bytes: None
        return
    with click.progressbar(length=length, label="replaying", file=sys.stderr) as shown:
        yield shown.update
