"""`compactor replay`: what recordings would have cost under other policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click
import msgspec

from compactor import models as model_table
from compactor.cli.columns import aligned
from compactor.cli.failures import REFUSED
from compactor.cli.many import Gathered, failed_lines, gather, items_of, many_options
from compactor.cli.options import (
    all_threads_option,
    check_sources,
    format_option,
    models_option,
    paths_argument,
    positive_number,
    quiet_option,
    strict_option,
    thread_option,
)
from compactor.cli.recordings import Read, Reading, recordings
from compactor.cli.report import Reports, report_options
from compactor.cli.says import counted
from compactor.cli.screen import plain, show, to_json
from compactor.core.errors import InputError
from compactor.core.policy import Policy
from compactor.models import ModelTable
from compactor.replay import Replay, Row, Truth, against_usage
from compactor.replay.many import Task
from compactor.replay.prices import Tariff
from compactor.replay.run import tariff_given
from compactor.replay.sums import by_policy, summed
from compactor.replay.table import COLUMNS, NO_VALUE, cells, dollars

POLICIES = ("none", "threshold", "priced")
"""What is replayed where no policy is named."""
_NAMED = ("file", "policy")
_REQUESTS = (
    *("request", "entries", "sent", "cached", "written", "uncached", "cost", "stable"),
    *("broken", "passes", "tier", "overflow", "cold"),
)
_TRUTH = ("file", "cache", "requests", "median", "90 %", "tokens", "whole", "causes")

policy_option = click.option(
    "--policy", "policies", multiple=True, metavar="POLICY",
    help="none, threshold or priced with settings (priced:keepRecent=16,window=200000), a config "
    "file, or what others do: mask:last=10, clear-tool-uses, langchain-clear-tool-uses, "
    "opencode-prune, gemini-cli-mask, staircase, pydantic-harness, sliding:messages=40, "
    "inspect-edit, inspect-trim, maf-tool-results, maf-sliding. "
    "Repeatable; default none, threshold, priced.",
)  # fmt: skip
window_option = click.option(
    "--window", type=positive_number, metavar="N",
    help="Context window in tokens; wins over the model's.",
)  # fmt: skip
cache_option = click.option(
    "--cache", metavar="CACHE",
    help="prefix (ideal), anthropic[:ttl=1h,placement=tail+frontier], openai, openai-5.5, "
    "openai-old, gemini, deepseek, blocks[:size=16], automatic; default the recorded model's.",
)  # fmt: skip
prices_option = click.option(
    "--prices", metavar="FILE",
    help='Prices instead of the model\'s: {"prices": [row, ...]}, rows as in data/models.json.',
)  # fmt: skip


class Asked(NamedTuple):
    """What holds for every recording."""

    base: Policy
    cache: str | None
    prices: Tariff | None
    table: ModelTable | None

    def task(self, policies: Sequence[str], reading: Reading, *, cached: bool) -> Task:
        """What is done with every file."""
        return Task(
            policies=tuple(policies),
            base=self.base,
            cache=self.cache,
            prices=self.prices,
            table=self.table,
            format=reading.format,
            thread=reading.thread,
            all_threads=reading.all_threads,
            strict=reading.strict,
            token_cache=cached,
        )


@click.command("replay", short_help="Show what recordings would have cost under other policies.")
@paths_argument
@policy_option
@window_option
@cache_option
@prices_option
@click.option("--requests", "each", is_flag=True, help="Also a row for each request.")
@click.option(
    "--against-usage", is_flag=True,
    help="Compare the simulated cache with what the recordings say was cached.",
)  # fmt: skip
@report_options
@many_options
@format_option
@thread_option
@all_threads_option
@models_option
@strict_option
@click.option("--json", "as_json", is_flag=True, help="All numbers, as JSON.")
@quiet_option
def command(
    paths: tuple[str, ...],
    policies: tuple[str, ...],
    window: int | None,
    cache: str | None,
    prices: str | None,
    each: bool,
    against_usage: bool,
    reports: Reports,
    jobs: int | None,
    engine: str,
    no_cache: bool,
    format: str | None,  # noqa: A002
    thread: str,
    all_threads: bool,
    models: str | None,
    strict: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show what recordings would have cost under other policies.

    Replays the requests of each recording: what would have been sent, what the provider's prompt
    cache could have served, what that costs, against doing nothing and, with --cache prefix,
    against the best that hindsight allows; how often the cache broke; and how often the model used
    an identifier that it could not have seen any more. Nothing is sent. Folders are walked as by
    `inspect`.

    \b
    Examples:
      compactor replay session.jsonl
      compactor replay ~/.claude/projects --policy priced --policy mask:last=10
      compactor replay session.jsonl --policy priced:keepRecent=16 --cache prefix --requests
      compactor replay session.jsonl --html replay.html
      compactor replay session.jsonl --against-usage
    """
    check_sources(paths, thread, all_threads=all_threads)
    asked = asked_for(window, cache, prices, models)
    reading = Reading(format, thread, all_threads, strict, quiet)
    if against_usage:
        reports.refuse("--against-usage")
        _truth(recordings(paths, reading), asked, each=each, as_json=as_json)
        return
    items = items_of(paths)
    reports.check([item.path for item in items])
    task = asked.task(tuple(dict.fromkeys(policies)) or POLICIES, reading, cached=not no_cache)
    task = task._replace(rows=each or reports.need_rows, page=reports.html is not None)
    found = gather(task, items, jobs=jobs, engine=engine, quiet=quiet)
    show(to_json({"files": _rows(found, each=each)}) if as_json else "\n".join(_shown(found, each)))
    reports.write(found, rows=each, quiet=quiet)  # last: where it fails, the table is there
    if found.named_failed or not found.replays:
        raise click.exceptions.Exit(REFUSED)


