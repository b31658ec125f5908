"""OpenHands' events (V1, the agent SDK): what of them the model is shown, told to a builder.

An `ActionEvent` is one call of a response with the thought before it; a result names its call. A
condensation takes out events that it names and puts a summary in their place, each in its turn.
Usage is a running total by purpose in events of state: how far the agent's own went is one request,
made before the next response. Source: OpenHands/software-agent-sdk `event`, `context/view`.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from compactor.core.model import Call, Part, PartKind, Path, Usage
from compactor.formats import blocks
from compactor.formats.blocks import Readers, content_parts, result_facts
from compactor.formats.builder import Builder
from compactor.formats.harnesses.openhands_view import Event
from compactor.formats.keyed import sealed_part
from compactor.formats.media import image_url_part
from compactor.formats.messages import field, listed, text_field
from compactor.formats.providers.anthropic import READERS as ANTHROPIC
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.recorded import count_of, items, time_ms

_ACTION, _MESSAGE, _SYSTEM = "ActionEvent", "MessageEvent", "SystemPromptEvent"
_CONDENSATION, _STATE = "Condensation", "ConversationStateUpdateEvent"
_RESULTS: Final = MappingProxyType(
    {
        "ObservationEvent": ("observation",),
        "AgentErrorEvent": ("error",),
        "UserRejectObservation": ("rejection_reason",),
    }
)
"""Kind of an event that answers a call → where what it says lies."""
_SUMMARY: Final = "CondensationSummaryEvent"
_SHOWN: Final = frozenset((_ACTION, _MESSAGE, _SYSTEM, _SUMMARY, *_RESULTS))
KINDS: Final = _SHOWN | {_CONDENSATION, _STATE}
_COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
_OWN = ("agent", "default")
"""Purposes for which the agent itself asks a model."""


def is_event(native: Any) -> bool:
    """Whether an object is an event of the SDK."""
    return text_field(native, "kind") in KINDS and bool(text_field(native, "source"))


class StoryV1:
    """Tells the events of a conversation to a builder, as the next request would carry them.

    builder: what they are told to.
    system: texts of the system prompt; `tools` is None where they are not recorded.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        self.system: list[str] = []
        self.tools: list[Any] | None = None
        self.view = _View(events)
        for event in self.view.shown:
            n = self.builder.size
            self._tell(*event)
            n = min(n, self.builder.size - 1)
            asked = self.view.asked.get(event.at, ()) if n > 0 else ()
            self.usage += [msgspec.structs.replace(usage, n=n) for usage in asked]
        self.model = next((usage.model for usage in reversed(self.usage)), "")

    def _tell(self, at: Path, event: Any) -> None:
        kind = text_field(event, "kind")
        if kind == _ACTION:
            parts = [*_reasoning(self.builder, event, at)]
            parts += content_parts(self.builder, event.get("thought"), (*at, "thought"), READERS)
            self.builder.turn(parts, [_call(event, at)], at)
        elif kind == _MESSAGE:
            self._message(event, at)
        elif kind == _SYSTEM:
            self._lead(event)
        elif kind in _RESULTS:
            self._result(event, at, _RESULTS[kind])
        elif kind in (_CONDENSATION, _SUMMARY):
            self.builder.user([Part(PartKind.TEXT, text_field(event, "summary"))], at)

    def _lead(self, event: Any) -> None:
        texts = (event.get("system_prompt"), event.get("dynamic_context"))
        self.system = [
            text if isinstance(text, str) else text_field(text, "text") for text in texts
        ]
        tools = event.get("tools")
        if isinstance(tools, list):
            self.tools = tools

    def _message(self, event: Any, at: Path) -> None:
        message, inner = event.get("llm_message"), (*at, "llm_message")
        parts = content_parts(self.builder, field(message, "content"), (*inner, "content"), READERS)
        more = event.get("extended_content")
        parts += content_parts(self.builder, more, (*at, "extended_content"), READERS)
        role = text_field(message, "role")
        if role == "assistant" or (not role and text_field(event, "source") == "agent"):
            self.builder.turn([*_reasoning(self.builder, message, inner), *parts], (), at)
        else:
            say = self.builder.system if role == "system" else self.builder.user
            say(parts, at)

    def _result(self, event: Any, at: Path, key: Path) -> None:
        inner, body = body_of(event)
        texts, others, is_odd = result_facts(self.builder, body, (*at, *inner), READERS)
        more = event.get("extended_content")
        extended = content_parts(self.builder, more, (*at, "extended_content"), READERS)
        self.builder.result(
            text_field(event, "tool_call_id"),
            [*texts, *(part.text for part in extended if part.text)],
            others,
            at,
            error=key != ("observation",) or _is_error(event),
            required=is_odd,
            orphan_path=dotted(at),
        )


