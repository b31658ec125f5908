"""`compactor explain`: a line for every entry, with its fate."""

from __future__ import annotations

import click

from compactor.cli.columns import aligned
from compactor.cli.job import look
from compactor.cli.options import Job, JobCommand, job_options
from compactor.cli.says import why
from compactor.cli.screen import clipped, note, note_findings, plain, show, to_json
from compactor.core.report import FATES, Fate

_TOOL_CHARS = 40
_COLUMNS = ("seq", "kind", "tool", "tokens", "fate")
_RIGHT = ("seq", "tokens")


@click.command("explain", cls=JobCommand, short_help="Say of every entry what became of it.")
@job_options
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of columns.")
def command(job: Job, as_json: bool) -> None:
    """Say of every entry what became of it.

    One line an entry: seq, kind, tool, tokens as sent, fate; below them what the fates mean.
    Decides as `compact` would with the same options, and writes nothing.

    \b
    Examples:
      compactor explain session.jsonl
      compactor explain request.json --journal session.journal
      compactor explain session.jsonl --json | jq 'map(select(.fate == "elided"))'
    """
    looked = look(job, explain=True)
    fates = looked.outcome.fates
    if as_json:
        show(to_json([fate._asdict() for fate in fates]))
    else:
        show("\n".join((*_table(fates), *_legend(fates))))
    if not job.quiet:
        note_findings(looked.outcome.report.findings)
        note(f"last request: {why(looked.outcome.report)}")


def _table(fates: tuple[Fate, ...]) -> list[str]:
    rows = [
        (
            str(fate.seq),
            fate.kind,
            clipped(plain(fate.tool), _TOOL_CHARS),
            str(fate.tokens),
            fate.fate,
        )
        for fate in fates
    ]
    return aligned(_COLUMNS, rows, _RIGHT)


def _legend(fates: tuple[Fate, ...]) -> list[str]:
    """An empty line, and the fates that occur in the order of `FATES`."""
    occurring = {fate.fate for fate in fates}
    seen = [fate for fate in FATES if fate in occurring]
    width = max(map(len, seen), default=0)
    return ["", *(f"{fate:<{width}}  {FATES[fate]}" for fate in seen)] if seen else []
