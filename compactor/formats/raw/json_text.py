"""Reads JSON text faithfully: what Python values cannot carry rides beside them.

Values are ordinary. What they could not be spelled back from is carried by three small types:
`Spelled` (a number that `json.dumps` would write otherwise), `Pairs` (an object with duplicate
keys) and `Opaque` (a value nested deeper than `NESTING_LIMIT`). The C scanner of `json` does the
work; what it refuses goes to an iterative reader with the same results, so neither depth nor the
caller's stack nor Python's version changes what is read. Linear in the text. Specification: DESIGN
section 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

NESTING_LIMIT: Final = 100
"""Containers around a value; deeper containers become `Opaque`. Real transcripts stay below 30."""

_PLAIN_DIGITS: Final = 600
"""Longer integers are carried as text: below Python's smallest limit of int/str conversion, 640."""

OR_BACK: Final = "|(?!)"
"""Ends a group that is repeated possessively (so that long strings cost no memory).

Python before 3.11.5 does not go back where an iteration of such a group failed half-way; before it
tries another branch it does, so each of ours has one that cannot match.
"""

STRING: Final = rf'"[^"\\]*+(?:\\.[^"\\]*+{OR_BACK})*+"'
"""Pattern of a string inside text known to be JSON (flag DOTALL)."""


class Spelled(float):
    """A number with its own spelling (`1E2`, `-0`, `4.10`, `NaN`, very long integers)."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Spelled:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        return (self.text,)


class Pairs(dict[str, Any]):
    """An object with duplicate keys: a dict of the last values, `pairs` as written. Read-only."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class Opaque:
    """A container nested deeper than `NESTING_LIMIT`, as its source text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Opaque) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)


class NotJsonError(ValueError):
    """The text is no JSON.

    Args:
        problem: what was expected, for a person.
        pos: index into the text where it was expected.
        wants_value: a value could have stood there.
    """

    def __init__(self, problem: str, pos: int, *, wants_value: bool) -> None:
        super().__init__(problem)
        self.pos = pos
        self.wants_value = wants_value


def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of the pairs; `Pairs` when a key repeats."""
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else Pairs(pairs)


def _integer(text: str) -> int | Spelled:
    return int(text) if len(text) <= _PLAIN_DIGITS and text != "-0" else Spelled(text)


def _decimal(text: str) -> float:
    number = float(text)
    return number if repr(number) == text else Spelled(text)


_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}

# Control characters in strings and NaN are read as meant: the bytes are given back anyway.
_LENIENT: Final = json.JSONDecoder(
    object_pairs_hook=as_object,
    parse_float=_decimal,
    parse_int=_integer,
    parse_constant=Spelled,
    strict=False,
)


def read_value(text: str, start: int) -> tuple[Any, int]:
    """Read the JSON value that begins at `start` (no whitespace before it).

    Returns:
        the value and the index behind it. Linear in the value.

    Raises:
        NotJsonError: no JSON value begins there.
    """
    try:
        value, end = _LENIENT.raw_decode(text, start)
    except (ValueError, RecursionError):
        return _Reader(text, _LENIENT_TOKEN).read(start)
    if _may_be_deep(text, start, end) and _is_deep(value):
        return _Reader(text, _LENIENT_TOKEN).read(start)
    return value, end


def _may_be_deep(text: str, start: int, end: int) -> bool:
    return text.count("{", start, end) + text.count("[", start, end) > NESTING_LIMIT


def _is_deep(value: Any) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(NESTING_LIMIT):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    return bool(level)


def is_closed_string(text: str, start: int) -> bool:
    """Whether the string that begins at `start` ends somewhere, whatever is in it. Linear."""
    return _STRING.match(text, start) is not None


_STRING: Final = re.compile(STRING, re.DOTALL)


def after_space(text: str, pos: int) -> int:
    """Index of the first character from `pos` on that is no JSON whitespace."""
    match = _SPACE.match(text, pos)
    return match.end() if match else pos


_SPACE: Final = re.compile(r"[ \t\n\r]*+")


def _token(plain: str, constants: str) -> re.Pattern[str]:
    string = rf'"{plain}*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){plain}*+{OR_BACK})*+"'
    number = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
    return re.compile(rf"{string}|{number}|{constants}|[\[\]{{}},:]")


_LENIENT_TOKEN: Final = _token(r'[^"\\]', "true|false|null|NaN|-?Infinity")
_STRICT_TOKEN: Final = _token(r'[^"\\\x00-\x1f]', "true|false|null")

_State = str
_Match = re.Match[str]


