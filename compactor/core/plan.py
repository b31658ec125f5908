"""The plan of one pass: what would go, what it would free. Decides nothing by itself.

Oldest first over the candidates below the cutoff, under one tier's budget. The first rule that
applies is the fate: floor, budget, no gain, else elided. A plan reads the fold and changes nothing,
so the same view always gives the same plan. Specification: DESIGN section 5, steps 1-3.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from compactor.core.bound import void_behind
from compactor.core.candidates import Candidate, Spending
from compactor.core.fold import Fold
from compactor.core.inputs import Text, saved
from compactor.core.policy import Rules
from compactor.core.records import Resolution
from compactor.core.settings import Forced
from compactor.core.stubs import Stored


class Tier(NamedTuple):
    """How much a tier keeps."""

    name: str
    keep_recent: int
    recent_tokens: int
    evidence_budget: int


def tier(rules: Rules, name: str) -> Tier:
    """The numbers of tier `elide` or `aggressive`."""
    if name == "aggressive":
        return Tier(
            name,
            rules.aggressive_keep_recent,
            rules.aggressive_recent_tokens,
            rules.aggressive_evidence_budget,
        )
    return Tier(name, rules.keep_recent, rules.recent_tokens, rules.evidence_budget)


class Plan(NamedTuple):
    """What a pass at the fold's n would do.

    freed: what the elisions take off the estimate; ≤ 0 is nothing freed.
    reasoning: entries whose signed reasoning goes with it (policy `drop`); removed: its tokens,
        which count in before and after but never in freed.
    protected_count: evidence kept below the cutoff by floor or budget.
    settled: where the floor lies if it will go as soon as it is no longer the newest evidence.
    stubs: those that name what goes, resolved.
    inputs: turns in whose calls strings go, with their markers.
    """

    tier: str
    cutoff: int
    elided: tuple[Candidate, ...]
    texts: tuple[str, ...]
    freed: int
    floor: int | None
    protected_count: int
    reasoning: tuple[int, ...] = ()
    removed: int = 0
    settled: int | None = None
    stubs: tuple[Resolution, ...] = ()
    inputs: tuple[tuple[int, tuple[Text, ...]], ...] = ()

    @property
    def first(self) -> int | None:
        """The first entry that it changes; None when it changes none."""
        firsts = [self.elided[0].seq] if self.elided else []
        firsts += [self.inputs[0][0]] if self.inputs else []
        return min(firsts, default=None)

    @property
    def saved(self) -> int:
        """Estimate before − after."""
        return self.freed + self.removed

    @property
    def frees(self) -> bool:
        """Whether it frees anything, what stands for removed reasoning included."""
        return min(self.freed, self.saved) > 0


def make_plan(fold: Fold, limits: Tier, stored: Stored) -> Plan:
    """The plan over the fold's entries under one tier. O(recent region + what could go + new).

    Args:
        stored: the full texts that stubs stand for.
    """
    cutoff = max(fold.cutoff, recent_start(fold, limits))
    # Where the tail was cut back, results below the old cutoff may have no answer any more.
    end = min(cutoff, fold.answered(fold.n))
    floor = fold.last_evidence(cutoff)
    upto = end if floor is None else min(end, floor)
    spending = fold.candidates.spend(limits.name, limits.evidence_budget, upto)
    kept = spending.kept + (floor is not None)
    elided = _going(fold, spending, end, cutoff, stored)
    stubs = _stubs(fold, elided, cutoff, stored)
    texts = _texts(fold, elided)
    freed = sum(candidate.tokens for candidate in elided)
    freed -= sum(fold.measure.rewritten(text) for text in texts) + _cost(fold, stubs)
    inputs = _inputs(fold, end)
    freed += sum(saved(fold.entries[seq], texts, fold.measure) for seq, texts in inputs)
    first = min([c.seq for c in elided[:1]] + [seq for seq, _ in inputs[:1]], default=None)
    reasoning = void_behind(fold, first)
    removed = sum(fold.reasoning_tokens(seq) for seq in reasoning)
    return Plan(
        limits.name,
        cutoff,
        tuple(elided),
        texts,
        freed,
        floor,
        kept,
        reasoning,
        removed,
        _settled(fold, limits, spending, floor, end),
        tuple(stubs),
        tuple(inputs),
    )


def forced_plan(fold: Fold, forced: Forced, stored: Stored) -> Plan:
    """The plan of a pass that the caller asks for: no budget, no threshold. O(candidates)."""
    cutoff = max(fold.cutoff, min(forced.cutoff, fold.n))
    known, end = fold.candidates.by_seq, min(cutoff, fold.answered(fold.n))
    if forced.elide is None:
        could = (known[seq] for seq in sorted(known) if seq < end)
        elided = [c for c in could if c.gain >= fold.rules.min_gain]
    else:
        elided = [c for c in map(fold.candidate, sorted(set(forced.elide))) if c and c.seq < end]
    stubs, texts = _stubs(fold, elided, cutoff, stored), _texts(fold, elided)
    freed = sum(candidate.tokens for candidate in elided)
    freed -= sum(fold.measure.rewritten(text) for text in texts) + _cost(fold, stubs)
    return Plan(fold.tier, cutoff, tuple(elided), texts, freed, None, 0, stubs=tuple(stubs))


def _going(
    fold: Fold, spending: Spending, end: int, cutoff: int, stored: Stored
) -> list[Candidate]:
    """The candidates below an end that a budget does not keep, oldest first.

    One that would give its stubs so much text that it frees too little stays.
    """
    candidates = fold.candidates
    plain = candidates.plain[: bisect_left(candidates.plain, end)]
    fold.work.visited += len(plain) + len(spending.over)
    going = [candidates.by_seq[seq] for seq in sorted([*plain, *spending.over])]
    if not fold.facts:
        return going
    costs = ((c, _cost(fold, _stubs(fold, [c], cutoff, stored))) for c in going)
    return [c for c, cost in costs if c.gain - cost >= fold.rules.min_gain or not cost]


def _stubs(fold: Fold, elided: list[Candidate], cutoff: int, stored: Stored) -> list[Resolution]:
    """The stubs that name what goes, resolved, oldest first. O(those stubs)."""
    known = (fold.facts[c.seq].number for c in elided if c.seq in fold.facts)
    stubs = [seq for number in known for seq in fold.stubs.of(number)]
    return fold.stubs.resolve(stubs, cutoff, stored, fold.digest) if stubs else []


def _cost(fold: Fold, stubs: list[Resolution]) -> int:
    """Tokens that resolved stubs have more than before."""
    return sum(fold.measure.rewritten(stub.text) - fold.tokens[stub.seq] for stub in stubs)


def _settled(
    fold: Fold, limits: Tier, spending: Spending, floor: int | None, end: int
) -> int | None:
    """The floor, where it would go if it were not the floor."""
    if floor is None or floor >= end:
        return None
    candidate = fold.candidates.by_seq[floor]
    fits = spending.spent + candidate.tokens <= limits.evidence_budget
    return None if fits or candidate.gain < fold.rules.min_gain else floor


def _inputs(fold: Fold, end: int) -> list[tuple[int, tuple[Text, ...]]]:
    """Turns below an end in whose calls strings go: all calls answered, and the model went on."""
    end = min(end, fold.answered(fold.n) - 1)
    going = fold.inputs.going(end, fold.entries)
    return [(seq, fold.inputs.by_seq[seq].form(fold.recallable)) for seq in going]


def _texts(fold: Fold, elided: list[Candidate]) -> tuple[str, ...]:
    """The bodies that the elided results get: their markers, the table under the last one."""
    texts = [candidate.marker.form(fold.recallable) for candidate in elided]
    if texts:
        reads = [candidate.read for candidate in elided if candidate.read is not None]
        texts[-1] += fold.eligible.tables.table(reads, fold.recallable)
    return tuple(texts)


def recent_start(fold: Fold, limits: Tier) -> int:
    """Where the recent region begins: count and tokens, then back to the last model turn.

    Results that the model has not answered are never below it, however many ran in parallel; where
    strings of calls may go, neither is the turn that they answer.
    """
    start, kept_entries, kept_tokens = fold.n, 0, 0
    while start > fold.cutoff and kept_entries < limits.keep_recent:
        fold.work.visited += 1
        kept_tokens += fold.tokens[start - 1]
        if start < fold.n and kept_tokens > limits.recent_tokens:
            break
        start -= 1
        kept_entries += fold.view.shows(start)
    turn = fold.answered(fold.n)
    return min(start, max(0, turn - 1) if fold.rules.elide_inputs else turn)
