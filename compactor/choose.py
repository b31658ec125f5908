"""What a call goes by: the model's facts, the counter and its scale, the overhead.

A journal's header pins model and counter for the whole conversation, because another one would move
the estimate; nothing falls back silently. Specification: DESIGN sections 3 (Tokens) and 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from compactor import counters
from compactor.core import policy as core_policy
from compactor.core.count import Counter, Measure
from compactor.core.errors import Finding
from compactor.core.model import Reading
from compactor.core.policy import ModelFacts
from compactor.core.records import Header
from compactor.loop import loop
from compactor.models import ModelTable

DEFAULT_COUNTER = "o200k_base"


class Chosen(NamedTuple):
    policy: core_policy.Policy
    facts: ModelFacts | None
    model: str
    measure: Measure
    cache_rule: str | None
    findings: tuple[Finding, ...]


def choose(
    reading: Reading,
    policy: core_policy.Policy,
    header: Header | None,
    counter: Counter | None,
    table: ModelTable,
) -> Chosen:
    """Model facts and counter. What a journal's header pins stays, whatever the request says."""
    findings = []
    model = wanted = policy.model or reading.model
    if header is not None:
        model = header.model
    facts = table.facts(model) if model else None
    if wanted and wanted != model:
        text = f"model {wanted!r} is asked for; the journal is pinned to {model or 'no model'!r}"
        findings.append(Finding("model_changed", text))
        asked = table.facts(wanted)
        facts = _smaller_window(facts, asked)
        if policy.window is None and (asked is None or asked.window is None):
            text = f"the window of model {wanted!r} is not known; it may be smaller, so give one"
            findings.append(Finding("window_unknown", text))
    known = table.find(model) if model else None
    if model and known is None:
        if policy.window is None:
            raise table.unknown(model)
        counting = f"as its family, {facts.counter_scale} per mille" if facts else "as it is"
        text = f"model {model!r} is not in the model table; {DEFAULT_COUNTER} counts {counting}"
        findings.append(Finding("model_unknown", text))
    if not reading.overhead.known and policy.overhead_tokens is None:
        text = "overhead unknown: the input carries no system prompt and no tools"
        findings.append(Finding("overhead_unknown", text))
    measure = _measure(policy, facts, header, counter)
    rule = known.cache_rule if known else None
    return Chosen(policy, facts, model, measure, rule, tuple(findings))


def _smaller_window(pinned: ModelFacts | None, asked: ModelFacts | None) -> ModelFacts | None:
    """The pinned model's facts under the window of the model asked for, where that is smaller.

    Counting stays pinned; but what goes to a smaller model must fit it.
    """
    if asked is None or asked.window is None:
        return pinned
    if pinned is None:
        return ModelFacts(asked.name, asked.window, DEFAULT_COUNTER, 1000)
    if pinned.window is not None and pinned.window <= asked.window:
        return pinned
    return msgspec.structs.replace(pinned, window=asked.window)


def _measure(
    policy: core_policy.Policy,
    facts: ModelFacts | None,
    header: Header | None,
    counter: Counter | None,
) -> Measure:
    """The counter and its scale. A scale belongs to a counter, so it is taken only with it."""
    pinned = None
    if header is not None:
        pinned = (header.counter, header.counter_scale)
    elif facts is not None:
        pinned = (facts.counter, facts.counter_scale)
    name = policy.counter or (pinned[0] if pinned else DEFAULT_COUNTER)
    found = counter if counter is not None else counters.get(name)
    scale = policy.counter_scale
    if scale is None:
        scale = pinned[1] if pinned and pinned[0] == found.name else 1000
    return Measure(found, scale, loop().tokens)


def with_pins(policy: core_policy.Policy, pins: Iterable[int]) -> core_policy.Policy:
    pins = tuple(pins)
    return msgspec.structs.replace(policy, pins=policy.pins + pins) if pins else policy


def overhead(reading: Reading, chosen: Chosen) -> int:
    if chosen.policy.overhead_tokens is not None:
        return chosen.policy.overhead_tokens
    return chosen.measure.texts(reading.overhead.texts)
