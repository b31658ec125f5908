"""The files that `replay` writes beside its table: a page, a picture, a Parquet file."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from compactor.cli.many import Gathered
from compactor.cli.screen import note, plain
from compactor.core.errors import CompactorError
from compactor.durable import check_replaceable, replace_file
from compactor.replay import Replay
from compactor.replay.page import html
from compactor.replay.page.picture import picture, plotting
from compactor.replay.parquet import write_parquet
from compactor.replay.remote import package


class Reports(NamedTuple):
    """Where to, each None for nowhere."""

    html: str | None
    png: str | None
    parquet: str | None

    @property
    def need_rows(self) -> bool:
        """Whether any of them wants a row a request."""
        return self.png is not None

    def refuse(self, other: str) -> None:
        """Raises:
        click.UsageError: one of them is asked for beside what has no replays to show.
        """
        for flag, path in self._flags():
            if path is not None:
                raise click.UsageError(f"{other} and {flag} cannot be had at once")

    def check(self, inputs: Sequence[str]) -> None:
        """Before the work is done, that it can be kept.

        Raises:
            click.UsageError: one would go over an input or another, or to standard output.
            CompactorError: `output.unwritable`; `policy.not_installed`.
        """
        taken = {_identity(path): "an input" for path in inputs}
        for flag, path in self._flags():
            if path is None:
                continue
            if path == "-":
                raise click.UsageError(f"{flag} needs a file: standard output has the table")
            same = taken.setdefault(_identity(path), flag)
            if same != flag:
                raise click.UsageError(f"{flag} {path} is {same}: give another file")
            if "://" not in path:
                _check(path)
        if self.png is not None:
            plotting()
        if self.parquet is not None:
            package("pyarrow")
            package("fsspec")

    def write(self, found: Gathered, *, rows: bool, quiet: bool) -> None:
        """All that are asked for.

        Raises:
            CompactorError: `output.unwritable`.
        """
        if self.html is not None:
            page = html(found.told, list(_page_rows(found)))
            self._put(self.html, page.encode(), quiet=quiet)
        if self.png is not None:
            self._put(self.png, picture(found.replays), quiet=quiet)
        if self.parquet is not None:
            write_parquet(self.parquet, found.done, rows=rows)

    def _put(self, path: str, data: bytes, *, quiet: bool) -> None:
        try:
            replace_file(Path(path), [data])
        except OSError as error:
            raise _unwritable(path, error) from error
        if not quiet:
            note(f"note: {plain(path)} is written: {len(data):,} bytes")

    def _flags(self) -> list[tuple[str, str | None]]:
        return [("--html", self.html), ("--png", self.png), ("--parquet", self.parquet)]


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--html`, `--png` and `--parquet`, handed over as one `reports`."""

    @functools.wraps(command)
    def handed_over(html: str | None, png: str | None, parquet: str | None, **others: Any) -> Any:
        return command(reports=Reports(html, png, parquet), **others)

    decorated: Callable[..., Any] = handed_over
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


_OPTIONS = (
    click.option(
        "--html", metavar="FILE",
        help="Also write a page that shows it all: one file, which asks for nothing else.",
    ),
    click.option(
        "--png", metavar="FILE", help="Also draw the curves (needs the extra plot).",
    ),
    click.option(
        "--parquet", metavar="FILE",
        help="Also write the rows as Parquet, to a path or a URL (needs the extra ray).",
    ),
)  # fmt: skip


def _page_rows(found: Gathered) -> Iterator[tuple[str, Replay]]:
    """Pages are handed on: files are called without the folder that all have in common."""
    for item, done in found.done:
        for name, made in done.replays:
            yield item.name + name.removeprefix(item.path), made


def _identity(path: str) -> object:
    try:
        known = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path) if "://" not in path else path
    return known.st_dev, known.st_ino


def _check(path: str) -> None:
    try:
        check_replaceable(Path(path))
    except (OSError, ValueError) as error:
        raise _unwritable(path, error, hint="nothing was written") from error


def _unwritable(path: str, error: Exception, hint: str = "") -> CompactorError:
    reason = getattr(error, "strerror", None) or error
    return CompactorError(
        f"cannot be written: {reason}", code="output.unwritable", path=path, hint=hint
    )
