"""Where a conversation stops being the one that its journal speaks of, and what stands then.

Records speak of entries by digest. What we made of an entry is that entry, should a harness hand it
in. Specification: DESIGN section 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compactor.core.journal import Journal, active
from compactor.core.model import Entry, digest_without, entry_digest
from compactor.core.records import (
    AnyRecord,
    EditRecord,
    Elision,
    PassRecord,
    ReasoningRecord,
    Resolution,
    Standing,
    StubsRecord,
    SummaryRecord,
)
from compactor.core.view import View


def begins(entries: Sequence[Entry], journal: Journal) -> bool:
    """Whether the conversation begins with the journal's first entry, or what we made of it."""
    header = journal.header
    if header is None or not header.first_digest:
        return True
    if not entries:
        return False
    if entry_digest(entries[0]) == header.first_digest:
        return True
    made = (one for record in journal.records for one in _bodies(record))
    return any(seq == 0 and text == entries[0].body for seq, text in made)


def departure(entries: Sequence[Entry], records: Sequence[AnyRecord], instead: str) -> int | None:
    """The first entry that is not the one the records speak of.

    What we made of an entry is that entry: a body that we wrote, `instead` of removed reasoning. A
    body that a harness stored back stays ours when the record that wrote it has fallen.
    """
    standing = active(records).records
    ours = {text for record in records for text in _bodies(record)}
    view = View()
    for record in records:
        view.apply(record)
    shown = view.known
    removals = [record for record in standing if isinstance(record, ReasoningRecord)]
    unreasoned = {seq for record in removals for seq in record.removed}
    for seq, digest in sorted(_digests(standing).items()):
        if seq >= len(entries):
            return seq
        if (seq, entries[seq].body) in ours:
            continue
        if entry_digest(entries[seq]) in (digest, *shown.get(seq, ())):
            continue
        if seq not in unreasoned or digest_without(entries[seq], instead) != digest:
            return seq
    return None


def _digests(standing: Sequence[Standing]) -> dict[int, str]:
    """seq → digest of every entry that records speak of."""
    known: dict[int, str] = {}
    end = 0
    for record in standing:
        if isinstance(record, PassRecord | SummaryRecord):
            known |= dict(enumerate(record.below, end))
            end += len(record.below)
    for record in standing:
        if isinstance(record, EditRecord):
            known |= dict(enumerate(record.digests, record.first))
        elif isinstance(record, StubsRecord | PassRecord):
            stubs = record.resolved if isinstance(record, StubsRecord) else record.stubs
            known |= {stub.seq: stub.digest for stub in stubs}
    return known


def _bodies(record: AnyRecord) -> Iterator[tuple[int, str]]:
    """The bodies that a record made, by seq."""
    match record:
        case PassRecord():
            made: tuple[Elision | Resolution, ...] = (*record.elided, *record.stubs)
            yield from ((one.seq, one.text) for one in made)
        case StubsRecord():
            yield from ((stub.seq, stub.text) for stub in record.resolved)
        case EditRecord(op="rewrite", part=-1):
            yield record.first, record.text
        case _:
            return


def _reach(record: Standing) -> int | None:
    """Below which entries a record speaks by digest; None where it speaks of a boundary only."""
    match record:
        case PassRecord():
            return max([record.cutoff, *(stub.seq + 1 for stub in record.stubs)])
        case StubsRecord():
            return record.resolved[-1].seq + 1 if record.resolved else 0
        case EditRecord():
            return record.end
        case SummaryRecord():
            return record.upto
        case _:
            return None


def surviving(standing: Sequence[Standing], departed: int) -> int:
    """How many records stay: those that speak of nothing above the departure, changes up to it.

    A pass that stays keeps what was recorded before it, and the reasoning that it removed: sent
    again, that would follow what was changed.
    """
    kept = 0
    for index, record in enumerate(standing):
        reach = _reach(record)
        if reach is not None:
            if reach > departed:
                break
            kept = index + 1
        elif kept == index and (isinstance(record, ReasoningRecord) or record.n <= departed):
            kept = index + 1
    return kept
