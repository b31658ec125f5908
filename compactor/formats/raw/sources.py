"""Inputs by slices: bytes in memory, or a file that is not held in it.

The pure part asks for slices and never for a file: a shell hands in anything that has a length and
gives `bytes` for a slice. What walks an input does so in pieces of `CHUNK` bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

CHUNK: Final = 1 << 20
"""Bytes that are looked at, or handed out, at once."""


class Bytes(Protocol):
    """An input of a fixed size: `bytes`, or what reads a part of a file when it is asked for it."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


def slices(data: Bytes, start: int, end: int) -> Iterator[bytes]:
    """The bytes `start..end` in pieces; bytes in memory that are wanted whole, as they are."""
    if isinstance(data, bytes) and (start, end) == (0, len(data)):
        yield data
        return
    for at in range(start, end, CHUNK):
        yield data[at : min(at + CHUNK, end)]


class TooLongError(Exception):
    """A line is longer than it may be. start: where it begins."""

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.start = start


def lines_of(data: Bytes, start: int, max_bytes: int | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines from `start` on: where each begins, and its bytes without the newline. O(input).

    As `split` has it: what stands behind the last newline is a line too, if an empty one.

    Raises:
        TooLongError: a line has more than `max_bytes`.
    """
    begin, held = start, list[bytes]()
    for at in range(start, len(data), CHUNK):
        first, *rest = data[at : at + CHUNK].split(b"\n")
        held.append(first)
        if max_bytes is not None and at + len(first) - begin > max_bytes:
            raise TooLongError(begin)
        for later in rest:
            line = b"".join(held)
            yield begin, line
            begin += len(line) + 1
            held = [later]
    yield begin, b"".join(held)


def line_around(data: Bytes, low: int, start: int, end: int) -> tuple[int, int]:
    """The line that holds the bytes `start..end`, without its newline; nothing before `low` is."""
    left = start
    while left > low:
        part = data[max(left - _NEAR, low) : left]
        cut = part.rfind(b"\n")
        if cut >= 0:
            left -= len(part) - cut - 1
            break
        left -= len(part)
    right = end
    while right < len(data):
        part = data[right : right + _NEAR]
        cut = part.find(b"\n")
        if cut >= 0:
            right += cut
            break
        right += len(part)
    return left, right


_NEAR: Final = 1 << 14


def decoded(data: bytes) -> str:
    """UTF-8; bytes that are none as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of a `decoded` text."""
    return text.encode("utf-8", "surrogateescape")
