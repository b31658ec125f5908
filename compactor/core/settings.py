"""What a call is asked with, beside the entries and the journal.

Specification: DESIGN sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactor.core.count import Measure
from compactor.core.policy import Rules
from compactor.core.stubs import Stored
from compactor.core.texts import Loop


def _nothing_stored(_number: int) -> str | None:
    return None


class Forced(NamedTuple):
    """A pass that the caller asks for, whatever it is worth.

    cutoff: where the recent region begins, as an index.
    elide: indexes of the results to elide; None for all that may go, with no budget for evidence.
    """

    cutoff: int
    elide: tuple[int, ...] | None = None


class Settings(NamedTuple):
    """Everything a decision depends on beside the entries and the journal.

    overhead: tokens of system prompt and tools.
    failed: call ids that the caller says have failed, beside the format's own flags.
    overflowed: the provider refused this very request as too long.
    force: start afresh where the journal is foreign.
    model: pinned in the header of a new journal.
    cold: the provider's cache has expired.
    images_reset: removing an image makes the provider's cache start anew.
    marks_only: the provider's cache is read only from breakpoints, and none stands where a pass
        begins to change: all of the view is read anew.
    forced: make this pass at the end of the entries.
    session: name, for the header of a new journal.
    own: the journal is this conversation's, whatever it looks like.
    labels: what a session calls the entries; None where that is their index.
    stored: the full text that a stub stands for, by the number of the result.
    """

    loop: Loop
    measure: Measure
    rules: Rules
    overhead: int
    recallable: bool = False
    failed: tuple[str, ...] = ()
    overflowed: bool = False
    force: bool = False
    model: str = ""
    cold: bool = False
    images_reset: bool = False
    marks_only: bool = False
    forced: Forced | None = None
    own: bool = False
    session: str = ""
    labels: Sequence[int] | None = None
    stored: Stored = _nothing_stored
