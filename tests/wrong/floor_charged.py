"""Keeps the newest evidence, but charges it to the budget."""

from faults import serve

from compactor.core import compact

make_plan = compact.make_plan


def charged(fold, limits, stored):
    floor = make_plan(fold, limits, stored).floor
    if floor is None:
        return make_plan(fold, limits, stored)
    left = limits.evidence_budget - fold.tokens[floor]
    return make_plan(fold, limits._replace(evidence_budget=max(0, left)), stored)


compact.make_plan = charged
serve()
