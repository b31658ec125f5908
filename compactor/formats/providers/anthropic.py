"""Anthropic Messages: request bodies and bare message lists.

A user message is split into its results and the runs of other blocks between them; everything in
an assistant message belongs to the turn, hosted tools included, and is never touched. The block
functions take any address, so that recordings which hold such messages can use them too.
Specification: DESIGN section 3; reference providers.md C1.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import Readers, block_part, content_parts, other_part, result_facts
from compactor.formats.builder import Builder
from compactor.formats.dialects import ANTHROPIC, dialect
from compactor.formats.lens_bases import MessageList
from compactor.formats.media import digest_of, document_part, image_part, image_url_part
from compactor.formats.messages import (
    Body,
    Carried,
    field,
    listed,
    text_field,
    value_at,
    word_of,
)
from compactor.formats.providers import cache_control
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import REMOVE, Edit, compact_json
from compactor.formats.raw.objects import is_object, members
from compactor.formats.speech import SHAPES

ROLES = ("user", "assistant", "system")
SIGNED = ("thinking", "redacted_thinking")


class Anthropic(MessageList):
    """The lens of Anthropic Messages."""

    name = ANTHROPIC
    shape = SHAPES[ANTHROPIC]
    breakpoint_limit = cache_control.LIMIT
    cache_rules = cache_control.RULES

    def recognises(self, root: Any) -> bool:
        return dialect(root) == self.name

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return rewrite_result(value_at(root, entry.at), entry.at, text)

    def remove_reasoning(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return remove_signed(root, entry, [{"type": "text", "text": text}])

    def bind_reasoning(self, root: Any, binding: dict[str, str]) -> list[Edit] | None:
        thinking = field(root, "thinking")
        if not is_object(root) or (thinking is not None and not _takes_binding(thinking)):
            return None
        if thinking is None:
            return [Edit(("thinking",), {"type": "adaptive", "block_binding": binding})]
        old, at = field(thinking, "block_binding"), ("thinking", "block_binding")
        if not isinstance(old, dict):
            return [Edit(at, binding)]
        return [Edit((*at, key), v) for key, v in binding.items() if old.get(key) != v]

    def block_at_end(self, root: Any, entry: Entry) -> Path | None:
        return cache_control.block_at_end(root, entry)

    def breakpoints(self, root: Any) -> int:
        return cache_control.count(root)

    def place_breakpoint(self, root: Any, at: Path) -> list[Edit]:
        return cache_control.place(root, at)

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        role = word_of(message, "role", ROLES, at)
        content, inner = field(message, "content"), (*at, "content")
        if content == "":
            builder.report("empty_text", "the content is an empty text", dotted(inner))
        if role == "assistant":
            builder.turn(*turn_facts(builder, content, inner), at)
        elif role == "system":
            builder.system(content_parts(builder, content, inner, READERS), at)
        else:
            say_user(builder, content, at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        system, tools = body.fields.get("system"), body.fields.get("tools")
        texts = [*listed(system)]
        for message in lead:
            texts += listed(field(message, "content"))
        known = system is not None or tools is not None or bool(lead)
        return Carried(tuple(texts), tuple(listed(tools)), known)

    def tool_texts(self, tool: Any) -> list[str]:
        return blocks.tool_texts(tool, tool, "input_schema")


def say_user(builder: Builder, content: Any, at: Path) -> None:
    """A user message: each result is an entry, each run of other blocks between them is one."""
    inner = (*at, "content")
    if not isinstance(content, list):
        builder.user(content_parts(builder, content, inner, READERS), at)
        return
    run: list[Part] | None = None if content else []
    for index, block in enumerate(content):
        here = (*inner, index)
        if field(block, "type") != "tool_result":
            run = run or []
            run.append(block_part(builder, block, here, READERS))
            continue
        if run is not None:
            builder.user(run, at)
            run = None
        say_result(builder, block, here)
    if run is not None:
        builder.user(run, at)


def say_result(builder: Builder, block: Any, at: Path) -> None:
    """A `tool_result` block."""
    content = field(block, "content")
    texts, others, is_odd = result_facts(builder, content, (*at, "content"), READERS)
    builder.result(
        text_field(block, "tool_use_id"),
        texts,
        others,
        at,
        error=field(block, "is_error") is True,
        required=is_odd or is_sealed(block) or any(map(is_sealed, listed(content))),
        orphan_path=dotted(at),
    )


def turn_facts(
    builder: Builder, content: Any, at: Path, readers: Readers | None = None
) -> tuple[list[Part], list[Call]]:
    """Parts and calls of an assistant message's content, which lies at `at`.

    Args:
        readers: of a recording that holds more than the API takes.
    """
    readers = readers or READERS
    if not isinstance(content, list):
        return content_parts(builder, content, at, readers), []
    parts: list[Part] = []
    calls: list[Call] = []
    for index, block in enumerate(content):
        here = (*at, index)
        if field(block, "type") == "tool_use":
            calls.append(_call(builder, block, here))
        else:
            part = block_part(builder, block, here, readers)
            if is_compaction(block):
                blocks.report_compaction(builder, here)
            is_signed = field(block, "type") in SIGNED and _signature(block)
            parts.append(part._replace(at=here) if is_signed else part)
    return parts, calls


def rewrite_result(block: Any, at: Path, text: str) -> list[Edit]:
    """Edits that make `text` the content of the `tool_result` block at `at`."""
    content = field(block, "content")
    return blocks.rewrite_content(content, (*at, "content"), text, (cache_control.KEY,))


def _takes_binding(thinking: Any) -> bool:
    return field(thinking, "type") in ("adaptive", "enabled")


def remove_signed(root: Any, entry: Entry, instead: list[Any]) -> list[Edit]:
    """Edits that remove an entry's signed reasoning blocks.

    Args:
        instead: the content of a message that would be left empty.
    """
    edits: list[Edit] = []
    by_content: dict[Path, list[Path]] = {}
    for part in entry.parts:
        if part.signed:
            by_content.setdefault(part.at[:-1], []).append(part.at)
    for content, gone in by_content.items():
        if len(gone) == len(value_at(root, content)):
            edits.append(Edit(content, instead))
        else:
            edits += [Edit(at, REMOVE) for at in gone]
    return edits


def is_sealed(block: Any) -> bool:
    """Whether a result stands or falls with a block: tool references, encrypted or signed data.

    A reference loads a tool's definition; what is encrypted or signed is refused when it changes.
    """
    if not is_object(block):
        return False
    return field(block, "type") == "tool_reference" or any(
        value is not None and (key == "signature" or str(key).startswith("encrypted_"))
        for key, value in members(block)
    )


def is_compaction(block: Any) -> bool:
    """Whether a block is the provider's summary of what lies before it; a failed one is empty."""
    holds = field(block, "content") or field(block, "encrypted_content")
    return field(block, "type") == "compaction" and bool(holds)


