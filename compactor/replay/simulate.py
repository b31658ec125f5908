"""The replay of a recording under one policy: a row a request, and what they add up to.

Pure: a recording, what stands for its entries at each request, a cache and a tariff in; numbers
out. Nothing is rendered; a request costs what it has not in common with the last one.
Specification: DESIGN section 9, docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from compactor.replay.caches import CacheModel, colds
from compactor.replay.prices import Tariff, Tariffs
from compactor.replay.prompt import Prompt
from compactor.replay.recording import Recording
from compactor.replay.regret import Named, Regret
from compactor.replay.results import Step
from compactor.replay.serving import Cache


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One request. All sizes in tokens.

    request: from 1.
    entries: it was made over so many.
    tokens_sent: the prompt; it is cached + written + uncached.
    cost_nano: in nano-dollars, without the answer.
    stable_prefix: what begins it as it began the request before.
    broken: the request before is no prefix of it.
    passes: made for it, of those that changed what had been sent.
    tier: of our own policies.
    overflow: it is longer than the window.
    cold: everything cached had expired.
    """

    request: int
    entries: int
    tokens_sent: int
    cached: int
    written: int
    uncached: int
    cost_nano: int
    stable_prefix: int
    broken: bool
    passes: int
    tier: str
    overflow: bool
    cold: bool


class Terms(NamedTuple):
    """What a replay is simulated under."""

    cache: CacheModel
    tariff: Tariff | Tariffs
    window: int | None


class Replayed(NamedTuple):
    """A recording under one policy.

    regret: share, see `Regret`.
    """

    rows: Sequence[Row]
    regret: float


def simulate(
    recording: Recording, steps: Iterator[Step], terms: Terms, named: Named | None = None
) -> Replayed:
    """Replay the requests of a recording.

    Args:
        steps: one a request, of a strategy or of a policy of ours.
        named: where regret is asked for.

    Returns:
        a row a request. O(entries + what is read anew).
    """
    cold = colds(recording.requests, terms.cache)
    prompt, cache, rows = Prompt(recording), Cache(terms.cache), []
    regret = Regret(recording, named) if named is not None else None
    anchor = 0
    for number, (asked, step) in enumerate(zip(recording.requests, steps, strict=True)):
        anchor = step.anchor or anchor
        prompt.advance(asked.n, step.changes)
        if regret is not None:
            regret.advance(asked.n, step.changes)
        served = cache.serve(prompt, asked, anchor=anchor)
        tariff = terms.tariff.of(asked.model)
        rows.append(
            Row(
                request=number + 1,
                entries=asked.n,
                tokens_sent=prompt.tokens,
                cached=served.cached,
                written=served.written,
                uncached=served.uncached,
                cost_nano=tariff.cost_nano(served, long=terms.cache.long),
                stable_prefix=prompt.stable,
                broken=prompt.broken,
                passes=step.passes,
                tier=step.tier,
                overflow=terms.window is not None and prompt.tokens > terms.window,
                cold=cold[number],
            )
        )
    return Replayed(rows, regret.share if regret is not None else 0.0)
