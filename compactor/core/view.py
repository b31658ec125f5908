"""What the model sees in place of what was handed in: the effect of records, one after another.

The one place that knows what a record shows. The fold counts its tokens, `render` checks that it
speaks of these entries, lenses put it into native data. Decides nothing; a record holds the text it
made. Specification: DESIGN sections 2 and 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from compactor.core.inputs import with_texts
from compactor.core.model import Entry, Path
from compactor.core.records import (
    GONE,
    AnyRecord,
    EditRecord,
    PassRecord,
    Resolution,
    StubsRecord,
    SummaryRecord,
)


class Run(NamedTuple):
    """Entries first..end-1 shown as one user message.

    op: `summary`, which no edit may touch, `tombstone` or `replace`.
    reason: of a tombstone.
    """

    first: int
    end: int
    text: str
    op: str
    reason: str = ""


class View:
    """What differs from the entries as they were handed in. Every change is O(what it changes).

    Attributes:
        bodies: seq → text shown as a result's body, media gone.
        elided: those of them that stand for a result that is not shown.
        revised: those of them whose text somebody edited; passes leave them alone.
        replies: seq → part → text, of assistant and user entries.
        inputs: seq → call, path in its arguments, text, of turns.
        known: seq → digests that a turn has with our texts in it, as a harness may hand it in.
        runs: first seq → run; hidden: seq → first seq of its run.
        unreasoned: seqs whose signed reasoning is not shown.
    """

    def __init__(self) -> None:
        self.bodies: dict[int, str] = {}
        self.elided: dict[int, str] = {}
        self.revised: dict[int, None] = {}
        self.replies: dict[int, dict[int, str]] = {}
        self.inputs: dict[int, tuple[tuple[int, Path, str], ...]] = {}
        self.known: dict[int, dict[str, None]] = {}
        self.runs: dict[int, Run] = {}
        self.hidden: dict[int, int] = {}
        self.unreasoned: dict[int, None] = {}

    def apply(self, record: AnyRecord) -> None:
        """Show a record. Of reasoning only the caller knows whether the entry is still the same."""
        match record:
            case PassRecord():
                for elision in record.elided:
                    self.bodies[elision.seq] = self.elided[elision.seq] = elision.text
                self._resolve(record.stubs)
                for turn in record.inputs:
                    self.inputs[turn.seq] = turn.texts
                    self.known.setdefault(turn.seq, {})[turn.shown] = None
            case StubsRecord():
                self._resolve(record.resolved)
            case SummaryRecord():
                self._hide(Run(0, record.upto, record.text, "summary"))
            case EditRecord(op="rewrite", part=-1):
                self.bodies[record.first] = record.text
                self.revised[record.first] = None
                self.elided.pop(record.first, None)
            case EditRecord(op="rewrite"):
                self.replies.setdefault(record.first, {})[record.part] = record.text
                self.known.setdefault(record.first, {})[record.shown] = None
            case EditRecord():
                self._hide(Run(record.first, record.end, record.text, record.op, record.reason))
            case _:
                pass

    @property
    def changed(self) -> list[int]:
        """Seqs of the entries that are shown otherwise in their own places, ascending."""
        return sorted({*self.bodies, *self.unreasoned, *self.inputs})

    def change(self, seq: int) -> object:
        """How an entry is shown in its own place, to be compared; None where it is hidden."""
        if seq in self.hidden:
            return None
        return self.bodies.get(seq), seq in self.unreasoned, self.inputs.get(seq)

    def turn(self, seq: int, entry: Entry) -> Entry:
        """A turn with our texts in the places of its own."""
        replies = self.replies.get(seq, {})
        parts = tuple(
            part._replace(text=replies[index]) if index in replies else part
            for index, part in enumerate(entry.parts)
        )
        told = msgspec.structs.replace(entry, parts=parts) if replies else entry
        inputs = self.inputs.get(seq)
        return with_texts(told, inputs) if inputs else told

    def shows(self, seq: int) -> bool:
        """Whether an entry is shown at all, as it is or otherwise."""
        return seq not in self.hidden

    def _resolve(self, resolved: tuple[Resolution, ...]) -> None:
        for resolution in resolved:
            self.bodies[resolution.seq] = resolution.text
            if resolution.target == GONE:
                self.elided[resolution.seq] = resolution.text

    def _hide(self, run: Run) -> None:
        """Runs inside the new one go with it; one that reaches into it ends where it begins."""
        for seq in range(run.first, run.end):
            self.runs.pop(seq, None)
            self.hidden[seq] = run.first
        self.runs[run.first] = run


def view_of(records: Iterable[AnyRecord]) -> View:
    """What records show, one after another."""
    view = View()
    for record in records:
        view.apply(record)
    return view
