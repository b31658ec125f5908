"""Goldens: one readable text file a case under `golden/`, written only by `--snapshot-update`.

`describe` tells every request of a recording as it was sent. A change that moves a byte of a sent
prefix shows up as a diff of these files, which are read in review like code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

import compactor
from compactor import Journal, Outcome, Policy, Transcript
from compactor.core.model import Entry, Kind
from compactor.formats.raw.native import compact_json

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RECORDINGS = GOLDEN / "recordings"
_WIDTH = 88


class GoldenText(SingleFileSnapshotExtension):
    """`golden/<test module>/<test name>.txt`."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(GOLDEN / test_location.basename)


def describe(transcript: Transcript, policy: Policy) -> str:
    """Every request that a recording's harness made, as it was sent."""
    blocks = [_heading(transcript, policy)]
    journal, before = Journal(), list[str]()
    for count in _boundaries(transcript.entries):
        request = _cut(transcript, count)
        outcome = compactor.compact(
            request, policy, journal, format=transcript.format, explain=True
        )
        sent = [compact_json(m) for m in transcript.lens.messages(outcome.request)]
        blocks.append("\n".join(_request(transcript, outcome, sent, before)))
        journal, before = outcome.journal, sent
    return "\n\n".join(blocks) + "\n"


def _heading(transcript: Transcript, policy: Policy) -> str:
    size = len(transcript.entries)
    return f"{transcript.format}, {size} entries, window {policy.window}, {policy.counter}"


def _boundaries(entries: Sequence[Entry]) -> list[int]:
    turns = [n for n, entry in enumerate(entries) if n and entry.kind is Kind.ASSISTANT]
    return [*turns, len(entries)]


def _cut(transcript: Transcript, count: int) -> Any:
    """The recording as it was before entry `count`."""
    if count == len(transcript.entries):
        return transcript.root
    return _before(transcript.root, transcript.entries[count].at)


def _before(node: Any, place: Sequence[int | str]) -> Any:
    """What stands before a place: lists end there, all else stays as it is."""
    if not place:
        return node
    step, *rest = place
    if not isinstance(step, int):
        return {**node, step: _before(node[step], rest)}
    is_inside = any(isinstance(later, int) and later > 0 for later in rest)
    return [*node[:step], _before(node[step], rest)] if is_inside else list(node[:step])


def _message_index(messages: Sequence[Any], root: Any, entry: Entry) -> int:
    """Which of the native messages an entry is in."""
    known = {id(message): index for index, message in enumerate(messages)}
    node = root
    for step in entry.at:
        node = node[step]
        if id(node) in known:
            return known[id(node)]
    raise AssertionError(f"entry at {entry.at} is in no message")


def _request(
    transcript: Transcript, outcome: Outcome, sent: list[str], before: list[str]
) -> Iterator[str]:
    report = outcome.report
    yield (
        f"=== over {report.entries} entries: {report.why}, {report.tokens_before} -> "
        f"{report.tokens_after} tokens, {report.tier}{', pressed' if report.pressed else ''}"
    )
    for record in report.passes:
        said = ", ".join(f"{key} {value}" for key, value in record.items())
        yield f"pass: {said}"
    same = [old == new for old, new in zip(before, sent, strict=False)]
    stable = same.index(False) if False in same else len(same)
    yield f"stable prefix: {stable} of the {len(before)} messages sent before"
    blocks = _blocks(transcript, outcome)
    for index in range(stable, len(sent)):
        digest = hashlib.sha256(sent[index].encode()).hexdigest()[:8]
        again = index < len(same) and same[index]
        yield f"[{index}] {digest}{' as before' if again else ''}"
        yield from () if again else blocks.get(index, ())


def _blocks(transcript: Transcript, outcome: Outcome) -> dict[int, list[str]]:
    """Message index → its entries: seq, kind, fate, tokens, and text."""
    shown = transcript.lens.read(outcome.request).entries
    messages = transcript.lens.messages(outcome.request)
    blocks: dict[int, list[str]] = {}
    for fate, entry in zip(outcome.fates, shown, strict=True):
        at = _message_index(messages, outcome.request, entry)
        name = f" {fate.tool}" if fate.tool else ""
        head = f"  {fate.seq} {fate.kind}{name}, {fate.fate}, {fate.tokens} tokens"
        blocks.setdefault(at, []).extend(
            [head, *_text(entry, whole=fate.fate.startswith("elided"))]
        )
    return blocks


def _text(entry: Entry, *, whole: bool) -> Iterator[str]:
    """What an entry says: all of what stands for what was elided, else how it begins."""
    texts = [entry.body] if entry.kind is Kind.TOOL else [part.text for part in entry.parts]
    texts += [f"{call.name} {call.arguments}" for call in entry.calls]
    for text in texts:
        if whole:
            yield from (f"    | {line}" for line in text.split("\n"))
        elif text:
            cut = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}… ({len(text)} chars)"
            yield f"    {cut!r}"
