"""What a conversion works with: the rules, the texts it may add, and what it has to say."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from compactor.core.errors import Finding
from compactor.core.texts import ConversionTexts, MarkerTexts
from compactor.formats.convert.rules import Rules

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.:/@-]")


class Notes:
    """Findings of a conversion, in the order of entries."""

    def __init__(self) -> None:
        self._found: list[Finding] = []

    def report(self, code: str, message: str, seq: int | None = None) -> None:
        """Keep a finding. seq: of the entry; None or -1 concerns the whole."""
        at = None if seq is None or seq < 0 else seq
        finding = Finding(code, message, seq=at)
        if not self._found or self._found[-1] != finding:
            self._found.append(finding)

    def all(self) -> list[Finding]:
        """What concerns the whole, then the rest by entry. O(n log n)."""
        return sorted(self._found, key=lambda found: -1 if found.seq is None else found.seq)


class Frame(NamedTuple):
    """The settings of one conversion.

    same: the target is the format that the conversation comes from, so what only it has words for
        stays.
    complete: calls without a result get one.
    reasoning: signed reasoning is carried where it is taken back.
    """

    rules: Rules
    texts: ConversionTexts
    words: MarkerTexts
    notes: Notes
    same: bool = False
    complete: bool = False
    reasoning: bool = True

    def name(self, name: str) -> str:
        """A tool's name inside a text of ours, in which a hostile one could say anything."""
        plain = _NOT_IN_NAMES.sub("", name)[: self.words.name_chars]
        return plain or self.words.name_unknown
