"""Brings a fold to where a journal and the entries at hand agree.

A journal speaks about entries by digest. What departs from it falls as by a rewind; a journal of
another conversation is refused. Going on from the workings of the call before costs only what is
new, the rebuild from records is one O(n) pass, and both give the same fold. Specification: DESIGN
sections 5 (Work) and 6.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from operator import eq, is_
from typing import NamedTuple

from compactor.core.departure import begins, departure, surviving
from compactor.core.errors import Finding, InputError, JournalError
from compactor.core.fold import Fold
from compactor.core.journal import Journal, active, follows
from compactor.core.model import Entry, entry_digest
from compactor.core.records import (
    VERSION,
    AnyRecord,
    DeclinedRecord,
    EditRecord,
    Header,
    InsertionRecord,
    PassRecord,
    PolicyRecord,
    ReadoutRecord,
    ReasoningRecord,
    RewindRecord,
    Standing,
    SummaryRecord,
)
from compactor.core.settings import Settings


class Resumed(NamedTuple):
    """Where a call begins.

    records: the journal's, with what resuming added (a header, a rewind).
    known: how many of them the caller already has.
    later: records that are shown when the fold has got to their n.
    """

    fold: Fold
    records: list[AnyRecord]
    known: int
    findings: list[Finding]
    later: Sequence[Standing] = ()

    def stand(self, entries: Sequence[Entry], labels: Sequence[int]) -> None:
        """Show the fold the other entries and records, deciding nothing. O(new entries)."""
        later = deque(self.later)
        for seq in range(self.fold.n, len(entries)):
            self._show(later, seq)
            self.fold.add(entries[seq], labels[seq])
        self._show(later, len(entries))

    def _show(self, later: deque[Standing], n: int) -> None:
        while later and later[0].n <= n:
            record = later.popleft()
            if isinstance(record, PolicyRecord):
                change(self.fold, record)
            else:
                self.fold.apply(record)


def resume(
    entries: Sequence[Entry], journal: Journal, fold: Fold | None, settings: Settings
) -> Resumed:
    """Start, follow or rebuild.

    Args:
        fold: workings of the call that made this very journal, or None.

    Raises:
        InputError: `counter_changed`.
        JournalError: `journal.foreign`, `journal.damaged`, `journal.unsupported`.
    """
    records = list(journal.records)
    header = journal.header
    if header is None:
        active(records)  # without a header there may only be results that were inserted
        return _start(entries, settings, [], records)
    if not settings.own and not begins(entries, journal):
        return _start(entries, settings, _foreign(settings))
    _check_pinned(header, settings)
    if fold is not None and learn(fold, records) and _follow(fold, entries, settings.labels):
        return Resumed(fold, records, len(records), [])
    return _rebuild(entries, header, records, settings)


def _start(
    entries: Sequence[Entry],
    settings: Settings,
    findings: list[Finding],
    told: Sequence[AnyRecord] = (),
) -> Resumed:
    """A new conversation. told: what was recorded before its first request."""
    header = Header(
        version=VERSION,
        ruleset=settings.loop.ruleset,
        rules=settings.rules,
        policy_digest=settings.rules.digest(),
        counter=settings.measure.counter.name,
        counter_fingerprint=settings.measure.counter.fingerprint,
        counter_scale=settings.measure.scale,
        overhead=settings.overhead,
        recallable=settings.recallable,
        first_digest=entry_digest(entries[0]) if entries else "",
        failed=tuple(sorted(set(settings.failed))),
        model=settings.model,
        session=settings.session,
    )
    fold = _new_fold(header, settings)
    for record in told:
        if isinstance(record, InsertionRecord):
            fold.insert(record)
    return Resumed(fold, [*told, header], len(told), findings)


def _new_fold(header: Header, settings: Settings) -> Fold:
    fold = Fold(settings.loop, settings.measure, header.rules, header.overhead, header.recallable)
    fold.fail(header.failed)
    return fold


def _check_pinned(header: Header, settings: Settings) -> None:
    """Counter, scale and ruleset are pinned: another one would move the estimate."""
    measure, ruleset = settings.measure, settings.loop.ruleset
    if (header.ruleset, header.version) != (ruleset, VERSION):
        raise JournalError(
            f"the journal follows ruleset {header.ruleset}, this version {ruleset}",
            code="journal.unsupported",
            path="header",
            hint="use the version that wrote it, or start afresh with --force",
        )
    pinned = (header.counter, header.counter_fingerprint, header.counter_scale)
    given = (measure.counter.name, measure.counter.fingerprint, measure.scale)
    if pinned != given:
        raise InputError(
            "the journal was made with counter {} ({}, scale {}), this call has "
            "{} ({}, scale {})".format(*pinned, *given),
            code="counter_changed",
            path="counter",
            hint="give the journal's counter and scale, or start a new journal",
        )


def _foreign(settings: Settings) -> list[Finding]:
    """Refuse a foreign journal, or say that the caller's force starts afresh."""
    if not settings.force:
        raise JournalError(
            "the journal belongs to another conversation",
            code="journal.foreign",
            hint="give this conversation a journal of its own, or start afresh with --force",
        )
    return [Finding("journal_restarted", "the journal belonged to another conversation")]


