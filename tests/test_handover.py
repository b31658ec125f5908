"""What a harness may hand over from call to call: growing lists, recordings, either in turns."""

from __future__ import annotations

import json

import pytest

import compactor
from compactor.testing import Conversation

POLICY = compactor.Policy(window=2_000, counter="chars4", overhead_tokens=0)


def long_talk() -> Conversation:
    talk = Conversation().user("go")
    for k in range(12):
        talk.call("bash", {"command": f"run {k}"}, result=f"line {k}\n" * 100)
    return talk


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("openai-chat", "messages"),
        ("openai-responses", "input"),
        ("anthropic", "messages"),
        ("gemini", "contents"),
        ("bedrock", "messages"),
    ],
)
def test_a_bare_list_that_begins_with_one_plain_text_is_told_again_when_it_grows(
    name: str, key: str
) -> None:
    talk = long_talk()
    journal = None
    for count in talk.boundaries:
        messages = talk.upto(count).write(name)[key]
        out = compactor.compact(messages, POLICY, journal)
        journal = out.journal
        assert out.request == compactor.compact(messages, POLICY, format=name).request
    assert out.report.format == name
    assert "[elided " in json.dumps(out.request)


def test_a_recording_stays_as_it_was_read_when_the_journal_goes_on_over_a_request() -> None:
    talk = long_talk()
    body = talk.upto(9).anthropic()
    recording = compactor.load(json.dumps(body).encode())
    known = len(recording.entries)
    journal = compactor.compact(recording, POLICY).journal
    longer = recording.root | {"messages": talk.anthropic()["messages"]}
    longer["messages"][:9] = recording.root["messages"]
    compactor.compact(longer, POLICY, journal)
    assert len(recording.entries) == known
    assert compactor.compact(recording, POLICY).report.entries == known