def _call(builder: Builder, block: Any, at: Path) -> Call:
    call_id, name = text_field(block, "id"), text_field(block, "name")
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(at))
    return Call(call_id, name, blocks.arguments_text(field(block, "input")), (*at, "input"))


def _thinking(block: Any) -> Part:
    """Reasoning as text; where only its signature is kept, that."""
    text = text_field(block, "thinking")
    return Part(PartKind.REASONING, text) if text else _sealed(text_field(block, "signature"))


def _signature(block: Any) -> str:
    return text_field(block, "signature") or text_field(block, "data")


def _redacted(block: Any) -> Part:
    return _sealed(text_field(block, "data"))


def _sealed(text: str) -> Part:
    return Part(PartKind.SEALED, size=len(text), digest=digest_of(text))


def _image(block: Any) -> Part:
    data = text_field(field(block, "source"), "data")
    return image_part(data) if data else image_url_part(_reference(block))


def _document(block: Any) -> Part:
    """A document given as text counts as text; any other has a fixed allowance."""
    source = field(block, "source")
    data = text_field(source, "data")
    if field(source, "type") == "text":
        return Part(PartKind.TEXT, data)
    return document_part(data or _reference(block))


def _reference(block: Any) -> str:
    """What a medium that is not in the request is known by."""
    source = field(block, "source")
    return text_field(source, "url") or text_field(source, "file_id") or compact_json(source)


READERS: Readers = MappingProxyType(
    {
        "thinking": _thinking,
        "redacted_thinking": _redacted,
        "image": _image,
        "document": _document,
    }
    | dict.fromkeys(
        (
            "advisor_tool_result",
            "bash_code_execution_tool_result",
            "browser_state",
            "code_execution_tool_result",
            "compaction",
            "container_upload",
            "fallback",
            "mcp_tool_listing",
            "mcp_tool_result",
            "mcp_tool_use",
            "search_result",
            "server_tool_use",
            "text_editor_code_execution_tool_result",
            "tool_addition",
            "tool_reference",
            "tool_removal",
            "tool_search_tool_result",
            "web_fetch_tool_result",
            "web_search_tool_result",
        ),
        other_part,
    )
)
