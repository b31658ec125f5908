"""Spends the evidence budget on the newest evidence first."""

from faults import serve

from compactor.core import compact
from compactor.core import plan as plan_module

make_plan = compact.make_plan


def newest_first(fold, limits, stored):
    plan = make_plan(fold, limits, stored)
    by_seq = sorted(fold.candidates.by_seq.items())
    old = [found for seq, found in by_seq if seq < plan.cutoff and seq != plan.floor]
    kept, spent = set(), 0
    for candidate in reversed(old):
        if candidate.evidence and spent + candidate.tokens <= limits.evidence_budget:
            spent += candidate.tokens
            kept.add(candidate.seq)
    gone = [c for c in old if c.seq not in kept and c.gain >= fold.rules.min_gain]
    texts = plan_module._texts(fold, gone)
    freed = sum(c.tokens for c in gone) - sum(map(fold.measure.rewritten, texts))
    return plan._replace(elided=tuple(gone), texts=texts, freed=freed)


compact.make_plan = newest_first
serve()
