"""JSON Lines as real writers leave them: records, one a line, and the damage between them.

All whole records are read (`lines`); the rest stays where it is and is reported. A small input is
read once; of a large one only where each record stands is kept, and a row is read again when it is
asked for (`lazy_rows`). Linear in the input; a change rewrites only its record.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

from compactor.core.errors import Finding
from compactor.core.model import Path
from compactor.formats.raw.edits import REMOVE, Edit, dotted, no_place
from compactor.formats.raw.json_text import after_space, read_value
from compactor.formats.raw.lazy_rows import LazyRows, Rows
from compactor.formats.raw.lines import Line, read_line
from compactor.formats.raw.sources import Bytes, decoded, encoded, line_around, lines_of, slices
from compactor.formats.raw.splice import changes, replaced, span

EAGER_BYTES: Final = 64 << 20
"""Inputs up to this size are held as values, larger ones are read again row by row."""


class LineSource:
    """The lines of a JSON Lines input beside what was read from them.

    Args:
        start: where its text begins, behind a byte order mark.
        max_bytes: of a line; None for any.
        eager_bytes: inputs up to this size are held as values.

    Raises:
        TooLongError: a line is longer than that.

    rows: the records, in order.
    findings: the damage, in order.
    is_lines: whether this is JSON Lines at all and not something else.
    """

    def __init__(
        self,
        data: Bytes,
        start: int,
        name: str,
        max_bytes: int | None = None,
        eager_bytes: int = EAGER_BYTES,
    ) -> None:
        self.findings: list[Finding] = []
        self._data = data
        self._start = start
        self._name = name
        # Of each row: the bytes where it begins and ends, and the number of its line from 0.
        self._begins, self._ends, self._numbers = array("q"), array("q"), array("q")
        self._eager = Rows() if len(data) <= eager_bytes else None
        self.is_lines = self._read(max_bytes)
        self.rows = (
            LazyRows(len(self._begins), self._row_at) if self._eager is None else self._eager
        )

    @property
    def root(self) -> Rows:
        return self.rows

    def _read(self, max_bytes: int | None) -> bool:
        seen = begun = 0
        opens = first_begun = True
        for number, (at, data) in enumerate(lines_of(self._data, self._start, max_bytes)):
            if not data:
                continue
            text = decoded(data)
            line = read_line(text)
            if not line.records and not line.damage:
                continue
            first_begun = line.is_begun if not seen else first_begun
            seen, begun = seen + 1, begun + line.is_begun
            opens = opens and text[after_space(text, 0)] in "{["
            self._keep(number, at, text, line)
        if begun == 1 and first_begun and len(self._begins) == 1:
            # One value and something behind it: torn lines, or JSON with garbage at its end.
            return opens
        return bool(seen) and (first_begun or 2 * begun >= seen)

    def _keep(self, number: int, at: int, text: str, line: Line) -> None:
        for record in line.records:
            begin = at + _size(text[: record.start])
            self._begins.append(begin)
            self._ends.append(begin + _size(text[record.start : record.end]))
            self._numbers.append(number)
            if self._eager is not None:
                self._eager.append(record.value)
        where = f"{self._name}:{number + 1}"
        for start, end in line.damage:
            begin, size = at + _size(text[:start]), _size(text[start:end])
            said = f"{size} bytes at byte {begin} are no whole JSON record; they stay as they are"
            self.findings.append(Finding("damaged_line", said, where))
        if len(line.records) > 1 and not line.damage:
            begin = at + _size(text[: line.records[1].start])
            said = f"{len(line.records)} records stand on one line, the second at byte {begin}"
            self.findings.append(Finding("damaged_line", said, where))

    def _row_at(self, row: int) -> tuple[Any, int]:
        return read_value(self._text(row), 0)[0], self._ends[row] - self._begins[row]

    def _text(self, row: int) -> str:
        return decoded(self._data[self._begins[row] : self._ends[row]])

    def pieces(self, edits: Iterable[Edit]) -> Iterator[bytes]:
        """The input with the edits spliced in, in pieces. Scans only the edited rows."""
        by_row: dict[int, list[Edit]] = {}
        for path, value in edits:
            by_row.setdefault(self._row(path), []).append(Edit(path[1:], value))
        return self._spliced(by_row)

    def _spliced(self, by_row: dict[int, list[Edit]]) -> Iterator[bytes]:
        at = 0
        for begin, end, new in self._cuts(by_row):
            yield from slices(self._data, at, begin)
            yield new
            at = end
        yield from slices(self._data, at, len(self._data))

    def _cuts(self, by_row: dict[int, list[Edit]]) -> Iterator[_Cut]:
        """What to put in the place of which bytes, in order. Lines that go together are one."""
        gone: _Cut | None = None
        for _, rows in groupby(sorted(by_row), self._numbers.__getitem__):
            cuts = [self._cut(row, by_row[row]) for row in rows]
            line = self._emptied(cuts)
            if gone is not None and (line is None or line.start != gone.end):
                yield gone
                gone = None
            if line is None:
                yield from cuts
            else:
                gone = line if gone is None else _Cut(gone.start, line.end, b"")
        if gone is not None:
            yield self._without_newline(gone)

    def _cut(self, row: int, edits: list[Edit]) -> _Cut:
        begin, end = self._begins[row], self._ends[row]
        if [value for path, value in edits if not path][-1:] == [REMOVE]:
            return _Cut(begin, end, b"")
        text = self._text(row)
        new = replaced(text, changes(text, 0, self.rows[row], edits))
        return _Cut(begin, end, encoded(new))

    def _emptied(self, cuts: list[_Cut]) -> _Cut | None:
        """The line that is left without anything, and its newline: it goes with its records."""
        if any(cut.new for cut in cuts):
            return None
        start, end = line_around(self._data, self._start, cuts[0].start, cuts[-1].end)
        at = start
        for cut in cuts:
            if self._data[at : cut.start].strip(_SPACE):
                return None
            at = cut.end
        if self._data[at:end].strip(_SPACE):
            return None
        return _Cut(start, min(end + 1, len(self._data)), b"")

    def _without_newline(self, gone: _Cut) -> _Cut:
        """The last lines go with the newline before them, as they have none of their own."""
        start, end, _ = gone
        if end < len(self._data) or self._data[end - 1 : end] == b"\n":
            return gone
        return _Cut(max(start - 1, self._start), end, b"")

    def place(self, path: Path) -> str:
        """`name:LINE`, and behind a space the path within the row."""
        if not path:
            return self._name
        line = f"{self._name}:{self._numbers[self._row(path)] + 1}"
        return f"{line} {dotted(path[1:])}" if len(path) > 1 else line

    def raw(self, path: Path) -> str:
        """The source text of the value at path."""
        if not path:
            return decoded(self._data[self._start : len(self._data)])
        row = self._row(path)
        text = self._text(row)
        start, end = span(text, 0, self.rows[row], path[1:])
        return text[start:end]

    def _row(self, path: Path) -> int:
        row = path[0] if path else ""
        if not isinstance(row, int) or not 0 <= row < len(self._begins):
            raise no_place((), row)
        return row


class _Cut(NamedTuple):
    """`new` in the place of the bytes `start..end` of an input."""

    start: int
    end: int
    new: bytes


_SPACE: Final = b" \t\r\n"


def _size(text: str) -> int:
    """The bytes of a text."""
    return len(text) if text.isascii() else len(encoded(text))
