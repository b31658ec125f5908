"""What a replay comes to: its sums and its rows. Specification: docs/replay.md."""

from __future__ import annotations

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
    cost_to_optimum: as a multiple of the hindsight optimum under the same window and recent region;
        None for other caches than `prefix`, and where there is none.
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
