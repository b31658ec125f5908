"""The numbers of the `/context` view: what fills the window, by category, and why it is as it is.

One place for the command line and for sessions. Specification: seed 002, "What a pass reports".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from compactor.core.fold import Fold
from compactor.core.journal import active
from compactor.core.records import AnyRecord, Header
from compactor.core.report import WHYS, Fate, Report, fates

CATEGORIES = (
    "overhead", "system", "user", "assistant", "evidence", "results", "markers", "revisions",
)  # fmt: skip
"""What tokens of a request are; together they are the estimate."""
_EVIDENCE = ("kept:floor", "kept:budget")


def context_numbers(report: Report, fold: Fold, records: Sequence[AnyRecord]) -> dict[str, Any]:
    """All that the view shows. O(entries)."""
    entries = fates(fold)
    standing = active(records).passes
    header = next((record for record in records if isinstance(record, Header)), None)
    return {
        "window": report.window,
        "threshold": report.threshold,
        "reserve": report.window - report.threshold,
        "tokens": report.tokens_after,
        "free": max(0, report.threshold - report.tokens_after),
        "categories": categories(report.overhead, entries),
        "entries": report.entries,
        "elided": sum(fate.fate == "elided" for fate in entries),
        "cutoff": report.cutoff,
        "tier": report.tier,
        "pressed": report.pressed,
        "overflow": report.overflow,
        "fixed_tokens": report.fixed_tokens,
        "elidable_tokens": report.elidable_tokens,
        "model": header.model if header else "",
        "counter": report.counter,
        "counter_scale": report.counter_scale,
        "passes": len(standing),
        "last_pass": standing[-1].report() if standing else None,
        "why": report.why,
        "why_text": WHYS[report.why],
        "findings": report.findings,
    }


def categories(overhead: int, entries: Iterable[Fate]) -> dict[str, int]:
    """Category → tokens as sent."""
    tokens = Counter({"overhead": overhead})
    for fate in entries:
        tokens[_category(fate)] += fate.tokens
    return {name: tokens[name] for name in CATEGORIES}


def _category(fate: Fate) -> str:
    if fate.fate == "hidden":
        return "revisions"
    if fate.kind != "tool":
        return fate.kind
    if fate.fate == "elided":
        return "markers"
    return "evidence" if fate.fate in _EVIDENCE else "results"
