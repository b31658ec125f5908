"""Prompt caches as a table: how each provider's works, and which one a recording had.

Two kinds. A `common` cache serves the longest prefix that any living request had. A `marks` cache
serves only prefixes that were written at a mark, and finds them only from marks of the request.
Everything that differs between providers is a row of `CACHES`; integers only. Sources: providers.md
A1 to A6, retrieved 2026-11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from compactor.core.errors import PolicyError
from compactor.models import Model
from compactor.replay.recording import Asked
from compactor.replay.spelling import Spelled, choice, meant, number, refuse_others

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
TTLS: Final = {"5m": 5 * MINUTE_MS, "30m": 30 * MINUTE_MS, "1h": HOUR_MS, "12h": 12 * HOUR_MS,
               "24h": 24 * HOUR_MS}  # fmt: skip
PLACEMENTS: Final = ("tail", "tail+frontier")


class CacheModel(msgspec.Struct, frozen=True, kw_only=True):
    """How one cache works.

    rules: `cache_rule` of the models that have it.
    kind: `common` or `marks`, see above.
    ttl_ms: life after the last use; 0 is for ever.
    min_tokens: shortest prefix that is cached; least_of: of models that have another.
    step: what is served is rounded down to a multiple; step_of: of models that have another.
    hidden: tokens that it has beside the prompt's. Steps are of both together, and what it reports
        is scaled to the prompt.
    fee: writing has a price of its own, so what is written is told apart.
    long: what is written has the price of the long lifetime.
    marks: where a request writes, and from where it reads: `system` end, `frontier` (the longest
        prefix that stands as it was written), `anchor` (what the last pass settled), `tail`, `turn`
        (end of the last message), `answer` (what the model said last), `common` (what two requests
        shared).
    lookback_blocks: positions that are looked at from a mark, itself included; 0 is all.
    lookback_ends: ends of messages that are looked at, the newest first; 0 is no such rule.
    answers: the model's last answer is served too.
    leaves_last: the last token is always computed.
    image_rule: taking an image away makes everything after the system prompt unknown.
    ideal: it is no provider's: another model finds it too.
    """

    name: str
    kind: Literal["common", "marks"]
    source: str
    rules: tuple[str, ...] = ()
    ttl_ms: int = 0
    min_tokens: int = 0
    least_of: Mapping[str, int] = {}
    step: int = 1
    step_of: Mapping[str, int] = {}
    hidden: int = 0
    fee: bool = False
    long: bool = False
    marks: tuple[str, ...] = ()
    lookback_blocks: int = 0
    lookback_ends: int = 0
    answers: bool = False
    leaves_last: bool = False
    image_rule: bool = False
    ideal: bool = False

    @property
    def marks_only(self) -> bool:
        """Whether it is read only from marks, none of them where a pass begins to change."""
        return self.kind == "marks" and "frontier" not in self.marks

    def least(self, model: str) -> int:
        """The shortest prefix that is cached for a model."""
        return self.least_of.get(model, self.min_tokens)

    def step_for(self, model: str) -> int:
        """What is served of a model's prompts is a multiple of this."""
        return self.step_of.get(model, self.step)

    def has_expired(self, used_ms: int, now_ms: int) -> bool:
        """Whether what was used last at a time is gone. Without times nothing expires."""
        return bool(self.ttl_ms and used_ms and now_ms) and now_ms - used_ms >= self.ttl_ms


CACHES: Final = {
    row.name: row
    for row in (
        CacheModel(
            name="prefix", kind="common", fee=True, ideal=True,
            source="ideal: serves all that the request has in common with an earlier one, for ever",
        ),
        CacheModel(
            name="anthropic", kind="marks", rules=("anthropic_breakpoints",),
            ttl_ms=TTLS["5m"], min_tokens=1024, fee=True, marks=("system", "tail"),
            lookback_blocks=20, image_rule=True,
            source="platform.claude.com prompt-caching (2026-08), providers.md A1",
        ),
        CacheModel(
            name="openai", kind="marks", rules=("openai_breakpoints_5_6",),
            ttl_ms=TTLS["30m"], min_tokens=1024, fee=True, marks=("turn",), lookback_ends=21,
            source="GPT-5.6 and later: developers.openai.com prompt-caching (2026-09), A2",
        ),
        CacheModel(
            name="openai-5.5", kind="common", rules=("openai_intervals_2048",),
            ttl_ms=TTLS["24h"], min_tokens=1024, step=2048,
            source="GPT-5.5: breakpoints every 2,048 tokens, no fee, A2",
        ),
        CacheModel(
            name="openai-old", kind="common", rules=("openai_intervals",),
            ttl_ms=TTLS["24h"], min_tokens=1024, step=128,
            source="before GPT-5.5: multiples of 128 tokens, no fee, A2",
        ),
        CacheModel(
            name="gemini", kind="common", rules=("gemini_implicit",),
            ttl_ms=TTLS["24h"], min_tokens=4096, step=4096,
            step_of={"gemini-3.1-pro": 8192}, hidden=4096,
            source="ai.google.dev caching (2026-09), implicit, A3; step and hidden tokens are not "
            "documented: they come closest to what recordings counted",
        ),
        CacheModel(
            name="deepseek", kind="marks", rules=("deepseek_prefix_units",),
            ttl_ms=TTLS["24h"], marks=("tail", "answer", "common"),
            source="api-docs.deepseek.com kv_cache (2026-08), prefix units, A5",
        ),
        CacheModel(
            name="blocks", kind="common", step=16, answers=True, leaves_last=True,
            source="vLLM: full blocks of 16 tokens, the last token is computed, A6",
        ),
        CacheModel(
            name="automatic", kind="common", rules=("automatic_prefix_unspecified",),
            source="a cache without known rules: as `prefix`, without a fee, A7",
        ),
    )
}  # fmt: skip


