"""The hindsight optimum: the cheapest schedule of passes, had one known what was to come.

Same window, same recent region, same tier as the policy it is compared with; exact for the ideal
prefix cache without the tables of files read. What stands after a pass depends only on the request
it was made at, so a schedule is a path through the requests, and dynamic programming over the last
pass finds the cheapest. Specification: DESIGN section 9, docs/replay.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import msgspec

from compactor.core.fold import Fold
from compactor.core.plan import recent_start, tier
from compactor.core.policy import Rules
from compactor.loop import loop
from compactor.replay.prices import Tariff, Tariffs
from compactor.replay.recording import Recording
from compactor.replay.serving import Served

REQUESTS_MAX: Final = 3000
"""The work grows with the square of the requests: above, there is no optimum."""


class Optimum(NamedTuple):
    """The cheapest schedule.

    cost_nano: of all requests.
    passes: the requests at which it makes one, from 1.
    """

    cost_nano: int
    passes: tuple[int, ...]


class _After(NamedTuple):
    """What stands after a pass at a request, whatever passes there were before.

    end: plain results below it have gone.
    floor: evidence below it was decided about, except the newest.
    over: evidence that has gone, ascending.
    freed: tokens that are not sent any more.
    """

    end: int
    floor: int
    over: tuple[int, ...]
    freed: int


_NOTHING: Final = _After(0, 0, (), 0)


def optimum(
    recording: Recording, rules: Rules, tariff: Tariff | Tariffs, *, recallable: bool = False
) -> Optimum | None:
    """The cheapest schedule of passes for the requests of a recording.

    A request stays within the window where a pass can keep it there.

    Returns:
        None for more than `REQUESTS_MAX` requests. O(requests²).
    """
    if len(recording.requests) > REQUESTS_MAX:
        return None
    if not rules.acts:
        rules = _acting(rules)
    return _Search(recording, rules, tariff, recallable).run()


def _acting(rules: Rules) -> Rules:
    return msgspec.structs.replace(rules, enabled=True, mode="elide")


class _Search:
    """Dynamic programming over the request of the last pass; -1 is none yet."""

    def __init__(
        self, recording: Recording, rules: Rules, tariff: Tariff | Tariffs, recallable: bool
    ) -> None:
        self._recording = recording
        self._tariffs = [tariff.of(asked.model) for asked in recording.requests]
        self._window = rules.window
        self._after, self._plain, gains = _afters(recording, rules, recallable)
        self._gains = list(accumulate((gains[seq] for seq in self._plain), initial=0))
        self._by_seq = gains

    def run(self) -> Optimum:
        requests, upto = self._recording.requests, self._recording.upto
        best: dict[int, int] = {-1: 0}
        came: list[int] = []
        before = 0
        for k, asked in enumerate(requests):
            most = self._most(k, upto[asked.n])
            grown: dict[int, int] = {}
            source, cheapest = -1, -1
            for j, cost in best.items():
                sent = upto[asked.n] - self._freed(j)
                cached = upto[min(before, asked.n)] - self._freed(j) if k else 0
                if sent <= most:
                    grown[j] = cost + self._cost(k, sent, cached)
                passed = self._passed(j, k)
                if passed is not None and (cheapest < 0 or cost + passed < cheapest):
                    source, cheapest = j, cost + passed
            if cheapest >= 0:
                grown[k] = cheapest
            came.append(source)
            best, before = grown, asked.n
        last = min(best, key=lambda j: best[j])
        return Optimum(best[last], self._schedule(came, last))

    def _schedule(self, came: Sequence[int], last: int) -> tuple[int, ...]:
        passes = []
        while last >= 0:
            passes.append(last + 1)
            last = came[last]
        return tuple(reversed(passes))

    def _most(self, k: int, whole: int) -> int:
        """The longest prompt that is allowed: the window, where a pass can keep it there."""
        return self._window if whole - self._after[k].freed <= self._window else whole

    def _freed(self, j: int) -> int:
        return self._after[j].freed if j >= 0 else 0

    def _passed(self, j: int, k: int) -> int | None:
        """The cost of a request with a pass, after one at j; None where nothing would go."""
        first = self._first_changed(j, k)
        if first is None:
            return None
        n, upto = self._recording.requests[k].n, self._recording.upto
        before = self._recording.requests[k - 1].n if k else 0
        sent = upto[n] - self._after[k].freed
        cached = upto[min(first, before)] - self._freed_below(j, min(first, before)) if k else 0
        return self._cost(k, sent, cached)

    def _first_changed(self, j: int, k: int) -> int | None:
        """The first entry that goes at k and had not gone at j."""
        old, new = (self._after[j] if j >= 0 else _NOTHING), self._after[k]
        at, evidence = bisect_left(self._plain, old.end), bisect_left(new.over, old.floor)
        found = [*self._plain[at : at + 1], *new.over[evidence : evidence + 1]]
        plain = [seq for seq in found if seq < new.end]
        return min(plain, default=None)

    def _freed_below(self, j: int, seq: int) -> int:
        """What a pass at j had freed below an entry."""
        if j < 0:
            return 0
        after = self._after[j]
        plain = self._gains[bisect_left(self._plain, min(after.end, seq))]
        return plain + sum(self._by_seq[over] for over in after.over if over < seq)

    def _cost(self, k: int, sent: int, cached: int) -> int:
        return self._tariffs[k].cost_nano(Served(cached, sent - cached, 0))


def _afters(
    recording: Recording, rules: Rules, recallable: bool
) -> tuple[list[_After], list[int], dict[int, int]]:
    """What stands after a pass at each request; the plain results; what each that may go frees."""
    measure, limits = recording.measure, tier(rules, "elide")
    fold = Fold(loop(), measure, rules, recording.overhead, recallable)
    gains: dict[int, int] = {}
    found = []
    for asked in recording.requests:
        for seq in range(fold.n, asked.n):
            fold.add(recording.entries[seq])
            candidate = fold.candidates.by_seq.get(seq)
            if candidate is not None and candidate.gain >= rules.min_gain:
                text = candidate.marker.form(recallable)
                gains[seq] = candidate.tokens - measure.rewritten(text)
        cutoff = recent_start(fold, limits)
        end = min(cutoff, fold.answered(fold.n))
        floor = fold.last_evidence(cutoff)
        spent_to = end if floor is None else min(end, floor)
        over = fold.candidates.spend(limits.name, limits.evidence_budget, spent_to).over
        found.append(_After(end, spent_to, tuple(sorted(over)), 0))
    plain = [seq for seq in fold.candidates.plain if seq in gains]
    sums = list(accumulate((gains[seq] for seq in plain), initial=0))
    return (
        [
            after._replace(
                freed=sums[bisect_left(plain, after.end)] + sum(gains[seq] for seq in after.over)
            )
            for after in found
        ],
        plain,
        gains,
    )
