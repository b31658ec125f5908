"""`compactor diff`: what the view hides, beside what it shows instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import click

from compactor.cli.job import Looked, look
from compactor.cli.options import Job, JobCommand, job_options
from compactor.cli.says import counted
from compactor.cli.screen import clipped, note, note_findings, plain, show
from compactor.core.model import PartKind
from compactor.core.render import render

_LINES = 5
_LINE_CHARS = 160
_SIGNED = (PartKind.REASONING, PartKind.SEALED)


@click.command("diff", cls=JobCommand, short_help="Show what the elided results hide.")
@job_options
@click.option("--full", is_flag=True, help="All lines of what is hidden, not the first few.")
def command(job: Job, full: bool) -> None:
    """Show what the elided results hide.

    For every elided result (and for reasoning that was dropped): its seq and tool, the first lines
    of what is hidden, and what stands there instead. Decides as `compact` would with the same
    options, and writes nothing.

    \b
    Examples:
      compactor diff session.jsonl | less
      compactor diff request.json --journal session.journal
      compactor diff session.jsonl --full --window 100_000 > hidden.diff
    """
    looked = look(job)
    hidden = list(_hidden(looked))
    for each in hidden:
        show("\n".join(_hunk(each, full=full)))
    if not job.quiet:
        note_findings(looked.outcome.report.findings)
        chars = sum(len(each.body) for each in hidden)
        note(f"{counted(len(hidden), 'entry', 'entries')} changed, {chars:,} characters hidden")


class Hidden(NamedTuple):
    """What the view does not show of one entry. media: names of its other parts."""

    seq: int
    what: str
    body: str
    media: tuple[str, ...]
    shown: str


def _hidden(looked: Looked) -> Iterator[Hidden]:
    """All that is hidden. An input that was stored back, markers and all, hides nothing."""
    entries = looked.transcript.entries
    view = render(entries, looked.outcome.journal)
    for seq, shown in view.bodies.items():
        entry = entries[seq]
        if entry.body != shown:
            media = tuple(part.kind.value for part in entry.parts)
            yield Hidden(seq, entry.name or "unknown", entry.body, media, shown)
    for seq in view.unreasoned:
        parts = [part for part in entries[seq].parts if part.kind in _SIGNED]
        body = "\n".join(part.text or f"({part.size} signed characters)" for part in parts)
        if parts:
            yield Hidden(seq, "reasoning", body, (), "")


def _hunk(hidden: Hidden, *, full: bool) -> Iterator[str]:
    chars = counted(len(hidden.body), "character", "characters")
    yield click.style(f"--- seq {hidden.seq} {plain(hidden.what)} ({chars})", bold=True)
    yield click.style(f"+++ seq {hidden.seq} as sent", bold=True)
    lines = hidden.body.split("\n")
    first = lines if full else lines[:_LINES]
    for line in first:
        yield click.style(f"-{plain(line if full else clipped(line, _LINE_CHARS))}", fg="red")
    if len(first) < len(lines):
        more = counted(len(lines) - len(first), "line", "lines")
        yield click.style(f"-... and {more} more", dim=True)
    for name in hidden.media:
        yield click.style(f"-({name})", fg="red")
    for line in hidden.shown.split("\n") if hidden.shown else ():
        yield click.style(f"+{plain(line)}", fg="green")
