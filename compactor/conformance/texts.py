"""Text values: how a long text is written in a case without making the case long.

`{"chars": "x", "times": 40000}`, `{"repeat": "line %d\\n", "from": 1, "to": 99}` and
`{"cat": [text, …]}` stand for texts. They are expanded before anything else looks at a message, in
one place, and bounded, so that a line of a few bytes cannot ask for the whole memory. The object
that holds a tool's own JSON is left alone: there such keys mean something else.
Specification: CONFORMANCE, Text values.
"""

from __future__ import annotations

from typing import Any

from compactor.core.errors import InputError
from compactor.core.model import Path
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.json_text import Pairs

CHARS_MAX = 64 * 1024 * 1024
"""Characters that all text values of one message may have together."""
_NESTING_MAX = 16
_TOOLS_OWN = frozenset({"args", "arguments", "input", "input_schema", "parameters"})
"""Keys whose object is a call's arguments or a tool's schema, in any of the formats."""


def expand(root: Any, at: Path) -> None:
    """Put texts in the places of all text values inside a parsed value. O(its size and texts').

    Args:
        root: a parsed JSON value of the caller's own; changed in place.
        at: its address, for errors.

    Raises:
        InputError: `input.shape` when the texts would be longer than `CHARS_MAX` together.
    """
    left = CHARS_MAX
    waiting = [(root, at)]
    while waiting:
        container, place = waiting.pop()
        for key, value in _items(container):
            here = (*place, key)
            size = _size(value, _NESTING_MAX)
            if size is None:
                if isinstance(value, list) or key not in _TOOLS_OWN:
                    waiting.append((value, here))
            elif not isinstance(container, Pairs):
                left -= size
                if left < 0:
                    raise _too_long(here)
                container[key] = _text(value)


def _items(value: Any) -> list[tuple[Any, Any]]:
    """The members of a container that may hold text values themselves."""
    if isinstance(value, dict):
        members: list[tuple[Any, Any]] = list(value.items())
    else:
        members = list(enumerate(value)) if isinstance(value, list) else []
    return [(key, member) for key, member in members if isinstance(member, (dict, list))]


def _size(value: Any, depth: int) -> int | None:
    """Characters of the text that a text value stands for; None when it is no text value."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, dict) or depth == 0:
        return None
    match value:
        case {"chars": str(chars), "times": int(times)} if len(value) == 2 and times >= 0:
            return len(chars) * times
        case {"repeat": str(line), "from": int(first), "to": int(last)} if len(value) == 3:
            longest = max(len(str(first)), len(str(last)))
            return max(0, last - first + 1) * (len(line) + line.count("%d") * longest)
        case {"cat": list(texts)} if len(value) == 1:
            sizes = [_size(text, depth - 1) for text in texts]
            return None if None in sizes else sum(size or 0 for size in sizes)
    return None


def _text(value: Any) -> str:
    """The text of what `_size` found to be a text."""
    match value:
        case {"chars": chars, "times": times}:
            return str(chars) * int(times)
        case {"repeat": line, "from": first, "to": last}:
            return "".join(line.replace("%d", str(n)) for n in range(first, last + 1))
        case {"cat": texts}:
            return "".join(map(_text, texts))
    return str(value)


def _too_long(at: Path) -> InputError:
    return InputError(
        f"the text values of one message may have {CHARS_MAX} characters together",
        code="input.shape",
        path=dotted(at),
    )
