"""A stored result shown again by its id: a window of its lines, exactly.

A recall is not capped: windows put together are the whole. Specification: seed 000 section 4,
DESIGN section 7.
"""

from __future__ import annotations

import msgspec

from compactor.core.brackets import Brackets, parse_id, shown_path, under
from compactor.core.lines import split_lines
from compactor.core.texts import ContextTexts


class Recalled(msgspec.Struct, frozen=True):
    """An answer to a recall by id.

    body: the whole text; bracket: characters of the bracket that it begins with.
    first, count: the lines of the stored text that it shows; no lines where there is nothing.
    text: those lines, or the sentence that says why there are none.
    """

    body: str
    bracket: int
    first: int
    count: int
    text: str


def recall(
    number: int,
    named: str,
    text: str | None,
    offset: int | None,
    limit: int | None,
    texts: ContextTexts,
) -> Recalled:
    """Show a stored text again. O(text).

    Args:
        number: of the recall itself.
        named: the id as the model wrote it.
        text: what is stored under it; None when there is no such result.
        offset: first line, from 1; limit: how many, at most `recall.lines`.
    """
    words, brackets = texts.recall, Brackets(texts)
    target = parse_id(named)
    if text is None or target is None:
        shown = shown_path(named[: words.asked_chars], texts)
        name = shown if target is None else brackets.id(target)
        return _said(brackets.result(number), words.unknown.format(id=name))
    lines = split_lines(text)
    first = max(1, offset or 1)
    if first > max(1, len(lines)):
        sentence = words.past_end.format(first=first, id=brackets.id(target), total=len(lines))
        return _said(brackets.result(number), sentence)
    count = min(max(1, limit or words.lines), words.lines, len(lines) - first + 1)
    window = "".join(lines[first - 1 : first - 1 + count])
    bracket = brackets.recall(number, target, first, first + count - 1, len(lines))
    return Recalled(under(bracket, window), len(bracket), first, count, window)


def _said(bracket: str, sentence: str) -> Recalled:
    return Recalled(f"{bracket} {sentence}", len(bracket), 1, 0, sentence)
