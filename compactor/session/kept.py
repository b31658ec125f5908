"""What a session knows: the store's numbers, journal and branch, in memory as they are on the disk.

Every write is one transaction on the session as it stands; what another process wrote is taken up
first, and memory changes only after the disk has. What lies here can be lost at any time: it is
read anew. Specification: DESIGN section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from compactor.core.errors import StoreError
from compactor.core.facts import Facts, insertion_key
from compactor.core.fold import Fold
from compactor.core.journal import Journal, active, decode_record, encode_record
from compactor.core.model import Entry, Kind
from compactor.core.records import (
    AnyRecord,
    EditRecord,
    Header,
    InsertionRecord,
    RewindRecord,
)
from compactor.core.view import View, view_of
from compactor.request import fold_of
from compactor.session.book import Book
from compactor.session.branch import Branch, Matched
from compactor.session.given_back import GivenBack
from compactor.session.originals import from_json, text_of, to_json
from compactor.session.state import State, decode_state, encode_state
from compactor.store import SessionStore, StaleError, StoredEntry, StoredResult, Transaction

_T = TypeVar("_T")
_OUTRUN = 3
"""How often others may write while it is decided."""


class Kept:
    """One session of a store. Not thread-safe: `Session` locks.

    Args:
        store: the session's.

    Attributes:
        records: the journal; branch: what the last request carried; state: see `State`.
        book: results with an id.
        workings: the journal with the workings of the last call; None when there are none.
    """

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self.records: list[AnyRecord] = []
        self.branch = Branch([], [])
        self.state = State()
        self.book = Book()
        self.next_seq = 0
        self.workings: Journal | None = None
        self._version = -1
        self._view: View | None = None
        self._ours: GivenBack | None = None
        self._after: list[Callable[[], None]] = []
        self.refresh()

    # reading

    @property
    def begun(self) -> bool:
        """Whether the journal has its header: a request was prepared, or the view changed."""
        return any(isinstance(record, Header) for record in self.records)

    def refresh(self) -> None:
        """Take up what another process wrote. O(1) when nothing was."""
        if self.store.version() != self._version:
            self._take_up()

    def fold(self) -> Fold | None:
        """The workings of the last call. Only to look at."""
        return fold_of(self.workings) if self.workings is not None else None

    def take_workings(self) -> Journal | None:
        """The workings for the next call, which goes on from them; nobody else may."""
        workings, self.workings = self.workings, None
        return workings

    def work_on(self, journal: Journal) -> None:
        """A request was prepared: its workings, and what stands before the model."""
        self.workings = journal
        fold = self.fold()
        self.book.prepared(fold.stubs.standing if fold is not None else frozenset())

    def taken_back(self) -> frozenset[int]:
        """Numbers of results in turns that were taken back. O(those turns)."""
        gone = set(self.state.taken_back_results)
        for first, end in self.state.taken_back:
            for stored in self.store.entries(first, end - first):
                facts = (
                    self.facts_of(stored.call_id, stored.text) if stored.kind == "tool" else None
                )
                gone |= {facts.number} if facts is not None else set()
        return frozenset(gone)

    def view(self) -> View:
        """What the journal shows of the branch."""
        fold = self.fold()
        if fold is not None and fold.seen == len(self.records):
            return fold.view
        if self._view is None:
            self._view = view_of(active(self.records).records if self.records else ())
        return self._view

    def ours(self) -> GivenBack:
        """What a request may carry because the journal showed it."""
        if self._ours is None:
            self._ours = GivenBack(active(self.records).records if self.records else ())
        return self._ours

    def entry_at(self, index: int) -> Entry:
        """An entry of the branch as it was handed in first."""
        seen = self.branch.seen[index]
        if seen is None:
            stored = self.store.entry(self.branch.seqs[index])
            seen = self.branch.seen[index] = from_json(stored.facts, stored.text)
        return seen

    def entries(self) -> list[Entry]:
        """All entries of the branch."""
        return [self.entry_at(index) for index in range(len(self.branch))]

    def is_asked(self, call_id: str) -> bool:
        """Whether the last turn of the branch holds a call."""
        for index in range(len(self.branch) - 1, -1, -1):
            entry = self.entry_at(index)
            if entry.kind is not Kind.TOOL:
                return any(call.id == call_id for call in entry.calls)
        return False

    def result(self, number: int) -> StoredResult | None:
        """A stored result; None when the session never gave the id."""
        try:
            return self.store.result(number)
        except StoreError as error:
            if error.code != "store.unknown_result":
                raise
            return None

    def text_of_result(self, number: int) -> str | None:
        """The full text that a result stands for; None where it is lost."""
        try:
            stored = self.result(number)
        except StoreError as error:
            if error.code != "store.damaged":
                raise
            return None
        return None if stored is None else stored.text

    def facts_of(self, call_id: str, body: str) -> Facts | None:
        """The facts of an inserted result, by what it looks like in a request."""
        numbers = self.book.numbers
        keys = (insertion_key(known, body) for known in (call_id, "")) if numbers else ()
        return next((self.book.facts[numbers[key]] for key in keys if key in numbers), None)

    def position(self, seq: int) -> int:
        """Index in the branch of the first entry with this seq or a later one."""
        seqs = self.branch.seqs
        return next((i for i, known in enumerate(seqs) if known >= seq), len(seqs))

    def seq_at(self, position: int) -> int:
        """The seq of an entry of the branch, or of the next one."""
        return self.branch.seqs[position] if position < len(self.branch) else self.next_seq

    # writing

    def write(self, work: Callable[[Transaction], _T]) -> _T:
        """Do a write on the session as it stands.

        `work` may be given a later state than the caller saw; it decides on what is here. It says
        what changes by `record`, `put` and `then`.
        """
        try:
            return self._write(None, work)
        except BaseException:
            self.forget()
            raise

    def decide(self, decide: Callable[[], _T], write: Callable[[Transaction, _T], None]) -> _T:
        """Decide on the session as it stands, then write what follows: others wait for that only.

        Where another process wrote meanwhile it is decided anew, and once too often so, others are
        kept from writing until it is done.
        """

        def both(tx: Transaction) -> _T:
            decided = decide()
            write(tx, decided)
            return decided

        for _ in range(_OUTRUN):
            self.refresh()
            try:
                decided = decide()
                self._write(self._version, lambda tx: write(tx, decided))  # noqa: B023
                return decided
            except StaleError:
                self.forget()
            except BaseException:
                self.forget()
                raise
        return self.write(both)

    def _write(self, version: int | None, work: Callable[[Transaction], _T]) -> _T:
        self._after = []
        with self.store.write(version) as tx:
            if tx.base != self._version:
                self._take_up()
            result = work(tx)
        self._version = tx.version
        for change in self._after:
            change()
        return result

    def record(self, tx: Transaction, *records: AnyRecord) -> None:
        """Append records to the journal."""
        if not records:
            return
        tx.add_records([encode_record(record).encode() for record in records])
        self.then(lambda: self._remember(records))

    def put(self, tx: Transaction, state: State) -> None:
        """Keep another state."""
        if state != self.state:
            tx.put_state(encode_state(state))
            self.then(lambda: setattr(self, "state", state))

    def then(self, change: Callable[[], None]) -> None:
        """Change memory once the write is on the disk."""
        self._after.append(change)

    def keep(self, tx: Transaction, matched: Matched, entries: Sequence[StoredEntry]) -> None:
        """Store what is new in a request, and the branch that it makes.

        Args:
            entries: `stored` of it.
        """
        first = matched.keep
        if entries:
            tx.add_entries(entries)
        if matched.digests or len(matched.labels) != len(self.branch):
            tx.set_live(first, matched.labels[first:])
        self.then(lambda: self._follow(matched))

    def forget(self) -> None:
        """What was in memory beside the disk's is read anew."""
        self.workings = None
        self._view = None

    def note(self, tx: Transaction, record: AnyRecord) -> None:
        """Append a record that shows nothing; the workings need not see it."""
        fold = self.fold()
        is_current = fold is not None and fold.seen == len(self.records)
        self.record(tx, record)
        if fold is not None and is_current:
            self.then(lambda: setattr(fold, "seen", len(self.records)))

    def _remember(self, records: Sequence[AnyRecord]) -> None:
        self.records += records
        self._view = None
        for record in records:
            if isinstance(record, EditRecord):
                found = map(self.facts_at, range(record.first, record.end))
                self.book.edited |= {facts.number for facts in found if facts is not None}
            if isinstance(record, InsertionRecord):
                self.book.add(record, pending=True)
            elif isinstance(record, RewindRecord):
                self._ours = None
            elif self._ours is not None:
                self._ours.take(record)

    def _follow(self, matched: Matched) -> None:
        self.branch.follow(matched)
        self.next_seq += len(matched.new)

    def _take_up(self) -> None:
        """Read what is new in the store. O(new records + branch)."""
        known = len(self.records)
        stored = self.store.load(known)
        lines = enumerate(stored.records, known + 1)
        records = [decode_record(line, f"record {number}") for number, line in lines]
        self.records += records
        for record in records:
            if isinstance(record, InsertionRecord):
                self.book.add(record, pending=True)
        seqs = [seq for seq, _ in stored.live]
        is_first = self._version < 0
        if is_first or seqs != self.branch.seqs:
            self.branch = Branch(seqs, [digest for _, digest in stored.live])
            self.workings = None
        if not all(isinstance(record, InsertionRecord) for record in records):
            self.workings = None
        self._view = self._ours = None
        self.state = decode_state(stored.state)
        first = self.state.prepared
        pending = {number: None for number in self.book.facts if number >= first}
        self.next_seq = stored.next_seq
        self._version = stored.version
        if self.workings is None:
            self.book.prepared(frozenset() if self.state.emptied else self.standing())
        self.book.pending = pending

    def standing(self) -> frozenset[int]:
        """Numbers of the results that stand verbatim in the view. O(branch) where there are any."""
        if not self.book.facts:
            return frozenset()
        view, standing = self.view(), []
        for index in range(len(self.branch)):
            if index in view.bodies or not view.shows(index):
                continue
            facts = self.facts_at(index)
            standing += [facts.number] if facts is not None and not facts.is_stub else []
        return frozenset(standing)

    def facts_at(self, index: int) -> Facts | None:
        """The facts of a result of the branch, if a session inserted it."""
        entry = self.entry_at(index)
        return self.facts_of(entry.call_id, entry.body) if entry.kind is Kind.TOOL else None


def stored(matched: Matched, is_recall: Callable[[str], bool]) -> list[StoredEntry]:
    """What is new in a request, as it is stored."""
    entries = []
    for index in matched.new:
        entry = matched.entries[index]
        is_view = entry.kind is Kind.TOOL and is_recall(entry.name)
        entries.append(
            StoredEntry(
                seq=matched.labels[index],
                kind=entry.kind.value,
                digest=matched.digests[index - matched.keep],
                text=text_of(entry),
                name=entry.name,
                call_id=entry.call_id,
                facts=to_json(entry),
                about=entry.call.arguments if entry.call is not None else "",
                searchable=not is_view,
            )
        )
    return entries
