"""`compactor conformance`: runs the cases and says what differs.

Exit codes: 0 all cases pass, 1 some fail (the implementation is wrong), 2 wrong usage or a suite
that cannot be used (the suite is wrong). A run of no case is no pass. Specification: DESIGN
section 11, `conformance/README.md`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from compactor.conformance.cases import Case, load_cases
from compactor.conformance.child import TIME_LIMIT_S, Child
from compactor.conformance.runner import Ask, Verdict, run
from compactor.conformance.track import Change, read_track, updated, write_track
from compactor.conformance.wire import answer
from compactor.core.errors import CompactorError
from compactor.loop import shipped


@click.command("conformance")
@click.argument(
    "paths", nargs=-1, metavar="[PATH]...", type=click.Path(exists=True, path_type=Path)
)
@click.option("--command", "program", metavar="CMD", help="Ask this program instead of compactor.")
@click.option("-k", "pattern", metavar="PATTERN", help="Only cases whose id holds or matches this.")
@click.option(
    "--track",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Remember what passes in FILE and say only what changed.",
)
@click.option("--json", "as_json", is_flag=True, help="Say it as JSON.")
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[Path, ...],
    program: str | None,
    pattern: str | None,
    track: Path | None,
    as_json: bool,
) -> None:
    """Check an implementation against the language-neutral cases.

    PATH is a case file or a folder of them; without any, the cases that ship with compactor.
    CMD speaks the protocol: a JSON object a line in, an answer a line out.
    """
    try:
        cases = _chosen(load_cases(paths or [shipped("conformance")]), pattern)
        known = read_track(track) if track else None
        with _implementation(program) as ask:
            verdicts = list(run(cases, ask))
        if track:
            write_track(track, known or {}, verdicts)
    except CompactorError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.UsageError(f"{track}: {error.strerror}") from error
    changes = updated(known, verdicts) if known is not None else None
    click.echo(_as_json(verdicts, changes) if as_json else _as_text(verdicts, changes))
    context.exit(0 if all(verdict.passed for verdict in verdicts) else 1)


def _chosen(cases: Sequence[Case], pattern: str | None) -> Sequence[Case]:
    """The cases whose id holds a text, or matches a pattern with `*`, `?` or `[`."""
    if pattern is None:
        found = cases
    elif any(sign in pattern for sign in "*?["):
        found = [case for case in cases if fnmatch.fnmatchcase(case.id, pattern)]
    else:
        found = [case for case in cases if pattern in case.id]
    if not found:
        raise click.UsageError(f"no case {'has the id ' + pattern if pattern else 'was found'}")
    return found


@contextlib.contextmanager
def _implementation(program: str | None) -> Iterator[Ask]:
    """Ours in this process, or a program of its own."""
    if program is None:
        yield answer
        return
    try:
        argv = shlex.split(program)
    except ValueError as error:
        raise click.UsageError(f"--command: {error}") from error
    if not argv or shutil.which(argv[0]) is None:
        raise click.UsageError(f"--command: there is no program {' '.join(argv[:1])!r}")
    with Child(argv, TIME_LIMIT_S) as child:
        yield child


def _as_text(verdicts: Sequence[Verdict], changes: Sequence[Change] | None) -> str:
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if changes is None:
        lines = [line for verdict in failed for line in _failure(verdict)]
    else:
        lines = [f"{change.id}: {change.was} -> {change.now}" for change in changes]
    counts = f"{len(verdicts) - len(failed)} of {len(verdicts)} cases pass"
    return "\n".join([*lines, f"the implementation is wrong: {counts}" if failed else counts])


def _failure(verdict: Verdict) -> Iterable[str]:
    yield f"FAIL {verdict.case.id} ({verdict.case.file}): {verdict.problem}"
    yield f"  because   {verdict.case.why}"
    if verdict.difference is not None:
        yield f"  at        {verdict.difference.path}"
        yield f"  expected  {verdict.difference.expected}"
        yield f"  got       {verdict.difference.got}"


def _as_json(verdicts: Sequence[Verdict], changes: Sequence[Change] | None) -> str:
    said: dict[str, Any] = {
        "passed": sum(verdict.passed for verdict in verdicts),
        "failed": sum(not verdict.passed for verdict in verdicts),
        "cases": [_case_json(verdict) for verdict in verdicts],
    }
    if changes is not None:
        said["changes"] = [change._asdict() for change in changes]
    return json.dumps(said, indent=2)


def _case_json(verdict: Verdict) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": verdict.case.id,
        "file": verdict.case.file,
        "passed": verdict.passed,
    }
    if not verdict.passed:
        said["problem"] = verdict.problem
    if verdict.difference is not None:
        said["difference"] = verdict.difference._asdict()
    return said
