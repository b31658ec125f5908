"""Requests as a harness makes them: a conversation that grows, in a format, with or without memory.

`Harness` hands each request over and keeps the journal, in one of the ways that real ones do: with
the messages it handed over before, with new objects each time, or with a journal that was text in
between. What came of it is a `Sent`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import pytest

import compactor
from compactor import Journal, Outcome, Transcript
from compactor.core.journal import decode_record
from compactor.core.model import Entry, Kind
from compactor.core.records import PassRecord
from compactor.formats import lens
from tests.strategies import Case

FORMATS = (
    *("entries", "anthropic", "openai-chat", "claude-code", "openai-responses"),
    *("gemini", "bedrock"),
)
WITHOUT_FLAGS = ("openai-chat", "openai-responses")
"""Formats in which nothing says that a function failed."""
WAYS = ("same objects", "new objects", "journal as text")
LARGE = 10**9

each_format = pytest.mark.parametrize("format_name", FORMATS)


class Sent(NamedTuple):
    """One request: what was handed in, what came back, both as Python values and as bytes."""

    native: Any
    shown: Any
    data: bytes
    outcome: Outcome


class Harness:
    """Sends the requests of one conversation.

    Args:
        case: conversation, policy, format.
        way: one of `WAYS`.
        settings: for every call of `compact`.
    """

    def __init__(self, case: Case, way: str = WAYS[0], **settings: Any) -> None:
        self.case = case
        self.way = way
        self.journal: Journal | None = None
        self.settings = settings
        self._whole = case.talk.write(case.format)

    def send(self, count: int, **more: Any) -> Sent:
        """The request over the first `count` facts, with the journal so far."""
        request = self._request(count)
        journal = self.journal
        if journal is not None and self.way == "journal as text":
            journal = as_text(journal)
        sent = send(request, self.case, journal, **self.settings, **more)
        self.journal = sent.outcome.journal
        return sent

    def _request(self, count: int) -> Any:
        fresh = self.case.talk.upto(count).write(self.case.format)
        if self.way != "same objects" or isinstance(fresh, bytes):
            return fresh
        return sharing(fresh, self._whole)


def sharing(fresh: Any, known: Any) -> Any:
    """A request that has the objects of a known one where they are equal, as a harness's has."""
    if known is None or isinstance(fresh, bytes):
        return fresh
    pairs = zip_longest(messages(fresh), messages(known)[: len(messages(fresh))])
    kept = [old if old == new else new for new, old in pairs]
    return kept if isinstance(fresh, list) else {**known, _list_key(fresh): kept}


def send(request: Any, case: Case, journal: Journal | None = None, **more: Any) -> Sent:
    """Hand over one request, in Python values or as the bytes of a file."""
    if isinstance(request, bytes):
        request = compactor.load(request, case.format)
    settings: dict[str, Any] = {"failed": failed(case), "explain": True} | more
    outcome = compactor.compact(request, case.policy, journal, format=case.format, **settings)
    if isinstance(request, Transcript):
        assert isinstance(outcome.request, Transcript)
        return Sent(request.root, outcome.request.view(), outcome.request.to_bytes(), outcome)
    return Sent(request, outcome.request, as_bytes(outcome.request), outcome)


def native_of(case: Case) -> Any:
    """The whole conversation as Python values, new objects each time."""
    written = case.talk.write(case.format)
    return compactor.load(written, case.format).root if isinstance(written, bytes) else written


def failed(case: Case) -> tuple[str, ...]:
    """The failed calls, where the format has no flag for them."""
    return case.talk.failed if case.format in WITHOUT_FLAGS else ()


def alone(case: Case, **more: Any) -> Sent:
    """The whole conversation in one call, without a journal."""
    return send(case.talk.write(case.format), case, **more)


def as_bytes(native: Any) -> bytes:
    """Python values as JSON: key order, spelling and types show."""
    return json.dumps(native).encode()


def as_text(journal: Journal) -> Journal:
    """A journal that was text in between."""
    return Journal(decode_record(line.encode(), "line") for line in journal.to_lines())


def messages(native: Any) -> Sequence[Any]:
    """The messages, entries or lines of a request."""
    if isinstance(native, list):
        return native
    found: Sequence[Any] = native[_list_key(native)]
    return found


def _list_key(body: Any) -> str:
    """The key of a body's messages."""
    return next(key for key in ("input", "contents", "messages") if key in body)


def without(native: Any, key: str) -> Any:
    """A copy in which no object has the key."""
    if isinstance(native, dict):
        return {name: without(value, key) for name, value in native.items() if name != key}
    return [without(item, key) for item in native] if isinstance(native, list) else native


def bodies(native: Any, case: Case) -> list[str]:
    """The text of every entry as the model sees it, results by their body."""
    reading = lens(case.format).read(native)
    return [
        entry.body if entry.kind is Kind.TOOL else "\n".join(part.text for part in entry.parts)
        for entry in reading.entries
    ]


def counted(native: Any, case: Case) -> int:
    """Tokens of what is shown, counted anew by a call that changes nothing."""
    policy = compactor.Policy(
        window=LARGE,
        counter=case.policy.counter,
        counter_scale=case.policy.counter_scale,
        overhead_tokens=case.policy.overhead_tokens,
    )
    report = compactor.compact(copy.deepcopy(native), policy, format=case.format).report
    return report.tokens_before


def entries_of(native: Any, case: Case) -> list[Entry]:
    """The entries of a request."""
    return lens(case.format).read(native).entries


def passes(outcome: Outcome) -> list[PassRecord]:
    """All passes of a journal, rewound ones included."""
    return [record for record in outcome.journal.records if isinstance(record, PassRecord)]


def fates(outcome: Outcome) -> list[str]:
    """The fate of each entry."""
    return [fate.fate for fate in outcome.fates]


def elided(sent: Sent, case: Case) -> dict[int, str]:
    """What stands in the place of each elided body, by seq."""
    shown = bodies(sent.shown, case)
    return {fate.seq: shown[fate.seq] for fate in sent.outcome.fates if fate.fate == "elided"}


def grow(case: Case, **settings: Any) -> list[Sent]:
    """Every request of a conversation, in order, with its journal."""
    harness = Harness(case, **settings)
    return [harness.send(count) for count in case.talk.boundaries]


def state(outcome: Outcome) -> tuple[Any, ...]:
    """What a report says of the conversation as it is now, whatever the call did."""
    report = outcome.report
    return (
        *(report.tokens_after, report.tier, report.cutoff, report.pressed, report.overflow),
        *(report.fixed_tokens, report.elidable_tokens),
    )
