"""Vercel AI SDK: model messages (core messages of version 4), UI messages, and request bodies.

A model message's results are blocks of a tool message; what a provider ran itself stays in the
turn. A UI message holds whole steps, each a turn and its results (`vercel_ui`). A result is an
output with a type, in version 4 any value. Specification: DESIGN section 3; reference providers.md
E; the message schemas and converters of `ai` 4 to 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Part, PartKind, Path, Reading
from compactor.formats import blocks
from compactor.formats.blocks import Readers, block_part, content_parts, other_part
from compactor.formats.builder import Builder
from compactor.formats.frameworks import vercel_ui
from compactor.formats.frameworks.vercel_results import RESULT, result_text, rewrite_output
from compactor.formats.keyed import sealed_part
from compactor.formats.lens_bases import AddressedCalls
from compactor.formats.messages import (
    SYSTEM_ROLES,
    Body,
    Carried,
    field,
    listed,
    locate,
    read_messages,
    text_field,
    value_at,
    word_of,
)
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items
from compactor.formats.tool_texts import any_tool_texts

ROLES = (*vercel_ui.ROLES, "tool")
_CALL = "tool-call"
_OWN = (
    *(_CALL, RESULT, "redacted-reasoning"),
    *("tool-approval-request", "tool-approval-response"),
)
"""Blocks that only these messages have."""


class VercelAI(AddressedCalls):
    """The lens of the Vercel AI SDK: request bodies and lists of model messages (`CoreMessage`,
    `ModelMessage`) and of UI messages, as versions 4 to 7 have them."""

    name = "vercel-ai"
    leading = SYSTEM_ROLES

    def recognises(self, root: Any) -> bool:
        messages = root if isinstance(root, list) else field(root, "messages")
        return any(map(_is_own, items(messages)))

    def read(self, root: Any, known: Reading | None = None) -> Reading:
        return read_messages(self, locate(root), known)

    def messages(self, root: Any) -> Sequence[Any]:
        return locate(root).items

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return rewrite_output(value_at(root, entry.at), entry, text)

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        role, content = word_of(message, "role", ROLES, at), field(message, "content")
        if vercel_ui.is_ui(message):
            vercel_ui.say(builder, message, at)
        elif role == "assistant":
            builder.turn(*turn_facts(builder, content, (*at, "content")), at)
        elif role == "tool":
            _say_tools(builder, content, (*at, "content"))
        elif role != "data":
            say = builder.user if role == "user" else builder.system
            say(content_parts(builder, content, (*at, "content"), READERS), at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        system = body.fields.get("system") or body.fields.get("instructions")
        tools = body.fields.get("tools")
        texts = [field(text, "content") or text for text in listed(system)]
        for message in lead:
            said = field(message, "content") or field(message, "parts")
            texts += listed(said)
        known = bool(texts) or tools is not None
        return Carried(tuple(texts), () if tools is None else (tools,), known)

    def tool_texts(self, tool: Any) -> list[str]:
        return any_tool_texts(tool)


def turn_facts(builder: Builder, content: Any, at: Path) -> tuple[list[Part], list[Call]]:
    """Parts and calls of an assistant message's content, which lies at `at`."""
    if not isinstance(content, list):
        return content_parts(builder, content, at, READERS), []
    parts: list[Part] = []
    calls: list[Call] = []
    for index, block in enumerate(content):
        here = (*at, index)
        if field(block, "type") == _CALL and field(block, "providerExecuted") is not True:
            calls.append(read_call(builder, block, here))
        else:
            parts.append(block_part(builder, block, here, READERS))
    return parts, calls


def read_call(builder: Builder, native: Any, at: Path) -> Call:
    """A call: its arguments are `input`, in version 4 `args`."""
    call_id = text_field(native, "toolCallId")
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(at))
    key = (
        "args" if field(native, "input") is None and field(native, "args") is not None else "input"
    )
    arguments = blocks.arguments_text(field(native, key))
    return Call(call_id, text_field(native, "toolName"), arguments, (*at, key))


def _is_own(message: Any) -> bool:
    content = field(message, "content")
    kinds = [field(block, "type") for block in content] if isinstance(content, list) else ()
    return any(kind in _OWN for kind in kinds) or vercel_ui.is_ui(message)


def _say_tools(builder: Builder, content: Any, at: Path) -> None:
    """The results of a tool message; answers to questions of approval are nobody's text."""
    if not isinstance(content, list):
        builder.user(content_parts(builder, content, at, READERS), at[:-1])
        return
    for index, block in enumerate(content):
        here = (*at, index)
        if field(block, "type") == RESULT:
            _say_result(builder, block, here)
        elif field(block, "type") != "tool-approval-response":
            builder.user([block_part(builder, block, here, READERS)], at[:-1])


def _say_result(builder: Builder, block: Any, at: Path) -> None:
    facts = result_text(builder, block, at)
    builder.result(
        text_field(block, "toolCallId"),
        facts.texts,
        facts.others,
        at,
        error=facts.error or field(block, "isError") is True,
        orphan_path=dotted(at),
    )


def _medium(block: Any) -> Part:
    """An image or a file: base64, a (data) URL, or bytes, under its own kind."""
    kind = field(block, "type")
    data = field(block, "image" if kind == "image" else "data")
    data = field(block, "url") if data is None else data
    mime = text_field(block, "mediaType") or text_field(block, "mimeType")
    return vercel_ui.medium(data, block, is_image=kind == "image" or mime.startswith("image/"))


def _reasoning(block: Any) -> Part:
    return Part(PartKind.REASONING, text_field(block, "text"))


def _redacted(block: Any) -> Part:
    return sealed_part(field(block, "data"))


READERS: Readers = MappingProxyType(
    {
        "file": _medium,
        "image": _medium,
        "reasoning": _reasoning,
        "reasoning-file": _medium,
        "redacted-reasoning": _redacted,
        **dict.fromkeys((*_OWN[:2], *_OWN[3:], "custom", "source"), other_part),
    }
)
"""Blocks of a content; calls and results are in it where a provider ran the tool itself."""
