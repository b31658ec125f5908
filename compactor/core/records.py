"""The records of the journal: what changes what the model sees, one struct a kind.

Data only; positions are those of entries in the conversation, digests say which entries are meant.
A new kind is a struct here, a row of `AnyRecord`, and what it shows in `view` and `fold`.
Specification: DESIGN section 6, docs/journal.md.
"""

from __future__ import annotations

from typing import Any

import msgspec

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
    """The signed reasoning of these entries is gone for good; made with what changed before it.

    digests: of the entries in `removed`. They lie on both sides of a pass's cutoff, and another
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
