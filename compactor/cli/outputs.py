"""Where `compactor compact` writes: the data, the report, and what neither may destroy.

Both are checked before anything is decided, so that no decision enters a journal whose request then
cannot be handed out. `-` is standard output, which holds one of the two. No output goes over a file
that the call reads: every original is kept.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

import click

from compactor.cli.job import STDIN
from compactor.cli.options import Job
from compactor.cli.screen import show, write_bytes
from compactor.cli.writing import STDOUT, Identity, check_writable, identity, write_file


class Outputs(NamedTuple):
    """What is written where. None is nowhere, `-` standard output."""

    data: str | None
    report: str | None

    def hand_out(self, data: Callable[[], Iterable[bytes]], report: str) -> None:
        """Write both. data: makes the bytes in pieces, where they go anywhere.

        Raises:
            CompactorError: `output.unwritable`.
        """
        made = data() if self.data is not None else ()
        if self.report == STDOUT:
            show(report)
        elif self.report is not None:
            write_file(self.report, [f"{report}\n".encode()])
        if self.data == STDOUT:
            write_bytes(made)
        elif self.data is not None:
            write_file(self.data, made)


def outputs_of(job: Job, output: str | None, report: str | None, *, dry_run: bool) -> Outputs:
    """What the options say, once it is sure that it can be done.

    Raises:
        click.UsageError: they contradict themselves, or one would destroy what another names.
        CompactorError: `output.unwritable`: a folder is missing or may not be written to.
    """
    if dry_run and output is not None:
        raise click.UsageError("--dry-run writes no output: leave -o out")
    if dry_run:
        outputs = Outputs(None, STDOUT if report is None else report)
    else:
        outputs = Outputs(STDOUT if output is None else output, report)
    if outputs.data == outputs.report == STDOUT:
        raise click.UsageError(
            "the output and the report cannot both go to standard output: give one of them a file"
        )
    _refuse_one_file_twice(job, outputs)
    for path in outputs:
        if path not in (None, STDOUT):
            check_writable(str(path))
    return outputs


def _refuse_one_file_twice(job: Job, outputs: Outputs) -> None:
    """Two of the files are one: the one written last would destroy the other."""
    named = (
        ("the input", _of_input(job)),
        ("--journal", identity(job.journal)),
        ("--config", identity(job.config)),
        ("--models", identity(job.models)),
        ("-o", identity(outputs.data)),
        ("--report", identity(outputs.report)),
    )
    for (one, first), (other, second) in itertools.combinations(named, 2):
        if first is None or first != second:
            continue
        if (one, other) == ("the input", "-o"):
            raise click.UsageError(
                f"-o {outputs.data} is the input, and every original is kept: give another file"
            )
        raise click.UsageError(f"{one} and {other} are the same file: give another one")


def _of_input(job: Job) -> Identity | None:
    if job.source not in (None, STDIN):
        return identity(job.source)
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or no file at all
        known = os.fstat(sys.stdin.fileno())
        if stat.S_ISREG(known.st_mode):
            return known.st_dev, known.st_ino
    return None
