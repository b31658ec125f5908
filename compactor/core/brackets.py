"""Ids of results, the bracket that each begins with, and the sentences that name another result.

The only place that turns facts of a result into bracket text. A path is the call's own, on one
line and bounded: it may not end its bracket early or pass for an id, because the model reads a
bracket as trusted harness text. Nothing is ever decided by reading one back. Specification: seed
000 sections 1, 2, 5 and 6, DESIGN section 7.
"""

from __future__ import annotations

import re

from compactor.core.facts import Facts
from compactor.core.lines import cap, whole_characters
from compactor.core.texts import ContextTexts, IdNumbers

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ENDS_BRACKET = re.compile(r"\](?= |\Z)")
_LIKE_ID = re.compile(r"\A#(?=[0-9A-Fa-f]+(?: |\Z))")
_ID = re.compile(r" *#?([0-9A-Fa-f]{1,8}) *")


def shown_id(number: int, ids: IdNumbers) -> str:
    """`#0012`: lowercase hex, with the digits that are needed."""
    return f"#{number:0{ids.digits}x}"


def parse_id(text: str) -> int | None:
    """The number of an id as a model writes it: `0012`, `#0012`, `12`, upper case.

    Returns:
        None for what is no id.
    """
    match = _ID.fullmatch(text)
    return None if match is None else int(match.group(1), 16)


def shown_path(path: str, texts: ContextTexts) -> str:
    """A path as brackets show it: one line, whole characters, at most `path_chars`.

    A `]` that would end the bracket (before a space, or at the end) and a `#` that would begin an
    id are written with a backslash; all others stay, as in `app/[slug]/page.tsx`.
    """
    clean = whole_characters(_CONTROL.sub(" ", path))
    clean = _LIKE_ID.sub(r"\\#", _ENDS_BRACKET.sub(r"\\]", clean))
    if len(clean) > texts.path_chars:
        clean = texts.path_cut + clean[len(texts.path_cut) - texts.path_chars :]
    return clean


class Brackets:
    """Writes brackets, and the sentences of stubs.

    Args:
        texts: `context` of `loop.json`.
    """

    def __init__(self, texts: ContextTexts) -> None:
        self._texts = texts

    def id(self, number: int) -> str:
        return shown_id(number, self._texts.ids)

    def result(self, number: int) -> str:
        """`[#0001]`."""
        return self._texts.brackets.result.format(id=self.id(number))

    def read(self, facts: Facts) -> str:
        """`[#0012 src/app.ts lines 1-200 of 340 sha 1c9e04ab]`, or that the file is empty."""
        brackets = self._texts.brackets
        return (brackets.read if facts.total else brackets.empty).format(
            id=self.id(facts.number),
            path=facts.path,
            first=facts.first,
            last=facts.last,
            total=facts.total,
            sha=self._sha(facts.sha),
        )

    def file(self, number: int, path: str, sha: str) -> str:
        """`[#0022 src/app.ts sha 7d0a91c3]`, or that it is deleted where there is no sha."""
        brackets = self._texts.brackets
        text = brackets.file if sha else brackets.deleted
        return text.format(id=self.id(number), path=path, sha=self._sha(sha))

    def part(self, path: str, sha: str) -> str:
        """The same for one file of several, without an id."""
        brackets = self._texts.brackets
        return (brackets.part if sha else brackets.part_deleted).format(
            path=path, sha=self._sha(sha)
        )

    def recall(self, number: int, target: int, first: int, last: int, total: int) -> str:
        """`[#0021 recall #0020 lines 1-2000 of 3400]`, or that there is no text."""
        brackets = self._texts.brackets
        return (brackets.recall if total else brackets.recall_empty).format(
            id=self.id(number), target=self.id(target), first=first, last=last, total=total
        )

    def named(self, stub: Facts, other: Facts) -> str:
        """A stub, whole: the bracket and the sentence that names another result."""
        texts = self._texts.stubs
        sentence = texts.read if other.total else texts.empty
        sentence = texts.same if not stub.sha else sentence
        named = self.id(other.number)
        return f"{self.of(stub)} " + sentence.format(id=named, first=other.first, last=other.last)

    def gone(self, stub: Facts) -> str:
        """What a stub becomes when its target was elided."""
        sentence = self._texts.stubs.gone.format(id=self.id(stub.target))
        return f"{self.of(stub)} {sentence}"

    def shown(self, stub: Facts, full: str) -> str:
        """A stub that gets its text back: what the result would have been without the other.

        Args:
            full: the text that it stands for, as stored.
        """
        if not stub.sha:
            full = cap(full, self._texts.cap, self.id(stub.number))
        return under(self.of(stub), full)

    def of(self, facts: Facts) -> str:
        """The bracket of a result, or of a read where its file is known."""
        return self.read(facts) if facts.sha else self.result(facts.number)

    def _sha(self, sha: str) -> str:
        return sha[: self._texts.sha_digits]


def under(bracket: str, text: str) -> str:
    """A text below its bracket; a bracket with nothing below it ends in no newline."""
    return f"{bracket}\n{text}" if text else bracket
