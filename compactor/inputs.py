"""Where inputs come from: files, streams, and what was unpacked; large ones stay on the disk.

A shell of `formats.raw.sources`: gives bytes by slices. A regular file of more than `EAGER_BYTES`
is read where it lies, each slice when it is asked for; what has no place of its own (a pipe,
unpacked data) goes through a temporary file without a name.
"""

from __future__ import annotations

import io
import os
import stat
import threading
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from compactor.core.errors import InputError
from compactor.formats.raw.rows import EAGER_BYTES
from compactor.formats.raw.sources import CHUNK, Bytes

BLOCK_BYTES: Final = 1 << 18
"""Bytes of a file that are read at once, at least."""


class FileBytes:
    """The bytes of an open file from `start` on, by slices. Closes it when nobody needs it.

    Raises:
        InputError: `input.unreadable`, from a slice, when the file cannot be read or has become
            shorter.
    """

    def __init__(self, file: IO[bytes], start: int, size: int, name: str) -> None:
        self._descriptor = file.fileno()
        self._start = start
        self._size = size
        self._name = name
        self._lock = threading.Lock()
        self._block = (0, b"")  # the bytes read last: slices mostly follow one another
        weakref.finalize(self, file.close)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice, /) -> bytes:
        start, end, _ = part.indices(self._size)
        at, block = self._block
        if start >= end:
            return b""
        if not at <= start <= end <= at + len(block):
            at, block = start, self._read(start, min(max(end, start + BLOCK_BYTES), self._size))
            self._block = at, block
        if end > at + len(block):
            raise unreadable(self._name, OSError("it has become shorter"))
        return block[start - at : end - at]

    def _read(self, start: int, end: int) -> bytes:
        """Those bytes, or as many of them as there are."""
        pieces = []
        try:
            with self._lock:
                os.lseek(self._descriptor, self._start + start, os.SEEK_SET)
                while start < end and (piece := os.read(self._descriptor, end - start)):
                    pieces.append(piece)
                    start += len(piece)
        except OSError as error:
            raise unreadable(self._name, error) from error
        return b"".join(pieces)


def of_path(path: Path) -> Bytes:
    """The bytes of a file.

    Raises:
        InputError: `input.unreadable`.
    """
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115
        known = _regular(file)
        if known is not None and known.st_size > EAGER_BYTES:
            return FileBytes(file, 0, known.st_size, str(path))
        with file:
            return spooled(_read_all(file), str(path))
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise unreadable(str(path), error) from error


def of_stream(stream: IO[bytes], name: str) -> Bytes:
    """The bytes of a stream from where it stands to its end: of a file that lies there, by slices.

    Raises:
        InputError: `input.unreadable`.
    """
    try:
        known = _regular(stream)
        if known is not None and known.st_size > EAGER_BYTES:
            start = stream.tell()
            file = open(os.dup(stream.fileno()), "rb", buffering=0)  # noqa: SIM115
            return FileBytes(file, start, max(known.st_size - start, 0), name)
        return spooled(_read_all(stream), name)
    except OSError as error:
        raise unreadable(name, error) from error


def _regular(stream: IO[bytes]) -> os.stat_result | None:
    try:
        known = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):  # no file at all
        return None
    return known if stat.S_ISREG(known.st_mode) else None


def _read_all(stream: IO[bytes]) -> Iterator[bytes]:
    while piece := stream.read(CHUNK):
        yield piece


def spooled(pieces: Iterable[bytes], name: str) -> Bytes:
    """The pieces as one input, in memory while it is small.

    Raises:
        InputError: `input.unreadable` when there is no room for it.
    """
    memory, size, file = io.BytesIO(), 0, None
    try:
        for piece in pieces:
            size += len(piece)
            if file is None and size > EAGER_BYTES:
                import tempfile  # only who has much data pays for it

                file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
                _write(file, memory.getvalue())
                memory = io.BytesIO()
            if file is None:
                memory.write(piece)
            else:
                _write(file, piece)
    except OSError as error:
        if file is not None:
            file.close()
        raise unreadable(name, error) from error
    except BaseException:
        if file is not None:
            file.close()
        raise
    return memory.getvalue() if file is None else FileBytes(file, 0, size, name)


def _write(file: IO[bytes], data: bytes) -> None:
    """All of it: a write may be short."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def unreadable(
    name: str, error: Exception, hint: str = "give the name of a file that can be read"
) -> InputError:
    """What an input is that cannot be read at all."""
    return InputError(
        f"cannot be read: {getattr(error, 'strerror', None) or error}",
        code="input.unreadable",
        path=name,
        hint=hint,
    )
