"""Many recordings for `replay` and `recommend`: which files, which engine, in what order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import click

from compactor.cli.options import positive_number
from compactor.cli.progress import bar
from compactor.cli.says import OTHERS, counted
from compactor.cli.screen import note, note_findings, plain
from compactor.core.errors import CompactorError, InputError, PolicyError
from compactor.inspection import Failure
from compactor.replay import Replay
from compactor.replay.many import Done, Item, Task
from compactor.replay.page import Shelf, Told
from compactor.replay.processes import local
from compactor.replay.remote import is_url, listed
from compactor.walk import files

ENGINES = ("local", "ray")
_NAME_CHARS = 200


def many_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--jobs`, `--engine` and `--no-token-cache`, handed over as `jobs`, `engine`, `no_cache`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--jobs", type=positive_number, metavar="N",
        help="Processes that work at once; default as many as there are cores, where that pays.",
    ),
    click.option(
        "--engine", type=click.Choice(ENGINES), default="local", show_default=True,
        help="Where: on this machine, or on a Ray cluster (RAY_ADDRESS; needs the extra ray).",
    ),
    click.option(
        "--no-token-cache", "no_cache", is_flag=True,
        help="Count every text anew: neither read nor write the file that remembers counts.",
    ),
)  # fmt: skip


class Gathered(NamedTuple):
    """What all files came to, in their order.

    told: what a page shows in full, by the index of a file and the number of a conversation.
    """

    done: list[tuple[Item, Done]]
    told: dict[tuple[int, int], Told]

    @property
    def replays(self) -> list[tuple[str, Replay]]:
        return [row for _, done in self.done for row in done.replays]

    @property
    def failures(self) -> list[tuple[Item, Failure]]:
        """Of files that are recordings, or that a person named."""
        found = ((item, done.failed(item)) for item, done in self.done)
        return [(item, failure) for item, failure in found if failure is not None]

    @property
    def others(self) -> int:
        """Files of folders that are no transcripts."""
        return sum(done.failure is not None for _, done in self.done) - len(self.failures)

    @property
    def named_failed(self) -> bool:
        return any(item.named for item, _ in self.failures)


def gather(
    task: Task, items: Sequence[Item], *, jobs: int | None, engine: str, quiet: bool
) -> Gathered:
    """Replay all of these files.

    Raises:
        CompactorError: the task is refused, whatever the file; one file was named and failed; there
            was nothing to replay.
    """
    shelf, found = Shelf(), dict[int, Done]()
    with bar(sum(item.size_bytes for item in items), quiet=quiet or len(items) < 2) as advance:
        for done in _engine(task, items, jobs, engine):
            for number, told in enumerate(done.told):
                shelf.put((done.index, number), told)
            found[done.index] = Done(
                done.index, done.replays, (), done.findings, done.failure, done.refused
            )
            advance(items[done.index].size_bytes)
    gathered = Gathered([(item, found[item.index]) for item in items], shelf.kept)
    _check(gathered)
    if not quiet:
        said = (finding for _, done in gathered.done for finding in done.findings)
        note_findings({(f.code, f.message): f for f in said}.values())
        if gathered.others:
            note(f"{counted(gathered.others, *OTHERS)} no transcript")
    return gathered


def _engine(task: Task, items: Sequence[Item], jobs: int | None, engine: str) -> Iterator[Done]:
    if engine == "ray":
        from compactor.replay.cluster import on_ray  # needs a package that few have

        return on_ray(task, items)
    return local(task, items, jobs)


def items_of(paths: Sequence[str]) -> list[Item]:
    """The files of paths, then those of URLs, each with a name that says what it has of its own.

    Raises:
        PolicyError: `policy.not_installed`.
    """
    here = files(path for path in paths if not is_url(path))
    found = [(str(each.path), each.size_bytes, each.named) for each in here]
    for url in dict.fromkeys(filter(is_url, paths)):
        found += listed(url)
    names = _names([path for path, _, _ in found])
    return [
        Item(index, path, name, size, named)
        for index, ((path, size, named), name) in enumerate(zip(found, names, strict=True))
    ]


def _names(paths: Sequence[str]) -> list[str]:
    """Paths without the folder that they have in common, as pages are handed on."""
    pieces = [Path(path).parts for path in paths]
    levels = zip(*(parts[:-1] for parts in pieces), strict=False)
    shared = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    return ["/".join(parts[shared:])[-_NAME_CHARS:] for parts in pieces]


def _check(gathered: Gathered) -> None:
    for _, done in gathered.done:
        if done.refused and done.failure is not None:
            raise _error(done.failure, PolicyError)
    if gathered.replays:
        return
    named = [failure for item, failure in gathered.failures if item.named]
    if len(named) == 1:
        kind = PolicyError if named[0].code.startswith("policy.") else InputError
        raise _error(named[0], kind)
    if not gathered.failures:
        raise InputError(
            "there is no recording to replay",
            code="input.no_usage",
            hint="name a transcript, or a folder that holds some",
        )


def _error(failure: Failure, kind: type[CompactorError]) -> CompactorError:
    return kind(failure.message, code=failure.code, path=failure.path, hint=failure.hint)


def failed_lines(gathered: Gathered) -> list[str]:
    """A line a file that could not be replayed."""
    return [_failed(item, failure) for item, failure in gathered.failures]


def _failed(item: Item, failure: Failure) -> str:
    place = f"{failure.path}: " if failure.path not in ("", item.path) else ""
    place = place.removeprefix(f"{item.path}: ")
    why = " ".join(failed_parts(failure))
    return plain(f"{item.path}: {place}{why}") + f" [{failure.code}]"


def failed_parts(failure: Failure) -> list[str]:
    """Why, and the next step where there is one."""
    return [failure.message, f"({failure.hint})"] if failure.hint else [failure.message]


def note_failures(gathered: Gathered) -> None:
    """The same as notes, where the output is no table."""
    for line in failed_lines(gathered):
        note(f"note: {line}")
