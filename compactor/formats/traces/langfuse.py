"""Langfuse exports: a trace with its observations, or observations alone, one a line or in a list.

A generation is a request; one that has a generation inside it is the same request, seen by a
framework. What each carried is in its `input`, in the shape of the framework, mostly as a JSON text
and sometimes as one in another. Which generations belong together `trace_chains` says; a sub-agent
is a thread. Keys are found as the API spells them (`startTime`) and as exports do (`start_time`).
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.core.model import Path, Usage
from compactor.formats.builder import Builder
from compactor.formats.messages import Carried, field, listed, text_field
from compactor.formats.placed import Listing
from compactor.formats.recorded import time_ms
from compactor.formats.traces.any_chat import AnyChat
from compactor.formats.traces.otel_messages import response_facts, system_texts
from compactor.formats.traces.recorded_messages import (
    answer_of,
    entered,
    listing_of,
    text_of,
)
from compactor.formats.traces.trace_chains import Request, ToolRun
from compactor.formats.traces.trace_lens import Link, TraceLens, around
from compactor.formats.traces.trace_usage import usage_of_details

_KINDS = (
    *("AGENT", "CHAIN", "EMBEDDING", "EVALUATOR", "EVENT", "GENERATION", "GUARDRAIL"),
    *("RETRIEVER", "SPAN", "TOOL"),
)
_GENERATION, _TOOL = "GENERATION", "TOOL"


class Langfuse(TraceLens):
    """The lens of Langfuse's traces and observations, as its API and its exports give them."""

    name = "langfuse"

    def recognises(self, root: Any) -> bool:
        return any(map(_is_observation, _located(root)[1]))

    def messages(self, root: Any) -> Sequence[Any]:
        return _located(root)[1]

    def steps(self, root: Any) -> Iterator[Request | ToolRun]:
        base, natives = _located(root)
        found = [_Observation((*base, i), o) for i, o in enumerate(natives) if _is_observation(o)]
        found.sort(key=lambda one: time_ms(_get(one.native, "startTime")))
        outer = around([one.link() for one in found])
        for one in found:
            link = one.link()
            if link.is_request and link.id not in outer:
                yield _request(one)
            elif text_field(one.native, "type") == _TOOL:
                yield from _tool_run(one)


def _located(root: Any) -> tuple[Path, Sequence[Any]]:
    """The observations of a root and their address."""
    if isinstance(root, list):
        return (), root
    for at in (("observations",), ("trace", "observations"), ("data",)):
        found = root
        for key in at:
            found = field(found, key)
        if isinstance(found, list):
            return at, found
    return (), ()


def _is_observation(native: Any) -> bool:
    has_trace = bool(_get(native, "traceId")) or bool(_get(native, "parentObservationId"))
    has_kind = text_field(native, "type") in _KINDS
    return has_kind and has_trace and bool(_get(native, "startTime"))


class _Observation(NamedTuple):
    """One observation and its address."""

    at: Path
    native: Any

    def field(self, key: str) -> tuple[Any, Path]:
        """A value and its address, by either spelling of the key."""
        spelled = _spelled(self.native, key)
        return field(self.native, spelled), (*self.at, spelled)

    def link(self) -> Link:
        is_request = text_field(self.native, "type") == _GENERATION
        return Link(text_field(self.native, "id"), _parent(self.native), is_request)


def _request(one: _Observation) -> Request:
    asked, at = one.field("input")
    listing = listing_of(asked, at)
    if listing is None:
        prompt = text_of(asked, at)
        listing = None if prompt is None else Listing(AnyChat(), {}, [prompt])
    model = text_field(one.native, "model") or str(_get(one.native, "providedModelName") or "")
    return Request(
        name=text_field(one.native, "id"),
        parent=_parent(one.native),
        asked=listing,
        answered=answer_of(*one.field("output")),
        carried=_carried(one),
        usage=_usage(one.native, model),
        model=model,
    )


def _carried(one: _Observation) -> Carried:
    """System texts and tools that observers put beside the messages, or a response repeats."""
    metadata = entered(*one.field("metadata")).native
    attributes = field(metadata, "attributes")
    answer = entered(*one.field("output")).native
    is_response = field(answer, "object") == "response"
    parameters = _parsed(field(attributes, "model_request_parameters"))
    system = system_texts(_parsed(field(attributes, "gen_ai.system_instructions")))
    system += listed(field(answer, "instructions")) if is_response else []
    functions = [field(parameters, key) for key in ("function_tools", "output_tools")]
    tools = (
        field(metadata, "tools"),
        _parsed(field(attributes, "gen_ai.tool.definitions")),
        [tool for each in functions for tool in listed(each)],
        field(answer, "tools") if is_response else None,
    )
    given = next(filter(None, tools), None)
    is_known = bool(system) or given is not None
    return Carried(tuple(system), () if given is None else (given,), is_known)


def _parsed(value: Any) -> Any:
    return entered(value, ("",)).native


def _tool_run(one: _Observation) -> Iterator[ToolRun]:
    """What a tool gave, as a text or as what holds blocks."""
    value, at = entered(*one.field("output"))
    content = field(value, "content")
    where = (*at, "content") if isinstance(content, list) else at
    texts, others = response_facts(Builder(), value if content is None else content, where)
    if texts or others:
        attributes = field(entered(*one.field("metadata")).native, "attributes")
        yield ToolRun(
            _parent(one.native),
            text_field(attributes, "gen_ai.tool.call.id"),
            text_field(one.native, "name"),
            texts,
            others,
            at,
            error=text_field(one.native, "level") == "ERROR",
        )


def _usage(native: Any, model: str) -> Usage | None:
    details = _get(native, "usageDetails") or _get(native, "usage")
    ended = time_ms(_get(native, "endTime")) or time_ms(_get(native, "startTime"))
    return usage_of_details(details, model, ended)


def _parent(native: Any) -> str:
    found = _get(native, "parentObservationId")
    return found if isinstance(found, str) else ""


def _get(native: Any, key: str) -> Any:
    return field(native, _spelled(native, key))


def _spelled(native: Any, key: str) -> str:
    """A key as this observation spells it."""
    snake = _SNAKE.get(key, key)
    return snake if field(native, key) is None and field(native, snake) is not None else key


_SNAKE: Mapping[str, str] = MappingProxyType(
    {
        "endTime": "end_time",
        "parentObservationId": "parent_observation_id",
        "providedModelName": "provided_model_name",
        "startTime": "start_time",
        "traceId": "trace_id",
        "usageDetails": "usage_details",
    }
)
