"""`inspect`: what transcripts are and hold, a row a file or a row a conversation.

Counts what a lens reads and what the file itself records; decides nothing and writes nothing. A
file that cannot be read is a row with its error. Specification: docs/cli.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from compactor import models as model_table
from compactor.choose import Chosen, choose, overhead
from compactor.core.errors import CompactorError, Finding
from compactor.core.model import Kind, Usage
from compactor.core.policy import Policy
from compactor.models import ModelTable
from compactor.transcript import Transcript, load
from compactor.walk import Found, files

NO_TRANSCRIPT: Final = ("input.format_unknown", "input.not_json", "input.packed")
"""Errors that only say that a file is something else."""
_ANY_WINDOW: Final = 10**12
"""No decision is made here, so no window is needed."""


class Recorded(msgspec.Struct, frozen=True):
    """Sums of what providers counted. `input` never includes cached tokens.

    requests: how many these are the sum of.
    cache_write_1h: the part of `cache_write` that was written to live an hour.
    """

    requests: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0


class Failure(msgspec.Struct, frozen=True):
    """Why a file cannot be read."""

    code: str
    message: str
    path: str = ""
    hint: str = ""


class Inspected(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds; of a file with several conversations, one of them.

    file: as it was named, or found in a folder that was.
    thread: name of the conversation that was read; "" where the format names none.
    threads: how many conversations the file holds.
    entries: how many of each kind.
    requests: how many the conversation answers: those with recorded usage, else the model's turns.
    tools: calls by the tool's name, the most called first.
    tokens: estimate of a request over all entries, overhead included; None when not counted.
    overhead: tokens of system prompt and tools in it; None when the file does not hold them.
    counter, counter_scale: what counted.
    recorded: of all requests of the file; of the conversation alone, where one was chosen. None
        where the file records nothing.
    error: None when the file could be read.
    """

    file: str
    size_bytes: int
    format: str = ""
    thread: str = ""
    threads: int = 0
    model: str = ""
    entries: dict[str, int] = {}
    requests: int = 0
    tools: dict[str, int] = {}
    tokens: int | None = None
    overhead: int | None = None
    counter: str = ""
    counter_scale: int = 0
    recorded: Recorded | None = None
    findings: tuple[Finding, ...] = ()
    error: Failure | None = None

    @property
    def is_transcript(self) -> bool:
        """Whether the file is one at all, readable or not."""
        return self.error is None or self.error.code not in NO_TRANSCRIPT


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How to read and to count. See `inspect`."""

    format: str | None = None
    thread: str = ""
    all_threads: bool = False
    strict: bool = False
    tokens: bool = True
    models: ModelTable | None = None


def inspect(
    *paths: str | Path,
    format: str | None = None,  # noqa: A002  (the word users know)
    thread: str = "",
    all_threads: bool = False,
    strict: bool = False,
    tokens: bool = True,
    models: ModelTable | None = None,
) -> list[Inspected]:
    """What files are and hold: format, entries, tools, tokens, recorded usage, findings.

    Args:
        paths: files, or folders, which are walked; see docs/cli.md for what is left out.
        format: name of the format of all of them; None looks at the content.
        thread: the conversation to read in each.
        all_threads: a row for every conversation of a file.
        strict: damaged lines are an error instead of a finding.
        tokens: whether to count them.
        models: what is known of models instead of the table that ships.

    Returns:
        a row a file, in the order of paths and names; files of folders that are no transcripts are
        left out, all others that cannot be read have an `error`. O(the files).
    """
    asked = Asked(
        format=format,
        thread=thread,
        all_threads=all_threads,
        strict=strict,
        tokens=tokens,
        models=models,
    )
    found = ((each, row) for each in files(paths) for row in rows_of(each, asked))
    return [row for each, row in found if each.named or row.is_transcript]


def rows_of(found: Found, asked: Asked) -> list[Inspected]:
    """The row of a file, or its rows; one with an error when it cannot be read."""
    file, size = str(found.path), found.size_bytes
    try:
        transcript = load(found.path, asked.format, thread=asked.thread, strict=asked.strict)
        return [_row(each, file, size, asked) for each in _conversations(transcript, asked)]
    except CompactorError as error:
        failure = Failure(error.code, error.message, error.path, error.hint)
    except Exception as error:  # a fault of ours in one file is no reason to lose the others
        failure = Failure("internal.fault", f"{type(error).__name__}: {error}", file)
    return [Inspected(file=file, size_bytes=size, error=failure)]


def total(rows: Iterable[Inspected]) -> Recorded:
    """Sums of what rows record."""
    return _sums([row.recorded for row in rows if row.recorded is not None])


def _conversations(transcript: Transcript, asked: Asked) -> Iterator[Transcript]:
    yield transcript
    if asked.all_threads:
        yield from (transcript.of_thread(name) for name in transcript.threads[1:])


def _row(transcript: Transcript, file: str, size_bytes: int, asked: Asked) -> Inspected:
    reading, names = transcript.reading, transcript.threads
    chosen = _chosen(transcript, asked.models or model_table.built_in())
    kinds = Counter(entry.kind.value for entry in reading.entries)
    calls = Counter(call.name for entry in reading.entries for call in entry.calls)
    carried = overhead(reading, chosen) if asked.tokens and reading.overhead.texts else 0
    return Inspected(
        file=file,
        size_bytes=size_bytes,
        format=transcript.format,
        thread=transcript.thread,
        threads=max(len(names), 1),
        model=reading.model,
        entries={kind.value: kinds[kind.value] for kind in Kind},
        requests=sum(usage.requests for usage in transcript.usage) or kinds[Kind.ASSISTANT.value],
        tools=dict(sorted(calls.items(), key=lambda item: (-item[1], item[0]))),
        tokens=carried + sum(map(chosen.measure.entry, reading.entries)) if asked.tokens else None,
        overhead=carried if asked.tokens and reading.overhead.texts else None,
        counter=chosen.measure.counter.name if asked.tokens else "",
        counter_scale=chosen.measure.scale if asked.tokens else 0,
        recorded=_recorded(_usage(transcript, asked)),
        findings=(*transcript.findings, *chosen.findings),
    )


def _chosen(transcript: Transcript, table: ModelTable) -> Chosen:
    return choose(transcript.reading, Policy(window=_ANY_WINDOW), None, None, table)


def _usage(transcript: Transcript, asked: Asked) -> list[Usage]:
    is_one = asked.all_threads or asked.thread
    return list(transcript.usage) if is_one else transcript.all_usage()


def _recorded(usage: list[Usage]) -> Recorded | None:
    return _sums(usage) if usage else None


def _sums(counted: Iterable[Usage | Recorded]) -> Recorded:
    counted = list(counted)
    names = Recorded.__struct_fields__
    return Recorded(**{name: sum(getattr(each, name) for each in counted) for name in names})
