"""LangChain messages: three spellings of one shape, and what each message holds.

A message is its fields (`model_dump`), `{type, data}` (`messages_to_dict`) or `{lc, id, kwargs}`
(`dumpd`, `dumps`, and what JavaScript writes). Its tool calls lie beside its content; the same
calls among the blocks of a content are the provider's own spelling of them and count once.
Specification: DESIGN section 3; reference providers.md E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from compactor.core.model import Call, Part, PartKind, Path, Usage
from compactor.formats import blocks
from compactor.formats.blocks import Readers, block_part, other_part, result_facts
from compactor.formats.builder import Builder
from compactor.formats.keyed import medium_part
from compactor.formats.messages import field, text_field
from compactor.formats.providers.anthropic import READERS as ANTHROPIC
from compactor.formats.providers.openai_chat import READERS as OPENAI
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.objects import is_object
from compactor.formats.recorded import count_of, items

PERSON, TURN, RESULT, SYSTEM, REMOVED = "human", "ai", "tool", "system", "remove"
_FUNCTION, _CHAT = "function", "chat"
_KINDS: Mapping[str, str] = MappingProxyType(
    {
        **{kind: kind for kind in (PERSON, TURN, RESULT, SYSTEM, REMOVED, _FUNCTION, _CHAT)},
        "developer": SYSTEM,
        "user": PERSON,
        "assistant": TURN,
    }
)
_SUFFIXES = ("MessageChunk", "Message")
_CONSTRUCTOR = "constructor"
_CALL_BLOCKS = ("tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk")
"""Blocks that say a call once more."""


def fields_at(message: Any) -> Path:
    """Where in a message its fields are."""
    if field(message, "type") == _CONSTRUCTOR or isinstance(field(message, "kwargs"), dict):
        return ("kwargs",)
    return ("data",) if isinstance(field(message, "data"), dict) else ()


def fields_of(message: Any) -> Any:
    """The fields of a message, in whatever spelling it is."""
    at = fields_at(message)
    return field(message, str(at[0])) if at else message


def kind_of(message: Any) -> str:
    """What a message is; "" for what is no message of LangChain's."""
    fields = fields_of(message)
    if not is_object(fields):
        return ""
    named = items(field(message, "id"))
    name = _of_class(named[-1]) if named else ""
    kind = name or _of_class(field(message, "type")) or _of_class(field(fields, "type"))
    return kind or _of_class(field(fields, "role"))


def _of_class(name: Any) -> str:
    """The kind that the name of a class or a kind says: `AIMessageChunk`, `ai`."""
    if not isinstance(name, str):
        return ""
    for suffix in _SUFFIXES:
        if name.endswith(suffix) and len(name) > len(suffix):
            return _CLASSES.get(name.removesuffix(suffix), "")
    return _KINDS.get(name, "")


_CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "AI": TURN,
        "Chat": _CHAT,
        "Function": _FUNCTION,
        "Human": PERSON,
        "Remove": REMOVED,
        "System": SYSTEM,
        "Tool": RESULT,
    }
)


def is_own(message: Any) -> bool:
    """Whether a message says that it is LangChain's, not only that it may be."""
    if not kind_of(message):
        return False
    is_wrapped = bool(fields_at(message)) and field(fields_of(message), "content") is not None
    kind = field(message, "type")
    is_chunk = isinstance(kind, str) and kind.endswith(_SUFFIXES)
    has_content = field(message, "content") is not None
    is_result = kind == RESULT and field(message, "tool_call_id") is not None
    return is_wrapped or (has_content and (kind in (PERSON, TURN) or is_chunk or is_result))


