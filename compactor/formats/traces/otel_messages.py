"""OpenTelemetry's GenAI messages: a role and `parts` with a type, as the semantic conventions say.

A message is split into its tool responses and the runs of other parts; an answer is one turn, what
a server's tool did included. A response is any JSON: a text, blocks in the shape of any provider,
or an object. Older writers call it `result`, and reasoning `thinking`.
Specification: DESIGN section 3; semantic-conventions-genai, `gen-ai-input-messages`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import Readers, other_part, unknown_part
from compactor.formats.builder import Builder
from compactor.formats.keyed import medium_part, runs
from compactor.formats.messages import (
    SYSTEM_ROLES,
    Body,
    Carried,
    field,
    listed,
    text_field,
    value_at,
    word_of,
)
from compactor.formats.providers.anthropic import READERS as ANTHROPIC
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.raw.objects import is_object
from compactor.formats.tool_texts import any_tool_texts

ROLES = ("system", "developer", "user", "assistant", "tool", "model")
CALL, RESPONSE = "tool_call", "tool_call_response"
_RESPONSES = ("response", "result", "content")
_TEXTS = ("text", "refusal")
_ARGUMENTS = ("arguments", "args", "input")


class OtelMessages:
    """The dialect of OpenTelemetry's messages."""

    name = "otel"
    leading = SYSTEM_ROLES

    def recognises(self, root: Any) -> bool:
        """Whether it is a list of messages, or an object that has one."""
        items = root if isinstance(root, list) else field(root, "messages")
        return isinstance(items, list) and any(map(is_own, items))

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        role = word_of(message, "role", ROLES, at)
        parts = _parts_of(message)
        inner = (*at, "content" if field(message, "parts") is None else "parts")
        if not isinstance(parts, list):
            parts = [parts] if isinstance(parts, str) else listed(parts)
        if role in ("assistant", "model"):
            builder.turn(*turn_facts(builder, [*parts], inner), at)
        else:
            _say_parts(builder, [*parts], inner, is_system=role in SYSTEM_ROLES)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        texts = [text for message in lead for text in system_texts(_parts_of(message))]
        tools = body.fields.get("tools")
        known = bool(lead) or tools is not None
        return Carried(tuple(texts), () if tools is None else (tools,), known)

    def tool_texts(self, tool: Any) -> list[str]:
        return any_tool_texts(tool)

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """A text for a text; one block of the same shape for blocks; a text for any other value."""
        part = value_at(root, entry.at)
        key = _response_key(part)
        at, value = (*entry.at, key), field(part, key)
        if not _is_blocks(value):
            return [Edit(at, text)]
        first = next(filter(_is_text, value), None)
        if field(first, "type") is None and field(value[0], "type") is None:
            return [Edit(at, [{"text": text}])]
        word = "content" if isinstance(field(first, "content"), str) else "text"
        return [Edit(at, [{"type": "text", word: text}])]


def is_own(message: Any) -> bool:
    """Whether a message can only be one of these: of its parts one says so."""
    parts = field(message, "parts")
    return isinstance(parts, list) and any(map(_is_own_part, parts))


def _is_own_part(part: Any) -> bool:
    kind = field(part, "type")
    if kind in (CALL, RESPONSE, "server_tool_call", "server_tool_call_response", "blob", "uri"):
        return True
    return kind in (*_TEXTS, "reasoning", "thinking") and isinstance(field(part, "content"), str)


def _parts_of(message: Any) -> Any:
    parts = field(message, "parts")
    return field(message, "content") if parts is None else parts


def system_texts(parts: Any) -> list[Any]:
    """The texts of instructions, which are parts, texts, or one of either."""
    return [
        part if isinstance(part, str) else field(part, "content") or part for part in listed(parts)
    ]


def _say_parts(builder: Builder, parts: list[Any], at: Path, *, is_system: bool) -> None:
    """Each response is an entry, each run of other parts between them is one."""
    for is_result, indexes in runs(field(part, "type") == RESPONSE for part in parts):
        if is_result:
            say_response(builder, parts[indexes[0]], (*at, indexes[0]))
            continue
        run = [part_of(builder, parts[i], (*at, i)) for i in indexes]
        (builder.system if is_system else builder.user)(run, at[:-1])


def turn_facts(builder: Builder, parts: list[Any], at: Path) -> tuple[list[Part], list[Call]]:
    """Parts and calls of an answer, whose parts lie at `at`."""
    said: list[Part] = []
    calls: list[Call] = []
    for index, part in enumerate(parts):
        here = (*at, index)
        if field(part, "type") == CALL and field(part, "builtin") is not True:
            calls.append(_call(builder, part, here))
        elif field(part, "type") in (CALL, RESPONSE):
            said.append(other_part(part))
        else:
            said.append(part_of(builder, part, here))
    return said, calls


