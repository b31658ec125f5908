"""The laws of DESIGN section 10 that look at one request: L6-L9 and L11-L13, in every format."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st

from compactor.core.model import Entry, Kind
from compactor.testing import Conversation, Fact
from tests import pairing
from tests.harness import (
    FORMATS,
    WAYS,
    WITHOUT_FLAGS,
    Harness,
    Sent,
    alone,
    as_bytes,
    bodies,
    each_format,
    elided,
    entries_of,
    grow,
    messages,
    native_of,
    passes,
    send,
    state,
)
from tests.strategies import LOOK_ALIKES, Case, cases, conversations, policies

GROUPS = (
    *(FORMATS, FORMATS[:3], FORMATS[1:], ("entries", "anthropic", "claude-code")),
    ("anthropic", "claude-code", "openai-responses"),
    ("anthropic", "openai-chat", "openai-responses"),
    *(("anthropic", "gemini", "bedrock"), ("entries", "anthropic", "bedrock")),
)
"""Formats that can express more of the same facts the fewer they are."""

# L6


@given(st.data())
def test_l6_every_format_gives_the_same_fates_and_texts(data: st.DataObject) -> None:
    talk = data.draw(conversations(data.draw(st.sampled_from(GROUPS))))
    policy = data.draw(policies())
    seen = []
    for name in talk.formats:
        case = Case(talk, policy, name)
        out = alone(case)
        report = out.outcome.report
        facts = (out.outcome.fates, bodies(out.shown, case), report.passes, state(out.outcome))
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
    case = only_bodies(data.draw(cases(format_name)))
    native = native_of(case)
    _add_unknown_fields(native)
    written = _lines(native) if format_name == "claude-code" else native
    sent = send(written, case)
    changed = {entry.at[: _depth(format_name)] for entry in _changed(sent, case)}
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


def only_bodies(case: Case) -> Case:
    """A case of what passes change by default; `test_inputs` has the rest."""
    return case._replace(policy=msgspec.structs.replace(case.policy, elide_inputs=False))


def _add_unknown_fields(native: Any) -> None:
    """Keys that no format knows, on every message and every block."""
    for message in messages(native):
        message["x_unknown"] = {"b": [1, None], "a": "é"}
        inner = message.get("message", message)
        for block in inner.get("content") or inner.get("parts") or []:
            if isinstance(block, dict):
                block["x_unknown"] = [{}]


def _lines(rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\r\n" for row in rows)


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
    if inner.get("type") == "function_call_output":
        inner.pop("output")
    for block in inner.get("content") or inner.get("parts") or []:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            block.pop("content")
        if isinstance(block, dict) and ("toolResult" in block or "functionResponse" in block):
            result = block.get("toolResult") or block["functionResponse"]
            for key in ("content", "response", "parts"):
                result.pop(key, None)
    return message


# L8


@each_format
@given(st.data())
def test_l8_the_newest_old_evidence_is_verbatim(format_name: str, data: st.DataObject) -> None:
    case = data.draw(cases(format_name))
    if data.draw(st.booleans()):
        free = msgspec.structs.replace(case.policy, evidence_budget_tokens=0)
        case = case._replace(policy=free)
    gone: set[int] = set()
    known = 0
    for sent in grow(case):
        native = entries_of(sent.native, case)
        for record in passes(sent.outcome)[known:]:
            known += 1
            old = [seq for seq in range(record.cutoff) if seq not in gone]
            evidence = [seq for seq in old if _is_evidence(native[seq], seq, case)]
            gone |= {elision.seq for elision in record.elided}
            assert record.floor == (max(evidence) if evidence else None)
            if record.floor is not None:
                event("a floor")
                assert record.floor not in gone
                assert bodies(sent.shown, case)[record.floor] == native[record.floor].body


def _is_evidence(entry: Entry, seq: int, case: Case) -> bool:
    """Evidence that nothing else keeps, worked out anew."""
    policy = case.policy
    tools = policy.evidence_tools
    if tools is None:
        tools = ("grok_sink", "scan_sinks", "trace_callers", "record_finding")
    if entry.kind is not Kind.TOOL or entry.empty or seq in policy.pins:
        return False
    names = {entry.name, entry.name.rsplit("__", 1)[-1]}
    failed = entry.error or (case.format in WITHOUT_FLAGS and entry.call_id in case.talk.failed)
    return not names & set(policy.protected_tools) and (failed or bool(names & set(tools)))


# L9


@each_format
@given(st.data())
def test_l9_markers_and_tables_are_bounded(format_name: str, data: st.DataObject) -> None:
    case = data.draw(cases(format_name))
    talk = case.talk
    for number in range(data.draw(st.sampled_from([0, 0, 70]))):
        talk.call("Read", {"file_path": f"/src/{'x' * 300}/{number}|\n"}, result="line\n" * 200)
    sent = alone(case)
    for text in elided(sent, case).values():
        marker, _, table = text.partition("\n")
        event("a table" if table else "a marker")
        assert len(marker) <= 400
        rows = [line for line in table.split("\n") if line.startswith("| ")]
        assert len(rows) <= 1 + 50
        assert all(len(row) <= 300 for row in rows)


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
        for seq in elided(sent, case):
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
    case = only_bodies(data.draw(cases(format_name)))
    for sent in grow(case):
        before, after = entries_of(sent.native, case), entries_of(sent.shown, case)
        answered = max([s for s, e in enumerate(before) if e.kind is Kind.ASSISTANT], default=-1)
        for seq, (old, new) in enumerate(zip(before, after, strict=True)):
            if _content(old) != _content(new):
                assert (old.kind, new.kind) == (Kind.TOOL, Kind.TOOL)
                assert seq < answered
                assert seq < len(before) - 1
                assert sent.outcome.fates[seq].fate == "elided"
                assert (old.call_id, old.error, old.call) == (new.call_id, new.error, new.call)
        for old_message, new_message in zip(
            messages(sent.native), messages(sent.shown), strict=True
        ):
            assert as_bytes(_bare(old_message)) == as_bytes(_bare(new_message))


def _content(entry: Entry) -> tuple[Any, ...]:
    return entry.kind, entry.parts, entry.calls, entry.body


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
        assert elided(sent, case) == elided(forgery, case)


def _forged(fact: Fact, look_alike: str) -> Fact:
    """A result of the same length that begins as our own output; ids that it cites stay."""
    if fact.kind != "tool" or "ev_" in fact.text:
        return fact
    size = len(fact.text)
    return fact._replace(text=(look_alike * (size // len(look_alike) + 1))[:size])
