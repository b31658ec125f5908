"""UI messages of the Vercel AI SDK: what a chat keeps, each answer with all its steps in it.

The parts of an answer are split into steps as the SDK does before a request: at `step-start`, and
in version 4 where a text follows calls or a call names another step. A step is a turn and behind it
what its tools gave. Sources, data and what a client shows are not sent.
Specification: DESIGN section 3; `convertToModelMessages` of `ai` 5 to 7, `convertToCoreMessages`
of `ai` 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from compactor.core.model import Call, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import other_part, unknown_part
from compactor.formats.builder import Builder
from compactor.formats.frameworks.vercel_results import value_facts
from compactor.formats.keyed import medium_part, sealed_part
from compactor.formats.media import data_of
from compactor.formats.messages import field, text_field
from compactor.formats.raw.edits import dotted
from compactor.formats.recorded import items

ROLES = ("system", "user", "assistant", "data")
_INVOCATION, _STEP, _DYNAMIC, _TOOL = "tool-invocation", "step-start", "dynamic-tool", "tool-"
_NOT_SENT = ("source", "source-url", "source-document")
_DENIED = "Tool call execution denied."
"""What the SDK says to the model for a call that a person denied without a reason."""
_NOT_UI = ("tool-call", "tool-result", "tool-approval-request", "tool-approval-response")


class Tool(NamedTuple):
    """A part with a call and, later, what it gave.

    native: the object that has both; at: its address.
    result: the key that has what it gave; "" while there is nothing.
    """

    native: Any
    at: Path
    name: str
    arguments: str
    result: str
    error: bool


def is_ui(message: Any) -> bool:
    """Whether a message is one that a chat keeps: parts with a type, and an id or tools in them."""
    if field(message, "role") not in ROLES:
        return False
    parts = field(message, "parts")
    if isinstance(parts, list):
        kinds = [field(part, "type") for part in parts]
        has_types = bool(kinds) and all(isinstance(kind, str) for kind in kinds)
        is_chat = bool(text_field(message, "id")) or any(map(_is_ui_kind, kinds))
        return has_types and is_chat and not any(_has_other_text(part) for part in parts)
    return isinstance(field(message, "toolInvocations"), list)


def _is_ui_kind(kind: Any) -> bool:
    return kind in (_STEP, _DYNAMIC) or (isinstance(kind, str) and kind.startswith(_TOOL))


def _has_other_text(part: Any) -> bool:
    """Whether a part is of another convention, which has its texts as `content`."""
    is_text = field(part, "type") == "text" and isinstance(field(part, "content"), str)
    return is_text or field(part, "type") in ("tool_call", "tool_call_response")


def say(builder: Builder, message: Any, at: Path) -> None:
    """One message: a person's, the system's, or an answer with all its steps."""
    role, parts = field(message, "role"), field(message, "parts")
    if role == "assistant" and not isinstance(parts, list):
        _say_old_answer(builder, message, at)
    elif role == "assistant":
        for step in _steps(parts):
            _say_step(builder, [(parts[i], (*at, "parts", i)) for i in step], at)
    elif role in ("user", "system"):
        said = [part for i, p in enumerate(items(parts)) for part in _part(builder, p, (*at, i))]
        said += [_attachment(a) for a in items(field(message, "experimental_attachments"))]
        if not isinstance(parts, list):
            said.insert(0, Part(PartKind.TEXT, text_field(message, "content")))
        (builder.user if role == "user" else builder.system)(said, at)


def _steps(parts: Sequence[Any]) -> Iterator[list[int]]:
    """The indexes of the parts of each step."""
    step: list[int] = []
    has_old_call, number = False, 0
    for index, part in enumerate(parts):
        kind = field(part, "type")
        is_old_call = kind == _INVOCATION
        named = field(field(part, "toolInvocation"), "step") if is_old_call else number
        is_next = type(named) is int and named != number
        if kind == _STEP or (kind == "text" and has_old_call) or is_next:
            yield step
            step, has_old_call = [], False
            number = named if is_next else number + (kind != _STEP)
        if kind != _STEP:
            step.append(index)
            has_old_call = has_old_call or is_old_call
    yield step


def _say_step(builder: Builder, parts: Sequence[tuple[Any, Path]], at: Path) -> None:
    """A turn and its results; nothing of a step that says nothing."""
    said: list[Part] = []
    tools: list[Tool] = []
    for part, here in parts:
        tool = tool_at(part, here)
        if tool is None:
            said += _part(builder, part, here)
        elif field(tool.native, "providerExecuted") is True:
            said.append(other_part(tool.native))
        elif field(tool.native, "state") not in ("input-streaming", "partial-call"):
            tools.append(tool)
    if said or tools:
        _say_tools(builder, said, tools, at)


def _say_tools(builder: Builder, said: list[Part], tools: Sequence[Tool], at: Path) -> None:
    calls = [_call(builder, tool) for tool in tools]
    builder.turn(said, calls, at)
    for tool, call in zip(tools, calls, strict=True):
        if tool.result:
            _say_result(builder, tool, call)


def tool_at(part: Any, at: Path) -> Tool | None:
    """The call and result of a part; None for any other part."""
    kind = text_field(part, "type")
    if kind == _INVOCATION:
        return _old_tool(field(part, "toolInvocation"), (*at, "toolInvocation"))
    if kind != _DYNAMIC and (not kind.startswith(_TOOL) or kind in _NOT_UI):
        return None
    name = text_field(part, "toolName") if kind == _DYNAMIC else kind.removeprefix(_TOOL)
    state = field(part, "state")
    result = _RESULTS.get(state, "") if isinstance(state, str) else ""
    key = "rawInput" if field(part, "input") is None and state == "output-error" else "input"
    return Tool(part, at, name, key, result, result not in ("", "output"))


_RESULTS = {
    "output-available": "output",
    "output-error": "errorText",
    "output-denied": "approval",
}
"""State of a part → the key of what its tool gave."""


def _old_tool(native: Any, at: Path) -> Tool:
    has_result = field(native, "state") == "result" or field(native, "result") is not None
    result = "result" if has_result else ""
    return Tool(native, at, text_field(native, "toolName"), "args", result, error=False)


def _call(builder: Builder, tool: Tool) -> Call:
    call_id = text_field(tool.native, "toolCallId")
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(tool.at))
    arguments = blocks.arguments_text(field(tool.native, tool.arguments))
    return Call(call_id, tool.name, arguments, (*tool.at, tool.arguments))


def _say_result(builder: Builder, tool: Tool, call: Call) -> None:
    """What a tool gave, beside its call."""
    at = (*tool.at, tool.result)
    value = field(tool.native, tool.result)
    is_denied = tool.result == "approval"
    texts, others = value_facts(builder, _reason(value) if is_denied else value, at)
    builder.result(
        call.id,
        filter(None, texts),
        others,
        at,
        error=tool.error,
        required=is_denied,
        call=call,
    )


def _reason(approval: Any) -> str:
    return text_field(approval, "reason") or _DENIED


def _say_old_answer(builder: Builder, message: Any, at: Path) -> None:
    """An answer of version 4 without parts: its steps' calls and results, then its text."""
    natives = items(field(message, "toolInvocations"))
    tools = [_old_tool(native, (*at, "toolInvocations", i)) for i, native in enumerate(natives)]
    numbers = [field(tool.native, "step") for tool in tools]
    numbers = [number if type(number) is int else 0 for number in numbers]
    for step in sorted(dict.fromkeys(numbers)):
        _say_tools(builder, [], [t for t, n in zip(tools, numbers, strict=True) if n == step], at)
    text = text_field(message, "content")
    if text or not tools:
        builder.turn([Part(PartKind.TEXT, text)], (), at)


