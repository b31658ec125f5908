"""Texts as the bytes that are stored: exactly, NUL and lone surrogates included."""

from __future__ import annotations


def to_bytes(text: str) -> bytes:
    """UTF-8; what UTF-8 forbids, half a surrogate pair, is written as if it did not."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """What `to_bytes` was given."""
    return data.decode("utf-8", "surrogatepass")
