"""The fold of a journal over entries: running totals, what is elided, what could still go.

Derived and rebuilt in one O(n) pass on load; afterwards it grows with the conversation and a call
costs only what is new. It never decides: `plan` reads it, `compact` writes records, `apply` shows
their effect. Nothing here depends on what came later than the entries added so far.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from compactor.core.candidates import Candidate, Candidates, Work
from compactor.core.count import Measure
from compactor.core.journal import PassRecord, ReasoningRecord
from compactor.core.marker import MarkerWriter
from compactor.core.model import Entry, Kind, digest_without, entry_digest
from compactor.core.policy import Rules, named
from compactor.core.table import TableWriter
from compactor.core.texts import Loop


class Fold:
    """Workings over entries 0..n-1 under the settings now in force.

    Args:
        loop: texts and numbers.
        measure: tokens.
        rules: the policy in force.
        overhead: tokens.
        recallable: which marker form new passes use.

    Attributes:
        entries, tokens: the entries and their view tokens, parallel lists.
        elided: seq → text of what is elided.
        cutoff, tier: of the last recorded pass.
        candidates: results that plans may have to look at.
        passes: those that stand, oldest first.
        decided: the last boundary that was decided; `recorded`: the n of the last record.
        echoes: seqs of model turns whose calls hold a marker, ascending.
        recall_off: recall was turned off, one way.
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
        self.failed: set[str] = set()
        self.entries: list[Entry] = []
        self.tokens: list[int] = []
        self.view_tokens = 0
        self.elided: dict[int, str] = {}
        self.elided_digests: dict[int, str] = {}
        self.cutoff = 0
        self.tier = "elide"
        self.decided = 0
        self.recorded = 0
        self.recall_off = False
        self.overflowed: int | None = None
        self.passes: list[PassRecord] = []
        self.unreasoned: dict[int, None] = {}
        self.signed: list[int] = []
        self._instead = loop.reasoning.removed
        self._removed: dict[int, str] = {}
        self._reasoning: dict[int, int] = {}
        self.tables = TableWriter(loop)
        self.work = Work()
        self.echoes: list[int] = []
        self._assistants: list[int] = []
        self._digests: list[str] = []
        self._recalls: dict[int, str] = {}
        self._results: dict[str, list[int]] = {}
        self._set_rules(rules)

    @property
    def n(self) -> int:
        return len(self.entries)

    @property
    def estimate(self) -> int:
        """Tokens of the request as it would be sent: overhead and view."""
        return self.overhead + self.view_tokens

    def add(self, entry: Entry) -> None:
        """The next entry. O(its text)."""
        seq = len(self.entries)
        self.work.visited += 1
        self.entries.append(entry)
        self._digests.append(self._removed_digest(seq, entry))
        if self._digests[seq]:
            self.unreasoned[seq] = None
        tokens = self._as_shown(seq)
        self.tokens.append(tokens)
        self.view_tokens += tokens
        if entry.kind is Kind.ASSISTANT:
            self._assistants.append(seq)
            if any(self._writer.is_echo(call.arguments) for call in entry.calls):
                self.echoes.append(seq)
            self._note_signed(seq)
        if entry.kind is Kind.TOOL:
            self._results.setdefault(entry.call_id, []).append(seq)
            if self._writer.is_recall(entry):
                self._recalls[seq] = self._writer.reference(entry, seq, self._recalls)
            self._classify(seq)

    def truncate(self, n: int) -> None:
        """Forget entries ≥ n, which no pass speaks of (n ≥ cutoff). O(what is forgotten)."""
        if len(self.entries) > n:
            # Whether n is a boundary depends on entry n, and that one goes.
            self.decided = max(min(self.decided, n - 1), self.recorded)
        while len(self.entries) > n:
            seq = len(self.entries) - 1
            entry = self.entries.pop()
            self.view_tokens -= self.tokens.pop()
            self._digests.pop()
            self._recalls.pop(seq, None)
            self.unreasoned.pop(seq, None)
            self._reasoning.pop(seq, None)
            if entry.kind is Kind.ASSISTANT:
                self._assistants.pop()
                if self.echoes and self.echoes[-1] == seq:
                    self.echoes.pop()
                if self.signed and self.signed[-1] == seq:
                    self.signed.pop()
            if entry.kind is Kind.TOOL:
                self._results[entry.call_id].pop()
                self.candidates.drop(seq)

    def digest(self, seq: int) -> str:
        """The entry's digest as it was handed in, or as the record of its elision says."""
        if seq in self.elided_digests:
            return self.elided_digests[seq]
        if not self._digests[seq]:
            self.work.hashed += 1
            self._digests[seq] = entry_digest(self.entries[seq])
        return self._digests[seq]

    def same(self, seq: int, entry: Entry) -> bool:
        """Whether an entry handed in is the one known at seq: by digest, or our own rendering."""
        if self.shows(seq, entry):
            return True
        self.work.hashed += 1
        return entry_digest(entry) == self.digest(seq) or bool(self._removed_digest(seq, entry))

    def shows(self, seq: int, entry: Entry) -> bool:
        """Whether an entry is byte for byte what our record rendered at seq (stored back)."""
        text = self.elided.get(seq)
        return text is not None and entry.body == text and entry.kind is Kind.TOOL

    def replace(self, seq: int, entry: Entry) -> bool:
        """The same entry in new native data. What its digest leaves out may differ.

        Returns:
            whether plans see the same in it: reasoning, error flag and whatever keeps it.
        """
        old = self.entries[seq]
        self.entries[seq] = entry
        if seq in self.elided or _beside_digest(old) == _beside_digest(entry):
            return True
        self._reasoning.pop(seq, None)
        self._note_signed(seq)
        self._recount(seq)
        if entry.kind is Kind.TOOL:
            self.candidates.drop(seq)
            self._classify(seq)
        return False

    def apply(self, record: PassRecord) -> None:
        """Show a pass: its results elided, its cutoff and tier in force. O(elided + live)."""
        for elision in record.elided:
            self.elided[elision.seq] = elision.text
            self.elided_digests[elision.seq] = elision.digest
            now = self.measure.rewritten(elision.text)
            self.view_tokens += now - self.tokens[elision.seq]
            self.tokens[elision.seq] = now
        self.candidates.drop_all(elision.seq for elision in record.elided)
        self.passes.append(record)
        self.cutoff = max(self.cutoff, record.cutoff)
        if record.tier == "aggressive":
            self.tier = record.tier
        self.note_record(record.n)
        self.overflowed = record.n if record.trigger == "overflow" else None

    def note_record(self, n: int) -> None:
        """A record was made at n: with it n is decided, and of what lies above nothing is known."""
        self.decided = self.recorded = n

    def remove_reasoning(self, record: ReasoningRecord) -> None:
        """Show entries without their signed reasoning, for good. O(removed + signed)."""
        for seq, digest in zip(record.removed, record.digests, strict=True):
            self._removed[seq] = digest
            if seq < self.n and self._removed_digest(seq, self.entries[seq]):
                self._digests[seq] = digest
                self.unreasoned[seq] = None
                self._recount(seq)
        self.signed = [seq for seq in self.signed if seq not in self.unreasoned]

    def reasoning_tokens(self, seq: int) -> int:
        """What the estimate loses when an entry's signed reasoning goes. Counted once."""
        if seq not in self._reasoning:
            entry, measure = self.entries[seq], self.measure
            lost = sum(measure.part(part) for part in entry.parts if part.signed)
            kept = len(entry.hollow) * measure.text(self._instead)
            self._reasoning[seq] = lost - kept
        return self._reasoning[seq]

    def change(self, rules: Rules, overhead: int, recallable: bool) -> None:
        """Settings from now on. O(n) when the rules changed, else O(1)."""
        self.overhead = overhead
        self.recallable = recallable
        self.overflowed = None
        if rules == self.rules:
            return
        self._set_rules(rules)
        for seq, entry in enumerate(self.entries):
            if entry.kind is Kind.TOOL and seq not in self.elided:
                self._classify(seq)

    def turn_recall_off(self) -> None:
        """Markers from now on promise no recall, for good."""
        self.recallable, self.recall_off = False, True

    def fail(self, call_ids: Iterable[str]) -> None:
        """Calls that the caller says have failed. O(their results)."""
        for call_id in call_ids:
            if call_id not in self.failed:
                self.failed.add(call_id)
                for seq in self._results.get(call_id, ()):
                    if seq not in self.elided:
                        self.candidates.drop(seq)
                        self._classify(seq)

    def is_error(self, entry: Entry) -> bool:
        return entry.error or entry.call_id in self.failed

    def is_evidence(self, entry: Entry) -> bool:
        return self.is_error(entry) or named(self._tool(entry), self.rules.evidence_tools)

    def answered(self, n: int) -> int:
        """Index just after the last assistant entry below n; 0 when there is none. O(log n)."""
        at = bisect_left(self._assistants, n)
        return self._assistants[at - 1] + 1 if at else 0

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

    def kept_by_rule(self, seq: int) -> str:
        """Why a result is no candidate whatever its size: "" when it may be one."""
        entry = self.entries[seq]
        if entry.required:
            return "required"
        if seq in self._pins:
            return "pinned"
        if named(self._tool(entry), self.rules.protected_tools):
            return "protected"
        return ""

    def _tool(self, entry: Entry) -> str:
        """The name that lists of tools mean: `unknown` where no call is known."""
        return entry.name if entry.call is not None else self.loop.marker.name_unknown

    def _as_shown(self, seq: int) -> int:
        """Tokens of an entry that is not elided, as the view has it."""
        entry = self.entries[seq]
        tokens = self.measure.entry(entry)
        return tokens - self.reasoning_tokens(seq) if seq in self.unreasoned else tokens

    def _note_signed(self, seq: int) -> None:
        """Put an entry among those whose signed reasoning is shown, or take it out."""
        parts = self.entries[seq].parts
        is_signed = seq not in self.unreasoned and any(part.signed for part in parts)
        at = bisect_left(self.signed, seq)
        if is_signed != (at < len(self.signed) and self.signed[at] == seq):
            self.signed[at : at + (not is_signed)] = [seq] * is_signed

    def _removed_digest(self, seq: int, entry: Entry) -> str:
        """The entry's digest when a record speaks of its reasoning, else "".

        It may come back as we showed it: with what a message keeps that would be left empty.
        """
        known = self._removed.get(seq)
        if known is None:
            return ""
        self.work.hashed += 1
        is_known = known in (entry_digest(entry), digest_without(entry, self._instead))
        return known if is_known else ""

    def _recount(self, seq: int) -> None:
        tokens = self._as_shown(seq)
        self.view_tokens += tokens - self.tokens[seq]
        self.tokens[seq] = tokens

    def _set_rules(self, rules: Rules) -> None:
        self.rules = rules
        self._pins = frozenset(rules.pins)
        self._writer = MarkerWriter(self.loop, rules.artifact_ids)
        self.candidates = Candidates(rules.min_gain, self.work)

    def _classify(self, seq: int) -> None:
        """Put a result among the candidates if plans may have to look at it."""
        entry = self.entries[seq]
        if entry.empty or self.kept_by_rule(seq):
            return
        self.work.rendered += 1
        ref = self._writer.reference(entry, seq, self._recalls)
        marker = self._writer.write(entry, self.is_error(entry), ref)
        tokens = self.tokens[seq]
        gain = tokens - self.measure.rewritten(marker.longer)
        read = self.tables.read(entry, self.is_error(entry), seq)
        if read is not None:
            gain -= self.measure.text(read.row)
        evidence = self.is_evidence(entry)
        self.candidates.add(Candidate(seq, tokens, gain, evidence, marker, read))


def _beside_digest(entry: Entry) -> tuple[object, ...]:
    """The facts of an entry that its digest leaves out and rules look at."""
    call = entry.call and (entry.call.name, entry.call.arguments)
    return entry.parts, entry.hollow, entry.error, entry.required, call
