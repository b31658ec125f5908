"""Random sessions: harnesses that do the same, and what must hold of everything that they send.

A `Harness` is an agent's loop around one session, with its history in native messages: what it was
told, or what it sent. A `Pair` draws steps and does each in two harnesses; one of them may open its
session anew anywhere, or be handed failures. What they get, send and record must be the same.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import compactor
from compactor import Outcome, Policy, Session
from compactor.core.errors import CompactorError
from compactor.core.model import Entry, Kind
from compactor.core.records import InsertionRecord
from compactor.formats import lens
from compactor.testing import Conversation, ToolCall
from tests import revision_kit

FORMATS = revision_kit.FORMATS
KEYS = {"openai-responses": "input", "gemini": "contents"}
LINES = [f"line {number} of a file\n" for number in range(1, 80)]
PATH, RESOLVED = "a.py", "/p/a.py"
PLENTY = Policy(window=10**9, counter="chars4", counter_scale=1000, overhead_tokens=0)

ID = r"\[#([0-9a-f]{4,8})[^\n]*?\]"
STUB = re.compile(
    rf"{ID} (?:Unchanged since|Same result as) #([0-9a-f]{{4,8}})"
    r"(?:, which already shows lines (\d+)-(\d+))?\."
)
SHOWS = re.compile(rf"{ID}(?:\n|\Z)(?!\[elided )")
_LINES = re.compile(r" lines (\d+)-(\d+) of ")
_SHA = re.compile(r" sha ([0-9a-f]{8})\]")


class Kinds(NamedTuple):
    """What a pair of harnesses does beside turns and requests.

    odd: steps, methods of `Pair`; repeats make one more likely.
    keeps_sent: whose history is what was sent: the first's, the second's.
    """

    odd: tuple[str, ...] = ()
    editing: bool = False
    keeps_sent: tuple[bool, bool] = (False, False)


_ASKED = ("overflow", "summary", "pin", "mark", "rewind_to_mark")
_LOST = ("cut", "lose", "alter")
_EDITS = ("edit", "edit", "edit_file")
KINDS = {
    "plain": Kinds(),
    "told": Kinds((*_ASKED, *_LOST, "rewind", "recall_off")),
    "told, edits": Kinds((*_ASKED, *_LOST, *_EDITS, "rewind"), editing=True),
    "one keeps what it sent": Kinds(_ASKED, keeps_sent=(False, True)),
    "one keeps what it sent, edits": Kinds(
        ("summary", "mark", "rewind_to_mark", *_EDITS), editing=True, keeps_sent=(False, True)
    ),
    "both keep what they sent": Kinds((*_ASKED[:3], *_LOST), keeps_sent=(True, True)),
    "both keep what they sent, edits": Kinds(
        (*_ASKED[:2], *_LOST, *_EDITS), editing=True, keeps_sent=(True, True)
    ),
}


def policy_of(rng: random.Random, *, editing: bool) -> Policy:
    """A policy under which passes come up."""
    settings: dict[str, Any] = {
        "window": rng.choice([700, 1000, 1500]),
        "keep_recent": rng.choice([1, 2, 4, 8]),
        "evidence_budget_tokens": rng.choice([0, 100, 300]),
    }
    if rng.random() < 0.25:
        settings |= {"trigger": "priced", "read": 100, "write": 1250}
        settings["patience"] = None if settings["keep_recent"] > 2 else 500
    if rng.random() < 0.25:
        settings["elide_inputs"] = True
    if rng.random() < 0.2:
        settings |= {"min_gain": 0, "min_freed": 0}
    if editing:
        settings |= {"editing": True, "protect_first_user": rng.random() < 0.5}
    return Policy(counter="chars4", counter_scale=1000, overhead_tokens=0, **settings)


class Harness:
    """An agent's loop around a session.

    Args:
        path: of the store.
        keeps_sent: its history is what it sent, not what it was told.
        reopens: draws when the session is closed and opened again; None never does.
        wrap: what stands around the session.

    Attributes:
        items: the history, native messages.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        policy: Policy,
        *,
        keeps_sent: bool = False,
        shares: bool = True,
        reopens: random.Random | None = None,
        wrap: Callable[[Session], Any] = lambda session: session,
    ) -> None:
        self._path, self._policy, self._wrap = path, policy, wrap
        self.name = name
        self.key = KEYS.get(name, "messages")
        self._keeps_sent, self._shares, self._reopens = keeps_sent, shares, reopens
        self.items: list[Any] = []
        self.session = self._open()

    def maybe_reopen(self) -> None:
        if self._reopens is not None and self._reopens.random() < 0.35:
            self.session.close()
            self.session = self._open()

    def add(self, talk: Conversation) -> None:
        """More messages."""
        self.items += self.messages(talk.write(self.name))

    def body(self, items: Sequence[Any] | None = None) -> Any:
        """A request over some messages, or over all."""
        used = list(self.items if items is None else items)
        used = used if self._shares else copy.deepcopy(used)
        if self.name == "entries":
            return used
        return {self.key: used} | ({"max_tokens": 9} if self.name == "anthropic" else {})

    def messages(self, request: Any) -> list[Any]:
        return list(request if isinstance(request, list) else request[self.key])

    def prepare(self, **more: Any) -> Outcome:
        outcome: Outcome = self.session.prepare(self.body(), explain=True, **more)
        if self._keeps_sent:
            self.items = self.messages(outcome.request)
        return outcome

    def observe(self) -> None:
        self.session.observe(self.body())

    def _open(self) -> Any:
        folder = str(self._path.parent)
        opened = Session.open(self._path, "s", self._policy, format=self.name, context_dir=folder)
        return self._wrap(opened)