def _part(builder: Builder, part: Any, at: Path) -> list[Part]:
    """What a part that is no call counts as."""
    kind = text_field(part, "type")
    if kind == "text":
        return [Part(PartKind.TEXT, text_field(part, "text"))]
    if kind == "reasoning":
        return _reasoning(part)
    if kind in ("file", "reasoning-file"):
        return [_file(part)]
    if kind == _STEP or kind in _NOT_SENT or kind.startswith("data-"):
        return []
    return [unknown_part(builder, part, at)]


def _reasoning(part: Any) -> list[Part]:
    """Reasoning as text; in version 4 each of its details, which may be redacted."""
    details = field(part, "details")
    if not isinstance(details, list):
        text = text_field(part, "text") or text_field(part, "reasoning")
        return [Part(PartKind.REASONING, text)]
    return [
        sealed_part(field(detail, "data"))
        if field(detail, "type") == "redacted"
        else Part(PartKind.REASONING, text_field(detail, "text"))
        for detail in details
    ]


def _file(part: Any) -> Part:
    mime = text_field(part, "mediaType") or text_field(part, "mimeType")
    data = field(part, "data")
    data = field(part, "url") if data is None else data
    return medium(data, part, is_image=mime.startswith("image/"))


def _attachment(native: Any) -> Part:
    is_image = text_field(native, "contentType").startswith("image/")
    return medium(field(native, "url"), native, is_image=is_image)


def medium(data: Any, native: Any, *, is_image: bool) -> Part:
    """A medium that is base64, bytes or a (data) URL."""
    if not isinstance(data, str):
        return medium_part(data, "", native, is_image=is_image)
    is_url = "://" in data[:_SCHEME] and data_of(data) is None
    inline = data_of(data)
    content = data if inline is None and not is_url else inline
    return medium_part(content, data, native, is_image=is_image)


_SCHEME = 12
"""Characters in which the scheme of a URL ends."""
