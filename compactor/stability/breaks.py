"""Breaks, and the passes that explain them: what changes a prefix on purpose.

An `Outcome`, a session, a journal file or a journal counts by the records that change what the
model sees and that were not told before, all of one boundary as one; a report by its passes. Told
again, they count once. A pass explains one break, of the next request. Specification:
docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from compactor.core.errors import InputError
from compactor.core.journal import Journal
from compactor.core.records import (
    EditRecord,
    Header,
    OverflowRecord,
    PassRecord,
    ReasoningRecord,
    RewindRecord,
    StubsRecord,
    SummaryRecord,
)
from compactor.core.report import Report
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import compact_json
from compactor.stability.changes import Change
from compactor.stability.looks import LOOKS, Look
from compactor.stability.requests import Request


class Break(NamedTuple):
    """A request that is not a continuation of the one before.

    request, before: numbers of the two in the stream, from 1.
    conversation: its name.
    change: the first difference.
    expected: a pass was told for it.
    """

    request: int
    before: int
    conversation: str
    change: Change
    expected: bool = False

    @property
    def look(self) -> Look:
        """What it looks like, in words."""
        return LOOKS[self.change.look]

    def __repr__(self) -> str:
        return f"<Break in request {self.request}, {dotted(self.change.at)}: {self.look.name}>"


class Found(NamedTuple):
    """What a stream holds, and what was found in it.

    requests, conversations, breaks: all of them, oldest first.
    passes: how many were told.
    allowed: how many breaks may be beside those.
    """

    requests: Sequence[Request]
    conversations: Sequence[str]
    breaks: Sequence[Break]
    passes: int
    allowed: int

    @property
    def unexpected(self) -> list[Break]:
        """The breaks for which no pass was told."""
        return [one for one in self.breaks if not one.expected]


class Credit(NamedTuple):
    """Passes that were told when `at` requests had been recorded."""

    at: int
    passes: int
    conversation: str | None


def expected(breaks: Sequence[Break], told: Sequence[Credit], requests: int) -> list[Break]:
    """The breaks, those expected that a pass was told for since the request before.

    Passes told behind the last request may be of any.
    """
    left = [credit.passes for credit in told]
    found: list[Break] = []
    for one in breaks:
        fits = (
            k
            for k, credit in enumerate(told)
            if left[k]
            and credit.conversation in (None, one.conversation)
            and (one.before <= credit.at < one.request or credit.at == requests)
        )
        k = next(fits, None)
        if k is not None:
            left[k] -= 1
        found.append(one._replace(expected=k is not None))
    return found


_CHANGING = (
    *(EditRecord, OverflowRecord, PassRecord, ReasoningRecord),
    *(StubsRecord, SummaryRecord),
)
"""Records of a boundary after which another prefix is sent; so it is after a rewind."""


class Told:
    """What was told so far. A count is that of the passes that are new."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._passes: set[str] = set()

    def count(self, what: Any, conversation: str) -> int:
        """The passes that something tells of and that were not told before.

        Args:
            what: a number, an `Outcome`, a `Session`, a `Journal`, an open journal file, a
                `Report` or its JSON as a dict.
            conversation: two conversations may have records that are the same.

        Raises:
            InputError: `input.shape` when it tells of none.
        """
        if isinstance(what, int) and not isinstance(what, bool) and what >= 0:
            return what
        journal = what if isinstance(what, Journal) else getattr(what, "journal", None)
        if isinstance(journal, Journal):
            return self._of_journal(journal, conversation)
        passes = what.passes if isinstance(what, Report) else _passes_of(what)
        new = {conversation + compact_json(one) for one in passes} - self._passes
        self._passes |= new
        return len(new)

    def _of_journal(self, journal: Journal, conversation: str) -> int:
        header = next((one for one in journal.records if isinstance(one, Header)), None)
        key = f"{conversation} {header!r}"
        boundaries = {_boundary(index, one) for index, one in enumerate(journal.records)}
        count = len(boundaries - {None})
        new = count - self._known.get(key, 0)
        self._known[key] = count
        return max(0, new)


def _boundary(index: int, record: Any) -> tuple[str, int] | None:
    """Which change a record is of; None for one that changes nothing."""
    if isinstance(record, RewindRecord):
        return "rewind", index
    if isinstance(record, _CHANGING):
        return "n", record.n
    return None


def _passes_of(what: Any) -> Any:
    passes = what.get("passes") if isinstance(what, dict) else None
    if passes is None:
        raise InputError(
            f"{type(what).__name__} tells of no passes",
            code="input.shape",
            hint="passed(), passed(2), passed(outcome), or a report or journal",
        )
    return passes
