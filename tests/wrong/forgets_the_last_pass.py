"""Counts all requests so far, where those since the last pass are meant."""

from faults import serve

from compactor.core.fold import Fold

Fold.since_pass = lambda fold: fold.request_number(fold.n)
serve()