_OF_KIND: Final = {"common": ("size", "hidden"), "marks": ()}
"""Settings beside the lifetime and the shortest prefix."""
FAMILIES: Final = {
    "claude": "anthropic", "gpt-": "openai-old", "gemini": "gemini", "deepseek": "deepseek",
}  # fmt: skip
"""What is in the name of a model that the table does not know → its cache, most likely."""


def cache_of(
    spelled: Spelled | None, models: Mapping[str, Model | None], usual: str = ""
) -> CacheModel:
    """The cache that a spelling names, with its settings; without one that of the usual model.

    Args:
        spelled: `NAME[:ttl=…,placement=…,min=…,size=…,hidden=…]`.
        models: of the requests, by their names as recorded; None is one that the table lacks. The
            shortest cached prompt of a model holds where it has this cache.
        usual: the name of the model that answered most.

    Raises:
        PolicyError: `policy.unknown_key`, `policy.range`.
    """
    if spelled is None:
        name = _likely(models.get(usual), usual)
        spelled = Spelled(name, {}, name)
    if spelled.name not in CACHES:
        raise PolicyError(
            f"unknown cache {spelled.name!r}",
            code="policy.unknown_key",
            path=spelled.text,
            hint=meant(spelled.name, tuple(CACHES)),
        )
    row = CACHES[spelled.name]
    places = ("placement",) if row.lookback_blocks else ()
    refuse_others(spelled, ("ttl", "min", *places, *_OF_KIND[row.kind]))
    ttl = choice(spelled, "ttl", tuple(TTLS), "")
    marks = row.marks
    if choice(spelled, "placement", PLACEMENTS, "tail") == "tail+frontier":
        marks = ("system", "anchor", "frontier", "tail")
    return msgspec.structs.replace(
        row,
        ttl_ms=TTLS[ttl] if ttl else row.ttl_ms,
        long=row.long or (row.fee and ttl in ("1h", "12h")),
        marks=marks,
        min_tokens=number(spelled, "min", row.min_tokens),
        least_of={} if "min" in spelled.settings else _leasts(row, models),
        step=number(spelled, "size", row.step, least=1),
        step_of={} if "size" in spelled.settings else _steps(row, models),
        hidden=number(spelled, "hidden", row.hidden),
    )


def _likely(model: Model | None, name: str) -> str:
    """The cache of a model, by what the table says of it, else by its name."""
    rule = model.cache_rule if model else ""
    likely = next((cache for part, cache in FAMILIES.items() if part in name), "prefix")
    return next((row.name for row in CACHES.values() if rule in row.rules), likely)


def _leasts(row: CacheModel, models: Mapping[str, Model | None]) -> dict[str, int]:
    """The shortest cached prompts of models that have this cache."""
    return {
        name: model.min_cache_tokens
        for name, model in models.items()
        if model and model.cache_rule in row.rules and model.min_cache_tokens is not None
    }


def _steps(row: CacheModel, models: Mapping[str, Model | None]) -> dict[str, int]:
    """The steps of models that have another: by the beginning of their names in the table."""
    return {
        name: step
        for name, model in models.items()
        for beginning, step in row.step_of.items()
        if model and model.name.startswith(beginning)
    }


def usual_model(requests: Sequence[Asked]) -> str:
    """The name of the model that answered most of the requests; of equals the later."""
    counts = Counter(asked.model for asked in reversed(requests))
    return max(counts, key=lambda name: counts[name], default="")


def colds(requests: Sequence[Asked], cache: CacheModel) -> list[bool]:
    """Of each request, whether everything cached had expired before it; of the first it is not so.

    Caches are of a model, so for one that had not answered yet it is. Without times nothing
    expires. O(requests).
    """
    used: dict[str, int] = {}
    found = []
    for asked in requests:
        is_new = bool(used) and asked.model not in used
        is_cold = is_new or cache.has_expired(used.get(asked.model, 0), asked.time_ms)
        found.append(is_cold and not cache.ideal)
        used[asked.model] = asked.time_ms
    return found
