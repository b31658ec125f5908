"""Every format to every target: the same entries but for what is said, valid for the target.

L5 and L6 for conversions, and that a longer conversation begins as the shorter one did.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactor
from compactor import Transcript
from compactor.testing import Conversation
from tests import convert_kit as kit
from tests.harness import FORMATS, messages
from tests.strategies import conversations

each_pair = pytest.mark.parametrize(
    ("source", "target"), [(source, target) for source in FORMATS for target in kit.TARGETS]
)
each_target = pytest.mark.parametrize("target", kit.TARGETS)


def read(talk: Conversation, name: str) -> Transcript:
    """A conversation as a transcript of a format."""
    native = talk.write(name)
    data = native if isinstance(native, bytes) else json.dumps(native).encode()
    return compactor.load(data, name)


@each_pair
@given(st.data())
def test_l6_every_entry_that_no_finding_names_is_the_same_in_every_format(
    source: str, target: str, data: st.DataObject
) -> None:
    transcript = read(data.draw(conversations((source,))), source)
    converted = compactor.convert(transcript, target)
    kit.check_same(transcript.entries, converted)


@each_pair
@given(st.data())
def test_completed_conversations_are_valid_for_the_provider(
    source: str, target: str, data: st.DataObject
) -> None:
    transcript = read(data.draw(conversations((source,))), source)
    converted = compactor.convert(transcript, target, complete=True)
    if source == target == "gemini":  # its own model has said what needs a signature
        assert [p for p in kit.problems(converted) if "signature" not in str(p)] == []
    else:
        assert kit.problems(converted) == []
    kit.check_types(converted)


@each_target
@given(st.data())
def test_what_is_left_of_a_conversation_without_oddities_is_all_of_it(
    target: str, data: st.DataObject
) -> None:
    """So that the findings of the tests above do not excuse everything."""
    talk = data.draw(plain())
    converted = compactor.convert(talk.anthropic(), target)
    said = [found for found in converted.findings if found.seq is not None]
    assert said == []
    entries = compactor.load(json.dumps(talk.anthropic()).encode()).entries
    assert kit.check_same(entries, converted) == len(entries)


@st.composite
def plain(draw: st.DrawFn) -> Conversation:
    """A conversation in which there is nothing odd."""
    talk = Conversation(system="be brief").user("go")
    for number in range(draw(st.integers(0, 6))):
        calls = draw(st.integers(1, 3))
        for _ in range(calls):
            talk.call("bash", {"n": number}, result=draw(st.sampled_from(["", "a", "b\nc"])))
        talk.assistant(draw(st.sampled_from(["so", "done"])))
        if draw(st.booleans()):
            talk.user("more")
    return talk


@each_pair
@given(st.data())
def test_l5_the_same_input_gives_the_same_bytes_and_changes_nothing(
    source: str, target: str, data: st.DataObject
) -> None:
    talk = data.draw(conversations((source,)))
    transcript = read(talk, source)
    before = transcript.to_bytes()
    first = compactor.convert(transcript, target)
    again = compactor.convert(read(talk, source), target)
    assert (first.to_bytes(), first.findings) == (again.to_bytes(), again.findings)
    assert transcript.to_bytes() == before
    json.loads(first.to_bytes())


@each_target
@given(st.data())
def test_a_longer_conversation_begins_as_the_shorter_one(target: str, data: st.DataObject) -> None:
    """What is behind a model turn that all calls are answered before changes nothing in it."""
    talk = data.draw(conversations(("anthropic",)))
    whole = _list(compactor.convert(talk.anthropic(), target))
    for count in talk.boundaries:
        early = talk.upto(count)
        if _is_settled(talk, count):
            part = _list(compactor.convert(early.anthropic(), target))
            shared = len(part) - 1  # the last message may go on
            assert part[:shared] == whole[:shared]


def _list(converted: compactor.Converted) -> list[Any]:
    if converted.format == "otel":
        return list(converted.native["gen_ai.input.messages"])
    return list(messages(converted.native))


def _is_settled(talk: Conversation, count: int) -> bool:
    """Whether no result behind a place answers a call before it."""
    ids = {call.id for fact in talk.facts[:count] for call in fact.calls}
    return not any(fact.kind == "tool" and fact.call_id in ids for fact in talk.facts[count:])


@each_target
def test_work_grows_with_the_conversation(target: str) -> None:
    """Counted in steps of the interpreter, not in time."""
    small, large = (_steps(size, target) for size in (60, 240))
    assert large < small * 5


def _steps(size: int, target: str) -> int:
    import sys

    talk = Conversation().user("go")
    for number in range(size):
        talk.call(f"näme {number % 7}", {"n": number}, result="r", id="same", images=number % 2)
    native = talk.anthropic()
    count = 0

    def tick(*_: Any) -> Any:
        nonlocal count
        count += 1
        return tick

    sys.settrace(tick)
    try:
        compactor.convert(native, target)
    finally:
        sys.settrace(None)
    return count
