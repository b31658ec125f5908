"""The journal: append-only records, the only durable state.

Each change to what the model sees is one record, whoever asked for it. A `Journal` is an immutable
value; `with_records` gives a longer one. `active` says which records still stand after rewinds.
Specification: DESIGN section 6.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from operator import lt
from typing import Any, NamedTuple

import msgspec

from compactor.core.errors import JournalError
from compactor.core.facts import Facts
from compactor.core.policy import Rules

VERSION = 1
"""Version of the record shapes, not of the output bytes (that is the ruleset)."""


class Record(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """A line of the journal."""


class Header(Record, frozen=True, tag="header"):
    """What is pinned for the whole conversation.

    rules: the policy in force at the start, resolved; `policy_digest` identifies it.
    overhead: tokens of system prompt and tools.
    first_digest: digest of entry 0; "" for a conversation that was empty.
    """

    version: int
    ruleset: int
    rules: Rules
    policy_digest: str
    counter: str
    counter_fingerprint: str
    counter_scale: int
    overhead: int
    recallable: bool
    first_digest: str
    failed: tuple[str, ...] = ()
    model: str = ""
    session: str = ""


class Elision(msgspec.Struct, frozen=True, array_like=True):
    """One result that a pass elided.

    digest: of the entry as it was.
    text: the body it has from then on. Kept, so that a newer library shows the same bytes.
    """

    seq: int
    digest: str
    text: str


class InputElision(msgspec.Struct, frozen=True, array_like=True):
    """Long strings in the arguments of a turn's calls that a pass elided.

    digest: of the entry as it was; shown: of the entry with the texts in their places.
    texts: call, path in its arguments, text.
    """

    seq: int
    digest: str
    shown: str
    texts: tuple[tuple[int, tuple[str | int, ...], str], ...]


class Resolution(msgspec.Struct, frozen=True, array_like=True):
    """A stub whose target is no longer before the model, and what it says instead.

    digest: of the stub as it was inserted.
    text: the body it has from then on.
    target: number of the result that it names now; `SHOWS` where it got its own text back, `GONE`
        where it went with its target.
    """

    seq: int
    digest: str
    text: str
    target: int


SHOWS, GONE = -1, 0
"""Targets of a `Resolution` that name no result."""


class PassRecord(Record, frozen=True, tag="pass"):
    """A pass that elided something. Numbers are tokens unless named otherwise.

    request: which request this was, from 1.
    n: the request was over entries 0..n-1.
    cutoff: the recent region began here; the record speaks of entries below it.
    below: entries from the pass before's cutoff up to this one's, as digests.
    floor: seq of the newest evidence, kept whatever the budget; None where there is none.
    first_changed: lowest seq whose bytes changed; from here on the provider reads again.
    settled: seq of the floor where it goes as soon as it is no longer the newest evidence.
    stubs: of what it elided, resolved.
    inputs: turns in whose calls it elided strings.
    """

    request: int
    n: int
    cutoff: int
    tier: str
    trigger: str
    tokens_before: int
    tokens_after: int
    elided: tuple[Elision, ...]
    protected_count: int
    floor: int | None
    first_changed: int
    reread_tokens: int
    below: tuple[str, ...]
    settled: int | None = None
    stubs: tuple[Resolution, ...] = ()
    inputs: tuple[InputElision, ...] = ()

    @property
    def anchor(self) -> int:
        """Later passes of the tier change nothing below."""
        return self.cutoff if self.settled is None else self.settled

    def report(self) -> dict[str, Any]:
        """The pass as reports show it."""
        return {
            "request": self.request,
            "entries": self.n,
            "cutoff": self.cutoff,
            "tier": self.tier,
            "trigger": self.trigger,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "elided": [elision.seq for elision in self.elided],
            "protected_count": self.protected_count,
            "floor": self.floor,
            "first_changed": self.first_changed,
            "reread_tokens": self.reread_tokens,
            **({"inputs": [elision.seq for elision in self.inputs]} if self.inputs else {}),
        }


class OverflowRecord(Record, frozen=True, tag="overflow"):
    """The provider refused request n as too long; plans were made under the tiers `tried`."""

    n: int
    tried: tuple[str, ...]
    freed: int


class PolicyRecord(Record, frozen=True, tag="policy"):
    """Settings in force for boundaries ≥ n. `failed` are the call ids added."""

    n: int
    rules: Rules
    policy_digest: str
    overhead: int
    recallable: bool
    failed: tuple[str, ...] = ()


class RecallOff(Record, frozen=True, tag="recall_off"):
    """Markers written from n on promise no recall; one way."""

    n: int


class RewindRecord(Record, frozen=True, tag="rewind"):
    """Entries ≥ seq fell, and with them all but the first `kept` records after the header.

    `kept` counts the records that stood before this one.
    """

    seq: int
    kept: int
    reason: str = ""


class ReasoningRecord(Record, frozen=True, tag="reasoning"):
    """The signed reasoning of these entries is gone for good; made with the pass at n.

    digests: of the entries in `removed`. They lie on both sides of the pass's cutoff, and another
        entry at the same seq keeps its reasoning.
    """

    n: int
    removed: tuple[int, ...]
    digests: tuple[str, ...]


class StubsRecord(Record, frozen=True, tag="stubs"):
    """Stubs resolved outside a pass: what they named was dropped, revised or taken back."""

    n: int
    resolved: tuple[Resolution, ...]


class InsertionRecord(Record, frozen=True, tag="insertion"):
    """Hygiene facts of a result, known before it comes back in a request; no rewind fells them.

    key: `insertion_key` of the result.
    """

    key: str
    facts: Facts


class EditRecord(Record, frozen=True, tag="edit"):
    """A change that the model or a person made to the view.

    op: `tombstone`, `replace` (entries first..end-1 are shown as one user message, `text`), or
        `rewrite` (one text of entry `first` is shown as `text`).
    digests: of the entries first..end-1.
    part: of a rewritten reply, the index of the part; -1 for the body of a result.
    reason: of a tombstone, as the model gave it.
    shown: digest of an entry with its rewritten reply, as a harness may hand it in again.
    """

    n: int
    op: str
    first: int
    end: int
    text: str
    digests: tuple[str, ...]
    part: int = -1
    reason: str = ""
    shown: str = ""


class DeclinedRecord(Record, frozen=True, tag="declined"):
    """An edit that was refused. Shows nothing."""

    n: int
    code: str


class ReadoutRecord(Record, frozen=True, tag="readout"):
    """A result said that the view had passed a share of the window, per mille."""

    n: int
    share: int


class SummaryRecord(Record, frozen=True, tag="summary"):
    """Entries below `upto` are hidden behind one user message, `text`.

    below: entries from the cutoff before up to `upto`, as digests.
    """

    n: int
    upto: int
    text: str
    below: tuple[str, ...]


AnyRecord = (
    Header | PassRecord | OverflowRecord | PolicyRecord | RecallOff | RewindRecord
    | ReasoningRecord | StubsRecord | InsertionRecord | EditRecord | DeclinedRecord
    | ReadoutRecord | SummaryRecord
)  # fmt: skip
Standing = (
    PassRecord | OverflowRecord | PolicyRecord | RecallOff | ReasoningRecord | StubsRecord
    | EditRecord | ReadoutRecord | SummaryRecord
)  # fmt: skip
"""Records that a rewind can fell."""

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
