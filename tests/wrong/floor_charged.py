"""Keeps the newest evidence, but charges it to the budget."""

from faults import serve

from compactor.core import compact

make_plan = compact.make_plan


def charged(fold, limits):
    floor = make_plan(fold, limits).floor
    if floor is None:
        return make_plan(fold, limits)
    left = limits.evidence_budget - fold.tokens[floor]
    return make_plan(fold, limits._replace(evidence_budget=max(0, left)))


compact.make_plan = charged
serve()
