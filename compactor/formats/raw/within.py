"""JSON texts inside strings: addresses go on in them.

A step of an address into a string enters the JSON that the string holds, at any depth of strings in
strings; looking up, `edits` and `splice` all take it so. `Within` is a step that also remembers
what the string said, so that looking up a hundred addresses in one string parses it once. It equals
the plain key. Specification: DESIGN section 2.
"""

from __future__ import annotations

from typing import Any

from compactor.formats.raw.json_text import NotJsonError, after_space, read_value


class Within(str):
    """A key, as a step that enters the string under it.

    source: the string.
    value: the value of the JSON that it holds; of a string in a string, of the innermost.
    """

    __slots__ = ("source", "value")
    source: Any
    value: Any

    def __new__(cls, key: str, source: Any, value: Any) -> Within:
        step = super().__new__(cls, key)
        step.source = source
        step.value = value
        return step

    def __getnewargs__(self) -> tuple[str, Any, Any]:  # type: ignore[override]
        return (str(self), self.source, self.value)

    def value_in(self, native: Any) -> Any:
        """The value at this step, of native data that may have changed since."""
        found = native[str(self)]
        return self.value if found is self.source or found == self.source else found


def within(key: str, text: Any) -> Within | None:
    """The step that enters a string with a JSON object or list; None where it holds none."""
    if not isinstance(text, str) or not text.lstrip(_SPACE).startswith(_OPENING):
        return None
    try:
        value = inner_value(text)
    except NotJsonError:
        return None
    return Within(key, text, value) if isinstance(value, (dict, list)) else None


_SPACE = " \t\r\n"
_OPENING = ("{", "[", '"')


def inner_value(text: str) -> Any:
    """The value of a JSON text; of one that is a string, of the JSON in that string. Linear.

    Raises:
        NotJsonError: it is none.
    """
    value: Any = text
    while isinstance(value, str):
        value = whole_value(value)[0]
    return value


def whole_value(text: str) -> tuple[Any, int]:
    """The value of a JSON text with nothing behind it, and where it begins.

    Raises:
        NotJsonError: it is none.
    """
    start = after_space(text, 0)
    value, end = read_value(text, start)
    if after_space(text, end) < len(text):
        raise NotJsonError("expected the end of the text", end, wants_value=False)
    return value, start
