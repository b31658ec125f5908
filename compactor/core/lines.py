"""Lines of a text, windows of them, and the cap that keeps a head and a tail.

A line ends at `\\n` or `\\r\\n`; a lone `\\r`, a form feed or U+2028 ends none, and a final newline
ends the last line. Lines keep their ends, so that windows put together are the text. Our own
splitting: the standard library's ends lines at more and may change. Specification: seed 000 section
3, DESIGN section 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from compactor.core.texts import CapNumbers

_SURROGATE = re.compile("[\ud800-\udfff]")


def split_lines(text: str) -> list[str]:
    """All lines with their ends; joined they are the text. O(text)."""
    lines = [piece + "\n" for piece in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def count_lines(text: str) -> int:
    """How many lines a text has."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def without_end(line: str) -> str:
    """A line without its `\\n` or `\\r\\n`."""
    if not line.endswith("\n"):
        return line
    return line[:-2] if line.endswith("\r\n") else line[:-1]


def lines_of(text: str, offset: int | None = None, limit: int | None = None) -> str:
    """A window of a text, exactly.

    Args:
        offset: first line, from 1; None or less: from the start.
        limit: how many lines; None: to the end.
    """
    start = max(0, (offset or 1) - 1)
    lines = split_lines(text)[start:]
    return "".join(lines if limit is None else lines[: max(0, limit)])


def whole_characters(text: str) -> str:
    """A text that can be sent: lone surrogates become U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def cap(text: str, numbers: CapNumbers, shown_id: str) -> str:
    """A text as it goes before the model: in full, or its head and tail.

    Args:
        text: any result; the bracket is not part of it.
        shown_id: of the stored result, `#0020`.

    Returns:
        at most head and tail, the line between them, and the mark of a first line that was cut.
    """
    if len(text) <= numbers.max_chars and count_lines(text) <= numbers.max_lines:
        return text
    lines = split_lines(text)
    kept = _fitting(lines, numbers.head_lines, numbers.head_chars)
    head = "".join(lines[:kept])
    if not kept:
        kept, head = 1, without_end(lines[0])[: numbers.head_chars] + numbers.cut + "\n"
    rest = lines[kept:]
    last = _fitting(reversed(rest), numbers.tail_lines, numbers.tail_chars)
    if last == len(rest) and head == "".join(lines[:kept]):
        return text  # head and tail are the whole, so there is nothing to leave out
    between = numbers.elided.format(lines=len(rest) - last, id=shown_id)
    tail = "".join(rest[len(rest) - last :])
    return whole_characters(head + between + ("\n" + tail if tail else ""))


def _fitting(lines: Iterable[str], most: int, chars: int) -> int:
    """How many of the first lines fit, whole, into so many lines and characters."""
    count = 0
    for line in lines:
        chars -= len(line)
        if count == most or chars < 0:
            break
        count += 1
    return count
