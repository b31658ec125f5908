"""The laws L1-L14 of DESIGN section 10, as properties over generated conversations in every format.

L5 has its own processes and stands in `test_same_bytes`. Each law looks at what was handed in and
what came back; the core's own checks (`internal.law`) are not what makes these hold.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import compactor
from compactor import CompactorError, Outcome, Policy
from compactor.core.journal import PassRecord
from compactor.core.model import Entry, Kind, Path
from compactor.formats import lens
from compactor.testing import Conversation, Fact
from tests import pairing
from tests.harness import (
    FORMATS,
    WAYS,
    Harness,
    Sent,
    alone,
    as_bytes,
    bodies,
    counted,
    messages,
    send,
    without,
)
from tests.strategies import LOOK_ALIKES, Case, cases, conversations, policies, rarely

each_format = pytest.mark.parametrize("format_name", FORMATS)


def passes(outcome: Outcome) -> list[PassRecord]:
    return [record for record in outcome.journal.records if isinstance(record, PassRecord)]


def entries_of(native: Any, case: Case) -> list[Entry]:
    return lens(case.format).read(native).entries


def fates(outcome: Outcome) -> list[str]:
    return [fate.fate for fate in outcome.fates]


def grow(case: Case, **settings: Any) -> list[Sent]:
    """Every request of a conversation, in order, with its journal."""
    harness = Harness(case, **settings)
    return [harness.send(count) for count in case.talk.boundaries]


# L1


@each_format
@given(st.data())
def test_l1_a_prefix_handed_in_is_a_prefix_handed_back(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    harness = Harness(case, data.draw(st.sampled_from(WAYS)))
    counts = data.draw(st.lists(st.integers(0, len(case.talk.facts)), max_size=6).map(sorted))
    sent = [harness.send(count) for count in sorted({*counts, *case.talk.boundaries})]
    for before, after in pairwise(sent):
        handed_in = messages(before.native)
        same_prefix = handed_in == messages(after.native)[: len(handed_in)]
        recorded = before.outcome.journal.records != after.outcome.journal.records
        event(f"prefix {same_prefix}, recorded {recorded}")
        if same_prefix and not recorded:
            handed_back = messages(before.shown)
            assert handed_back == messages(after.shown)[: len(handed_back)]
            assert as_bytes(handed_back) == as_bytes(messages(after.shown)[: len(handed_back)])


@given(cases("anthropic"), st.sampled_from(WAYS))
def test_l1_a_moving_cache_breakpoint_moves_nothing_else(case: Case, way: str) -> None:
    plain, marked = Harness(case, way), Harness(case, way)
    for count in case.talk.boundaries:
        sent = plain.send(count)
        request = copy.deepcopy(case.talk.upto(count).anthropic())
        for message in messages(request)[-2:]:
            if isinstance(message["content"], list) and message["content"]:
                message["content"][-1]["cache_control"] = {"type": "ephemeral"}
        with_marks = send(request, case, marked.journal)
        marked.journal = with_marks.outcome.journal
        assert without(with_marks.shown, "cache_control") == sent.shown
        assert _marks(with_marks.shown) == _marks(request)


def _marks(request: Any) -> list[tuple[int, int]]:
    """Where the cache breakpoints are: message and block."""
    return [
        (at, index)
        for at, message in enumerate(messages(request))
        for index, block in enumerate(message["content"])
        if isinstance(block, dict) and "cache_control" in block
    ]


# L2


@each_format
@given(st.data())
def test_l2_a_pass_changes_no_fate_below_the_old_cutoff_within_a_tier(
    format_name: str, data: st.DataObject
) -> None:
    sent = grow(data.draw(cases(format_name)))
    for before, after in pairwise(sent):
        old, new = before.outcome.report, after.outcome.report
        if new.tier != old.tier or new.cutoff == old.cutoff:
            continue
        event("a later pass within a tier")
        floor = passes(before.outcome)[-1].floor if old.cutoff else None
        for seq in range(old.cutoff):
            if seq != floor:
                fate = fates(before.outcome)[seq]
                assert fates(after.outcome)[seq] == fate, (seq, floor)


# L3


@each_format
@given(st.data())
def test_l3_what_is_elided_stays_elided_until_a_rewind(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    other = data.draw(conversations((format_name,)))
    way = data.draw(st.sampled_from(WAYS))
    harness = Harness(case, way)
    sent = [harness.send(count) for count in case.talk.boundaries]
    for before, after in pairwise(sent):
        old, new = _elided(before, case), _elided(after, case)
        assert old == {seq: new.get(seq) for seq in old}
    kept = data.draw(st.integers(1, len(case.talk.facts)))
    talk = case.talk.upto(kept)
    talk.facts += other.facts[1:]
    _rewind(Case(talk, case.policy, format_name), sent[-1], way)


def _rewind(case: Case, last: Sent, way: str) -> None:
    """The request after a rewind and another continuation."""
    records = passes(last.outcome)
    departed = _departure(entries_of(last.native, case), case)
    standing = [record for record in records if record.cutoff <= departed]
    harness = Harness(case, way)
    harness.journal = last.outcome.journal
    if records and not standing:
        event("nothing survives a rewind")
        with pytest.raises(CompactorError) as refused:
            harness.send(len(case.talk.facts))
        assert refused.value.code == "journal.foreign"
        return
    after = harness.send(len(case.talk.facts))
    event(f"{len(records) - len(standing)} of {len(records)} passes fall")
    now = _elided(after, case)
    for record in standing:
        assert {e.seq: e.text for e in record.elided}.items() <= now.items()
    fallen = {e.seq for record in records[len(standing) :] for e in record.elided}
    again = {seq for record in after.outcome.report.passes for seq in record["elided"]}
    assert fallen & set(now) <= again
    if any(record.tier == "aggressive" for record in records):
        assert after.outcome.report.tier == "aggressive"


def _departure(known: list[Entry], case: Case) -> int:
    """The first entry that differs from what was known."""
    new = entries_of(_native(case), case)
    facts = [[_said(entry) for entry in entries] for entries in (known, new)]
    same = [old == now for old, now in zip(*facts, strict=False)]
    return same.index(False) if False in same else len(same)


def _said(entry: Entry) -> tuple[Any, ...]:
    calls = tuple(call[:3] for call in entry.calls)
    texts = tuple(part for part in entry.parts if part.kind != "reasoning")
    return entry.kind, entry.call_id, calls, texts, entry.body


def _native(case: Case) -> Any:
    written = case.talk.write(case.format)
    return compactor.load(written, case.format).root if isinstance(written, bytes) else written


def _elided(sent: Sent, case: Case) -> dict[int, str]:
    shown = bodies(sent.shown, case)
    return {fate.seq: shown[fate.seq] for fate in sent.outcome.fates if fate.fate == "elided"}


# L4


@each_format
@given(st.data())
def test_l4_catching_up_gives_what_calls_at_each_boundary_give(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    together = alone(case)
    counts = case.talk.boundaries
    some = [count for count in counts[:-1] if data.draw(st.booleans())] + counts[-1:]
    for way in WAYS:
        for groups in (counts, some):
            harness = Harness(case, way)
            last = [harness.send(count) for count in groups][-1]
            assert last.outcome.journal == together.outcome.journal
            assert last.data == together.data
            assert last.outcome.fates == together.outcome.fates
            assert _state(last.outcome) == _state(together.outcome)


def _state(outcome: Outcome) -> tuple[Any, ...]:
    report = outcome.report
    return (
        *(report.tokens_after, report.tier, report.cutoff, report.pressed, report.overflow),
        *(report.fixed_tokens, report.elidable_tokens),
    )


@each_format
@given(st.data())
def test_l4_the_journal_shows_what_the_call_that_made_it_showed(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    for sent in grow(case):
        shown = compactor.render(sent.native, sent.outcome.journal, format=format_name)
        assert as_bytes(shown) == as_bytes(sent.shown)


# L6


@given(st.data())
def test_l6_every_format_gives_the_same_fates_and_texts(data: st.DataObject) -> None:
    talk = data.draw(conversations(data.draw(st.sampled_from([FORMATS, FORMATS[1:], FORMATS[:3]]))))
    policy = data.draw(policies())
    seen = []
    for name in talk.formats:
        case = Case(talk, policy, name)
        out = alone(case)
        report = out.outcome.report
        facts = (out.outcome.fates, bodies(out.shown, case), report.passes, _state(out.outcome))
        seen.append(facts)
    event(f"{len(seen)} formats, {len(seen[0][2])} passes")
    assert len(seen) >= 3
    assert all(facts == seen[0] for facts in seen)


# L7


@each_format
@given(st.data())
def test_l7_pairing_and_texts_are_as_valid_as_they_were(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    for sent in grow(case):
        before = pairing.problems(format_name, messages(sent.native))
        assert pairing.problems(format_name, messages(sent.shown)) == before


@each_format
@given(st.data())
def test_l7_untouched_messages_are_the_same_and_unknown_fields_survive(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    native = _native(case)
    _add_unknown_fields(native)
    written = _lines(native) if format_name == "claude-code" else native
    sent = send(written, case)
    changed = {_address(entry)[: _depth(format_name)] for entry in _changed(sent, case)}
    for index, (old, new) in enumerate(
        zip(messages(sent.native), messages(sent.shown), strict=True)
    ):
        if any(index in address for address in changed):
            assert as_bytes(_bare(old)) == as_bytes(_bare(new))
        else:
            assert old is new
    if format_name == "claude-code":
        old_lines, new_lines = written.splitlines(), sent.data.splitlines()
        for index, (old_line, new_line) in enumerate(zip(old_lines, new_lines, strict=True)):
            assert (old_line == new_line) == (not any(index in at for at in changed))


def _add_unknown_fields(native: Any) -> None:
    """Keys that no format knows, on every message and every block."""
    for message in messages(native):
        message["x_unknown"] = {"b": [1, None], "a": "é"}
        inner = message.get("message", message)
        for block in inner.get("content") or []:
            if isinstance(block, dict):
                block["x_unknown"] = [{}]


def _lines(rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\r\n" for row in rows)


def _address(entry: Entry) -> Path:
    return entry.at


def _depth(format_name: str) -> int:
    """How much of an address names the message."""
    return 1 if format_name == "claude-code" else 2


def _changed(sent: Sent, case: Case) -> list[Entry]:
    elided = {fate.seq for fate in sent.outcome.fates if fate.fate == "elided"}
    return [e for seq, e in enumerate(entries_of(sent.native, case)) if seq in elided]


def _bare(message: Any) -> Any:
    """A message without the bodies of its results."""
    message = copy.deepcopy(message)
    inner = message.get("message", message)
    if inner.get("role") == "tool" or inner.get("kind") == "tool":
        for key in ("content", "text", "images"):
            inner.pop(key, None)
    for block in inner.get("content") or []:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            block.pop("content")
    return message


# L8


@each_format
@given(st.data())
def test_l8_the_newest_old_evidence_is_verbatim(format_name: str, data: st.DataObject) -> None:
    case = data.draw(cases(format_name))
    if data.draw(st.booleans()):
        case = case._replace(policy=_with(case.policy, evidence_budget_tokens=0))
    elided: set[int] = set()
    sent = grow(case)
    for before, after in pairwise([None, *sent]):
        old = 0 if before is None else len(passes(before.outcome))
        for record in passes(after.outcome)[old:]:
            evidence = [
                seq
                for seq, entry in enumerate(entries_of(after.native, case)[: record.cutoff])
                if seq not in elided and _is_evidence(entry, seq, case)
            ]
            assert record.floor == (max(evidence) if evidence else None)
            elided |= {elision.seq for elision in record.elided}
            assert record.floor not in elided
            if record.floor is not None:
                event("a floor")
                assert (
                    bodies(after.shown, case)[record.floor]
                    == bodies(after.native, case)[record.floor]
                )


def _with(policy: Policy, **changes: Any) -> Policy:
    fields = {name: getattr(policy, name) for name in policy.__struct_fields__}
    return Policy(**(fields | changes))


def _is_evidence(entry: Entry, seq: int, case: Case) -> bool:
    policy = case.policy
    tools = policy.evidence_tools
    if tools is None:
        tools = ("grok_sink", "scan_sinks", "trace_callers", "record_finding")
    if entry.kind is not Kind.TOOL or entry.empty or seq in policy.pins:
        return False
    last = entry.name.rsplit("__", 1)[-1]
    if {entry.name, last} & set(policy.protected_tools):
        return False
    failed = entry.error or (case.format == "openai-chat" and entry.call_id in case.talk.failed)
    return failed or bool({entry.name, last} & set(tools))


# L9


@each_format
@given(st.data())
def test_l9_markers_and_tables_are_bounded(format_name: str, data: st.DataObject) -> None:
    case = data.draw(cases(format_name))
    talk = case.talk
    for number in range(data.draw(st.sampled_from([0, 0, 70]))):
        talk.call("Read", {"file_path": f"/src/{'x' * 300}/{number}|\n"}, result="line\n" * 200)
    sent = alone(case)
    for text in _elided(sent, case).values():
        marker, _, table = text.partition("\n")
        event("a table" if table else "a marker")
        assert len(marker) <= 400
        rows = [line for line in table.split("\n") if line.startswith("| ")]
        assert len(rows) <= 1 + 50
        assert all(len(row) <= 300 for row in rows)


# L10


@each_format
@given(st.data())
def test_l10_after_a_pass_the_view_has_fewer_tokens(format_name: str, data: st.DataObject) -> None:
    case = data.draw(cases(format_name))
    for sent in grow(case):
        report = sent.outcome.report
        assert report.tokens_after == counted(sent.shown, case)
        for record in report.passes:
            assert record["tokens_after"] < record["tokens_before"]
        if report.passes:
            assert report.tokens_after < report.tokens_before
        else:
            assert report.tokens_after == report.tokens_before


# L11


@each_format
@given(st.data())
def test_l11_the_caller_keeps_every_elided_body(format_name: str, data: st.DataObject) -> None:
    """In the pure functions the original is the caller's: found at its seq, and never changed."""
    case = data.draw(cases(format_name))
    harness = Harness(case, data.draw(st.sampled_from(WAYS[:2])))
    for count in case.talk.boundaries:
        request = case.talk.upto(count).write(format_name)
        untouched = copy.deepcopy(request)
        sent = send(request, case, harness.journal)
        harness.journal = sent.outcome.journal
        assert as_bytes_or_same(request) == as_bytes_or_same(untouched)
        originals = bodies(sent.native, case)
        facts = _merged(case.talk.facts[:count])
        for seq in _elided(sent, case):
            assert originals[seq] == facts[seq]


