"""Elides results that the model has not answered."""

from faults import serve

from compactor.core.fold import Fold

Fold.answered = lambda _, n: n
serve()
