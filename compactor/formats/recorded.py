"""What lenses of recordings share: counts of usage, and what they say of a session as a whole.

A recording is read as the next request would carry it, so what a harness compacted, cleared or left
behind is not in the entries; it is said in findings, by the same codes for every harness.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from compactor.core.errors import Finding
from compactor.core.model import Entry, Kind, Path, Usage
from compactor.formats.messages import field, open_calls
from compactor.formats.raw.edits import dotted

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS: Final = 10**11
"""A larger number of a time counts milliseconds: as seconds it lies after the year 5000."""


def count_of(native: Any, key: str) -> int:
    """A recorded number of tokens; 0 for anything that is none."""
    value = field(native, key)
    return value if type(value) is int and value > 0 else 0


def time_ms(value: Any) -> int:
    """A recorded time in milliseconds since 1970 UTC; 0 for anything that is none.

    Args:
        value: ISO 8601 (without a zone: UTC), or seconds or milliseconds since 1970 as a number.
    """
    if isinstance(value, str):
        return _iso_ms(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e15:
        return 0
    return int(value if value > _SECONDS else value * 1000)


def _iso_ms(text: str) -> int:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return 0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max((when - _EPOCH) // timedelta(milliseconds=1), 0)


def has_tokens(usage: Usage) -> bool:
    """Whether a request reached the provider: one that was stopped before that has only zeros."""
    return any((usage.input, usage.cache_read, usage.cache_write, usage.output))


def items(native: Any) -> list[Any]:
    """A list as it is; nothing for anything that is none."""
    return native if isinstance(native, list) else []


def unanswered(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Calls that no result answers before the next turn or the end. O(entries)."""
    ends = [i for i, entry in enumerate(entries) if i and entry.kind is Kind.ASSISTANT]
    for end in (*ends, len(entries)):
        for call in open_calls(entries, end):
            said = (call.id or call.name)[:80]
            message = f"call {said!r} has no result before the next turn or the end"
            yield Finding("unanswered_call", message, dotted(call.at[:-1]))


def compacted(count: int, things: str = "entries") -> list[Finding]:
    """What lies before the harness's own compaction."""
    message = f"{count} {things} lie before the last compaction"
    return [Finding("before_compaction", message)] if count else []


def left_behind(count: int, path: str = "") -> list[Finding]:
    """What the user took back."""
    message = f"{count} messages are on branches that were left"
    return [Finding("off_branch", message, path)] if count else []


def cleared(count: int) -> list[Finding]:
    """Results that the harness had replaced in the prompt."""
    message = f"{count} results were cleared by the harness"
    return [Finding("cleared_by_harness", message)] if count else []


def unreadable(odd: Sequence[Path], things: str) -> list[Finding]:
    """What looks like a part of the conversation and cannot be read; the path is the first's."""
    message = f"{len(odd)} {things} look like messages and cannot be read"
    return [Finding("unknown_line", message, dotted(odd[0]))] if odd else []
