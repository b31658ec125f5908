"""What the spans of a trace say of requests to models and of what tools gave.

What was sent is in an attribute, as a JSON text or structured, in numbered attributes, or in
events; which convention it is its name says (`_ASKED`). A span around spans of requests, an
agent's, repeats them and is none itself, unless it is all there is.
Specification: docs/formats.md; semantic-conventions-genai; OpenInference; OpenLLMetry; the
telemetry of Vercel's AI SDK, pydantic-ai, Google ADK and Strands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from compactor.core.model import Usage
from compactor.formats.builder import Builder
from compactor.formats.messages import Carried, field, listed
from compactor.formats.placed import Listing
from compactor.formats.traces.any_chat import AnyChat
from compactor.formats.traces.otel_gathered import (
    CHOICE,
    event_answers,
    event_messages,
    flat_messages,
)
from compactor.formats.traces.otel_messages import response_facts, system_texts
from compactor.formats.traces.otel_spans import Span, spans_of
from compactor.formats.traces.otel_values import Attributes
from compactor.formats.traces.recorded_messages import answer_of, entered, listing_of, text_of
from compactor.formats.traces.trace_chains import Request, ToolRun
from compactor.formats.traces.trace_lens import Link, around
from compactor.formats.traces.trace_usage import usage_of_details

_ASKED: Final = (
    "gen_ai.input.messages",
    "ai.prompt.messages",
    "gcp.vertex.agent.llm_request",
    "events",
    "gen_ai.prompt",
    "langfuse.observation.input",
    "input.value",
    "traceloop.entity.input",
    "ai.prompt",
)
"""Attributes that have what was sent, the most telling first."""
_FLAT_ASKED: Final = ("gen_ai.prompt.", "llm.input_messages.")
_ANSWERED: Final = (
    "gen_ai.output.messages",
    "gcp.vertex.agent.llm_response",
    "gen_ai.completion",
    "langfuse.observation.output",
    "output.value",
)
_FLAT_ANSWERED: Final = ("gen_ai.completion.", "llm.output_messages.")
_WHOLE: Final = ("pydantic_ai.all_messages", "all_messages_events", *_ASKED)
"""Attributes of an agent's span that have all that was said, or what it was asked."""
_SYSTEM: Final = ("gen_ai.system_instructions", "gen_ai.request.instructions")
_TOOLS: Final = ("gen_ai.tool.definitions", "ai.prompt.tools", "llm.tools", "gen_ai.request.tools")
_MODELS: Final = (
    *("gen_ai.response.model", "gen_ai.request.model", "ai.response.model", "ai.model.id"),
    *("llm.model_name", "llm.response.model", "llm.request.model"),
)
_OPERATION: Final = "gen_ai.operation.name"
_REQUEST_KINDS: Final = {
    _OPERATION: ("chat", "completion", "generate_content", "text_completion"),
    "openinference.span.kind": ("LLM",),
    "langfuse.observation.type": ("generation",),
    "traceloop.span.kind": ("llm",),
}
"""Attribute that says what a span is → what it says of a request."""
_TOOL_KINDS: Final = {
    _OPERATION: ("execute_tool",),
    "openinference.span.kind": ("TOOL",),
    "langfuse.observation.type": ("tool",),
    "traceloop.span.kind": ("tool",),
    "ai.operationId": ("ai.toolCall",),
}
_RESULTS: Final = (
    *("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "output.value"),
    *("traceloop.entity.output", "langfuse.observation.output"),
)
_TOOL_NAMES: Final = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name")
_CALL_IDS: Final = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id")
_DETAILS: Final = "gen_ai.client.inference.operation.details"


def steps_of(root: Any) -> list[Request | ToolRun]:
    """Requests, and what tools gave, oldest first. O(n)."""
    spans = [_with_details(span) for span in spans_of(root)]
    kinds = [_kind(span) for span in spans]
    links = zip(spans, kinds, strict=True)
    outer = around([Link(span.id, span.parent, kind == _REQUEST) for span, kind in links])
    steps: list[Request | ToolRun] = []
    for span, kind in zip(spans, kinds, strict=True):
        if kind == _TOOL:
            steps += _tool_run(span)
        elif kind == _REQUEST and span.id not in outer:
            steps.append(_request(span, _ASKED))
    if any(isinstance(step, Request) and step.asked is not None for step in steps):
        return steps
    agents = [_request(s, _WHOLE) for s, kind in zip(spans, kinds, strict=True) if kind == _AGENT]
    found: list[Request | ToolRun] = [agent for agent in agents if agent.asked is not None]
    return found or steps


_REQUEST, _TOOL, _AGENT = "request", "tool", "agent"


def _with_details(span: Span) -> Span:
    """A span with what one of its events says in its place."""
    more = [event.attributes for event in span.events if event.name == _DETAILS]
    if not more:
        return span
    joined = {key: value for each in more for key, value in each.items()}
    return span._replace(attributes={**joined, **span.attributes})


def _kind(span: Span) -> str:
    """What a span is; "" for one that has nothing to do with models."""
    if _is_named(span.attributes, _TOOL_KINDS):
        return _TOOL
    if _is_named(span.attributes, _REQUEST_KINDS):
        return _REQUEST
    is_agent = any(key in span.attributes for key in _WHOLE[:2])
    if is_agent or any(key in span.attributes for key in _REQUEST_KINDS):
        return _AGENT
    asked = any(key in span.attributes for key in _ASKED) or bool(event_messages(span))
    is_flat = any(key.startswith(_FLAT_ASKED) for key in span.attributes)
    return _REQUEST if asked or is_flat or _usage(span) is not None else ""


def _is_named(attributes: Attributes, kinds: Mapping[str, tuple[str, ...]]) -> bool:
    return any(key in attributes and attributes[key].value in said for key, said in kinds.items())


def _request(span: Span, keys: Sequence[str]) -> Request:
    return Request(
        name=span.id,
        parent=span.parent,
        asked=_asked(span, keys),
        answered=_answered(span),
        carried=_carried(span.attributes),
        usage=_usage(span),
        model=_model(span),
    )


def _asked(span: Span, keys: Sequence[str]) -> Listing | None:
    """What was sent: a list of messages, events, flat attributes, or at last a text alone."""
    there = [span.attributes[key] for key in keys if key in span.attributes]
    for attribute in there:
        found = listing_of(*attribute)
        if found is not None and _without_choices(found).messages:
            return _without_choices(found)
    gathered = event_messages(span)
    for prefix in _FLAT_ASKED:
        gathered = gathered or flat_messages(span, prefix)
    if not gathered:
        gathered = [text for text in (text_of(*each) for each in there) if text is not None][:1]
    return Listing(AnyChat(), {}, gathered) if gathered else None


def _without_choices(listing: Listing) -> Listing:
    """Messages without the answers that some writers put behind them."""
    left = [m for m in listing.messages if field(m.native, "event.name") != CHOICE]
    return listing._replace(messages=left)


def _answered(span: Span) -> Listing | None:
    """What the model said."""
    for key in _ANSWERED:
        if key in span.attributes:
            found = answer_of(*span.attributes[key])
            if found is not None:
                return found
    gathered = event_answers(span)
    for prefix in _FLAT_ANSWERED:
        gathered = gathered or flat_messages(span, prefix)
    return Listing(AnyChat(), {}, gathered) if gathered else None


def _carried(attributes: Attributes) -> Carried:
    """System texts and tools that stand beside the messages."""
    system = system_texts(_first(attributes, _SYSTEM))
    tools = _first(attributes, _TOOLS) or _flat_tools(attributes)
    if not tools:
        parameters = _first(attributes, ("model_request_parameters",))
        functions = (field(parameters, key) for key in ("function_tools", "output_tools"))
        tools = [tool for each in functions for tool in listed(each)]
    return Carried(tuple(system), (tools,) if tools else (), bool(system or tools))


def _flat_tools(attributes: Attributes) -> list[Any]:
    """Tools with numbers in their names: OpenInference's as JSON, OpenLLMetry's by their parts."""
    found: dict[str, Any] = {}
    for key, attribute in attributes.items():
        for prefix in _FLAT_TOOLS:
            number, _, part = key.removeprefix(prefix).partition(".")
            if key.startswith(prefix) and part in ("name", "description", "parameters"):
                found.setdefault(prefix + number, {})[part] = _parsed(attribute.value)
            elif key.startswith(prefix) and part == "tool.json_schema":
                found[prefix + number] = _parsed(attribute.value)
    return list(found.values())


_FLAT_TOOLS: Final = ("llm.tools.", "llm.request.functions.", "gen_ai.request.tools.")


def _first(attributes: Attributes, keys: Sequence[str]) -> Any:
    found = (_parsed(attributes[key].value) for key in keys if key in attributes)
    return next((value for value in found if value), None)


def _parsed(value: Any) -> Any:
    return entered(value, ("",)).native


def _usage(span: Span) -> Usage | None:
    counts = {key: attribute.value for key, attribute in span.attributes.items()}
    return usage_of_details(counts, _model(span), span.end_ms)


def _model(span: Span) -> str:
    named = (span.attributes[key].value for key in _MODELS if key in span.attributes)
    return next((name for name in named if isinstance(name, str) and name), "")


def _tool_run(span: Span) -> Iterator[ToolRun]:
    """What a tool gave, as a text or as what holds blocks."""
    said = next((span.attributes[key] for key in _RESULTS if key in span.attributes), None)
    if said is None:
        return
    value, at = entered(*said)
    content = field(value, "content")
    is_content = isinstance(content, list)
    where = (*at, "content") if is_content else at
    texts, others = response_facts(Builder(), content if is_content else said.value, where)
    if texts or others:
        yield ToolRun(
            parent=span.parent,
            call_id=_text(span.attributes, _CALL_IDS),
            name=_text(span.attributes, _TOOL_NAMES) or span.name,
            texts=texts,
            others=others,
            at=at if is_content else said.at,
        )


def _text(attributes: Attributes, keys: Sequence[str]) -> str:
    found = (attributes[key].value for key in keys if key in attributes)
    return next((value for value in found if isinstance(value, str)), "")