def say(builder: Builder, message: Any, at: Path) -> None:
    """One message."""
    kind, fields, here = kind_of(message), fields_of(message), (*at, *fields_at(message))
    role = _of_class(field(fields, "role")) if kind == _CHAT else kind
    content, inner = field(fields, "content"), (*here, "content")
    if role == TURN:
        builder.turn(*turn_facts(builder, fields, here), at)
    elif role in (RESULT, _FUNCTION):
        _say_result(builder, fields, here, at)
    elif role == SYSTEM:
        builder.system(_parts(builder, content, inner), at)
    elif role == PERSON or kind == _CHAT:
        builder.user(_parts(builder, content, inner), at)
    else:
        builder.report("unknown_line", "not a message of LangChain's", dotted(at))


def turn_facts(builder: Builder, fields: Any, at: Path) -> tuple[list[Part], list[Call]]:
    """Parts and calls of an answer, whose fields lie at `at`."""
    calls = _calls(builder, fields, at)
    content = field(fields, "content")
    if not isinstance(content, list):
        return [*_reasoning(fields), *_parts(builder, content, (*at, "content"))], calls
    parts = _reasoning(fields)
    said = {call.id for call in calls if call.id}
    for index, block in enumerate(content):
        here = (*at, "content", index)
        call_id = text_field(block, "id") or text_field(block, "call_id")
        is_call = field(block, "type") in _CALL_BLOCKS
        if is_call and not said and text_field(block, "name"):
            calls.append(_block_call(block, here))
        elif not is_call or (call_id and call_id not in said):
            parts.append(_part(builder, block, here))
    return parts, calls


def _reasoning(fields: Any) -> list[Part]:
    """Reasoning that an integration keeps beside the content."""
    beside = field(fields, "additional_kwargs")
    return [Part(PartKind.REASONING, text_field(beside, "reasoning_content"))]


def _calls(builder: Builder, fields: Any, at: Path) -> list[Call]:
    """Calls, and those whose arguments were no JSON; else what a provider's dialect has beside."""
    calls = [
        _call(builder, native, (*at, key, index))
        for key in ("tool_calls", "invalid_tool_calls")
        for index, native in enumerate(items(field(fields, key)))
    ]
    if calls:
        return calls
    beside, inner = field(fields, "additional_kwargs"), (*at, "additional_kwargs")
    return [
        _call(builder, native, (*inner, "tool_calls", index))
        for index, native in enumerate(items(field(beside, "tool_calls")))
    ]


def _call(builder: Builder, native: Any, at: Path) -> Call:
    call_id, function = text_field(native, "id"), field(native, "function")
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(at))
    if is_object(function):
        arguments = blocks.arguments_text(field(function, "arguments"))
        here = (*at, "function", "arguments")
        return Call(call_id, text_field(function, "name"), arguments, here)
    arguments = blocks.arguments_text(field(native, "args"))
    return Call(call_id, text_field(native, "name"), arguments, (*at, "args"))


def _block_call(block: Any, at: Path) -> Call:
    key = next((k for k in ("input", "args") if field(block, k) is not None), "arguments")
    arguments = blocks.arguments_text(field(block, key))
    call_id = text_field(block, "call_id") or text_field(block, "id")
    return Call(call_id, text_field(block, "name"), arguments, (*at, key))


def _say_result(builder: Builder, fields: Any, at: Path, message_at: Path) -> None:
    """A result; one of a legacy function names its tool."""
    content, call_id = field(fields, "content"), text_field(fields, "tool_call_id")
    texts, others, is_odd = result_facts(builder, _blocks(content), (*at, "content"), READERS)
    builder.result(
        call_id,
        texts,
        others,
        message_at,
        error=field(fields, "status") == "error",
        required=is_odd,
        name="" if call_id else text_field(fields, "name"),
        orphan_path=dotted(message_at),
    )


def _parts(builder: Builder, content: Any, at: Path) -> list[Part]:
    if isinstance(content, str) or content is None:
        return [Part(PartKind.TEXT, content or "")]
    if not isinstance(content, list):
        return [blocks.unknown_part(builder, content, at)]
    return [_part(builder, block, (*at, i)) for i, block in enumerate(content)]


