"""Snapshot-testing cache stability: what the pytest plugin is made of, usable without pytest.

    from compactor.stability import CacheStability

    stream = CacheStability()
    client = stream.wrap(client)
    ...
    stream.check()

A request's prefix (`prefix`) is compared with that of the one before (`changes`) in its
conversation (`conversations`); the first difference is guessed at (`looks`) and told (`says`).
Specification: docs/pytest.md.
"""

from compactor.stability.breaks import Break
from compactor.stability.changes import Change
from compactor.stability.described import describe
from compactor.stability.looks import LOOKS
from compactor.stability.says import CacheBreakError
from compactor.stability.stream import CacheStability

__all__ = ["LOOKS", "Break", "CacheBreakError", "CacheStability", "Change", "describe"]
