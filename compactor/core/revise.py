"""Edits of the context as records: validated against the sections, measured by their effect.

An edit never touches what was handed in. It is a record, like an elision, and what it costs is
known before it is made: a receipt says what it frees and what the provider reads again. Stubs that
named what it hides are resolved with it. Specification: DESIGN section 8, seed 004.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from compactor.core.bound import removals
from compactor.core.errors import EditError
from compactor.core.fold import Fold
from compactor.core.lines import whole_characters
from compactor.core.model import MEDIA_KINDS, Kind, Part, PartKind, entry_digest
from compactor.core.records import AnyRecord, EditRecord, StubsRecord
from compactor.core.sections import Section, Sections
from compactor.core.stubs import Stored
from compactor.core.texts import EditingTexts


class Receipt(NamedTuple):
    """What a batch of edits did, in tokens.

    freed: estimate before - after, resolved stubs included; negative where the view grew.
    reread: of the view from the first change on, which no prompt cache has.
    first: the first entry that is shown otherwise; the number of entries where none is.
    media: what is no text and is not shown any more.
    """

    freed: int
    reread: int
    first: int
    media: tuple[Part, ...] = ()


class Made(NamedTuple):
    """Records of a batch, already shown by the fold, and their receipt."""

    records: tuple[AnyRecord, ...]
    receipt: Receipt


class Place(NamedTuple):
    """A text that may be rewritten in place. part: of a reply; -1 for the body of a result."""

    seq: int
    part: int
    text: str


def apply_edits(fold: Fold, edits: Sequence[EditRecord], stored: Stored) -> Made:
    """Show a batch of edits. The fold changes; the caller puts the records into the journal.

    Args:
        edits: valid ones of this fold. Those that show what is shown already are left out.
        stored: full texts by the number of a result.
    """
    before = fold.estimate
    edits = [edit for edit in edits if not _is_shown(fold, edit)]
    if not edits:
        return Made((), Receipt(0, 0, fold.n))
    records: list[AnyRecord] = []
    media: list[Part] = []
    for edit in edits:
        media += _media(fold, edit)
        records.append(_with_digest(fold, edit))
        fold.apply(records[-1])
    loose = fold.stubs.loose
    resolved = fold.stubs.resolve(loose, fold.cutoff, stored, fold.digest) if loose else []
    if resolved:
        records.append(StubsRecord(fold.n, tuple(resolved)))
        fold.apply(records[-1])
    first = min([edit.first for edit in edits] + [stub.seq for stub in resolved])
    for removal in removals(fold, first):
        records.append(removal)
        fold.apply(removal)
    receipt = Receipt(before - fold.estimate, sum(fold.tokens[first:]), first, tuple(media))
    return Made(tuple(records), receipt)


def _media(fold: Fold, edit: EditRecord) -> Iterator[Part]:
    """What an edit hides that is no text. In its own place a reply keeps everything else."""
    if edit.op == "rewrite" and edit.part >= 0:
        return
    for seq in range(edit.first, edit.end):
        if fold.view.shows(seq) and seq not in fold.view.bodies:
            yield from (part for part in fold.entries[seq].parts if part.kind in MEDIA_KINDS)


def _is_shown(fold: Fold, edit: EditRecord) -> bool:
    """Whether the view has it already: then there is nothing to record or to read again."""
    view, first = fold.view, edit.first
    if edit.op != "rewrite":
        run = view.runs.get(first)
        return run is not None and (run.end, run.text, run.op) == (edit.end, edit.text, edit.op)
    entry = fold.entries[first]
    if edit.part < 0:
        return view.bodies.get(first, entry.body) == edit.text
    return view.replies.get(first, {}).get(edit.part, entry.parts[edit.part].text) == edit.text


def tombstone(
    fold: Fold,
    sections: Sections,
    named: str,
    reason: str,
    texts: EditingTexts,
    apart: Collection[str] = (),
) -> EditRecord:
    """The edit that puts a one-line marker in the place of a run of sections.

    Tombstones in it and beside it become part of it, their reasons in order.

    Args:
        apart: sections that stay what they are: the same batch changes them.

    Raises:
        EditError: see `Sections.editable`.
    """
    run = sections.editable(named)
    low = sections.index(run[0])
    high = low + len(run) - 1
    inside = [_reason(section) for section in run]
    reasons = [*filter(None, inside), one_line(reason, texts.reason_chars)]
    joining = [None if section.id in apart else _reason(section) for section in sections.all]
    while low > 0 and (before := joining[low - 1]) is not None:
        low, reasons = low - 1, [before, *reasons]
    while high + 1 < len(joining) and (behind := joining[high + 1]) is not None:
        high, reasons = high + 1, [*reasons, behind]
    first, end = sections.all[low].first, sections.all[high].end
    each = (one for known in reasons for one in known.split(texts.reasons))
    said = one_line(texts.reasons.join(dict.fromkeys(filter(None, each))), texts.reason_chars)
    names = sections.original_names(first, end)
    form = texts.tombstone if said else texts.tombstone_bare
    text = form.format(sections=names, id=sections.all[low].id, reason=said)
    return _substitution(fold, "tombstone", first, end, text, said)


def replace(fold: Fold, sections: Sections, named: str, text: str) -> EditRecord:
    """The edit that puts a text in the place of a run of sections.

    Raises:
        EditError: see `Sections.editable`; `edit.no_match` for an empty text.
    """
    run = sections.editable(named)
    text = whole_characters(text)
    if not text.strip():
        raise EditError(
            "a replacement needs a text; use a tombstone to remove sections",
            code="edit.no_match",
            path="text",
        )
    return _substitution(fold, "replace", run[0].first, run[-1].end, text)


def rewrite(fold: Fold, sections: Sections, named: str, old: str, new: str) -> EditRecord:
    """The edit that changes one passage of a section: in a result or a reply, or in a substitution.

    Raises:
        EditError: `edit.no_match` and `edit.many_matches`, or see `Sections.editable`.
    """
    sections.one(named)
    section = sections.editable(named)[0]
    found = [place for place in places(fold, section) if old and old in place.text]
    if not found:
        _refuse_reasoning(fold, section, old)
        raise EditError(
            f"{section.id} has no such passage in a result or reply",
            code="edit.no_match",
            path="old",
        )
    place = found[0]
    if len(found) > 1 or old in place.text[place.text.index(old) + 1 :]:
        raise EditError(
            f"{section.id} has several such passages; quote more of the one that is meant",
            code="edit.many_matches",
            path="old",
        )
    return put(fold, section, place, place.text.replace(old, new))


def _refuse_reasoning(fold: Fold, section: Section, old: str) -> None:
    """Say why a passage of the reasoning cannot be changed."""
    if section.run is not None or not old:
        return
    for entry in fold.entries[section.first : section.end]:
        if any(part.kind is PartKind.REASONING and old in part.text for part in entry.parts):
            raise _whole_or_not(section)


def _whole_or_not(section: Section) -> EditError:
    return EditError(
        f"{section.id} holds reasoning that the provider signed or may check; it can be removed or "
        "replaced as a whole, but what the model said there stays as it is",
        code="edit.protected",
        path="section",
    )


def put(fold: Fold, section: Section, place: Place, text: str) -> EditRecord:
    """The edit that shows another text at a place.

    Raises:
        EditError: `edit.no_match` for an empty text, which providers refuse; `edit.protected` for a
            turn whose reasoning is signed: the provider takes it as one piece.
    """
    text = whole_characters(text)
    if not text.strip():
        raise EditError(
            f"a text of {section.id} cannot be empty; remove the section instead",
            code="edit.no_match",
            path="text",
        )
    if section.run is not None:
        return _substitution(fold, "replace", section.first, section.end, text)
    seq = place.seq
    if place.part >= 0 and any(_is_sealed(part) for part in fold.entries[seq].parts):
        raise _whole_or_not(section)
    return EditRecord(fold.n, "rewrite", seq, seq + 1, text, (fold.digest(seq),), place.part)


def _is_sealed(part: Part) -> bool:
    return part.signed or part.kind is PartKind.SEALED


def _with_digest(fold: Fold, edit: EditRecord) -> EditRecord:
    """A rewrite of a reply with the digest that the turn has from then on."""
    if edit.part < 0:
        return edit
    entry = fold.view.turn(edit.first, fold.entries[edit.first])
    part = entry.parts[edit.part]._replace(text=edit.text)
    parts = (*entry.parts[: edit.part], part, *entry.parts[edit.part + 1 :])
    shown = entry_digest(msgspec.structs.replace(entry, parts=parts))
    return msgspec.structs.replace(edit, shown=shown)


def places(fold: Fold, section: Section) -> Iterator[Place]:
    """The texts of a section that may be rewritten in place, in order, as shown."""
    if section.run is not None:
        yield Place(section.first, -1, section.run.text)
        return
    for seq in range(section.first, section.end):
        entry, view = fold.entries[seq], fold.view
        if entry.kind is Kind.TOOL:
            yield Place(seq, -1, view.bodies.get(seq, entry.body))
        elif entry.kind is Kind.ASSISTANT:
            for index, part in enumerate(entry.parts):
                if part.kind is PartKind.TEXT:
                    yield Place(seq, index, view.replies.get(seq, {}).get(index, part.text))


def one_line(text: str, limit: int) -> str:
    """A reason as it may stand in a marker: one line, bounded, no brackets that end it."""
    plain = "".join(_PLAIN.get(char, char) for char in whole_characters(text[: 4 * limit]))
    clean = " ".join(plain.split())
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"


_PLAIN = {
    **{chr(code): " " for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)},
    "[": "(",
    "]": ")",
}


def _reason(section: Section) -> str | None:
    """The reason of a tombstone; None for a section that is none."""
    run = section.run
    if run is None or run.op != "tombstone":
        return None
    return run.reason


def _substitution(
    fold: Fold, op: str, first: int, end: int, text: str, reason: str = ""
) -> EditRecord:
    digests = tuple(fold.digest(seq) for seq in range(first, end))
    return EditRecord(fold.n, op, first, end, text, digests, reason=reason)
