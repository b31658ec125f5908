"""What a Copilot CLI session counts: each response its output, and the end of a run all its tokens.

Sums at the end of a run stand for the responses before it, since the last such end or, where their
output is enough for that, since the beginning: a resumed run may count on. `inputTokens` holds what
was read from the cache and written to it. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactor.core.model import Usage
from compactor.formats.messages import field, text_field
from compactor.formats.recorded import count_of, has_tokens, time_ms

TURN = "assistant.message"
_END = "session.shutdown"


def turn_key(data: Any, index: int) -> tuple[Any, ...]:
    """What the messages of one response have in common."""
    call = text_field(data, "apiCallId")
    if not call:
        return (index,)
    return (call, text_field(data, "interactionId"), text_field(data, "turnId"))


def usage_of(rows: Sequence[Any], n: int) -> Usage:
    """Usage of the messages of one response: each may say its output, and the last one holds."""
    data = [row["data"] for row in rows]
    outputs = [count for each in data if (count := count_of(each, "outputTokens"))]
    models = [name for each in data if (name := text_field(each, "model"))]
    return Usage(
        n,
        output=outputs[-1] if outputs else 0,
        model=models[-1] if models else "",
        time_ms=time_ms(rows[-1].get("timestamp")),
    )


def all_usage(rows: Sequence[Any]) -> list[Usage]:
    """Usage of every response, in order, or of runs that ended. O(n)."""
    told: list[Usage] = []
    turns: dict[tuple[Any, ...], list[Any]] = {}
    for index, row in enumerate(rows):
        data = field(row, "data")
        if text_field(row, "type") == TURN and isinstance(data, dict):
            turns.setdefault(turn_key(data, index), []).append(row)
        elif text_field(row, "type") == _END:
            sums = _sums(row)
            outputs = [usage_of(said, 0).output for said in turns.values()]
            counted_on = sum(u.output for u in sums) >= sum([*outputs, *(u.output for u in told)])
            if sums:
                told, turns = [*([] if counted_on else told), *sums], {}
    return [*told, *(usage_of(said, 0) for said in turns.values())]


def _sums(row: Any) -> list[Usage]:
    """What a run used of each model."""
    metrics = field(field(row, "data"), "modelMetrics")
    found: list[Usage] = []
    for model, each in metrics.items() if isinstance(metrics, dict) else ():
        counts = field(each, "usage")
        cached = count_of(counts, "cacheReadTokens"), count_of(counts, "cacheWriteTokens")
        found.append(
            Usage(
                n=0,
                requests=max(count_of(field(each, "requests"), "count"), 1),
                input=max(count_of(counts, "inputTokens") - sum(cached), 0),
                cache_read=cached[0],
                cache_write=cached[1],
                output=count_of(counts, "outputTokens"),
                model=model,
                time_ms=time_ms(field(row, "timestamp")),
            )
        )
    return list(filter(has_tokens, found))
