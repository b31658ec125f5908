"""Packed inputs: gzip and Zstandard data, alone or one inside the other, and zip archives.

Told by their first bytes, never by a name. What is packed is unpacked once, up to `UNPACKED_MAX`: a
small file may unpack to more than any disk holds. Without changes the very input is given back;
with changes the content is packed anew in the same containers, and the same content gives the same
bytes. Specification: docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from compactor import codecs
from compactor.archives import Archive
from compactor.codecs import Codec, DamagedError
from compactor.core.errors import Finding, InputError
from compactor.core.model import Path
from compactor.formats.raw.native import Document, Edit, read_document
from compactor.formats.raw.sources import Bytes, slices
from compactor.inputs import spooled

UNPACKED_MAX: Final = 2 << 30
"""Bytes that a packed input may unpack to."""
VALUE_MAX: Final = 512 << 20
"""Bytes of one JSON value, or one line, out of a packed input: as a value it is far larger."""
_LAYERS_MAX: Final = 3

_CODECS: Final = (
    (b"\x1f\x8b", codecs.GZIP),
    (b"\x28\xb5\x2f\xfd", codecs.ZSTD),
    *((bytes((low, 0x2A, 0x4D, 0x18)), codecs.ZSTD) for low in range(0x50, 0x60)),  # skippable
)
"""First bytes → container of one stream."""
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")


class PackedInput:
    """An input out of the containers that it is packed in, if any.

    Args:
        strict: a container that is damaged or ends early is an error instead of a finding.
        max_bytes: how much it may unpack to.

    Raises:
        InputError: `input.packed` when it cannot be unpacked; `input.too_large`.
    """

    def __init__(
        self, data: Bytes, name: str, *, strict: bool = False, max_bytes: int = UNPACKED_MAX
    ) -> None:
        self._packed = self._data = data
        self._name = name
        self._strict = strict
        self._codecs: list[Codec] = []
        self._findings: list[Finding] = []
        while (codec := _codec_of(self._data)) is not None:
            if len(self._codecs) == _LAYERS_MAX:
                raise _unpackable(name, f"it is packed more than {_LAYERS_MAX} times")
            self._data = self._unpacked(codec, max_bytes)
            self._codecs.append(codec)

    def document(self, *, lines: bool = False) -> Document:
        """The document in it. lines: read a single record as JSON Lines.

        Raises:
            InputError: as `read_document`.
        """
        inner = self._document(lines=lines)
        if not self._codecs:
            return inner
        source = _PackedSource(inner, self._packed, self._codecs, self._findings)
        return Document(self._name, source)

    def _document(self, *, lines: bool) -> Document:
        if self._data[:4] in _ZIP:
            archive = Archive(self._data, self._name, strict=self._strict, member_bytes=VALUE_MAX)
            return Document(self._name, archive)
        return read_document(
            self._data,
            self._name,
            strict=self._strict,
            lines=lines,
            value_bytes=VALUE_MAX if self._codecs else None,
        )

    def _unpacked(self, codec: Codec, max_bytes: int) -> Bytes:
        size, damage = 0, ""

        def pieces() -> Iterator[bytes]:
            nonlocal size, damage
            try:
                for piece in codec.unpack(slices(self._data, 0, len(self._data))):
                    size += len(piece)
                    if size > max_bytes:
                        raise _too_large(self._name, max_bytes)
                    yield piece
            except DamagedError as error:
                damage = str(error)

        unpacked = spooled(pieces(), self._name)
        if damage and (self._strict or not size):
            raise _unpackable(self._name, damage)
        if damage:
            said = f"{damage}; what could be unpacked is read"
            self._findings.append(Finding("damaged_container", said, self._name))
        return unpacked


class _PackedSource:
    """A document and the containers that its bytes are in, the outermost first."""

    def __init__(
        self, inner: Document, packed: Bytes, codecs: list[Codec], findings: list[Finding]
    ) -> None:
        inner.findings[:0] = findings
        self.findings = inner.findings  # the same list: an archive's grows as it is looked into
        self._inner = inner
        self._packed = packed
        self._codecs = codecs

    @property
    def root(self) -> Any:
        return self._inner.root

    def pieces(self, edits: Iterable[Edit]) -> Iterator[bytes]:
        edits = list(edits)
        if not edits:
            return slices(self._packed, 0, len(self._packed))
        pieces = self._inner.pieces(edits)
        for codec in reversed(self._codecs):
            pieces = codec.pack(pieces)
        return pieces

    def place(self, path: Path) -> str:
        return self._inner.place(path)

    def raw(self, path: Path) -> str:
        return self._inner.raw(path)


def _codec_of(data: Bytes) -> Codec | None:
    magic = data[:4]
    return next((codec for begin, codec in _CODECS if magic.startswith(begin)), None)


def _unpackable(name: str, why: str) -> InputError:
    hint = "get a whole copy, or unpack it first and give the plain file"
    return InputError(f"cannot be unpacked: {why}", code="input.packed", path=name, hint=hint)


def _too_large(name: str, max_bytes: int) -> InputError:
    message = f"unpacks to more than {max_bytes:,} bytes"
    hint = "if that is what it should hold, unpack it first and give the plain file"
    return InputError(message, code="input.too_large", path=name, hint=hint)
