"""What writers share: arguments as values, media as URLs, and which entries share a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compactor.core.model import Kind
from compactor.formats.raw.json_text import NotJsonError, read_value
from compactor.formats.talk import Asked, Medium, Said, Tool


def arguments(call: Asked) -> Any:
    """The arguments as a value, spelled as they were; the text itself when they are no JSON."""
    try:
        value, end = read_value(call.arguments, 0)
    except NotJsonError:
        return call.arguments
    return value if end == len(call.arguments) else call.arguments


def named(tool: Tool) -> dict[str, Any]:
    """Name and description of a tool; one without a description has none."""
    name: dict[str, Any] = {"name": tool.name}
    return name | {"description": tool.description} if tool.description else name


def url_of(medium: Medium) -> str:
    """Where a medium is: its address, or a data URL."""
    return medium.url or f"data:{medium.mime};base64,{medium.data}"


def exchanges(said: Iterable[Said]) -> list[list[Said]]:
    """Results share a message, and what the person says next goes behind them in it."""
    groups: list[list[Said]] = []
    for each in said:
        follows = groups and groups[-1][-1].kind is Kind.TOOL
        if follows and each.kind in (Kind.TOOL, Kind.USER):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups
