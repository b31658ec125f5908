"""Keeps one more trailing entry than keepRecent."""

from faults import serve

from compactor.core import plan

recent_start = plan.recent_start
plan.recent_start = lambda fold, limits: recent_start(
    fold, limits._replace(keep_recent=limits.keep_recent + 1)
)
serve()
