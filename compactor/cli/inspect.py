"""`compactor inspect`: what files are and hold, a row a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from compactor import models as model_table
from compactor import token_cache
from compactor.cli.columns import aligned
from compactor.cli.failures import REFUSED
from compactor.cli.options import (
    all_threads_option,
    check_sources,
    format_option,
    models_option,
    paths_argument,
    quiet_option,
    strict_option,
    thread_option,
)
from compactor.cli.progress import each_file
from compactor.cli.says import OTHERS, counted
from compactor.cli.screen import clipped, note, plain, show, to_json
from compactor.inspection import Asked, Inspected, Recorded, rows_of, total
from compactor.walk import files

_COLUMNS = (
    *("file", "format", "entries", "requests", "tokens", "input", "cached", "written", "output"),
    *("threads", "tools", "findings"),
)
_RIGHT = _COLUMNS[2:10]
_NO_VALUE = "-"
_TOOLS = 3
_CODES = 2


@click.command("inspect", short_help="Say what transcripts are and hold, a row a file.")
@paths_argument
@format_option
@thread_option
@all_threads_option
@models_option
@strict_option
@click.option(
    "--no-token-cache", "no_cache", is_flag=True,
    help="Count every text anew: neither read nor write the file that remembers counts.",
)  # fmt: skip
@click.option("--no-tokens", is_flag=True, help="Count no tokens: faster, no vocabulary is loaded.")
@click.option("--json", "as_json", is_flag=True, help="All there is to say, as JSON.")
@quiet_option
def command(
    paths: tuple[str, ...],
    format: str | None,  # noqa: A002
    thread: str,
    all_threads: bool,
    models: str | None,
    strict: bool,
    no_cache: bool,
    no_tokens: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what transcripts are and hold, a row a file.

    Format, entries, requests, tokens as estimated for the model (overhead included where the file
    has it), what the file itself records of its requests (uncached input, cached, written to the
    cache, output), conversations, the most used tools, and what was strange. Folders are walked:
    hidden files, and kinds that are never a transcript, are passed over. Recorded usage is of all
    requests of a file, and of one conversation with --thread or --all-threads.

    A file that cannot be read is a row with its error; the exit code is 1 when it was named.

    \b
    Examples:
      compactor inspect session.jsonl
      compactor inspect ~/.claude/projects --no-tokens
      compactor inspect session.jsonl --all-threads --json | jq '.files[].thread'
    """
    check_sources(paths, thread, all_threads=all_threads)
    asked = Asked(
        format=format,
        thread=thread,
        all_threads=all_threads,
        strict=strict,
        tokens=not no_tokens,
        models=model_table.load(models) if models else None,
    )
    found = each_file(list(files(paths)), quiet=quiet)
    with token_cache.used(asked.tokens and not no_cache):
        read = [(each, row) for each in found for row in rows_of(each, asked)]
    shown = [row for each, row in read if each.named or row.is_transcript]
    others = len(read) - len(shown)
    if not (read or quiet):
        note("there is no file to be read")
    if as_json:
        show(to_json({"files": shown, "total": _total(shown), "no_transcripts": others}))
    elif shown:
        show("\n".join(_table(shown)))
    if others and not quiet:
        note(f"{counted(others, *OTHERS)} no transcript")
    if any(each.named and row.error is not None for each, row in read):
        raise click.exceptions.Exit(REFUSED)


def _total(rows: Sequence[Inspected]) -> dict[str, Any]:
    """Sums over the rows that could be read."""
    fine = [row for row in rows if row.error is None]
    return {
        "files": len({row.file for row in fine}),
        "conversations": len(fine),
        "entries": sum(sum(row.entries.values()) for row in fine),
        "requests": sum(row.requests for row in fine),
        "tokens": sum(row.tokens or 0 for row in fine),
        "recorded": msgspec.to_builtins(total(fine)),
    }


def _table(rows: Sequence[Inspected]) -> Iterator[str]:
    """A line a row, errors below their file; the sums where there are several."""
    cells = [_cells(row) for row in rows if row.error is None]
    if len(cells) > 1:
        cells.append(_sums(rows))
    if cells:
        yield from aligned(_COLUMNS, cells, _RIGHT)
    failed = [row for row in rows if row.error is not None]
    if cells and failed:
        yield ""
    for row in failed:
        yield _failed(row)


def _cells(row: Inspected) -> tuple[str, ...]:
    name = f"{row.file} ({row.thread})" if row.thread not in ("", "main") else row.file
    return (
        plain(name),
        row.format,
        f"{sum(row.entries.values()):,}",
        f"{row.requests:,}",
        _NO_VALUE if row.tokens is None else f"{row.tokens:,}",
        *_usage(row.recorded),
        f"{row.threads:,}",
        clipped(plain(_few([f"{n} {count:,}" for n, count in row.tools.items()], _TOOLS)), 48),
        _few(list(dict.fromkeys(finding.code for finding in row.findings)), _CODES),
    )


def _usage(recorded: Recorded | None) -> tuple[str, ...]:
    if recorded is None:
        return (_NO_VALUE,) * 4
    used = (recorded.input, recorded.cache_read, recorded.cache_write, recorded.output)
    return tuple(f"{tokens:,}" for tokens in used)


def _sums(rows: Sequence[Inspected]) -> tuple[str, ...]:
    sums = _total(rows)
    return (
        f"total of {counted(sums['files'], 'file', 'files')}",
        "",
        *(f"{sums[key]:,}" for key in ("entries", "requests", "tokens")),
        *_usage(Recorded(**sums["recorded"])),
        f"{sums['conversations']:,}",
        *("", ""),
    )


def _failed(row: Inspected) -> str:
    error = row.error
    assert error is not None
    place = f"{error.path}: " if error.path and error.path != row.file else ""
    then = f" ({error.hint})" if error.hint else ""
    return plain(f"{row.file}: {place.removeprefix(f'{row.file}: ')}{error.message}{then}") + (
        f" [{error.code}]"
    )


def _few(words: Sequence[str], most: int) -> str:
    """The first words, and how many more there are."""
    more = [f"and {len(words) - most} more"] if len(words) > most else []
    return ", ".join([*words[:most], *more])
