"""`compactor compact`: the request as it should be sent, the journal of how it got there."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import click

from compactor.api import Transcript
from compactor.cli.failures import OVERFLOW
from compactor.cli.job import (
    STDIN,
    Looked,
    decide,
    opened_journal,
    policy_of,
    read_input,
    with_findings,
)
from compactor.cli.options import Job, JobCommand, job_options
from compactor.cli.says import pressure, summary
from compactor.cli.screen import note, note_findings, show, to_json, write_bytes
from compactor.core.errors import CompactorError
from compactor.core.journal import active
from compactor.core.policy import Policy
from compactor.durable import replace_file
from compactor.journal_file import JournalBegunError


@click.command("compact", cls=JobCommand, short_help="Elide old tool results of a transcript.")
@job_options
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to stdout, at once.")
@click.option("--report", metavar="FILE", help="Write what was done and why there, as JSON.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Decide, but write neither output nor journal; the report goes to stdout or --report.",
)
@click.option("--fail-on-overflow", is_flag=True, help="Exit 4 when the result is over the window.")
@click.option(
    "--force",
    is_flag=True,
    help="Where the journal is damaged or another conversation's: keep it as FILE.old-N and begin "
    "a new one.",
)
def command(
    job: Job,
    output: str | None,
    report: str | None,
    dry_run: bool,
    fail_on_overflow: bool,
    force: bool,
) -> None:
    """Elide old tool results of a transcript.

    Reads a request body or a recorded session (FILE, or standard input), writes it back with old
    tool results replaced by markers, everything else byte for byte as it was. With --journal the
    next call goes on where this one ended; without it the same bytes come out.

    \b
    Examples:
      compactor compact session.jsonl > smaller.jsonl
      compactor compact request.json --journal session.journal -o request.json
      compactor compact - --window 200_000 --keep-recent 12 --dry-run < request.json
    """
    if force and job.journal is None:
        raise click.UsageError("--force needs --journal")
    _refuse_one_file_twice(job, output, report)
    policy = policy_of(job)
    transcript = read_input(job)
    try:
        looked = _decide(job, policy, transcript, force=force, dry_run=dry_run)
    except JournalBegunError:  # of two first calls at once, the second goes on from the first
        looked = _decide(job, policy, transcript, force=force, dry_run=dry_run)
    _hand_out(looked, output, report, dry_run=dry_run)
    if not job.quiet:
        _talk(looked)
    if fail_on_overflow and looked.outcome.report.overflow:
        raise click.exceptions.Exit(OVERFLOW)


def _decide(
    job: Job, policy: Policy, transcript: Transcript, *, force: bool, dry_run: bool
) -> Looked:
    """Decide, and have it in the journal, on the disk, before anybody sees the result."""
    with opened_journal(job, readonly=dry_run, create=True, force=force) as file:
        looked = decide(job, policy, transcript, file, force=force)
        if file is not None and not dry_run:
            file.append(looked.added)
        return with_findings(job, looked, file)


def _hand_out(looked: Looked, output: str | None, report: str | None, *, dry_run: bool) -> None:
    said = to_json(looked.outcome.report)
    if report is not None:
        _write_file(report, f"{said}\n".encode())
    if dry_run:
        if report is None:
            show(said)
        return
    data = looked.outcome.request.to_bytes()
    if output is None:
        write_bytes(data)
    else:
        _write_file(output, data)


def _write_file(path: str, data: bytes) -> None:
    try:
        replace_file(Path(path), data)
    except OSError as error:
        raise CompactorError(
            f"cannot be written: {error.strerror or error}", code="output.unwritable", path=path
        ) from error


def _talk(looked: Looked) -> None:
    report = looked.outcome.report
    note_findings(report.findings)
    for name, value in looked.outcome.headers.items():
        note(f"note: the request also needs the header {name}: {value}")
    passes = active(looked.outcome.journal.records).passes
    note(summary(report, sum(len(made.elided) for made in passes)))
    if pressure(report):
        note(pressure(report))


def _refuse_one_file_twice(job: Job, output: str | None, report: str | None) -> None:
    """Two of the files are one: the one written last would destroy the other.

    Output over input is what `-o` is for.
    """
    source = None if job.source == STDIN else job.source
    named = (
        ("the input", source),
        ("--journal", job.journal),
        ("--config", job.config),
        ("-o", output),
        ("--report", report),
    )
    for (one, first), (other, second) in itertools.combinations(named, 2):
        if first is None or second is None or (one, other) == ("the input", "-o"):
            continue
        if os.path.realpath(first) == os.path.realpath(second):
            raise click.UsageError(f"{one} and {other} are the same file: {second}")
