"""Crosses at the threshold instead of above it."""

from faults import serve

from compactor.core.policy import Rules

threshold = Rules.threshold.fget
Rules.threshold = property(lambda self: threshold(self) - 1)
serve()
