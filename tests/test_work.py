"""What a call costs, in counts of work and never by a clock.

One more request of a long session does the work of what is new, however long the session is; a
session without a journal costs a linear total. Counted are entries looked at, digests made, markers
written (`fold.work`), texts given to the counter, and entries built by the reader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import compactor
from compactor import Journal, Policy
from compactor.core.count import Chars4
from compactor.core.model import Entry
from compactor.formats.builder import Builder
from compactor.testing import Conversation
from tests.harness import WITHOUT_FLAGS

LENGTHS = (100, 1000, 10_000)
"""Turns of history, of one call and one result each."""
STEPS = 40
"""Requests that follow it: several passes long."""
FORMATS = ("anthropic", "openai-chat", "openai-responses", "entries")


class Counting(Chars4):
    """Counts what it is asked to count."""

    def __init__(self) -> None:
        self.texts = 0

    def count(self, text: str) -> int:
        self.texts += 1
        return super().count(text)


class Work(NamedTuple):
    """Counts of one call or of several."""

    visited: int
    hashed: int
    rendered: int
    counted: int
    built: int

    def since(self, earlier: Work) -> Work:
        return Work(*(now - then for now, then in zip(self, earlier, strict=True)))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One item a built entry."""
    seen: list[int] = []
    push = Builder._push

    def counting(self: Builder, entry: Entry) -> None:
        seen.append(1)
        push(self, entry)

    monkeypatch.setattr(Builder, "_push", counting)
    return seen


class Session(NamedTuple):
    """A kind of session: what a turn brings, the policy, and how much room there is.

    room: tokens of the window above what cannot be freed. So sessions of any length are alike.
    says: what some of its reports say.
    """

    turn: Callable[[Conversation, int], Any]
    room: int
    settings: dict[str, Any]
    says: str

    def policy(self, request: Any, format_name: str) -> Policy:
        """The policy for a history: its window is what a pass over all of it leaves, and room."""
        settings: dict[str, Any] = {
            "counter": "chars4",
            "overhead_tokens": 0,
            "reserve_tokens": 4000,
        }
        settings |= self.settings
        whole = Policy(window=10**9, **settings)
        out = compactor.compact(request, whole, format=format_name, overflowed=True)
        return Policy(window=out.report.tokens_after + self.room, **settings)


def large(talk: Conversation, number: int) -> None:
    talk.call("bash", {"n": f"{number:08}"}, result="x" * 4000)


def small(talk: Conversation, number: int) -> None:
    talk.call("bash", {"n": f"{number:08}"}, result="ok: done.")


def failures(talk: Conversation, number: int) -> None:
    """Every result is evidence, too small to elide for the most part."""
    text = "no such file" if number % 5 else "x" * 400
    talk.call("bash", {"n": f"{number:08}"}, result=text, error=True)


def read(talk: Conversation, number: int) -> None:
    talk.call("Read", {"file_path": f"/src/{number:08}.py"}, result="x" * 4000)


WAITING = {"reserve_tokens": 16_000, "recent_tokens": 3000, "min_freed": 16_000}
SESSIONS = {
    "passes": Session(large, 20_000, {}, "passed"),
    "tables": Session(read, 20_000, {}, "passed"),
    "pressed": Session(large, 3000, {"keep_recent": 2}, "pressed"),
    "nothing to free": Session(small, 3000, {}, "nothing_to_free"),
    "waits": Session(large, 30_000, WAITING, "waits:min_freed"),
    "priced": Session(large, 60_000, {"trigger": "priced"}, "waits:price"),
    "small evidence": Session(failures, 3000, {"evidence_budget_tokens": 2000}, "passed"),
}


def requests(session: Session, format_name: str, turns: int) -> list[Any]:
    """The request after so many turns and those that follow it; they share their messages."""
    talk = Conversation().user("go")
    for number in range(turns + STEPS):
        session.turn(talk, number)
    whole = talk.write(format_name)
    items = whole if isinstance(whole, list) else whole[_key(whole)]
    per_turn = (len(items) - 1) // (turns + STEPS)
    counts = range(1 + per_turn * turns, len(items) + 1, per_turn)
    cut = [items[:count] for count in counts]
    return cut if isinstance(whole, list) else [whole | {_key(whole): part} for part in cut]


