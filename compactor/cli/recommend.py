"""`compactor recommend`: the policy to use, by one's own recordings."""

from __future__ import annotations

from collections.abc import Iterator

import click

from compactor.cli.columns import aligned
from compactor.cli.failures import REFUSED
from compactor.cli.many import gather, items_of, many_options, note_failures
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
from compactor.cli.recordings import Reading
from compactor.cli.replay import (
    asked_for,
    cache_option,
    prices_option,
    window_option,
)
from compactor.cli.says import counted
from compactor.cli.screen import show, to_json
from compactor.core.errors import InputError
from compactor.core.policy import Policy
from compactor.replay.own import policy_of
from compactor.replay.recommend import REGRET_MAX, SWEEP, Choice, recommend
from compactor.replay.spelling import spelled
from compactor.replay.table import dollars

_COLUMNS = ("policy", "cost", "to none", "breaks", "overflow", "regret", "")


@click.command("recommend", short_help="Say which policy to use, by your own recordings.")
@paths_argument
@window_option
@cache_option
@prices_option
@click.option(
    "--max-regret", type=click.FloatRange(0, 100), metavar="PERCENT", default=100 * REGRET_MAX,
    help="Most identifiers out of sight, per cent; default 3.",
)  # fmt: skip
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
    window: int | None,
    cache: str | None,
    prices: str | None,
    max_regret: float,
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
    """Say which policy to use, by your own recordings.

    Replays every recording under a sweep of policies, and names the cheapest of those that keep
    the most requests within the window and lose little out of sight, with the numbers that say
    why, as lines of a compactor.toml.

    \b
    Examples:
      compactor recommend ~/.claude/projects > compactor.toml
      compactor recommend session.jsonl --window 200_000 --max-regret 1
    """
    check_sources(paths, thread, all_threads=all_threads)
    asked = asked_for(window, cache, prices, models)
    reading = Reading(format, thread, all_threads, strict, quiet)
    task = asked.task(SWEEP, reading, cached=not no_cache)._replace(one_window=True)
    gathered = gather(task, items_of(paths), jobs=jobs, engine=engine, quiet=quiet)
    note_failures(gathered)
    found = [made for _, made in gathered.replays]
    if not found:
        raise InputError(
            "none of the recordings could be replayed",
            code="input.no_usage",
            hint="the notes say why; where no window is known, give --window N",
        )
    choices = recommend(found, max_regret / 100)
    show(to_json({"policies": choices}) if as_json else "\n".join(_shown(choices)))
    if gathered.named_failed:
        raise click.exceptions.Exit(REFUSED)


def _shown(choices: list[Choice]) -> Iterator[str]:
    """The sweep as comments, then the settings of the policy to use."""
    over = counted(choices[0].recordings, "recording", "recordings")
    yield f"# {over} replayed"
    cells = [_cells(choice) for choice in choices]
    yield from (f"# {line}" for line in aligned(_COLUMNS, cells, _COLUMNS[1:6]))
    best = next((choice for choice in choices if choice.chosen), None)
    if best is None:
        yield "# none of them: with --max-regret one may be"
        return
    saved = 1 - best.cost_to_none
    yield f"# {best.policy}: saves {saved:.0%} of the input cost, {best.regret:.1%} out of sight"
    yield from _settings(best.policy)


def _settings(policy: str) -> Iterator[str]:
    """Lines of a policy file."""
    given = spelled(policy)
    if policy_of(given, Policy()) is None:
        yield "enabled = false"
        return
    yield f'trigger = "{given.name}"'
    yield from (f"{key} = {value}" for key, value in given.settings.items())


def _cells(choice: Choice) -> tuple[str, ...]:
    return (
        choice.policy,
        dollars(choice.cost_nano),
        f"{choice.cost_to_none:.2f}",
        f"{choice.breaks:,}",
        f"{choice.overflow_requests:,}",
        f"{choice.regret:.1%}",
        "<- use this" if choice.chosen else choice.why_not,
    )
