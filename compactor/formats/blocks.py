"""Content blocks, the same way in every format that has `{"type": …}` blocks.

A format brings a table from block type to a reader; text blocks are read here. A block that is in
no table, or not what its type says, is counted by its length, carried through, and said. Also
here: what a tool definition and a call's arguments count as, and the block that replaces others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compactor.core.model import Call, Part, PartKind, Path
from compactor.formats.builder import Builder
from compactor.formats.media import digest_of
from compactor.formats.messages import field, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json, compact_json_text

Readers = Mapping[str, Callable[[Any], Part]]
"""Block type → what a block of this type counts as. `text` is not in it."""


def as_text(block: Any) -> Part:
    """The reader that makes a type another word for `text`, in bodies too."""
    return Part(PartKind.TEXT, text_field(block, "text"))


def content_parts(builder: Builder, content: Any, at: Path, readers: Readers) -> list[Part]:
    """Parts of a content without calls and results: a string, a list of blocks, or nothing."""
    if isinstance(content, str):
        return [Part(PartKind.TEXT, content)]
    if isinstance(content, list):
        return [
            block_part(builder, block, (*at, index), readers) for index, block in enumerate(content)
        ]
    return [] if content is None else [unknown_part(builder, content, at)]


def block_part(builder: Builder, block: Any, at: Path, readers: Readers) -> Part:
    """The part of one block that is neither call nor result."""
    text = block_text(builder, block, at, readers)
    if text is not None:
        return Part(PartKind.TEXT, text)
    kind = field(block, "type")
    read = readers.get(kind) if isinstance(kind, str) else None
    if read is None or read is as_text:
        return unknown_part(builder, block, at)
    return read(block)


def block_text(builder: Builder, block: Any, at: Path, readers: Readers) -> str | None:
    """The text of a text block; None for any other block."""
    kind, text = field(block, "type"), field(block, "text")
    if not isinstance(text, str) or not isinstance(kind, str):
        return None
    if kind != "text":
        return text if readers.get(kind) is as_text else None
    if not text:
        builder.report("empty_text", "providers refuse an empty text block", dotted(at))
    return text


def result_facts(
    builder: Builder, content: Any, at: Path, readers: Readers
) -> tuple[list[str], list[Part], bool]:
    """What a result's content holds.

    Returns:
        its non-empty texts; everything else; whether it is neither a string, blocks, nor nothing,
        and so must stay as it is.
    """
    if not isinstance(content, list):
        is_odd = not (content is None or isinstance(content, str))
        parts = content_parts(builder, content, at, readers)
        return ([], parts, True) if is_odd else ([p.text for p in parts if p.text], [], False)
    texts: list[str] = []
    others: list[Part] = []
    for index, block in enumerate(content):
        text = block_text(builder, block, (*at, index), readers)
        if text is None:
            others.append(block_part(builder, block, (*at, index), readers))
        elif text:
            texts.append(text)
    return texts, others, False


def unknown_part(builder: Builder, native: Any, at: Path) -> Part:
    """What cannot be read: counted by its length, and said."""
    builder.report("unknown_block", "not a block that this format is known to hold", dotted(at))
    return other_part(native)


def report_compaction(builder: Builder, at: Path) -> None:
    """Say that the provider has summarised what lies before a block or item."""
    message = "the provider has summarised what lies before this, and no longer looks at it"
    builder.report("provider_compaction", message, dotted(at))


def other_part(native: Any) -> Part:
    """A block that is carried through as it is, by its compact JSON."""
    text = compact_json(native)
    return Part(PartKind.OTHER, size=len(text), digest=digest_of(text))


def rewrite_content(
    content: Any,
    at: Path,
    text: str,
    kept: Sequence[str],
    kind: str = "text",
) -> list[Edit]:
    """Edits that make `text` the content at `at`: a string stays one, blocks become one text block.

    Args:
        kept: keys (cache breakpoints) of which the new block has the last value of the old ones.
        kind: type of the new block.

    Returns:
        nothing when there is no content to rewrite.
    """
    if isinstance(content, str):
        return [Edit(at, text)]
    if not isinstance(content, list):
        return []
    block: dict[str, Any] = {"type": kind, "text": text}
    for key in kept:
        values = [field(old, key) for old in content if field(old, key) is not None]
        if values:
            block[key] = values[-1]
    return [Edit(at, [block])]


def tool_texts(tool: Any, definition: Any, schema_key: str) -> list[str]:
    """Name, description and parameter schema of a tool definition.

    Args:
        definition: the object that holds the three: the tool, or an object inside it.

    Returns:
        Without a schema (hosted tools): the compact JSON of the whole tool but `cache_control`.
    """
    schema = field(definition, schema_key)
    if schema is None:
        if isinstance(tool, dict):
            tool = {key: value for key, value in tool.items() if key != "cache_control"}
        return [compact_json(tool)]
    names = [text_field(definition, "name"), text_field(definition, "description")]
    return [*names, compact_json(schema)]


def arguments_text(native: Any) -> str:
    """A call's arguments as counted: compact JSON, or as written when they are no JSON."""
    if native is None:
        return ""
    if not isinstance(native, str):
        return compact_json(native)
    compact = compact_json_text(native)
    return native if compact is None else compact


def rewrite_argument(root: Any, call: Call, path: Path, text: str) -> list[Edit]:
    """Edits that set the string at `path` in a call's arguments, an object or a text of JSON.

    Arguments that are no JSON have only the empty path: the whole text.
    """
    native = value_at(root, call.at)
    is_json = not isinstance(native, str) or compact_json_text(native) is not None
    if path and is_json:
        return [Edit((*call.at, *path), text)]
    return [Edit(call.at, compact_json(text) if isinstance(native, str) and is_json else text)]
