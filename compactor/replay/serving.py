"""One prompt cache while a recording goes by: what it serves of each request, what it writes.

Goes by a row of `CACHES` and knows no provider. Caches are of a model: what one model's requests
left, another's do not find. A request costs what it has not in common with the one before. Time
only as it was recorded. Specification: DESIGN section 9, docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from compactor.replay.caches import CacheModel
from compactor.replay.prompt import Node, Prompt
from compactor.replay.recording import Asked


class Served(NamedTuple):
    """A request's prompt tokens by what became of them; together they are all of it."""

    cached: int
    written: int
    uncached: int


class _Last(NamedTuple):
    """The last request of a model.

    n: its entries; kept: how many of them begin every later request, as they were.
    """

    n: int
    kept: int
    time_ms: int


class Cache:
    """One cache while a recording goes by."""

    def __init__(self, model: CacheModel) -> None:
        self.model = model
        self._asked: list[Asked] = []
        self._last: dict[str, _Last] = {}
        self._marks: dict[tuple[Node, int, str], int] = {}

    def serve(self, prompt: Prompt, asked: Asked, *, anchor: int = 0) -> Served:
        """What is served of a request, and written by it. O(what it has not in common).

        Args:
            anchor: entries that the last pass settled.
        """
        model, total = self.model, prompt.tokens
        asked = asked._replace(model="") if model.ideal else asked
        self._last = {
            name: last._replace(kept=min(last.kept, prompt.kept))
            for name, last in self._last.items()
        }
        if model.kind == "common":
            at = self._common(prompt, asked)
            cached = self._rounded(prompt.path[at].tokens if at >= 0 else 0, total, asked.model)
            written = total - cached if model.fee else 0
        else:
            cached, written = self._marked(prompt, asked, anchor)
        self._asked.append(asked)
        self._last[asked.model] = _Last(prompt.n, prompt.n, asked.time_ms)
        return Served(cached, written, total - cached - written)

    def _common(self, prompt: Prompt, asked: Asked) -> int:
        """Index of the longest prefix that a living request of the model had; -1 for none."""
        at, last = -1, self._last.get(asked.model)
        if last is not None and not self.model.has_expired(last.time_ms, asked.time_ms):
            at = last.kept
            if self.model.answers and last.kept == last.n and _answered(prompt, at):
                at += 1
        for index in range(at + 1, prompt.known + 1):
            left = prompt.path[index].left
            if left < 0 or not self._finds(asked, self._asked[left]):
                break
            at = index
        return at

    def _finds(self, asked: Asked, left: Asked) -> bool:
        """Whether a request finds what another left."""
        expired = self.model.has_expired(left.time_ms, asked.time_ms)
        return left.model == asked.model and not expired

    def _rounded(self, tokens: int, total: int, name: str) -> int:
        model, step = self.model, self.model.step_for(name)
        shared = max(0, min(tokens, total - 1) if model.leaves_last else tokens)
        whole = (shared + model.hidden) // step * step
        served = min(shared, whole * total // (total + model.hidden)) if total else 0
        return served if served >= model.least(name) else 0

    def _marked(self, prompt: Prompt, asked: Asked, anchor: int) -> tuple[int, int]:
        """Cached and written tokens where only marks are written."""
        model, path = self.model, prompt.path
        if "answer" in model.marks:
            self._mark_answer(prompt)
        marks = sorted(set(self._places(prompt, asked, anchor)))
        looked = self._looked_at(prompt, marks)
        hit = next((at for at in looked if self._alive(prompt, at, asked)), None)
        cached = path[hit].tokens if hit is not None else 0
        able = [at for at in marks if path[at].tokens >= model.least(asked.model)]
        written = max(path[able[-1]].tokens - cached, 0) if able and model.fee else 0
        for at in able if hit is None else (hit, *able):
            self._marks[self._key(prompt, at, asked.model)] = asked.time_ms
        return cached, written

    def _mark_answer(self, prompt: Prompt) -> None:
        """Know the request before with its answer, where both stand as they were."""
        before = self._asked[-1] if self._asked else None
        if before is None or self._last[before.model].n != prompt.kept:
            return
        if _answered(prompt, prompt.kept):
            key = self._key(prompt, prompt.kept + 1, before.model)
            self._marks[key] = max(self._marks.get(key, 0), before.time_ms)

    def _places(self, prompt: Prompt, asked: Asked, anchor: int) -> Iterator[int]:
        """Indexes of the path that a request marks."""
        for name in self.model.marks:
            if name in _PLACES:
                yield from _PLACES[name](prompt)
            elif name == "anchor" and 0 < anchor <= prompt.n:
                yield anchor
            elif name == "frontier":
                yield from self._frontier(prompt, asked)
            elif name == "common":
                yield from self._shared(asked)

    def _frontier(self, prompt: Prompt, asked: Asked) -> Iterator[int]:
        """The longest prefix that stands as it was written, before this request's own end."""
        for at in range(min(prompt.known, prompt.n - 1), 0, -1):
            if self._key(prompt, at, asked.model) in self._marks:
                yield at
                return

    def _shared(self, asked: Asked) -> Iterator[int]:
        """What is left of the model's last request, where it is alive and no longer whole."""
        last = self._last.get(asked.model)
        if last is None or last.kept == last.n:
            return
        if not self.model.has_expired(last.time_ms, asked.time_ms):
            yield last.kept

    def _looked_at(self, prompt: Prompt, marks: Sequence[int]) -> Iterator[int]:
        """Indexes where something may be found, longest prefix first."""
        model, path = self.model, prompt.path
        if model.lookback_ends:
            yield from _newest_ends(prompt, model.lookback_ends)
            yield 0
            return
        if not model.lookback_blocks:
            answer = "answer" in model.marks and _answered(prompt, prompt.kept)
            yield from range(max(prompt.known, prompt.kept + answer), -1, -1)
            return
        for mark in reversed(marks):
            at = mark
            while at >= 0 and path[mark].blocks - path[at].blocks < model.lookback_blocks:
                yield at
                at -= 1

    def _alive(self, prompt: Prompt, at: int, asked: Asked) -> bool:
        used = self._marks.get(self._key(prompt, at, asked.model))
        return used is not None and not self.model.has_expired(used, asked.time_ms)

    def _key(self, prompt: Prompt, at: int, name: str) -> tuple[Node, int, str]:
        epoch = prompt.images_gone if self.model.image_rule and at else 0
        return prompt.path[at], epoch, name


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
    """The last message's end; where there is none, that of the system prompt."""
    yield next(_newest_ends(prompt, 1), 0)


_PLACES: Final[dict[str, Callable[[Prompt], Iterator[int]]]] = {
    "system": lambda _prompt: iter((0,)),
    "tail": lambda prompt: iter((prompt.n,)),
    "turn": _turn,
}
"""Places that a prompt alone tells."""
