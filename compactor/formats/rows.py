"""JSON Lines as real writers leave them: records, one a line, and the damage between them.

A killed writer leaves half a record; the next record may be glued behind it on the same line, and
two whole records may share one. All whole records are read; the rest stays where it is and is
reported. Half a record never gives a row: an object that may be an inner part of a torn one is not
taken for a record. Linear in the input; a change rewrites only its record's line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from compactor.core.errors import Finding
from compactor.core.model import Path
from compactor.formats.edits import REMOVE, Edit, dotted, no_place
from compactor.formats.json_text import OR_BACK, NotJsonError, after_space, read_value
from compactor.formats.splice import Change, changes, replaced, span


class Rows(list[Any]):
    """The records of a JSON Lines document, in order."""


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


class _Span(NamedTuple):
    """Where a row stands: the index of its line and the characters of that line."""

    line: int
    start: int
    end: int


class LineSource:
    """The lines of a JSON Lines input beside what was read from them.

    rows: the records, in order.
    findings: the damage, in order.
    is_lines: whether this is JSON Lines at all and not something else.
    """

    def __init__(self, head: bytes, body: bytes, name: str) -> None:
        self.rows = Rows()
        self.findings: list[Finding] = []
        self._head = head
        self._lines = body.split(b"\n")
        self._name = name
        self._spans: list[_Span] = []
        self.is_lines = self._read()

    def _read(self) -> bool:
        offset = len(self._head)
        begun: list[bool] = []
        starts: list[str] = []
        for index, data in enumerate(self._lines):
            text = _decoded(data)
            line = read_line(text)
            if line.records or line.damage:
                begun.append(line.is_begun)
                starts.append(text.lstrip(" \t\r")[0])
            self._keep(index, offset, text, line)
            offset += len(data) + 1
        if sum(begun) == 1 and begun[0] and len(self.rows) == 1:
            # One value and something behind it: torn lines, or JSON with garbage at its end.
            return all(start in "{[" for start in starts)
        return bool(begun) and (begun[0] or 2 * sum(begun) >= len(begun))

    def _keep(self, index: int, offset: int, text: str, line: Line) -> None:
        for record in line.records:
            self.rows.append(record.value)
            self._spans.append(_Span(index, record.start, record.end))
        where = f"{self._name}:{index + 1}"
        for start, end in line.damage:
            at, size = offset + _size(text[:start]), _size(text[start:end])
            said = f"{size} bytes at byte {at} are no whole JSON record; they stay as they are"
            self.findings.append(Finding("damaged_line", said, where))
        if len(line.records) > 1 and not line.damage:
            at = offset + _size(text[: line.records[1].start])
            said = f"{len(line.records)} records stand on one line, the second at byte {at}"
            self.findings.append(Finding("damaged_line", said, where))

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The input with the edits spliced in. Scans only the edited rows."""
        by_row: dict[int, list[Edit]] = {}
        for path, value in edits:
            by_row.setdefault(self._row(path), []).append(Edit(path[1:], value))
        by_line: dict[int, list[int]] = {}
        for row in sorted(by_row):
            by_line.setdefault(self._spans[row].line, []).append(row)
        lines: list[bytes] = []
        for index, data in enumerate(self._lines):
            if index not in by_line:
                lines.append(data)
                continue
            text = _decoded(data)
            found = [self._changes(text, row, by_row[row]) for row in by_line[index]]
            text = replaced(text, [change for row in found for change in row])
            if after_space(text, 0) < len(text):  # a line whose records all went, goes
                lines.append(text.encode("utf-8", "surrogateescape"))
        return self._head + b"\n".join(lines)

    def place(self, path: Path) -> str:
        """`name:LINE`, and behind a space the path within the row."""
        if not path:
            return self._name
        line = f"{self._name}:{self._spans[self._row(path)].line + 1}"
        return f"{line} {dotted(path[1:])}" if len(path) > 1 else line

    def raw(self, path: Path) -> str:
        """The source text of the value at path."""
        if not path:
            return b"\n".join(self._lines).decode("utf-8", "surrogateescape")
        row = self._row(path)
        text = _decoded(self._lines[self._spans[row].line])
        start, end = span(text, self._spans[row].start, self.rows[row], path[1:])
        return text[start:end]

    def _row(self, path: Path) -> int:
        row = path[0] if path else ""
        if not isinstance(row, int) or not 0 <= row < len(self.rows):
            raise no_place((), row)
        return row

    def _changes(self, text: str, row: int, edits: list[Edit]) -> list[Change]:
        at = self._spans[row]
        if [value for path, value in edits if not path][-1:] == [REMOVE]:
            return [Change(at.start, at.end, "")]
        return changes(text, at.start, self.rows[row], edits)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
