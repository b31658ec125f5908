"""The context as one text that a model edits with any tool, and the edits that it asks for.

Every section has a header line, every result one below it; what lies under a header is what may be
edited. A body line that looks like a header is written with a backslash before it, so that output
can forge none. Reading back trusts nothing but names: who may be edited is decided by the sections,
never by the text. Specification: DESIGN section 8 (The context file), seed 004.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from compactor.core.errors import EditError
from compactor.core.fold import Fold
from compactor.core.journal import EditRecord
from compactor.core.model import Kind
from compactor.core.revise import Place, places, put, replace, tombstone
from compactor.core.sections import Section, Sections
from compactor.core.texts import EditingTexts

_HEAD = re.compile(r"\[\[LIVE_CONTEXT session=(\S+) base=([0-9]{1,18}):(-?[0-9]{1,18})\]\]")
_SECTION = re.compile(r"\[\[SECTION (S[0-9]{1,18})((?: [a-z_]+=[^\s\]]*)*)\]\]")
_TEXT = re.compile(r"\[\[(RESULT|TEXT) S([0-9]{1,18})((?: [a-z_]+=[^\s\]]*)*)\]\]")
_LOOKS = re.compile(r"\\*\[\[(?:LIVE_CONTEXT|SECTION|RESULT|TEXT)\b")
_NAME = re.compile(r"[^A-Za-z0-9_.:/@#-]")


class Base(NamedTuple):
    """What a file was written from.

    revision: how many edits had been made.
    last: seq of the last entry; -1 for none.
    """

    session: str
    revision: int
    last: int


def write(fold: Fold, sections: Sections, base: Base) -> str:
    """The file. O(the view's text)."""
    session = _plain(base.session)
    lines = [f"[[LIVE_CONTEXT session={session} base={base.revision}:{base.last}]]"]
    for section in sections.all:
        lines.append(_header(section))
        for index, place in enumerate(_texts(fold, section)):
            if place.part < 0 and section.run is None and _is_result(fold, place):
                call = fold.entries[place.seq].call_id or fold.entries[place.seq].name
                lines.append(f"[[RESULT S{fold.labels[place.seq]} call={_plain(call)}]]")
            elif index and place.part >= 0:
                lines.append(f"[[TEXT S{fold.labels[place.seq]} part={place.part}]]")
            lines += map(_escaped, place.text.split("\n"))
    return "\n".join(lines) + "\n"


def _header(section: Section) -> str:
    more = f" stands_for={section.stands_for}" if section.stands_for else ""
    more += " protected=yes" if section.protected else ""
    return (
        f"[[SECTION {section.id} role={section.kind} tokens={section.tokens} "
        f"after={section.after}{more}]]"
    )


def read(
    text: str, fold: Fold, sections: Sections, base: Base, texts: EditingTexts
) -> list[EditRecord]:
    """The edits that a changed file asks for, in order; none when nothing was changed.

    Args:
        base: of the session now.

    Raises:
        EditError: `edit.damaged_header`, `edit.stale`, `edit.reorder`, `edit.protected`, and what
            the edits themselves are refused for.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    lines = [line.removesuffix("\r") for line in lines]
    head = _HEAD.fullmatch(lines[0])
    if head is None or head.group(1) != _plain(base.session):
        raise _damaged("the first line must stay as it was")
    if int(head.group(2)) != base.revision:
        raise EditError(
            "the context was revised since this file was written; read it again and edit that",
            code="edit.stale",
            path="file",
        )
    last = int(head.group(3))
    found = _parsed(lines[1:])
    written = [s for s in sections.all if fold.labels[s.first] <= last]
    if not found.order:
        return _all_at_once(found.lead, fold, sections, written, texts)
    if found.lead.strip():
        raise _damaged("text stands before the first section")
    _check_order(found.order, written)
    return _changes(found, fold, sections, written, texts)


class _File(NamedTuple):
    """A file taken apart. lead: text before the first section.

    bodies: section, and within it "" for its own text or the rest of a header → lines.
    """

    lead: str
    order: list[str]
    bodies: dict[str, dict[tuple[str, int, int], list[str]]]


_OWN = ("OWN", 0, 0)


def _parsed(lines: Sequence[str]) -> _File:
    lead: list[str] = []
    order: list[str] = []
    bodies: dict[str, dict[tuple[str, int, int], list[str]]] = {}
    into = lead
    for line in lines:
        section, inner = _SECTION.fullmatch(line), _TEXT.fullmatch(line)
        if section is not None:
            name = section.group(1)
            if name in bodies:
                raise EditError(f"{name} stands there twice", code="edit.reorder", path="file")
            order.append(name)
            into = []
            bodies[name] = {_OWN: into}
        elif inner is not None:
            if not order:
                raise _damaged("a result stands before the first section")
            kind, seq, more = inner.groups()
            key = (kind, int(seq), _part(more))
            if key in bodies[order[-1]]:
                raise EditError(f"S{seq} stands there twice", code="edit.reorder", path="file")
            into = []
            bodies[order[-1]][key] = into
        elif _LOOKS.match(line) and not line.startswith("\\"):
            raise _damaged(f"this is no header of the file: {line[:80]!r}")
        else:
            into.append(line)
    if into and into[-1] == "":
        into.pop()
    return _File("\n".join(map(_unescaped, lead)), order, bodies)


def _part(more: str) -> int:
    match = re.search(r" part=([0-9]{1,6})", more)
    return int(match.group(1)) if match else -1


def _check_order(order: Sequence[str], written: Sequence[Section]) -> None:
    places = {section.id: index for index, section in enumerate(written)}
    for name in order:
        if name not in places:
            raise _damaged(f"there is no section {name}")
    at = [places[name] for name in order]
    if at != sorted(at):
        raise EditError(
            "sections stand in another order; only their text can be edited",
            code="edit.reorder",
            path="file",
        )


def _changes(
    found: _File, fold: Fold, sections: Sections, written: Sequence[Section], texts: EditingTexts
) -> list[EditRecord]:
    edits: list[EditRecord] = []
    gone: list[Section] = []
    for section in written:
        bodies = found.bodies.get(section.id)
        if bodies is not None:
            edits += _removed(gone, fold, sections, texts)
            gone = []
            edits += _section_edits(bodies, fold, sections, section, texts)
        elif section.protected:
            raise _protected(section)
        else:
            gone.append(section)
    return edits + _removed(gone, fold, sections, texts)


def _removed(
    gone: Sequence[Section], fold: Fold, sections: Sections, texts: EditingTexts
) -> list[EditRecord]:
    """A run of sections that was deleted."""
    if not gone:
        return []
    span = f"{gone[0].id}..{gone[-1].id}"
    return [tombstone(fold, sections, span, "", texts)]


def _section_edits(
    bodies: Mapping[tuple[str, int, int], list[str]],
    fold: Fold,
    sections: Sections,
    section: Section,
    texts: EditingTexts,
) -> list[EditRecord]:
    """What was changed inside a section."""
    expected = {_key(fold, section, i, p): p for i, p in enumerate(_texts(fold, section))}
    expected.setdefault(_OWN, Place(section.first, 0, ""))
    unknown = [key for key in bodies if key not in expected]
    if unknown:
        raise _damaged(f"{section.id} has no text S{unknown[0][1]}")
    said = {key: "\n".join(map(_unescaped, lines)) for key, lines in bodies.items()}
    missing = [key for key in expected if key not in said]
    changed = {k: t for k, t in said.items() if not _same(t, expected[k].text)}
    if not missing and not changed:
        return []
    if section.protected:
        raise _protected(section)
    if missing:
        return _without_results(said, missing, fold, sections, section, texts)
    return list(_rewritten(changed, expected, fold, sections, section, texts))


def _without_results(
    said: Mapping[tuple[str, int, int], str],
    missing: Sequence[tuple[str, int, int]],
    fold: Fold,
    sections: Sections,
    section: Section,
    texts: EditingTexts,
) -> list[EditRecord]:
    """A step without its results gives way to the text that is left."""
    if any(key[0] == "RESULT" for key in said) or any(key[0] != "RESULT" for key in missing):
        raise _damaged(f"some of the headers in {section.id} are gone; remove all of them or none")
    left = "\n".join(text for text in said.values() if text)
    if not left.strip():
        return [tombstone(fold, sections, section.id, "", texts)]
    return [replace(fold, sections, section.id, left)]


def _rewritten(
    changed: Mapping[tuple[str, int, int], str],
    expected: Mapping[tuple[str, int, int], Place],
    fold: Fold,
    sections: Sections,
    section: Section,
    texts: EditingTexts,
) -> Iterator[EditRecord]:
    for key, text in changed.items():
        place = expected[key]
        is_user = section.run is None and fold.entries[section.first].kind is not Kind.ASSISTANT
        if key == _OWN and (is_user or section.run is not None):
            empty = not text.strip()
            yield (
                tombstone(fold, sections, section.id, "", texts)
                if empty
                else replace(fold, sections, section.id, text)
            )
        elif key == _OWN and not place.text:
            raise EditError(
                f"{section.id} has no text of its own; put text into a replacement",
                code="edit.no_match",
                path="file",
            )
        elif not text.strip() and key[0] != "RESULT":
            raise EditError(
                f"the reply of {section.id} cannot be empty; delete the section instead",
                code="edit.no_match",
                path="file",
            )
        else:
            yield put(fold, section, place, text)


def _all_at_once(
    text: str,
    fold: Fold,
    sections: Sections,
    written: Sequence[Section],
    texts: EditingTexts,
) -> list[EditRecord]:
    """No section lines are left: one edit for everything that may be edited."""
    editable = [index for index, section in enumerate(written) if not section.protected]
    if not editable:
        raise EditError("no section may be edited", code="edit.protected", path="file")
    run = written[editable[0] : editable[-1] + 1]
    for section in run:
        if section.protected:
            raise _protected(section)
    span = f"{run[0].id}..{run[-1].id}"
    if not text.strip():
        return [tombstone(fold, sections, span, "", texts)]
    return [replace(fold, sections, span, text.strip("\n"))]


def _texts(fold: Fold, section: Section) -> list[Place]:
    """The texts of a section, its own first where it has one."""
    found = list(places(fold, section))
    if section.run is None and fold.entries[section.first].kind in (Kind.USER, Kind.SYSTEM):
        parts = [part.text for part in fold.entries[section.first].parts if part.text]
        found.insert(0, Place(section.first, 0, "\n".join(parts)))
    return found


def _key(fold: Fold, section: Section, index: int, place: Place) -> tuple[str, int, int]:
    if section.run is None and place.part < 0 and _is_result(fold, place):
        return ("RESULT", fold.labels[place.seq], -1)
    return _OWN if index == 0 else ("TEXT", fold.labels[place.seq], place.part)


def _is_result(fold: Fold, place: Place) -> bool:
    return fold.entries[place.seq].kind is Kind.TOOL


def _same(text: str, shown: str) -> bool:
    """Whether a text is what was shown; line ends and a final newline may be another tool's."""
    if text == shown:
        return True
    return text.rstrip("\n") == shown.replace("\r\n", "\n").rstrip("\n")


def _escaped(line: str) -> str:
    return f"\\{line}" if _LOOKS.match(line) else line


def _unescaped(line: str) -> str:
    return line[1:] if line.startswith("\\") and _LOOKS.match(line) else line


def _plain(text: str) -> str:
    return _NAME.sub("_", text)[:200] or "-"


def _protected(section: Section) -> EditError:
    return EditError(
        f"{section.id} cannot be edited: {section.protected}", code="edit.protected", path="file"
    )


def _damaged(why: str) -> EditError:
    return EditError(
        f"a header of the context file was changed: {why}",
        code="edit.damaged_header",
        path="file",
    )
