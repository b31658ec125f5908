"""VS Code Copilot Chat replays (`*.chatreplay.json`), and one prompt's part of such a file.

`prompts[].logs[]` holds elements of the prompt, requests and tool calls in the order in which they
were made. A request has its messages as the editor renders them (`requestMessages.messages`: roles
and types of parts are numbers), its tools and its usage; tool calls only repeat what the next
request carries. Cache breakpoints, markers of a response and phases are no content. Source of the
shapes: vscode-prompt-tsx `rawTypes`, vscode-copilot-chat `requestLoggerImpl`.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from compactor.core.model import Call, Entry, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.answers import Answer, usage_of
from compactor.formats.blocks import other_part, unknown_part
from compactor.formats.builder import Builder
from compactor.formats.keyed import medium_part, sealed_part
from compactor.formats.media import image_url_part
from compactor.formats.messages import (
    Body,
    Carried,
    field,
    listed,
    shape_error,
    text_field,
    value_at,
)
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.recorded import items, time_ms
from compactor.formats.traces.request_log import RequestLog
from compactor.formats.traces.request_survey import FAILED, OTHER, Sent, Skipped

_SYSTEM, _USER, _ASSISTANT, _TOOL = range(4)
_IMAGE, _TEXT, _OPAQUE, _BREAKPOINT, _DOCUMENT = range(5)
_UNSAID = ("cache_control", "stateful_marker", "phase_data")
_THINKING = "thinking"


class CopilotChatReplay(RequestLog):
    """VS Code Copilot Chat replays (`*.chatreplay.json`)."""

    name = "copilot-chatreplay"

    def recognises(self, root: Any) -> bool:
        prompts = items(field(root, "prompts")) or [root]
        return any(_is_prompt(prompt) for prompt in prompts)

    def places(self, root: Any) -> Iterable[Path]:
        return (at for at in _logs(root) if text_field(value_at(root, at), "kind") == "request")

    def messages(self, root: Any) -> Sequence[Any]:
        """The log entries."""
        return [value_at(root, at) for at in _logs(root)]

    def record(self, root: Any, at: Path) -> Sent | Skipped | None:
        log = value_at(root, at)
        about, response = field(log, "metadata"), field(log, "response")
        history = field(field(log, "requestMessages"), "messages")
        if not isinstance(history, list):
            return Skipped(OTHER)
        counts, model = field(about, "usage"), text_field(about, "model")
        when = time_ms(field(about, "endTime")) or time_ms(field(about, "startTime"))
        usage = usage_of(counts, 0, model, when) if isinstance(counts, dict) and counts else None
        sent = Sent(
            dialect=_Rendered(),
            fields={"tools": field(about, "tools")},
            at=(*at, "requestMessages", "messages"),
            items=history,
            model=model,
            answer=Answer(usage),
        )
        is_failed = usage is None and text_field(response, "type") in _FAILURES
        return Skipped(FAILED, sent.answer, sent) if is_failed else sent

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """One text part, and behind it the last cache breakpoint."""
        content, at = field(value_at(root, entry.at), "content"), (*entry.at, "content")
        if not isinstance(content, list):
            return [Edit(at, text)] if isinstance(content, str) else []
        marks = [part for part in content if field(part, "type") == _BREAKPOINT]
        return [Edit(at, [{"type": _TEXT, "text": text}, *marks[-1:]])]

    def remove_reasoning(self, root: Any, entry: Entry, text: str) -> list[Edit]:  # noqa: ARG002
        """What the editor keeps of it is not what was sent."""
        return []


_FAILURES = ("failure", "canceled", "cancelled", "failed")


def _is_prompt(native: Any) -> bool:
    """Whether an object is a prompt with the log of what it led to."""
    return isinstance(field(native, "logs"), list) and field(native, "prompt") is not None


def _logs(root: Any) -> Iterator[Path]:
    """Addresses of the log entries of all prompts."""
    prompts = field(root, "prompts")
    bases: list[Path] = [()]
    if isinstance(prompts, list):
        bases = [("prompts", index) for index in range(len(prompts))]
    for base in bases:
        logs = field(value_at(root, base), "logs")
        yield from ((*base, "logs", index) for index in range(len(items(logs))))


class _Rendered:
    """Messages as the editor renders them for any provider."""

    name = CopilotChatReplay.name
    leading = ()

    def leads(self, message: Any) -> bool:
        """System messages at the very start are overhead."""
        return bool(field(message, "role") == _SYSTEM)

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        role, content = field(message, "role"), field(message, "content")
        if type(role) is not int or role not in range(4):
            raise shape_error((*at, "role"), "not a role of a rendered message")
        inner = (*at, "content")
        if role == _TOOL:
            _say_result(builder, message, at)
        elif role == _ASSISTANT:
            builder.turn(_parts(builder, content, inner), _calls(message, at), at)
        else:
            say = builder.user if role == _USER else builder.system
            say(_parts(builder, content, inner), at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        tools = body.fields.get("tools")
        texts = [part for message in lead for part in listed(field(message, "content"))]
        said = [part for part in texts if isinstance(part, str) or field(part, "type") == _TEXT]
        return Carried(tuple(said), tuple(listed(tools)), known=tools is not None or bool(lead))

    def tool_texts(self, tool: Any) -> list[str]:
        """Tools as the endpoint takes them: of Chat Completions, Anthropic or Responses."""
        if field(tool, "input_schema") is not None:
            return blocks.tool_texts(tool, tool, "input_schema")
        return OpenAIChat().tool_texts(tool)


def _say_result(builder: Builder, message: Any, at: Path) -> None:
    found = _parts(builder, field(message, "content"), (*at, "content"))
    builder.result(
        text_field(message, "toolCallId"),
        [part.text for part in found if part.kind is PartKind.TEXT and part.text],
        [part for part in found if part.kind is not PartKind.TEXT],
        at,
        orphan_path=dotted(at),
    )


def _calls(message: Any, at: Path) -> list[Call]:
    return [
        Call(
            text_field(native, "id"),
            text_field(field(native, "function"), "name"),
            blocks.arguments_text(field(field(native, "function"), "arguments")),
            (*at, "toolCalls", index, "function", "arguments"),
        )
        for index, native in enumerate(items(field(message, "toolCalls")))
        if isinstance(field(native, "function"), dict)
    ]


def _parts(builder: Builder, content: Any, at: Path) -> list[Part]:
    """What the parts of a content count as."""
    found: list[Part] = []
    for index, part in enumerate(listed(content)):
        if isinstance(part, str):
            found.append(Part(PartKind.TEXT, part))
        else:
            found += _part(builder, part, (*at, index))
    return found


def _part(builder: Builder, part: Any, at: Path) -> list[Part]:
    kind = field(part, "type")
    if kind == _TEXT and isinstance(field(part, "text"), str):
        return [Part(PartKind.TEXT, text_field(part, "text"))]
    if kind == _IMAGE:
        url = text_field(field(part, "imageUrl"), "url")
        return [image_url_part(url or compact_json(part))]
    if kind == _DOCUMENT:
        data = field(field(part, "documentData"), "data")
        return [medium_part(data, "", part, is_image=False)]
    if kind == _OPAQUE:
        return _opaque(field(part, "value"))
    return [] if kind == _BREAKPOINT else [unknown_part(builder, part, at)]


def _opaque(value: Any) -> list[Part]:
    """Reasoning as its text; where only that is kept, as it is sealed."""
    thinking, kind = field(value, _THINKING), text_field(value, "type")
    if kind in _UNSAID:
        return []
    if not isinstance(thinking, dict):
        return [other_part(value)]
    text = "\n".join(t for t in listed(thinking.get("text")) if isinstance(t, str))
    return [Part(PartKind.REASONING, text) if text else sealed_part(thinking.get("encrypted"))]
