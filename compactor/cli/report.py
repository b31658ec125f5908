"""The files that `replay` writes beside its table: a page, a picture, a Parquet file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import click

from compactor.cli.many import Gathered, failed_parts
from compactor.cli.screen import note, plain
from compactor.cli.writing import STDOUT, check_writable, identity, write_file
from compactor.replay.page import Shown, html
from compactor.replay.page.picture import picture, plotting
from compactor.replay.parquet import parquet
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
        for flag, _ in self._asked():
            raise click.UsageError(f"{other} and {flag} cannot be had at once")

    def check(self, inputs: Sequence[str]) -> None:
        """Before the work is done, that it can be kept.

        Raises:
            click.UsageError: one would go over an input or another, or to standard output.
            CompactorError: `output.unwritable`; `policy.not_installed`.
        """
        taken = {identity(path): "an input" for path in inputs}
        for flag, path in self._asked():
            if path == STDOUT:
                raise click.UsageError(f"{flag} needs a file: standard output has the table")
            same = taken.setdefault(identity(path) or flag, flag)
            if same != flag:
                raise click.UsageError(f"{flag} {path} is {same}: give another file")
            check_writable(path)
        if self.png is not None:
            plotting()
        if self.parquet is not None:
            package("pyarrow")

    def write(self, found: Gathered, *, rows: bool, quiet: bool) -> None:
        """All that are asked for.

        Raises:
            CompactorError: `output.unwritable`.
        """
        make: dict[str, Callable[[], bytes]] = {
            "--html": lambda: html(list(_recordings(found)), _failures(found)).encode(),
            "--png": lambda: picture(found.replays),
            "--parquet": lambda: parquet(found.done, rows=rows),
        }
        for flag, path in self._asked():
            data = make[flag]()
            write_file(path, [data])
            if not quiet:
                note(f"note: {plain(path)} is written: {len(data):,} bytes")

    def _asked(self) -> Iterator[tuple[str, str]]:
        for flag, path in zip(("--html", "--png", "--parquet"), self, strict=True):
            if path is not None:
                yield flag, path


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


def _recordings(found: Gathered) -> Iterator[Shown]:
    """Pages are handed on: files are called without the folder that all have in common."""
    for item, done in found.done:
        conversations = groupby(done.replays, key=lambda row: row[0])
        for number, (name, rows) in enumerate(conversations):
            told = found.told.get((item.index, number))
            yield Shown(item.name + name.removeprefix(item.path), [made for _, made in rows], told)


def _failures(found: Gathered) -> list[tuple[str, str]]:
    return [(item.name, " ".join(failed_parts(failure))) for item, failure in found.failures]
