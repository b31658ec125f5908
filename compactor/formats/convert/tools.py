"""Tool definitions, told by their shape: a function is one in every format that declares it.

A definition that no other format has words for (hosted tools, tools with a grammar) is kept only
where it is written in the format it comes from, and there every one is kept as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from compactor.formats.json_compact import compact_json
from compactor.formats.json_text import read_value
from compactor.formats.messages import field, listed, text_field
from compactor.formats.objects import is_object
from compactor.formats.talk import Tool

_SCHEMAS: Final = (
    *("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema"),
    "inputSchema",
)
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
        return [Tool(_name(native), native=native) for native in natives], []
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
    """The definitions in a tool: Gemini and namespaces have several in one."""
    declared = [d for key in _DECLARED for d in listed(field(native, key))]
    if declared:
        yield from declared
    elif field(native, "type") == "namespace":
        yield from listed(field(native, "tools"))
    else:
        yield native


def _function(native: Any) -> Tool | None:
    """A function that the client runs; None for any other tool."""
    kind = field(native, "type")
    inner = next(
        (field(native, key) for key in ("function", "toolSpec") if _has(native, key)), None
    )
    body = native if inner is None else inner
    schemas = (field(body, key) for key in _SCHEMAS)
    schema = next((schema for schema in schemas if is_object(schema)), None)
    name = text_field(body, "name")
    is_bare = schema is None and kind != "function" and inner is None and kind is not None
    if not name or is_bare:
        return None
    return Tool(name, text_field(body, "description"), _schema(schema))


def _has(native: Any, key: str) -> bool:
    return is_object(field(native, key))


def _schema(schema: Any) -> dict[str, Any]:
    """A schema of an object, which is what every API wants arguments to be."""
    inner = field(schema, "json")
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
    inner = field(native, "function") or field(native, "toolSpec") or native
    return (text_field(inner, "name") or text_field(native, "type") or "a tool")[:80]
