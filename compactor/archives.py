"""Zip archives as documents: each member is a JSON document of its own, read when asked for.

Nothing is extracted to the disk under a member's name, and what a member unpacks to is bounded by
what the directory says and by `member_bytes`. Changes go into the member's own text; only changed
members are packed anew, by the method they had; all other bytes are copied. Specification:
docs/formats.md.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from compactor.codecs import ZIP_METHODS, DamagedError
from compactor.core.errors import Finding, InputError
from compactor.core.model import Path
from compactor.formats.raw.edits import no_place
from compactor.formats.raw.members import Members
from compactor.formats.raw.native import Document, Edit, read_document
from compactor.formats.raw.rows import EAGER_BYTES
from compactor.formats.raw.sources import Bytes, slices
from compactor.inputs import spooled
from compactor.zip_directory import (
    ENCRYPTED,
    BadZipError,
    Changed,
    Entry,
    data_range,
    local_header,
    moved_end,
    moved_records,
    read_directory,
)


class Archive:
    """The source of an archive's document.

    Args:
        strict: damaged lines in a member are an error.
        member_bytes: how much a member may unpack to.

    root: `Members`, by name.
    findings: damage in members, as they are read.

    Raises:
        InputError: `input.packed`, also later, from a member.
    """

    def __init__(self, data: Bytes, name: str, *, strict: bool, member_bytes: int) -> None:
        self.findings: list[Finding] = []
        self._data = data
        self._name = name
        self._strict = strict
        self._member_bytes = member_bytes
        try:
            self._directory = read_directory(data)
        except BadZipError as error:
            raise _bad(name, error) from error
        self._index = {entry.name: i for i, entry in enumerate(self._directory.entries)}
        self._starts = sorted(entry.offset for entry in self._directory.entries)
        self._documents: dict[str, Document | None] = {}
        self._read_bytes = 0
        self._reported: set[str] = set()
        self.root = Members(self._index, self._value)

    def _value(self, name: str) -> Any:
        document = self._document(name)
        return None if document is None else document.root

    def _document(self, name: str) -> Document | None:
        """A member's document; None when it is no JSON and does not claim to be. A few are kept."""
        if name in self._documents:
            return self._documents[name]
        size = self._entry(name).size
        if self._read_bytes + size > EAGER_BYTES:
            self._documents.clear()
            self._read_bytes = 0
        document = self._documents[name] = self._read(name)
        self._read_bytes += size
        if document is not None and name not in self._reported:
            self._reported.add(name)
            self.findings += document.findings
        return document

    def _read(self, name: str) -> Document | None:
        path = f"{self._name}/{name}"
        data = spooled(self._unpacked(self._entry(name), path), path)
        try:
            return read_document(data, path, strict=self._strict, value_bytes=self._member_bytes)
        except InputError as error:
            if error.code == "input.not_json" and not name.endswith((".json", ".jsonl")):
                return None
            raise

    def _unpacked(self, entry: Entry, path: str) -> Iterator[bytes]:
        codec = ZIP_METHODS.get(entry.method)
        if codec is None or entry.flags & ENCRYPTED:
            how = "is encrypted" if entry.flags & ENCRYPTED else f"has method {entry.method}"
            raise _bad(path, f"it {how}, which we do not read")
        if entry.size > self._member_bytes:
            raise _too_large(path, self._member_bytes)
        size = check = 0
        try:
            packed = data_range(self._data, self._directory, entry)
            for piece in codec.unpack(slices(self._data, *packed)):
                size, check = size + len(piece), zlib.crc32(piece, check)
                if size > entry.size:
                    break
                yield piece
        except (BadZipError, DamagedError) as error:
            raise _bad(path, error) from error
        if (size, check) != (entry.size, entry.check):
            raise _bad(path, "its content is not what the directory says")

    def _entry(self, name: str) -> Entry:
        return self._directory.entries[self._index[name]]

    def pieces(self, edits: Iterable[Edit]) -> Iterator[bytes]:
        """The archive with the edits made, in pieces; the very bytes without any."""
        by_name: dict[str, list[Edit]] = {}
        for path, value in edits:
            by_name.setdefault(self._member(path)[0], []).append(Edit(path[1:], value))
        if not by_name:
            return slices(self._data, 0, len(self._data))
        return self._spliced(by_name)

    def _spliced(self, by_name: dict[str, list[Edit]]) -> Iterator[bytes]:
        directory, data = self._directory, self._data
        order = sorted((self._entry(name).offset, self._index[name], name) for name in by_name)
        changed: dict[int, Changed] = {}
        shifts: list[tuple[int, int]] = []  # from this offset on members move by so many bytes
        at = by = 0
        try:
            for offset, index, name in order:
                start, end = self._bounds(directory.entries[index])
                yield from slices(data, at, start)
                new = self._repacked(name, by_name[name])
                header = local_header(data, directory, directory.entries[index], new.changed)
                yield header
                yield from slices(new.packed, 0, len(new.packed))
                changed[index] = new.changed
                by += len(header) + len(new.packed) - (end - start)
                shifts.append((offset, by))
                at = end
            yield from slices(data, at, directory.start)
            yield from moved_records(directory, self._moved(shifts), changed)
            yield moved_end(data, directory, by)
        except BadZipError as error:
            raise _bad(self._name, error) from error

    def _bounds(self, entry: Entry) -> tuple[int, int]:
        """A member with its header, up to the next one: what describes the data goes with it."""
        starts, lead = self._starts, self._directory.lead
        later = bisect_right(starts, entry.offset)
        stop = starts[later] + lead if later < len(starts) else self._directory.start
        is_shared = later > 1 and starts[later - 2] == entry.offset
        if is_shared or data_range(self._data, self._directory, entry)[1] > stop:
            raise BadZipError(f"{entry.name!r} overlaps another member")
        return entry.offset + lead, stop

    def _moved(self, shifts: list[tuple[int, int]]) -> dict[int, int]:
        """Old offset → new one, of all members."""
        moved: dict[int, int] = {}
        at, by = 0, 0
        for offset in self._starts:
            while at < len(shifts) and shifts[at][0] < offset:
                by = shifts[at][1]
                at += 1
            moved[offset] = offset + by
        return moved

    def _repacked(self, name: str, edits: list[Edit]) -> _Repacked:
        document = self._document(name)
        if document is None:
            raise no_place((), name)
        size = check = 0

        def counted() -> Iterator[bytes]:
            nonlocal size, check
            for piece in document.pieces(edits):
                size, check = size + len(piece), zlib.crc32(piece, check)
                yield piece

        codec = ZIP_METHODS[self._entry(name).method]
        packed = spooled(codec.pack(counted()), f"{self._name}/{name}")
        return _Repacked(packed, Changed(check, len(packed), size))

    def place(self, path: Path) -> str:
        """Where a path is: the member behind the archive's name, and the place in it."""
        if not path:
            return self._name
        name, document = self._member(path)
        if document is None or not path[1:]:
            return f"{self._name}/{name}"
        inner = document.place(path[1:])
        return inner if document.is_lines else f"{self._name}/{name} {inner}"

    def raw(self, path: Path) -> str:
        """The source text of the value at `path`, which begins with a member's name."""
        name, document = self._member(path)
        if document is None:
            raise no_place((), name)
        return document.raw(path[1:])

    def _member(self, path: Path) -> tuple[str, Document | None]:
        name = path[0] if path else ""
        if not isinstance(name, str) or name not in self._index:
            raise no_place((), name)
        return name, self._document(name)


class _Repacked(NamedTuple):
    packed: Bytes
    changed: Changed


def _bad(path: str, why: object) -> InputError:
    hint = "get a whole copy, or unpack it first and give one of its files"
    return InputError(f"cannot be unpacked: {why}", code="input.packed", path=path, hint=hint)


def _too_large(path: str, max_bytes: int) -> InputError:
    message = f"unpacks to more than {max_bytes:,} bytes"
    hint = "if that is what it should hold, unpack it first and give the plain file"
    return InputError(message, code="input.too_large", path=path, hint=hint)
