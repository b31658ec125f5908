"""Edits in sessions: a harness that keeps what it was told, and one that keeps what it sent.

The second hands our own texts back, joined with the messages beside them where the provider makes
us do so, and more edits come on top. Both must send the same.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import compactor
from compactor import Policy, Session
from compactor.core.records import PassRecord
from compactor.testing import Conversation, ToolCall
from tests import revision_kit as kit
from tests.fakes.script import turns

KEYS = {"openai-responses": "input", "gemini": "contents", "entries": "entries"}
POLICY = Policy(window=10**6, counter="chars4", editing=True, protect_first_user=False)
SMALL = Policy(
    window=700,
    counter="chars4",
    editing=True,
    protect_first_user=False,
    keep_recent=2,
    evidence_budget_tokens=0,
)
"""Passes come up."""
STEPS = 12


def talk(steps: int) -> Conversation:
    """An agent at work; now and then the person speaks, also right behind results."""
    made = Conversation(system="be brief").user("go")
    for number, turn in enumerate(turns(steps)):
        calls = [ToolCall(c.name, c.arguments, c.result[:200], c.error) for c in turn.calls]
        if calls:
            made.parallel(calls, text=turn.text)
        else:
            made.assistant(turn.text)
        if number % 4 == 3 or not calls:
            made.user(f"more {number}")
    return made


class Harness:
    """An agent's loop around a session. keeps_sent: its history is what it sent."""

    def __init__(self, name: str, policy: Policy, *, keeps_sent: bool) -> None:
        self.session = Session.open(policy=policy, format=name)
        self.name = name
        self.key = KEYS.get(name, "messages")
        self.keeps_sent = keeps_sent
        self.sent: list[Any] = []
        self._told = 0

    def send(self, steps: int, **more: Any) -> Any:
        """One request. Answers are new messages behind those of the request before."""
        written = talk(steps).write(self.name)
        body = {"entries": written} if isinstance(written, list) else written
        items = body[self.key]
        if self.keeps_sent:
            body = {**body, self.key: [*self.sent, *items[self._told :]]}
        self._told = len(items)
        out = self.session.prepare(body, **more)
        self.sent = list(out.request[self.key])
        assert [f.code for f in out.report.findings if f.code == "journal_departs"] == []
        return out.request


def edit(session: Session, data: st.DataObject) -> tuple[str, dict[str, str]]:
    """A call of one of the tools on sections that may be edited."""
    sections = session.editor.sections()
    free = [at for at, section in enumerate(sections) if not section.protected]
    first = data.draw(st.sampled_from(free))
    ends = [at for at in free if first <= at < first + 3 and set(range(first, at + 1)) <= set(free)]
    last = data.draw(st.sampled_from(ends))
    named = f"{sections[first].id}..{sections[last].id}"
    kind = data.draw(st.sampled_from(["tombstone", "replace", "rewrite"]))
    if kind == "tombstone":
        return "context_tombstone", {"sections": named, "reason": data.draw(REASONS)}
    if kind == "replace":
        return "context_replace", {"sections": named, "text": data.draw(REASONS) + " so far"}
    return "context_rewrite", {"section": sections[first].id, "old": "Step", "new": "STEP"}


REASONS = st.sampled_from(["done", "not needed", "read again"])


@pytest.mark.parametrize("name", kit.FORMATS)
@given(st.data())
def test_a_harness_that_keeps_what_it_sent_sends_what_one_sends_that_does_not(
    name: str, data: st.DataObject
) -> None:
    policy = data.draw(st.sampled_from([POLICY, SMALL]))
    told, kept = (Harness(name, policy, keeps_sent=keeps) for keeps in (False, True))
    for steps in range(1, STEPS):
        sent, again = told.send(steps), kept.send(steps)
        assert sent == again
        assert kit.new_problems(name, talk(steps).write(name), sent) == []
        if steps > 2 and data.draw(st.booleans()):
            tool, arguments = edit(told.session, data)
            answers = [h.session.call(tool, arguments) for h in (told, kept)]
            event(tool)
            assert answers[0] == answers[1]
    event("passes" if any(isinstance(r, PassRecord) for r in told.session.journal.records) else "")
    assert told.session.journal.records == kept.session.journal.records
    for harness in (told, kept):
        harness.session.close()


@pytest.mark.parametrize("name", kit.FORMATS)
@pytest.mark.parametrize("keeps_sent", [False, True])
def test_a_summary_stands_in_later_requests_and_is_never_a_new_message(
    name: str, keeps_sent: bool
) -> None:
    harness = Harness(name, POLICY, keeps_sent=keeps_sent)
    harness.send(6)
    text = harness.session.summarised("what was done", 9)
    first = harness.send(7)
    later = harness.send(9)
    assert (
        kit.messages_of(later)[: len(kit.messages_of(first)) - 1] == (kit.messages_of(first)[:-1])
    )
    assert str(later).count("what was done") == 1
    entries = harness.session.kept.entries()
    assert not [e for e in entries for part in e.parts if part.text == text]
    assert harness.session.kept.branch.seqs == list(range(len(entries)))


@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "openai-responses"])
@pytest.mark.parametrize("as_file", [False, True])
def test_breakpoints_stand_on_what_is_shown_behind_a_revised_run(name: str, as_file: bool) -> None:
    harness = Harness(name, POLICY, keeps_sent=False)
    harness.send(8)
    harness.session.call("context_tombstone", {"sections": "S1..S12", "reason": "done"})
    body = talk(9).write(name)
    request = compactor.load(indented(body), name) if as_file else body
    out = harness.session.prepare(request, place_breakpoints=True)
    shown = out.request.view() if as_file else out.request
    if as_file:
        assert compactor.load(out.request.to_bytes(), name).root == shown
    plain = harness.send(9)
    marks = ("cache_control", "prompt_cache_breakpoint")
    marked = [at for at, item in enumerate(kit.messages_of(shown)) if _has(item, marks)]
    assert marked[-1] == len(kit.messages_of(shown)) - 1
    assert [_texts(item) for item in kit.messages_of(shown)] == [
        _texts(item) for item in kit.messages_of(plain)
    ]


def indented(body: Any) -> bytes:
    return json.dumps(body, indent=1).encode()


def _has(native: Any, keys: tuple[str, ...]) -> bool:
    if isinstance(native, dict):
        return any(key in native for key in keys) or any(_has(v, keys) for v in native.values())
    return isinstance(native, list) and any(_has(item, keys) for item in native)


def _texts(native: Any) -> list[str]:
    if isinstance(native, str):
        return [native] if len(native) > 20 else []
    inner = native.values() if isinstance(native, dict) else native
    return [t for item in inner for t in _texts(item)] if isinstance(native, dict | list) else []
