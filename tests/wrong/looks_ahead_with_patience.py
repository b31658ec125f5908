"""Looks ahead where a patience is given."""

from faults import serve

from compactor.core import policy

resolve = policy._prices
policy._prices = lambda *given: resolve(*given) | {"patience": None}
serve()
