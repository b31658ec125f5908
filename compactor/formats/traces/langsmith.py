"""LangSmith runs: exported as a list, one a line, or a tree with `child_runs`.

A run of a model is a request: its inputs have the messages, in LangChain's shape or the provider's,
its outputs the answer. A run of a tool is what the tool gave. Which requests belong together
`trace_chains` says; a sub-agent is a thread.
Specification: DESIGN section 3, docs/formats.md; the run schema of LangSmith's SDK.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from compactor.core.model import Path, Usage
from compactor.formats.builder import Builder
from compactor.formats.frameworks.langchain import LangChain
from compactor.formats.frameworks.langchain_messages import fields_at, fields_of, usage_of
from compactor.formats.messages import Carried, field, text_field
from compactor.formats.placed import Listing, Placed
from compactor.formats.recorded import items, time_ms
from compactor.formats.traces.any_chat import AnyChat
from compactor.formats.traces.otel_messages import response_facts
from compactor.formats.traces.recorded_messages import answer_of, entered, listing_of, text_of
from compactor.formats.traces.trace_chains import Request, ToolRun
from compactor.formats.traces.trace_lens import Link, TraceLens, around
from compactor.formats.traces.trace_usage import usage_of_details

_MODELS, _TOOL = ("chat_model", "llm"), "tool"
_KINDS: Final = (*_MODELS, _TOOL, "chain", "embedding", "parser", "prompt", "retriever")
_DEPTH: Final = 50
"""Runs inside runs that are looked into."""


class LangSmith(TraceLens):
    """The lens of LangSmith's runs, as its SDK and its exports give them."""

    name = "langsmith"

    def recognises(self, root: Any) -> bool:
        return next(_runs(root), None) is not None

    def messages(self, root: Any) -> Sequence[Any]:
        found = field(root, "runs") if isinstance(root, dict) else root
        return found if isinstance(found, list) else [root]

    def steps(self, root: Any) -> Iterator[Request | ToolRun]:
        runs = sorted(_runs(root), key=_start)
        links = [*map(_link, runs)]
        outer = around(links)
        for run, link in zip(runs, links, strict=True):
            if link.is_request and link.id not in outer:
                yield _request(run)
            elif text_field(run.native, "run_type") == _TOOL:
                yield from _tool_run(run)


def _runs(root: Any) -> Iterator[Placed]:
    """The runs of a root and those inside them, in document order."""
    found = field(root, "runs") if isinstance(root, dict) else None
    if isinstance(found, list):
        yield from _within(found, ("runs",), _DEPTH)
    elif isinstance(root, list):
        yield from _within(root, (), _DEPTH)
    else:
        yield from _run(root, (), _DEPTH)


def _within(natives: list[Any], at: Path, depth: int) -> Iterator[Placed]:
    for index, native in enumerate(natives):
        yield from _run(native, (*at, index), depth)


def _run(native: Any, at: Path, depth: int) -> Iterator[Placed]:
    is_run = text_field(native, "run_type") in _KINDS and isinstance(field(native, "inputs"), dict)
    if is_run:
        yield Placed(at, native)
    if is_run and depth:
        yield from _within(items(field(native, "child_runs")), (*at, "child_runs"), depth - 1)


def _start(run: Placed) -> tuple[int, str]:
    start = field(run.native, "start_time")
    return time_ms(start), f"{start}{text_field(run.native, 'dotted_order')}"


def _link(run: Placed) -> Link:
    is_request = text_field(run.native, "run_type") in _MODELS
    return Link(text_field(run.native, "id"), text_field(run.native, "parent_run_id"), is_request)


def _request(run: Placed) -> Request:
    inputs, at = run.native["inputs"], (*run.at, "inputs")
    asked = listing_of(inputs, at)
    if asked is None:
        prompt = text_of(inputs, at)
        asked = None if prompt is None else Listing(AnyChat(), {}, [prompt])
    model = _model(run.native)
    return Request(
        name=text_field(run.native, "id"),
        parent=text_field(run.native, "parent_run_id"),
        asked=asked,
        answered=_answered(run),
        carried=_carried(run.native),
        usage=_usage(run, model),
        model=model,
    )


def _message(run: Placed) -> Placed | None:
    """The answer of a model, where LangChain has it."""
    at: Path = ("outputs", "generations", 0)
    found = field(field(run.native, "outputs"), "generations")
    for _ in range(2):
        found = items(found)[0] if items(found) else None
        if isinstance(found, list):
            at = (*at, 0)
    message = field(found, "message")
    return None if message is None else Placed((*run.at, *at, "message"), message)


def _answered(run: Placed) -> Listing | None:
    message = _message(run)
    if message is not None:
        return Listing(LangChain(), {}, [message])
    return answer_of(field(run.native, "outputs"), (*run.at, "outputs"))


def _usage(run: Placed, model: str) -> Usage | None:
    """What the answer says, the outputs, or the run."""
    ended = time_ms(field(run.native, "end_time"))
    message = _message(run)
    for usage in usage_of(message.native, 0) if message is not None else ():
        return msgspec.structs.replace(usage, model=usage.model or model, time_ms=ended)
    outputs = field(run.native, "outputs")
    said = (
        field(outputs, "usage_metadata"),
        field(field(outputs, "llm_output"), "token_usage"),
        field(outputs, "usage"),
        run.native,
    )
    found = (usage_of_details(counts, model, ended) for counts in said)
    return next((usage for usage in found if usage is not None), None)


def _model(native: Any) -> str:
    extra = field(native, "extra")
    metadata, parameters = field(extra, "metadata"), field(extra, "invocation_params")
    named = (text_field(metadata, "ls_model_name"), text_field(parameters, "model"))
    return next(filter(None, named), "") or text_field(parameters, "model_name")


def _carried(native: Any) -> Carried:
    """Tools, and system texts where the provider's call had them beside the messages."""
    parameters = field(field(native, "extra"), "invocation_params")
    tools, system = field(parameters, "tools"), field(field(native, "inputs"), "system")
    texts = (system,) if isinstance(system, str) else tuple(items(system))
    return Carried(texts, (tools,) if tools else (), bool(texts or tools))


def _tool_run(run: Placed) -> Iterator[ToolRun]:
    """What a tool gave: a text, any value, or LangChain's message."""
    outputs, at = field(run.native, "outputs"), (*run.at, "outputs")
    output = field(outputs, "output")
    value, at = (outputs, at) if output is None else entered(output, (*at, "output"))
    fields = fields_of(value)
    content, here = field(fields, "content"), (*at, *fields_at(value), "content")
    if content is None:
        texts, others = response_facts(Builder(), value, at)
    else:
        texts, others = response_facts(Builder(), content, here)
    if texts or others:
        yield ToolRun(
            parent=text_field(run.native, "parent_run_id"),
            call_id=text_field(fields, "tool_call_id"),
            name=text_field(run.native, "name"),
            texts=texts,
            others=others,
            at=at,
            error=bool(field(run.native, "error")) or field(fields, "status") == "error",
        )
