"""The format-neutral shape: entries as JSON, and entries shown as it.

One object is one entry, but for adjacent assistant ones; a system entry is an entry wherever it
stands. The shape is our own, so what is not of it is refused, unknown keys aside, which stay.
Specification: CONFORMANCE, Entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compactor.core.model import Call, Entry, Kind, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.builder import Builder
from compactor.formats.lens_bases import MessageList
from compactor.formats.media import digest_of
from compactor.formats.messages import (
    Body,
    Carried,
    field,
    locate,
    shape_error,
    text_field,
    value_at,
    word_of,
)
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.speech import SHAPES

_KINDS = tuple(kind.value for kind in Kind)
_IMAGES_MAX = 1000
"""More images than any provider takes in one request."""


class Entries(MessageList):
    """The lens of the neutral shape: a list of entries, or an object with `entries`."""

    name = "entries"
    shape = SHAPES["entries"]
    leading = ()

    def recognises(self, root: Any) -> bool:
        items = root if isinstance(root, list) else field(root, "entries")
        if not isinstance(items, list):
            return False
        return field(items[0], "kind") in _KINDS if items else isinstance(root, dict)

    def located(self, root: Any) -> Body:
        return locate(root, "entries")

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        edits = [Edit((*entry.at, "text"), text)]
        if field(value_at(root, entry.at), "images") is not None:
            edits.append(Edit((*entry.at, "images"), 0))
        return edits

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        kind = word_of(message, "kind", _KINDS, at)
        text = _text(message, "text", at)
        if kind == Kind.TOOL:
            _say_result(builder, message, text, at)
        elif kind == Kind.ASSISTANT:
            builder.turn([Part(PartKind.TEXT, text)], _calls(message, at), at)
        else:
            say = builder.user if kind == Kind.USER else builder.system
            say([Part(PartKind.TEXT, text)], at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:  # noqa: ARG002
        return Carried()

    def tool_texts(self, tool: Any) -> list[str]:  # noqa: ARG002
        return []


def to_neutral(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Entries in the neutral shape with all its keys; texts joined with a newline."""
    return [_shown(entry) for entry in entries]


def _shown(entry: Entry) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": entry.kind.value}
    if entry.kind is Kind.TOOL:
        images = sum(part.kind is PartKind.IMAGE for part in entry.parts)
        return shown | {
            "call": entry.call_id,
            "text": entry.body,
            "error": entry.error,
            "images": images,
        }
    shown["text"] = "\n".join(part.text for part in entry.parts if part.kind is PartKind.TEXT)
    if entry.kind is Kind.ASSISTANT:
        shown["calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in entry.calls
        ]
    return shown


def _say_result(builder: Builder, message: Any, text: str, at: Path) -> None:
    error, images = field(message, "error"), field(message, "images")
    if error is not None and not isinstance(error, bool):
        raise shape_error((*at, "error"), "true or false was expected")
    if images is not None and (type(images) is not int or not 0 <= images <= _IMAGES_MAX):
        raise shape_error((*at, "images"), f"a number from 0 to {_IMAGES_MAX} was expected")
    builder.result(
        _text(message, "call", at),
        [text] if text else [],
        [Part(PartKind.IMAGE, digest=digest_of(str(index))) for index in range(images or 0)],
        at,
        error=error is True,
        orphan_path=dotted(at),
    )


def _calls(message: Any, at: Path) -> list[Call]:
    natives = field(message, "calls")
    if natives is not None and not isinstance(natives, list):
        raise shape_error((*at, "calls"), "a list was expected")
    return [_call(native, (*at, "calls", index)) for index, native in enumerate(natives or ())]


def _call(native: Any, at: Path) -> Call:
    if not isinstance(native, dict):
        raise shape_error(at, "an object was expected")
    arguments = blocks.arguments_text(native.get("arguments"))
    return Call(_text(native, "id", at), _text(native, "name", at), arguments, (*at, "arguments"))


def _text(native: Any, key: str, at: Path) -> str:
    """A text of the shape; absent and null are ""."""
    value = field(native, key)
    if value is not None and not isinstance(value, str):
        raise shape_error((*at, key), "a text was expected")
    return text_field(native, key)
