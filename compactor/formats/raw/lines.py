"""One line of a JSON Lines input: the whole records on it and the damage between them.

A killed writer leaves half a record; the next record may be glued behind it on the same line, and
two whole records may share one. Half a record never gives a row: an object that may be an inner
part of a torn one is not taken for a record. Linear in the line.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from compactor.formats.raw.json_text import OR_BACK, NotJsonError, after_space, read_value


class Record(NamedTuple):
    """A value and the characters `start..end` of its line where it stands."""

    value: Any
    start: int
    end: int


class Line(NamedTuple):
    """What one line holds.

    records: whole records, in order.
    damage: spans of characters that belong to no record.
    is_begun: begins with a whole object or list, and only another one may be glued to it.
    """

    records: list[Record]
    damage: list[tuple[int, int]]
    is_begun: bool


def read_line(text: str) -> Line:
    """The records of one line. Linear."""
    records: list[Record] = []
    pos = after_space(text, 0)
    while pos < len(text):
        try:
            value, end = read_value(text, pos)
        except NotJsonError:
            break
        after = after_space(text, end)
        if not isinstance(value, (dict, list)) and (records or after < len(text)):
            break  # a number or a word is a record only alone on its line
        records.append(Record(value, pos, end))
        pos = after
    is_begun = bool(records) and isinstance(records[0].value, (dict, list))
    is_begun = is_begun and (pos == len(text) or text[pos] in "{[")
    if pos == len(text):
        return Line(records, [], is_begun)
    glued = _glued_record(text, pos)
    if glued is None:
        return Line(records, [(pos, len(text))], is_begun)
    return Line([*records, glued], [(pos, glued.start)], is_begun)


def _glued_record(text: str, pos: int) -> Record | None:
    """The object that ends the line behind the stub at `pos`; None when there is none.

    The object must have keys: their quotes would be escaped if it stood inside a string of the
    stub. Where the stub could go on with it as a value, it is a torn record's own inner object.
    """
    end = len(text.rstrip(" \t\r\n"))
    start = _opening_of(text, pos, end)
    if start is None or start <= pos:
        return None
    try:
        read_value(text[pos:start], 0)
    except NotJsonError as fault:
        if fault.wants_value and fault.pos == start - pos:
            return None
    try:
        value, stop = read_value(text, start)
    except NotJsonError:
        return None
    return Record(value, start, stop) if value and stop == end else None


def _opening_of(text: str, low: int, end: int) -> int | None:
    """Index of the brace that the one just before `end` closes, found from right to left.

    Only from the right is it known what is inside a string: the stub may end in the middle of one.
    """
    if text[end - 1 : end] != "}":
        return None
    mirrored = text[low:end][::-1]
    depth, pos = 0, 0
    while pos < len(mirrored) and mirrored[pos] in "{}[]":
        depth += 1 if mirrored[pos] in "}]" else -1
        if not depth:
            return end - 1 - pos
        match = _TO_MIRRORED_BRACKET.match(mirrored, pos + 1)
        pos = match.end() if match else pos + 1
    return None


# In mirrored text a quote that a backslash follows is escaped: no opening quote stands behind one.
_MIRRORED_STRING: Final = rf'"[^"]*+(?:"(?=\\)[^"]*+{OR_BACK})*+"'
_TO_MIRRORED_BRACKET: Final = re.compile(
    rf'[^"\[\]{{}}]*+(?:{_MIRRORED_STRING}[^"\[\]{{}}]*+{OR_BACK})*+', re.DOTALL
)
