"""`compactor calibrate`: settings that make estimates follow the recorded usage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import click

from compactor import models as model_table
from compactor.calibration import Calibration, fitted
from compactor.cli.options import (
    all_threads_option,
    check_sources,
    complete_counters,
    format_option,
    models_option,
    paths_argument,
    quiet_option,
    strict_option,
    thread_option,
)
from compactor.cli.progress import each_file
from compactor.cli.says import counted
from compactor.cli.screen import note, plain, show, to_json
from compactor.core.errors import InputError
from compactor.core.policy import SPELLING
from compactor.fit import REQUESTS_MIN, SPAN_MIN
from compactor.inspection import NO_TRANSCRIPT
from compactor.transcript import Transcript, load
from compactor.walk import Found, files


@click.command("calibrate", short_help="Fit token counts to what recordings say was used.")
@paths_argument
@format_option
@thread_option
@all_threads_option
@models_option
@click.option(
    "--counter",
    metavar="NAME",
    shell_complete=complete_counters,
    help="Counts the tokens; default each model's.",
)
@click.option("--model", metavar="NAME", help="Of this model only, as recorded.")
@strict_option
@click.option("--json", "as_json", is_flag=True, help="All numbers, as JSON.")
@quiet_option
def command(
    paths: tuple[str, ...],
    format: str | None,  # noqa: A002
    thread: str,
    all_threads: bool,
    models: str | None,
    counter: str | None,
    model: str | None,
    strict: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit token counts to what recordings say was used.

    Compares the prompts that providers counted with what we count in the same entries, and prints
    the scale and the overhead that fit best, as lines of a compactor.toml, as flags and in Python,
    for each model and format, with the quality of the fit. The overhead holds what is in no file:
    system prompt, tools, what the harness adds. Folders are walked as by `inspect`.

    \b
    Examples:
      compactor calibrate session.jsonl
      compactor calibrate ~/.claude/projects --model claude-sonnet-5 > compactor.toml
      compactor calibrate session.jsonl --counter claude_v4_7 --json | jq '.models[].errors'
    """
    check_sources(paths, thread, all_threads=all_threads)
    asked = _Asked(format, thread, all_threads, strict)
    found = each_file(list(files(paths)), quiet=quiet)
    read = (each for file in found for each in _transcripts(file, asked))
    table = model_table.load(models) if models else None
    fits = fitted(read, counter=counter, model=model, models=table)
    if not fits:
        raise _nothing(model)
    show(to_json({"models": fits}) if as_json else "\n\n".join("\n".join(_shown(f)) for f in fits))
    if len(fits) > 1 and not as_json and not quiet:
        note("several models: choose one with --model for a policy file")


class _Asked(NamedTuple):
    """How to read the files."""

    format: str | None
    thread: str
    all_threads: bool
    strict: bool


def _transcripts(file: Found, asked: _Asked) -> Iterator[Transcript]:
    """The conversations of a file.

    Raises:
        InputError: a file that was named cannot be read; in folders others are passed over.
    """
    try:
        first = load(file.path, asked.format, thread=asked.thread, strict=asked.strict)
        yield first
        if asked.all_threads:
            yield from (first.of_thread(name) for name in first.threads[1:])
    except InputError as error:
        if file.named:
            raise
        if error.code not in NO_TRANSCRIPT:
            note(f"note: passed over: {plain(str(error))} [{error.code}]")


def _nothing(model: str | None) -> InputError:
    of = f" of {model}" if model else ""
    return InputError(
        f"there are not enough recorded requests{of} to compare with",
        code="input.no_usage",
        hint=f"it takes {REQUESTS_MIN} requests with recorded prompts, over a history that grows "
        f"by {SPAN_MIN:,} tokens; `compactor inspect` shows what a file records",
    )


def _shown(fit: Calibration) -> Iterator[str]:
    """Lines of a policy file; what else there is to say as comments."""
    name = plain(fit.model) or "no model is named"
    made = counted(fit.requests, "request", "requests")
    said = counted(fit.conversations, "conversation", "conversations")
    yield f"# {name}, {plain(fit.format)}: {made} of {said}"
    low, high = fit.errors.percent_5, fit.errors.percent_95
    yield (
        f"# estimates are off the recorded prompts by {_signed(low)} to {_signed(high)} per mille "
        f"in 9 of 10, {_signed(fit.errors.median)} in the middle, "
        f"{_signed(fit.errors.lowest)} to {_signed(fit.errors.highest)} at most"
    )
    if fit.known_scale is not None:
        yield f"# the model table has counterScale = {fit.known_scale}"
    if fit.results_scale is not None:
        yield (
            f"# tool results alone: {fit.results_scale} per mille "
            f"({counted(fit.results, 'pair', 'pairs')} of requests)"
        )
    settings = fit.settings()
    yield "# flags:  " + " ".join(f"--{k.replace('_', '-')} {v}" for k, v in settings.items())
    yield "# Python: Policy(" + ", ".join(f"{k}={json.dumps(v)}" for k, v in settings.items()) + ")"
    yield from (f"{SPELLING.get(k, k)} = {json.dumps(v)}" for k, v in settings.items())


def _signed(number: int) -> str:
    return f"{number:+}" if number else "0"
