"""What a harness does to whole turns: a summary in their place, or taking them back.

Both are records; nothing is deleted. Specification: DESIGN sections 6 and 7, seed 000 section 7.
"""

from __future__ import annotations

from collections.abc import Sequence

from compactor.core.bound import removals
from compactor.core.errors import InputError
from compactor.core.facts import Facts
from compactor.core.fold import Fold
from compactor.core.journal import active
from compactor.core.records import AnyRecord, PassRecord, RewindRecord, Standing, SummaryRecord
from compactor.core.sections import boundaries, outstanding
from compactor.core.table import TableWriter
from compactor.core.view import View, view_of
from compactor.loop import loop
from compactor.session.kept import Kept
from compactor.session.state import Mark
from compactor.store import StoredEntry, Transaction


def summarise(
    kept: Kept,
    tx: Transaction,
    text: str,
    upto: int | None,
    stands: tuple[Fold, Sequence[AnyRecord]],
) -> str:
    """Hide what lies below a seq behind a summary and the table of the files read there.

    Args:
        stands: the fold over the branch, and the journal, which has its header and fits it.
    """
    fold, records = stands
    standing = active(records).records
    wanted = len(kept.branch) if upto is None else kept.position(upto)
    end = _section_start(kept, wanted, view_of(standing))
    shown = text + TableWriter(loop()).summary(_reads_before(kept, end))
    if not end:  # nothing lies below
        return shown
    below = tuple(kept.branch.digests[_cutoff(standing) : end])
    kept.record(tx, SummaryRecord(len(kept.branch), end, shown, below), *removals(fold, end))
    state = kept.state.summarised_upto(kept.seq_at(end))
    kept.put(tx, state.prepared_at(tx.next_number, emptied=True))
    kept.then(lambda: kept.book.prepared(frozenset()))
    return shown


def mark(kept: Kept, records: Sequence[AnyRecord]) -> Mark:
    """What stands now."""
    return Mark(len(kept.branch), len(active(records).records))


def rewind(kept: Kept, tx: Transaction, to: int | Mark, records: Sequence[AnyRecord]) -> None:
    """Take back entries, the records that they led to, and their reads.

    Args:
        records: the journal, which fits the branch; none where it has not begun.
    """
    standing = active(records).records
    if isinstance(to, Mark):
        position, count = to.position, to.records
        is_left = position > len(kept.branch) or count > len(standing)
        if is_left or _cutoff(standing[:count]) > position:
            raise InputError(
                "the mark lies on a branch that was left", code="input.shape", path="mark"
            )
    else:
        position = kept.position(to)
        later = (i for i, record in enumerate(standing) if record.n > position)
        count = next(later, len(standing))
    gone = range(kept.seq_at(position), kept.next_seq)
    if kept.begun:
        kept.record(tx, RewindRecord(position, count, "taken back"))
    tx.set_live(position, ())
    state = kept.state.without(gone, tuple(kept.book.pending))
    kept.put(tx, state.prepared_at(tx.next_number))
    kept.then(lambda: _cut(kept, position))


def _cut(kept: Kept, position: int) -> None:
    kept.branch.cut(position)
    kept.book.pending = {}
    kept.forget()
    kept.book.prepared(kept.standing())


def _cutoff(standing: Sequence[Standing]) -> int:
    """Where the recent region begins after the last record."""
    cutoff = 0
    for record in standing:
        if isinstance(record, PassRecord):
            cutoff = record.cutoff
        elif isinstance(record, SummaryRecord):
            cutoff = max(cutoff, record.upto)
    return cutoff


def _section_start(kept: Kept, position: int, view: View) -> int:
    """The last place at or before a position that splits no call from its results, nor an edit.

    What a summary hides stays hidden: the next one covers at least as much.
    """
    entries = kept.entries()
    starts = [at for at in boundaries(entries) if view.hidden.get(at, at) == at]
    ends = [*starts, len(entries)]
    if starts and outstanding(entries[starts[-1] :]):
        ends.pop()
    run = view.runs.get(0)
    covered = run.end if run is not None and run.op == "summary" else 0
    return max([covered, *(start for start in ends if start <= position)])


def _reads_before(kept: Kept, end: int) -> list[Facts]:
    """Full reads in turns that a summary hides, since the one before, oldest first."""
    first, last = kept.state.summarised, kept.seq_at(end)
    entries = kept.store.entries(first, last - first) if last > first else []
    told = [_facts(kept, stored) for stored in entries if not kept.state.is_taken_back(stored.seq)]
    return [f for f in told if f is not None and f.kind == "read" and not f.is_stub]


def _facts(kept: Kept, stored: StoredEntry) -> Facts | None:
    facts = kept.facts_of(stored.call_id, stored.text) if stored.kind == "tool" else None
    return None if facts is None or facts.failed else facts
