"""OpenAI Chat Completions, and the many servers that speak it: request bodies and message lists.

One message is one entry, but for adjacent assistant messages; leading system and developer messages
are overhead. Legacy function messages have no ids and find their call by name.
Specification: DESIGN section 3; reference providers.md C2.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import Readers, content_parts, other_part, result_facts
from compactor.formats.builder import Builder
from compactor.formats.dialects import OPENAI_CHAT, dialect
from compactor.formats.lens_bases import MessageList
from compactor.formats.media import document_part, image_url_part
from compactor.formats.messages import (
    Body,
    Carried,
    field,
    listed,
    text_field,
    value_at,
    word_of,
)
from compactor.formats.providers import prompt_cache
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.raw.objects import is_object
from compactor.formats.speech import SHAPES

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_REASONING_KEYS = ("reasoning_content", "reasoning")
_BREAKPOINTS = ("cache_control", prompt_cache.KEY)
_MARKED_ROLES = ("system", "developer", "user", "tool")


class OpenAIChat(MessageList):
    """The lens of Chat Completions."""

    name = OPENAI_CHAT
    shape = SHAPES[OPENAI_CHAT]
    breakpoint_limit = prompt_cache.LIMIT
    cache_rules = prompt_cache.RULES

    def recognises(self, root: Any) -> bool:
        return dialect(root) == self.name

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        content = field(value_at(root, entry.at), "content")
        return blocks.rewrite_content(content, (*entry.at, "content"), text, _BREAKPOINTS)

    def block_at_end(self, root: Any, entry: Entry) -> Path | None:
        message = value_at(root, entry.at)
        if field(message, "role") not in _MARKED_ROLES:
            return None
        return prompt_cache.part_at_end(field(message, "content"), (*entry.at, "content"))

    def breakpoints(self, root: Any) -> int:
        return prompt_cache.count(self.messages(root), ("content",))

    def place_breakpoint(self, root: Any, at: Path) -> list[Edit]:
        return prompt_cache.place(root, at, "text")

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        role = word_of(message, "role", ROLES, at)
        if role == "assistant":
            builder.turn(_turn_parts(builder, message, at), _calls(builder, message, at), at)
        elif role in ("tool", "function"):
            _say_result(builder, message, at, by_name=role == "function")
        else:
            say = builder.user if role == "user" else builder.system
            content = field(message, "content")
            say(content_parts(builder, content, (*at, "content"), READERS), at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        tools, functions = body.fields.get("tools"), body.fields.get("functions")
        texts: list[Any] = []
        for message in lead:
            texts += listed(field(message, "content"))
        known = tools is not None or functions is not None or bool(lead)
        return Carried(tuple(texts), (*listed(tools), *listed(functions)), known)

    def tool_texts(self, tool: Any) -> list[str]:
        """A function without parameters takes none: it has only its name and description."""
        definition = field(tool, "function")
        if definition is None:
            return blocks.tool_texts(tool, tool, "parameters")
        if field(definition, "parameters") is None:
            return [text_field(definition, "name"), text_field(definition, "description")]
        return blocks.tool_texts(tool, definition, "parameters")


def _turn_parts(builder: Builder, message: Any, at: Path) -> list[Part]:
    """Reasoning, then content, then what else the model said, each once."""
    reasonings = (text_field(message, key) for key in _REASONING_KEYS)
    parts = [Part(PartKind.REASONING, next(filter(None, reasonings), ""))]
    parts += content_parts(builder, field(message, "content"), (*at, "content"), READERS)
    parts.append(Part(PartKind.TEXT, text_field(message, "refusal")))
    audio = field(message, "audio")
    return parts if audio is None else [*parts, other_part(audio)]


def _calls(builder: Builder, message: Any, at: Path) -> list[Call]:
    """The tool calls in order, then a legacy function call."""
    natives, inner = field(message, "tool_calls"), (*at, "tool_calls")
    if natives is not None and not isinstance(natives, list):
        builder.report("unknown_block", "tool calls must be a list", dotted(inner))
        natives = None
    calls = [_call(builder, native, (*inner, i)) for i, native in enumerate(natives or ())]
    legacy = field(message, "function_call")
    if is_object(legacy):
        arguments = blocks.arguments_text(field(legacy, "arguments"))
        here = (*at, "function_call", "arguments")
        calls.append(Call("", text_field(legacy, "name"), arguments, here))
    return calls


def _call(builder: Builder, native: Any, at: Path) -> Call:
    """A function's arguments in compact JSON; a custom tool's input as written."""
    call_id = text_field(native, "id")
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(at))
    function, custom = field(native, "function"), field(native, "custom")
    if is_object(function):
        arguments = blocks.arguments_text(field(function, "arguments"))
        return Call(
            call_id, text_field(function, "name"), arguments, (*at, "function", "arguments")
        )
    written = field(custom, "input")
    if isinstance(written, str):
        return Call(call_id, text_field(custom, "name"), written, (*at, "custom", "input"))
    builder.report("unknown_block", "not a call that this format is known to hold", dotted(at))
    return Call(call_id, "", compact_json(native), at)


def _say_result(builder: Builder, message: Any, at: Path, *, by_name: bool) -> None:
    content = field(message, "content")
    texts, others, is_odd = result_facts(builder, content, (*at, "content"), READERS)
    builder.result(
        text_field(message, "tool_call_id"),
        texts,
        others,
        at,
        required=is_odd,
        name=text_field(message, "name") if by_name else "",
        orphan_path=dotted(at),
    )


def _image(block: Any) -> Part:
    """`image_url` is an object with a `url`; some servers take the URL itself."""
    image = field(block, "image_url")
    url = image if isinstance(image, str) else text_field(image, "url")
    return image_url_part(url or compact_json(image))


def _audio(block: Any) -> Part:
    """A medium, not its base64: it has a document's allowance."""
    audio = field(block, "input_audio")
    return document_part(text_field(audio, "data") or compact_json(audio))


def _file(block: Any) -> Part:
    file = field(block, "file")
    identity = text_field(file, "file_data") or text_field(file, "file_id") or compact_json(file)
    return document_part(identity)


def _link(block: Any) -> Part:
    """Sound or film by its address, as vLLM, Qwen and Kimi take it."""
    inner = field(block, text_field(block, "type"))
    return document_part(text_field(inner, "url") or compact_json(inner))


def _think(block: Any) -> Part:
    """Kimi's reasoning among the blocks."""
    return Part(PartKind.REASONING, text_field(block, "think"))


def _refusal(block: Any) -> Part:
    return Part(PartKind.TEXT, text_field(block, "refusal"))


READERS: Readers = MappingProxyType(
    {
        "image_url": _image,
        "input_audio": _audio,
        "audio_url": _link,
        "video_url": _link,
        "file": _file,
        "refusal": _refusal,
        "think": _think,
    }
)
