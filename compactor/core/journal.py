"""The journal: append-only records, the only durable state.

Each change to what the model sees is one record, whoever asked for it. A `Journal` is an immutable
value; a call gives back a longer one. `active` says which records still stand after rewinds.
Specification: DESIGN section 6.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from operator import lt
from typing import Any, NamedTuple

import msgspec

from compactor.core.errors import JournalError
from compactor.core.records import (
    AnyRecord,
    DeclinedRecord,
    EditRecord,
    Header,
    InsertionRecord,
    PassRecord,
    ReasoningRecord,
    RecallOff,
    RewindRecord,
    Standing,
    StubsRecord,
    SummaryRecord,
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


class Active(NamedTuple):
    """The records that stand.

    records: that a rewind can fell, oldest first.
    insertions: all of them.
    tier, recall_off: sticky for the session: a rewind takes back neither.
    """

    records: tuple[Standing, ...]
    insertions: tuple[InsertionRecord, ...]
    tier: str
    recall_off: bool

    @property
    def passes(self) -> tuple[PassRecord, ...]:
        return tuple(record for record in self.records if isinstance(record, PassRecord))


class Journal:
    """An append-only list of records as an immutable value.

    Hand it to the next call, or do not: the bytes are the same. It also carries the workings of the
    call that made it, so that the next call does only new work; they are a memo and no state.
    """

    __slots__ = ("_workings", "records")

    def __init__(self, records: Iterable[AnyRecord] = (), workings: Any = None) -> None:
        self.records: tuple[AnyRecord, ...] = tuple(records)
        self._workings: list[Any] = [] if workings is None else [workings]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Journal) and self.records == other.records

    def __hash__(self) -> int:
        return hash(self.records)

    def __repr__(self) -> str:
        return f"Journal({len(self.records)} records)"

    def __reduce__(self) -> tuple[type[Journal], tuple[tuple[AnyRecord, ...]]]:
        """Copies and pickles are the records alone: workings belong to one call."""
        return Journal, (self.records,)

    @property
    def header(self) -> Header | None:
        return next((record for record in self.records if isinstance(record, Header)), None)

    def take_workings(self) -> Any:
        """The memo of the call that made this journal, once; None when another call has it.

        Workings grow in place, so only one call may go on from them (`list.pop` is atomic).
        """
        try:
            return self._workings.pop()
        except IndexError:
            return None

    def peek_workings(self) -> Any:
        """The memo, to look at; None when there is none."""
        return self._workings[0] if self._workings else None

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Journal:
        """The journal whose `to_lines` these are.

        Raises:
            JournalError: `journal.damaged`, with the line.
        """
        numbered = enumerate(lines, 1)
        return cls(decode_record(line.encode(), f"line {number}") for number, line in numbered)

    def to_lines(self) -> list[str]:
        """Each record as one line of JSON, without its checksum. The file adds that."""
        return [encode_record(record) for record in self.records]


def encode_record(record: AnyRecord) -> str:
    """One record as one line of JSON, without a newline."""
    try:
        return _encoder.encode(record).decode()
    except UnicodeEncodeError:  # a call id with a lone surrogate: escaped, as in the request
        return json.dumps(msgspec.to_builtins(record), separators=(",", ":"))


def decode_record(line: bytes, place: str) -> AnyRecord:
    """One record from its JSON.

    Raises:
        JournalError: `journal.damaged` when it is no record of this version.
    """
    try:
        return _decoder.decode(line) if b"\\ud" not in line else _with_surrogates(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise JournalError(
            f"this is no journal record: {error}",
            code="journal.damaged",
            path=place,
            hint="restore the journal from a copy, or start afresh with --force",
        ) from error


def _with_surrogates(line: bytes) -> AnyRecord:
    """msgspec refuses lone surrogates; the standard library carries them."""
    record: AnyRecord = msgspec.convert(json.loads(line), AnyRecord)
    return record


def active(records: Iterable[AnyRecord]) -> Active:
    """The records that stand after all rewinds. O(records).

    Raises:
        JournalError: `journal.damaged` without a header at the start or with two, or where a record
            contradicts those before it.
    """
    standing: list[Standing] = []
    insertions: list[InsertionRecord] = []
    cutoffs = [0]
    tier, recall_off = "elide", False
    begun = False
    for index, record in enumerate(records):
        told = isinstance(record, InsertionRecord | DeclinedRecord)
        _check(told or isinstance(record, Header) != begun, index)
        match record:
            case Header():
                begun = True
            case DeclinedRecord():
                pass
            case InsertionRecord():
                insertions.append(record)
            case RewindRecord():
                _check(0 <= record.kept <= len(standing), index)
                del standing[record.kept :], cutoffs[record.kept + 1 :]
                _check(record.seq >= cutoffs[-1], index)
            case _:
                _check(follows(record, cutoffs[-1]), index)
                standing.append(record)
                cutoffs.append(_cutoff(record, cutoffs[-1]))
                recall_off |= isinstance(record, RecallOff)
                if isinstance(record, PassRecord) and record.tier == "aggressive":
                    tier = "aggressive"
    return Active(tuple(standing), tuple(insertions), tier, recall_off)


def _cutoff(record: Standing, before: int) -> int:
    """The cutoff that holds after a record."""
    if isinstance(record, PassRecord):
        return record.cutoff
    return max(before, record.upto) if isinstance(record, SummaryRecord) else before


def follows(record: Standing, cutoff: int) -> bool:
    """Whether a record can have been made after a pass with this cutoff."""
    if record.n < cutoff:
        return False
    match record:
        case ReasoningRecord():
            return len(record.removed) == len(record.digests) and _ascends(record.removed, record.n)
        case StubsRecord():
            return _ascends(tuple(resolution.seq for resolution in record.resolved), record.n)
        case EditRecord():
            spans = 0 <= record.first < record.end <= record.n
            return spans and record.end - record.first == len(record.digests)
        case SummaryRecord():
            return max(0, record.upto - cutoff) == len(record.below) and record.n >= record.upto
        case PassRecord():
            seqs, end = tuple(elision.seq for elision in record.elided), record.cutoff
            stubs = tuple(resolution.seq for resolution in record.stubs)
            spans = end - cutoff == len(record.below) and record.n >= end
            inputs = tuple(elision.seq for elision in record.inputs)
            below = _ascends(seqs, end) and _ascends(inputs, end)
            return spans and below and _ascends(stubs, record.n)
        case _:
            return True


def _ascends(seqs: tuple[int, ...], end: int) -> bool:
    """Whether seqs ascend from 0 on and lie below an end."""
    return all(map(lt, (-1, *seqs), (*seqs, end)))


def _check(holds: bool, index: int) -> None:
    if not holds:
        raise JournalError(
            "a journal begins with its one header, and each record follows from those before",
            code="journal.damaged",
            path=f"record {index + 1}",
            hint="restore the journal from a copy, or start afresh with --force",
        )
