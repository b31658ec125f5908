"""What a break costs: tokens of a prefix, a number a segment, by the counter of its model.

Messages count as entries do (DESIGN section 3, Tokens), tools and system prompt by their compact
JSON, model and settings nothing. A request that no format reads is counted by its text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import compactor
from compactor import counters
from compactor.core.count import Counter
from compactor.core.errors import CompactorError
from compactor.core.policy import Policy
from compactor.stability.prefix import MESSAGES, MODEL, SETTINGS, Segment

_WINDOW = 10**9


class Costs(NamedTuple):
    """Tokens of a request.

    tokens: a number a segment.
    counter: its name.
    """

    tokens: list[int]
    counter: str

    @property
    def total(self) -> int:
        return sum(self.tokens)


def costs(root: Any, segments: Sequence[Segment], format_name: str) -> Costs:
    """The tokens of a request. O(the request).

    Args:
        root: its body.
        segments: its prefix.
        format_name: of the body; "" where it is looked for.
    """
    policy = Policy(window=_WINDOW, enabled=False)
    try:
        transcript = compactor.load(root, format_name or None)
        out = compactor.compact(transcript, policy, explain=True)
    except CompactorError:
        return _by_text(segments, counters.get("o200k_base"), 1000)
    report = out.report
    made = _by_text(segments, counters.get(report.counter), report.counter_scale)
    index = {one.at: k for k, one in enumerate(segments) if one.part == MESSAGES}
    for k in index.values():
        made.tokens[k] = 0
    for entry, fate in zip(transcript.entries, out.fates, strict=True):
        at = next((entry.at[:k] for k in range(len(entry.at) + 1) if entry.at[:k] in index), None)
        if at is not None:
            made.tokens[index[at]] += fate.tokens
    return made


def _by_text(segments: Sequence[Segment], counter: Counter, scale: int) -> Costs:
    counted = (0 if one.part in (MODEL, SETTINGS) else counter.count(one.key) for one in segments)
    return Costs([(count * scale + 999) // 1000 for count in counted], counter.name)
