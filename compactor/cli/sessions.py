"""The commands over a store: `recall`, `sessions`, `import`, `export`, `verify`, `prune`, `insert`,
`prepare`. Each opens the store, makes one call of `compactor.Session`, and prints what it gives.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from compactor.cli.job import policy_of, read_input, read_source
from compactor.cli.options import Job, JobCommand, job_options, session_policy_options
from compactor.cli.outputs import outputs_of
from compactor.cli.says import pressure, summary
from compactor.cli.screen import note, note_findings, plain, show, to_json, write_bytes
from compactor.config import load_policy
from compactor.core import hygiene
from compactor.core.errors import Finding, InputError, StoreError
from compactor.core.journal import active
from compactor.core.policy import Policy
from compactor.formats.entries import to_neutral
from compactor.journal_file import JournalFile
from compactor.session import Session, context_file
from compactor.session.originals import from_json
from compactor.session.state import decode_state
from compactor.store import SessionInfo, SqliteStore

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
store_option = click.option(
    "--store", "store", metavar="FILE", required=True, help="The store: a SQLite file."
)
session_option = click.option(
    "--session", "session", metavar="ID", required=True, help="Name of the session in the store."
)
json_option = click.option("--json", "as_json", is_flag=True, help="All of it, as JSON.")
_AGE = re.compile(r"([0-9]{1,6})([dhm])")
_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000}


@contextmanager
def opened(
    store: str, session: str, policy: Policy | None = None, *, create: bool = False
) -> Iterator[Session]:
    """A session of a store file, closed at the end."""
    with Session.open(store, session, policy or Policy(), create=create) as found:
        yield found


@contextmanager
def looked_at(store: str) -> Iterator[SqliteStore]:
    """A store that is only read, wherever it lies; an older one is brought up to date for it."""
    try:
        found = SqliteStore.open(store, create=False, readonly=True)
    except StoreError as error:
        if error.code != "store.outdated":
            raise
        found = SqliteStore.open(store, create=False)
    with found:
        yield found


@click.command("recall", short_help="Show an original of a session again.")
@store_option
@session_option
@click.option("--seq", type=int, metavar="N", help="The entry with this seq, verbatim.")
@click.option(
    "--id", "result_id", metavar="ID", help="The result with this id (#0012), in windows."
)
@click.option("--query", metavar="TEXT", help="Words to look for in everything that was stored.")
@click.option(
    "--offset", type=click.IntRange(min=1), metavar="N", help="First line to show, from 1."
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many lines to show, at most 2000; with --query how many places, at most 50.",
)
@json_option
def recall(
    store: str,
    session: str,
    seq: int | None,
    result_id: str | None,
    query: str | None,
    offset: int | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Show an original of a session again.

    With --seq the session is only read. --id and --query do what the model calls recall for: the
    answer gets an id of its own.

    \b
    Examples:
      compactor recall --store agent.db --session job-1 --seq 61
      compactor recall --store agent.db --session job-1 --id '#0012' --offset 200 --limit 50
      compactor recall --store agent.db --session job-1 --query "extract path join"
    """
    if sum(value is not None for value in (seq, result_id, query)) != 1:
        raise click.UsageError("name exactly one of --seq, --id and --query")
    if offset is not None and query is not None:
        raise click.UsageError("--offset goes with --seq and --id")
    with looked_at(store) if seq is not None else SqliteStore.open(store, create=False) as where:
        found = Session(where, session, create=False)
        text = found.recall(seq=seq, id=result_id, query=query, offset=offset, limit=limit)
    if not text and offset is not None:
        note(f"the entry has no line {offset}")
    if as_json:
        show(json.dumps({"text": text}))
    else:
        end = "" if text.endswith("\n") else "\n"
        write_bytes([_as_bytes(text + end)])


