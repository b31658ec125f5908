"""Native data: read so that what is not changed can be given back byte for byte.

A `Document` keeps the source of one input beside its parsed value; changes are `Edit`s, an address
and a new value, and `Document.edited` splices only those. The same edits applied to Python objects
(`apply_edits`) copy only the containers on the way, so untouched messages are the very same
objects. Lenses make edits and know nothing of text; this file knows nothing of messages.

The parts: `json_text` reads, `json_compact` spells, `edits` and `splice` change objects and text,
`rows` is JSON Lines, `sources` the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from compactor.core.errors import Finding, InputError
from compactor.core.model import Path
from compactor.formats.raw.edits import REMOVE, Edit, apply_edits, dotted
from compactor.formats.raw.json_compact import compact_json, compact_json_text
from compactor.formats.raw.json_text import (
    NESTING_LIMIT,
    NotJsonError,
    Opaque,
    Pairs,
    Spelled,
    after_space,
    is_closed_string,
    read_value,
)
from compactor.formats.raw.lazy_rows import LazyRows, Rows
from compactor.formats.raw.refusals import HEAD_BYTES, refused
from compactor.formats.raw.rows import EAGER_BYTES, LineSource
from compactor.formats.raw.sources import Bytes, TooLongError, decoded, encoded
from compactor.formats.raw.splice import changes, replaced, span, splice_text

__all__ = [
    "NESTING_LIMIT",
    "REMOVE",
    "Document",
    "Edit",
    "LazyRows",
    "Opaque",
    "Pairs",
    "Rows",
    "Source",
    "Spelled",
    "apply_edits",
    "compact_json",
    "compact_json_text",
    "read_document",
    "splice_text",
]

_BOM: Final = b"\xef\xbb\xbf"


class Source(Protocol):
    """Where a document came from: its parsed value, and how changes get into its bytes."""

    findings: list[Finding]

    @property
    def root(self) -> Any: ...

    def pieces(self, edits: Iterable[Edit]) -> Iterator[bytes]: ...

    def place(self, path: Path) -> str: ...

    def raw(self, path: Path) -> str: ...


class Document:
    """One native input, as `read_document` made it.

    name: "<stdin>" or a file name.
    root: the parsed JSON value, or `Rows` for JSON Lines. Must not be changed.
    findings: damage that was carried through, in order.
    is_lines: JSON Lines; the first step of every path is then the row.
    """

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self.root: Any = source.root
        self.is_lines = isinstance(self.root, Rows)
        self.findings: list[Finding] = source.findings
        self._source = source

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The input with the edits made; every byte outside the edited values as it was.

        Returns:
            bytes; the very input when there are no edits. A JSON Lines row can be replaced or
            removed (with its line, when nothing else is on it). O(input), of which only the edited
            rows, or the one JSON value, are scanned.

        Raises:
            InternalError: `internal.edit` when an address does not exist.
        """
        return b"".join(self.pieces(edits))

    def pieces(self, edits: Iterable[Edit]) -> Iterator[bytes]:
        """The bytes of `edited` one after the other: a large input is never held as a whole.

        Raises:
            InternalError: as `edited`; some only when their piece is asked for.
        """
        return self._source.pieces(edits)

    def place(self, path: Path) -> str:
        """Where a path is: `$.a[0]`, in JSON Lines `name:LINE` or `name:LINE $.a[0]`."""
        return self._source.place(path)

    def raw(self, path: Path) -> str:
        """The source text of the value at `path`; bytes that are no UTF-8 as lone surrogates.

        Raises:
            InternalError: `internal.edit` when the address does not exist.
        """
        return self._source.raw(path)


class _JsonSource:
    """The text of one JSON value beside what was read from it."""

    def __init__(self, head: bytes, text: str, root: Any) -> None:
        self.root = root
        self.findings: list[Finding] = []
        self._head = head
        self._text = text
        self._start = after_space(text, 0)

    def pieces(self, edits: Iterable[Edit]) -> Iterator[bytes]:
        text = replaced(self._text, changes(self._text, self._start, self.root, edits))
        return iter((self._head + encoded(text),))

    def place(self, path: Path) -> str:
        return dotted(path)

    def raw(self, path: Path) -> str:
        start, end = span(self._text, self._start, self.root, path)
        return self._text[start:end]


