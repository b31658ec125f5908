"""A second simulator that renders every request anew and compares whole texts. Slow and plain.

It shares nothing with `compactor.replay` but the rules it checks: requests are made by
`compactor.compact` without a journal, or by re-reading what a strategy showed; prefixes are tuples
of texts, caches are dictionaries from a prefix to when it dies.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, NamedTuple

import compactor
from compactor.core.count import Measure
from compactor.core.model import Entry, Kind

LOOKBACK = 20
SHORTEST = 1024
LIFE_MS = 300_000


class Entered(NamedTuple):
    """An entry as it is sent: its bytes, tokens, blocks."""

    text: str
    tokens: int
    blocks: int
    kind: Kind


Prompt = tuple[Entered, ...]


def entered(entry: Entry, measure: Measure) -> Entered:
    """Everything of an entry that reaches the provider, as one text."""
    parts = [(part.kind.value, part.text, part.size, part.digest) for part in entry.parts]
    calls = [(call.id, call.name, call.arguments) for call in entry.calls]
    text = json.dumps([entry.kind.value, entry.call_id, parts, calls, entry.body])
    blocks = 1 if entry.kind is Kind.TOOL else max(1, len(parts) + len(calls))
    return Entered(text, measure.entry(entry), blocks, entry.kind)


def prompts(talk: Any, policy: compactor.Policy, measure: Measure) -> list[Prompt]:
    """Every request as our policy makes it, from nothing, and read again."""
    found = []
    for n in talk.boundaries:
        out = compactor.compact(talk.upto(n).anthropic(), policy)
        entries = compactor.load(out.request).entries
        found.append(tuple(entered(entry, measure) for entry in entries))
    return found


def tokens(prompt: Prompt, overhead: int) -> int:
    return overhead + sum(each.tokens for each in prompt)


def common(one: Prompt, other: Prompt) -> int:
    same = 0
    while same < min(len(one), len(other)) and one[same].text == other[same].text:
        same += 1
    return same


def breaks(sent: list[Prompt]) -> int:
    """Requests whose predecessor is no prefix of them."""
    return sum(common(before, after) < len(before) for before, after in pairwise(sent))


def ideal(sent: list[Prompt], overhead: int) -> list[tuple[int, int, int]]:
    """(sent, cached, written) where all that any earlier request had is served."""
    rows, earlier = [], list[Prompt]()
    for prompt in sent:
        reach = [tokens(prompt[: common(prompt, other)], overhead) for other in earlier]
        cached = max(reach, default=0)
        whole = tokens(prompt, overhead)
        rows.append((whole, cached, whole - cached))
        earlier.append(prompt)
    return rows


def anthropic(
    sent: list[Prompt], overhead: int, times_ms: list[int]
) -> list[tuple[int, int, int, int]]:
    """(sent, cached, written, uncached) breakpoints behind the system prompt and at the end."""
    store: dict[tuple[str, ...], int] = {}
    rows = []
    for prompt, now in zip(sent, times_ms, strict=True):
        whole, hit = tokens(prompt, overhead), -1
        for end in (len(prompt), 0):
            looked = 0
            for at in range(end, -1, -1):
                if looked >= LOOKBACK or hit >= 0:
                    break
                key = tuple(each.text for each in prompt[:at])
                if key in store and now - store[key] <= LIFE_MS:
                    hit = at
                looked += prompt[at - 1].blocks if at else 1
        cached = tokens(prompt[:hit], overhead) if hit >= 0 else 0
        marks = [at for at in (0, len(prompt)) if tokens(prompt[:at], overhead) >= SHORTEST]
        last = max((tokens(prompt[:at], overhead) for at in marks), default=0)
        written = max(last - cached, 0)
        for at in [*marks, *([hit] if hit >= 0 else [])]:
            store[tuple(each.text for each in prompt[:at])] = now
        rows.append((whole, cached, written, whole - cached - written))
    return rows
