"""A context file taken apart: what it was written from, and which texts stand under its headers.

Nothing is believed but what was written: every header line is compared with the one that was
written, byte for byte, and their order with the order in which they were. Specification: DESIGN
section 8 (The context file), seed 004.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compactor.core.errors import EditError
from compactor.core.mirror import HEADERS, Base, Block, Text, plain, same_ends, unescaped

_HEAD = re.compile(r"\[\[LIVE_CONTEXT session=(\S+) base=([0-9]{1,18}):(-1|[0-9]{1,18})\]\]")

_NAME = re.compile(r"\[\[[A-Z]+ S[0-9]{1,18}(?: part=[0-9]+)?")


class File(NamedTuple):
    """A file taken apart.

    lead: text before the first section.
    blocks: what was written; found: header of what still stands there → the text under it.
    """

    lead: str
    blocks: Sequence[Block]
    found: Mapping[str, str]

    @property
    def texts(self) -> list[Text]:
        """All texts that were written, in order."""
        return [text for block in self.blocks for text in block.texts]


def lines_of(text: str) -> list[str]:
    """The lines of a file, whose ends another tool may have written."""
    lines = text.removeprefix("\ufeff").split("\n")
    return [line.removesuffix("\r") for line in lines] if lines[0].endswith("\r") else lines


def base_of(first: str, session: str) -> Base:
    """What a file was written from, by its first line.

    Raises:
        EditError: `edit.damaged_header`.
    """
    head = _HEAD.fullmatch(first)
    if head is None or head.group(1) != plain(session):
        raise damaged("the first line must stay as it was")
    return Base(session, int(head.group(2)), int(head.group(3)))


def parsed(lines: Sequence[str], blocks: Sequence[Block]) -> File:
    """The lines behind the first one, under the headers that were written.

    Raises:
        EditError: `edit.damaged_header` for a header that was not written, `edit.reorder`.
    """
    owner = {text.header: block.texts[0].header for block in blocks for text in block.texts}
    order = {header: number for number, header in enumerate(owner)}
    known = {_key(header): header for header in owner}
    lead: list[str] = []
    found: dict[str, list[str]] = {}
    into, at = lead, -1
    for line in lines:
        if not line.startswith(HEADERS):
            into.append(line)
            continue
        header = known.get(_key(line), "")
        if header and order[header] <= at:
            raise _reordered(f"{header[:80]} stands in another place, or twice")
        if line.removesuffix("\r") != header:
            raise damaged(f"no such header was written: {line[:80]!r}")
        if owner[header] not in found and owner[header] != header:
            raise _out_of_place(header, owner[header], lines)
        at, into = order[header], found.setdefault(header, [])
    if into and into[-1] == "":
        into.pop()
    said = {header: unescaped("\n".join(text)) for header, text in found.items()}
    return File(unescaped("\n".join(lead)), blocks, said)


def _key(line: str) -> str:
    """What a header line names: a section, a result, or a part of a reply."""
    match = _NAME.match(line)
    return match.group(0) if match else ""


def same(text: str, shown: str) -> bool:
    """Whether a text is what was shown; line ends and a final newline may be another tool's."""
    return text == shown or same_ends(text) == same_ends(shown)


def damaged(why: str) -> EditError:
    """The refusal of a file whose headers are not as they were written."""
    return EditError(
        f"a header of the context file was changed: {why}",
        code="edit.damaged_header",
        path="file",
    )


def _out_of_place(header: str, owner: str, lines: Sequence[str]) -> EditError:
    """A result or a text that does not stand in its section."""
    if any(line.removesuffix("\r") == owner for line in lines):
        return _reordered(f"{header[:80]} stands in another section")
    return damaged(f"{owner[:80]} is gone, but {header[:80]} stands there")


def _reordered(why: str) -> EditError:
    return EditError(
        f"the parts of the context file stand in another order, and only their text can be edited: "
        f"{why}",
        code="edit.reorder",
        path="file",
    )
