"""Texts of a context file that stand there without their header, and so as somebody else's words.

A header line that is deleted or damaged leaves its text under the header before it. Taken as it
stands, tool output would become a message, or what the user said a reply. Such a file is refused: a
part goes whole, or not at all. Specification: DESIGN section 8 (The context file).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from compactor.core.errors import EditError
from compactor.core.fold import Fold
from compactor.core.mirror import Text, same_ends
from compactor.core.mirror_file import File, damaged, same

_REST = re.compile(r"(SECTION|RESULT|TEXT) (S[0-9]{1,18}) (?:role|call|part)=")
"""What is left of a header whose brackets or beginning were changed."""


_SAYS = re.compile(r"[0-9A-Za-z]|[^\x00-\x7f]")
"""A line of which more is left than brackets, quotes and rules."""


class _Changed(NamedTuple):
    """A text that was changed, and those that stood behind it and have no header any more.

    was, said: its lines.
    is_result: tool output.
    """

    was: Sequence[str]
    said: Sequence[str]
    lost: Sequence[Text]
    is_result: bool


def refuse_lost(file: File, fold: Fold) -> None:
    """Refuse a file in which a text lost its header.

    Args:
        fold: from which the file was written.

    Raises:
        EditError: `edit.damaged_header`.
    """
    missing = [text for text in file.texts if text.header not in file.found]
    if not missing:
        return
    output = [(body, text.header) for text in missing for body in _bodies(text, fold)]
    for changed in _changed(file):
        _refuse_rest(changed, missing)
        if not changed.is_result:
            _refuse_whole(changed, output)
            _refuse_left(changed, fold)
        if file.found:
            _refuse_joined(changed)


def _changed(file: File) -> Iterator[_Changed]:
    """The changed texts in order, with what is missing behind each."""
    lines, lost, text = same_ends(file.lead).split("\n"), [], None
    for known in file.texts:
        if known.header not in file.found:
            lost.append(known)
            continue
        if text is None or not same(file.found[text.header], text.text):
            yield _Changed(_lines(text.text) if text else (), lines, lost, _is_result(text))
        text, lost = known, []
        lines = _lines(file.found[known.header])
    if text is None or not same(file.found[text.header], text.text):
        yield _Changed(_lines(text.text) if text else (), lines, lost, _is_result(text))


def _is_result(text: Text | None) -> bool:
    return text is not None and text.is_result


def _lines(text: str) -> list[str]:
    return same_ends(text).split("\n")


def _refuse_rest(changed: _Changed, missing: Sequence[Text]) -> None:
    """A damaged header line is no text."""
    gone = {_REST.match(text.header.lstrip("[")) for text in missing}
    names = {match.group(0) for match in gone if match is not None}
    known = set(changed.was)
    for line in changed.said:
        match = _REST.search(line)
        if match is not None and match.group(0) in names and line not in known:
            raise damaged(f"{line[:80]!r} is no header as it was written")


def _bodies(text: Text, fold: Fold) -> Iterator[list[str]]:
    """The lines of a result, with the line of its id and without."""
    if not text.is_result or text.place is None:
        return
    lines = same_ends(text.text).lstrip("\n").split("\n")
    has_id = text.place.seq in fold.facts
    for body in (lines, lines[1:]) if has_id else (lines,):
        if "".join(body).strip():
            yield body


def _refuse_whole(changed: _Changed, output: Sequence[tuple[list[str], str]]) -> None:
    """Tool output never becomes what somebody says."""
    lines, said = set(changed.said), _joined(changed.said)
    for body, header in output:
        if body[0] in lines and _joined(body) in said:
            raise _loose(header)


def _joined(lines: Sequence[str]) -> str:
    """Lines as one text, in which whole lines can be looked for."""
    return "\n".join(("", *lines, ""))


def _refuse_left(changed: _Changed, fold: Fold) -> None:
    """Nor does what is left of a result of which more went than its header.

    Where no header at all is left, what stands there are notes, which may quote a line.
    """
    at_once = 1 if changed.was else 2
    said = _runs(_added(changed), at_once)
    for text in changed.lost:
        for body in _bodies(text, fold):
            if said & _runs(body, at_once):
                raise _loose(text.header)


def _runs(lines: Sequence[str], count: int) -> set[tuple[str, ...]]:
    """So many lines at once, where all of them say something."""
    runs = zip(*(lines[start:] for start in range(count)), strict=False)
    return {run for run in runs if all(map(_SAYS.search, run))}


def _refuse_joined(changed: _Changed) -> None:
    """A message whose header is gone has not become a part of the one before it."""
    added = [line for line in _added(changed) if line.strip()]
    for text in changed.lost:
        whole = [line for line in _lines(text.text) if line.strip()]
        if whole and added[-len(whole) :] == whole:
            raise damaged(
                f"{text.header[:80]} is gone, but its text stands there; remove it too or put the "
                "header back"
            )


def _added(changed: _Changed) -> list[str]:
    """The lines that are others now, without those kept around them and empty ones at the end."""
    was, said = list(changed.was), list(changed.said)
    shared = _shared(was, said)
    was, said = was[shared:], said[shared:]
    added = said[: len(said) - _shared(reversed(was), reversed(said))]
    while added and not added[-1].strip():
        added.pop()
    return added


def _shared(one: Iterable[str], other: Iterable[str]) -> int:
    """How many lines are the same from the beginning on."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _loose(header: str) -> EditError:
    return damaged(
        f"{header[:80]} is gone, but text of it stands there; tool output never becomes a message, "
        "so remove it too or put the header back"
    )
