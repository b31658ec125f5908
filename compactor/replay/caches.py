"""Prompt caches as tables: what a provider's cache serves of a request, and what it writes.

Two kinds. A `common` cache serves the longest prefix that any living request had. A `marks` cache
serves only prefixes that were written at a mark, and finds them only from marks of the request.
Everything that differs between providers is a row of `CACHES`; integers only, and time only as it
was recorded. Sources: providers.md A1 to A6, retrieved 2026-11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from compactor.core.errors import PolicyError
from compactor.models import Model
from compactor.replay.prompt import Node, Prompt
from compactor.replay.recording import Asked
from compactor.replay.spelling import Spelled, choice, number, refuse_others

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
    min_tokens: shortest prefix that is cached, where the model table does not say.
    step: what is served is rounded down to a multiple.
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
    step: int = 1
    fee: bool = False
    long: bool = False
    marks: tuple[str, ...] = ()
    lookback_blocks: int = 0
    lookback_ends: int = 0
    answers: bool = False
    leaves_last: bool = False
    image_rule: bool = False
    ideal: bool = False


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
            ttl_ms=TTLS["30m"], min_tokens=1024, fee=True, marks=("system", "turn"),
            lookback_ends=21,
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
            source="ai.google.dev caching (2026-09), implicit, A3; the step is not documented: it "
            "comes closest to what recordings of gemini-3-flash counted",
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


FAMILIES: Final = {
    "claude": "anthropic", "gpt-": "openai-old", "gemini": "gemini", "deepseek": "deepseek",
}  # fmt: skip
"""What is in the name of a model that the table does not know → its cache, most likely."""


def cache_of(spelled: Spelled | None, model: Model | None, name: str = "") -> CacheModel:
    """The cache that a spelling names, with its settings; the model's without one.

    Args:
        spelled: `NAME[:ttl=…,placement=…,min=…,size=…]`.
        model: its smallest cached prompt holds where it has this cache.
        name: the model's, where the table does not know it.

    Raises:
        PolicyError: `policy.unknown_key`, `policy.range`.
    """
    if spelled is None:
        rule = model.cache_rule if model else ""
        likely = next((cache for part, cache in FAMILIES.items() if part in name), "prefix")
        row = next((row for row in CACHES.values() if rule in row.rules), CACHES[likely])
        spelled = Spelled(row.name, {}, row.name)
    if spelled.name not in CACHES:
        raise PolicyError(
            f"unknown cache {spelled.name!r}",
            code="policy.unknown_key",
            path=spelled.text,
            hint=f"known: {', '.join(CACHES)}",
        )
    row = CACHES[spelled.name]
    refuse_others(spelled, ("ttl", "placement", "min", "size"))
    least = row.min_tokens
    if model is not None and model.cache_rule in row.rules and model.min_cache_tokens is not None:
        least = model.min_cache_tokens
    ttl = choice(spelled, "ttl", tuple(TTLS), "")
    marks = row.marks
    if choice(spelled, "placement", PLACEMENTS, "tail") == "tail+frontier" and row.lookback_blocks:
        marks = ("system", "anchor", "frontier", "tail")
    return msgspec.structs.replace(
        row,
        ttl_ms=TTLS[ttl] if ttl else row.ttl_ms,
        long=row.long or (row.fee and ttl in ("1h", "12h")),
        marks=marks,
        min_tokens=number(spelled, "min", least),
        step=max(1, number(spelled, "size", row.step)),
    )


class Served(NamedTuple):
    """A request's prompt tokens by what became of them; together they are all of it."""

    cached: int
    written: int
    uncached: int


def colds(requests: Sequence[Asked], cache: CacheModel) -> list[bool]:
    """Of each request, whether everything cached had expired before it; of the first it is not so.

    Also when another model answers: caches are of a model. Without times nothing expires.
    """
    pairs = zip((None, *requests), requests, strict=False)
    return [last is not None and _is_cold(last, asked, cache) for last, asked in pairs]


def _is_cold(last: Asked, asked: Asked, cache: CacheModel) -> bool:
    if cache.ideal:
        return False
    if last.model != asked.model and last.model and asked.model:
        return True
    rested = asked.time_ms - last.time_ms if last.time_ms and asked.time_ms else 0
    return bool(cache.ttl_ms) and rested > cache.ttl_ms


