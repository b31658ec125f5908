"""`compactor convert`: a transcript in the shape of another format."""

from __future__ import annotations

import click

from compactor.cli.job import read_input
from compactor.cli.options import Job, reading_options
from compactor.cli.outputs import outputs_of
from compactor.cli.says import counted
from compactor.cli.screen import note, note_findings, to_json
from compactor.conversion import TARGETS, Converted, convert
from compactor.transcript import Transcript


@click.command("convert", short_help="Write a transcript as another format.")
@reading_options
@click.option("--to", required=True, type=click.Choice(TARGETS), help="What to write.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write there instead of to stdout (-), at once. Never the input: every original is kept.",
)
@click.option(
    "--report",
    metavar="FILE",
    help="Write all findings there, as JSON; - is stdout, where the output is not.",
)
@click.option(
    "--model",
    metavar="NAME",
    default="",
    help="Model of the request. Default: the recorded one, where the target has such models.",
)
@click.option(
    "--complete", is_flag=True, help="Give calls without a result one that says there is none."
)
@click.option(
    "--drop-reasoning",
    is_flag=True,
    help="Leave out signed reasoning also where its own provider would take it back.",
)
def command(
    job: Job,
    to: str,
    output: str | None,
    report: str | None,
    model: str,
    complete: bool,
    drop_reasoning: bool,
) -> None:
    """Write a transcript as another format.

    Reads a recorded session or a request (FILE, or standard input) and writes its conversation as a
    request body of a provider, as neutral entries, or as OpenTelemetry's GenAI messages, valid for
    the target. What it has no words for is said on stderr, and in --report.

    \b
    Examples:
      compactor convert session.jsonl --to openai-responses -o request.json
      compactor convert request.json --to otel | jq '.["gen_ai.input.messages"]'
      compactor compact session.jsonl | compactor convert - --to anthropic > request.json
    """
    outputs = outputs_of(job, output, report, dry_run=False)
    transcript = read_input(job)
    made = convert(
        transcript,
        to,
        model=model,
        failed=job.failed,
        complete=complete,
        drop_reasoning=drop_reasoning,
    )
    outputs.hand_out(lambda: (made.to_bytes(), b"\n"), to_json(_report(transcript, made)))
    if not job.quiet:
        note_findings(made.findings)
        note(_summary(transcript, made))


def _report(transcript: Transcript, made: Converted) -> dict[str, object]:
    return {
        "from": transcript.format,
        "to": made.format,
        "entries": len(transcript.entries),
        "findings": made.findings,
    }


def _summary(transcript: Transcript, made: Converted) -> str:
    entries = counted(len(transcript.entries), "entry", "entries")
    findings = counted(len(made.findings), "finding", "findings")
    return f"converted: {entries} of {transcript.format} to {made.format}, {findings}"
