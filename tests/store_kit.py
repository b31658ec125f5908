"""What the tests of the store share: small sessions, a clock, and real processes on one file."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compactor.store import SqliteStore, StoredEntry, StoredResult
from compactor.store.session import SqliteSession
from tests.cli_kit import environment

WAIT_S = 120
"""Longer than any process of the tests may take."""


class Clock:
    """Each look at it is one millisecond later."""

    def __init__(self, start: int = 1_000) -> None:
        self.now = start

    def __call__(self) -> int:
        self.now += 1
        return self.now


def entry(seq: int, text: str = "", **more: Any) -> StoredEntry:
    """An entry with a digest of its own; without a text, with one of its own."""
    more = {"kind": "user", "facts": b'{"n":%d}' % seq, **more}
    return StoredEntry(seq, more.pop("kind"), f"{seq:032x}", text or f"text of {seq}\n", **more)


def result(number: int, text: str = "", **more: Any) -> StoredResult:
    return StoredResult(number, f"call_{number}", "bash", "{}", text or f"result {number}", **more)


def filled(store: SqliteStore, entries: int = 4, name: str = "one") -> SqliteSession:
    """A session of one write: entries, results, records, all on the live branch."""
    session = store.session(name, create=True)
    with session.write(session.version()) as write:
        write.add_entries([entry(seq) for seq in range(entries)])
        write.add_result(result(1, "one result\n"))
        write.add_result(StoredResult(2, tool="recall", root=1, limit=2000))
        write.set_live(0, range(entries))
        write.add_records([b'{"kind":"header"}', b'{"kind":"pass"}'])
        write.put_state(b"state")
        write.put_about(format_name="anthropic", model="claude")
    return session


def run(code: str, *arguments: str | Path) -> Any:
    """What a process of its own prints as JSON."""
    process = start(code, *arguments)
    return finished(process)


def start(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def finished(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, err) == (0, ""), err
    return json.loads(out) if out else None


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, by name."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
