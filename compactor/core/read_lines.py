"""Which lines of a file a read shows, and how they look where the session renders them.

What the harness says holds; the rest follows from the content and from what the call asks for, at
most a window of lines. Specification: seed 000 sections 1 and 3, DESIGN section 7.
"""

from __future__ import annotations

from typing import NamedTuple

from compactor.core.asked import Asked
from compactor.core.insertion import Content, Read
from compactor.core.lines import count_lines, split_lines, whole_characters, without_end
from compactor.core.texts import ReadWindow


class Lines(NamedTuple):
    """Lines of a file that a read shows, from 1; all 0 for an empty file."""

    first: int
    last: int
    total: int

    @property
    def none(self) -> bool:
        """Whether there are lines, but none is shown."""
        return self.total > 0 and self.last < self.first


def lines_shown(read: Read, call: Asked | None, output: str, texts: ReadWindow) -> Lines | None:
    """The lines that a read shows; None when they cannot be told.

    Args:
        call: what the call asks for; None when its tool is no known read tool.
        output: the harness's text; "" where the session renders the content.
    """
    content, rendered = read.content, not output
    total = read.total
    if content is not None and (total is None or rendered):
        total = content.lines
    if not total:
        return Lines(0, 0, 0)
    if rendered and content is None:
        return None
    if call is not None and not call.clear:
        if read.first is None and not rendered:
            return None
        call = None
    start, end = (call or Asked("")).window(total, texts.lines)
    first = start if read.first is None else max(1, read.first)
    last = first + end - start if read.last is None else read.last
    if rendered:
        last = min(last, first + texts.lines - 1)
    elif read.last is None:  # the harness may have shown less than was asked for
        last = min(last, first + count_lines(output) - 1)
    return Lines(first, min(last, total), total)


def rendered(content: Content, lines: Lines, texts: ReadWindow) -> str:
    """The lines as a read shows them: numbered, and such that they can be sent."""
    shown = split_lines(content.text)[lines.first - 1 : lines.last]
    numbered = enumerate(shown, lines.first)
    return whole_characters(
        "\n".join(texts.line.format(number=n, text=without_end(line)) for n, line in numbered)
    )
