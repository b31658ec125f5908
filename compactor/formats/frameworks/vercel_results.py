"""What tools gave in messages of the Vercel AI SDK, and how another text takes its place.

An output says its type: a text, JSON, an error in either, content blocks, or that the call was
denied. Version 4 has any value as `result`, and the blocks that are sent for it as `content`. In UI
messages it is any value; one that a tool of MCP gave has content blocks too.
Specification: DESIGN section 3; the schemas of `ai` 4 to 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.core.model import Entry, Part, Path
from compactor.formats.blocks import Readers, other_part, result_facts
from compactor.formats.builder import Builder
from compactor.formats.keyed import medium_part
from compactor.formats.messages import field, text_field
from compactor.formats.raw.native import Edit, compact_json

RESULT = "tool-result"
_CONTENT_KEYS = ("content", "experimental_content")
_ERRORS = ("error-text", "error-json", "execution-denied")


class Facts(NamedTuple):
    """What a result says."""

    texts: list[str]
    others: list[Part]
    error: bool


def result_text(builder: Builder, block: Any, at: Path) -> Facts:
    """What a result block says, at whatever key it has it."""
    for key in _CONTENT_KEYS:
        if isinstance(field(block, key), list):
            return _of_blocks(builder, field(block, key), (*at, key))
    output = field(block, "output")
    if output is None:
        return Facts(*value_facts(builder, field(block, "result"), (*at, "result")), error=False)
    kind, value = text_field(output, "type"), field(output, "value")
    if kind == "content":
        return _of_blocks(builder, value, (*at, "output", "value"))
    if kind == "execution-denied":
        return Facts([text_field(output, "reason")], [], error=True)
    if not kind:
        return Facts(*value_facts(builder, output, (*at, "output")), error=False)
    return Facts([_text_of(value)], [], error=kind in _ERRORS)


def value_facts(builder: Builder, value: Any, at: Path) -> tuple[list[str], list[Part]]:
    """Texts and all else of any value: a text, what MCP gave, else its compact JSON."""
    content = field(value, "content")
    if isinstance(content, list) and content and all(map(_is_block, content)):
        facts = _of_blocks(builder, content, (*at, "content"))
        return facts.texts, facts.others
    return [_text_of(value)], []


def _of_blocks(builder: Builder, content: Any, at: Path) -> Facts:
    texts, others, _ = result_facts(builder, content, at, READERS)
    return Facts(texts, others, error=False)


def _text_of(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else compact_json(value)


def _is_block(item: Any) -> bool:
    return isinstance(field(item, "type"), str)


def rewrite_output(native: Any, entry: Entry, text: str) -> list[Edit]:
    """Edits that make `text` what a result says: a block at `entry.at`, or the value of a part."""
    at = entry.at
    if isinstance(at[-1], str):
        return rewrite_value(native, at, text)
    for key in _CONTENT_KEYS:
        if isinstance(field(native, key), list):
            return [Edit((*at, key), [{"type": "text", "text": text}])]
    output = field(native, "output")
    if output is None:
        return rewrite_value(field(native, "result"), (*at, "result"), text)
    kind = text_field(output, "type")
    if not kind:
        return rewrite_value(output, (*at, "output"), text)
    return _REWRITE.get(kind, _as_text)((*at, "output"), text)


def rewrite_value(value: Any, at: Path, text: str) -> list[Edit]:
    """Edits that make `text` what any value says; MCP's content becomes one text block."""
    content = field(value, "content")
    if isinstance(content, list) and content and all(map(_is_block, content)):
        return [Edit((*at, "content"), [{"type": "text", "text": text}])]
    return [Edit(at, text)]


def _in_value(at: Path, text: str) -> list[Edit]:
    return [Edit((*at, "value"), text)]


def _as_text(at: Path, text: str) -> list[Edit]:
    return [Edit((*at, "type"), "text"), Edit((*at, "value"), text)]


def _as_error(at: Path, text: str) -> list[Edit]:
    return [Edit((*at, "type"), "error-text"), Edit((*at, "value"), text)]


def _in_content(at: Path, text: str) -> list[Edit]:
    return [Edit((*at, "value"), [{"type": "text", "text": text}])]


def _in_reason(at: Path, text: str) -> list[Edit]:
    return [Edit((*at, "reason"), text)]


_REWRITE: Mapping[str, Callable[[Path, str], list[Edit]]] = MappingProxyType(
    {
        "text": _in_value,
        "json": _as_text,
        "error-text": _in_value,
        "error-json": _as_error,
        "content": _in_content,
        "execution-denied": _in_reason,
    }
)
"""Type of an output → the edits of it. JSON becomes a text, as an elision is none."""


def _file(block: Any) -> Part:
    """A file or an image: its data, its URL, or what a provider knows it by."""
    kind = text_field(block, "type")
    mime = text_field(block, "mediaType") or text_field(block, "mimeType")
    named = text_field(block, "url") or text_field(block, "fileId")
    is_image = kind.startswith("image") or mime.startswith("image/")
    return medium_part(text_field(block, "data"), named, block, is_image=is_image)


_FILES = ("media", "image", "file", "file-data", "file-url", "file-id", "image-data", "image-url")
READERS: Readers = MappingProxyType(
    {
        **dict.fromkeys((*_FILES, "image-file-id", "file-reference", "audio"), _file),
        **dict.fromkeys(("custom", "resource", "resource_link"), other_part),
    }
)
"""Content blocks of a result, MCP's too."""
