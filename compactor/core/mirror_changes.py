"""What a changed context file asks for, as edits: one batch, or a refusal that says why.

Reading back trusts nothing but names: what may be edited, and whose words they are, is decided by
the sections as the file was written from them, never by the text. Tool output stays tool output:
where the header above it was removed or moved, the file is refused. Specification: DESIGN section 8
(The context file), seed 004.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from compactor.core.errors import EditError
from compactor.core.fold import Fold
from compactor.core.mirror import (
    HEADERS,
    Base,
    Block,
    Text,
    layout,
    plain,
    same_ends,
    unescaped,
)
from compactor.core.model import Kind
from compactor.core.records import EditRecord
from compactor.core.revise import put, replace, tombstone
from compactor.core.sections import Section, Sections
from compactor.core.texts import EditingTexts

_HEAD = re.compile(r"\[\[LIVE_CONTEXT session=(\S+) base=([0-9]{1,18}):(-1|[0-9]{1,18})\]\]")
_HEADER = re.compile(r"\[\[(SECTION|RESULT|TEXT) (S[0-9]{1,18})((?: [a-z_]+=[^ \]]+)*)\]\]")
_NUMBER = re.compile("[0-9]{1,18}")
_NUMBERS = ("tokens", "after")
"""Attributes that say a size: only that they are there."""
_OPTIONAL = ("stands_for", "protected")


def changes(
    text: str, fold: Fold, sections: Sections, base: Base, texts: EditingTexts
) -> list[EditRecord]:
    """The edits that a changed file asks for, in order; none when nothing was changed.

    Args:
        text: of the file.
        sections: of the fold as it is.
        base: of the session now.

    Raises:
        EditError: `edit.damaged_header`, `edit.stale`, `edit.reorder`, `edit.protected`, and what
            the edits themselves are refused for.
    """
    first, *lines = _lines(text)
    written = sections.upto(_last(first, base))
    file = _parsed(lines, layout(fold, written))
    _refuse_loose_output(file, fold)
    reader = _Reader(fold, sections, texts)
    if not file.found:
        return reader.all_at_once(file)
    if file.lead.strip():
        raise _damaged("text stands before the first section")
    return reader.changes(file)


def _lines(text: str) -> list[str]:
    """The lines of a file, whose ends another tool may have written."""
    lines = text.removeprefix("\ufeff").split("\n")
    return [line.removesuffix("\r") for line in lines] if lines[0].endswith("\r") else lines


def _last(first: str, base: Base) -> int:
    """Seq of the last entry that a file was written from, by its first line."""
    head = _HEAD.fullmatch(first)
    if head is None or head.group(1) != plain(base.session):
        raise _damaged("the first line must stay as it was")
    revision, last = int(head.group(2)), int(head.group(3))
    if revision > base.revision or last > base.last:
        raise _damaged("the first line says what was never written")
    if revision < base.revision:
        raise EditError(
            "the context was revised since this file was written; read it again and edit that",
            code="edit.stale",
            path="file",
        )
    return last


class _File(NamedTuple):
    """A file taken apart.

    lead: text before the first section.
    blocks: what was written; found: header of what still stands there → the text under it.
    """

    lead: str
    blocks: Sequence[Block]
    found: Mapping[str, str]


def _parsed(lines: Sequence[str], blocks: Sequence[Block]) -> _File:
    known = {_key(text.header): text.header for block in blocks for text in block.texts}
    owner = {t.header: block.texts[0].header for block in blocks for t in block.texts}
    order = {header: number for number, header in enumerate(owner)}
    lead: list[str] = []
    found: dict[str, list[str]] = {}
    into, at = lead, -1
    for line in lines:
        if not line.startswith(HEADERS):
            into.append(line)
            continue
        header = _known(line.removesuffix("\r"), known)
        if order[header] <= at:
            raise _reordered(f"{header[:80]} stands in another place, or twice")
        if owner[header] not in found and owner[header] != header:
            raise _out_of_place(header, owner[header], lines)
        at, into = order[header], found.setdefault(header, [])
    if into and into[-1] == "":
        into.pop()
    said = {header: unescaped("\n".join(text)) for header, text in found.items()}
    return _File(unescaped("\n".join(lead)), blocks, said)


def _key(header: str) -> tuple[str, str, str]:
    """What a header names: kind, section or entry, part of a reply."""
    match = _HEADER.fullmatch(header)
    if match is None:
        return "", header, ""
    kind, name, more = match.groups()
    return kind, name, _attributes(more).get("part", "")


def _attributes(more: str) -> dict[str, str]:
    pairs = (one.split("=", 1) for one in more.split())
    return {name: value for name, value in pairs}  # noqa: C416  (a pair is a list)


def _known(line: str, known: Mapping[tuple[str, str, str], str]) -> str:
    """The header that was written for a line.

    Sizes are not compared: another process may count what it read from the store.
    """
    header = known.get(_key(line))
    said, meant = _HEADER.fullmatch(line), header and _HEADER.fullmatch(header)
    if not header or not said or not meant:
        raise _damaged(f"no such header was written: {line[:80]!r}")
    told, wanted = _attributes(said.group(3)), _attributes(meant.group(3))
    missing = [name for name in wanted if name not in told and name not in _OPTIONAL]
    wrong = [name for name, value in told.items() if not _fits(name, value, wanted)]
    if missing or wrong or len(told) != len(said.group(3).split()):
        raise _damaged(f"{header[:80]} was written, not {line[:80]!r}")
    return header


def _fits(name: str, value: str, wanted: Mapping[str, str]) -> bool:
    return bool(_NUMBER.fullmatch(value)) if name in _NUMBERS else value == wanted.get(name)


def _out_of_place(header: str, owner: str, lines: Sequence[str]) -> EditError:
    """A result or a text that does not stand in its section."""
    key = _key(owner)
    if any(_key(line.removesuffix("\r")) == key for line in lines if line.startswith(HEADERS)):
        return _reordered(f"{header[:80]} stands in another section")
    return _damaged(f"{owner[:80]} is gone, but {header[:80]} stands there")


def _refuse_loose_output(file: _File, fold: Fold) -> None:
    """Tool output never becomes what somebody says, by losing the header above it."""
    loose: dict[str, list[tuple[list[str], str]]] = {}
    for text in (text for block in file.blocks for text in block.texts if text.is_result):
        if text.header in file.found or text.place is None:
            continue
        for body in _bodies(text, fold):
            loose.setdefault(body[0], []).append((body, text.header))
    for lines in _said(file) if loose else ():
        for number, line in enumerate(lines):
            for body, header in loose.get(line, ()):
                if lines[number : number + len(body)] == body:
                    raise _damaged(
                        f"{header[:80]} is gone, but its text stands there; tool output never "
                        "becomes a message, so remove it too or put the header back"
                    )


def _bodies(text: Text, fold: Fold) -> Iterator[list[str]]:
    """The lines of a result, with the line of its id and without."""
    lines = same_ends(text.text).lstrip("\n").split("\n")
    has_id = text.place is not None and text.place.seq in fold.facts
    for body in (lines, lines[1:]) if has_id else (lines,):
        if "".join(body).strip():
            yield body


def _said(file: _File) -> Iterator[list[str]]:
    """The lines of what is not tool output and was changed."""
    yield same_ends(file.lead).split("\n")
    for block in file.blocks:
        for text in block.texts:
            said = file.found.get(text.header)
            if said is not None and not text.is_result and not _same(said, text.text):
                yield same_ends(said).split("\n")


class _Reader:
    """Edits by sections. sections: of the fold as it is, in which the edits are made."""

    def __init__(self, fold: Fold, sections: Sections, texts: EditingTexts) -> None:
        self._fold = fold
        self._sections = sections
        self._texts = texts

    def changes(self, file: _File) -> list[EditRecord]:
        """One edit for each run that was removed and each text that was changed."""
        edits: list[EditRecord] = []
        gone: list[Section] = []
        between: list[Section] = []
        for block in file.blocks:
            section = block.section
            asked = self._asked(block, file.found)
            if asked is None:
                gone += [*between, section]
                between = []
            elif not asked and gone and section.run and section.run.op == "tombstone":
                between.append(section)  # it becomes part of what is removed on both sides
            else:
                edits += [*self._removed(gone), *asked]
                gone, between = [], []
        return edits + self._removed(gone)

    def all_at_once(self, file: _File) -> list[EditRecord]:
        """No section lines are left: one edit for everything that may be edited."""
        written = [block.section for block in file.blocks]
        editable = [index for index, section in enumerate(written) if not section.protected]
        if not editable:
            raise EditError("no section may be edited", code="edit.protected", path="file")
        run = written[editable[0] : editable[-1] + 1]
        for section in run:
            _refuse_protected(section)
        if not file.lead.strip():
            return self._removed(run)
        return [replace(self._fold, self._sections, _span(run), file.lead.strip("\n"))]

    def _removed(self, gone: Sequence[Section]) -> list[EditRecord]:
        """A run of sections that was deleted."""
        if not gone:
            return []
        return [tombstone(self._fold, self._sections, _span(gone), "", self._texts)]

    def _asked(self, block: Block, found: Mapping[str, str]) -> list[EditRecord] | None:
        """The edits inside a section; None when nothing is left of it."""
        section = block.section
        if block.texts[0].header not in found:
            _refuse_protected(section)
            return None
        missing = [text for text in block.texts if text.header not in found]
        changed = [
            (text, found[text.header])
            for text in block.texts
            if text.header in found and not _same(found[text.header], text.text)
        ]
        if not missing and not changed:
            return []
        _refuse_protected(section)
        if missing:
            return self._without_results(block, found)
        _refuse_moved(block, found)
        if all(not found[text.header].strip() for text in block.texts) and not _results(block):
            return None
        return [self._rewritten(block, text, said) for text, said in changed]

    def _without_results(self, block: Block, found: Mapping[str, str]) -> list[EditRecord] | None:
        """A step without its results gives way to the text that is left."""
        rest = [text for text in block.texts if text.header in found]
        missing = [text for text in block.texts if text.header not in found]
        if any(text.is_result for text in rest) or not all(text.is_result for text in missing):
            name = block.section.id
            raise _damaged(f"some of the headers in {name} are gone; remove its results or none")
        left = "\n".join(filter(str.strip, (found[text.header] for text in rest)))
        if not left:
            return None
        return [replace(self._fold, self._sections, block.section.id, left.strip("\n"))]

    def _rewritten(self, block: Block, text: Text, said: str) -> EditRecord:
        """A text that was changed: in its place, or as a replacement of what a user said."""
        section, fold = block.section, self._fold
        if text.place is None:
            raise EditError(
                f"{section.id} has no text of its own; put text into a replacement",
                code="edit.no_match",
                path="file",
            )
        if section.run is None and fold.entries[section.first].kind in (Kind.USER, Kind.SYSTEM):
            return replace(fold, self._sections, section.id, said)
        if not text.is_result and not said.strip():
            raise EditError(
                f"the text of {section.id} cannot be empty; delete the section instead",
                code="edit.no_match",
                path="file",
            )
        return put(fold, section, text.place, said)


def _results(block: Block) -> bool:
    return any(text.is_result for text in block.texts)


def _refuse_moved(block: Block, found: Mapping[str, str]) -> None:
    """The same lines under other headers: what moved is a header."""
    was = [same_ends(text.text) for text in block.texts]
    now = [same_ends(found[text.header]) for text in block.texts]
    if len(now) > 1 and "\n".join(filter(None, was)) == "\n".join(filter(None, now)):
        raise _damaged(f"a header in {block.section.id} stands between other lines")


def _span(run: Sequence[Section]) -> str:
    return f"{run[0].id}..{run[-1].id}"


def _same(text: str, shown: str) -> bool:
    """Whether a text is what was shown; line ends and a final newline may be another tool's."""
    return text == shown or same_ends(text) == same_ends(shown)


def _refuse_protected(section: Section) -> None:
    if section.protected:
        raise EditError(
            f"{section.id} cannot be edited: {section.protected}",
            code="edit.protected",
            path="file",
        )


def _reordered(why: str) -> EditError:
    return EditError(
        f"the parts of the context file stand in another order, and only their text can be edited: "
        f"{why}",
        code="edit.reorder",
        path="file",
    )


def _damaged(why: str) -> EditError:
    return EditError(
        f"a header of the context file was changed: {why}",
        code="edit.damaged_header",
        path="file",
    )
