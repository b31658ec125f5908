"""Shows: the journal folded over entries, as the bodies that differ from what was handed in.

Decides nothing and needs no policy, counter or clock: a record holds the text it made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactor.core.errors import JournalError
from compactor.core.journal import Journal, ReasoningRecord, active
from compactor.core.model import Entry, entry_digest


class View(NamedTuple):
    """What differs from the entries as they were handed in.

    bodies: seq → text of a result's body, media gone.
    unreasoned: seqs whose signed reasoning is not shown.
    """

    bodies: dict[int, str]
    unreasoned: tuple[int, ...] = ()


def render(entries: Sequence[Entry], journal: Journal) -> View:
    """What to show in place of what was recorded.

    Args:
        entries: oldest first; more than the journal has seen is fine.
        journal: of this conversation.

    Returns:
        a `View`, ascending. O(what it changes).

    Raises:
        JournalError: `journal.foreign` where a record speaks of an entry that is not there.
    """
    shown: dict[int, str] = {}
    standing = active(journal.records)
    for record in standing.passes:
        for elision in record.elided:
            entry = entries[elision.seq] if elision.seq < len(entries) else None
            if entry is None or not _is(entry, elision.digest, elision.text):
                raise JournalError(
                    f"entry {elision.seq} is not the one that the journal elided",
                    code="journal.foreign",
                    path=f"pass {record.request}",
                    hint="render needs the conversation that the journal was made for",
                )
            shown[elision.seq] = elision.text
    removals = [record for record in standing.records if isinstance(record, ReasoningRecord)]
    unreasoned = sorted(
        seq
        for record in removals
        for seq, digest in zip(record.removed, record.digests, strict=True)
        if seq < len(entries) and entry_digest(entries[seq]) == digest
    )
    return View(dict(sorted(shown.items())), tuple(unreasoned))


def _is(entry: Entry, digest: str, text: str) -> bool:
    return entry.body == text or entry_digest(entry) == digest
