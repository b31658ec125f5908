"""What a changed context file asks for, as edits: one batch, or a refusal that says why.

Reading back trusts nothing but names: what may be edited, and whose words they are, is decided by
the sections as the file was written from them, never by the text. Tool output stays tool output:
where the header above it was removed or moved, the file is refused. Specification: DESIGN section 8
(The context file), seed 004.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from compactor.core.errors import EditError
from compactor.core.fold import Fold
from compactor.core.mirror import Block, Text, layout, same_ends
from compactor.core.mirror_file import File, damaged, parsed, same
from compactor.core.mirror_lost import refuse_lost
from compactor.core.model import Kind
from compactor.core.records import EditRecord
from compactor.core.revise import put, replace, tombstone
from compactor.core.sections import Section, Sections
from compactor.core.texts import EditingTexts


class Current(NamedTuple):
    """The context as it is now: the edits are made in it.

    sections: of the fold.
    """

    fold: Fold
    sections: Sections


def changes(
    lines: Sequence[str],
    fold: Fold,
    written: Sections,
    current: Current,
    texts: EditingTexts,
) -> list[EditRecord]:
    """The edits that a changed file asks for, in order; none when nothing was changed.

    Args:
        lines: of the file, without the first one.
        fold: from which it was written, and `written`, its sections then.

    Raises:
        EditError: `edit.damaged_header`, `edit.reorder`, `edit.protected`, and what the edits
            themselves are refused for.
    """
    file = parsed(lines, layout(fold, written))
    refuse_lost(file, fold)
    reader = _Reader(current, texts)
    if not file.found:
        return reader.all_at_once(file)
    if file.lead.strip():
        raise damaged("text stands before the first section")
    return reader.changes(file)


class _Reader:
    """Edits by sections."""

    def __init__(self, current: Current, texts: EditingTexts) -> None:
        self._fold, self._sections = current
        self._texts = texts
        self._changed: Collection[str] = ()

    def changes(self, file: File) -> list[EditRecord]:
        """One edit for each run that was removed and each text that was changed."""
        every = [(block.section, self._asked(block, file.found)) for block in file.blocks]
        self._changed = {section.id for section, asked in every if asked}
        edits: list[EditRecord] = []
        gone: list[Section] = []
        between: list[Section] = []
        for section, asked in every:
            if asked is None:
                gone += [*between, section]
                between = []
            elif not asked and gone and section.run and section.run.op == "tombstone":
                between.append(section)  # it becomes part of what is removed on both sides
            else:
                edits += [*self._removed(gone), *asked]
                gone, between = [], []
        return edits + self._removed(gone)

    def all_at_once(self, file: File) -> list[EditRecord]:
        """No section lines are left: one edit for everything that may be edited.

        Where something stands in between that may not, the text takes the place of the last run.
        """
        runs = _runs([block.section for block in file.blocks])
        if not runs:
            raise EditError("no section may be edited", code="edit.protected", path="file")
        if not file.lead.strip():
            return [edit for run in runs for edit in self._removed(run)]
        text = file.lead.strip("\n")
        removed = [edit for run in runs[:-1] for edit in self._removed(run)]
        return [*removed, replace(self._fold, self._sections, _span(runs[-1]), text)]

    def _removed(self, gone: Sequence[Section]) -> list[EditRecord]:
        """A run of sections that was deleted."""
        if not gone:
            return []
        span, apart = _span(gone), self._changed
        return [tombstone(self._fold, self._sections, span, "", self._texts, apart)]

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
            if text.header in found and not same(found[text.header], text.text)
        ]
        if not missing and not changed:
            return []
        _refuse_protected(section)
        if missing:
            return self._without_results(block, found)
        _refuse_moved(block, found)
        if not any(found[text.header].strip() for text in block.texts) and not _results(block):
            return None
        return [self._rewritten(block, text, said) for text, said in changed]

    def _without_results(self, block: Block, found: Mapping[str, str]) -> list[EditRecord] | None:
        """A step without its results gives way to the text that is left."""
        rest = [text for text in block.texts if text.header in found]
        missing = [text for text in block.texts if text.header not in found]
        if any(text.is_result for text in rest) or not all(text.is_result for text in missing):
            name = block.section.id
            raise damaged(f"some of the headers in {name} are gone; remove its results or none")
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
        return put(fold, section, text.place, said)


def _results(block: Block) -> bool:
    return any(text.is_result for text in block.texts)


def _refuse_moved(block: Block, found: Mapping[str, str]) -> None:
    """The same lines under other headers: what moved is a header."""
    was = [same_ends(text.text) for text in block.texts]
    now = [same_ends(found[text.header]) for text in block.texts]
    if len(now) > 1 and "\n".join(filter(None, was)) == "\n".join(filter(None, now)):
        raise damaged(f"a header in {block.section.id} stands between other lines")


def _runs(sections: Sequence[Section]) -> list[list[Section]]:
    """The sections that may be edited, in runs."""
    groups = groupby(sections, key=lambda section: bool(section.protected))
    return [list(run) for protected, run in groups if not protected]


def _span(run: Sequence[Section]) -> str:
    return f"{run[0].id}..{run[-1].id}"


def _refuse_protected(section: Section) -> None:
    if section.protected:
        raise EditError(
            f"{section.id} cannot be edited: {section.protected}",
            code="edit.protected",
            path="file",
        )
