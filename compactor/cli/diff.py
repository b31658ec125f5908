"""`compactor diff`: what the view hides, beside what it shows instead."""

from __future__ import annotations

from collections.abc import Iterator

import click

from compactor.cli.job import Looked, look
from compactor.cli.options import Job, JobCommand, job_options
from compactor.cli.says import counted
from compactor.cli.screen import clipped, note, note_findings, plain, show
from compactor.core.model import Entry
from compactor.core.render import render

_LINES = 5
_LINE_CHARS = 160


@click.command("diff", cls=JobCommand, short_help="Show what the elided results hide.")
@job_options
@click.option("--full", is_flag=True, help="All lines of what is hidden, not the first few.")
def command(job: Job, full: bool) -> None:
    """Show what the elided results hide.

    For every elided result: its seq and tool, the first lines of what is hidden, and the marker
    that stands there. Decides as `compact` would with the same options, and writes nothing.

    \b
    Examples:
      compactor diff session.jsonl | less
      compactor diff request.json --journal session.journal
      compactor diff session.jsonl --full --window 100_000 > hidden.diff
    """
    looked = look(job)
    hidden = list(_hidden(looked))
    for seq, entry, marker in hidden:
        show("\n".join(_hunk(seq, entry, marker, full=full)))
    if not job.quiet:
        note_findings(looked.outcome.report.findings)
        chars = sum(len(entry.body) for _, entry, _ in hidden)
        note(f"{counted(len(hidden), 'result', 'results')} elided, {chars:,} characters hidden")


def _hidden(looked: Looked) -> Iterator[tuple[int, Entry, str]]:
    """Seq, entry and marker of what is elided. An input that was stored back hides nothing."""
    entries = looked.transcript.entries
    for seq, marker in render(entries, looked.outcome.journal).items():
        if entries[seq].body != marker:
            yield seq, entries[seq], marker


def _hunk(seq: int, entry: Entry, marker: str, *, full: bool) -> Iterator[str]:
    tool = plain(entry.name or "unknown")
    chars = counted(len(entry.body), "character", "characters")
    yield click.style(f"--- seq {seq} {tool} ({chars})", bold=True)
    yield click.style(f"+++ seq {seq} marker", bold=True)
    lines = entry.body.split("\n")
    shown = lines if full else lines[:_LINES]
    for line in shown:
        text = plain(line if full else clipped(line, _LINE_CHARS))
        yield click.style(f"-{text}", fg="red")
    if len(shown) < len(lines):
        yield click.style(
            f"-... and {counted(len(lines) - len(shown), 'line', 'lines')} more", dim=True
        )
    for part in entry.parts:
        yield click.style(f"-({part.kind.value})", fg="red")
    yield click.style(f"+{plain(marker)}", fg="green")
