"""Treats the newest evidence like any other."""

from compactor.core.fold import Fold
from faults import serve

Fold.last_evidence = lambda self, cutoff: None
serve()