def read_document(
    data: Bytes,
    name: str,
    *,
    strict: bool = False,
    lines: bool = False,
    value_bytes: int | None = None,
    eager_bytes: int = EAGER_BYTES,
) -> Document:
    """Read an input: one JSON value, or else JSON Lines.

    The content decides, not the name: a file with a single record is JSON. UTF-8, with or without a
    byte order mark; bytes that are no UTF-8 become lone surrogates and come back as they were.

    Args:
        data: the whole input, `bytes` or what gives them by slices.
        name: for errors and findings.
        strict: refuse damaged JSON Lines instead of reporting it.
        lines: read a single record as JSON Lines too.
        value_bytes: how long one JSON value, or one line, may be; None for any length.
        eager_bytes: larger JSON Lines are not held in memory; their rows are read on demand.

    Returns:
        the document; damage is in its findings (`damaged_line`, `file:line`). Linear in the input.

    Raises:
        InputError: `input.not_json` with `file:line:column` (or `file:line` when strict);
            `input.too_large` when a value is longer than `value_bytes`.
    """
    head = _BOM if data[:3] == _BOM else b""
    found = _read_one(data, head, name, value_bytes, max(min(_PREFIX_BYTES, eager_bytes), 1))
    if isinstance(found, _JsonSource) and not lines:
        return Document(name, found)
    try:
        rows = LineSource(data, len(head), name, value_bytes, eager_bytes)
    except TooLongError as error:
        raise _too_large(f"{name} at byte {error.start}", value_bytes) from error
    if isinstance(found, _NotOne) and not rows.is_lines:
        raise _not_json(data, name, found) from found.fault
    if strict and rows.findings:
        raise _damaged(rows.findings[0])
    return Document(name, rows)


class _NotOne(NamedTuple):
    """Why an input is not one JSON value. text: of its beginning, the fault included."""

    text: str
    fault: NotJsonError


_PREFIX_BYTES: Final = 8 << 20
"""Of a longer input as much is tried first: with JSON Lines the first lines tell."""


def _read_one(
    data: Bytes, head: bytes, name: str, value_bytes: int | None, size: int
) -> _JsonSource | _NotOne:
    """The input as one JSON value. Decodes more than `size` bytes only where it may be one."""
    while True:
        is_whole = size >= len(data)
        if is_whole and value_bytes is not None and len(data) > value_bytes:
            raise _too_large(name, value_bytes)
        text = decoded(data[len(head) : min(size, len(data))])
        start = after_space(text, 0)
        if is_whole and start == len(text):
            hint = "give a transcript as JSON or JSON Lines"
            raise InputError("the input is empty", code="input.not_json", path=name, hint=hint)
        try:
            value, end = read_value(text, start)
            end = after_space(text, end)
            if is_whole and end == len(text):
                return _JsonSource(head, text, value)
            said = "expected the end of the JSON value's text"
            fault = NotJsonError(said, end, wants_value=False)
        except NotJsonError as error:
            fault = error
        if is_whole or _is_certain(text, fault):
            return _NotOne(text, fault)
        size *= 8


_MARGIN: Final = 16
"""Longer than any word of JSON and any character in UTF-8, which the end of a text may cut."""


def _is_certain(text: str, fault: NotJsonError) -> bool:
    """Whether a fault in the beginning of an input is one in the whole of it."""
    if fault.pos > len(text) - _MARGIN:
        return False
    return text[fault.pos] != '"' or is_closed_string(text, fault.pos)


def _not_json(data: Bytes, name: str, found: _NotOne) -> InputError:
    text, fault = found
    line = text.count("\n", 0, fault.pos) + 1
    column = fault.pos - text.rfind("\n", 0, fault.pos)
    path = f"{name}:{line}:{column}"
    refusal = refused(bytes(data[:HEAD_BYTES]))
    if refusal is not None:
        return InputError(refusal.what, code=refusal.code, path=path, hint=refusal.hint)
    hint = "give a transcript as JSON or JSON Lines, as its harness wrote it"
    return InputError(f"no JSON: {fault}", code="input.not_json", path=path, hint=hint)


def _damaged(finding: Finding) -> InputError:
    hint = "repair the line, or read without strict"
    return InputError(finding.message, code="input.not_json", path=finding.path, hint=hint)


def _too_large(path: str, value_bytes: int | None) -> InputError:
    message = f"a JSON value of more than {value_bytes or 0:,} bytes came out of a packed file"
    hint = "if that is what it should hold, unpack it first and give the plain file"
    return InputError(message, code="input.too_large", path=path, hint=hint)
