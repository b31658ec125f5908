"""`compactor compact`: the request as it should be sent, the journal of how it got there."""

from __future__ import annotations

import click

from compactor.cli.failures import OVERFLOW
from compactor.cli.job import (
    Looked,
    decide,
    opened_journal,
    policy_of,
    read_input,
    with_findings,
)
from compactor.cli.options import Job, JobCommand, job_options
from compactor.cli.outputs import outputs_of
from compactor.cli.says import pressure, summary
from compactor.cli.screen import note, note_findings, to_json
from compactor.core.journal import active
from compactor.core.policy import Policy
from compactor.journal_file import JournalBegunError
from compactor.transcript import Transcript


@click.command("compact", cls=JobCommand, short_help="Elide old tool results of a transcript.")
@job_options
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write there instead of to stdout (-), at once. Never the input: every original is kept.",
)
@click.option(
    "--report",
    metavar="FILE",
    help="Write what was done and why there, as JSON; - is stdout, where the output is not.",
)
@click.option(
    "--place-breakpoints",
    is_flag=True,
    help="Set cache breakpoints where the unchanged prefix stays readable, as far as the "
    "provider's limit allows.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Decide, but write neither output nor journal; the report goes to stdout or --report. "
    "Not with -o.",
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
    place_breakpoints: bool,
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
      compactor compact request.json --journal session.journal -o smaller.json
      compactor compact - --window 200_000 --keep-recent 12 --dry-run < request.json
    """
    if force and job.journal is None:
        raise click.UsageError("--force needs --journal")
    outputs = outputs_of(job, output, report, dry_run=dry_run)
    policy = policy_of(job)
    transcript = read_input(job)
    asked = {"force": force, "place_breakpoints": place_breakpoints}
    try:
        looked = _decide(job, policy, transcript, asked, dry_run=dry_run)
    except JournalBegunError:  # of two first calls at once, the second goes on from the first
        looked = _decide(job, policy, transcript, asked, dry_run=dry_run)
    outputs.hand_out(looked.outcome.request.pieces, to_json(looked.outcome.report))
    if not job.quiet:
        _talk(looked)
    if fail_on_overflow and looked.outcome.report.overflow:
        raise click.exceptions.Exit(OVERFLOW)


def _decide(
    job: Job, policy: Policy, transcript: Transcript, asked: dict[str, bool], *, dry_run: bool
) -> Looked:
    """Decide, and have it in the journal, on the disk, before anybody sees the result."""
    with opened_journal(job, readonly=dry_run, create=True, force=asked["force"]) as file:
        looked = decide(job, policy, transcript, file, **asked)
        if file is not None and not dry_run:
            file.append(looked.added)
        return with_findings(job, looked, file)


def _talk(looked: Looked) -> None:
    report = looked.outcome.report
    note_findings(report.findings)
    for name, value in looked.outcome.headers.items():
        note(f"note: the request also needs the header {name}: {value}")
    passes = active(looked.outcome.journal.records).passes
    note(summary(report, sum(len(made.elided) for made in passes)))
    if pressure(report):
        note(pressure(report))
