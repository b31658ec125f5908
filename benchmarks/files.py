"""What files cost: reading and writing a large session, and the command line around it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import compactor
from benchmarks.measure import Row, Table, best
from benchmarks.talks import session

MEGA = 1_000_000


def large(size_bytes: int) -> Table:
    """A Claude Code session: read, compacted, written."""
    data = session(size_bytes)
    policy = compactor.Policy(window=200_000, counter="chars4")
    read = compactor.load(data)
    shown = compactor.compact(read, policy).request
    size = len(data) / MEGA
    rows = [
        Row("read", best(lambda: compactor.load(data), 3), size),
        Row(
            "decide (counting with chars4)", best(lambda: compactor.compact(read, policy), 3), size
        ),
        Row("write, nothing elided", best(read.to_bytes, 3), size),
        Row("write, most results elided", best(shown.to_bytes, 3), size),
    ]
    return Table(f"a Claude Code session of {size:,.1f} MB", rows, "MB")


def command_line(entries: int) -> Table:
    """The command as a shell runs it, start of Python included."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.jsonl"
        file.write_bytes(session(entries * 3_200))
        source = [str(file), "--window", "200000", "-q"]
        rows = [
            Row("--version", _command("--version")),
            Row(f"explain, {entries:,} entries", _command("explain", *source)),
            Row("explain, counting with chars4", _command("explain", *source, *_CHARS4)),
        ]
    return Table("the command line", rows)


_CHARS4: Sequence[str] = ("--counter", "chars4")


def _command(*arguments: str) -> float:
    command = [sys.executable, "-m", "compactor", *arguments]
    return best(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), 3)