class _Body(NamedTuple):
    at: Path
    value: Any


def body_of(event: Any) -> _Body:
    """What an event that answers a call says: content, or the output of older tools."""
    inner = _RESULTS[event["kind"]]
    value = field(event, str(inner[0]))
    if inner != ("observation",) or not isinstance(value, dict):
        return _Body(inner, value)
    keys = ("content", "output", "message", "error")
    key = next((key for key in keys if value.get(key)), keys[0])
    return _Body((*inner, key), value.get(key))


def rewrite_body(event: Any, at: Path, text: str) -> list[Edit]:
    """Edits that make `text` what an event says, its pictures and what was put behind it gone."""
    inner, body = body_of(event)
    edits = blocks.rewrite_content(body, (*at, *inner), text, ("cache_prompt",))
    if items(field(event, "extended_content")):
        edits.append(Edit((*at, "extended_content"), []))
    return edits


def all_usage(events: Iterable[Event]) -> list[Usage]:
    """Usage of every request, whatever it was for, in order; `n` is 0."""
    meter = _Meter()
    states = (e.native for e in events if text_field(e.native, "kind") == _STATE)
    return [usage for state in states for _, usage in meter.read(state)]


class _View:
    """The events of a conversation, condensed in the order in which they came.

    shown: what the model is shown.
    asked: address of an agent's event → usage of the requests that led to it.
    forgotten: how many events were taken out.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.shown: list[Event] = []
        self.asked: dict[Path, list[Usage]] = {}
        self.forgotten = 0
        self._meter = _Meter()
        self._waiting: list[Usage] = []
        marks = [i for i, e in enumerate(events) if text_field(e.native, "kind") == _CONDENSATION]
        first = marks[-_EXACT] if len(marks) > _EXACT else 0
        early: set[str] = set()
        for event in events[:first]:
            early |= _named(event.native)
        for index, event in enumerate(events):
            kind = text_field(event.native, "kind")
            if kind == _CONDENSATION:
                if index >= first:
                    self._condense(event)
            elif kind == _STATE:
                self._waiting += self._meter.own(event.native)
            elif kind in _SHOWN and is_event(event.native):
                self._show(event, early if index < first else ())

    def _show(self, event: Event, gone: Collection[str]) -> None:
        if text_field(event.native, "id") in gone:
            self.forgotten += 1
        else:
            self.shown.append(event)
        if self._waiting and text_field(event.native, "source") == "agent":
            self.asked[event.at], self._waiting = self._waiting, []

    def _condense(self, event: Event) -> None:
        """Take out what is named; the summary goes behind as many events as it says."""
        gone, native = _named(event.native), event.native
        if gone:
            kept = [e for e in self.shown if _id(e) not in gone]
            self.forgotten += len(self.shown) - len(kept)
            self.shown = kept
        where = field(native, "summary_offset")
        if text_field(native, "summary") and type(where) is int and where >= 0:
            self.shown.insert(where, event)


_EXACT: Final = 100
"""Condensations from the end that are followed step by step; what older ones took out is gone, and
so are their summaries."""


def _named(event: Any) -> set[str]:
    """The ids that a condensation takes out."""
    is_mark = text_field(event, "kind") == _CONDENSATION
    ids = items(field(event, "forgotten_event_ids")) if is_mark else ()
    return {i for i in ids if isinstance(i, str)}


def _id(event: Event) -> str:
    """The id of an event; a summary has one of its own."""
    own = text_field(event.native, "id")
    return f"{own}-summary" if text_field(event.native, "kind") == _CONDENSATION else own


class _Meter:
    """How far running totals of usage went."""

    def __init__(self) -> None:
        self._totals: dict[str, tuple[int, ...]] = {}

    def own(self, state: Any) -> list[Usage]:
        """Requests of the agent itself since the state before."""
        found = [*self.read(state)]
        own = next((purpose for purpose in _OWN if purpose in self._totals), None)
        return [usage for purpose, usage in found if purpose == own or own is None]

    def read(self, state: Any) -> Iterator[tuple[str, Usage]]:
        """Purpose and usage of the requests since the state before; a full state begins anew."""
        key, value = text_field(state, "key"), field(state, "value")
        stats = value if key == "stats" else field(value, "stats")
        metrics = field(stats, "usage_to_metrics")
        for purpose, metric in metrics.items() if isinstance(metrics, dict) else ():
            running = field(metric, "accumulated_token_usage")
            total = tuple(count_of(running, name) for name in _COUNTS)
            before = self._totals.get(purpose, (0, 0, 0, 0))
            self._totals[purpose] = total
            fresh = [new - old for new, old in zip(total, before, strict=True)]
            if key == "stats" and any(fresh) and min(fresh) >= 0:
                yield purpose, _usage(fresh, running, state)


def _usage(fresh: Sequence[int], running: Any, state: Any) -> Usage:
    prompt, output, read, write = fresh
    when = time_ms(field(state, "timestamp"))
    uncached = max(prompt - read - write, 0)
    return Usage(0, uncached, read, write, output, text_field(running, "model"), time_ms=when)


def _call(event: Any, at: Path) -> Call:
    """The call as the model made it; the action itself where that is not kept."""
    made = event.get("tool_call")
    function = field(made, "function") or made
    call_id = text_field(event, "tool_call_id") or text_field(made, "id")
    name = text_field(event, "tool_name") or text_field(function, "name")
    written = field(function, "arguments")
    if written is None:
        return Call(call_id, name, compact_json(event.get("action")), (*at, "action"))
    inner = ("function", "arguments") if function is not made else ("arguments",)
    return Call(call_id, name, blocks.arguments_text(written), (*at, "tool_call", *inner))


def _reasoning(builder: Builder, native: Any, at: Path) -> Iterator[Part]:
    """Reasoning once: blocks as the provider signed them, else its text, else what is sealed."""
    thinking = items(field(native, "thinking_blocks"))
    if thinking:
        yield from content_parts(builder, thinking, (*at, "thinking_blocks"), ANTHROPIC)
        return
    text = text_field(native, "reasoning_content")
    item = field(native, "responses_reasoning_item")
    said = [*listed(field(item, "summary")), *listed(field(item, "content"))]
    texts = [text] if text else [each for each in said if isinstance(each, str)]
    yield from (Part(PartKind.REASONING, each) for each in texts)
    sealed = text_field(item, "encrypted_content")
    if sealed:
        yield sealed_part(sealed)


def _is_error(event: Any) -> bool:
    return field(field(event, "observation"), "is_error") is True


def _image(block: Any) -> Part:
    """Pictures share a block; more than one counts as their list."""
    urls = items(field(block, "image_urls"))
    return image_url_part(
        urls[0] if len(urls) == 1 and isinstance(urls[0], str) else compact_json(urls)
    )


READERS: Readers = MappingProxyType({"image": _image})
