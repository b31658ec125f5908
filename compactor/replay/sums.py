"""What a replay comes to: its sums and its rows. Specification: docs/replay.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from compactor.core.errors import Finding
from compactor.replay.simulate import Row


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """A recording under one policy. Sizes are sums over its requests, in tokens.

    policy: as it was spelled; cache: by name.
    rows: of each request; `requests` is their number.
    cost_nano: nano-dollars, without answers.
    cost_to_none: cost, as a multiple of doing nothing; 1.0 where that is free.
    cost_to_optimum: as a multiple of the hindsight optimum under the same window and recent region,
        which is given the tables of files read that the policy wrote; None for other caches than
        `prefix`, and where there is none.
    breaks: requests that the one before is no prefix of.
    regret: share of identifiers that the model used and could not see any more.
    """

    format: str
    policy: str
    requests: int
    tokens_sent: int
    cached: int
    written: int
    uncached: int
    cost_nano: int
    cost_to_none: float
    cost_to_optimum: float | None
    breaks: int
    passes: int
    overflow_requests: int
    regret: float
    model: str
    cache: str
    window: int | None
    findings: tuple[Finding, ...] = ()
    rows: tuple[Row, ...] = ()

    def row(self) -> dict[str, Any]:
        """The sums, as `--json` gives them."""
        fields = (name for name in self.__struct_fields__ if name not in ("findings", "rows"))
        return {name: getattr(self, name) for name in fields}


def by_policy(found: Iterable[Replay]) -> dict[str, list[Replay]]:
    """Replays of the same policies, in the order in which a policy comes first."""
    groups: dict[str, list[Replay]] = {}
    for made in found:
        groups.setdefault(made.policy, []).append(made)
    return groups


def summed(group: Sequence[Replay]) -> Replay:
    """Several recordings under one policy as one: sums, ratios by the sums, the mean regret.

    Args:
        group: at least one. What they have not in common is empty; requests are not kept.
    """
    cost = _sum(group, "cost_nano")
    nothing = sum(made.cost_nano / made.cost_to_none for made in group if made.cost_to_none)
    best = [made.cost_nano / made.cost_to_optimum for made in group if made.cost_to_optimum]
    windows = {made.window for made in group}
    sums: dict[str, Any] = {name: _sum(group, name) for name in _SUMMED}
    return Replay(
        policy=group[0].policy,
        format=_common({made.format for made in group}),
        model=_common({made.model for made in group}),
        cache=_common({made.cache for made in group}),
        window=windows.pop() if len(windows) == 1 else None,
        cost_nano=cost,
        cost_to_none=round(cost / nothing, 4) if nothing else 1.0,
        cost_to_optimum=round(cost / sum(best), 4) if len(best) == len(group) else None,
        regret=round(sum(made.regret for made in group) / len(group), 4),
        **sums,
    )


_SUMMED = (
    *("requests", "tokens_sent", "cached", "written", "uncached"),
    *("breaks", "passes", "overflow_requests"),
)


def _sum(group: Sequence[Replay], name: str) -> int:
    return sum(getattr(made, name) for made in group)


def _common(words: set[str]) -> str:
    return words.pop() if len(words) == 1 else ""