def _part(builder: Builder, block: Any, at: Path) -> Part:
    """One block of a content; a text may stand for a block of it."""
    if isinstance(block, str):
        return Part(PartKind.TEXT, block)
    return block_part(builder, block, at, READERS)


def _blocks(content: Any) -> Any:
    """A content whose texts are blocks."""
    if not isinstance(content, list):
        return content
    return [{"type": "text", "text": b} if isinstance(b, str) and b else b for b in content]


def _medium(block: Any) -> Part:
    """A medium of LangChain's own blocks, or an image as Anthropic has it."""
    kind = field(block, "type")
    if is_object(field(block, "source")):
        return ANTHROPIC["image" if kind == "image" else "document"](block)
    if isinstance(field(block, "file"), dict):
        return OPENAI["file"](block)
    data = text_field(block, "base64") or text_field(block, "data")
    named = (text_field(block, key) for key in ("url", "file_id", "id"))
    return medium_part(data, next(filter(None, named), ""), block, is_image=kind == "image")


def _thought(block: Any) -> Part:
    """Reasoning of LangChain's own blocks, or a summary as OpenAI has it."""
    texts = [text_field(block, "reasoning")]
    texts += [text_field(piece, "text") for piece in items(field(block, "summary"))]
    return Part(PartKind.REASONING, "\n".join(filter(None, texts)))


READERS: Readers = MappingProxyType(
    {
        **ANTHROPIC,
        **OPENAI,
        **dict.fromkeys(("audio", "document", "file", "image", "media", "video"), _medium),
        "reasoning": _thought,
        "non_standard": other_part,
        "server_tool_call": other_part,
        "server_tool_result": other_part,
    }
)


def usage_of(message: Any, n: int) -> list[Usage]:
    """Recorded usage of an answer: `usage_metadata`, else what the provider said."""
    fields = fields_of(message)
    metadata = field(fields, "response_metadata")
    names = (text_field(metadata, key) for key in ("model_name", "model", "model_id", "modelId"))
    model = next(filter(None, names), "")
    usage = field(fields, "usage_metadata")
    if is_object(usage):
        return [_own_usage(usage, n, model)]
    for key in ("token_usage", "tokenUsage", "usage"):
        native = field(metadata, key)
        if isinstance(native, dict) and native:
            return [_provider_usage(native, n, model)]
    return []


def _own_usage(usage: Any, n: int, model: str) -> Usage:
    """Input holds what was cached; what lives an hour may stand apart from the rest written."""
    details = field(usage, "input_token_details")
    read, hour = count_of(details, "cache_read"), count_of(details, "ephemeral_1h_input_tokens")
    written = count_of(details, "ephemeral_5m_input_tokens") + hour
    write = max(count_of(details, "cache_creation"), written)
    return Usage(
        n=n,
        input=max(count_of(usage, "input_tokens") - read - write, 0),
        cache_read=read,
        cache_write=write,
        cache_write_1h=hour,
        output=count_of(usage, "output_tokens"),
        model=model,
    )


_INPUTS: Final = ("prompt_tokens", "promptTokens")
_OUTPUTS: Final = ("completion_tokens", "completionTokens", "output_tokens")


def _provider_usage(native: Any, n: int, model: str) -> Usage:
    """OpenAI's prompt holds what was cached, Anthropic's input does not."""
    output = _first(native, _OUTPUTS)
    if any(field(native, key) is not None for key in _INPUTS):
        read = count_of(field(native, "prompt_tokens_details"), "cached_tokens")
        return Usage(n, max(_first(native, _INPUTS) - read, 0), read, 0, output, model)
    read, write = (count_of(native, f"cache_{word}_input_tokens") for word in ("read", "creation"))
    return Usage(n, count_of(native, "input_tokens"), read, write, output, model)


def _first(native: Any, keys: Sequence[str]) -> int:
    return next(filter(None, (count_of(native, key) for key in keys)), 0)
