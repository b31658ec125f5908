"""Tool definitions in whatever shape a recording has them.

A framework keeps tools as it likes: OpenAI's, Anthropic's or its own objects, a mapping from their
names, or each as a JSON text. All have a name, a description and a schema under one of a few keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compactor.formats.messages import field, text_field
from compactor.formats.raw.json_text import NotJsonError
from compactor.formats.raw.native import compact_json
from compactor.formats.raw.objects import is_object
from compactor.formats.raw.within import inner_value

SCHEMAS: Final = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parameters_json_schema",
    "parametersJsonSchema",
    "args_schema",
    "schema",
)
DEFINITIONS: Final = ("function", "toolSpec", "tool", "ToolSpecification")
NAMES: Final = ("name", "toolName")


def any_tool_texts(tool: Any) -> list[str]:
    """Name, description and parameter schema; of what has neither, its compact JSON."""
    tool = unpacked(tool)
    if isinstance(tool, list):
        return [text for inner in tool for text in any_tool_texts(inner)]
    definition = next((d for d in (field(tool, key) for key in DEFINITIONS) if is_object(d)), tool)
    found = (field(definition, key) for key in SCHEMAS)
    schema = next((schema for schema in found if schema is not None), None)
    name = next(filter(None, (text_field(definition, key) for key in NAMES)), "")
    if (
        not name
        and schema is None
        and isinstance(tool, dict)
        and all(map(is_object, tool.values()))
    ):
        return [*_by_name(tool)]
    if not name and schema is None:
        return [compact_json(tool)]
    schema = field(schema, "json") or field(schema, "jsonSchema") or schema
    texts = [name, text_field(definition, "description")]
    return [*texts, "" if schema is None else compact_json(schema)]


def _by_name(tools: dict[str, Any]) -> Iterator[str]:
    """The texts of tools under their names."""
    for name, tool in tools.items():
        texts = any_tool_texts(tool)
        if not text_field(tool, "name"):
            yield name
        yield from texts


def unpacked(tool: Any) -> Any:
    """A tool that is a JSON text, as what that says."""
    if not isinstance(tool, str):
        return tool
    try:
        return inner_value(tool)
    except NotJsonError:
        return tool
