"""Which recordings a page shows in full, and how much of each, so that a page stays small.

The choice depends on the recordings alone, never on the order they were read in. Specification:
docs/report.md.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from compactor.replay.page.tell import PASSES_MAX, POINTS_MAX, drawn
from compactor.replay.page.told import Entries, PolicyTold, Series, Text, Told
from compactor.replay.page.words import TEXT_CHARS_MAX, shorter

DETAILED_MAX: Final = 40
"""Recordings shown in full: those that cost most under the first policy."""
TEXT_BYTES: Final = 6_000_000
"""Of all texts of a page, shared by its recordings."""
_POINTS: Final = 48_000
_ENTRIES: Final = 80_000
_PASSES: Final = 12_000
_SEQS: Final = 200_000
_CHANGED: Final = 150_000
_ESCAPED: Final = {"<": 5, ">": 5, "&": 5, "\n": 1, "\t": 1, '"': 1, "\\": 1}
"""Character → bytes that it takes beside its own."""
_STEPS: Final = (TEXT_CHARS_MAX, 4000, 2500, 1500, 1000, 600, 400, 240, 120, 0)


class Shelf:
    """The recordings that cost most, of those that were put on it. O(log) a recording."""

    def __init__(self, most: int = DETAILED_MAX) -> None:
        self._most = most
        self._heap: list[tuple[int, tuple[int, int], Told]] = []

    def put(self, place: tuple[int, int], told: Told) -> None:
        """Keep a recording if it is among the costliest. place: among all; no two are equal."""
        row = (told.policies[0].sums["cost_nano"], (-place[0], -place[1]), told)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, row)
        else:
            heapq.heappushpop(self._heap, row)

    @property
    def kept(self) -> dict[tuple[int, int], Told]:
        """Place → recording, of those that are left."""
        return {(-file, -number): told for _, (file, number), told in self._heap}


def fitted(found: Sequence[Told]) -> list[Told]:
    """Recordings with so much of each that a page can hold them all. O(their texts)."""
    policies = sum(len(told.policies) for told in found)
    points = max(4, min(POINTS_MAX, _POINTS // max(policies, 1)))
    passes = min(PASSES_MAX, _PASSES // max(policies, 1))
    entries = min(_ENTRIES // max(len(found), 1), _CHANGED // max(policies, 1))
    limits = _Limits(points, passes, entries, _SEQS // max(policies * passes, 1))
    fewer = [_fewer(told, limits) for told in found]
    shares = _shares([sum(map(_size, told.texts)) for told in fewer])
    return [_with_texts(told, share) for told, share in zip(fewer, shares, strict=True)]


def _shares(sizes: Sequence[int]) -> list[int]:
    """How many bytes of text each may have: what the small ones leave is for the others."""
    shares, left = [0] * len(sizes), TEXT_BYTES
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    for waiting, at in zip(range(len(order), 0, -1), order, strict=True):
        shares[at] = min(sizes[at], left // waiting)
        left -= shares[at]
    return shares


class _Limits(NamedTuple):
    """Of each recording or policy. seqs: of a pass."""

    points: int
    passes: int
    entries: int
    seqs: int


def _fewer(told: Told, limits: _Limits) -> Told:
    kept = min(limits.entries, len(told.entries.kinds))
    gone = len(told.entries.kinds) - kept
    if gone:
        told = _without(told, kept, gone)
    policies = [_thinner(policy, limits, kept) for policy in told.policies]
    return msgspec.structs.replace(told, policies=policies)


def _without(told: Told, kept: int, gone: int) -> Told:
    """Only the first entries. Texts that stand for entries come behind theirs, and stay."""
    e = told.entries
    entries = Entries(e.kinds[:kept], e.tool[:kept], e.tokens[:kept], e.left_out + gone)
    empty = [Text("")] * gone
    texts = [*told.texts[:kept], *empty, *told.texts[kept + gone :]]
    return msgspec.structs.replace(told, entries=entries, texts=texts)


def _thinner(policy: PolicyTold, limits: _Limits, entries: int) -> PolicyTold:
    at = drawn(policy.series.sent, limits.points)
    columns = msgspec.structs.asdict(policy.series)
    most = sorted(policy.passes, key=lambda each: (-each.freed, each.request))
    most = most[: limits.passes]
    shown = [
        msgspec.structs.replace(
            each, seqs=[seq for seq in each.seqs[: limits.seqs] if seq < entries]
        )
        for each in sorted(most, key=lambda each: each.request)
    ]
    return msgspec.structs.replace(
        policy,
        series=Series(**{name: [column[i] for i in at] for name, column in columns.items()}),
        passes=shown,
        passes_left_out=policy.passes_left_out + len(policy.passes) - len(shown),
        changed=[each for each in policy.changed if each.seq < entries],
    )


def _with_texts(told: Told, most_bytes: int) -> Told:
    """Every text cut at the largest of some lengths at which all fit."""
    texts, lengths = told.texts, [len(text.head) + len(text.tail) for text in told.texts]
    for chars in _STEPS:
        if sum(min(length, chars) for length in lengths) > most_bytes:
            continue  # not even as ASCII
        if chars < TEXT_CHARS_MAX:
            texts = [shorter(text, chars) for text in texts]
        if chars == 0 or sum(map(_size, texts)) <= most_bytes:
            return msgspec.structs.replace(told, texts=texts, text_chars=chars)
    raise AssertionError("no text takes no place")


def _size(text: Text) -> int:
    """Bytes of a text in the page, or a few more. O(text), and nothing is made of it."""
    both = text.head + text.tail
    escaped = sum(both.count(each) * more for each, more in _ESCAPED.items())
    return len(both.encode()) + escaped + 24
