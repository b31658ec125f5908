"""A recording replayed under one policy after the other, beside doing nothing and the optimum.

`Bench` holds what all policies of a recording share: tokens, identifiers, the cost of doing
nothing, optima. `replay` is the Python surface. Specification: DESIGN section 9, docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from compactor import models as model_table
from compactor.core.errors import PolicyError
from compactor.core.policy import Policy, Rules
from compactor.models import ModelTable, Prices
from compactor.replay.caches import CacheModel, cache_of, colds, usual_model
from compactor.replay.optimum import Optimum, optimum
from compactor.replay.own import NAMES, Own, policy_of, rules_of
from compactor.replay.prices import Tariff, load_prices, tariff_from, tariffs_of
from compactor.replay.recording import Recording, recording_of
from compactor.replay.regret import Named
from compactor.replay.results import Step
from compactor.replay.simulate import Row, Terms, simulate
from compactor.replay.spelling import Spelled, meant, spelled
from compactor.replay.strategies import STRATEGIES
from compactor.replay.sums import Replay
from compactor.replay.trace import Kept, Trace
from compactor.transcript import Transcript, load

NONE = "none"


class _Played(NamedTuple):
    """A policy on a recording. rules: that the optimum is under; None without a window."""

    name: str
    steps: Iterable[Step]
    rules: Rules | None
    recallable: bool


class Bench:
    """What the replays of one recording share.

    Args:
        transcript: the recording.
        base: what holds where a policy's spelling says nothing.
        cache: spelled; None is that of the model that answered most.
        prices: None takes each request's model's.
        table: of models.
        one_window: count the requests that overflow by one window, whatever the policy's: the one
            given, else the model's.
    """

    def __init__(
        self,
        transcript: Transcript,
        base: Policy,
        *,
        cache: str | None = None,
        prices: Tariff | None = None,
        table: ModelTable | None = None,
        one_window: bool = False,
    ) -> None:
        self.base = base
        self._one_window = one_window
        self.format = transcript.format
        self.recording = recording_of(transcript, base, table or model_table.built_in())
        models, usual = self.recording.models, usual_model(self.recording.requests)
        self.cache: CacheModel = cache_of(spelled(cache) if cache else None, models, usual)
        tariffs, unknown = tariffs_of(models)
        self.tariff = prices or tariffs
        self.findings = unknown if prices is None else ()
        self.named = Named(self.recording)
        self._cold = colds(self.recording.requests, self.cache)
        self._optima: dict[tuple[Rules, bool], Optimum | None] = {}
        self._none: int | None = None

    def replay(self, policy: str | Policy, *, compared: bool = True) -> Replay:
        """The recording under one policy, by its spelling or as it is.

        Args:
            compared: with the optimum, which takes most of the time where there is one.

        Raises:
            PolicyError: as `policy_of`; `policy.model_unknown` where a policy needs a window.
        """
        played = self._played(policy)
        return self._summed(played, iter(played.steps), compared=compared)

    def trace(self, policy: str | Policy) -> Trace:
        """The same, and what became of each entry.

        Raises:
            PolicyError: as `replay`.
        """
        played = self._played(policy)
        kept = Kept(self.recording, played.steps)
        made = self._summed(played, iter(kept))
        return kept.trace(made, played.steps.folded() if isinstance(played.steps, Own) else None)

    def _played(self, policy: str | Policy) -> _Played:
        name = policy if isinstance(policy, str) else policy.trigger
        given = spelled(name) if isinstance(policy, str) else None
        ours = policy_of(given, self.base) if given is not None else policy
        if not isinstance(ours, Policy):
            assert given is not None
            return _Played(name, _strategy(self.recording, given), self._default(), False)
        rules = rules_of(self.recording, ours)
        steps = Own(
            self.recording,
            rules,
            self._cold,
            recallable=ours.recallable,
            images_reset=self.cache.image_rule,
            marks_only=self.cache.marks_only,
        )
        return _Played(name, steps, rules, ours.recallable)

    def unmodified(self) -> Sequence[Row]:
        """A row a request, nothing changed."""
        steps = _strategy(self.recording, spelled(NONE))
        return simulate(self.recording, steps, Terms(self.cache, self.tariff, None)).rows

    def _default(self) -> Rules | None:
        """The rules that a strategy of others is compared with; None without a window."""
        if self.base.window is None and self.recording.window is None:
            return None
        return rules_of(self.recording, self.base)

    def _summed(self, played: _Played, steps: Iterator[Step], *, compared: bool = True) -> Replay:
        name, _, rules, recallable = played
        window = rules.window if rules is not None else self.recording.window
        if self._one_window and self.recording.window is not None:
            window = self.recording.window
        terms, taken = Terms(self.cache, self.tariff, window), list(steps)
        made = simulate(self.recording, iter(taken), terms, self.named)
        cost = sum(row.cost_nano for row in made.rows)
        nothing = cost if name == NONE else self._nothing()
        best = self._optimum(rules, recallable) if compared and rules is not None else None
        bare = cost if best is None else self._without_tables(taken, terms, cost)
        return Replay(
            policy=name,
            format=self.format,
            model=self.recording.model_name,
            cache=self.cache.name,
            window=window,
            requests=len(made.rows),
            tokens_sent=sum(row.tokens_sent for row in made.rows),
            cached=sum(row.cached for row in made.rows),
            written=sum(row.written for row in made.rows),
            uncached=sum(row.uncached for row in made.rows),
            cost_nano=cost,
            cost_to_none=_ratio(cost, nothing),
            cost_to_optimum=None if best is None else _ratio(cost, best.cost_nano + cost - bare),
            breaks=sum(row.broken for row in made.rows),
            passes=sum(row.passes > 0 for row in made.rows),
            overflow_requests=sum(row.overflow for row in made.rows),
            regret=round(made.regret, 4),
            findings=(*self.recording.findings, *self.findings),
            rows=tuple(made.rows),
        )

    def _without_tables(self, steps: Sequence[Step], terms: Terms, cost: int) -> int:
        """The cost of steps, had they written no tables: the optimum writes none."""
        if not any(step.tables for step in steps):
            return cost
        bare = simulate(self.recording, (step.without_tables() for step in steps), terms)
        return sum(row.cost_nano for row in bare.rows)

    def _nothing(self) -> int:
        """The cost of doing nothing, once."""
        if self._none is None:
            self._none = sum(row.cost_nano for row in self.unmodified())
        return self._none

    def _optimum(self, rules: Rules, recallable: bool) -> Optimum | None:
        """The optimum of some rules, once; only the ideal cache has one."""
        if not self.cache.ideal:
            return None
        key = (rules, recallable)
        if key not in self._optima:
            found = optimum(self.recording, rules, self.tariff, recallable=recallable)
            self._optima[key] = found
        return self._optima[key]


def _strategy(recording: Recording, given: Spelled) -> Iterator[Step]:
    """The steps of a strategy of others.

    Raises:
        PolicyError: `policy.unknown_key`.
    """
    if given.name not in STRATEGIES:
        raise PolicyError(
            f"unknown policy {given.name!r}",
            code="policy.unknown_key",
            path=given.text,
            hint=meant(given.name, (*NAMES, *STRATEGIES), ", or a config file"),
        )
    return _seen(recording, STRATEGIES[given.name](recording, given))


def _seen(recording: Recording, steps: Iterator[Step]) -> Iterator[Step]:
    """The steps; what changes nothing that had been sent is no pass."""
    sent = 0
    for asked, step in zip(recording.requests, steps, strict=True):
        is_seen = min(step.changes, default=sent) < sent
        yield step if is_seen else step._replace(passes=0)
        sent = asked.n


def _ratio(cost: int, other: int) -> float:
    return round(cost / other, 4) if other else 1.0


def tariff_given(prices: str | Path | list[Prices] | None) -> Tariff | None:
    """The tariff of a file or of rows; None where none is given."""
    if prices is None:
        return None
    return tariff_from(prices) if isinstance(prices, list) else load_prices(prices)


def replay(
    transcript: str | Path | Transcript,
    policy: str | Policy | None = None,
    *,
    cache: str | None = None,
    prices: str | Path | list[Prices] | None = None,
    window: int | None = None,
    models: ModelTable | None = None,
) -> Replay:
    """What a recording would have cost under a policy, request by request.

    Args:
        transcript: a recording, as a file or as it was loaded.
        policy: a spelling as after `--policy`, or a policy; None is the default policy.
        cache: `NAME[:key=value,…]` as after `--cache`; None is that of the usual model.
        prices: a file as after `--prices`, or its rows; None takes each model's.
        window: tokens; None takes the policy's, else the model's.
        models: what is known of models instead of the table that ships.

    Returns:
        the sums, with a row a request. O(the recording), the optimum aside.

    Raises:
        InputError: as `load`.
        PolicyError: an unknown policy, cache or setting; no window is known.
    """
    read = transcript if isinstance(transcript, Transcript) else load(transcript)
    base = policy if isinstance(policy, Policy) else Policy()
    if window is not None:
        base = msgspec.structs.replace(base, window=window)
    bench = Bench(read, base, cache=cache, prices=tariff_given(prices), table=models)
    return bench.replay(policy if isinstance(policy, str) else base)
