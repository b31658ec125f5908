"""The context as one text that a model edits with any tool: what stands in it, and how.

Every section has a header line, every result one below it; what lies under a header is what may be
edited. Wherever a tool could see a line begin, what looks like a header is written with a backslash
before it, so that output can forge none. `mirror_file` takes the text apart, `mirror_changes` says
what was changed. Specification:
DESIGN section 8 (The context file), seed 004.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from compactor.core.fold import Fold
from compactor.core.lines import whole_characters
from compactor.core.model import Kind
from compactor.core.revise import Place, places
from compactor.core.sections import Section, Sections

HEADERS = ("[[LIVE_CONTEXT", "[[SECTION", "[[RESULT", "[[TEXT")
_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Where tools other than ours may end a line beside `\\n`."""
_ANY = "|".join(map(re.escape, HEADERS))
_LOOKS = re.compile(rf"(^|[\n{_BREAKS}])(\\*(?:{_ANY}))")
_ESCAPED = re.compile(rf"(^|[\n{_BREAKS}])\\(\\*(?:{_ANY}))")
_END = re.compile(rf"\r\n|[{_BREAKS}]")
_NAME = re.compile(r"[^A-Za-z0-9_.:/@#-]")


class Base(NamedTuple):
    """What a file was written from.

    revision: how often what was shown before had been changed.
    last: seq of the last entry; -1 for none.
    """

    session: str
    revision: int
    last: int


class Text(NamedTuple):
    """A text of a section, under its own header.

    header: the line above it; the section's for its own text, which comes first.
    place: where it is shown; None for a turn without a text of its own.
    is_result: tool output, as against what somebody said.
    """

    header: str
    place: Place | None
    text: str
    is_result: bool


class Block(NamedTuple):
    """A section in the file. texts: its own first, then the others in order."""

    section: Section
    texts: tuple[Text, ...]


def write(fold: Fold, sections: Sections, base: Base) -> str:
    """The file. O(the view's text)."""
    lines = [head(base)]
    for block in layout(fold, sections):
        for text in block.texts:
            lines.append(text.header)
            if text.place is not None:
                lines.append(escaped(text.text))
    return "\n".join(lines) + "\n"


def head(base: Base) -> str:
    """The first line."""
    return f"[[LIVE_CONTEXT session={plain(base.session)} base={base.revision}:{base.last}]]"


def layout(fold: Fold, sections: Sections) -> list[Block]:
    """What the file holds, section by section."""
    return [Block(section, _texts(fold, section)) for section in sections.all]


def _texts(fold: Fold, section: Section) -> tuple[Text, ...]:
    found = list(places(fold, section))
    first = fold.entries[section.first]
    own: Place | None = None
    if section.run is None and first.kind in (Kind.USER, Kind.SYSTEM):
        said = "\n".join(part.text for part in first.parts if part.text)
        own = Place(section.first, 0, said)
    elif found and not _is_result(fold, section, found[0]):
        own = found.pop(0)
    texts = [Text(_header(section), own, own.text if own else "", is_result=False)]
    for place in found:
        label, is_result = fold.labels[place.seq], _is_result(fold, section, place)
        entry = fold.entries[place.seq]
        header = f"[[TEXT S{label} part={place.part}]]"
        if is_result:
            header = f"[[RESULT S{label} call={plain(entry.call_id or entry.name)}]]"
        texts.append(Text(header, place, place.text, is_result))
    return tuple(text._replace(text=whole_characters(text.text)) for text in texts)


def _is_result(fold: Fold, section: Section, place: Place) -> bool:
    return section.run is None and fold.entries[place.seq].kind is Kind.TOOL


def _header(section: Section) -> str:
    more = f" stands_for={section.stands_for}" if section.stands_for else ""
    more += " protected=yes" if section.protected else ""
    return (
        f"[[SECTION {section.id} role={section.kind} tokens={section.tokens} "
        f"after={section.after}{more}]]"
    )


def plain(text: str) -> str:
    """A name as it may stand in a header."""
    return _NAME.sub("_", text)[:200] or "-"


def escaped(text: str) -> str:
    """A text with a backslash before what looks like a header."""
    return _LOOKS.sub(r"\1\\\2", text)


def unescaped(text: str) -> str:
    """The same without it."""
    return _ESCAPED.sub(r"\1\2", text)


def same_ends(text: str) -> str:
    """A text with every line end that a tool may have turned into another as `\\n`, none last."""
    return _END.sub("\n", text).rstrip("\n")
