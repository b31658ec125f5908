"""Requests that grow: what is shown again without being made again, and what must be made anew."""

from __future__ import annotations

import copy
import pickle

import pytest

import compactor
from compactor import shown
from compactor.testing import Conversation

POLICY = compactor.Policy(window=4000, counter="chars4", keep_recent=2)
LONG = "a line of output\n" * 60


def grown(turns: int) -> list[dict]:
    talk = Conversation().user("go")
    for number in range(turns):
        talk.call("bash", {"command": f"ls {number}"}, result=LONG)
    return talk.anthropic()["messages"]


def count_calls(monkeypatch, name: str) -> list[int]:
    calls = [0]
    real = getattr(shown, name)

    def counted(*arguments):
        calls[0] += 1
        return real(*arguments)

    monkeypatch.setattr(shown, name, counted)
    return calls


def test_a_message_that_shows_a_change_is_made_once(monkeypatch):
    messages = grown(60)
    out = compactor.compact(messages[:81], POLICY)
    assert out.request[2] is not messages[2]
    made = count_calls(monkeypatch, "edits_of")
    again = compactor.compact(messages[:82], POLICY, out.journal)
    assert again.report.passes == ()
    assert made == [0]
    assert all(a is b for a, b in zip(again.request, out.request, strict=False))


def test_a_breakpoint_moved_in_place_is_seen_in_a_message_that_shows_a_change():
    messages = grown(40)
    first = compactor.compact(messages[:61], POLICY)
    elided = next(k for k, message in enumerate(messages) if first.request[k] is not message)
    block = messages[elided]["content"][0]
    block["cache_control"] = {"type": "ephemeral"}
    marked = compactor.compact(messages[:63], POLICY, first.journal)
    assert marked.request[elided]["content"][0]["cache_control"] == {"type": "ephemeral"}
    del block["cache_control"]
    moved = compactor.compact(messages[:65], POLICY, marked.journal)
    assert "cache_control" not in moved.request[elided]["content"][0]
    assert moved.request == compactor.compact(copy.deepcopy(messages[:65]), POLICY).request


def test_a_message_repacked_by_the_harness_is_shown_at_its_new_place():
    messages = grown(40)
    first = compactor.compact(messages[:61], POLICY)
    head = [{"role": "user", "content": [{"type": "text", "text": "go"}]}]
    repacked = head + copy.deepcopy(messages[1:63])
    again = compactor.compact(repacked, POLICY, first.journal)
    assert again.request == compactor.compact(copy.deepcopy(repacked), POLICY).request


def test_a_conversation_that_was_cut_back_shows_what_still_stands():
    messages = grown(60)
    long = compactor.compact(messages, POLICY)
    kept = long.report.passes[0]["entries"]
    short = compactor.compact(messages[: kept + 4], POLICY, long.journal)
    shown_again = [m for m in short.request if "elided" in str(m)]
    assert [f.code for f in short.report.findings if f.code == "journal_departs"]
    assert len(shown_again) >= len(long.report.passes[0]["elided"])


def test_a_journal_survives_pickle_copy_and_its_lines():
    out = compactor.compact(grown(30), POLICY)
    assert out.report.passes
    assert pickle.loads(pickle.dumps(out.journal)) == out.journal
    assert copy.deepcopy(out.journal) == out.journal
    assert compactor.Journal.from_lines(out.journal.to_lines()) == out.journal


@pytest.mark.parametrize(
    "arguments",
    [
        {"policy": {"window": 9}},
        {"policy": POLICY, "journal": "j"},
        {"failed": "t3"},
        {"failed": [1, None]},
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused_in_words(arguments):
    with pytest.raises(compactor.CompactorError, match=r"expected|list of call ids"):
        compactor.compact(grown(1), **arguments)


def test_a_conversation_that_changes_its_format_is_read_anew():
    talk = Conversation().user("go").call("bash", {"command": "ls"}, result=LONG)
    out = compactor.compact(talk.anthropic(), POLICY)
    talk.assistant("done").user("more")
    again = compactor.compact(talk.openai_responses(), POLICY, out.journal)
    assert again.report.format == "openai-responses"
    assert again.report.entries == 5


def test_a_switch_to_a_model_without_a_known_window_is_said():
    body = {**Conversation().user("go").anthropic(), "model": "claude-sonnet-4-5"}
    out = compactor.compact(body)
    again = compactor.compact({**body, "model": "house-model-7"}, None, out.journal)
    assert {"model_changed", "window_unknown"} <= {f.code for f in again.report.findings}


def test_a_switch_to_a_smaller_model_takes_its_window_and_keeps_the_counting():
    body = {**Conversation().user("go").anthropic(), "model": "claude-sonnet-5"}
    out = compactor.compact(body)
    again = compactor.compact({**body, "model": "claude-haiku-4-5"}, None, out.journal)
    assert (out.report.window, again.report.window) == (1_000_000, 200_000)
    assert again.report.counter_scale == out.report.counter_scale


def test_a_marker_that_the_model_copies_into_a_call_is_said_once_and_left_as_it_is():
    talk = Conversation().user("go").call("bash", {"command": "ls"}, result=LONG)
    marker = "[elided 10 chars of bash output — recall seq=2]"
    talk.call("write_file", {"path": "a", "content": f"x\n{marker}\n"}, result="written")
    body = talk.anthropic()
    out = compactor.compact(body, POLICY)
    assert [(f.code, f.seq) for f in out.report.findings if f.seq] == [("marker_in_call", 3)]
    assert out.request == body
    talk.user("more")
    again = compactor.compact(talk.anthropic(), POLICY, out.journal)
    assert [f for f in again.report.findings if f.code == "marker_in_call"] == []
