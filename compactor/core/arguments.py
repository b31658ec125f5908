"""Long strings inside the arguments of a call, and other texts in their places.

Arguments are compact JSON (`json_compact`), so a string can be found and replaced in the text
itself, without a serializer; what stays, stays as it is spelled. Specification: DESIGN section 4
(`elideInputs`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from compactor.core.model import Path

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\[{\"]+")
_DEPTH = 100


class LongString(NamedTuple):
    """A string value. start, end: of its literal, quotes included."""

    path: Path
    start: int
    end: int
    text: str


def strings(arguments: str, least: int) -> list[LongString]:
    """The string values of at least so many characters, in order. Linear.

    Returns:
        [] for what is no object, is nested deeper than any call, or says a key twice.
    """
    try:
        return list(_walk(arguments, least)) if arguments.startswith("{") else []
    except (ValueError, IndexError):
        return []


def replaced(arguments: str, texts: Mapping[Path, str]) -> str:
    """The arguments with other texts at some paths. Linear."""
    pieces, at = [], 0
    for found in strings(arguments, 0):
        text = texts.get(found.path)
        if text is not None:
            pieces += [arguments[at : found.start], quoted(text)]
            at = found.end
    return "".join([*pieces, arguments[at:]])


def quoted(text: str) -> str:
    """A text of ours as compact JSON: nothing in it needs more than these two escapes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _walk(text: str, least: int) -> Iterator[LongString]:
    """Every string value, with a stack of the containers around it."""
    keys: list[str | int] = []
    seen: list[set[str] | None] = []
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        if char in "{[":
            seen.append(set() if char == "{" else None)
            keys.append(0)
            if len(seen) > _DEPTH:
                raise ValueError("nested too deeply")
            at += 1
        elif char in "}]":
            seen.pop()
            keys.pop()
            at += 1
        elif char == ",":
            at += 1
            if seen[-1] is None:
                last = keys[-1]
                keys[-1] = last + 1 if isinstance(last, int) else last
        elif char == '"':
            literal = _STRING.match(text, at)
            if literal is None:
                raise ValueError("a string without its end")
            start, at = literal.span()
            known = seen[-1]
            if known is not None and text[at : at + 1] == ":":
                key = json.loads(literal.group())
                if key in known:
                    raise ValueError("a key is there twice")
                known.add(key)
                keys[-1] = key
                at += 1
            elif at - start - 2 >= least:
                value = json.loads(literal.group())
                if len(value) >= least:
                    yield LongString(tuple(keys), start, at, value)
        else:
            scalar = _SCALAR.match(text, at)
            if scalar is None:
                raise ValueError("no JSON")
            at = scalar.end()
    if seen:
        raise ValueError("a container without its end")
