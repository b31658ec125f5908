"""Shows the last results alone, anew in every request."""

from faults import serve

from compactor.core import compact


def always(self, *_, **__):
    fold = self.fold
    plan = self._plan_for(fold.rules.threshold)
    if plan.freed <= 0:
        return "nothing_to_free"
    self._pass(plan, "threshold")
    return "passed"


compact._Call._maybe_pass = always
serve()
