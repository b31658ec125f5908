"""Breaks, and which of them a pass that was told explains.

Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactor.formats.edits import dotted
from compactor.stability.changes import Change
from compactor.stability.looks import LOOKS


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

    def __repr__(self) -> str:
        place = f"{dotted(self.change.at)}: {LOOKS[self.change.look].name}"
        return f"<Break in request {self.request}, {place}>"


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
