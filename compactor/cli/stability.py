"""`compactor stability`: what breaks the prompt cache in recorded requests."""

from __future__ import annotations

import json
import sys

import click

from compactor.cli.failures import REFUSED
from compactor.cli.options import journal_name, paths_argument
from compactor.cli.screen import show
from compactor.core.errors import InputError
from compactor.inputs import of_path, of_stream
from compactor.inspection import NO_TRANSCRIPT
from compactor.journal_file import JournalFile
from compactor.stability import CacheBreakError, CacheStability
from compactor.stability.prefix import IGNORABLE
from compactor.stability.recorded import requests_of
from compactor.walk import Found, files


@click.command("stability", short_help="Say what breaks the prompt cache in recorded requests.")
@paths_argument
@click.option("--breaks", metavar="N", type=click.IntRange(0), default=0,
              help="How many breaks may be.")  # fmt: skip
@click.option("--ignore", metavar="NAME", multiple=True, type=click.Choice(IGNORABLE),
              help="What may change: model, tools, 'system prompt', settings, one setting by its "
                   "name, or spelling. May be given again.")  # fmt: skip
@click.option("--journal", metavar="FILE", multiple=True, type=journal_name,
              help="Journal of a conversation: a pass in it explains a break. "
                   "May be given again.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="All there is to say, as JSON.")
def command(
    paths: tuple[str, ...],
    breaks: int,
    ignore: tuple[str, ...],
    journal: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what breaks the prompt cache in recorded requests.

    Reads request bodies as they were sent, in their order: a file of them (JSON, JSON Lines), HTTP
    exchanges (HAR, cassettes, a gateway's log), a folder of such files, by name, or standard input
    (-). A request has to begin with all of the one before it in its conversation. Where one does
    not, it says at which byte, in which place, both texts, and what they look like.

    Exits 1 when there are more breaks than --breaks says.

    \b
    Examples:
      compactor stability requests.jsonl
      compactor stability session.har --ignore tool_choice
      compactor stability requests.jsonl --journal session.journal --json
    """
    stream = CacheStability(breaks=breaks, ignore=ignore)
    for found in files(paths):
        _record(stream, found)
    if not stream.requests:
        raise InputError(
            "no request body is there", code="input.format_unknown", path=", ".join(paths)
        )
    for path in journal:
        with JournalFile.open(path, create=False, readonly=True) as opened:
            stream.passed(opened)
    problem = _problem(stream)
    show(json.dumps(stream.summary(), indent=2) if as_json else problem or str(stream))
    if problem:
        raise click.exceptions.Exit(REFUSED)


def _record(stream: CacheStability, file: Found) -> None:
    """Record the requests of a file; one that only lies in a folder may have none."""
    name = str(file.path)
    data = of_stream(sys.stdin.buffer, name) if name == "-" else of_path(file.path)
    try:
        for one in requests_of(data, name):
            stream.record(one.body, model=one.model, place=one.place)
    except InputError as error:
        if file.named or error.code not in NO_TRANSCRIPT:
            raise


def _problem(stream: CacheStability) -> str:
    try:
        stream.check()
    except CacheBreakError as error:
        return str(error)
    return ""
