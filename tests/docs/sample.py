"""What the documentation shows of `docs/sample/session.jsonl`: the picture in the README."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import compactor
from compactor import Report
from compactor.core.model import Entry, Kind
from compactor.core.render import render

SAMPLE = Path(__file__).resolve().parents[2] / "docs" / "sample" / "session.jsonl"
WINDOW = 24_000
"""The window that `./run demo` takes for it."""

_PICTURED = (0, 1, 2, 4, 6, None, 20, 22, None, 37)
_NOTES = {"kept:floor": "evidence: the newest failed call, kept", "kept:recent": "recent, kept"}
_LEFT, _WHO = 52, 11


class Shown(NamedTuple):
    """The sample and what became of it. bodies: seq → what stands there instead."""

    entries: Sequence[Entry]
    bodies: Mapping[int, str]
    fates: Sequence[str]
    report: Report


def compacted() -> Shown:
    """The sample as the demo compacts it."""
    transcript = compactor.load(SAMPLE)
    policy = compactor.Policy(window=WINDOW, recallable=True)
    out = compactor.compact(transcript, policy, explain=True)
    bodies = render(transcript.entries, out.journal).bodies
    return Shown(transcript.entries, bodies, [fate.fate for fate in out.fates], out.report)


def picture() -> Iterator[str]:
    """The sample before and as it is sent, beside each other."""
    shown = compacted()
    before, after = shown.report.tokens_before, shown.report.tokens_after
    yield "```text"
    yield _beside(f"before: {before:,} tokens", f"sent: {after:,} tokens")
    for seq in _PICTURED:
        yield from _entry(shown, seq) if seq is not None else [_beside("…", "…")]
    yield "```"


def _entry(shown: Shown, seq: int) -> Iterator[str]:
    entry, body = shown.entries[seq], shown.bodies.get(seq)
    before = _line(entry)
    if body is None:
        note = _NOTES.get(shown.fates[seq], "") if entry.kind is Kind.TOOL else ""
        yield _beside(before, before.ljust(_LEFT) + note)
        return
    marker, _, table = body.partition("\n")
    yield _beside(before, _who(entry) + marker)
    if table:
        rows = table.count("\n| ") - 1
        yield _beside("", f"{' ' * _WHO}and a table of the {rows} files read above")


def _beside(left: str, right: str) -> str:
    return f" {left.ljust(_LEFT)} {right}".rstrip()


def _line(entry: Entry) -> str:
    """An entry in one line that fits the left column."""
    is_tool = entry.kind is Kind.TOOL
    text = entry.body if is_tool else " ".join(part.text for part in entry.parts)
    size = f" ({len(entry.body):,} chars)" if is_tool else ""
    room = _LEFT - _WHO - len(size) - 2
    text = " ".join(text.split())
    return _who(entry) + (text if len(text) <= room else text[: room - 1] + "…") + size


def _who(entry: Entry) -> str:
    name = entry.name + (" ✗" if entry.error else "") if entry.kind is Kind.TOOL else entry.kind
    return f"{name:<{_WHO}}"