def as_bytes_or_same(request: Any) -> bytes:
    return request if isinstance(request, bytes) else as_bytes(request)


def _merged(facts: list[Fact]) -> list[str]:
    """The texts of facts by seq: adjacent model messages are one entry."""
    texts: list[str] = []
    for at, fact in enumerate(facts):
        if at and fact.kind == facts[at - 1].kind == "assistant":
            texts[-1] += "\n" + fact.text
        else:
            texts.append(fact.text)
    return texts


# L12


@each_format
@given(st.data())
def test_l12_only_bodies_of_answered_results_change(format_name: str, data: st.DataObject) -> None:
    case = data.draw(cases(format_name))
    for sent in grow(case):
        before, after = entries_of(sent.native, case), entries_of(sent.shown, case)
        answered = max([s for s, e in enumerate(before) if e.kind is Kind.ASSISTANT], default=-1)
        for seq, (old, new) in enumerate(zip(before, after, strict=True)):
            if (old.kind, old.parts, old.calls, old.body) == (
                *(new.kind, new.parts, new.calls, new.body),
            ):
                continue
            assert (old.kind, new.kind) == (Kind.TOOL, Kind.TOOL)
            assert seq < answered
            assert seq < len(before) - 1
            assert sent.outcome.fates[seq].fate == "elided"
            assert (old.call_id, old.error, old.call) == (new.call_id, new.error, new.call)
        for old_message, new_message in zip(
            messages(sent.native), messages(sent.shown), strict=True
        ):
            assert as_bytes(_bare(old_message)) == as_bytes(_bare(new_message))


