"""Many recordings: one file's work as a pure function of its bytes, whoever does it.

What a file comes to depends on nothing but the file and the task, so results are the same by any
engine, in any order, with any number of workers; who collects puts them in the order of the files.
A file that fails is a result, too. Engines: `processes.py`, `cluster.py`. Specification:
docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from compactor import token_cache
from compactor.core.errors import CompactorError, Finding, PolicyError
from compactor.core.policy import Policy
from compactor.inspection import NO_TRANSCRIPT, Failure
from compactor.models import ModelTable
from compactor.replay.page import Told, fitted, tell
from compactor.replay.prices import Tariff
from compactor.replay.remote import is_url, read_bytes
from compactor.replay.run import Bench
from compactor.replay.sums import Replay
from compactor.transcript import Transcript, load

_OF_THE_FILE: Final = ("policy.model_unknown", "policy.not_installed")
"""Errors of a policy that another file need not have."""


class Task(NamedTuple):
    """What is done with every file.

    cache, prices, table: as for `Bench`.
    rows: keep a row a request; page: tell a page of it; one_window: as for `Bench`.
    token_cache: remember counts on this machine.
    """

    policies: tuple[str, ...]
    base: Policy
    cache: str | None = None
    prices: Tariff | None = None
    table: ModelTable | None = None
    format: str | None = None
    thread: str = ""
    all_threads: bool = False
    strict: bool = False
    rows: bool = False
    page: bool = False
    one_window: bool = False
    token_cache: bool = False


class Item(msgspec.Struct, frozen=True):
    """A file. index: its place among all; name: what a page calls it; named: by a person."""

    index: int
    path: str
    name: str
    size_bytes: int
    named: bool


class Done(msgspec.Struct, frozen=True):
    """What a file came to.

    replays: a name and a replay for each conversation and policy.
    failure: why there are no more; refused: it is one of the task, not of the file.
    """

    index: int
    replays: tuple[tuple[str, Replay], ...] = ()
    told: tuple[Told, ...] = ()
    findings: tuple[Finding, ...] = ()
    failure: Failure | None = None
    refused: bool = False

    def failed(self, item: Item) -> Failure | None:
        """Why it came to nothing; None also for a file of a folder that is something else."""
        if self.failure is None or (self.failure.code in NO_TRANSCRIPT and not item.named):
            return None
        return self.failure


Work = Callable[[Task, Item], Done]


def work(task: Task, item: Item) -> Done:
    """Replay one file. Never raises but to stop: what goes wrong is in the result."""
    found: list[tuple[str, Replay]] = []
    told: list[Told] = []
    findings: dict[Finding, None] = {}
    failure, refused = None, False
    try:
        with token_cache.used(task.token_cache):
            for thread, transcript in _conversations(task, item):
                if transcript.entries:
                    _replay(task, item, thread, transcript, (found, told, findings))
        if not found:
            failure = _nothing(item)
    except CompactorError as error:
        failure = Failure(error.code, error.message, error.path, error.hint)
        refused = isinstance(error, PolicyError) and error.code not in _OF_THE_FILE
    except MemoryError:
        failure = died(item)
    except Exception as error:  # a fault of ours in one file is no reason to lose the others
        failure = Failure("internal.fault", f"{type(error).__name__}: {error}", item.path)
    return Done(item.index, tuple(found), tuple(told), tuple(findings), failure, refused)


def _replay(
    task: Task,
    item: Item,
    thread: str,
    transcript: Transcript,
    into: tuple[list[tuple[str, Replay]], list[Told], dict[Finding, None]],
) -> None:
    bench = Bench(
        transcript,
        task.base,
        cache=task.cache,
        prices=task.prices,
        table=task.table,
        one_window=task.one_window,
    )
    end = f" ({thread})" if thread else ""
    found, told, findings = into
    if task.page:
        traces = [bench.trace(policy) for policy in task.policies]
        made = [trace.replay for trace in traces]
        told += fitted([tell(item.name + end, bench, traces)])
    else:
        made = [bench.replay(policy) for policy in task.policies]
    kept = made if task.rows else [msgspec.structs.replace(each, rows=()) for each in made]
    found += ((item.path + end, replay) for replay in kept)
    findings |= dict.fromkeys((*bench.recording.findings, *bench.findings))


def _conversations(task: Task, item: Item) -> Iterator[tuple[str, Transcript]]:
    """The first by no name."""
    source: Any = read_bytes(item.path) if is_url(item.path) else Path(item.path)
    first = load(source, task.format, thread=task.thread, name=item.path, strict=task.strict)
    yield "", first
    for thread in first.threads[1:] if task.all_threads else ():
        yield thread, first.of_thread(thread)


def _nothing(item: Item) -> Failure:
    """Why a transcript came to nothing that can be read."""
    text = "it holds no conversation that a request could have carried"
    return Failure(
        "input.no_usage", text, item.path, "name another file, or a --thread of this one"
    )


def died(item: Item) -> Failure:
    """Why a file came to nothing whose process died, or had no memory left."""
    text = "its process died or had no memory left; it may need more than there is"
    return Failure("internal.worker", text, item.path)


def one_by_one(task: Task, items: Sequence[Item], do: Work = work) -> Iterator[Done]:
    """In this process, in order."""
    for item in items:
        yield do(task, item)
