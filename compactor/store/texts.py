"""Texts as the bytes that are stored: exactly, NUL and lone surrogates included."""

from __future__ import annotations

from compactor.store.failures import OtherKindError


def to_bytes(text: str) -> bytes:
    """UTF-8; what UTF-8 forbids, half a surrogate pair, is written as if it did not."""
    return text.encode("utf-8", "surrogatepass")


def bytes_of(column: object) -> bytes:
    """A column that holds bytes.

    Raises:
        OtherKindError: it is damaged. SQLite looks at the kind of a value only when it is written.
    """
    if not isinstance(column, bytes):
        raise OtherKindError(f"bytes were written, not {type(column).__name__}")
    return column


def to_text(data: bytes) -> str:
    """What `to_bytes` was given."""
    return bytes_of(data).decode("utf-8", "surrogatepass")
