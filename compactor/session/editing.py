"""The model's edits of its own context, in a session: each call one batch, whole or not at all.

A batch is decided on the view as it stands, stored, and only then shown; a refusal is stored as
declined. Texts that the model reads are `loop.json`'s. Specification: DESIGN section 8, seed 004.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compactor.core import mirror, mirror_changes, mirror_file, revise
from compactor.core.diff import unified
from compactor.core.errors import EditError
from compactor.core.fold import Fold
from compactor.core.marker import media_words
from compactor.core.model import Entry
from compactor.core.records import (
    AnyRecord,
    DeclinedRecord,
    EditRecord,
    PassRecord,
    ReasoningRecord,
    RewindRecord,
    StubsRecord,
    SummaryRecord,
)
from compactor.core.revise import Receipt
from compactor.core.sections import Section, Sections
from compactor.loop import loop
from compactor.session.kept import Kept
from compactor.session.originals import text_of
from compactor.store import Transaction

_EDITS = (EditRecord, SummaryRecord, RewindRecord)
"""Records that move the sections: a file written before one of them is stale."""
_PASSES = (PassRecord, StubsRecord, ReasoningRecord)
"""Records that change what stands in sections: a file written before one is read as of then."""
_REVISIONS = (*_EDITS, PassRecord, StubsRecord)
Stand = Callable[[Sequence[AnyRecord] | None], tuple[Fold, list[AnyRecord]]]
"""The fold over the branch, of a journal or (None) as it is, and the journal, begun if need be."""
Maker = Callable[[Fold, Sections], Sequence[EditRecord]]


class Edited(NamedTuple):
    """What the model gets for a batch.

    receipt: None for a context file that asks for nothing.
    changed: whether the view is another one now.
    """

    text: str
    receipt: Receipt | None
    changed: bool = False


class Editor:
    """Edits of one session.

    Args:
        kept: what the session knows.
        stand: see `Stand`.
        protect_first_user: as in the policy.
    """

    def __init__(
        self,
        kept: Kept,
        stand: Stand,
        *,
        protect_first_user: bool,
    ) -> None:
        self._kept = kept
        self._stand = stand
        self._protect = protect_first_user
        self._texts = loop().editing

    def sections(self) -> list[Section]:
        """The map of the context."""
        return self._cut(self._stand(None)[0]).all

    def map_text(self) -> str:
        """The map as the model reads it."""
        texts = self._texts
        lines = [
            texts.section.format(
                id=section.id,
                kind=section.kind,
                tokens=section.tokens,
                after=section.after,
                more=self._more(section),
            )
            for section in self.sections()
        ]
        return "\n".join([texts.sections, *lines])

    def tombstone(self, named: str, reason: str) -> Edited:
        return self._edit(lambda f, s: [revise.tombstone(f, s, named, reason, self._texts)])

    def replace(self, named: str, text: str) -> Edited:
        return self._edit(lambda f, s: [revise.replace(f, s, named, text)])

    def rewrite(self, named: str, old: str, new: str) -> Edited:
        return self._edit(lambda f, s: [revise.rewrite(f, s, named, old, new)])

    def recall(self, named: str) -> str:
        """The originals of a section, bounded, at the tail of the context."""
        fold, _ = self._stand(None)
        section = self._cut(fold).one(named)
        texts = self._texts
        lines = []
        for seq in range(section.first, section.end):
            entry = fold.entries[seq]
            lines.append(texts.original.format(seq=fold.labels[seq], kind=entry.kind.value))
            lines.append(self._original(entry))
        whole = "\n".join(lines)
        if len(whole) <= texts.recall_chars:
            return whole
        return whole[: texts.recall_chars] + "\n" + texts.cut.format(chars=len(whole))

    def diff(self, named: str) -> str:
        """The unified diff of a section against its originals."""
        fold, _ = self._stand(None)
        section = self._cut(fold).one(named)
        entries = fold.entries[section.first : section.end]
        old = "\n".join(map(self._original, entries))
        new = "\n".join(place.text for place in revise.places(fold, section))
        if section.run is None:
            new = "\n".join(self._shown(fold, seq) for seq in range(section.first, section.end))
        changes = unified(old + "\n", new + "\n", loop().context.edit) if old != new else ""
        return changes or self._texts.same

    def file(self, session: str) -> str:
        """The context file."""
        fold, _ = self._stand(None)
        return mirror.write(fold, self._cut(fold), self._base(session, fold))

    def apply_file(self, text: str, session: str) -> Edited:
        """Make the changes that a context file shows."""

        first, *lines = mirror_file.lines_of(text)

        def make(fold: Fold, sections: Sections) -> list[EditRecord]:
            base = mirror_file.base_of(first, session)
            written = self._as_written(base, fold)
            cut = self._cut(written, base.last)
            current = mirror_changes.Current(fold, sections)
            return mirror_changes.changes(lines, written, cut, current, self._texts)

        edited = self._edit(make)
        return edited if edited.changed else Edited("", None)

    def decline(self, code: str) -> None:
        """Record that a change was refused."""
        self._kept.write(lambda tx: self._declined(tx, code))

    def estimate(self) -> int:
        """Tokens of the view as it stands."""
        return self._stand(None)[0].estimate

    def _edit(self, make: Maker) -> Edited:
        """One batch on the view as it stands."""

        def write(tx: Transaction) -> Edited | EditError:
            fold, begun = self._stand(None)
            try:
                edits = make(fold, self._cut(fold))
            except EditError as error:
                self._declined(tx, error.code)
                return error
            made = revise.apply_edits(fold, edits, self._kept.text_of_result)
            if not made.records:
                return Edited(self._texts.same, made.receipt)
            known = len(self._kept.records)
            self._kept.record(tx, *begun[known:], *made.records)
            state = self._kept.state
            self._kept.put(tx, state.fallen(fold.estimate + state.since, fold.rules.window))
            self._kept.then(lambda: self._shown_by(fold))
            return Edited(self._receipt(made.receipt), made.receipt, changed=True)

        result = self._kept.write(write)
        if isinstance(result, EditError):
            raise result
        return result

    def _shown_by(self, fold: Fold) -> None:
        if fold is self._kept.fold():
            fold.seen = len(self._kept.records)

    def _declined(self, tx: Transaction, code: str) -> None:
        self._kept.note(tx, DeclinedRecord(len(self._kept.branch), code))

    def _receipt(self, receipt: Receipt) -> str:
        texts = self._texts
        form = texts.freed if receipt.freed >= 0 else texts.added
        said = form.format(freed=f"{abs(receipt.freed):,}", reread=f"{receipt.reread:,}")
        gone = texts.separator.join(media_words(receipt.media, loop().marker))
        return said + (texts.gone.format(media=gone) if gone else "")

    def _more(self, section: Section) -> str:
        texts = self._texts
        more = texts.stands_for.format(span=section.stands_for) if section.stands_for else ""
        return more + (texts.protected.format(why=section.protected) if section.protected else "")

    def _cut(self, fold: Fold, last: int | None = None) -> Sections:
        return Sections(fold, protect_first_user=self._protect, last=last)

    def _base(self, session: str, fold: Fold) -> mirror.Base:
        revision = sum(isinstance(record, _REVISIONS) for record in self._kept.records)
        return mirror.Base(session, revision, fold.labels[-1] if fold.n else -1)

    def _as_written(self, base: mirror.Base, fold: Fold) -> Fold:
        """The fold that a file was written from: as it is, but for passes made since.

        Raises:
            EditError: `edit.damaged_header`, `edit.stale`.
        """
        records = self._kept.records
        places = [i for i, record in enumerate(records) if isinstance(record, _REVISIONS)]
        if base.revision > len(places) or base.last >= self._kept.next_seq:
            raise mirror_file.damaged("the first line says what was never written")
        since = places[base.revision :]
        is_moved = any(isinstance(records[place], _EDITS) for place in since)
        if is_moved or base.last not in (-1, *fold.labels):
            raise EditError(
                "the context was revised since this file was written; read it again and edit that",
                code="edit.stale",
                path="file",
            )
        if not since:
            return fold
        later = (record for record in records[since[0] :] if not isinstance(record, _PASSES))
        return self._stand([*records[: since[0]], *later])[0]

    def _original(self, entry: Entry) -> str:
        """An entry as it was: of a result all that was stored."""
        facts = self._kept.facts_of(entry.call_id, entry.body) if entry.body else None
        stored = self._kept.text_of_result(facts.number) if facts is not None else None
        return stored or text_of(entry)

    def _shown(self, fold: Fold, seq: int) -> str:
        view, entry = fold.view, fold.entries[seq]
        if seq in view.bodies:
            return view.bodies[seq]
        texts = view.replies.get(seq, {})
        if not texts:
            return self._original(entry)
        parts = [texts.get(i, part.text) for i, part in enumerate(entry.parts) if part.text]
        return "\n".join([*parts, *(f"[{call.name}] {call.arguments}" for call in entry.calls)])
