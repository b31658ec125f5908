"""Tool calls as harnesses hold them: ours, mappings, and the objects of provider SDKs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compactor.core.errors import InputError
from compactor.core.model import Call
from compactor.formats.raw.native import compact_json

_IDS = ("call_id", "id", "tool_call_id", "tool_use_id", "toolUseId", "toolCallId")
_NAMES = ("name", "tool_name", "tool", "toolName")
_ARGUMENTS = ("arguments", "input", "args")


def call_of(native: Any) -> Call:
    """A tool call in one shape.

    Args:
        native: a `Call`, a mapping or an SDK object with id, name and arguments (or input, args),
            flat or under `function`.

    Raises:
        InputError: `input.shape` when it names no tool.
    """
    if isinstance(native, Call):
        return native
    function = _get(native, "function")
    inner = function if function is not None and not isinstance(function, str) else native
    name = _first(inner, _NAMES)
    if not isinstance(name, str):
        raise InputError(
            "a tool call has a name",
            code="input.shape",
            path="call",
            hint='hand over the provider\'s call, or {"id": …, "name": …, "arguments": {…}}',
        )
    call_id = _first(native, _IDS)
    return Call(call_id if isinstance(call_id, str) else "", name, _text(_first(inner, _ARGUMENTS)))


def _text(arguments: Any) -> str:
    if arguments is None:
        return "{}"
    return arguments if isinstance(arguments, str) else compact_json(arguments)


def _first(native: Any, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := _get(native, name)) is not None), None)


def _get(native: Any, name: str) -> Any:
    if isinstance(native, Mapping):
        return native.get(name)
    return getattr(native, name, None)
