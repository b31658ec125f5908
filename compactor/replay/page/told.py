"""What a page knows of a recording, as plain values: bounded, picklable, the shape of its JSON.

Specification: docs/report.md; `page/*.js` read it.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Text(msgspec.Struct, frozen=True, array_like=True):
    """A text without control characters. head … tail, with so many characters left out between."""

    head: str
    omitted: int = 0
    tail: str = ""


class Series(msgspec.Struct, frozen=True):
    """Some of a replay's requests, columns of equal length. Sizes in tokens.

    cost: of all requests up to this one, nano-dollars.
    """

    request: list[int]
    entries: list[int]
    sent: list[int]
    cached: list[int]
    written: list[int]
    cost: list[int]


class PassTold(msgspec.Struct, frozen=True):
    """A pass. seqs: the first of the entries that it changed; count: of them all.

    tools: index in `tools`, and how many results of it.
    """

    request: int
    tier: str
    count: int
    freed: int
    tools: list[tuple[int, int]]
    seqs: list[int]


class Changed(msgspec.Struct, frozen=True, array_like=True):
    """What stands for an entry in the end. request: that changed it; text: index in `texts`."""

    seq: int
    request: int
    tokens: int
    text: int


class PolicyTold(msgspec.Struct, frozen=True):
    """A policy. sums: as in `--json`; fates: runs of equal ones, by index in the page's list."""

    name: str
    sums: dict[str, Any]
    series: Series
    passes: list[PassTold]
    passes_left_out: int
    fates: list[tuple[int, int]]
    changed: list[Changed]


class Point(msgspec.Struct, frozen=True):
    """A policy as cost against regret. asked: it is one of those that are drawn in full."""

    name: str
    cost: int
    regret: float
    overflow: int
    asked: bool


class Entries(msgspec.Struct, frozen=True):
    """Entries as handed in, oldest first, columns of equal length; their texts begin `texts`.

    kinds: a letter each. tool: index in `tools`. left_out: that follow and are not told of.
    """

    kinds: str
    tool: list[int]
    tokens: list[int]
    left_out: int


class Told(msgspec.Struct, frozen=True):
    """A recording.

    best: what the optimum costs, where there is one; nano-dollars.
    text_chars: most characters of a text.
    """

    name: str
    format: str
    model: str
    cache: str
    window: int | None
    requests: int
    notes: list[str]
    policies: list[PolicyTold]
    points: list[Point]
    best: int | None
    entries: Entries
    tools: list[str]
    texts: list[Text]
    text_chars: int
