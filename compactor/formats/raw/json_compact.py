"""Spells values and JSON texts as compact JSON, the one spelling that is counted and compared.

No whitespace outside strings; strings escape only `"`, `\\`, U+0000-001F and lone surrogates;
numbers as spelled; key order and duplicates kept. Iterative, so depth does not matter, and linear
in the result. Specification: DESIGN section 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final

from compactor.formats.raw.json_text import STRING, Opaque, Pairs, Spelled, is_json, read_value
from compactor.formats.raw.objects import is_object, members


def compact_json(value: Any) -> str:
    """Compact JSON of a value (DESIGN section 3), in O(its size), at any depth.

    Values read from text come back as spelled, duplicates in order. Of Python's own, tuples are
    arrays, models of SDKs the objects that they send, numbers and keys are spelled as `json.dumps`
    does, and what is no JSON at all (dates, bytes, sets, a container inside itself) is the name of
    its type, as a string.
    """
    pieces: list[str] = []
    levels: list[Iterator[tuple[str, Any]]] = [iter((("", value),))]
    open_ids = [0]  # the containers being written, outermost first
    within = {0}
    closers = [""]
    while levels:
        for lead, item in levels[-1]:
            pieces.append(lead)
            spelled = _spelled(item, within)
            if spelled is not None:
                pieces.append(spelled)
                continue
            open_ids.append(id(item))
            within.add(id(item))
            closers.append("]" if isinstance(item, (list, tuple)) else "}")
            levels.append(_members(item))
            break
        else:
            levels.pop()
            within.discard(open_ids.pop())
            pieces.append(closers.pop())
    return "".join(pieces)


def _spelled(item: Any, within: set[int]) -> str | None:
    """The text of a value that is no container to write; None for a container."""
    if isinstance(item, str):
        return quoted(item)
    if item is None or item is True or item is False:
        return _NAMES[item]
    if isinstance(item, (int, float)):
        return _number(item)
    if isinstance(item, Opaque):
        return _compact_source(item.text)
    if id(item) in within or not (isinstance(item, (list, tuple)) or is_object(item)):
        return quoted(type(item).__name__)
    if isinstance(item, (list, tuple)):
        return None if item else "[]"
    return None if any(True for _ in members(item)) else "{}"


_NAMES: Final = {True: "true", False: "false", None: "null"}


def _number(number: int | float) -> str:
    if isinstance(number, Spelled):
        return number.text
    if isinstance(number, float):
        return json.dumps(number)
    try:
        return int.__repr__(number)
    except ValueError:  # longer than Python's limit of int/str conversion
        return f"{Decimal(number):f}"


def _members(item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, (list, tuple)):
        lead = "["
        for value in item:
            yield lead, value
            lead = ","
        return
    lead = "{"
    for key, value in item.pairs if isinstance(item, Pairs) else members(item):
        yield f"{lead}{_key(key)}:", value
        lead = ","


def _key(key: Any) -> str:
    if isinstance(key, str):
        return quoted(key)
    if key is None or key is True or key is False:
        return f'"{_NAMES[key]}"'
    return f'"{_number(key)}"' if isinstance(key, (int, float)) else quoted(type(key).__name__)


def quoted(text: str) -> str:
    """A compact JSON string: raw characters save `"`, `\\`, U+0000-001F and lone surrogates."""
    spelled = encode_basestring(text)
    return spelled if spelled.isascii() else _SURROGATE.sub(_escaped, spelled)


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def compact_json_text(text: str) -> str | None:
    """Compact JSON of a JSON text, numbers, key order and duplicates as written.

    Returns:
        None when the text is no valid JSON (RFC 8259: no NaN, no control characters in strings).
    """
    return _compact_source(text) if is_json(text) else None


def _compact_source(text: str) -> str:
    """Compact JSON of text known to be JSON: only whitespace and strings change."""
    return _SPACE_OR_STRING.sub(_compact_token, text)


_SPACE_OR_STRING: Final = re.compile(rf"[ \t\n\r]++|{STRING}", re.DOTALL)


def _compact_token(match: re.Match[str]) -> str:
    token = match[0]
    if token[0] != '"':
        return ""
    if "\\" not in token and token.isascii() and token.isprintable():
        return token
    return quoted(read_value(token, 0)[0])
