"""Unpacks and packs streams: gzip, Zstandard, and what members of zip archives are packed by.

Bounded: never more than a few megabytes come out at once, whatever the input says of itself. What
is packed here holds no time, name or system, at fixed levels.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import zstandard

from compactor.formats.raw.sources import CHUNK

_DEFLATE_LEVEL: Final = 6
_ZSTD_LEVEL: Final = 3
_ZSTD_FED: Final = 1 << 10
"""Bytes of Zstandard data taken at once: they unpack to 32,768 times as many at most."""


class DamagedError(Exception):
    """From here on nothing can be unpacked; the message says why."""


class Codec(NamedTuple):
    """A way to pack a stream.

    unpack: pieces that are packed → pieces that are not. Raises `DamagedError` behind the last
        good one.
    pack: the other way round.
    """

    unpack: Callable[[Iterable[bytes]], Iterator[bytes]]
    pack: Callable[[Iterable[bytes]], Iterator[bytes]]


def _gunzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """All members; zeros between and behind them are padding."""
    reader, is_fresh, members = zlib.decompressobj(31), True, 0
    for piece in pieces:
        rest = piece.lstrip(b"\0") if is_fresh and members else piece
        while rest:
            is_fresh = False
            yield from _inflated(reader, rest, "something else stands behind it: " * bool(members))
            rest = reader.unused_data.lstrip(b"\0")
            if reader.eof:
                reader, is_fresh, members = zlib.decompressobj(31), True, members + 1
    if not is_fresh:
        raise DamagedError("the gzip data ends early")


def _gzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """One member."""
    writer = zlib.compressobj(_DEFLATE_LEVEL, zlib.DEFLATED, -15)
    check = size = 0
    yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    for piece in pieces:
        check, size = zlib.crc32(piece, check), size + len(piece)
        yield writer.compress(piece)
    yield writer.flush() + struct.pack("<LL", check, size & 0xFFFFFFFF)


def _inflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    reader = zlib.decompressobj(-15)
    for piece in pieces:
        yield from _inflated(reader, piece, "")
    if not reader.eof:
        raise DamagedError("the deflated data ends early")


def _inflated(reader: Any, piece: bytes, where: str) -> Iterator[bytes]:
    """What a piece unpacks to, never more than `CHUNK` bytes at once."""
    while not reader.eof:
        try:
            out = reader.decompress(piece, CHUNK)
        except zlib.error as error:
            raise DamagedError(f"the data is damaged: {where}{error}") from error
        yield out
        piece = reader.unconsumed_tail
        if not piece and len(out) < CHUNK:
            return


def _deflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    writer = zlib.compressobj(_DEFLATE_LEVEL, zlib.DEFLATED, -15)
    yield from map(writer.compress, pieces)
    yield writer.flush()


def _unzstd(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """All frames."""
    context = zstandard.ZstdDecompressor()
    reader, is_fresh = context.decompressobj(), True
    for piece in pieces:
        for start in range(0, len(piece), _ZSTD_FED):
            rest = piece[start : start + _ZSTD_FED]
            while rest:
                try:
                    yield reader.decompress(rest)
                except zstandard.ZstdError as error:
                    raise DamagedError(f"the data is damaged: {error}") from error
                is_fresh, rest = reader.eof, reader.unused_data
                if is_fresh:
                    reader = context.decompressobj()
    if not is_fresh:
        raise DamagedError("the Zstandard data ends early")


def _zstd(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """One frame with a checksum."""
    writer = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()
    yield from map(writer.compress, pieces)
    yield writer.flush()


GZIP: Final = Codec(_gunzip, _gzip)
ZSTD: Final = Codec(_unzstd, _zstd)

ZIP_METHODS: Final[Mapping[int, Codec]] = MappingProxyType(
    {0: Codec(iter, iter), 8: Codec(_inflate, _deflate), 93: ZSTD}
)
"""Method of a member of a zip archive → how it is packed."""
