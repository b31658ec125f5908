"""The unified diff of two texts: hunks with lines of context, and nothing else.

Our own, because the bytes must not change with the standard library: what `patch` and `git apply`
take, in time and size that are linear in the texts. A missing newline at the end is said, and a
text that differs in nothing else has changed. Specification: seed 000 section 5, DESIGN section 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compactor.core.alignment import align
from compactor.core.lines import split_lines
from compactor.core.texts import EditTexts


class Change(NamedTuple):
    """Lines old..old_end-1 become new..new_end-1; counted from 0."""

    old: int
    old_end: int
    new: int
    new_end: int


def unified(old: str, new: str, texts: EditTexts) -> str:
    """The diff that turns one text into another; "" when they are equal. O(both + texts.work)."""
    if old == new:
        return ""
    olds, news = split_lines(old), split_lines(new)
    found = list(changes(align(olds, news, texts.work).pairs, len(olds), len(news)))
    pieces: list[str] = []
    for hunk in _hunks(found, texts.lines):
        _write(pieces, hunk, olds, news, texts)
    return "".join(pieces)


def changes(pairs: Sequence[tuple[int, int]], old: int, new: int) -> Iterator[Change]:
    """What lies between equal lines.

    Args:
        pairs: of equal lines, ascending.
        old, new: how many lines the texts have.
    """
    a = b = 0
    for i, j in (*pairs, (old, new)):
        if (a, b) != (i, j):
            yield Change(a, i, b, j)
        a, b = i + 1, j + 1


def _hunks(found: list[Change], context: int) -> Iterator[list[Change]]:
    """Changes whose lines of context touch stand in one hunk."""
    hunk: list[Change] = []
    for change in found:
        if hunk and change.old - hunk[-1].old_end > 2 * context:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _write(
    pieces: list[str], hunk: list[Change], olds: list[str], news: list[str], texts: EditTexts
) -> None:
    start = max(0, hunk[0].old - texts.lines)
    end = min(len(olds), hunk[-1].old_end + texts.lines)
    before, after = hunk[0].old - start, end - hunk[-1].old_end
    old = _range(start, end)
    new = _range(hunk[0].new - before, hunk[-1].new_end + after)
    pieces.append(f"@@ -{old} +{new} @@\n")
    at = start
    for change in hunk:
        _put(pieces, " ", olds[at : change.old], texts)
        _put(pieces, "-", olds[change.old : change.old_end], texts)
        _put(pieces, "+", news[change.new : change.new_end], texts)
        at = change.old_end
    _put(pieces, " ", olds[at:end], texts)


def _range(start: int, end: int) -> str:
    """Lines as a hunk names them: from 1, the number left out when it is 1, `0,0` before any."""
    if end - start == 1:
        return str(end)
    return f"{start + (end > start)},{end - start}"


def _put(pieces: list[str], sign: str, lines: list[str], texts: EditTexts) -> None:
    for line in lines:
        pieces.append(sign + line)
        if not line.endswith("\n"):
            pieces.append(f"\n{texts.no_newline}\n")
