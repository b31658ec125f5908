"""Makes a second pass, under the next tier, where the first leaves too much."""

from faults import serve

from compactor.core import compact
from compactor.core.plan import tier

decide = compact._Call._maybe_pass


def twice(self, *args, **kwargs):
    why = decide(self, *args, **kwargs)
    if why == "passed":
        decide(self, *args, **kwargs)
    return why


def first_tier(self, _):
    fold = self.fold
    plan = compact.make_plan(fold, tier(fold.rules, fold.tier))
    return plan if plan.freed > 0 else compact.make_plan(fold, tier(fold.rules, "aggressive"))


compact._Call._maybe_pass = twice
compact._Call._plan_for = first_tier
serve()