class Cache:
    """One cache while a recording goes by."""

    def __init__(self, model: CacheModel) -> None:
        self.model = model
        self._times: list[int] = []
        self._marks: dict[tuple[Node, int], int] = {}
        self._before = 0

    def serve(self, prompt: Prompt, asked: Asked, *, cold: bool, anchor: int = 0) -> Served:
        """What is served of a request, and written by it. O(what it has not in common).

        Args:
            cold: nothing cached is alive.
            anchor: entries that the last pass settled.
        """
        model, total = self.model, prompt.tokens
        self._times.append(asked.time_ms)
        if cold:
            self._marks.clear()
        if model.kind == "common":
            at = -1 if cold or not prompt.number else self._common(prompt)
            cached = self._rounded(prompt.path[at].tokens if at >= 0 else 0, total)
            written = total - cached if model.fee else 0
        else:
            cached, written = self._marked(prompt, asked.time_ms, anchor)
        self._before = prompt.n
        return Served(cached, written, total - cached - written)

    def _common(self, prompt: Prompt) -> int:
        """Index of the longest prefix that a living request had."""
        at = prompt.kept
        is_whole = at == self._before
        for index in range(at + 1, prompt.known + 1):
            left = prompt.path[index].left
            if left < 0 or not self._lives(self._times[left]):
                break
            at = index
        if self.model.answers and is_whole and at == prompt.kept and _answered(prompt, at):
            at += 1
        return at

    def _lives(self, used_ms: int) -> bool:
        now = self._times[-1]
        return not (self.model.ttl_ms and used_ms and now and now - used_ms > self.model.ttl_ms)

    def _rounded(self, tokens: int, total: int) -> int:
        model = self.model
        tokens = min(tokens, total - 1) if model.leaves_last else tokens
        tokens = max(0, tokens // model.step * model.step)
        return tokens if tokens >= model.min_tokens else 0

    def _marked(self, prompt: Prompt, now: int, anchor: int) -> tuple[int, int]:
        """Cached and written tokens where only marks are written."""
        model, path = self.model, prompt.path
        marks = sorted({at for name in model.marks for at in self._places(name, prompt, anchor)})
        hit = next(
            (at for at in self._looked_at(prompt, marks) if self._alive(prompt, at, now)), None
        )
        cached = path[hit].tokens if hit is not None else 0
        last = max((at for at in marks if path[at].tokens >= model.min_tokens), default=None)
        written = max(path[last].tokens - cached, 0) if last is not None and model.fee else 0
        for at in marks if hit is None else (hit, *marks):
            if path[at].tokens >= model.min_tokens:
                self._marks[self._key(prompt, at)] = now
        return cached, written

    def _places(self, name: str, prompt: Prompt, anchor: int) -> Iterator[int]:
        """Indexes of the path that a request marks."""
        place = _PLACES.get(name)
        if place is not None:
            yield from place(prompt)
        elif name == "anchor" and 0 < anchor <= prompt.n:
            yield anchor
        elif name == "frontier":
            yield from self._frontier(prompt)
        elif name == "answer" and self._before == prompt.kept and _answered(prompt, prompt.kept):
            yield prompt.kept + 1

    def _frontier(self, prompt: Prompt) -> Iterator[int]:
        """The longest prefix that stands as it was written, before this request's own end."""
        for at in range(min(prompt.known, prompt.n - 1), 0, -1):
            if self._key(prompt, at) in self._marks:
                yield at
                return

    def _looked_at(self, prompt: Prompt, marks: Sequence[int]) -> Iterator[int]:
        """Indexes where something may be found, longest prefix first."""
        model, path = self.model, prompt.path
        if model.lookback_ends:
            yield from _newest_ends(prompt, model.lookback_ends)
            yield 0
            return
        if not model.lookback_blocks:
            yield from range(min(prompt.known, prompt.n), -1, -1)
            return
        for mark in reversed(marks):
            at = mark
            while at >= 0 and path[mark].blocks - path[at].blocks < model.lookback_blocks:
                yield at
                at -= 1

    def _alive(self, prompt: Prompt, at: int, now: int) -> bool:
        used = self._marks.get(self._key(prompt, at))
        if used is None:
            return False
        ttl = self.model.ttl_ms
        return not (ttl and used and now and now - used > ttl)

    def _key(self, prompt: Prompt, at: int) -> tuple[Node, int]:
        epoch = prompt.images_gone if self.model.image_rule and at else 0
        return prompt.path[at], epoch


def _answered(prompt: Prompt, at: int) -> bool:
    """Whether the entry after a request's is what the model said to it."""
    return at < prompt.n and prompt.is_answer(at)


def _newest_ends(prompt: Prompt, most: int) -> Iterator[int]:
    found = 0
    for at in range(prompt.n, 0, -1):
        if prompt.ends_a_message(at):
            yield at
            found += 1
            if found == most:
                return


def _turn(prompt: Prompt) -> Iterator[int]:
    yield from _newest_ends(prompt, 1)


_PLACES: Final[dict[str, Callable[[Prompt], Iterator[int]]]] = {
    "system": lambda _prompt: iter((0,)),
    "tail": lambda prompt: iter((prompt.n,)),
    "turn": _turn,
    "common": lambda prompt: iter((prompt.kept,) if prompt.broken else ()),
}
"""Places that a prompt alone tells."""
