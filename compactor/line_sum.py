"""The checksum that chains lines of a journal, in a file and in a store alike."""

from __future__ import annotations

import hashlib

SUM_CHARS = 16
"""Hex digits of a sum."""


def line_sum(last: str, record: bytes) -> str:
    """The sum of a line: over the sum of the line before and the bytes of its record."""
    return hashlib.sha256(last.encode() + record).hexdigest()[:SUM_CHARS]
