"""Native data: read so that what is not changed can be given back byte for byte.

A `Document` keeps the source of one input beside its parsed value; changes are `Edit`s, an address
and a new value, and `Document.edited` splices only those. The same edits applied to Python objects
(`apply_edits`) copy only the containers on the way, so untouched messages are the very same
objects. Lenses make edits and know nothing of text; this file knows nothing of messages.

The parts: `json_text` reads, `json_compact` spells, `edits` and `splice` change objects and text,
`rows` is JSON Lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from compactor.core.errors import Finding, InputError
from compactor.core.model import Path
from compactor.formats.edits import REMOVE, Edit, apply_edits, dotted
from compactor.formats.json_compact import compact_json, compact_json_text
from compactor.formats.json_text import (
    NESTING_LIMIT,
    NotJsonError,
    Opaque,
    Pairs,
    Spelled,
    after_space,
    read_value,
)
from compactor.formats.rows import LineSource, Rows
from compactor.formats.splice import changes, replaced, span, splice_text

__all__ = [
    "NESTING_LIMIT",
    "REMOVE",
    "Document",
    "Edit",
    "Opaque",
    "Pairs",
    "Rows",
    "Spelled",
    "apply_edits",
    "compact_json",
    "compact_json_text",
    "read_document",
    "splice_text",
]

_BOM: Final = b"\xef\xbb\xbf"

# What people hand over instead of JSON, by its first bytes.
_KNOWN_BYTES: Final = (
    (b"\xff\xfe", "this looks like UTF-16; convert it to UTF-8"),
    (b"\xfe\xff", "this looks like UTF-16; convert it to UTF-8"),
    (b"PK\x03\x04", "this is a zip archive; unpack it first"),
    (b"\x1f\x8b", "this is gzip data; unpack it first"),
)


class Document:
    """One native input, as `read_document` made it.

    name: "<stdin>" or a file name.
    root: the parsed JSON value, or `Rows` for JSON Lines. Must not be changed.
    findings: damage that was carried through, in order.
    is_lines: JSON Lines; the first step of every path is then the row.
    """

    def __init__(self, name: str, source: _JsonSource | LineSource) -> None:
        self.name = name
        self.is_lines = isinstance(source, LineSource)
        self.root: Any = source.rows if isinstance(source, LineSource) else source.root
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
        return self._source.edited(edits)

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

    def edited(self, edits: Iterable[Edit]) -> bytes:
        text = replaced(self._text, changes(self._text, self._start, self.root, edits))
        return self._head + text.encode("utf-8", "surrogateescape")

    def place(self, path: Path) -> str:
        return dotted(path)

    def raw(self, path: Path) -> str:
        start, end = span(self._text, self._start, self.root, path)
        return self._text[start:end]


def read_document(data: bytes, name: str, *, strict: bool = False, lines: bool = False) -> Document:
    """Read an input: one JSON value, or else JSON Lines.

    The content decides, not the name: a file with a single record is JSON. UTF-8, with or without a
    byte order mark; bytes that are no UTF-8 become lone surrogates and come back as they were.

    Args:
        data: the whole input.
        name: for errors and findings.
        strict: refuse damaged JSON Lines instead of reporting it.
        lines: read a single record as JSON Lines too.

    Returns:
        the document; damage is in its findings (`damaged_line`, `file:line`). Linear in the input.

    Raises:
        InputError: `input.not_json` with `file:line:column` (or `file:line` when strict).
    """
    head = _BOM if data.startswith(_BOM) else b""
    body = data[len(head) :]
    text = body.decode("utf-8", "surrogateescape")
    start = after_space(text, 0)
    if start == len(text):
        hint = "give a transcript as JSON or JSON Lines"
        raise InputError("the input is empty", code="input.not_json", path=name, hint=hint)
    try:
        value, end = read_value(text, start)
        end = after_space(text, end)
        if end == len(text) and not lines:
            return Document(name, _JsonSource(head, text, value))
        fault = NotJsonError("expected the end of the JSON value's text", end, wants_value=False)
    except NotJsonError as error:
        fault = error
    rows = LineSource(head, body, name)
    if not rows.is_lines:
        raise _not_json(data, text, name, fault) from fault
    if strict and rows.findings:
        raise _damaged(rows.findings[0])
    return Document(name, rows)


def _not_json(data: bytes, text: str, name: str, fault: NotJsonError) -> InputError:
    line = text.count("\n", 0, fault.pos) + 1
    column = fault.pos - text.rfind("\n", 0, fault.pos)
    hint = "neither JSON nor JSON Lines"
    hint = next((said for magic, said in _KNOWN_BYTES if data.startswith(magic)), hint)
    path = f"{name}:{line}:{column}"
    return InputError(f"no JSON: {fault}", code="input.not_json", path=path, hint=hint)


def _damaged(finding: Finding) -> InputError:
    hint = "repair the line, or read without strict"
    return InputError(finding.message, code="input.not_json", path=finding.path, hint=hint)