# L13


@each_format
@given(st.data())
def test_l13_what_a_body_says_decides_nothing(format_name: str, data: st.DataObject) -> None:
    case = data.draw(cases(format_name))
    forged = Conversation()
    forged.facts = [
        _forged(fact, data.draw(st.sampled_from(LOOK_ALIKES))) for fact in case.talk.facts
    ]
    plain, other = grow(case), grow(case._replace(talk=forged))
    for sent, forgery in zip(plain, other, strict=True):
        assert sent.outcome.fates == forgery.outcome.fates
        assert sent.outcome.report.passes == forgery.outcome.report.passes
        assert _elided(sent, case) == _elided(forgery, case)


def _forged(fact: Fact, look_alike: str) -> Fact:
    """A result of the same length that begins as our own output; ids that it cites stay."""
    if fact.kind != "tool" or "ev_" in fact.text:
        return fact
    size = len(fact.text)
    return fact._replace(text=(look_alike * (size // len(look_alike) + 1))[:size])


# L14


@each_format
@given(st.data())
def test_l14_a_second_call_at_the_same_request_adds_nothing(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    harness = Harness(case, data.draw(st.sampled_from(WAYS)))
    for count in case.talk.boundaries:
        overflowed = data.draw(rarely(6))
        first = harness.send(count, overflowed=overflowed)
        for _ in range(2):
            second = harness.send(count)
            assert second.outcome.journal == first.outcome.journal
            assert second.data == first.data
            assert second.outcome.fates == first.outcome.fates
            assert second.outcome.report.passes == ()


# What the properties above are drawn from.


def _branches(sent: list[Sent]) -> set[str]:
    """What the requests of one conversation reached."""
    seen = set()
    for one in sent:
        report = one.outcome.report
        seen |= {report.why, f"tier {report.tier}", *fates(one.outcome)}
        seen |= {name for name in ("pressed", "overflow") if getattr(report, name)}
    records = passes(sent[-1].outcome)
    seen.add(f"passes {min(len(records), 3)}")
    texts = [elision.text for record in records for elision in record.elided]
    words = ("artifact ids", "of failed", " image", "recall seq=", "recall #", "\n| Path")
    seen |= {f"marker {word}" for word in words if any(word in text for text in texts)}
    seen |= {"an old floor goes" for a, b in pairwise(records) if a.floor in _seqs(b)}
    return seen


def _seqs(record: PassRecord) -> list[int]:
    return [elision.seq for elision in record.elided]


EXPECTED = {
    "passed": 30,
    "below_threshold": 50,
    "waits:min_freed": 5,
    "nothing_to_free": 20,
    "tier elide": 50,
    "tier aggressive": 20,
    "pressed": 15,
    "overflow": 20,
    "passes 0": 20,
    "passes 1": 10,
    "passes 2": 5,
    "passes 3": 5,
    "elided": 30,
    "kept:recent": 30,
    "kept:unanswered": 10,
    "kept:protected": 3,
    "kept:pinned": 3,
    "kept:floor": 10,
    "kept:budget": 5,
    "kept:no_gain": 20,
    "marker artifact ids": 3,
    "marker of failed": 3,
    "marker recall seq=": 10,
    "marker recall #": 1,
    "marker \n| Path": 3,
    "an old floor goes": 1,
}
"""Branch → in how many per cent of the conversations it must come up."""


def test_the_generated_conversations_reach_every_branch() -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=300)
    @given(cases("anthropic"))
    def collect(case: Case) -> None:
        counts.update(_branches(grow(case)))

    collect()
    few = {name: counts[name] for name, percent in EXPECTED.items() if counts[name] < 3 * percent}
    assert few == {}
