"""Tokens of parts and entries, as integers, with any counter.

`tokens(part) = (count(part) * scale + 999) // 1000`; `tokens(entry) = per_entry + sum of parts`.
The counter is an argument; this file knows only `chars4`, which needs no vocabulary and is what
language-neutral cases use. Specification: DESIGN section 3, Tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from compactor.core.model import Entry, Kind, Part, PartKind
from compactor.core.texts import TokenNumbers


class Counter(Protocol):
    """Counts the tokens of a text, unscaled. Pure, thread-safe, never raises.

    name: as in the policy, e.g. `o200k_base`.
    fingerprint: pins vocabulary and engine; equal fingerprints give equal counts.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    def count(self, text: str) -> int:
        """Tokens of any str, lone surrogates included; 0 for ""."""
        ...


class Chars4:
    """One token per four characters, rounded up. Needs nothing, estimates roughly."""

    name = "chars4"
    fingerprint = "chars4"

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


class Measure:
    """Tokens of parts and entries under one counter and scale.

    Args:
        counter: counts texts.
        scale: per mille, ≥ 1.
        numbers: allowances of `loop.json`.

    `counted` is the number of texts given to the counter so far (for tests of the work done).
    """

    def __init__(self, counter: Counter, scale: int, numbers: TokenNumbers) -> None:
        self.counter = counter
        self.scale = scale
        self.numbers = numbers
        self.counted = 0

    def text(self, text: str) -> int:
        """Tokens of one text part."""
        if not text:
            return 0
        self.counted += 1
        return self._scaled(self.counter.count(text))

    def texts(self, texts: Iterable[str]) -> int:
        """Tokens of several text parts, each rounded up for itself."""
        return sum(self.text(text) for text in texts)

    def part(self, part: Part) -> int:
        """Tokens of any part. Media have an allowance; opaque blocks go by their length."""
        numbers = self.numbers
        match part.kind:
            case PartKind.TEXT | PartKind.REASONING:
                return self.text(part.text)
            case PartKind.IMAGE:
                return self._scaled(min(part.size or numbers.image_max, numbers.image_max))
            case PartKind.DOCUMENT:
                return self._scaled(numbers.document)
            case PartKind.SEALED | PartKind.OTHER:
                above = part.size * numbers.opaque_numerator + numbers.opaque_denominator - 1
                return self._scaled(above // numbers.opaque_denominator)

    def entry(self, entry: Entry) -> int:
        """Tokens of an entry as it was read. O(its text)."""
        total = self.numbers.per_entry + sum(self.part(part) for part in entry.parts)
        for call in entry.calls:
            total += self.text(call.name) + self.text(call.arguments)
        if entry.kind is Kind.TOOL:
            total += self.text(entry.body)
        return total

    def rewritten(self, text: str) -> int:
        """Tokens of a result whose body became `text`, media gone."""
        return self.numbers.per_entry + self.text(text)

    def _scaled(self, count: int) -> int:
        return (count * self.scale + 999) // 1000
