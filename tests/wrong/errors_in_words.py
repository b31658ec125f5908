"""Takes a result that speaks of an error for a failed one."""

from faults import serve

from compactor.core.eligible import Eligible

has_failed = Eligible._has_failed
Eligible._has_failed = lambda self, entry: has_failed(self, entry) or entry.body.startswith("Error")
serve()