def _as_bytes(text: str) -> bytes:
    """Bytes that were no UTF-8 when they were inserted, as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character that stands for no byte
        return text.encode("utf-8", "surrogatepass")


@click.command("sessions", short_help="List the sessions of a store.")
@store_option
@json_option
def sessions(store: str, as_json: bool) -> None:
    """List the sessions of a store, the last written first."""
    with looked_at(store) as opened_store:
        found = opened_store.sessions()
    if as_json:
        show(json.dumps({"sessions": [info._asdict() for info in found]}))
        return
    head = ("session", "entries", "results", "records", "size", "updated", "format", "model")
    rows: list[tuple[str, ...]] = [head]
    rows += [_row(info) for info in found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        show("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(info: SessionInfo) -> tuple[str, ...]:
    counts = (f"{n:,}" for n in (info.entries, info.results, info.records, info.size_bytes))
    return (plain(info.id), *counts, _when(info), plain(info.format), plain(info.model))


def _when(info: SessionInfo) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(info.updated_ms / 1000))


@click.command("import", short_help="Store a recorded transcript as a session.")
@click.argument("source", metavar="[FILE|-]", required=False)
@store_option
@session_option
@click.option("-f", "--format", "format_name", metavar="FORMAT", help="Format of the file.")
@click.option("--thread", metavar="ID", default="", help="Which conversation of the file.")
def import_(
    store: str, session: str, source: str | None, format_name: str | None, thread: str
) -> None:
    """Store a recorded transcript as a session; nothing is decided about it yet.

    Imported again, only what is new in it is added.

    \b
    Example:
      compactor import session.jsonl --store agent.db --session job-1
    """
    transcript = read_source(source, format_name, thread)
    with opened(store, session, create=True) as found:
        before = found.kept.next_seq
        found.observe(transcript)
        added = found.kept.next_seq - before
        note(f"{added:,} entries added, {len(found.kept.branch):,} in the session's conversation")


@click.command("export", short_help="Print the originals of a session.")
@store_option
@session_option
@click.option(
    "--all", "everything", is_flag=True, help="Also what is no longer in the conversation."
)
def export(store: str, session: str, everything: bool) -> None:
    """Print the originals of a session as neutral entries, one JSON object a line.

    The output is a transcript in the format `entries`; `compactor convert` gives it another shape.
    """
    with looked_at(store) as where:
        kept = Session(where, session, create=False).kept
        if everything:
            stored = kept.store.entries(0, kept.next_seq)
            entries = [from_json(one.facts, one.text) for one in stored]
        else:
            entries = kept.entries()
    for entry in to_neutral(entries):
        show(json.dumps(entry))


@click.command("verify", short_help="Check a store or a journal against its checksums.")
@click.option("--store", metavar="FILE", help="A store.")
@click.option("--session", metavar="ID", help="Only this session of the store.")
@click.option("--journal", metavar="FILE", help="A journal file.")
@json_option
def verify(store: str | None, session: str | None, journal: str | None, as_json: bool) -> None:
    """Check a store or a journal: every digest and checksum is derived anew.

    Exits 1 when something is wrong.
    """
    if (store is None) == (journal is None):
        raise click.UsageError("name --store FILE or --journal FILE")
    found = _of_journal(journal) if journal is not None else _of_store(str(store), session)
    if as_json:
        show(json.dumps({"findings": msgspec.to_builtins(found)}))
    for finding in () if as_json else found:
        show(plain(f"{finding.path or finding.code}: {finding.message}"))
    if not found and not as_json:
        show("nothing is wrong")
    if found:
        raise click.exceptions.Exit(1)


def _of_store(store: str, session: str | None) -> list[Finding]:
    with looked_at(store) as opened_store:
        return opened_store.verify(session)


def _of_journal(path: str) -> list[Finding]:
    with JournalFile.open(path, create=False, readonly=True) as file:
        active(file.journal.records)
        return list(file.findings)


@click.command("prune", short_help="Remove whole sessions that were not written to for long.")
@store_option
@click.option("--older-than", "age", metavar="AGE", required=True, help="Such as 90d, 12h or 30m.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--shrink", is_flag=True, help="Leave no trace of them in the file, and give its room back."
)
def prune(store: str, age: str, yes: bool, shrink: bool) -> None:
    """Remove whole sessions that were not written to for so long, with all their originals.

    Asks first. Nothing less than a session is ever removed.
    """
    match = _AGE.fullmatch(age)
    if match is None:
        raise click.BadParameter("say it as 90d, 12h or 30m", param_hint="--older-than")
    before = int(time.time() * 1000) - int(match.group(1)) * _MS[match.group(2)]
    with SqliteStore.open(store, create=False) as opened_store:
        old = [info for info in opened_store.sessions() if info.updated_ms < before]
        if old:
            _prune(opened_store, old, before, ask=not yes)
        else:
            note("no session is that old")
        if shrink:
            opened_store.shrink()


def _prune(store: SqliteStore, old: list[SessionInfo], before: int, *, ask: bool) -> None:
    for info in old:
        note(f"{plain(info.id)} (last written to {_when(info)})")
    if ask:
        click.confirm(f"Remove these {len(old)} sessions for good?", abort=True, err=True)
    folders = {info.id: _folder(store, info.id) for info in old}
    removed = store.prune(before)  # what was written to since we asked stays
    for session in removed:
        if folders.get(session):
            context_file.remove(folders[session])
    note(f"{len(removed)} sessions removed")


def _folder(store: SqliteStore, session: str) -> str:
    """Of the context file of a session; "" where there is none, or nobody can tell any more."""
    try:
        return decode_state(store.session(session).load().state).folder
    except StoreError:
        return ""


@click.command("insert", short_help="Insert a tool result into a session.")
@click.argument("source", metavar="[FILE|-]", default="-")
@store_option
@session_option
@click.option("--tool", required=True, metavar="NAME", help="Name of the tool that was called.")
@click.option("--call", "call_id", default="", metavar="ID", help="Id of the call.")
@click.option("--arguments", default="{}", metavar="JSON", help="Arguments of the call.")
@click.option("--error", is_flag=True, help="The call failed.")
@click.option("--read", metavar="JSON", help="What of which file a read shows: path, resolved, …")
@click.option("--edits", metavar="JSON", help="Changed files: [{path, resolved, old, new}, …].")
@click.option("--note", "noted", metavar="TEXT", help="A line that the tool adds.")
@click.option("--config", metavar="FILE", help="Policy file (TOML or JSON), as for compact.")
def insert(
    source: str,
    store: str,
    session: str,
    tool: str,
    call_id: str,
    arguments: str,
    error: bool,
    read: str | None,
    edits: str | None,
    noted: str | None,
    config: str | None,
) -> None:
    """Insert a tool result, from FILE or standard input, and print the text for the model.

    \b
    Example:
      make 2>&1 | compactor insert --store agent.db --session job-1 --tool bash --call toolu_1
    """
    policy = load_policy(config) if config else Policy()
    output = _output(source).decode("utf-8", "surrogateescape")
    of_read = hygiene.read_of(_json("--read", read))
    changes = [hygiene.change_of(each) for each in _list(_json("--edits", edits))]
    call = {"id": call_id, "name": tool, "arguments": arguments}
    with opened(store, session, policy, create=True) as found:
        text = found.insert(call, output, error=error, read=of_read, edits=changes, note=noted)
    write_bytes([_as_bytes(text)])


def _output(source: str) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", code="input.unreadable", path=source
        ) from error


def _json(flag: str, text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise InputError(f"no JSON: {error}", code="input.not_json", path=flag) from error


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | None):
        raise InputError("a list of objects is needed", code="input.shape", path="--edits")
    return value or []


@click.command("prepare", cls=JobCommand, short_help="Prepare a request of a session.")
@store_option
@session_option
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to stdout (-).")
@click.option("--report", metavar="FILE", help="Write what was done and why there, as JSON.")
@click.option("--place-breakpoints", is_flag=True, help="Set cache breakpoints.")
@job_options
@session_policy_options
def prepare(
    job: Job,
    store: str,
    session: str,
    output: str | None,
    report: str | None,
    place_breakpoints: bool,
) -> None:
    """Prepare a request of a session: what is new is stored, then it is compacted.

    \b
    Example:
      compactor prepare request.json --store agent.db --session job-1 > smaller.json
    """
    if job.journal is not None:
        raise click.UsageError("a session keeps its own journal: leave --journal out")
    outputs = outputs_of(job, output, report, dry_run=False)
    policy, transcript = policy_of(job), read_input(job)
    with opened(store, session, policy, create=True) as found:
        outcome = found.prepare(
            transcript,
            overflowed=job.overflowed,
            cold=job.cold,
            failed=job.failed,
            place_breakpoints=place_breakpoints,
        )
    outputs.hand_out(outcome.request.pieces, to_json(outcome.report))
    if not job.quiet:
        note_findings(outcome.report.findings)
        passes = active(outcome.journal.records).passes
        note(summary(outcome.report, sum(len(made.elided) for made in passes)))
        if pressure(outcome.report):
            note(pressure(outcome.report))
