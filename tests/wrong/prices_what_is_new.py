"""Lets a priced pass pay for what the request before did not carry."""

from faults import serve

from compactor.core.fold import Fold

Fold.known = property(lambda fold: fold.n)
serve()
