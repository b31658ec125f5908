"""Crosses at the threshold instead of above it."""

from compactor.core.policy import Rules
from faults import serve

threshold = Rules.threshold.fget
Rules.threshold = property(lambda self: threshold(self) - 1)
serve()
