"""What every command does first: find the policy, read the input, open the journal, decide.

The one place where the command line meets `compactor.api`. It adds what only the shell can know to
the report's findings and names the file in errors that speak of a place inside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from compactor import models as model_table
from compactor.api import Outcome, compact
from compactor.cli.options import Job
from compactor.cli.screen import note
from compactor.config import find_config, load_policy
from compactor.core.errors import CompactorError, Finding, InputError, JournalError
from compactor.core.journal import Journal
from compactor.core.policy import Policy
from compactor.core.records import AnyRecord
from compactor.formats.raw.sources import Bytes
from compactor.inputs import of_stream, unreadable
from compactor.journal_file import JournalFile
from compactor.request import fold_of
from compactor.transcript import Transcript, load

STDIN = "-"

_COLD = Finding(
    "cold_ignored",
    "the threshold trigger does not look at the cache: --cold is unused; --trigger priced does",
)
_FRESH_CODES = ("journal.foreign", "journal.damaged", "journal.unsupported")
"""What `--force` begins a new journal for."""


class Looked(NamedTuple):
    """An input and what was decided about it.

    added: records beyond those of the journal.
    """

    transcript: Transcript
    outcome: Outcome
    added: tuple[AnyRecord, ...]


def policy_of(job: Job) -> Policy:
    """The policy: command line over file; the model and the defaults come later.

    Raises:
        PolicyError: an unknown key, or numbers that contradict themselves.
    """
    path = Path(job.config) if job.config else find_config(Path())
    policy = load_policy(path) if path is not None else Policy()
    if path is not None and not job.config and not job.quiet:
        note(f"config: {path}")
    policy = msgspec.structs.replace(policy, **job.settings)
    if not policy.enabled and not job.quiet:
        note(
            "warning: compaction is off; this is for reproducing a context-window bug and for "
            "nothing else"
        )
    return policy


def read_input(job: Job) -> Transcript:
    """The transcript that a command is about.

    Raises:
        click.UsageError: nothing was named and nothing is piped in.
        InputError: it cannot be used.
    """
    return read_source(job.source, job.format, job.thread, strict=job.strict)


def read_source(
    source: str | None, format_name: str | None, thread: str, *, strict: bool = False
) -> Transcript:
    """The transcript of a file or of standard input. See `read_input`."""
    if source is None and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("name a FILE, or pipe a transcript in (- is standard input)")
    name = "<stdin>" if source in (None, STDIN) else str(source)
    try:
        if source in (None, STDIN):
            return load(_piped(name), format_name, thread=thread, name=name, strict=strict)
        return load(Path(name), format_name, thread=thread, strict=strict)
    except InputError as error:
        raise _placed(error, name) from error


def _piped(name: str) -> Bytes:
    """All of standard input."""
    if sys.stdin is None:
        raise unreadable(name, OSError("it is closed"), "name a FILE, or pipe a transcript in")
    return of_stream(sys.stdin.buffer, name)


@contextmanager
def opened_journal(
    job: Job, *, readonly: bool, create: bool, force: bool = False
) -> Iterator[JournalFile | None]:
    """The journal that was named, locked; None without one. See `JournalFile.open`."""
    if job.journal is None:
        yield None
        return
    with JournalFile.open(job.journal, create=create, readonly=readonly, force=force) as file:
        yield file


def decide(
    job: Job,
    policy: Policy,
    transcript: Transcript,
    file: JournalFile | None,
    *,
    force: bool = False,
    explain: bool = False,
    place_breakpoints: bool = False,
) -> Looked:
    """Decide over a transcript. Writes nothing.

    Args:
        force: begin a new journal where the old one belongs to another conversation.
        explain: also say the fate of every entry.
        place_breakpoints: set cache breakpoints.

    Raises:
        CompactorError: as `compactor.compact`; errors of the journal name its file.
    """

    models = model_table.load(job.models) if job.models else None

    def run() -> Outcome:
        return compact(
            transcript,
            policy,
            Journal(file.journal.records) if file else None,
            failed=job.failed,
            overflowed=job.overflowed,
            cold=job.cold,
            explain=explain,
            place_breakpoints=place_breakpoints,
            models=models,
        )

    try:
        outcome = run()
    except JournalError as error:
        if file is None or not force or error.code not in _FRESH_CODES:
            raise _placed(error, job.journal or "") from error
        file.start_afresh(error.message)
        outcome = run()
    known = len(file.journal.records) if file else 0
    return Looked(transcript, outcome, outcome.journal.records[known:])


def look(job: Job, *, explain: bool = False) -> Looked:
    """Decide as `compact` would, and write nothing."""
    policy = policy_of(job)
    transcript = read_input(job)
    with opened_journal(job, readonly=True, create=False) as file:
        looked = decide(job, policy, transcript, file, explain=explain)
    return with_findings(job, looked, file)


def _is_priced(looked: Looked) -> bool:
    """Whether passes are made for what they save, too."""
    fold = fold_of(looked.outcome.journal)
    return fold is not None and fold.rules.priced


def with_findings(job: Job, looked: Looked, file: JournalFile | None) -> Looked:
    """The same with what only the shell has found in its report."""
    ignored = job.cold and not _is_priced(looked)
    found = (file.findings if file else ()) + ((_COLD,) if ignored else ())
    if not found:
        return looked
    outcome = looked.outcome
    report = msgspec.structs.replace(outcome.report, findings=outcome.report.findings + found)
    return looked._replace(outcome=msgspec.structs.replace(outcome, report=report))


def _placed(error: CompactorError, name: str) -> CompactorError:
    """The error with its file in front of a place inside it."""
    if error.path == name or error.path.startswith(f"{name}:"):
        return error
    place = f"{name}: {error.path}" if error.path else name
    return type(error)(error.message, code=error.code, path=place, hint=error.hint)
