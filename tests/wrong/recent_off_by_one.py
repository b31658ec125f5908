"""Keeps one more trailing entry than keepRecent."""

from compactor.core import plan
from faults import serve

recent_start = plan.recent_start
plan.recent_start = lambda fold, limits: recent_start(
    fold, limits._replace(keep_recent=limits.keep_recent + 1)
)
serve()
