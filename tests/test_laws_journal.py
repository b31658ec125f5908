"""The journal alone is the state: how it is carried makes no difference, whatever the harness does.

A conversation that grows, is rewound and meets other settings is handed over with its workings in
memory, with new objects each time, and with a journal that was text in between.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from compactor import Policy
from compactor.testing import Conversation
from tests.harness import WAYS, as_text, each_format, send, sharing
from tests.strategies import Case, conversations, policies, rarely


class Step(NamedTuple):
    """One call of a harness that changes its mind."""

    talk: Conversation
    policy: Policy
    settings: dict[str, Any]


@st.composite
def _steps(draw: st.DrawFn, format_name: str) -> list[Step]:
    """Calls over a conversation that grows, rewinds, and meets other settings."""
    talk = draw(conversations((format_name,)))
    policy = draw(policies())
    steps: list[Step] = []
    for _ in range(draw(st.integers(2, 7))):
        size = draw(st.integers(1, len(talk.facts)))
        if draw(rarely(4)):
            other = draw(conversations((format_name,)))
            talk = talk.upto(size)
            talk.facts += other.facts
        if draw(rarely(4)):
            policy = msgspec.structs.replace(draw(policies()), counter_scale=policy.counter_scale)
        calls = [fact.call_id for fact in talk.facts if fact.kind == "tool"]
        settings = {
            "failed": sorted({*draw(st.lists(st.sampled_from([*calls, "x"]), max_size=2))}),
            "recallable": draw(st.booleans()),
            "overflowed": draw(rarely(5)),
            "force": True,
        }
        count = len(talk.facts) if draw(st.booleans()) else size
        steps.append(Step(talk.upto(count), policy, settings))
    return steps


@each_format
@given(st.data())
def test_how_the_journal_is_carried_makes_no_difference(
    format_name: str, data: st.DataObject
) -> None:
    steps = data.draw(_steps(format_name))
    runs = [_run(steps, format_name, way) for way in WAYS]
    assert runs[1] == runs[0]
    assert runs[2] == runs[0]


def _run(steps: list[Step], format_name: str, way: str) -> list[tuple[Any, ...]]:
    """What came of each call."""
    journal, request, seen = None, None, []
    for step in steps:
        case = Case(step.talk, step.policy, format_name)
        if way == "journal as text" and journal is not None:
            journal = as_text(journal)
        fresh = step.talk.write(format_name)
        request = sharing(fresh, request) if way == "same objects" else fresh
        sent = send(request, case, journal, **step.settings)
        journal = sent.outcome.journal
        report = msgspec.structs.replace(sent.outcome.report, findings=())
        codes = sorted(finding.code for finding in sent.outcome.report.findings)
        seen.append((sent.data, journal.to_lines(), sent.outcome.fates, report, codes))
    return seen
