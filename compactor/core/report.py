"""What a call did and why, in numbers: the report, and the fate of each entry.

One vocabulary for reports and `explain`. Nothing here changes anything. Specification: DESIGN
section 11.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from compactor.core.compact import Decision
from compactor.core.errors import Finding
from compactor.core.fold import Fold
from compactor.core.model import Kind
from compactor.core.plan import tier
from compactor.core.records import OverflowRecord, PassRecord

FATES = {
    "kept:recent": "in the recent region",
    "kept:unanswered": "the model has not answered it yet",
    "kept:protected": "its tool is protected",
    "kept:pinned": "pinned by the policy",
    "kept:required": "the provider needs it as it is",
    "kept:floor": "the newest old evidence",
    "kept:budget": "evidence within the budget",
    "kept:no_gain": "eliding it would save too little",
    "kept:edited": "its text was edited",
    "kept:not_result": "no tool result: only those are ever elided",
    "elided": "replaced by its marker; the transcript handed in has the original",
    "elided:inputs": "long strings in its calls' arguments are replaced by markers",
    "hidden": "behind a summary or an edit",
}
WHYS = {
    "passed": "a pass was made",
    "below_threshold": "the estimate is not above the threshold",
    "waits:user_turn": "a pass would drop reasoning; there is room to wait for the user's turn",
    "waits:price": "what a pass would free is not yet worth the cache that it breaks",
    "waits:later": "a pass will soon free more and break less",
    "waits:carry": "waiting has not yet cost what a pass would break",
    "waits:min_freed": "a pass would free too little to be worth breaking the cache",
    "nothing_to_free": "nothing that may go would free anything",
    "off": "compaction is turned off",
}


class Report(msgspec.Struct, frozen=True):
    """A call in numbers. All sizes in tokens.

    tokens_before: the estimate before this call's records; tokens_after: as sent.
    passes: those that this call added, as `PassRecord.report` gives them.
    fixed_tokens: what no pass can free; elidable_tokens: what later passes could free.
    why: one of `WHYS`; min_freed: what a pass had to free.
    frontier: seq and path of the block where a cache breakpoint reads the longest prefix that
        stands as it was sent; None when nothing was sent before or the format has no breakpoints.
    anchor: the same of the block where one keeps readable what later passes leave as it is.
    """

    ruleset: int
    format: str
    entries: int
    counter: str
    counter_fingerprint: str
    counter_scale: int
    overhead: int
    window: int
    threshold: int
    tokens_before: int
    tokens_after: int
    tier: str
    cutoff: int
    pressed: bool
    overflow: bool
    why: str
    fixed_tokens: int
    elidable_tokens: int
    min_freed: int
    frontier: dict[str, Any] | None = None
    anchor: dict[str, Any] | None = None
    findings: tuple[Finding, ...] = ()
    passes: tuple[dict[str, Any], ...] = ()

    def to_json(self, indent: int = 2) -> str:
        """The report as JSON text."""
        return json.dumps(msgspec.to_builtins(self), indent=indent)


def make_report(
    decision: Decision,
    format_name: str,
    findings: tuple[Finding, ...],
    frontier: dict[str, Any] | None = None,
    anchor: dict[str, Any] | None = None,
) -> Report:
    """The report of a decision. O(passes)."""
    fold = decision.fold
    after, rules = fold.estimate, fold.rules
    is_priced = rules.priced and decision.tokens_before <= rules.threshold
    return Report(
        ruleset=fold.loop.ruleset,
        format=format_name,
        entries=fold.n,
        counter=fold.measure.counter.name,
        counter_fingerprint=fold.measure.counter.fingerprint,
        counter_scale=fold.measure.scale,
        overhead=fold.overhead,
        window=rules.window,
        threshold=rules.threshold,
        tokens_before=decision.tokens_before,
        tokens_after=after,
        tier=fold.tier,
        cutoff=fold.label(fold.cutoff),
        pressed=fold.tier == "aggressive" and after > rules.threshold,
        overflow=after > rules.window or _nothing_left(decision),
        why=decision.why,
        fixed_tokens=after - fold.candidates.elidable_tokens,
        elidable_tokens=fold.candidates.elidable_tokens,
        min_freed=rules.priced_min_freed if is_priced else rules.min_freed,
        frontier=frontier,
        anchor=anchor,
        findings=findings + decision.findings,
        passes=tuple(_pass(record, fold) for record in decision.passes),
    )


def _pass(record: PassRecord, fold: Fold) -> dict[str, Any]:
    """A pass by what its entries are called."""
    floor, elided = record.floor, [fold.label(elision.seq) for elision in record.elided]
    return record.report() | {
        "cutoff": fold.label(record.cutoff),
        "elided": sorted(elided),
        **({"inputs": [fold.label(i.seq) for i in record.inputs]} if record.inputs else {}),
        "floor": None if floor is None else fold.label(floor),
        "first_changed": fold.label(record.first_changed),
    }


def _nothing_left(decision: Decision) -> bool:
    """The provider refused the request, and no tier could free anything."""
    refused = (record for record in decision.added if isinstance(record, OverflowRecord))
    return any(record.freed == 0 for record in refused)


class Fate(NamedTuple):
    """One entry and what became of it. tokens: as sent; `tool` is "" for no result."""

    seq: int
    kind: str
    tool: str
    tokens: int
    fate: str


def fates(fold: Fold) -> list[Fate]:
    """Every entry's fate after a call. O(n)."""
    limits = tier(fold.rules, fold.tier)
    floor = fold.last_evidence(fold.cutoff)
    answered, spent, found = fold.answered(fold.n), 0, []
    for seq, entry in enumerate(fold.entries):
        fate = _fate(fold, seq, floor, answered)
        candidate = fold.candidates.by_seq.get(seq)
        if fate != "kept:no_gain" or candidate is None or not candidate.evidence:
            pass
        elif spent + candidate.tokens <= limits.evidence_budget:
            spent += candidate.tokens
            fate = "kept:budget"
        tool = (entry.name or fold.loop.marker.name_unknown) if entry.kind is Kind.TOOL else ""
        found.append(Fate(fold.labels[seq], entry.kind.value, tool, fold.tokens[seq], fate))
    return found


def _fate(fold: Fold, seq: int, floor: int | None, answered: int) -> str:
    entry = fold.entries[seq]
    if not fold.view.shows(seq):
        return "hidden"
    if seq in fold.view.revised:
        return "kept:edited"
    if seq in fold.view.inputs:
        return "elided:inputs"
    if entry.kind is not Kind.TOOL:
        return "kept:not_result"
    if seq in fold.elided:
        return "elided"
    if seq >= fold.cutoff:
        return "kept:unanswered" if seq >= answered else "kept:recent"
    if entry.empty:
        return "kept:no_gain"
    by_rule = fold.eligible.kept_by_rule(entry, fold.labels[seq])
    if by_rule:
        return f"kept:{by_rule}"
    return "kept:floor" if seq == floor else "kept:no_gain"
