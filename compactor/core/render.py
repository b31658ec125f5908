"""Shows: the journal folded over entries, as what differs from what was handed in.

Decides nothing and needs no policy, counter or clock: a record holds the text it made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compactor.core.errors import JournalError
from compactor.core.journal import Journal, active
from compactor.core.model import Entry, entry_digest
from compactor.core.records import (
    EditRecord,
    PassRecord,
    ReasoningRecord,
    Standing,
    StubsRecord,
    SummaryRecord,
)
from compactor.core.view import View


def render(entries: Sequence[Entry], journal: Journal) -> View:
    """What to show in place of what was handed in.

    Args:
        entries: oldest first; more than the journal has seen is fine.
        journal: of this conversation.

    Returns:
        a `View`. O(what it changes).

    Raises:
        JournalError: `journal.foreign` where a record speaks of an entry that is not there.
    """
    view = View()
    for record in active(journal.records).records:
        if isinstance(record, ReasoningRecord):
            for seq, digest in zip(record.removed, record.digests, strict=True):
                if seq < len(entries) and entry_digest(entries[seq]) == digest:
                    view.unreasoned[seq] = None
            continue
        for seq, digest, text in _changes(record):
            entry = entries[seq] if seq < len(entries) else None
            if entry is None or not (entry.body == text or digest in ("", entry_digest(entry))):
                raise _foreign(seq, record)
        view.apply(record)
    return view


def _changes(record: Standing) -> Iterator[tuple[int, str, str | None]]:
    """What a record changes: seq, the entry's digest ("" where it does not say), its new body."""
    match record:
        case PassRecord():
            yield from ((e.seq, e.digest, e.text) for e in record.elided)
            yield from ((s.seq, s.digest, s.text) for s in record.stubs)
            yield from ((i.seq, "", None) for i in record.inputs)
        case StubsRecord():
            yield from ((s.seq, s.digest, s.text) for s in record.resolved)
        case EditRecord():
            body = record.text if record.op == "rewrite" and record.part < 0 else None
            yield from ((s, d, body) for s, d in enumerate(record.digests, record.first))
        case SummaryRecord(upto=upto) if upto:
            yield upto - 1, "", None
        case _:
            return


def _foreign(seq: int, record: Standing) -> JournalError:
    place = f"pass {record.request}" if isinstance(record, PassRecord) else f"record at {record.n}"
    return JournalError(
        f"entry {seq} is not the one that the journal changed",
        code="journal.foreign",
        path=place,
        hint="render needs the conversation that the journal was made for",
    )
