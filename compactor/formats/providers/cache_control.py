"""Anthropic's cache breakpoints: where they stand in a request, and setting one.

Beside breakpoints on blocks a request may have an automatic one at its end (a `cache_control` of
its own), which takes one of the four places. A breakpoint of the long lifetime may not stand behind
one of the short one, so a new one takes the lifetime of those behind it. Source: providers.md A1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compactor.core.model import Entry, Kind, Path
from compactor.formats.messages import field, listed, locate, text_field, value_at
from compactor.formats.raw.edits import Edit

KEY = "cache_control"
LIMIT = 4
RULES = ("anthropic_breakpoints",)
_LONG = "1h"
_MARKABLE = (
    "browser_state",
    "container_upload",
    "document",
    "image",
    "search_result",
    "text",
    "tool_addition",
    "tool_reference",
    "tool_removal",
)
"""Blocks of a person or the system that may have one; of the others we do not know it."""


def block_at_end(root: Any, entry: Entry) -> Path | None:
    """The block that ends an entry, or the last in it that may have a breakpoint.

    Returns:
        None for a model's turn, which a request does not end in, and for a message whose results
        stand between other blocks, which no provider takes.
    """
    if entry.kind is Kind.TOOL:
        return entry.at
    content, at = field(value_at(root, entry.at), "content"), (*entry.at, "content")
    if entry.kind is Kind.ASSISTANT:
        return None
    if isinstance(content, str):
        return at if content.strip() else None
    blocks = [*listed(content)]
    runs = _runs(blocks)
    ends = [index for index in runs[0] if _may_have(blocks[index])] if len(runs) == 1 else []
    return (*at, ends[-1]) if ends else None


def _runs(blocks: list[Any]) -> list[list[int]]:
    """The indexes of blocks that are no results, by the runs they stand in."""
    runs: list[list[int]] = []
    after_result = True
    for index, block in enumerate(blocks):
        is_result = field(block, "type") == "tool_result"
        if not is_result:
            if after_result:
                runs.append([])
            runs[-1].append(index)
        after_result = is_result
    return runs


def _may_have(block: Any) -> bool:
    """Empty texts may not."""
    kind = field(block, "type")
    return kind in _MARKABLE and (kind != "text" or bool(text_field(block, "text").strip()))


def count(root: Any) -> int:
    """How many breakpoints a request has. O(blocks)."""
    return sum(1 for _ in _marks(root)) + (field(root, KEY) is not None)


def place(root: Any, at: Path) -> list[Edit]:
    """Edits that set a breakpoint at an address that `block_at_end` gave.

    Returns:
        none where there is one: on the block, or automatically at the end of the request.
    """
    block, automatic = value_at(root, at), field(root, KEY)
    last = len(locate(root).items) - 1
    if field(block, KEY) is not None or (automatic is not None and last in at[:2]):
        return []
    behind = [mark for path, mark in _marks(root) if _order(path) > _order(at)]
    behind += [automatic] if automatic is not None else []
    is_long = any(field(mark, "ttl") == _LONG for mark in behind)
    mark = {"type": "ephemeral"} | ({"ttl": _LONG} if is_long else {})
    if isinstance(block, str):
        return [Edit(at, [{"type": "text", "text": block, KEY: mark}])]
    return [Edit((*at, KEY), mark)]


def _marks(root: Any) -> Iterator[tuple[Path, Any]]:
    """The breakpoints on blocks, with the addresses of those in messages."""
    for key in ("tools", "system"):
        for block in listed(field(root, key)):
            if field(block, KEY) is not None:
                yield (), field(block, KEY)
    body = locate(root)
    for index, message in enumerate(body.items):
        yield from _marks_in(field(message, "content"), (*body.base, index, "content"))


def _marks_in(content: Any, at: Path) -> Iterator[tuple[Path, Any]]:
    """The breakpoints in a content, and in those of its results."""
    if not isinstance(content, (list, tuple)):
        return
    for index, block in enumerate(content):
        here = (*at, index)
        if field(block, "type") == "tool_result":
            yield from _marks_in(field(block, "content"), (*here, "content"))
        if field(block, KEY) is not None:
            yield here, field(block, KEY)


def _order(path: Path) -> tuple[int, ...]:
    """The place of an address in the prompt; what is not in the messages is before them."""
    return tuple(step for step in path if isinstance(step, int))
