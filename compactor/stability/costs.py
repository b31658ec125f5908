"""What a break costs: tokens of a prefix, a number a segment, by the counter of its model.

Messages count as entries do (DESIGN section 3, Tokens), tools and system prompt by their compact
JSON, model and settings nothing. A request that no format reads is counted by its text alone.
Nothing here runs before a break is told or a report written.
"""

from __future__ import annotations

from typing import NamedTuple

import compactor
from compactor import counters
from compactor.core.count import Counter
from compactor.core.errors import CompactorError
from compactor.core.policy import Policy
from compactor.stability.conversations import Request
from compactor.stability.prefix import MESSAGES, MODEL, SETTINGS

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


def costs(request: Request) -> Costs:
    """The tokens of a request. O(the request)."""
    policy = Policy(window=_WINDOW, enabled=False)
    try:
        transcript = compactor.load(request.body.root, request.format or None)
        out = compactor.compact(transcript, policy, explain=True)
    except CompactorError:
        return _by_text(request, counters.get("o200k_base"), 1000)
    report = out.report
    made = _by_text(request, counters.get(report.counter), report.counter_scale)
    index = {one.at: k for k, one in enumerate(request.segments) if one.part == MESSAGES}
    for k in index.values():
        made.tokens[k] = 0
    for entry, fate in zip(transcript.entries, out.fates, strict=True):
        at = next((entry.at[:k] for k in range(len(entry.at) + 1) if entry.at[:k] in index), None)
        if at is not None:
            made.tokens[index[at]] += fate.tokens
    return made


def _by_text(request: Request, counter: Counter, scale: int) -> Costs:
    counted = (
        0 if one.part in (MODEL, SETTINGS) else counter.count(one.key) for one in request.segments
    )
    return Costs([(count * scale + 999) // 1000 for count in counted], counter.name)
