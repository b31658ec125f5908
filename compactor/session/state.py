"""What a session keeps beside its journal: pins, what was taken back, recorded usage.

Specification: DESIGN section 7.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from compactor.core.errors import InputError
from compactor.core.model import Usage
from compactor.formats.answers import usage_of

_SAMPLES = 200
"""Requests whose recorded usage is kept beside our estimate."""


class Mark(NamedTuple):
    """A place to rewind to: entries of the branch, and records that stood."""

    position: int
    records: int


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """What we estimated and what the provider counted, in tokens."""

    estimate: int
    prompt: int
    cached: int
    output: int


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of a session.

    pins: seqs kept verbatim.
    recall_off: recall was turned off, one way.
    summarised: first seq that the last summary left in view.
    taken_back: ranges of seqs; taken_back_results: numbers that had not come back in a request.
    samples: of the last requests.
    folder: of the context file; "" where there is none.
    prepared: number of the first result that was inserted since the last request.
    since: tokens of those results and their calls, counted where the model is told of them.
    told: share of the window, per mille, up to which the model was told how full it is.
    emptied: a summary came since the last request: no result of before may be named.
    written: digests of the context file as it is written, and as it was before that.
    """

    pins: tuple[int, ...] = ()
    recall_off: bool = False
    summarised: int = 0
    taken_back: tuple[tuple[int, int], ...] = ()
    taken_back_results: tuple[int, ...] = ()
    samples: tuple[Sample, ...] = ()
    folder: str = ""
    prepared: int = 1
    since: int = 0
    told: int = 0
    emptied: bool = False
    written: tuple[str, ...] = ()

    def is_taken_back(self, seq: int) -> bool:
        return any(first <= seq < end for first, end in self.taken_back)

    def without(self, seqs: range, numbers: tuple[int, ...]) -> State:
        """The state after turns were taken back."""
        ranges = (*self.taken_back, (seqs.start, seqs.stop)) if seqs else self.taken_back
        return msgspec.structs.replace(
            self,
            taken_back=ranges,
            taken_back_results=(*self.taken_back_results, *numbers),
        )

    def prepared_at(self, number: int, *, emptied: bool = False) -> State:
        """The state after a request, or after a summary, which empties the dedupe table."""
        since = self.since if emptied else 0
        return msgspec.structs.replace(self, prepared=number, since=since, emptied=emptied)

    def counted(self, tokens: int) -> State:
        return msgspec.structs.replace(self, since=tokens)

    def telling(self, share: int) -> State:
        """The state when the model is told of a share."""
        return msgspec.structs.replace(self, told=share)

    def fallen(self, tokens: int, window: int) -> State:
        """The state after a record that leaves so many tokens: shares above are told again."""
        return self.telling(min(self.told, tokens * 1000 // window))

    def writing(self, digest: str) -> State:
        """The state before the context file is written."""
        return msgspec.structs.replace(self, written=(digest, *self.written[:1]))

    def filed(self, folder: str) -> State:
        return msgspec.structs.replace(self, folder=folder)

    def pinned(self, seqs: tuple[int, ...]) -> State:
        return msgspec.structs.replace(self, pins=tuple(sorted({*self.pins, *seqs})))

    def without_recall(self) -> State:
        return msgspec.structs.replace(self, recall_off=True)

    def summarised_upto(self, seq: int) -> State:
        return msgspec.structs.replace(self, summarised=max(self.summarised, seq))

    def with_usage(self, usage: Any, estimate: int) -> State:
        """The state with the provider's numbers for a request."""
        counted = usage if isinstance(usage, Usage) else usage_of(_mapping(usage), 0)
        prompt = counted.input + counted.cache_read + counted.cache_write
        sample = Sample(estimate, prompt, counted.cache_read, counted.output)
        return msgspec.structs.replace(self, samples=(*self.samples, sample)[-_SAMPLES:])

    def usage_numbers(self) -> dict[str, int]:
        """Sums over the requests that usage is known of."""
        return {
            "requests": len(self.samples),
            "estimated_tokens": sum(sample.estimate for sample in self.samples),
            "prompt_tokens": sum(sample.prompt for sample in self.samples),
            "cached_tokens": sum(sample.cached for sample in self.samples),
            "output_tokens": sum(sample.output for sample in self.samples),
        }


def _mapping(usage: Any) -> dict[str, Any]:
    """The counts of an SDK's object or a mapping, as over the wire."""
    for dump in ("model_dump", "to_dict"):
        if hasattr(usage, dump):
            usage = getattr(usage, dump)()
    if not isinstance(usage, dict):
        raise InputError(
            "usage is what the provider answered under that name",
            code="input.shape",
            path="usage",
            hint="hand over response.usage",
        )
    return usage


def decode_state(data: bytes) -> State:
    return msgspec.convert(json.loads(data), State) if data else State()


def encode_state(state: State) -> bytes:
    return json.dumps(msgspec.to_builtins(state), separators=(",", ":")).encode("ascii")
