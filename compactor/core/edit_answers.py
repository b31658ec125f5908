"""What an edit is answered with: its diff, or a sentence where a diff would say nothing.

Of one file the bracket names path and new hash; of several each has a bracket of its own below the
id, in the order given. Specification: seed 000 section 5, DESIGN section 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactor.core.brackets import Brackets, shown_path
from compactor.core.diff import unified
from compactor.core.insertion import Change
from compactor.core.lines import whole_characters
from compactor.core.texts import ContextTexts


class Answer(NamedTuple):
    """A bracket, and the text behind it: on its line, or below."""

    bracket: str
    text: str = ""
    inline: bool = False

    def over(self, text: str) -> str:
        """The whole, with another text."""
        gap = " " if self.inline else "\n"
        return f"{self.bracket}{gap}{text}" if text else self.bracket

    def whole(self) -> str:
        return self.over(self.text)


def edit_answer(changes: Sequence[Change], number: int, texts: ContextTexts) -> Answer:
    """The answer to an edit of one file or several. O(contents).

    Args:
        changes: not empty, in the order of the patch.
        number: of the result.
    """
    brackets = Brackets(texts)
    if len(changes) > 1:
        return Answer(brackets.result(number), parts(changes, texts))
    change = changes[0]
    path = shown_path(change.path, texts)
    return Answer(brackets.file(number, path, change.sha), *_said(change, texts))


def parts(changes: Sequence[Change], texts: ContextTexts) -> str:
    """Each file below the other, under brackets without an id."""
    brackets = Brackets(texts)
    answers = (
        Answer(brackets.part(shown_path(c.path, texts), c.sha), *_said(c, texts)) for c in changes
    )
    return "\n".join(answer.whole() for answer in answers)


def _said(change: Change, texts: ContextTexts) -> tuple[str, bool]:
    """What is said of one change, and whether on the line of its bracket."""
    old, new, edit = change.old, change.new, texts.edit
    if new is None:
        return "", False
    if old is None:
        text = edit.created_binary if new.binary else edit.created
        return text.format(lines=new.lines, bytes=len(new.raw)), True
    if old.raw == new.raw:
        return edit.unchanged, True
    if old.binary or new.binary:
        return texts.binary.format(bytes=len(new.raw)), True
    return whole_characters(unified(old.text, new.text, edit)).removesuffix("\n"), False
