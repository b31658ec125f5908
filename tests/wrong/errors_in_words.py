"""Takes a result that speaks of an error for a failed one."""

from faults import serve

from compactor.core.fold import Fold

is_error = Fold.is_error
Fold.is_error = lambda self, entry: is_error(self, entry) or entry.body.startswith("Error")
serve()