def _call(builder: Builder, part: Any, at: Path) -> Call:
    call_id = text_field(part, "id")
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(at))
    key = next((key for key in _ARGUMENTS if field(part, key) is not None), _ARGUMENTS[0])
    arguments = blocks.arguments_text(field(part, key))
    return Call(call_id, text_field(part, "name"), arguments, (*at, key))


def say_response(builder: Builder, part: Any, at: Path) -> None:
    """What a tool gave."""
    key = _response_key(part)
    call_id = text_field(part, "id")
    texts, others = response_facts(builder, field(part, key), (*at, key))
    builder.result(
        call_id,
        texts,
        others,
        at,
        error=field(part, "is_error") is True,
        name="" if call_id else text_field(part, "name"),
        in_order=not call_id,
        orphan_path=dotted(at),
    )


def _response_key(part: Any) -> str:
    return next((key for key in _RESPONSES if field(part, key) is not None), _RESPONSES[0])


def response_facts(builder: Builder, value: Any, at: Path) -> tuple[list[str], list[Part]]:
    """Texts and all else of a response."""
    if value is None or isinstance(value, str):
        return [value] if value else [], []
    if not _is_blocks(value):
        return [compact_json(value)], []
    texts: list[str] = []
    others: list[Part] = []
    for index, block in enumerate(value):
        text = _block_text(block)
        if text is None:
            others.append(part_of(builder, block, (*at, index)))
        elif text:
            texts.append(text)
    return texts, others


def _is_blocks(value: Any) -> bool:
    """Whether a response is a list of blocks: of a provider's with a type, or of keyed ones."""
    if not isinstance(value, list) or not value or not all(map(is_object, value)):
        return False
    kinds = [field(block, "type") for block in value]
    if all(isinstance(kind, str) for kind in kinds):
        return any(
            _block_text(b) is not None or k in READERS for b, k in zip(value, kinds, strict=True)
        )
    return all(isinstance(field(b, "text"), str) or is_object(field(b, "json")) for b in value)


def _is_text(block: Any) -> bool:
    return _block_text(block) is not None


def _block_text(block: Any) -> str | None:
    """The text of a block in a response; None for any other block."""
    if field(block, "type") in (None, *_TEXTS, "input_text", "output_text"):
        for key in ("text", "content"):
            if isinstance(field(block, key), str):
                return text_field(block, key)
        inner = field(block, "json")
        return None if inner is None else compact_json(inner)
    return None


def part_of(builder: Builder, part: Any, at: Path) -> Part:
    """What a part counts as that is neither call nor response."""
    if isinstance(part, str):
        return Part(PartKind.TEXT, part)
    kind = field(part, "type")
    if kind in _TEXTS:
        return Part(PartKind.TEXT, text_field(part, "content") or text_field(part, "text"))
    read = READERS.get(kind) if isinstance(kind, str) else None
    return unknown_part(builder, part, at) if read is None else read(part)


def _reasoning(part: Any) -> Part:
    keys = ("content", "thinking", "text", "reasoning")
    found = (text_field(part, key) for key in keys)
    return Part(PartKind.REASONING, next(filter(None, found), ""))


def _medium(part: Any) -> Part:
    """A blob, a file or a URI, in the spellings of today and of earlier writers."""
    if is_object(field(part, "source")):
        return ANTHROPIC["image" if field(part, "type") == "image" else "document"](part)
    mime = text_field(part, "mime_type") or text_field(part, "media_type")
    named = (text_field(part, key) for key in ("uri", "url", "file_id"))
    is_image = _is_image(part, mime)
    data = text_field(part, "content") or text_field(part, "data")
    return medium_part(data, next(filter(None, named), ""), part, is_image=is_image)


def _is_image(part: Any, mime: str) -> bool:
    kind = field(part, "type")
    return field(part, "modality") == "image" or mime.startswith("image/") or kind in _IMAGES


_IMAGES = ("image", "image-url", "image_url")
_MEDIA = ("audio", "audio-url", "binary", "blob", "document", "document-url", "file", "uri")
READERS: Readers = MappingProxyType(
    {
        **dict.fromkeys((*_IMAGES, *_MEDIA, "video", "video-url"), _medium),
        **dict.fromkeys(("reasoning", "thinking"), _reasoning),
        **dict.fromkeys(
            ("compaction", "generic", "server_tool_call", "server_tool_call_response"), other_part
        ),
    }
)
"""Type of a part → what it counts as."""
