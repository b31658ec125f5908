"""The requests of a recording as they are sent, each made afresh. For the oracles of replay.

Passes are made by `compactor.compact`, one call a request, and read off its journal; nothing of
`compactor.replay` is used. A piece is an entry as it was sent; piece 0 is system prompt and tools,
where there are any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

import compactor
from compactor.core.count import Chars4, Measure
from compactor.core.journal import Journal
from compactor.core.model import Entry, Kind, Usage, entry_digest
from compactor.core.render import render
from compactor.loop import loop
from compactor.transcript import Transcript

MEASURE = Measure(Chars4(), 1000, loop().tokens)


class Piece(NamedTuple):
    """key: its bytes; blocks: native content blocks; images: how many it shows."""

    key: str
    tokens: int
    kind: str
    blocks: int
    images: int


class Sent(NamedTuple):
    """A request. answer: the model's turn that it got, as it stands in later requests."""

    pieces: tuple[Piece, ...]
    answer: Piece | None
    model: str
    time: int
    passes: int


def requests(recording: Transcript) -> list[Usage]:
    """Those whose usage is recorded, else one before each model turn and at the end."""
    if recording.usage:
        return list(recording.usage)
    kinds = [entry.kind for entry in recording.entries]
    ns = [n for n in range(1, len(kinds)) if kinds[n] is Kind.ASSISTANT]
    return [Usage(n, 0, 0, 0, 0) for n in (*ns, len(kinds))]


def upto(recording: Transcript, n: int) -> Transcript:
    reading = msgspec.structs.replace(recording.reading, entries=list(recording.entries[:n]))
    return Transcript(recording.lens, recording.root, reading)


def piece(entry: Entry, text: str | None) -> Piece:
    """An entry as shown; text: what a pass put in place of its body."""
    if text is not None:
        key = f"{entry.call_id} {text}"
        return Piece(key, MEASURE.rewritten(text), entry.kind, 1, 0)
    blocks = 1 if entry.kind is Kind.TOOL else max(1, len(entry.parts) + len(entry.calls))
    images = sum(part.kind == "image" for part in entry.parts)
    key = entry_digest(entry) + "".join(p.text + p.digest for p in entry.parts)
    return Piece(key, MEASURE.entry(entry), entry.kind, blocks, images)


def shown(entries: Sequence[Entry], journal: Journal | None) -> tuple[Piece, ...]:
    """The entries as the records of a journal show them."""
    view = render(entries, journal or Journal())
    turns = [view.turn(seq, entry) for seq, entry in enumerate(entries)]
    return tuple(piece(entry, view.bodies.get(seq)) for seq, entry in enumerate(turns))


def colds(recording: Transcript, ttl: int) -> list[bool]:
    """Of each request whether its model had not answered within the lifetime, or not at all."""
    asked = [Sent((), None, u.model, u.time_ms, 0) for u in requests(recording)]
    return [k > 0 and not alive(asked[:k], now, ttl) for k, now in enumerate(asked)]


def sent(
    recording: Transcript, policy: compactor.Policy | None, cold: list[bool] | None = None
) -> list[Sent]:
    """Every request, compacted afresh by the library's own front door. O(n^2) on purpose."""
    found, journal = [], None
    overhead = MEASURE.texts(recording.reading.overhead.texts)
    if policy is not None and policy.overhead_tokens is not None:
        overhead = policy.overhead_tokens
    first = [Piece("overhead", overhead, "overhead", 1, 0)] if overhead else []
    for k, usage in enumerate(requests(recording)):
        passes = 0
        if policy is not None:
            is_cold = bool(cold and cold[k])
            here = upto(recording, usage.n)
            # Breakpoints change no text; with them a priced pass breaks what is behind it alone.
            out = compactor.compact(here, policy, journal, cold=is_cold, place_breakpoints=True)
            journal, passes = out.journal, len(out.report.passes)
        pieces = shown(recording.entries[: usage.n], journal)
        later = recording.entries[usage.n : usage.n + 1]
        answer = piece(later[0], None) if later and later[0].kind is Kind.ASSISTANT else None
        found.append(Sent((*first, *pieces), answer, usage.model, usage.time_ms, passes))
    return found


def tokens(pieces: tuple[Piece, ...]) -> int:
    return sum(p.tokens for p in pieces)


def alive(earlier: list[Sent], now: Sent, ttl: int | None) -> list[Sent]:
    """Of the same model, and younger than the lifetime; without times nothing expires."""
    same = [one for one in earlier if one.model == now.model]
    return [one for one in same if is_young(one.time, now.time, ttl)]


def is_young(used: int, now: int, ttl: int | None) -> bool:
    return not ttl or not used or not now or now - used < ttl
