"""Runs of entries shown as texts: drawn, made, and what must come of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from compactor.core.model import Entry, Kind, Part, PartKind, entry_digest
from compactor.core.sections import boundaries
from compactor.core.view import Run
from compactor.formats import lens
from compactor.formats.raw.native import Edit, apply_edits, read_document
from tests import pairing
from tests.harness import messages

FORMATS = ("entries", "anthropic", "openai-chat", "openai-responses", "gemini", "bedrock")
ALTERNATING = ("anthropic", "gemini", "bedrock")


@st.composite
def runs_of(draw: st.DrawFn, entries: Sequence[Entry]) -> list[Run]:
    """Runs along the boundaries of sections, as edits and summaries make them; at least one."""
    cuts = [*boundaries(entries), len(entries)]
    wanted = draw(st.lists(st.sampled_from(cuts), min_size=2, max_size=8, unique=True))
    bounds = sorted(wanted)
    pairs = list(pairwise(bounds))
    spans = [pair for pair in pairs if draw(st.integers(0, 2))] or pairs[:1]
    return [run(first, end) for first, end in spans]


def run(first: int, end: int) -> Run:
    return Run(first, end, f"[sections {first} to {end} are gone]", "replace")


def whole_runs(entries: Sequence[Entry]) -> list[list[Run]]:
    """Every single run of sections, and all of them as runs of one section."""
    cuts = [*boundaries(entries), len(entries)]
    singles = [[run(a, b)] for i, a in enumerate(cuts) for b in cuts[i + 1 :]]
    return [*singles, [run(a, b) for a, b in pairwise(cuts)]]


def edits(name: str, native: Any, runs: Sequence[Run]) -> list[Edit]:
    reviser: Any = lens(name)
    made: list[Edit] = reviser.replace_runs(native, reviser.read(native).entries, runs)
    return made


def shown(name: str, native: Any, runs: Sequence[Run]) -> Any:
    return apply_edits(native, edits(name, native, runs))


def spliced(native: Any, changes: Sequence[Edit]) -> Any:
    """The same edits made in the text of an indented file."""
    document = read_document(json.dumps(native, indent=1).encode(), "request")
    return json.loads(document.edited(changes))


def expected(name: str, entries: Sequence[Entry], runs: Sequence[Run]) -> list[tuple[Any, ...]]:
    """Kinds and digests of the entries with the runs shown."""
    by_first = {one.first: one for one in runs}
    kept: list[Entry] = []
    index = 0
    while index < len(entries):
        if index in by_first:
            part = Part(PartKind.TEXT, by_first[index].text)
            kept.append(Entry(kind=Kind.USER, parts=(part,)))
            index = by_first[index].end
        else:
            kept.append(entries[index])
            index += 1
    return facts(name, kept)


def facts(name: str, entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """What is compared. Where the user speaks once in a row, what he said in a row is one."""
    if name not in ALTERNATING:
        return [(entry.kind, entry_digest(entry)) for entry in entries]
    rows: list[tuple[Any, ...]] = []
    said: list[Part] = []
    systems: list[str] = []
    for entry in [*entries, Entry(kind=Kind.ASSISTANT)]:
        if entry.kind is Kind.USER:
            said += entry.parts
        elif entry.kind is Kind.SYSTEM:
            systems.append(entry_digest(entry))
        else:
            rows += [(Kind.USER, tuple(said))] if said else []
            rows += [(Kind.SYSTEM, digest) for digest in systems]
            rows.append((entry.kind, entry_digest(entry)))
            said, systems = [], []
    return rows[:-1]


def new_problems(name: str, before: Any, after: Any) -> list[str]:
    """What is wrong with a request now and was not: pairing, empty texts, two users in a row.

    A result without a call is refused wherever it stands, so a text may stand before one.
    """
    was = Counter(_problems(name, before))
    if any(what.startswith("orphan") for what in was):
        was["a block stands before the results"] += len(messages_of(before))
    return sorted((Counter(_problems(name, after)) - was).elements())


def _problems(name: str, native: Any) -> list[str]:
    items = messages_of(native)
    found = [one for _, what in pairing.problems(name, items) for one in _each(what)]
    if name in ALTERNATING:
        found += ["the user twice in a row"] * sum(
            one["role"] == two["role"] == "user" and not _has_result(two)
            for one, two in pairwise(items)
        )
        found += ["the user does not begin"] * (bool(items) and items[0]["role"] != "user")
    return found


def _each(what: str) -> list[str]:
    """A problem of several calls as one of each."""
    ids = re.findall(r"'[^']*'", what)
    return [f"no result for {call_id}" for call_id in ids] or [what]


def messages_of(native: Any) -> Sequence[Any]:
    return native["entries"] if "entries" in native else messages(native)


def _has_result(message: Any) -> bool:
    blocks = message.get("content", message.get("parts"))
    marks = ("toolResult", "functionResponse")
    return isinstance(blocks, list) and any(
        block.get("type") == "tool_result" or any(key in block for key in marks) for block in blocks
    )


def untouched(before: Any, after: Any) -> int:
    """How many messages are the very same objects."""
    known = {id(message) for message in messages_of(before)}
    return sum(id(message) in known for message in messages_of(after))