class Pair:
    """Two harnesses that do the same.

    Args:
        kinds: see `Kinds`.
        wrap: of the second one's session.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        kinds: Kinds,
        seed: int,
        wrap: Callable[[Session], Any] = lambda session: session,
    ) -> None:
        self.rng = random.Random(f"{name} {kinds} {seed}")
        rng, policy = self.rng, policy_of(self.rng, editing=kinds.editing)
        self.kinds = kinds
        shares = [rng.random() < 0.5 for _ in range(2)]
        self.one = Harness(
            folder / "a.db", name, policy, keeps_sent=kinds.keeps_sent[0], shares=shares[0]
        )
        self.other = Harness(
            folder / "b.db", name, policy, keeps_sent=kinds.keeps_sent[1], shares=shares[1],
            reopens=random.Random(seed), wrap=wrap,
        )  # fmt: skip
        self.both = (self.one, self.other)
        self.passes = 0
        self._calls = 0
        self._before: tuple[list[Any], list[Any], int] | None = None
        self._mark: list[tuple[Any, list[Any]]] = []
        self.inserted: dict[str, str] = {}

    def run(self) -> None:
        """A whole conversation, and what must hold at its end."""
        self._add(Conversation().user("go and see " * self.rng.randint(1, 9)))
        steps = ["turn"] * 6 + ["prepare"] * 4 + ["say", *self.kinds.odd]
        for _ in range(self.rng.randint(12, 30)):
            for harness in self.both:
                harness.maybe_reopen()
            getattr(self, self.rng.choice(steps))()
        self.prepare()
        for harness in self.both:
            check_store(harness.session, self.inserted)
            harness.session.close()

    # steps

    def turn(self) -> None:
        """A turn of the model with results."""
        calls = [self._call() for _ in range(self.rng.choice([1, 1, 1, 2, 3]))]
        talk = Conversation().parallel(calls, text=self.rng.choice(["", "I look. " * 5]))
        if self.rng.random() < 0.15:
            talk.user("and more " * self.rng.randint(1, 5))
        self._add(talk)

    def say(self) -> None:
        self._add(Conversation().assistant("said " * self.rng.randint(1, 30)).user("next"))

    def prepare(self, **more: Any) -> None:
        one, other = (harness.prepare(**more) for harness in self.both)
        assert as_text(one.request) == as_text(other.request)
        assert self._numbers(one) == self._numbers(other)
        journal = self.one.session.journal
        assert journal == self.other.session.journal
        self.passes += len(one.report.passes)
        check_view(self.one, one)
        self._check_prefix(one)
        again = [harness.prepare() for harness in self.both]
        assert [as_text(outcome.request) for outcome in again] == [as_text(one.request)] * 2
        check_recall(self.one.session, one)

    def overflow(self) -> None:
        self.prepare(overflowed=True)

    def summary(self) -> None:
        self._observe()
        upto = self.rng.choice([None, self.rng.choice(self._seqs())])
        self.each(lambda h: h.session.summarised(f"what was done {self._calls}", upto))

    def pin(self) -> None:
        self._observe()
        seq = self.rng.choice(self._seqs())
        self.each(lambda h: h.session.pin(seq))

    def recall_off(self) -> None:
        if self.rng.random() < 0.3:
            self.each(lambda h: h.session.disable_recall())

    def mark(self) -> None:
        self._observe()
        self.each(lambda h: h.session.mark())
        self._mark = [(h.session.mark(), list(h.items)) for h in self.both]

    def rewind_to_mark(self) -> None:
        marks, self._mark = self._mark, []
        if not marks:
            return
        self._observe()
        answer = self.each(lambda h: h.session.rewind(marks[self.both.index(h)][0]))
        if answer is None:
            for harness, (_, items) in zip(self.both, marks, strict=True):
                harness.items = list(items)
        self._before = None

    def rewind(self) -> None:
        """Take back the last messages, by the seq of the first of them."""
        self._observe()
        at = self.rng.randint(1, len(self.one.items))
        kept = len(entries_of(self.one, self.one.body(self.one.items[:at])))
        seqs = self._seqs()
        if kept < len(seqs) and self._keep(lambda items: items[:at]):
            self.each(lambda h: h.session.rewind(seqs[kept]))

    def cut(self) -> None:
        """The last messages are gone, and nobody says so."""
        at = self.rng.randint(max(1, len(self.one.items) - 6), len(self.one.items))
        self._keep(lambda items: items[:at])

    def lose(self) -> None:
        """Messages in between are gone."""
        first = self.rng.randint(1, len(self.one.items))
        end = first + self.rng.randint(1, 4)
        self._keep(lambda items: items[:first] + items[end:])

    def alter(self) -> None:
        """A message of the past says something else."""
        at = self.rng.randrange(len(self.one.items))
        self._keep(lambda items: [*items[:at], altered(items[at]), *items[at + 1 :]])

    def edit(self) -> None:
        """The model edits its context by a tool."""
        self._observe()
        sections = self.one.session.editor.sections()
        free = [at for at, section in enumerate(sections) if not section.protected]
        if not free:
            return
        first = last = self.rng.choice(free)
        while last + 1 in free and self.rng.random() < 0.5:
            last += 1
        named = f"{sections[first].id}..{sections[last].id}"
        old = self.rng.choice(["look", "line", "found", "said", "row 1 "])
        tool, arguments = self.rng.choice(
            [
                ("context_tombstone", {"sections": named, "reason": "done"}),
                ("context_replace", {"sections": named, "text": f"notes {self._calls}"}),
                ("context_rewrite", {"section": sections[first].id, "old": old, "new": "X"}),
            ]
        )
        self.each(lambda h: h.session.call(tool, arguments))

    def edit_file(self) -> None:
        """The model edits its context in the file."""
        self._observe()
        text = self.each(lambda h: Path(h.session.before_request()).read_text())
        for old in ("I look", "line 1", "row 1", "said"):
            text = text.replace(old, old.upper(), 1)
        self.each(lambda h: h.session.apply_file(text).text)

    # what steps share

    def each(self, do: Callable[[Harness], Any]) -> Any:
        """What both got, refusals too."""
        one, other = (_answer(do, harness) for harness in self.both)
        assert one == other
        return one

    def _add(self, talk: Conversation) -> None:
        for harness in self.both:
            harness.add(talk)

    def _observe(self) -> None:
        for harness in self.both:
            harness.observe()

    def _seqs(self) -> list[int]:
        return list(self.one.session.kept.branch.seqs)

    def _keep(self, change: Callable[[list[Any]], list[Any]]) -> bool:
        """Change both histories, where the provider would take them still."""
        new = change(self.one.items)
        empty, body = self.one.body([]), self.one.body(new)
        if not new or revision_kit.new_problems(self.one.name, _wrapped(empty), _wrapped(body)):
            return False
        for harness in self.both:
            harness.items = change(harness.items)
        self._mark, self._before = [], None
        return True

    def _call(self) -> ToolCall:
        """One call, and what both harnesses are to put into its result."""
        self._calls += 1
        made = result_of(self.rng, self._calls)
        call_id = f"c{self._calls}"
        if made.tool == "recall":
            text = self.each(lambda h: h.session.call("recall", made.arguments, call_id=call_id))
        else:
            call = {"id": call_id, "name": made.tool, "arguments": json.dumps(made.arguments)}
            text = self.each(
                lambda h: h.session.insert(call, made.output, error=made.error, **made.more)
            )
            if made.whole is not None:
                self.inserted[re.match(ID, text)[1]] = made.whole  # type: ignore[index]
        error = made.error and self.one.name not in ("openai-chat", "openai-responses", "gemini")
        return ToolCall(made.tool, made.arguments, text, error, 0, call_id)

    def _numbers(self, outcome: Outcome) -> dict[str, Any]:
        """What a report says; where breakpoints go depends on what the message around is."""
        numbers: dict[str, Any] = msgspec.to_builtins(outcome.report)
        if self.kinds.keeps_sent[0] != self.kinds.keeps_sent[1]:
            for key in ("findings", "frontier", "anchor"):
                numbers.pop(key, None)
        numbers.pop("findings", None)
        return numbers

    def _check_prefix(self, outcome: Outcome) -> None:
        """L1: without a record in between, what was sent is the prefix of what is sent."""
        shown = self.one.messages(outcome.request)
        records = [r for r in outcome.journal.records if not isinstance(r, InsertionRecord)]
        if self._before is not None:
            items, sent, count = self._before
            if self.one.items[: len(items)] == items and len(records) == count:
                assert shown[: len(sent)] == sent
        self._before = copy.deepcopy((self.one.items, shown, len(records)))


class Result(NamedTuple):
    """What a tool gives. whole: all that is stored of it; None for a diff."""

    tool: str
    arguments: dict[str, Any]
    output: str
    whole: str | None
    error: bool = False
    more: dict[str, Any] = {}  # noqa: RUF012


def result_of(rng: random.Random, number: int) -> Result:
    """One call of a tool."""
    tool = rng.choice(["read", "read", "read", "grep", "bash", "edit", "recall", "scan_sinks"])
    arguments: dict[str, Any] = {"n": rng.randint(0, 3)}
    if rng.random() < 0.2:
        arguments["content"] = "a long string in a call " * 60
    if tool == "read":
        return _read(rng, arguments)
    if tool == "recall":
        asked = ({"id": f"#{rng.randint(1, number):04x}"}, {"seq": rng.randint(0, 2 * number)},
                 {"query": "line found"})  # fmt: skip
        return Result(tool, rng.choice(asked), "", "")
    if tool == "edit":
        new = "".join(LINES[: rng.randint(1, 70)])
        edit = {"path": PATH, "resolved": RESOLVED, "old": "".join(LINES), "new": new}
        return Result(tool, arguments, "", None, more={"edits": [edit]})
    if tool == "grep":
        output = "found it\n" * rng.choice([3, 40])
        return Result(tool, {"q": rng.choice("ab")}, output, output)
    rows = rng.choice([0, 5, 60, 120, 450])
    output = "".join(f"row {at} ev_0123abcd {rng.randint(0, 9)}\n" for at in range(rows))
    return Result(tool, arguments, output, output, rng.random() < 0.2)


def _read(rng: random.Random, arguments: dict[str, Any]) -> Result:
    lines = LINES + (["changed\n"] if rng.random() < 0.2 else [])
    first = rng.randint(1, 40)
    last = min(first + rng.randint(0, 39), len(lines))
    read = {"path": PATH, "resolved": RESOLVED, "first": first, "last": last,
            "total_lines": len(lines), "content": "".join(lines)}  # fmt: skip
    asked = {**arguments, "path": PATH, "offset": first, "limit": last - first + 1}
    whole = "".join(f"{at}: {lines[at - 1]}" for at in range(first, last + 1)).rstrip("\n")
    return Result("read", asked, "", whole, more={"read": read})


# what must hold


def check_view(harness: Harness, outcome: Outcome) -> None:
    """What is sent: stubs name what stands there, the provider takes it, its size is known."""
    stubs_are_answered(entries_of(harness, outcome.request))
    before, after = _wrapped(harness.body()), _wrapped(outcome.request)
    assert revision_kit.new_problems(harness.name, before, after) == []
    request = copy.deepcopy(outcome.request)
    counted = compactor.compact(request, PLENTY, format=harness.name).report.tokens_before
    # Where a text of ours is a block of the message beside it, it is counted as a message.
    runs = len(harness.session.kept.view().runs)
    spare = 8 * runs if harness.name in revision_kit.ALTERNATING else 0
    assert 0 <= outcome.report.tokens_after - counted <= spare


def stubs_are_answered(entries: Sequence[Entry]) -> None:
    """Whatever a stub names stands before the model, with all that the stub says of it."""
    results = [entry.body for entry in entries if entry.kind is Kind.TOOL]
    shown = {match[1]: body for body in results if (match := SHOWS.match(body))}
    for body in results:
        stub = STUB.fullmatch(body)
        if stub is None:
            continue
        assert stub[2] in shown, body
        head = shown[stub[2]].split("\n")[0]
        if stub[3]:
            lines, sha = _LINES.search(head), _SHA.search(body)
            assert lines is not None
            assert sha is not None
            assert lines.groups() == (stub[3], stub[4])
            assert sha[0] in head


def check_recall(session: Any, outcome: Outcome) -> None:
    """L11: what is elided comes back exactly."""
    kept = session.kept
    if kept.state.recall_off:
        return
    elided = [fate.seq for fate in outcome.fates if fate.fate == "elided"]
    by_seq = dict(zip(kept.branch.seqs, kept.entries(), strict=True))
    assert [session.recall(seq=seq) for seq in elided] == [by_seq[seq].body for seq in elided]


def check_store(session: Any, inserted: dict[str, str]) -> None:
    """Every id and seq was given once, every original is there."""
    assert session._store.verify() == []
    kept = session.kept
    numbers = [facts.number for facts in kept.book.facts.values()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(set(kept.branch.seqs)) == len(kept.branch.seqs)
    assert {name: kept.result(int(name, 16)).text for name in inserted} == inserted


def entries_of(harness: Harness, request: Any) -> list[Entry]:
    return lens(harness.name).read(request).entries


def altered(message: Any) -> Any:
    """A message with other words in it, if it has any of those that we know."""
    text = json.dumps(message)
    for old in ("go and see", "I look", "found it", "line 3", "row 3"):
        if old in text:
            return json.loads(text.replace(old, "other", 1))
    return message


def as_text(native: Any) -> str:
    return json.dumps(native)


def _wrapped(request: Any) -> Any:
    return {"entries": request} if isinstance(request, list) else request


def _answer(do: Callable[[Harness], Any], harness: Harness) -> Any:
    try:
        return do(harness)
    except CompactorError as error:
        return f"{error.code} {error.message}"
