"""Tool definitions, told by their shape: a function is one in every format that declares it.

A definition that no other format has words for (hosted tools, tools with a grammar) is kept only
where it is written in the format it comes from, and there every one is kept as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from compactor.formats.messages import field, listed, text_field
from compactor.formats.raw.json_compact import compact_json
from compactor.formats.raw.json_text import read_value
from compactor.formats.raw.objects import is_object
from compactor.formats.talk import Tool
from compactor.formats.tool_texts import DEFINITIONS, NAMES, SCHEMAS, unpacked

_DECLARED: Final = ("functionDeclarations", "function_declarations")
_TYPES: Final = {
    "OBJECT": "object",
    "ARRAY": "array",
    "STRING": "string",
    "NUMBER": "number",
    "INTEGER": "integer",
    "BOOLEAN": "boolean",
    "NULL": "null",
}
"""Gemini's names of types → JSON Schema's."""


def tools_of(natives: Iterable[Any], *, same: bool) -> tuple[list[Tool], list[str]]:
    """Tools for a talk, and what could not be one, by name.

    Args:
        same: they are written in the format they come from.
    """
    if same:
        return [Tool(_name(tool), native=tool) for native in natives for tool in listed(native)], []
    tools: list[Tool] = []
    left: list[str] = []
    for native in natives:
        for definition in _definitions(native):
            tool = _function(definition)
            if tool is None:
                left.append(_name(definition))
            else:
                tools.append(tool)
    return tools, left


def _definitions(native: Any) -> Iterator[Any]:
    """The definitions in a tool: one may be a text, and several stand in one in many ways."""
    native = unpacked(native)
    declared = [d for key in _DECLARED for d in listed(field(native, key))]
    if field(native, "type") == "namespace":
        declared = [*listed(field(native, "tools"))]
    if isinstance(native, list) or declared:
        for inner in declared or native:
            yield from _definitions(inner)
    elif isinstance(native, dict) and native and not _has_name(native) and _is_map(native):
        for name, inner in native.items():
            yield inner if _has_name(inner) else {"name": name, **inner}
    else:
        yield native


def _is_map(native: dict[str, Any]) -> bool:
    """Whether tools stand under their names."""
    is_one = any(key in native for key in DEFINITIONS)
    return not is_one and all(isinstance(inner, dict) for inner in native.values())


def _has_name(native: Any) -> bool:
    return any(text_field(native, key) for key in NAMES)


def _function(native: Any) -> Tool | None:
    """A function that the client runs; None for any other tool."""
    kind = field(native, "type")
    inner = next((field(native, k) for k in DEFINITIONS if is_object(field(native, k))), None)
    body = native if inner is None else inner
    schema = next((s for s in (field(body, key) for key in SCHEMAS) if is_object(s)), None)
    name = next(filter(None, (text_field(body, key) for key in NAMES)), "")
    is_bare = schema is None and kind != "function" and inner is None and kind is not None
    if not name or is_bare:
        return None
    return Tool(name, text_field(body, "description"), _schema(schema))


def _schema(schema: Any) -> dict[str, Any]:
    """A schema of an object, which is what every API wants arguments to be."""
    inner = field(schema, "json") or field(schema, "jsonSchema")
    plain, _ = read_value(compact_json(inner if is_object(inner) else schema), 0)
    return (
        {"type": "object", **_respelled(plain)} if isinstance(plain, dict) else {"type": "object"}
    )


def _respelled(value: Any) -> Any:
    """A schema with types as JSON Schema spells them. As deep as what is read, so bounded."""
    if isinstance(value, list):
        return [_respelled(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _TYPES.get(item, item) if key == "type" and isinstance(item, str) else _respelled(item)
        for key, item in value.items()
    }


def _name(native: Any) -> str:
    """What a tool is called in a finding."""
    inner = next((field(native, k) for k in DEFINITIONS if is_object(field(native, k))), native)
    first = next(map(str, native), "") if isinstance(native, dict) else ""
    return (text_field(inner, "name") or text_field(native, "type") or first or "a tool")[:80]
