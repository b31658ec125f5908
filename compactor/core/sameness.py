"""When two calls and what they gave are the same.

Arguments are compared as JSON with sorted keys, numbers as spelled; what is no JSON, or larger or
deeper than any call that is worth it, as written. Specification: seed 000 section 6.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

_CHARS = 100_000
_DEPTH = 100


class _Number(str):
    """A number as it is spelled."""

    __slots__ = ()


def same_key(tool: str, arguments: str, text: str) -> str:
    """Identity of a call with its result: 32 hex digits. O(arguments + text)."""
    digest = hashlib.sha256()
    for part in (tool, ordered(arguments), text):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()[:32]


def ordered(arguments: str) -> str:
    """JSON with sorted keys and no spaces; as written where it cannot be read."""
    if len(arguments) > _CHARS or arguments.count("[") + arguments.count("{") > _DEPTH:
        return arguments
    try:
        value = json.loads(
            arguments, parse_int=_Number, parse_float=_Number, parse_constant=_Number
        )
    except ValueError:
        return arguments
    return "".join(_spelled(value))


def _spelled(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for key in sorted(value):
            yield f"{json.dumps(key)}:"
            yield from _spelled(value[key])
            yield ","
        yield "}"
    elif isinstance(value, list):
        yield "["
        for item in value:
            yield from _spelled(item)
            yield ","
        yield "]"
    else:
        yield value if isinstance(value, _Number) else json.dumps(value)