def asked_for(
    window: int | None, cache: str | None, prices: str | None, models: str | None
) -> Asked:
    """The options that all replays share.

    Raises:
        PolicyError: a file cannot be used.
    """
    table = model_table.load(models) if models else None
    return Asked(Policy(window=window), cache, tariff_given(prices), table)


def _rows(found: Gathered, *, each: bool) -> list[dict[str, Any]]:
    """A row a recording and policy, and one a file that failed, in the order of the files."""
    failed = {item.index: failure for item, failure in found.failures}
    rows = []
    for item, done in found.done:
        rows += [_json(name, made, each=each) for name, made in done.replays]
        if item.index in failed:
            rows.append({"file": item.path, "error": msgspec.to_builtins(failed[item.index])})
    return rows


def _shown(found: Gathered, each: bool) -> Iterator[str]:
    """The table, the files that failed, and the requests where they are asked for."""
    failed = failed_lines(found)
    if found.replays:
        yield from _table(found.replays)
        yield from [""] if failed else []
    yield from failed
    for name, made in found.replays if each else ():
        yield from _each(name, made)


def _json(name: str, made: Replay, *, each: bool) -> dict[str, Any]:
    row = {"file": name, **made.row()}
    if made.findings:
        row["findings"] = msgspec.to_builtins(made.findings)
    return row | ({"rows": msgspec.to_builtins(made.rows)} if each else {})


def _table(found: Sequence[tuple[str, Replay]]) -> list[str]:
    """A line a recording and policy; sums a policy where there are several recordings."""
    rows = [(plain(name), made) for name, made in found]
    groups = by_policy(made for _, made in found)
    if len(found) > len(groups):
        rows += [
            (f"all {counted(len(group), 'recording', 'recordings')}", summed(group))
            for group in groups.values()
        ]
    lines = [(name, made.policy, *cells(made)) for name, made in rows]
    return aligned((*_NAMED, *COLUMNS), lines, COLUMNS)


def _each(name: str, made: Replay) -> Iterator[str]:
    """The requests of one replay."""
    yield ""
    yield f"{plain(name)}, {made.policy}"
    yield from aligned(_REQUESTS, [_request(row) for row in made.rows], _REQUESTS)


def _request(row: Row) -> tuple[str, ...]:
    counts = (row.request, row.entries, row.tokens_sent, row.cached, row.written, row.uncached)
    return (
        *(f"{count:,}" for count in counts),
        dollars(row.cost_nano),
        f"{row.stable_prefix:,}",
        _yes(row.broken),
        f"{row.passes:,}",
        row.tier or NO_VALUE,
        _yes(row.overflow),
        _yes(row.cold),
    )


def _yes(value: bool) -> str:
    return "yes" if value else NO_VALUE


def _truth(read: Iterator[Read], asked: Asked, *, each: bool, as_json: bool) -> None:
    """Compare with recorded usage; recordings without are left out.

    Raises:
        InputError: none has any.
    """
    checked = ((r.name, against_usage(r.transcript, cache=asked.cache, models=asked.table))
               for r in read)  # fmt: skip
    found = [(name, truth) for name, truth in checked if truth is not None]
    if not found:
        raise InputError(
            "no recording holds what the provider counted",
            code="input.no_usage",
            hint="`compactor inspect` shows what a file records",
        )
    if as_json:
        rows = [{"file": name, **msgspec.to_builtins(truth)} for name, truth in found]
        show(to_json({"files": [row if each else row | {"rows": []} for row in rows]}))
        return
    lines = aligned(_TRUTH, [_truth_cells(*both) for both in found], _TRUTH[2:6])
    show("\n".join(["errors of the cached share, in points; of the tokens, in per cent", *lines]))


def _truth_cells(name: str, truth: Truth) -> tuple[str, ...]:
    causes = ", ".join(f"{cause} {count:,}" for cause, count in truth.causes.items())
    tenths = (truth.median, truth.percent_90, truth.tokens_median)
    return (
        plain(name),
        truth.cache,
        f"{truth.requests:,}",
        *(f"{value // 10}.{value % 10}" for value in tenths),
        "yes" if truth.whole else "no",
        causes,
    )
