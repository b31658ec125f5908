"""Shows: the journal folded over entries, as the bodies that differ from what was handed in.

Decides nothing and needs no policy, counter or clock: a record holds the text it made.
"""

from __future__ import annotations

from collections.abc import Sequence

from compactor.core.errors import JournalError
from compactor.core.journal import Journal, active
from compactor.core.model import Entry, entry_digest


def render(entries: Sequence[Entry], journal: Journal) -> dict[int, str]:
    """The bodies to show in place of the recorded ones.

    Args:
        entries: oldest first; more than the journal has seen is fine.
        journal: of this conversation.

    Returns:
        seq → text, ascending. O(elided).

    Raises:
        JournalError: `journal.foreign` where a record speaks of an entry that is not there.
    """
    shown: dict[int, str] = {}
    for record in active(journal.records).passes:
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
    return dict(sorted(shown.items()))


def _is(entry: Entry, digest: str, text: str) -> bool:
    return entry.body == text or entry_digest(entry) == digest
