"""Brings a fold to where a journal and the entries at hand agree.

A journal speaks about entries by digest. What departs from it falls as by a rewind; a journal of
another conversation is refused. Going on from the workings of the call before costs only what is
new, the rebuild from records is one O(n) pass, and both give the same fold. Specification: DESIGN
sections 5 (Work) and 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import is_
from typing import NamedTuple

from compactor.core.count import Measure
from compactor.core.errors import Finding, InputError, JournalError
from compactor.core.fold import Fold
from compactor.core.journal import (
    VERSION,
    AnyRecord,
    Header,
    Journal,
    PassRecord,
    PolicyRecord,
    ReasoningRecord,
    RewindRecord,
    Standing,
    active,
)
from compactor.core.model import Entry, digest_without, entry_digest
from compactor.core.policy import Rules
from compactor.core.texts import Loop


class Settings(NamedTuple):
    """Everything a decision depends on beside the entries and the journal.

    overhead: tokens of system prompt and tools.
    failed: call ids that the caller says have failed, beside the format's own flags.
    overflowed: the provider refused this very request as too long.
    force: start afresh where the journal is foreign.
    model: pinned in the header of a new journal.
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


class Resumed(NamedTuple):
    """Where a call begins.

    records: the journal's, with what resuming added (a header, a rewind).
    known: how many of them the caller already has.
    """

    fold: Fold
    records: list[AnyRecord]
    known: int
    findings: list[Finding]


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
        active(records)  # a journal without a header is damaged, an empty one is fine
        return _start(entries, settings, [])
    if not begins(entries, journal):
        return _start(entries, settings, _foreign(settings))
    _check_pinned(header, settings)
    if fold is not None and _follow(fold, entries):
        return Resumed(fold, records, len(records), [])
    return _rebuild(entries, header, records, settings)


def _start(entries: Sequence[Entry], settings: Settings, findings: list[Finding]) -> Resumed:
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
    )
    return Resumed(_new_fold(header, settings), [header], 0, findings)


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


def begins(entries: Sequence[Entry], journal: Journal) -> bool:
    """Whether the conversation begins with the journal's first entry, or what we made of it."""
    header = journal.header
    if header is None or not header.first_digest:
        return True
    if not entries:
        return False
    if entry_digest(entries[0]) == header.first_digest:
        return True
    passes = (record for record in journal.records if isinstance(record, PassRecord))
    elisions = (elision for record in passes for elision in record.elided)
    return any(e.seq == 0 and e.text == entries[0].body for e in elisions)


def _foreign(settings: Settings) -> list[Finding]:
    """Refuse a foreign journal, or say that the caller's force starts afresh."""
    if not settings.force:
        raise JournalError(
            "the journal belongs to another conversation",
            code="journal.foreign",
            hint="give this conversation a journal of its own, or start afresh with --force",
        )
    return [Finding("journal_restarted", "the journal belonged to another conversation")]


def _follow(fold: Fold, entries: Sequence[Entry]) -> bool:
    """Go on from the workings: equal objects are known, others are compared by digest.

    Returns:
        False where the entries depart from what a pass speaks of; then the records must say.
    """
    common, as_known = min(fold.n, len(entries)), True
    for seq in range(_shared(fold.entries, entries, common), common):
        if not fold.same(seq, entries[seq]):
            common = seq
            break
        as_known &= fold.replace(seq, entries[seq])
    if common < fold.cutoff:
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
    departed = _departure(entries, records, settings.loop.reasoning.removed)
    if departed is not None:
        kept = _surviving(standing, departed)
        if kept == 0:
            return _start(entries, settings, _foreign(settings))
        text = f"the conversation departs from its journal; {len(standing) - kept} records fell"
        findings.append(Finding("journal_departs", text, seq=departed))
        records.append(RewindRecord(departed, kept, "the conversation departs here"))
    fold = _new_fold(header, settings)
    _replay(fold, entries, records)
    return Resumed(fold, records, known, findings)


def _replay(fold: Fold, entries: Sequence[Entry], records: Sequence[AnyRecord]) -> None:
    """Show the standing records to a new fold: settings, then entries, then passes."""
    standing = active(records)
    if standing.recall_off:
        fold.turn_recall_off()
    for record in standing.records:
        if isinstance(record, PolicyRecord):
            fold.change(record.rules, record.overhead, record.recallable and not fold.recall_off)
            fold.fail(record.failed)
    decided = _decided(records)
    for entry in entries[:decided]:
        fold.add(entry)
    for record in standing.records:
        if isinstance(record, PassRecord):
            fold.apply(record)
        elif isinstance(record, ReasoningRecord):
            fold.remove_reasoning(record)
        elif isinstance(record, PolicyRecord):
            fold.overflowed = None
    fold.tier = standing.tier
    fold.note_record(decided)


def _shared(known: Sequence[Entry], entries: Sequence[Entry], upto: int) -> int:
    """How many leading entries are the very same objects. Pointer comparison only."""
    if all(map(is_, islice(known, upto), entries)):
        return upto
    return next(seq for seq in range(upto) if known[seq] is not entries[seq])


def _departure(entries: Sequence[Entry], records: Sequence[AnyRecord], instead: str) -> int | None:
    """The first entry below the last cutoff that is not the one the records speak of.

    What we made of an entry is that entry: a body that we wrote, `instead` of removed reasoning. A
    body that a harness stored back stays ours when the pass that wrote it has fallen.
    """
    standing = active(records).records
    passes = [record for record in records if isinstance(record, PassRecord)]
    ours = {(elision.seq, elision.text) for record in passes for elision in record.elided}
    known = [digest for r in standing if isinstance(r, PassRecord) for digest in r.below]
    removals = [record for record in standing if isinstance(record, ReasoningRecord)]
    unreasoned = {seq for record in removals for seq in record.removed}
    for seq, digest in enumerate(known):
        if seq >= len(entries):
            return seq
        if (seq, entries[seq].body) in ours or entry_digest(entries[seq]) == digest:
            continue
        if seq not in unreasoned or digest_without(entries[seq], instead) != digest:
            return seq
    return None


def _surviving(standing: Sequence[Standing], departed: int) -> int:
    """How many records stay: passes whose cutoff is not above the departure, changes up to it.

    A pass that stays keeps what was recorded before it, and the reasoning that it removed: sent
    again, that would follow what was changed.
    """
    kept = 0
    for index, record in enumerate(standing):
        if isinstance(record, PassRecord):
            if record.cutoff > departed:
                break
            kept = index + 1
        elif kept == index and (isinstance(record, ReasoningRecord) or record.n <= departed):
            kept = index + 1
    return kept


def _decided(records: Sequence[AnyRecord]) -> int:
    """The boundary at which the last record was made. After a rewind: its seq.

    A record made before it at a larger n was over entries that were cut off.
    """
    last = records[-1]
    if isinstance(last, RewindRecord):
        return last.seq
    return last.n if isinstance(last, Standing) else 0
