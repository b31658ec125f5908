"""The laws of DESIGN section 10 that hold over the requests of a conversation: L1-L4, L10 and L14.

L5 has processes of its own (`test_same_bytes`), the others are in `test_laws_shape`. Each law looks
at what was handed in and what came back; the core's own checks (`internal.law`) are not what makes
these hold.
"""

from __future__ import annotations

import copy
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import compactor
from compactor import CompactorError
from compactor.core.model import Entry
from compactor.core.records import PassRecord
from tests.harness import (
    WAYS,
    Harness,
    Sent,
    alone,
    as_bytes,
    counted,
    each_format,
    elided,
    entries_of,
    fates,
    grow,
    messages,
    native_of,
    passes,
    send,
    state,
    without,
)
from tests.strategies import Case, cases, conversations, rarely

# L1


@each_format
@given(st.data())
def test_l1_a_prefix_handed_in_is_a_prefix_handed_back(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    harness = Harness(case, data.draw(st.sampled_from(WAYS)))
    counts = data.draw(st.lists(st.integers(1, len(case.talk.facts)), max_size=6))
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
        old, new = elided(before, case), elided(after, case)
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
    now = elided(after, case)
    for record in standing:
        assert {e.seq: e.text for e in record.elided}.items() <= now.items()
    fallen = {e.seq for record in records[len(standing) :] for e in record.elided}
    again = {seq for record in after.outcome.report.passes for seq in record["elided"]}
    assert fallen & set(now) <= again
    if any(record.tier == "aggressive" for record in records):
        assert after.outcome.report.tier == "aggressive"


def _departure(known: list[Entry], case: Case) -> int:
    """The first entry that differs from what was known."""
    new = entries_of(native_of(case), case)
    facts = [[_said(entry) for entry in entries] for entries in (known, new)]
    same = [old == now for old, now in zip(*facts, strict=False)]
    return same.index(False) if False in same else len(same)


def _said(entry: Entry) -> tuple[Any, ...]:
    calls = tuple(call[:3] for call in entry.calls)
    texts = tuple(part for part in entry.parts if part.kind != "reasoning")
    return entry.kind, entry.call_id, calls, texts, entry.body


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
            assert state(last.outcome) == state(together.outcome)


@each_format
@given(st.data())
def test_l4_the_journal_shows_what_the_call_that_made_it_showed(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    for sent in grow(case):
        shown = compactor.render(sent.native, sent.outcome.journal, format=format_name)
        assert as_bytes(shown) == as_bytes(sent.shown)


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
    "passed": 25,
    "below_threshold": 40,
    "waits:min_freed": 1,
    "nothing_to_free": 20,
    "tier elide": 50,
    "tier aggressive": 20,
    "pressed": 15,
    "overflow": 20,
    "passes 0": 15,
    "passes 1": 5,
    "passes 2": 4,
    "passes 3": 10,
    "elided": 25,
    "kept:recent": 25,
    "kept:unanswered": 25,
    "kept:protected": 1,
    "kept:pinned": 1,
    "kept:floor": 15,
    "kept:budget": 1,
    "kept:no_gain": 15,
    "marker artifact ids": 10,
    "marker of failed": 8,
    "marker recall seq=": 8,
    "marker recall #": 1,
    "marker  image": 8,
    "marker \n| Path": 3,
    "an old floor goes": 5,
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
