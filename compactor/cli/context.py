"""`compactor context`: the window as a bar, by category, and why it is as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from compactor.cli.job import Looked, look
from compactor.cli.options import Job, JobCommand, job_options
from compactor.cli.says import counted, pressure, why
from compactor.cli.screen import note_findings, plain, show, to_json
from compactor.core.journal import active
from compactor.core.report import Fate, Report

_CELLS = 64


class Category(NamedTuple):
    """What a part of the window is. mark: its cells in the bar."""

    name: str
    mark: str
    label: str
    colour: str


CATEGORIES = (
    Category("overhead", "o", "overhead (system prompt and tools)", "magenta"),
    Category("system", "s", "system messages", "magenta"),
    Category("user", "u", "user messages", "cyan"),
    Category("assistant", "a", "assistant turns", "blue"),
    Category("evidence", "e", "old evidence kept", "yellow"),
    Category("results", "r", "tool results", "green"),
    Category("markers", "m", "markers of elided results", "red"),
)
FREE = Category("free", ".", "free up to the threshold", "white")
RESERVE = Category("reserve", "-", "reserve", "white")
_EVIDENCE = ("kept:floor", "kept:budget")


@click.command("context", cls=JobCommand, short_help="Show what fills the context window.")
@job_options
@click.option("--json", "as_json", is_flag=True, help="The numbers as JSON.")
def command(job: Job, as_json: bool) -> None:
    """Show what fills the context window.

    The window as a bar by category, the threshold, the last pass, and why the last request was
    compacted or not. Decides as `compact` would with the same options, and writes nothing.

    \b
    Examples:
      compactor context session.jsonl
      compactor context request.json --journal session.journal
      compactor context session.jsonl --window 200_000 --json | jq .categories
    """
    looked = look(job, explain=True)
    numbers = _numbers(looked)
    if as_json:
        show(to_json(numbers))
    else:
        show("\n".join(_view(looked.outcome.report, numbers)))
    if not job.quiet:
        note_findings(looked.outcome.report.findings)


def _numbers(looked: Looked) -> dict[str, Any]:
    """All that the view shows, as `--json` gives it."""
    outcome, report = looked.outcome, looked.outcome.report
    standing = active(outcome.journal.records).passes
    header = outcome.journal.header
    return {
        "window": report.window,
        "threshold": report.threshold,
        "reserve": report.window - report.threshold,
        "tokens": report.tokens_after,
        "free": max(0, report.threshold - report.tokens_after),
        "categories": _categories(report, outcome.fates),
        "entries": report.entries,
        "elided": sum(fate.fate == "elided" for fate in outcome.fates),
        "cutoff": report.cutoff,
        "tier": report.tier,
        "pressed": report.pressed,
        "overflow": report.overflow,
        "fixed_tokens": report.fixed_tokens,
        "elidable_tokens": report.elidable_tokens,
        "model": header.model if header else "",
        "counter": report.counter,
        "counter_scale": report.counter_scale,
        "passes": len(standing),
        "last_pass": standing[-1].report() if standing else None,
        "why": report.why,
        "why_text": why(report),
        "findings": report.findings,
    }


def _categories(report: Report, fates: tuple[Fate, ...]) -> dict[str, int]:
    """Category → tokens as sent; together they are the estimate."""
    tokens = Counter({"overhead": report.overhead})
    for fate in fates:
        tokens[_category(fate)] += fate.tokens
    return {category.name: tokens[category.name] for category in CATEGORIES}


def _category(fate: Fate) -> str:
    if fate.kind != "tool":
        return fate.kind
    if fate.fate == "elided":
        return "markers"
    return "evidence" if fate.fate in _EVIDENCE else "results"


def _view(report: Report, numbers: dict[str, Any]) -> Iterator[str]:
    window, tokens = report.window, report.tokens_after
    model = f", {plain(numbers['model'])}" if numbers["model"] else ""
    yield (
        f"{tokens:,} of {window:,} tokens ({_share(tokens, window)}){model}, "
        f"counted with {report.counter} * {report.counter_scale} / 1000"
    )
    rows = [(category, numbers["categories"][category.name]) for category in CATEGORIES]
    rows += [(FREE, numbers["free"])]
    rows += [(RESERVE, window - max(tokens, report.threshold))]
    yield from _bar([(category, size) for category, size in rows if size > 0], report)
    yield ""
    for category, size in rows:
        if size > 0:
            mark = click.style(category.mark, fg=category.colour)
            yield f"  {mark} {category.label:<34} {size:>11,}  {_share(size, window):>7}"
    yield ""
    yield from _history(report, numbers)


def _bar(rows: list[tuple[Category, int]], report: Report) -> Iterator[str]:
    """Cells in proportion, the threshold under them. Over the window the bar is the request."""
    whole = max(report.window, report.tokens_after)
    cells, done = [], 0
    for category, size in rows:
        first, done = done * _CELLS // whole, done + size
        cells.append(click.style(category.mark * (done * _CELLS // whole - first), category.colour))
    yield f"[{''.join(cells)}]"
    at = report.threshold * _CELLS // whole
    yield f"{' ' * (at + 1)}^ threshold {report.threshold:,}"


def _history(report: Report, numbers: dict[str, Any]) -> Iterator[str]:
    yield (
        f"entries: {report.entries:,}, recent from {report.cutoff:,}, "
        f"{numbers['elided']:,} elided; tier {report.tier}; "
        f"{report.fixed_tokens:,} tokens fixed, {report.elidable_tokens:,} could still go"
    )
    yield f"passes: {numbers['passes']:,}{_last(numbers['last_pass'])}"
    yield f"now: {why(report)}"
    if pressure(report):
        yield pressure(report)


def _last(last: dict[str, Any] | None) -> str:
    if last is None:
        return ""
    elided = counted(len(last["elided"]), "result", "results")
    return (
        f"; the last at request {last['request']:,} over {last['entries']:,} entries "
        f"({last['trigger']}, {last['tier']}): {last['tokens_before']:,} -> "
        f"{last['tokens_after']:,} tokens, {elided} elided, {last['protected_count']:,} evidence "
        f"kept, {last['reread_tokens']:,} tokens read again from entry {last['first_changed']:,}"
    )


def _share(tokens: int, window: int) -> str:
    tenths = tokens * 1000 // window
    return f"{tenths // 10}.{tenths % 10} %"
