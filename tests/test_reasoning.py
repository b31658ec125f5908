"""Signed reasoning: DESIGN section 5 under `provider`, `keep` and `drop`.

The laws hold under `drop` as well, in every format whose provider signs reasoning; what providers
say to the requests is in `test_providers`.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import compactor
from compactor import Journal, Outcome, Policy
from compactor.core.model import Entry, Kind
from compactor.core.records import ReasoningRecord
from compactor.formats import FORMATS, lens
from compactor.formats.lens import SignedReasoning
from compactor.testing import WRITERS, Conversation, ToolCall
from tests import pairing
from tests.harness import (
    WAYS,
    Harness,
    Sent,
    alone,
    as_bytes,
    as_text,
    counted,
    entries_of,
    messages,
    passes,
    send,
    state,
)
from tests.strategies import Case, rarely

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "transcripts"
SIGNING = ("anthropic", "bedrock", "claude-code")
REMOVED = "[reasoning removed]"

each_signing = pytest.mark.parametrize("format_name", SIGNING)


# The laws under `drop`


@st.composite
def dropping(draw: st.DrawFn, format_name: str) -> Case:
    """A case under `drop`: much reasoning, a person who speaks often, turns of reasoning alone."""
    talk = Conversation().user("go")
    steps = st.sampled_from(["call", "call", "call", "parallel", "user", "user", "say", "hollow"])
    for step in draw(st.lists(steps, min_size=2, max_size=14)):
        reasoning = draw(st.sampled_from(["", "hm " * 20, "hm " * 90]))
        sizes = st.sampled_from([0, 60, 400, 1200, 2400])
        if step == "user":
            talk.user(draw(st.sampled_from(["more", "u" * 300])))
        elif step == "hollow":
            talk.assistant("", reasoning="hm " * draw(st.integers(1, 9)))
        elif step == "say":
            talk.assistant("done", reasoning=reasoning)
        else:
            count = 1 if step == "call" else 3
            error = draw(rarely(6))
            made = [ToolCall("bash", {}, "x" * draw(sizes), error=error) for _ in range(count)]
            talk.parallel(made, text=draw(st.sampled_from(["", "I look."])), reasoning=reasoning)
    window = draw(st.sampled_from([600, 900, 1500]))
    policy = Policy(
        window=window,
        counter="chars4",
        overhead_tokens=0,
        reasoning="drop",
        reserve_tokens=draw(st.sampled_from([window // 5, window // 2])),
        keep_recent=draw(st.integers(1, 5)),
        min_freed=draw(st.sampled_from([None, 0, window // 4])),
        min_gain=draw(st.sampled_from([None, 0])),
    )
    return Case(talk, policy, format_name)


def signed(entries: list[Entry]) -> list[int]:
    return [seq for seq, e in enumerate(entries) if any(part.signed for part in e.parts)]


def removals(outcome: Outcome) -> list[ReasoningRecord]:
    return [r for r in outcome.journal.records if isinstance(r, ReasoningRecord)]


@each_signing
@given(st.data())
def test_l4_catching_up_removes_what_calls_at_each_boundary_remove(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(dropping(format_name))
    together = alone(case)
    event(f"{len(removals(together.outcome))} removals, {together.outcome.report.why}")
    counts = case.talk.boundaries
    some = [count for count in counts[:-1] if data.draw(st.booleans())] + counts[-1:]
    for way in WAYS:
        for groups in (counts, some):
            harness = Harness(case, way)
            last = [harness.send(count) for count in groups][-1]
            assert last.outcome.journal == together.outcome.journal
            assert last.data == together.data
            assert state(last.outcome) == state(together.outcome)


@each_signing
@given(st.data())
def test_each_request_under_drop_is_counted_shown_and_valid(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(dropping(format_name))
    harness = Harness(case, data.draw(st.sampled_from(WAYS)))
    gone: set[int] = set()
    for count in case.talk.boundaries:
        sent = harness.send(count, overflowed=data.draw(rarely(6)))
        report, records = sent.outcome.report, passes(sent.outcome)
        assert report.tokens_after == counted(sent.shown, case)
        before, after = entries_of(sent.native, case), entries_of(sent.shown, case)
        gone |= {seq for record in removals(sent.outcome) for seq in record.removed}
        assert set(signed(after)) == set(signed(before)) - gone
        new = records[len(records) - len(report.passes) :]
        for made, record in zip(report.passes, new, strict=True):
            assert made["tokens_after"] < made["tokens_before"]
            behind = [seq for seq in signed(before)[:count] if seq > record.first_changed]
            assert {seq for seq in behind if seq < record.n} <= gone
        assert problems(format_name, sent.shown) == problems(format_name, sent.native)
        shown = compactor.render(sent.native, sent.outcome.journal, format=format_name)
        assert as_bytes(shown) == as_bytes(sent.shown)
        _check_only_reasoning_and_bodies_changed(before, after, gone)
        again = harness.send(count)
        assert again.outcome.journal == sent.outcome.journal
        assert again.data == sent.data


def problems(format_name: str, native: Any) -> list[Any]:
    """What a provider would refuse. A line of a session may be empty; its turn has others."""
    found = list(pairing.problems(format_name, messages(native)))
    if format_name != "claude-code":
        return found
    return [problem for problem in found if problem[1] != "empty content"]


def _check_only_reasoning_and_bodies_changed(
    before: list[Entry], after: list[Entry], gone: set[int]
) -> None:
    assert len(before) == len(after)
    for seq, (old, new) in enumerate(zip(before, after, strict=True)):
        if old.kind is Kind.ASSISTANT:
            kept = [p._replace(at=()) for p in old.parts if seq not in gone or not p.signed]
            shown = [p._replace(at=()) for p in new.parts if p.text != REMOVED]
            assert [call[:3] for call in old.calls] == [call[:3] for call in new.calls]
            assert shown == kept
            added = sum(part.text == REMOVED for part in new.parts)
            assert added == (len(old.hollow) if seq in gone else 0)
        elif old.kind is not Kind.TOOL:
            assert old.parts == new.parts


@pytest.mark.parametrize("format_name", SIGNING[:2])
@given(st.data())
def test_a_harness_that_stores_our_output_goes_on_as_one_that_keeps_the_originals(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(dropping(format_name))
    kept, stored = Harness(case, "new objects"), None
    journal: Journal | None = None
    known = 0
    for count in case.talk.boundaries:
        sent = kept.send(count)
        request = case.talk.upto(count).write(format_name)
        items = messages(request)
        if stored is not None and known < len(items):
            items[:known] = copy.deepcopy(stored[:known])
        mine = send(request, case, journal)
        journal = as_text(mine.outcome.journal)
        assert mine.outcome.journal == sent.outcome.journal
        assert as_bytes(mine.shown) == as_bytes(sent.shown)
        stored, known = messages(mine.shown), max(len(items) - 1, 0)


def test_the_generated_cases_reach_what_drop_can_do() -> None:
    seen: dict[str, int] = {}

    @settings(max_examples=150)
    @given(dropping("anthropic"))
    def collect(case: Case) -> None:
        harness = Harness(case)
        whys = set()
        sent: Sent | None = None
        for count in case.talk.boundaries:
            sent = harness.send(count)
            whys.add(sent.outcome.report.why)
        assert sent is not None
        entries = entries_of(sent.native, case)
        records = removals(sent.outcome)
        whys |= {"removed"} if records else set()
        whys |= {"removed twice"} if len(records) > 1 else set()
        whys |= {"hollow" for r in records for seq in r.removed if entries[seq].hollow}
        for why in whys:
            seen[why] = seen.get(why, 0) + 1

    collect()
    wanted = ("passed", "waits:user_turn", "removed", "removed twice", "hollow")
    assert {why: seen.get(why, 0) for why in wanted if seen.get(why, 0) < 8} == {}


# What is removed, and what a message keeps

SMALL = Policy(window=1000, counter="chars4", keep_recent=1, reasoning="drop")


def talk(last: str = "user") -> Conversation:
    """Thinking before and behind a result that goes."""
    talk = (
        Conversation(model="claude-sonnet-5-5")
        .user("go")
        .call("bash", result="x" * 1600, reasoning="before " * 9)
        .call("bash", result="y" * 400, reasoning="behind " * 9, text="I look.")
        .assistant("", reasoning="only " * 9)
    )
    return talk.user("u" * 1200) if last == "user" else talk.call("bash", result="z" * 1000)


def test_reasoning_behind_the_first_change_goes_and_what_is_before_it_stays() -> None:
    request = talk().anthropic()
    out = compactor.compact(request, SMALL)
    assert [record["elided"] for record in out.report.passes] == [[2, 4]]
    turns = [m["content"] for m in out.request["messages"] if m["role"] == "assistant"]
    assert turns[0] == request["messages"][1]["content"]
    assert [block["type"] for block in turns[1]] == ["text", "tool_use"]
    assert turns[2] == [{"type": "text", "text": REMOVED}]
    assert removals(out)[0].removed == (3, 5)
    assert (out.headers, out.report.findings[1:]) == ({}, ())
    assert request == talk().anthropic()


def test_a_pass_waits_for_the_person_while_there_is_room() -> None:
    request = talk("tool").anthropic()
    waits = compactor.compact(request, SMALL)
    assert (waits.report.why, waits.report.passes) == ("waits:user_turn", ())
    assert waits.request == request
    limit = 1000 - 200 // 2
    assert 800 < waits.report.tokens_after <= limit
    tight = msgspec.structs.replace(SMALL, window=900, reserve_tokens=200)
    assert compactor.compact(request, tight).report.why == "passed"
    refused = compactor.compact(request, SMALL, overflowed=True)
    assert refused.report.why == "passed"
    assert len(removals(refused)) == 1


def test_removed_reasoning_counts_before_and_after_and_not_as_freed() -> None:
    request = talk().anthropic()
    made = compactor.compact(request, SMALL).report.passes[0]
    saved = made["tokens_before"] - made["tokens_after"]
    kept = msgspec.structs.replace(SMALL, reasoning="keep")
    alone = compactor.compact(request, kept).report.passes[0]
    freed = alone["tokens_before"] - alone["tokens_after"]
    # 63 and 45 characters of thinking go, 19 of what stands for the second come.
    assert (alone["tokens_before"], saved - freed) == (made["tokens_before"], 16 + 12 - 5)
    exactly = msgspec.structs.replace(SMALL, min_freed=freed)
    more = msgspec.structs.replace(SMALL, min_freed=freed + 1)
    assert compactor.compact(request, exactly).report.why == "passed"
    assert compactor.compact(request, more).report.why == "waits:min_freed"


def test_a_pass_whose_placeholders_cost_more_than_it_frees_is_none() -> None:
    talk = Conversation().user("go").call("bash", result="x" * 180)
    for _ in range(12):
        talk.assistant("", reasoning="a").user("b")
    policy = Policy(
        window=400, counter="chars4", keep_recent=1, reasoning="drop", min_freed=0, min_gain=0,
        reserve_tokens=250,
    )  # fmt: skip
    out = compactor.compact(talk.anthropic(), policy)
    assert (out.report.why, out.report.passes) == ("nothing_to_free", ())


def test_keep_and_provider_remove_nothing() -> None:
    request = talk().anthropic()
    for reasoning in ("keep", "provider"):
        out = compactor.compact(request, msgspec.structs.replace(SMALL, reasoning=reasoning))
        assert len(out.report.passes) == 1
        assert removals(out) == []
        assert "only only" in json.dumps(out.request)


# Sessions of Claude Code: a turn has several lines


def session(*turn: dict[str, Any]) -> compactor.Transcript:
    """A result that goes, then a turn with these blocks, a line each, then the person."""
    rows: list[Any] = [{"type": "summary", "summary": "", "leafUuid": ""}]

    def add(kind: str, content: Any, **more: Any) -> None:
        message = {"role": kind, "content": content} | more
        above = rows[-1].get("uuid")
        rows.append(
            {"type": kind, "uuid": f"u{len(rows)}", "parentUuid": above, "message": message}
        )

    add("user", "go")
    add("assistant", [{"type": "tool_use", "id": "a", "name": "bash", "input": {}}], id="m1")
    add("user", [{"type": "tool_result", "tool_use_id": "a", "content": "x" * 2400}])
    for block in turn:
        add("assistant", [block], id="m2")
    add("user", "u" * 1600)
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    return compactor.load(data, "claude-code")


THOUGHT = {"type": "thinking", "thinking": "hm " * 30, "signature": "c2ln"}
SEALED = {"type": "redacted_thinking", "data": "c2VhbGVk" * 20}
SAID = {"type": "text", "text": "done"}


@pytest.mark.parametrize(
    ("turn", "left"),
    [
        ((THOUGHT, SAID), [[], [SAID]]),
        ((SAID, THOUGHT), [[SAID], []]),
        ((THOUGHT, SEALED), [[{"type": "text", "text": REMOVED}], []]),
        ((THOUGHT,), [[{"type": "text", "text": REMOVED}]]),
        ((THOUGHT, SEALED, SAID), [[], [], [SAID]]),
    ],
)
def test_a_line_that_held_only_reasoning_stays_and_a_turn_is_never_empty(
    turn: tuple[Any, ...], left: list[Any]
) -> None:
    transcript = session(*turn)
    out = compactor.compact(transcript, SMALL)
    rows = out.request.view()
    assert [row["message"]["content"] for row in rows[4:-1]] == left
    assert out.report.tokens_after == _recounted(out.request.to_bytes())
    again = compactor.compact(compactor.load(out.request.to_bytes()), SMALL, out.journal)
    assert again.journal == out.journal
    assert again.request.to_bytes() == out.request.to_bytes()


def _recounted(data: bytes) -> int:
    policy = Policy(window=10**6, counter="chars4")
    return compactor.compact(compactor.load(data), policy).report.tokens_before


def test_adjacent_turns_of_which_one_is_left_empty() -> None:
    transcript = session(THOUGHT)
    rows = transcript.view()
    more = {"role": "assistant", "id": "m3", "content": [SAID]}
    row = {"type": "assistant", "uuid": "x", "parentUuid": "u4", "message": more}
    rows = [*rows[:5], row, rows[5] | {"parentUuid": "x"}]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    out = compactor.compact(compactor.load(data, "claude-code"), SMALL)
    shown = out.request.view()
    assert [r["message"]["content"] for r in shown[4:6]] == [
        [{"type": "text", "text": REMOVED}],
        [SAID],
    ]
    assert out.report.tokens_after == _recounted(out.request.to_bytes())


# Rewinds


def test_the_removal_stays_with_its_pass_when_the_tail_is_taken_back() -> None:
    first = talk().anthropic()
    out = compactor.compact(first, SMALL)
    cut = out.report.cutoff
    assert cut == 6
    grown = talk().anthropic()
    grown["messages"] = [*grown["messages"][:-1], {"role": "user", "content": "v" * 40}]
    for journal in (out.journal, as_text(out.journal)):
        after = compactor.compact(grown, SMALL, journal)
        assert removals(after) == removals(out)
        turns = [m["content"] for m in after.request["messages"] if m["role"] == "assistant"]
        assert turns[2] == [{"type": "text", "text": REMOVED}]


def test_another_turn_in_the_place_of_a_removed_one_keeps_its_reasoning() -> None:
    long = talk().assistant("So.", reasoning="newest " * 9).user("u" * 400)
    request = long.anthropic()
    request["messages"][6]["content"] = "and?"
    policy = msgspec.structs.replace(SMALL, window=850, keep_recent=4)
    out = compactor.compact(request, policy)
    (record,) = removals(out)
    assert (record.removed, out.report.cutoff) == ((3, 5, 7), 5)
    other = copy.deepcopy(request)
    other["messages"][7]["content"] = [
        {"type": "thinking", "thinking": "other " * 9, "signature": "b3RoZXI="},
        {"type": "text", "text": "Another answer."},
    ]
    other["messages"][8:] = [{"role": "user", "content": "why?"}]
    for journal in (out.journal, as_text(out.journal)):
        after = compactor.compact(other, policy, journal)
        assert "other other" in json.dumps(after.request)
        assert "newest" not in json.dumps(after.request)
        assert after.report.tokens_after == counted(
            after.request, Case(Conversation(), policy, "anthropic")
        )


def test_the_removal_of_a_pass_that_stays_is_not_taken_back_with_a_later_one() -> None:
    """Sent again, the reasoning would stand behind what was changed, and be refused."""
    long = talk().assistant("So.", reasoning="newest " * 9).user("u" * 400)
    policy = msgspec.structs.replace(SMALL, window=850, keep_recent=4)
    request = long.anthropic()
    request["messages"][6]["content"] = "and?"
    first = compactor.compact(request, policy)
    more = long.call("bash", result="w" * 1600, reasoning="last " * 9).assistant("ok").user("more")
    grown = more.call("bash").assistant("ok").user("u" * 1200).anthropic()
    grown["messages"][6]["content"] = "and?"
    second = compactor.compact(grown, policy, first.journal)
    assert [record.cutoff for record in passes(second)] == [5, 16]
    departed = copy.deepcopy(request)
    departed["messages"][6]["content"] = "and then?"
    for journal in (second.journal, as_text(second.journal)):
        after = compactor.compact(departed, policy, journal)
        assert [f.code for f in after.report.findings if f.seq == 6] == ["journal_departs"]
        assert removals(after)[: len(removals(first))] == removals(first)
        assert after.report.passes == ()
        whole = json.dumps(after.request)
        assert ("before" in whole, "behind" in whole, "only" in whole) == (True, False, False)
        assert "newest" not in whole


# What a request says under `provider`

PROVIDER = msgspec.structs.replace(SMALL, reasoning="provider")
HEADER = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
BINDING = {"prefix_mismatch_behavior": "drop_block"}


def bound(thinking: Any) -> tuple[Any, dict[str, str], list[str]]:
    """What `thinking` becomes, the headers, and the findings."""
    request = talk().anthropic()
    if thinking is not None:
        request["thinking"] = thinking
    out = compactor.compact(request, PROVIDER)
    assert len(out.report.passes) == 1
    codes = [f.code for f in out.report.findings if f.code.startswith("reasoning")]
    return out.request.get("thinking"), out.headers, codes


@pytest.mark.parametrize(
    ("thinking", "becomes"),
    [
        (None, {"type": "adaptive", "block_binding": BINDING}),
        ({"type": "adaptive"}, {"type": "adaptive", "block_binding": BINDING}),
        (
            {"type": "enabled", "budget_tokens": 9},
            {"type": "enabled", "budget_tokens": 9, "block_binding": BINDING},
        ),
        (
            {"type": "adaptive", "block_binding": None, "display": "omitted"},
            {"type": "adaptive", "block_binding": BINDING, "display": "omitted"},
        ),
        (
            {"type": "adaptive", "block_binding": {"x": 1, "prefix_mismatch_behavior": "error"}},
            {"type": "adaptive", "block_binding": {"x": 1} | BINDING},
        ),
    ],
)
def test_the_request_lets_the_provider_leave_out_what_no_longer_fits(
    thinking: Any, becomes: Any
) -> None:
    assert bound(thinking) == (becomes, HEADER, ["reasoning_bound"])


def test_a_request_that_says_so_already_is_not_touched() -> None:
    thinking = {"type": "adaptive", "block_binding": dict(BINDING)}
    request = talk().anthropic() | {"thinking": thinking}
    out = compactor.compact(request, PROVIDER)
    assert out.request["thinking"] is thinking
    assert out.headers == HEADER


@pytest.mark.parametrize("kind", ["disabled", "between_tools"])
def test_thinking_that_takes_no_binding_is_left_and_said(kind: str) -> None:
    assert bound({"type": kind}) == ({"type": kind}, HEADER, ["reasoning_unbound"])


def test_what_has_no_place_for_the_binding_is_said_with_what_to_put_there() -> None:
    for request in (talk().anthropic()["messages"], session(THOUGHT, SAID)):
        out = compactor.compact(request, PROVIDER)
        assert len(out.report.passes) == 1
        (finding,) = [f for f in out.report.findings if f.code.startswith("reasoning")]
        assert finding.code == "reasoning_unbound"
        assert str(BINDING) in finding.message
        assert out.headers == HEADER


def test_nothing_is_said_where_no_signed_reasoning_is_behind_a_change() -> None:
    before = Conversation().user("go").call("bash", result="x" * 2400, reasoning="hm")
    plain = Conversation().user("go").call("bash", result="x" * 2400)
    for conversation in (before, plain):
        request = conversation.assistant("ok").user("u" * 1600).anthropic() | {
            "thinking": {"type": "disabled"}
        }
        out = compactor.compact(request, PROVIDER)
        assert len(out.report.passes) == 1
        assert (out.headers, out.request["thinking"]) == ({}, {"type": "disabled"})
        assert [f for f in out.report.findings if f.code.startswith("reasoning")] == []


def test_models_that_bind_thinking_have_provider_and_others_keep() -> None:
    for model, expected in [
        ("claude-sonnet-5-5", HEADER),
        ("claude-fable-5-2", HEADER),
        ("claude-opus-4-6", {}),
    ]:
        request = talk().anthropic() | {"model": model}
        policy = Policy(window=1000, counter="chars4", keep_recent=1)
        assert compactor.compact(request, policy).headers == expected


# Formats


def test_a_format_without_signed_reasoning_says_that_a_policy_for_it_does_nothing() -> None:
    request = talk().openai_chat()
    for reasoning, expected in (("drop", 1), ("provider", 1), ("keep", 0)):
        policy = msgspec.structs.replace(SMALL, reasoning=reasoning)
        out = compactor.compact(request, policy, format="openai-chat")
        assert len(out.report.passes) == 1
        codes = [f.code for f in out.report.findings if f.code.startswith("reasoning")]
        assert codes == ["reasoning_kept"] * expected
        assert "only only" in json.dumps(out.request)
    first = compactor.compact(request, msgspec.structs.replace(SMALL, window=10**6))
    assert [f for f in first.report.findings if f.code == "reasoning_kept"] == []


@pytest.mark.parametrize("format_name", sorted(WRITERS))
def test_what_a_format_calls_signed_it_can_remove(format_name: str) -> None:
    """Else the count would go without what is shown."""
    if "reasoning" in WRITERS[format_name].lacks:
        assert not isinstance(FORMATS[format_name], SignedReasoning)
        return
    written = talk().write(format_name)
    root = compactor.load(written, format_name).root if isinstance(written, bytes) else written
    reads_signed = bool(signed(lens(format_name).read(root).entries))
    assert reads_signed == isinstance(lens(format_name), SignedReasoning)
    assert reads_signed == (format_name in SIGNING)


if RECORDED.is_dir():

    @pytest.mark.parametrize("format_name", sorted(set(FORMATS) - set(WRITERS)))
    def test_what_a_recording_calls_signed_its_format_can_remove(format_name: str) -> None:
        files = sorted(p for p in (RECORDED / format_name).glob("*") if p.stat().st_size < 2**20)
        for path in files:
            read = compactor.load(path, format_name)
            assert not signed(list(read.entries)) or isinstance(read.lens, SignedReasoning)