_TOLD = (InsertionRecord, EditRecord, SummaryRecord, ReadoutRecord, DeclinedRecord)
"""Records that others than a call make, between calls."""


def learn(fold: Fold, records: Sequence[AnyRecord]) -> bool:
    """Show the workings what others than a call have recorded since. O(new records).

    Returns:
        False for what only a rebuild can show.
    """
    new = records[fold.seen :]
    if not all(isinstance(record, _TOLD) for record in new):
        return False
    for record in new:
        fits = not isinstance(record, Standing) or record.n <= fold.n
        if not fits or (isinstance(record, Standing) and not follows(record, fold.cutoff)):
            return False
        if isinstance(record, InsertionRecord):
            fold.insert(record)
        else:
            fold.apply(record)
    fold.seen = len(records)
    return True


def _follow(fold: Fold, entries: Sequence[Entry], labels: Sequence[int] | None) -> bool:
    """Go on from the workings: equal objects are known, others are compared by digest.

    Entries that a session calls something else are others, whatever they hold.

    Returns:
        False where the entries depart from what a pass speaks of; then the records must say.
    """
    common, as_known = min(fold.n, len(entries)), True
    if labels is not None:
        common = _same_labels(fold.labels, labels, common)
    for seq in range(_shared(fold.entries, entries, common), common):
        if not fold.same(seq, entries[seq]):
            common = seq
            break
        as_known &= fold.replace(seq, entries[seq])
    if common < fold.reach or (fold.rules.priced and not as_known):
        return False
    # What led to no record was decided over other facts: decide it again, as a rebuild would.
    fold.truncate(common if as_known else min(common, fold.recorded))
    return True


def _rebuild(
    entries: Sequence[Entry], header: Header, records: list[AnyRecord], settings: Settings
) -> Resumed:
    """The fold anew from the records: one O(n) pass."""
    known = len(records)
    standing = active(records).records
    findings: list[Finding] = []
    departed = departure(entries, records, settings.loop.reasoning.removed)
    if departed is not None:
        kept = surviving(standing, departed)
        if kept == 0 and not settings.own:
            return _start(entries, settings, _foreign(settings))
        text = f"the conversation departs from its journal; {len(standing) - kept} records fell"
        findings.append(Finding("journal_departs", text, seq=departed))
        records.append(RewindRecord(departed, kept, "the conversation departs here"))
    fold = _new_fold(header, settings)
    later = _replay(fold, entries, records, settings.labels)
    return Resumed(fold, records, known, findings, later)


def _replay(
    fold: Fold,
    entries: Sequence[Entry],
    records: Sequence[AnyRecord],
    labels: Sequence[int] | None,
) -> list[Standing]:
    """Show the standing records to a new fold: settings, then entries, then passes.

    Returns:
        those that are still to be shown, each at its n: where passes are also made for what they
        save, waiting has had its cost at every boundary since the last one.
    """
    standing, decided = active(records), _decided(records)
    if standing.recall_off:
        fold.turn_recall_off()
    for insertion in standing.insertions:
        fold.insert(insertion)
    shown, later = _split(standing.records, fold.rules.priced)
    for record in shown:
        if isinstance(record, PolicyRecord):
            change(fold, record)
    upto = shown[-1].n if later and shown else 0 if later else decided
    for seq, entry in enumerate(entries[:upto]):
        fold.add(entry, None if labels is None else labels[seq])
    for record in shown:
        if isinstance(record, PolicyRecord):
            fold.overflowed = None
        else:
            fold.apply(record)
    fold.tier = standing.tier
    fold.note_record(decided)
    return later


def _split(standing: Sequence[Standing], priced: bool) -> tuple[Sequence[Standing], list[Standing]]:
    """Records up to the last pass, and those behind it that count what waiting cost."""
    policies = (record for record in standing if isinstance(record, PolicyRecord))
    if not priced and not any(record.rules.priced for record in policies):
        return standing, []
    passes = [index for index, record in enumerate(standing) if isinstance(record, PassRecord)]
    end = passes[-1] + 1 if passes else 0
    while end < len(standing) and isinstance(standing[end], ReasoningRecord):
        end += 1
    return standing[:end], list(standing[end:])


def change(fold: Fold, record: PolicyRecord) -> None:
    """Put a policy record in force."""
    fold.change(record.rules, record.overhead, record.recallable and not fold.recall_off)
    fold.fail(record.failed)


def _shared(known: Sequence[Entry], entries: Sequence[Entry], upto: int) -> int:
    """How many leading entries are the very same objects. Pointer comparison only."""
    if all(map(is_, islice(known, upto), entries)):
        return upto
    return next(seq for seq in range(upto) if known[seq] is not entries[seq])


def _same_labels(known: Sequence[int], labels: Sequence[int], upto: int) -> int:
    """How many leading labels are equal."""
    if all(map(eq, islice(known, upto), labels)):
        return upto
    return next(seq for seq in range(upto) if known[seq] != labels[seq])


def _decided(records: Sequence[AnyRecord]) -> int:
    """The boundary at which the last record was made. After a rewind: its seq.

    A record made before it at a larger n was over entries that were cut off.
    """
    for record in reversed(records):
        if isinstance(record, RewindRecord):
            return record.seq
        if isinstance(record, Standing):
            return record.n
    return 0
