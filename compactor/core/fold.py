"""The fold of a journal over entries: running totals, what is elided, what could still go.

Derived and rebuilt in one O(n) pass on load; afterwards it grows with the conversation and a call
costs only what is new. It never decides: `plan` reads it, `compact` writes records, `apply` shows
their effect. Nothing here depends on what came later than the entries added so far.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from compactor.core.candidates import Candidate, Candidates, Work
from compactor.core.count import Measure
from compactor.core.eligible import Eligible
from compactor.core.facts import Facts, insertion_key
from compactor.core.inputs import TurnInputs, saved
from compactor.core.model import Entry, Kind, entry_digest
from compactor.core.policy import Rules
from compactor.core.records import (
    GONE,
    SHOWS,
    AnyRecord,
    EditRecord,
    InsertionRecord,
    PassRecord,
    ReasoningRecord,
    Resolution,
    StubsRecord,
    SummaryRecord,
)
from compactor.core.signed import Signed
from compactor.core.stubs import Stubs
from compactor.core.texts import Loop
from compactor.core.view import View
from compactor.core.waiting import Waiting


class Fold:
    """Workings over entries 0..n-1 under the settings now in force.

    Args:
        loop: texts and numbers.
        measure: tokens.
        rules: the policy in force.
        overhead: tokens.
        recallable: which marker form new passes use.

    Attributes:
        entries, tokens: the entries as handed in and their view tokens, parallel lists.
        view: what is shown instead.
        facts: seq → what is known of a result since it was inserted.
        stubs: results with an id, and which of them point at others.
        labels: what the entries are called: their index, or the seq that a session gave them.
        reach: no entry below may depart without a record that speaks of it falling.
        seen: how many records of its journal it shows.
        inputs: turns whose calls hold strings that could go; signed: those with signed reasoning.
        cutoff, tier: of the last recorded pass.
        eligible: what the rules in force let go; candidates: what plans may have to look at.
        passes: those that stand, oldest first.
        decided: the last boundary that was decided; `recorded`: the n of the last record.
        echoes: seqs of model turns whose calls hold a marker, ascending.
        recall_off: recall was turned off, one way.
        waiting: what waiting for a priced pass has cost so far.
        overflowed: n of the last pass that a refusal by the provider brought, if nothing was
            recorded since; it frees what it can, so there is no second one for that request.
    """

    def __init__(
        self, loop: Loop, measure: Measure, rules: Rules, overhead: int, recallable: bool
    ) -> None:
        self.loop = loop
        self.measure = measure
        self.overhead = overhead
        self.recallable = recallable
        self.entries: list[Entry] = []
        self.tokens: list[int] = []
        self.view_tokens = 0
        self.view = View()
        self.facts: dict[int, Facts] = {}
        self.stubs = Stubs(loop.context)
        self.labels: list[int] = []
        self.reach = 0
        self.seen = 0
        self._known: dict[str, Facts] = {}
        self._said_digests: dict[int, str] = {}
        self.inputs = TurnInputs()
        self.cutoff = 0
        self.tier = "elide"
        self.decided = 0
        self.recorded = 0
        self.recall_off = False
        self.overflowed: int | None = None
        self.waiting = Waiting()
        self.passes: list[PassRecord] = []
        self.work = Work()
        self.signed = Signed(measure, loop.reasoning.removed, self.work)
        self.echoes: list[int] = []
        self._assistants: list[int] = []
        self._digests: list[str] = []
        self._recalls: dict[int, str] = {}
        self._results: dict[str, list[int]] = {}
        self.eligible = Eligible(loop, measure, rules, self.work)
        self.candidates = Candidates(rules.min_gain, self.work)

    @property
    def n(self) -> int:
        return len(self.entries)

    @property
    def rules(self) -> Rules:
        return self.eligible.rules

    @property
    def estimate(self) -> int:
        """Tokens of the request as it would be sent: overhead and view."""
        return self.overhead + self.view_tokens

    @property
    def elided(self) -> dict[int, str]:
        """seq → text of what is elided."""
        return self.view.elided

    def add(self, entry: Entry, label: int | None = None) -> None:
        """The next entry. O(its text)."""
        seq = len(self.entries)
        self.labels.append(seq if label is None else label)
        self.work.visited += 1
        self.entries.append(entry)
        self._digests.append(self.signed.removed_digest(seq, entry))
        if self._digests[seq]:
            self.view.unreasoned[seq] = None
        tokens = self._as_handed_in(seq)
        self.tokens.append(tokens)
        self.view_tokens += tokens
        if entry.kind is Kind.ASSISTANT:
            self.waiting.turn(seq)
            self._assistants.append(seq)
            if any(self.eligible.writer.is_echo(call.arguments) for call in entry.calls):
                self.echoes.append(seq)
            self._note_signed(seq)
            self._note_inputs(seq)
        if entry.kind is Kind.TOOL:
            self.inputs.answer(entry, self._assistants, self.entries, 1)
            self._results.setdefault(entry.call_id, []).append(seq)
            facts = self._inserted(entry)
            if facts is not None:
                self.facts[seq] = facts
                self.stubs.arrive(seq, facts)
            if self.eligible.writer.is_recall(entry):
                self._recalls[self.labels[seq]] = self._reference(seq)
            self._classify(seq)

    def _inserted(self, entry: Entry) -> Facts | None:
        """The facts of a result that a session inserted. O(its body) where there are any."""
        if not self._known:
            return None
        call_ids = dict.fromkeys((entry.call_id, ""))
        keys = (insertion_key(call_id, entry.body) for call_id in call_ids)
        return next((self._known[key] for key in keys if key in self._known), None)

    def truncate(self, n: int) -> None:
        """Forget entries ≥ n, which no record speaks of (n ≥ reach). O(what is forgotten)."""
        if len(self.entries) > n:
            # Whether n is a boundary depends on entry n, and that one goes.
            self.decided = max(min(self.decided, n - 1), self.recorded)
            self.waiting.back_to(n)
        while len(self.entries) > n:
            seq = len(self.entries) - 1
            entry = self.entries.pop()
            self.view_tokens -= self.tokens.pop()
            self._digests.pop()
            self._recalls.pop(self.labels[seq], None)
            self.view.unreasoned.pop(seq, None)
            self.signed.forget(seq)
            if entry.kind is Kind.ASSISTANT:
                self._assistants.pop()
                if self.echoes and self.echoes[-1] == seq:
                    self.echoes.pop()
                self.inputs.forget(seq)
            if entry.kind is Kind.TOOL:
                self.inputs.answer(entry, self._assistants, self.entries, -1)
                self._results[entry.call_id].pop()
                self._drop(seq)
                self.facts.pop(seq, None)
            self.labels.pop()

    def digest(self, seq: int) -> str:
        """The entry's digest as it was handed in, or as a record says that it was."""
        if seq in self._said_digests:
            return self._said_digests[seq]
        if not self._digests[seq]:
            self.work.hashed += 1
            self._digests[seq] = entry_digest(self.entries[seq])
        return self._digests[seq]

    def same(self, seq: int, entry: Entry) -> bool:
        """Whether an entry handed in is the one known at seq: by digest, or our own rendering."""
        if self.shows(seq, entry):
            return True
        self.work.hashed += 1
        known = (self.digest(seq), *self.view.known.get(seq, ()))
        return entry_digest(entry) in known or bool(self.signed.removed_digest(seq, entry))

    def shows(self, seq: int, entry: Entry) -> bool:
        """Whether an entry is byte for byte what our record rendered at seq (stored back)."""
        text = self.view.bodies.get(seq)
        return text is not None and entry.body == text and entry.kind is Kind.TOOL

    def replace(self, seq: int, entry: Entry) -> bool:
        """The same entry in new native data. What its digest leaves out may differ.

        Returns:
            whether plans see the same in it: reasoning, error flag and whatever keeps it.
        """
        old = self.entries[seq]
        self.entries[seq] = entry
        changed = seq in self.view.bodies or seq in self.view.hidden
        if changed or _beside_digest(old) == _beside_digest(entry):
            return True
        self.signed.recount(seq)
        self._note_signed(seq)
        self._recount(seq)
        if entry.kind is Kind.TOOL:
            self.candidates.drop(seq)
            self._classify(seq)
        return False

    def insert(self, record: InsertionRecord) -> None:
        """Know a result that is yet to come."""
        self._known[record.key] = record.facts

    def apply(self, record: AnyRecord) -> None:
        """Show a record. O(what it changes + live candidates)."""
        self.view.apply(record)
        match record:
            case PassRecord():
                self._apply_pass(record)
            case StubsRecord():
                self._resolve(record.resolved)
            case EditRecord(op="rewrite"):
                self._said_digests[record.first] = record.digests[0]
                self._drop(record.first)
                self._recount(record.first)
                self.reach = max(self.reach, record.end)
            case EditRecord():
                self._hide(record.first, record.end, record.digests)
            case SummaryRecord():
                self._hide(0, record.upto, ())
                self.cutoff = max(self.cutoff, record.upto)
            case ReasoningRecord():
                self._remove_reasoning(record)
            case _:
                return
        if not isinstance(record, ReasoningRecord):
            self.note_record(record.n)

    def _apply_pass(self, record: PassRecord) -> None:
        """Its results elided, its cutoff and tier in force."""
        seqs = [elision.seq for elision in record.elided]
        for elision in record.elided:
            self._said_digests[elision.seq] = elision.digest
            self._set_tokens(elision.seq, self.measure.rewritten(elision.text))
        self.candidates.drop_all(seqs)
        for seq in seqs if self.facts else ():
            if seq in self.facts:
                self.stubs.leave(seq, self.facts[seq])
        self._resolve(record.stubs)
        for turn in record.inputs:
            self._said_digests[turn.seq] = turn.digest
            self.inputs.drop(turn.seq)
            self._recount(turn.seq)
        self.passes.append(record)
        self.cutoff = max(self.cutoff, record.cutoff)
        self.reach = max(self.reach, record.cutoff)
        if record.tier == "aggressive":
            self.tier = record.tier
        self.overflowed = record.n if record.trigger == "overflow" else None
        self.waiting.end()

    def _resolve(self, resolved: Iterable[Resolution]) -> None:
        """Stubs that say something else from now on."""
        for resolution in resolved:
            seq, text = resolution.seq, resolution.text
            self._drop(seq)
            self._said_digests[seq] = resolution.digest
            self._set_tokens(seq, self.measure.rewritten(text))
            self.reach = max(self.reach, seq + 1)
            facts = self.facts.get(seq)
            if facts is None or resolution.target == GONE:
                continue
            if resolution.target == SHOWS:
                kind = "read" if facts.sha else "result"
                facts = msgspec.structs.replace(facts, kind=kind, target=0)
            else:
                facts = msgspec.structs.replace(facts, target=resolution.target)
            self.facts[seq] = facts
            self.stubs.arrive(seq, self.facts[seq])
            self._classify(seq)

    def _hide(self, first: int, end: int, digests: Sequence[str]) -> None:
        """Show entries first..end-1 as one message."""
        for seq in range(first, min(end, self.n)):
            self._drop(seq)
            self.inputs.drop(seq)
            self._set_tokens(seq, 0)
        for seq, digest in enumerate(digests, first):
            self._said_digests.setdefault(seq, digest)
        self._set_tokens(first, self.measure.rewritten(self.view.runs[first].text))
        self.signed.hide(self.view.hidden)
        self.reach = max(self.reach, end)

    def _drop(self, seq: int) -> None:
        """A result that stands as it was no more."""
        self.candidates.drop(seq)
        if seq in self.facts:
            self.stubs.leave(seq, self.facts[seq])

    def _set_tokens(self, seq: int, tokens: int) -> None:
        self.view_tokens += tokens - self.tokens[seq]
        self.tokens[seq] = tokens

    def note_record(self, n: int) -> None:
        """A record was made at n: with it n is decided, and of what lies above nothing is known."""
        self.decided = self.recorded = n

    def _remove_reasoning(self, record: ReasoningRecord) -> None:
        """Show entries without their signed reasoning, for good. O(removed + signed)."""
        self.signed.remove(record)
        for seq, digest in zip(record.removed, record.digests, strict=True):
            if seq < self.n and self.signed.removed_digest(seq, self.entries[seq]):
                self._digests[seq] = digest
                self.view.unreasoned[seq] = None
                self._recount(seq)
        self.signed.hide(self.view.unreasoned)

    def reasoning_tokens(self, seq: int) -> int:
        """What the estimate loses when an entry's signed reasoning goes."""
        return self.signed.tokens(seq, self.entries[seq])

    def change(self, rules: Rules, overhead: int, recallable: bool) -> None:
        """Settings from now on. O(n) when the rules changed, else O(1)."""
        self.overhead = overhead
        self.recallable = recallable
        self.overflowed = None
        if rules == self.rules:
            return
        self.eligible.use(rules)
        self.candidates = Candidates(rules.min_gain, self.work)
        for seq, entry in enumerate(self.entries):
            if entry.kind is Kind.TOOL:
                self._classify(seq)
            elif entry.kind is Kind.ASSISTANT:
                self._note_inputs(seq)

    def turn_recall_off(self) -> None:
        """Markers from now on promise no recall, for good."""
        self.recallable, self.recall_off = False, True

    def fail(self, call_ids: Iterable[str]) -> None:
        """Calls that the caller says have failed. O(their results)."""
        for call_id in call_ids:
            if call_id not in self.eligible.failed:
                self.eligible.failed.add(call_id)
                for seq in self._results.get(call_id, ()):
                    self.candidates.drop(seq)
                    self._classify(seq)

    def answered(self, n: int) -> int:
        """Index just after the last assistant entry below n; 0 when there is none. O(log n)."""
        at = bisect_left(self._assistants, n)
        return self._assistants[at - 1] + 1 if at else 0

    @property
    def known(self) -> int:
        """Entries of the request before the one at n; 0 when there was none."""
        return max(0, self.answered(self.n) - 1)

    def since_pass(self) -> int:
        """Requests since the last pass, this one included; all of them where there was none."""
        return self.request_number(self.n) - (self.passes[-1].request if self.passes else 0)

    def turns_behind(self, seq: int) -> Iterator[int]:
        """Where the model's turns behind an entry begin, oldest first, and n."""
        yield from self._assistants[bisect_right(self._assistants, seq) :]
        yield self.n

    def request_number(self, n: int) -> int:
        """1 + the number of boundaries below n: assistant entries that are not the first entry."""
        below = bisect_left(self._assistants, n)
        first = 1 if below and self._assistants[0] == 0 else 0
        return 1 + below - first

    def last_evidence(self, cutoff: int) -> int | None:
        """The newest evidence below a cutoff that nothing else keeps or hides. O(log n)."""
        evidence = self.candidates.evidence
        at = bisect_left(evidence, cutoff)
        return evidence[at - 1] if at else None

    def _as_handed_in(self, seq: int) -> int:
        """Tokens of an entry, without the reasoning that is not shown."""
        entry = self.entries[seq]
        tokens = self.measure.entry(entry)
        return tokens - self.reasoning_tokens(seq) if seq in self.view.unreasoned else tokens

    def _as_shown(self, seq: int) -> int:
        """Tokens of an entry as the view has it."""
        view = self.view
        if seq in view.hidden:
            run = view.runs.get(seq)
            return self.measure.rewritten(run.text) if run else 0
        if seq in view.bodies:
            return self.measure.rewritten(view.bodies[seq])
        tokens = self._as_handed_in(seq)
        for part, text in view.replies.get(seq, {}).items():
            before = self.entries[seq].parts[part].text
            tokens += self.measure.text(text) - self.measure.text(before)
        inputs = view.inputs.get(seq)
        return tokens - saved(self.entries[seq], inputs, self.measure) if inputs else tokens

    def _note_inputs(self, seq: int) -> None:
        """A turn whose calls may hold strings that could go."""
        self.inputs.drop(seq)
        if seq not in self.view.inputs and seq not in self.view.hidden:
            self.inputs.put(seq, self.eligible.inputs(self.entries[seq], self.labels[seq]))

    def _note_signed(self, seq: int) -> None:
        """Put an entry among those whose signed reasoning is shown, or take it out."""
        parts = self.entries[seq].parts
        is_shown = seq not in self.view.unreasoned and seq not in self.view.hidden
        self.signed.note(seq, is_shown and any(part.signed for part in parts))

    def _recount(self, seq: int) -> None:
        self._set_tokens(seq, self._as_shown(seq))

    def standing(self, seq: int) -> Entry:
        """A result as the view has it where it is no marker: a stub may have its text back."""
        entry, text = self.entries[seq], self.view.bodies.get(seq)
        return entry if text is None else msgspec.structs.replace(entry, body=text, parts=())

    def label(self, seq: int) -> int:
        """What an entry is called, or the next one will be at least."""
        if seq < self.n:
            return self.labels[seq]
        return self.labels[-1] + 1 if self.labels else seq

    def bracket(self, seq: int) -> str:
        """The first line that an elision keeps: a hygiene bracket; "" where there is none."""
        facts = self.facts.get(seq)
        return self.eligible.writer.bracket(self.entries[seq].body, facts) if facts else ""

    def _reference(self, seq: int) -> str:
        facts = self.facts.get(seq)
        return self.eligible.writer.reference(
            self.entries[seq], self.labels[seq], self._recalls, facts
        )

    def _classify(self, seq: int) -> None:
        """Put a result among the candidates if plans may have to look at it."""
        candidate = self.candidate(seq)
        if candidate is not None:
            self.candidates.add(candidate)

    def candidate(self, seq: int) -> Candidate | None:
        """A result that could go, whatever that saves; None for what must stay as it is."""
        view, facts = self.view, self.facts.get(seq)
        if seq in view.elided or seq in view.revised or seq in view.hidden:
            return None
        label, tokens = self.labels[seq], self.tokens[seq]
        ref = self._reference(seq)
        return self.eligible.candidate(seq, self.standing(seq), tokens, label, ref, facts)


def _beside_digest(entry: Entry) -> tuple[object, ...]:
    """The facts of an entry that its digest leaves out and rules look at."""
    call = entry.call and (entry.call.name, entry.call.arguments)
    return entry.parts, entry.hollow, entry.error, entry.required, call
