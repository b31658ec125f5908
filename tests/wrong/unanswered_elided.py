"""Elides results that the model has not answered."""

from compactor.core.fold import Fold
from faults import serve

Fold.answered = lambda self, n: n
serve()
