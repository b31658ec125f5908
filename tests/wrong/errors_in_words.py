"""Takes a result that speaks of an error for a failed one."""

from compactor.core.fold import Fold
from faults import serve

is_error = Fold.is_error
Fold.is_error = lambda self, entry: is_error(self, entry) or entry.body.startswith("Error")
serve()