def _key(body: dict[str, Any]) -> str:
    return "input" if "input" in body else "messages"


def work_of(journal: Journal, counter: Counting, built: list[int]) -> Work:
    """The counts so far. The journal's workings stay where they are."""
    fold = journal._workings[0].fold
    work = fold.work
    return Work(work.visited, work.hashed, work.rendered, counter.texts, len(built))


def worked(
    session: Session, format_name: str, turns: int, built: list[int]
) -> tuple[list[Work], set[str]]:
    """The work of each request after a history of so many turns, and what the reports said."""
    first, *following = requests(session, format_name, turns)
    policy = session.policy(first, format_name)
    counter = Counting()
    out = compactor.compact(first, policy, format=format_name, counter=counter)
    before = work_of(out.journal, counter, built)
    each: list[Work] = []
    said = set()
    for request in following:
        out = compactor.compact(request, policy, out.journal, format=format_name, counter=counter)
        now = work_of(out.journal, counter, built)
        each.append(now.since(before))
        before = now
        said |= {out.report.why, "pressed" if out.report.pressed else "not pressed"}
    return each, said


each_session = pytest.mark.parametrize("name", SESSIONS)


@pytest.mark.parametrize(
    ("name", "format_name"),
    # Where nothing says that a call failed, there is no small evidence.
    [
        (name, format_name)
        for name in SESSIONS
        for format_name in FORMATS
        if name != "small evidence" or format_name not in WITHOUT_FLAGS
    ],
)
def test_one_more_request_costs_the_same_in_a_session_of_any_length(
    name: str, format_name: str, built: list[int]
) -> None:
    most = []
    for turns in LENGTHS if format_name == "anthropic" else LENGTHS[:2]:
        each, said = worked(SESSIONS[name], format_name, turns, built)
        assert SESSIONS[name].says in said
        most.append(Work(*(max(counts) for counts in zip(*each, strict=True))))
    for costs in most:
        # A pass may come a turn earlier or later and find more or less to do.
        assert all(more <= 1.5 * less + 10 for less, more in zip(most[0], costs, strict=True))


@each_session
def test_without_a_journal_the_total_is_linear(name: str, built: list[int]) -> None:
    totals = []
    for turns in (1000, 2000, 4000):
        request = requests(SESSIONS[name], "anthropic", turns)[0]
        policy = SESSIONS[name].policy(request, "anthropic")
        counter, start = Counting(), len(built)
        out = compactor.compact(request, policy, format="anthropic", counter=counter)
        work = work_of(out.journal, counter, built)
        totals.append(work._replace(built=work.built - start))
    few, middle, many = totals
    for first, second in zip(middle.since(few), many.since(middle), strict=True):
        assert second <= 2 * first + first // 100 + 100  # a pass may come a turn earlier or later


def test_where_all_of_the_view_has_its_price_a_request_costs_what_came_since_the_last_pass(
    built: list[int],
) -> None:
    read_from_marks = {"trigger": "priced", "model": "claude-sonnet-4-5"}
    session, turns = Session(large, 60_000, read_from_marks, "waits:price"), 3000
    first, *following = requests(session, "anthropic", turns)
    policy, counter = session.policy(first, "anthropic"), Counting()
    out = compactor.compact(first, policy, format="anthropic", counter=counter)
    said = set()
    for request in following:
        before = work_of(out.journal, counter, built)
        out = compactor.compact(request, policy, out.journal, format="anthropic", counter=counter)
        since = 2 * turns - out.report.cutoff + 2 * STEPS
        assert work_of(out.journal, counter, built).since(before).visited < 3 * since < turns
        said.add(out.report.why)
    assert said == {"waits:price", "passed"}
