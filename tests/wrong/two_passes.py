"""Makes a second pass, under the next tier, where the first leaves too much."""

from faults import serve

from compactor.core import compact

decide = compact._Call._maybe_pass


def twice(self, *args, **kwargs):
    why = decide(self, *args, **kwargs)
    if why == "passed":
        decide(self, *args, **kwargs)
    return why


def first_tier(self, _):
    plan = self._plan(self.fold.tier)
    return plan if plan.freed > 0 else self._plan("aggressive")


compact._Call._maybe_pass = twice
compact._Call._plan_for = first_tier
serve()