class _Reader:
    """The same grammar as the C scanner, without recursion. One use, one value."""

    def __init__(self, text: str, token: re.Pattern[str]) -> None:
        self._text = text
        self._token = token
        self._around = bytearray()  # open brackets: a byte each, so that bracket bombs stay cheap
        self._frames: list[list[Any]] = []  # what is built: at most NESTING_LIMIT of them
        self._keys: list[str] = []
        self._opaque_from = 0
        self._root: Any = None

    def read(self, start: int) -> tuple[Any, int]:
        pos, state = start, "value"
        while state != "done":
            pos = after_space(self._text, pos)
            match = self._token.match(self._text, pos)
            step = match and _STEPS[state].get(_KINDS.get(match[0][0], "scalar"))
            if match is None or step is None:
                raise self._fault(pos, state)
            state = step(self, match)
            pos = match.end()
        return self._root, pos

    def scalar(self, match: _Match) -> _State:
        if len(self._around) <= NESTING_LIMIT:
            self._put(_scalar(match[0]))
        return self._next()

    def open(self, match: _Match) -> _State:
        if len(self._around) < NESTING_LIMIT:
            self._frames.append([])
        elif len(self._around) == NESTING_LIMIT:
            self._opaque_from = match.start()
        self._around.append(ord(match[0]))
        return "first_key" if match[0] == "{" else "element"

    def close(self, match: _Match) -> _State:
        self._around.pop()
        if len(self._around) < NESTING_LIMIT:
            built = self._frames.pop()
            self._put(as_object(built) if match[0] == "}" else built)
        elif len(self._around) == NESTING_LIMIT:
            self._put(Opaque(self._text[self._opaque_from : match.end()]))
        return self._next()

    def key(self, match: _Match) -> _State:
        if len(self._around) <= NESTING_LIMIT:
            self._keys.append(_scalar(match[0]))
        return "colon"

    def colon(self, _: _Match) -> _State:
        return "value"

    def comma(self, _: _Match) -> _State:
        return "key" if self._in_object() else "value"

    def _put(self, value: Any) -> None:
        if not self._around:
            self._root = value
        elif self._in_object():
            self._frames[-1].append((self._keys.pop(), value))
        else:
            self._frames[-1].append(value)

    def _in_object(self) -> bool:
        return self._around[-1] == ord("{")

    def _next(self) -> _State:
        if not self._around:
            return "done"
        return "next_member" if self._in_object() else "next_element"

    def _fault(self, pos: int, state: _State) -> NotJsonError:
        problem = f"expected {_EXPECTED[state]}"
        if pos == len(self._text):
            problem = f"the text ends where {_EXPECTED[state]} should be"
        elif self._text[pos] == '"' and '"' in _STEPS[state]:
            problem = "a string is not closed or holds something that must be escaped"
        return NotJsonError(problem, pos, wants_value="scalar" in _STEPS[state])


_KINDS: Final = {mark: mark for mark in '"[]{},:'}
_VALUE: Final[dict[str, Callable[[_Reader, _Match], _State]]] = {
    '"': _Reader.scalar,
    "scalar": _Reader.scalar,
    "[": _Reader.open,
    "{": _Reader.open,
}
# What may come in each state, and what it does.
_STEPS: Final[dict[_State, dict[str, Callable[[_Reader, _Match], _State]]]] = {
    "value": _VALUE,
    "element": {**_VALUE, "]": _Reader.close},
    "first_key": {'"': _Reader.key, "}": _Reader.close},
    "key": {'"': _Reader.key},
    "colon": {":": _Reader.colon},
    "next_element": {",": _Reader.comma, "]": _Reader.close},
    "next_member": {",": _Reader.comma, "}": _Reader.close},
}
_EXPECTED: Final = {
    "value": "a value",
    "element": "a value or ']'",
    "first_key": "a key or '}'",
    "key": "a key",
    "colon": "':'",
    "next_element": "',' or ']'",
    "next_member": "',' or '}'",
}


def _scalar(token: str) -> Any:
    return _CONSTANTS[token] if token in _CONSTANTS else _LENIENT.raw_decode(token)[0]


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


# Numbers are only checked, not converted: `str` hands their text through.
_STRICT: Final = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_refuse)


def is_json(text: str) -> bool:
    """Whether the text is valid JSON by RFC 8259: no NaN, no control characters in strings."""
    try:
        _STRICT.decode(text)
    except RecursionError:
        return _is_json_at_any_depth(text)
    except ValueError:
        return False
    return True


def _is_json_at_any_depth(text: str) -> bool:
    try:
        _, end = _Reader(text, _STRICT_TOKEN).read(0)
    except NotJsonError:
        return False
    return after_space(text, end) == len(text)
