"""Transcripts: native data that was read, with the changes to show; `load` and `detect`.

A recording is read from its bytes and given back byte for byte where nothing changed.
Specification: DESIGN section 3; docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Any

from compactor.core.errors import Finding, InputError
from compactor.core.model import Entry, Reading
from compactor.formats import FORMATS
from compactor.formats import detect as detect_lens
from compactor.formats import lens as lens_named
from compactor.formats.lens import Lens
from compactor.formats.native import Document, Edit, apply_edits, compact_json, read_document


class Transcript:
    """Entries over untouched native data, with the changes to show.

    Attributes:
        format: name of its format, as after `-f`.
        root: the native data as parsed Python values, unchanged.
        edits: what `to_bytes` and `view` change.
    """

    def __init__(
        self,
        lens: Lens,
        root: Any,
        reading: Reading,
        document: Document | None = None,
        edits: Sequence[Edit] = (),
    ) -> None:
        self._lens = lens
        self.root = root
        self.reading = reading
        self.document = document
        self.edits = tuple(edits)

    @property
    def format(self) -> str:
        return self._lens.name

    @property
    def lens(self) -> Lens:
        return self._lens

    @property
    def entries(self) -> Sequence[Entry]:
        """The canonical entries, oldest first; index is seq."""
        return self.reading.entries

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was strange in the input and is carried through."""
        damage = tuple(self.document.findings) if self.document else ()
        return damage + tuple(self.reading.findings)

    def view(self) -> Any:
        """The native data with the changes; untouched messages are the same objects."""
        return apply_edits(self.root, self.edits)

    def to_bytes(self) -> bytes:
        """The native bytes with the changes; everything else byte for byte as it was read."""
        if self.document is not None:
            return self.document.edited(self.edits)
        return compact_json(self.view()).encode("utf-8")

    def with_edits(self, edits: Sequence[Edit]) -> Transcript:
        """The same transcript showing other changes."""
        return Transcript(self._lens, self.root, self.reading, self.document, edits)


def load(
    source: str | FilePath | bytes,
    format: str | None = None,  # noqa: A002  (the word users know)
    *,
    name: str = "",
    strict: bool = False,
) -> Transcript:
    """Read a recorded transcript or a request body.

    Args:
        source: a path, or the bytes themselves.
        format: name of the format; None looks at the content.
        name: what errors call the bytes.
        strict: damaged lines are an error instead of a finding.

    Raises:
        InputError: `input.not_json`, `input.shape`, `input.format_unknown`, with `file:line` or
            `$.path`.
    """
    if isinstance(source, bytes):
        data, name = source, name or "<bytes>"
    else:
        name = name or str(source)
        data = _read_file(FilePath(source))
    document = read_document(data, name, strict=strict)
    lens = lens_named(format) if format else None
    if isinstance(document.root, dict) and not _recognised(document.root, lens):
        document = _as_one_row(data, name, lens) or document
    lens = lens or detect_lens(document.root)
    return Transcript(lens, document.root, lens.read(document.root), document)


def _as_one_row(data: bytes, name: str, lens: Lens | None) -> Document | None:
    """The input as JSON Lines with a single line, when a format knows it so."""
    try:
        row = read_document(data, name, lines=True)
    except InputError:
        return None
    return row if _recognised(row.root, lens) else None


def _recognised(root: Any, lens: Lens | None) -> bool:
    """Whether a root is of a format at all; a recording of one line looks like one JSON value."""
    return any(one.recognises(root) for one in ([lens] if lens else FORMATS.values()))


def detect(source: Any) -> str:
    """The name of the format of a path, of bytes, or of parsed native data.

    Raises:
        InputError: `input.format_unknown`, or as `load`.
    """
    if isinstance(source, bytes):
        source = read_document(source, "<bytes>").root
    elif isinstance(source, str | FilePath):
        source = read_document(_read_file(FilePath(source)), str(source)).root
    return detect_lens(source).name


def _read_file(path: FilePath) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}",
            code="input.not_json",
            path=str(path),
            hint="give a file, or - for standard input",
        ) from error
