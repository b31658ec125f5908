"""Attributes of spans and log records, in the spellings of OTLP, of SDKs and of other exports.

OTLP spells any value with its type (`{"stringValue": …}`, lists and objects too), so an address in
what a value says is not one in the value. `Spelled` is a step of an address that knows both: it
leads to what is said, and says which edit of the native data makes an edit of that; `Gathered` does
the same where several attributes make one message.
Specification: DESIGN section 2; opentelemetry-proto, `AnyValue`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.messages import field, text_field
from compactor.formats.raw.edits import REMOVE, Edit, no_place
from compactor.formats.raw.json_compact import compact_json
from compactor.formats.raw.within import Within
from compactor.formats.recorded import items

_SCALARS: Final = ("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue")
_LIST, _OBJECT = "arrayValue", "kvlistValue"
_STRING: Final = _SCALARS[0]
_TYPES: Final = (*_SCALARS, _LIST, _OBJECT)
_SPELLINGS: Final = {
    **{key: key for key in _TYPES},
    **{f"{key.removesuffix('Value')}_value": key for key in _TYPES},
}
"""A type as protobuf's JSON has it, or with the names of its fields → the type."""


class Spelled(Within):
    """A step into a value of OTLP, which leads to what it says."""

    __slots__ = ()

    def edits(self, base: Path, rest: Path, value: Any) -> list[Edit]:
        """The native edits that make an edit of what is said.

        Args:
            base: address of the object that has this step.
            rest: address within what is said.
        """
        at, text = any_path(self.source, rest)
        here = (*base, str(self), *at)
        if value is REMOVE:
            return [Edit(here[:-1] if here[-1] == "value" else here, value)]
        return [Edit(here, spelled(value) if text is None else value)]


def any_path(native: Any, rest: Path) -> tuple[Path, Any]:
    """Where in an OTLP value the value at an address of what it says is.

    Returns:
        the address; None beside it when a whole OTLP value stands there, else the text that is
        entered or replaced there.
    """
    at: Path = ()
    for depth, step in enumerate(rest):
        key, kind, value = typed(native)
        if kind == _STRING:
            return (*at, key, *rest[depth:]), value
        inner = items(field(value, "values"))
        index = _index(inner, step, at) if kind == _OBJECT else int(step)
        at = (*at, key, "values", index)
        native = inner[index]
        if kind == _OBJECT:
            at, native = (*at, "value"), field(native, "value")
    key, kind, value = typed(native)
    return ((*at, key), value) if kind == _STRING else (at, None)


def _index(members: list[Any], key: str | int, at: Path) -> int:
    """The place of a key among members; the last of several counts.

    Raises:
        InternalError: `internal.edit` when there is none.
    """
    places = [i for i, member in enumerate(members) if str(field(member, "key")) == key]
    if not places:
        raise no_place(at, key)
    return places[-1]


def typed(native: Any) -> tuple[str, str, Any]:
    """The key of an OTLP value that says its type, that type, and what stands there.

    Returns:
        "" for key and type of what is none.
    """
    if isinstance(native, dict):
        for key, value in native.items():
            kind = _SPELLINGS.get(key)
            if kind is not None and value is not None:
                return key, kind, value
    return "", "", None


def said_by(native: Any) -> Any:
    """What an OTLP value says, in plain values. O(its size)."""
    _, kind, value = typed(native)
    if kind == _LIST:
        return [said_by(item) for item in items(field(value, "values"))]
    if kind == _OBJECT:
        members = items(field(value, "values"))
        return {str(field(m, "key")): said_by(field(m, "value")) for m in members}
    return value


def spelled(value: Any) -> Any:
    """A plain value as OTLP spells it."""
    if isinstance(value, str):
        return {_STRING: value}
    if isinstance(value, list):
        return {_LIST: {"values": [spelled(item) for item in value]}}
    if isinstance(value, dict):
        members = [{"key": key, "value": spelled(item)} for key, item in value.items()]
        return {_OBJECT: {"values": members}}
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {}


class Attribute(NamedTuple):
    """One attribute: what it says, and its address, which ends in a step that leads to that."""

    value: Any
    at: Path


Attributes = Mapping[str, Attribute]


def attributes_of(native: Any, at: Path) -> Attributes:
    """Attributes by name: of OTLP and of Jaeger they are a list, elsewhere an object."""
    if isinstance(native, dict):
        return {key: _plain(value, (*at, key)) for key, value in native.items()}
    return dict(_listed(native, at))


def _listed(native: Any, at: Path) -> Iterator[tuple[str, Attribute]]:
    for index, member in enumerate(items(native)):
        key, value = field(member, "key"), field(member, "value")
        if isinstance(key, str):
            yield key, attribute_at(value, (*at, index, "value"))


def attribute_at(value: Any, at: Path) -> Attribute:
    """A value that lies at an address, of OTLP or a plain one."""
    return _plain(value, at)


def _plain(value: Any, at: Path) -> Attribute:
    key, kind, inner = typed(value)
    if kind in (_LIST, _OBJECT):
        said = said_by(value)
        return Attribute(said, (*at[:-1], Spelled(str(at[-1]), value, said)))
    return Attribute(inner, (*at, key)) if kind else Attribute(value, at)


def native_edits(edits: Iterable[Edit]) -> list[Edit]:
    """Edits of what is said, as edits of the native data."""
    return [native for edit in edits for native in _native(edit)]


def _native(edit: Edit) -> list[Edit]:
    for depth, step in enumerate(edit.path):
        if isinstance(step, Spelled | Gathered):
            return step.edits(edit.path[:depth], edit.path[depth + 1 :], edit.value)
    return [edit]


class Place(NamedTuple):
    """Where a part of a gathered message is said.

    at: address of the attribute's value, as `Attribute` has it.
    is_text: what is there is a text, which may hold the JSON of that part.
    """

    at: Path
    is_text: bool


class Gathered(Within):
    """A step into a message that is put together from several attributes.

    source: what has them; value: the message.
    places: address in the message → where what is there is said.
    """

    __slots__ = ("places",)
    places: Mapping[Path, Place]

    def __new__(cls, key: str, source: Any, value: Any, places: Mapping[Path, Place]) -> Gathered:
        step = str.__new__(cls, key)
        step.source, step.value, step.places = source, value, places
        return step

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (str(self), self.source, self.value, self.places)

    def value_in(self, native: Any) -> Any:  # noqa: ARG002
        """The message: no native object has a key like this."""
        return self.value

    def edits(self, base: Path, rest: Path, value: Any) -> list[Edit]:
        """The edits of the attributes that say it; a text keeps being one."""
        for size in range(len(rest), -1, -1):
            place = self.places.get(rest[:size])
            if place is None:
                continue
            inner = rest[size:]
            if place.is_text and not inner and not isinstance(value, str):
                value = compact_json(value)
            return _native(Edit((*place.at, *inner), value))
        spread = [at for at in self.places if at[: len(rest)] == rest and at[-1] in _TEXTS]
        texts = [text_field(block, key) for block in items(value) for key in _TEXTS]
        new = "".join(texts) if isinstance(value, list) else value
        if not spread or not isinstance(new, str):
            return [Edit((*base, str(self), *rest), value)]
        changed = [(spread[0], new), *((at, "") for at in spread[1:])]
        return [e for at, text in changed for e in _native(Edit(self.places[at].at, text))]


_TEXTS: Final = ("text", "content")
