"""Decides: folds over the boundaries of a conversation and appends the records of its passes.

`compact` is the one place that decides: it resumes where the journal ends, catches up over the
boundaries in between, and makes at most one pass at each. `render` shows. Specification: DESIGN
section 5.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from compactor.core.bound import removals
from compactor.core.errors import Finding
from compactor.core.fold import Fold
from compactor.core.inputs import Text, with_texts
from compactor.core.journal import Journal
from compactor.core.laws import check_pass
from compactor.core.model import Entry, Kind, entry_digest
from compactor.core.plan import Plan, forced_plan, make_plan, tier
from compactor.core.pricing import first_reread, why_wait
from compactor.core.records import (
    AnyRecord,
    Elision,
    InputElision,
    OverflowRecord,
    PassRecord,
    PolicyRecord,
    ReasoningRecord,
    RecallOff,
    StubsRecord,
)
from compactor.core.resume import Resumed, change, resume
from compactor.core.settings import Forced, Settings


class Decision(NamedTuple):
    """What a call decided.

    journal: the one handed in plus `added`.
    passes: those that this call added.
    tokens_before: estimate at n before this call's records.
    why: `passed`, or why nothing happened at n.
    """

    journal: Journal
    fold: Fold
    added: tuple[AnyRecord, ...]
    passes: tuple[PassRecord, ...]
    tokens_before: int
    why: str
    findings: tuple[Finding, ...]


def compact(
    entries: Sequence[Entry],
    journal: Journal,
    settings: Settings,
    fold: Fold | None = None,
) -> Decision:
    """Decide over a conversation.

    Args:
        entries: all entries of the request, oldest first; may be empty.
        journal: of the calls before; an empty one folds over all boundaries.
        settings: see `Settings`.
        fold: of the call that made this very journal, which goes on from it; a memo, no state.

    Returns:
        the records added and the fold that shows them. With its journal a call costs O(new entries
        + entries between the old and the new cutoff + candidates).

    Raises:
        InputError: `counter_changed`: the journal was made with another counter or scale.
        JournalError: `journal.foreign`, `journal.damaged`, `journal.unsupported`.
    """
    call = _Call(resume(entries, journal, fold, settings), settings)
    call.catch_up(entries)
    return call.decide()


class _Call:
    """One call of `compact`: its records as they are made."""

    def __init__(self, resumed: Resumed, settings: Settings) -> None:
        self.settings = settings
        self.fold, self.records, self.known, self.findings, later = resumed
        self.later = deque(later)
        self.passes: list[PassRecord] = []
        self.saved = 0
        self.first_new = self.fold.n
        self.end = -1

    def catch_up(self, entries: Sequence[Entry]) -> None:
        """Add the new entries, deciding at each boundary on the way."""
        self.end = len(entries)
        for seq in range(self.fold.n, len(entries)):
            entry = entries[seq]
            self._show_later(seq)
            if entry.kind is Kind.ASSISTANT and seq > max(0, self.fold.decided):
                self._maybe_pass("threshold")
            elif entry.kind is Kind.ASSISTANT and seq and self.fold.rules.rents:
                self._count_waiting()
            self.fold.add(entry, self._label(seq))
        self._show_later(None)

    def _show_later(self, n: int | None) -> None:
        """Records that were made when the conversation was as long as it is now; None: the rest."""
        while self.later and (n is None or self.later[0].n <= n):
            record = self.later.popleft()
            decided = self.fold.decided
            if isinstance(record, PolicyRecord):
                change(self.fold, record)
            else:
                self.fold.apply(record)
            self.fold.note_record(decided)

    def _count_waiting(self) -> None:
        """A boundary at which no pass was made: only what waiting has cost is to be known."""
        fold = self.fold
        if fold.rules.acts and fold.estimate <= fold.rules.threshold:
            plan = self._plan(fold.tier)
            counts = plan.frees and plan.freed >= fold.rules.priced_min_freed
            fold.waiting.ask(fold.n, fold.rules.read * plan.freed if counts else 0)

    def decide(self) -> Decision:
        """Decide at the end of the entries: the request that is about to be sent."""
        fold = self.fold
        self._change_settings()
        self._resolve_stubs()
        if self.settings.rules.mode != "elide":
            text = f"mode {self.settings.rules.mode!r} is reserved and does nothing"
            self.findings.append(Finding("mode_reserved", text))
        for seq in fold.echoes[bisect_left(fold.echoes, self.first_new) :]:
            text = "a call's arguments hold a marker instead of what it stands for"
            self.findings.append(Finding("marker_in_call", text, seq=fold.labels[seq]))
        if self.settings.forced is not None:
            why = self._forced(self.settings.forced)
        elif self.settings.overflowed:
            why = self._overflowed()
        else:
            why = self._maybe_pass("threshold", again=self.fold.overflowed == self.fold.n)
        fold.seen = len(self.records)
        journal = Journal(self.records)
        added = tuple(self.records[self.known :])
        before = fold.estimate + self.saved
        return Decision(journal, fold, added, tuple(self.passes), before, why, tuple(self.findings))

    def _label(self, seq: int) -> int | None:
        return None if self.settings.labels is None else self.settings.labels[seq]

    def _resolve_stubs(self) -> None:
        """Stubs whose target was dropped, revised or taken back say something else."""
        fold = self.fold
        if not fold.stubs.loose:
            return
        before = fold.estimate
        loose = fold.stubs.loose
        resolved = fold.stubs.resolve(loose, fold.cutoff, self.settings.stored, fold.digest)
        for seq in sorted(loose.keys() - {resolution.seq for resolution in resolved}):
            text = "a stub names a result that is not in the request, and its own is not stored"
            self.findings.append(Finding("stub_unresolved", text, seq=fold.labels[seq]))
        if not resolved:
            return
        first = resolved[0].seq
        records: list[AnyRecord] = [StubsRecord(fold.n, tuple(resolved)), *removals(fold, first)]
        for record in records:
            fold.apply(record)
        self.records += records
        self.saved += before - fold.estimate

    def _change_settings(self) -> None:
        """Record what the caller changed; in force from this boundary on."""
        fold, settings = self.fold, self.settings
        if fold.recall_off and settings.recallable:
            self.findings.append(
                Finding("recall_off", "recall was turned off in this conversation and stays off")
            )
        if fold.recallable and not settings.recallable:
            self.records.append(RecallOff(fold.n))
            fold.turn_recall_off()
            fold.note_record(fold.n)
        recallable = settings.recallable and not fold.recall_off
        failed = tuple(sorted(set(settings.failed) - fold.eligible.failed))
        same = settings.rules == fold.rules and settings.overhead == fold.overhead
        if same and recallable == fold.recallable and not failed:
            return
        fold.note_record(fold.n)
        self.records.append(
            PolicyRecord(
                n=fold.n,
                rules=settings.rules,
                policy_digest=settings.rules.digest(),
                overhead=settings.overhead,
                recallable=recallable,
                failed=failed,
            )
        )
        fold.change(settings.rules, settings.overhead, recallable)
        fold.fail(failed)

    def _maybe_pass(self, trigger: str, *, again: bool = False) -> str:
        """A pass at the fold's n if one is due and worth it; why not otherwise."""
        fold = self.fold
        fold.decided = max(fold.decided, fold.n)
        if not fold.rules.acts:
            return "off"
        if fold.estimate <= fold.rules.threshold:
            return self._maybe_priced() if fold.rules.priced else "below_threshold"
        plan = self._plan_for(fold.rules.threshold)
        if not plan.frees:
            return "nothing_to_free"
        if again or not _worth_it(fold, plan):
            return "waits:min_freed"
        if _waits_for_user(fold):
            return "waits:user_turn"
        self._pass(plan, trigger)
        return "passed"

    def _maybe_priced(self) -> str:
        """A pass below the threshold, once what it frees is worth what it breaks.

        With a patience, the ski-rental rule: `carry` is what was paid so far for reading what could
        have gone.
        """
        fold, rules = self.fold, self.fold.rules
        plan = self._plan(fold.tier)
        cold = self.settings.cold and fold.n == self.end
        counts = plan.frees and plan.freed >= rules.priced_min_freed
        carry = fold.waiting.ask(fold.n, rules.read * plan.freed if counts else 0)
        if not plan.frees:
            return "below_threshold"
        if not counts and not cold:
            return "waits:min_freed"
        why = "" if cold else self._why_wait(plan, carry)
        if why:
            return why
        if _waits_for_user(fold):
            return "waits:user_turn"
        self._pass(plan, "priced")
        return "passed"

    def _why_wait(self, plan: Plan, carry: int) -> str:
        """Why a pass is not worth the cache that it breaks; "" when it is."""
        fold, rules = self.fold, self.fold.rules
        first = first_reread(fold, plan, images_reset=self.settings.images_reset)
        if rules.patience is None:
            return why_wait(fold, plan, 0 if self.settings.marks_only else first)
        reread = sum(fold.tokens[first:]) - plan.saved
        is_paid = carry * 1000 >= rules.patience * (rules.write - rules.read) * reread
        return "" if is_paid else "waits:carry"

    def _plan_for(self, goal: int) -> Plan:
        """The tier's plan, or the aggressive one where the tier's does not reach the goal."""
        fold = self.fold
        plan = self._plan(fold.tier)
        if fold.tier == "elide" and fold.estimate - plan.saved > goal:
            plan = self._plan("aggressive")
        return plan

    def _plan(self, name: str) -> Plan:
        return make_plan(self.fold, tier(self.fold.rules, name), self.settings.stored)

    def _overflowed(self) -> str:
        """The provider refused the request: free what can be freed, whatever it is worth."""
        fold = self.fold
        if not fold.rules.acts:
            return "off"
        tried = [fold.tier]
        plan = self._plan(fold.tier)
        if not plan.frees and fold.tier == "elide":
            tried.append("aggressive")
            plan = self._plan("aggressive")
        freed = plan.freed if plan.frees else 0
        self.records.append(OverflowRecord(fold.n, tuple(tried), freed))
        fold.note_record(fold.n)
        if freed == 0:
            return "nothing_to_free"
        self._pass(plan, "overflow")
        return "passed"

    def _forced(self, forced: Forced) -> str:
        """The pass that the caller asks for."""
        plan = forced_plan(self.fold, forced, self.settings.stored)
        if not plan.elided:
            return "nothing_to_free"
        self._pass(plan, "asked")
        return "passed"

    def _pass(self, plan: Plan, trigger: str) -> None:
        """Record a pass and show it."""
        fold = self.fold
        before = fold.estimate
        first = plan.first or 0
        inputs = tuple(
            InputElision(seq, fold.digest(seq), _digest_with(fold, seq, t), t)
            for seq, t in plan.inputs
        )
        elided = tuple(
            Elision(candidate.seq, fold.digest(candidate.seq), text)
            for candidate, text in zip(plan.elided, plan.texts, strict=True)
        )
        record = PassRecord(
            request=fold.request_number(fold.n),
            n=fold.n,
            cutoff=plan.cutoff,
            tier=plan.tier,
            trigger=trigger,
            tokens_before=before,
            tokens_after=before - plan.saved,
            elided=elided,
            protected_count=plan.protected_count,
            floor=plan.floor,
            first_changed=first,
            reread_tokens=0,
            below=tuple(fold.digest(seq) for seq in range(fold.cutoff, plan.cutoff)),
            settled=plan.settled,
            stubs=plan.stubs,
            inputs=inputs,
        )
        removed, digests = plan.reasoning, tuple(map(fold.digest, plan.reasoning))
        removals = [ReasoningRecord(fold.n, removed, digests)] if removed else []
        fold.apply(record)
        for removal in removals:
            fold.apply(removal)
        record = msgspec.structs.replace(record, reread_tokens=sum(fold.tokens[first:]))
        check_pass(fold, record)
        self.records += [record, *removals]
        self.passes.append(record)
        self.saved += before - fold.estimate


def _digest_with(fold: Fold, seq: int, texts: tuple[Text, ...]) -> str:
    """The digest of a turn as it is shown from now on, with its rewritten reply too."""
    return entry_digest(with_texts(fold.view.turn(seq, fold.entries[seq]), texts))


def _worth_it(fold: Fold, plan: Plan) -> bool:
    """A pass that frees little is made only to get below the limit."""
    limit = fold.rules.limit
    if plan.freed >= fold.rules.min_freed:
        return True
    return fold.estimate > limit >= fold.estimate - plan.saved


def _waits_for_user(fold: Fold) -> bool:
    """Under `drop` a pass comes between turns of the user, while there is room to wait."""
    if fold.rules.reasoning != "drop" or fold.estimate > fold.rules.limit:
        return False
    return fold.entries[-1].kind is not Kind.USER
