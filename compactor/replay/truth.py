"""The truth check: what the simulator says of the unmodified requests, beside recorded usage.

The simulated cache share of each request is compared with what the provider counted, and where they
differ the likeliest cause is named. Scale and overhead are fitted to the recording first, as by
`calibrate`, where it holds enough. Specification: DESIGN section 9, docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from compactor import models as model_table
from compactor.calibration import fitted
from compactor.core.model import Usage
from compactor.core.policy import Policy
from compactor.fit import middle, per_mille
from compactor.models import ModelTable
from compactor.replay.recording import Asked
from compactor.replay.run import Bench
from compactor.replay.simulate import Row
from compactor.transcript import Transcript

CLOSE: Final = 30
"""Per mille of the prompt: a difference of the cached share below it needs no cause."""
SCALE_OFF: Final = 50
WHOLE_OFF: Final = 100
REST_MS: Final = 5 * 60_000
"""The shortest lifetime of any cache here."""

CAUSES: Final = {
    "overhead": "system prompt and tools are not recorded, and too few requests tell their size",
    "scale": "our count of the prompt is off by more than 5 %",
    "cleared": "the harness made the prompt shorter itself, or cleared results the file lacks",
    "model": "another model answered than the request before",
    "expiry": "the request came after a rest, and less was cached than the lifetime allows",
    "not_cached": "nothing was ever read from a cache: the harness set no breakpoint, or it is off",
    "before": "more was cached than this conversation had sent: other conversations begin alike",
    "missed": "less was cached than the rules allow; caches are best effort, and clients err",
}
"""Cause → what it means, the first that applies."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Shares and errors in per mille.

    prompt: recorded tokens, cached or not; tokens_sent: simulated.
    share: recorded, of the prompt that was read from the cache; simulated: by us.
    error: simulated less recorded.
    cause: of `CAUSES`; "" where they are close.
    """

    request: int
    entries: int
    prompt: int
    tokens_sent: int
    share: int
    simulated: int
    error: int
    cause: str = ""


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """How far simulated and recorded cache shares are apart, per mille of the prompt.

    median, percent_90: of the errors without sign.
    tokens_median: of how far our prompts are off the recorded ones.
    fitted: scale and overhead were fitted to the recording.
    whole: everything that was sent is in the file or its size is known, and a cache was used.
    causes: how often each was named.
    """

    format: str
    model: str
    cache: str
    requests: int
    median: int
    percent_90: int
    tokens_median: int
    fitted: bool
    whole: bool
    causes: dict[str, int] = {}
    rows: tuple[Compared, ...] = ()


def against_usage(
    transcript: Transcript, *, cache: str | None = None, models: ModelTable | None = None
) -> Truth | None:
    """Compare the simulated unmodified requests with what the provider counted. O(the recording).

    Returns:
        None where no request has recorded prompt tokens.
    """
    if not any(usage.requests == 1 and _prompt(usage) for usage in transcript.usage):
        return None
    table = models or model_table.built_in()
    base = _fitted(transcript, table)
    bench = Bench(
        transcript,
        base or Policy(),
        cache=cache or _lived(transcript),
        table=table,
    )
    return _Comparison(bench, transcript, is_fitted=base is not None).truth()


def _prompt(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def _fitted(transcript: Transcript, table: ModelTable) -> Policy | None:
    """Counter, scale and overhead that fit the recording's own model best."""
    fits = fitted([transcript], models=table)
    best = next((fit for fit in fits if fit.model == transcript.reading.model), None)
    return Policy(**best.settings()) if best is not None else None


def _lived(transcript: Transcript) -> str | None:
    """The cache with the long lifetime, where the recording says that this was written."""
    is_long = any(usage.cache_write_1h for usage in transcript.usage)
    return "anthropic:ttl=1h" if is_long else None


class _Comparison:
    """The recorded requests beside the simulated ones."""

    def __init__(self, bench: Bench, transcript: Transcript, *, is_fitted: bool) -> None:
        self._bench = bench
        self._fitted = is_fitted
        self._known = is_fitted or transcript.reading.overhead.known
        entries = transcript.entries
        self._cleared = next((i for i, e in enumerate(entries) if e.cleared), len(entries))
        self._reads = any(usage.cache_read for usage in transcript.usage)

    def truth(self) -> Truth:
        recording = self._bench.recording
        rows = list(self._rows())
        errors = sorted(abs(row.error) for row in rows)
        causes = [row.cause for row in rows if row.cause]
        off = middle(abs(row.tokens_sent - row.prompt) * 1000 // row.prompt for row in rows)
        last = recording.requests[-1].n
        return Truth(
            format=self._bench.format,
            model=recording.model_name,
            cache=self._bench.cache.name,
            requests=len(rows),
            median=middle(errors),
            percent_90=errors[min(len(errors) * 9 // 10, len(errors) - 1)],
            tokens_median=off,
            fitted=self._fitted,
            whole=self._known and self._reads and last <= self._cleared and off <= WHOLE_OFF,
            causes={name: causes.count(name) for name in CAUSES if name in causes},
            rows=tuple(rows),
        )

    def _rows(self) -> Iterator[Compared]:
        made: Sequence[Row] = self._bench.unmodified()
        both = [
            (asked, row)
            for asked, row in zip(self._bench.recording.requests, made, strict=True)
            if asked.usage is not None and _prompt(asked.usage)
        ]
        before = None
        for asked, row in both:
            yield self._compared(before, asked, row)
            before = asked

    def _compared(self, before: Asked | None, asked: Asked, row: Row) -> Compared:
        usage = asked.usage
        assert usage is not None
        prompt = _prompt(usage)
        share, simulated = (
            per_mille(usage.cache_read, prompt),
            per_mille(row.cached, row.tokens_sent),
        )
        error = simulated - share
        found = Compared(
            request=row.request, entries=row.entries, prompt=prompt, tokens_sent=row.tokens_sent,
            share=share, simulated=simulated, error=error,
        )  # fmt: skip
        if abs(error) < CLOSE:
            return found
        return msgspec.structs.replace(found, cause=self._cause(before, asked, found))

    def _cause(self, before: Asked | None, asked: Asked, found: Compared) -> str:
        """The first of `CAUSES` that explains a difference."""
        last = before.usage if before is not None else None
        rested = asked.time_ms - before.time_ms if before and asked.time_ms else 0
        if not self._known:
            return "overhead"
        if (last and found.prompt < _prompt(last)) or asked.n > self._cleared:
            return "cleared"
        if before is not None and before.model != asked.model:
            return "model"
        if found.error > 0 and not self._reads:
            return "not_cached"
        if found.error > 0 and rested > REST_MS:
            return "expiry"
        if found.error < 0 and (before is None or found.simulated == 0):
            return "before"
        if abs(found.tokens_sent - found.prompt) * 1000 > SCALE_OFF * found.prompt:
            return "scale"
        return "missed" if found.error > 0 else "before"
