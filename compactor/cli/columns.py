"""Rows of text in columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def aligned(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str]
) -> list[str]:
    """Lines, the heads first. right: heads of the columns that end at the same place."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return [_line(heads, row, widths, right) for row in (heads, *rows)]


def _line(
    heads: Sequence[str], row: Sequence[str], widths: Sequence[int], right: Collection[str]
) -> str:
    cells = zip(heads, row, widths, strict=True)
    padded = (
        cell.rjust(width) if head in right else cell.ljust(width) for head, cell, width in cells
    )
    return "  ".join(padded).rstrip()
