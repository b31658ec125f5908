"""What a session knows of its inserted results: their facts, and which stand before the model.

The dedupe table of hygiene is a look into it: a stub may name only what stands verbatim in the view
of the last request, or was inserted since. Specification: DESIGN section 7, seed 000.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from compactor.core.facts import Facts
from compactor.core.records import InsertionRecord


class Book:
    """Facts by number, and the lookups that hygiene makes. O(1) a result, O(hits) a lookup.

    Attributes:
        facts: number → facts.
        numbers: insertion key → number.
        pending: numbers inserted since the last request was prepared, oldest first.
        standing: numbers that stood verbatim in the view of the last prepared request.
        edited: numbers of these that an edit has changed or hidden since.
    """

    def __init__(self) -> None:
        self.facts: dict[int, Facts] = {}
        self.numbers: dict[str, int] = {}
        self.pending: dict[int, None] = {}
        self.standing: Container[int] = ()
        self.edited: set[int] = set()
        self._reads: dict[tuple[str, str], list[int]] = {}
        self._same: dict[str, list[int]] = {}
        self._paths: dict[str, list[int]] = {}

    def add(self, record: InsertionRecord, *, pending: bool) -> None:
        """A result that was inserted."""
        facts = record.facts
        number = facts.number
        self.facts[number] = facts
        self.numbers[record.key] = number
        if pending:
            self.pending[number] = None
        for resolved in filter(None, (facts.resolved, *facts.files)):
            self._paths.setdefault(resolved, []).append(number)
        if facts.is_stub:
            return
        if facts.kind == "read":
            self._reads.setdefault((facts.resolved, facts.sha), []).append(number)
        if facts.same_key:
            self._same.setdefault(facts.same_key, []).append(number)

    def prepared(self, standing: Container[int]) -> None:
        """A request was made: what stands in it is what stubs may name."""
        self.standing, self.edited = standing, set()
        self.pending = {}

    def reads(self, resolved: str, sha: str) -> Iterator[Facts]:
        """Full reads of this content that stand before the model, newest first."""
        return (self.facts[n] for n in self._standing(self._reads.get((resolved, sha), [])))

    def same(self, key: str) -> Facts | None:
        """The newest result of the same call with the same text that stands before the model."""
        return next((self.facts[n] for n in self._standing(self._same.get(key, []))), None)

    def was_read(self, resolved: str, gone: Container[int]) -> bool:
        """Whether a file was read, or written, in turns that were not taken back."""
        return any(number not in gone for number in self._paths.get(resolved, ()))

    def _standing(self, numbers: list[int]) -> Iterable[int]:
        return (n for n in reversed(numbers) if n in self.pending or self._stands(n))

    def _stands(self, number: int) -> bool:
        return number in self.standing and number not in self.edited
