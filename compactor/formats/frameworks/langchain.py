"""LangChain: dumped messages, and states, checkpoints and prompts that hold them.

A list of messages is one conversation, as the next request would carry it; a message that removes
others takes them out of it. Usage stands beside each answer. What a message holds is in
`langchain_messages`. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from compactor.core.model import Entry, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.builder import Builder
from compactor.formats.frameworks.langchain_messages import (
    REMOVED,
    SYSTEM,
    TURN,
    fields_at,
    fields_of,
    is_own,
    kind_of,
    say,
    usage_of,
)
from compactor.formats.lens_bases import AddressedCalls
from compactor.formats.messages import (
    Body,
    Carried,
    field,
    listed,
    read_messages,
    shape_error,
    text_field,
    value_at,
)
from compactor.formats.placed import Listing, placed, read_placed
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.raw.objects import is_object
from compactor.formats.recorded import left_behind
from compactor.formats.tool_texts import any_tool_texts

_KEY = "messages"
_PLACES: tuple[Path, ...] = (
    (_KEY,),
    ("values", _KEY),
    ("channel_values", _KEY),
    ("checkpoint", "channel_values", _KEY),
    ("kwargs", _KEY),
    ("state", _KEY),
    ("output", _KEY),
    ("outputs", _KEY),
    ("input", _KEY),
    ("inputs", _KEY),
)
"""Where states, checkpoints, prompts and answers of a graph have their messages."""
_ALL = "__remove_all__"


class LangChain(AddressedCalls):
    """The lens of LangChain's dumped messages, in all three spellings, and of LangGraph's states
    and checkpoints that hold them."""

    name = "langchain"
    leading = (SYSTEM,)

    def recognises(self, root: Any) -> bool:
        body = _located(root)
        if body is None or not body.items or not kind_of(body.items[0]):
            return False
        return any(map(is_own, body.items))

    def read(self, root: Any, known: Reading | None = None) -> Reading:
        body = _located(root)
        if body is None:
            raise shape_error((), "no list of LangChain's messages")
        gone = _removed(body.items)
        reading = _without(self, body, gone) if gone else read_messages(self, body, known)
        if known is None:
            reading.usage = tuple(_usage(body, reading.entries, gone))
        models = (use.model for use in reversed(reading.usage) if use.model)
        reading.model = reading.model or next(models, "")
        return reading

    def all_usage(self, root: Any) -> list[Usage]:
        body = _located(root)
        items = body.items if body else ()
        return [use for item in items if kind_of(item) == TURN for use in usage_of(item, 0)]

    def messages(self, root: Any) -> Sequence[Any]:
        body = _located(root)
        return body.items if body else ()

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        message = value_at(root, entry.at)
        at = (*entry.at, *fields_at(message), "content")
        return blocks.rewrite_content(field(fields_of(message), "content"), at, text, ())

    def leads(self, message: Any) -> bool:
        return kind_of(message) == SYSTEM

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        if not is_object(message):
            raise shape_error(at, "a message must be an object")
        if kind_of(message) != REMOVED:
            say(builder, message, at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        tools = body.fields.get("tools")
        texts: list[Any] = []
        for message in lead:
            texts += listed(field(fields_of(message), "content"))
        return Carried(tuple(texts), tuple(listed(tools)), bool(lead) or tools is not None)

    def tool_texts(self, tool: Any) -> list[str]:
        return any_tool_texts(tool)


def _located(root: Any) -> Body | None:
    """The messages of a root; of a history of states those of the newest, which is the first."""
    if isinstance(root, list) and root and not kind_of(root[0]):
        inner = _located(root[0]) if isinstance(root[0], dict) else None
        return inner._replace(base=(0, *inner.base)) if inner else None
    if isinstance(root, list):
        return Body({}, (), root)
    for at in _PLACES if isinstance(root, dict) else ():
        items = _inside(root, at)
        if isinstance(items, list):
            is_batch = len(items) == 1 and isinstance(items[0], list)
            return Body(root, (*at, 0), items[0]) if is_batch else Body(root, at, items)
    return None


def _inside(root: Any, at: Path) -> Any:
    for key in at:
        root = field(root, str(key))
    return root


def _removed(items: Sequence[Any]) -> frozenset[int]:
    """Indexes of messages that later ones take out."""
    places: dict[str, list[int]] = {}
    gone: set[int] = set()
    for index, message in enumerate(items):
        own = text_field(fields_of(message), "id")
        if kind_of(message) != REMOVED:
            places.setdefault(own, []).append(index)
            continue
        gone.add(index)
        taken = range(index) if own == _ALL else places.pop(own, ()) if own else ()
        gone.update(taken)
    return frozenset(gone)


def _without(lens: LangChain, body: Body, gone: frozenset[int]) -> Reading:
    """A reading of the messages that are left, at their places."""
    left = [message for i, message in enumerate(placed(body.items, body.base)) if i not in gone]
    reading = read_placed(Listing(lens, body.fields, left))
    taken = sum(kind_of(body.items[index]) != REMOVED for index in gone)
    reading.findings += left_behind(taken, dotted((*body.base, min(gone))))
    return reading


def _usage(body: Body, entries: Sequence[Entry], gone: frozenset[int]) -> Iterator[Usage]:
    """Usage of the answers that are left, each before the entry that it is in. O(n log n)."""
    depth = len(body.base)
    starts = [int(entry.at[depth]) for entry in entries]
    for index, message in enumerate(body.items):
        if index in gone or kind_of(message) != TURN:
            continue
        n = bisect_right(starts, index) - 1
        if n >= 0:
            yield from usage_of(message, n)
