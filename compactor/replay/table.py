"""The table of sums, as the command and the page show it: a row a recording and policy.

Specification: docs/replay.md.
"""

from __future__ import annotations

from typing import Final

from compactor.replay.sums import Replay

COLUMNS: Final = (
    *("requests", "sent", "cached", "written", "uncached", "cost", "to none", "to optimum"),
    *("breaks", "passes", "overflow", "regret"),
)
"""Of the numbers; what was replayed and under which policy stand before them."""
NO_VALUE: Final = "-"


def cells(made: Replay) -> tuple[str, ...]:
    """A text for each column."""
    sizes = (made.requests, made.tokens_sent, made.cached, made.written, made.uncached)
    best = made.cost_to_optimum
    return (
        *(f"{size:,}" for size in sizes),
        dollars(made.cost_nano),
        f"{made.cost_to_none:.2f}",
        NO_VALUE if best is None else f"{best:.3f}",
        *(f"{count:,}" for count in (made.breaks, made.passes, made.overflow_requests)),
        f"{made.regret:.1%}",
    )


def dollars(cost_nano: int) -> str:
    """Nano-dollars as dollars with four places."""
    cents = (cost_nano + 50_000) // 100_000
    return f"${cents // 10_000:,}.{cents % 10_000:04}"
