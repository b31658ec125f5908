"""A transcript as an agent loop can live it again: what a person says, what the model answers.

A framework's own loop asks a fake model, which answers as the model did in the transcript, and runs
fake tools, which give the recorded results. So both sides get the same conversation: texts, calls
with one plain argument, results as text. What no loop can repeat (turns without an end, results
without a call, pictures) is made plain first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from compactor.core.count import Chars4, Measure
from compactor.core.model import Entry, Kind, PartKind
from compactor.formats.raw.json_compact import compact_json
from compactor.loop import loop
from compactor.testing import Conversation, ToolCall
from compactor.transcript import Transcript

MEASURE = Measure(Chars4(), 1000, loop().tokens)
TOOL_NAME = re.compile(r"[^A-Za-z0-9_]")


class Step(NamedTuple):
    """One answer of the model: text and calls. The last of a turn has no calls."""

    text: str
    calls: tuple[ToolCall, ...]


class Turn(NamedTuple):
    """What the person says, and the answers until the model calls no more tools."""

    said: str
    steps: tuple[Step, ...]


class Message(NamedTuple):
    """A message of a request, the same whichever framework sent it.

    role: user, assistant or tool; call: the id that a result answers; calls: of a model's turn.
    """

    role: str
    text: str
    call: str = ""
    calls: tuple[str, ...] = ()


class Case(NamedTuple):
    """A framework's strategy with its options, and our spelling of it."""

    name: str
    options: dict[str, Any]
    ours: str

    @property
    def spelled(self) -> str:
        """As it is written in the framework."""
        options = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.name}({options})"


class Story:
    """A conversation that can be lived again.

    Attributes:
        turns: at least one.
        results: text of each result by the id of its call.
        names: of all tools.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        calls = [call for turn in turns for step in turn.steps for call in step.calls]
        self.results = {call.id: call.result or "" for call in calls}
        self.names = sorted({call.name for call in calls})
        self._calls = {call.id: call for call in calls}

    @property
    def steps(self) -> list[Step]:
        """All answers in order: one a request."""
        return [step for turn in self.turns for step in turn.steps]

    def told(self) -> Conversation:
        """The same, as a conversation of ours."""
        talk = Conversation()
        for turn in self.turns:
            talk.user(turn.said)
            for step in turn.steps:
                talk.parallel(step.calls, text=step.text)
        return talk

    def tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of a request as replay counts them: 4 a message, characters / 4 a text."""
        return sum(4 + sum(map(MEASURE.text, self._texts(message))) for message in messages)

    def answered(self, step: Step) -> int:
        """Tokens of an answer."""
        ids = tuple(call.id for call in step.calls)
        return self.tokens([Message("assistant", step.text, calls=ids)])

    def _texts(self, message: Message) -> Iterator[str]:
        yield message.text
        for call in (self._calls[call_id] for call_id in message.calls):
            yield call.name
            yield compact_json(dict(call.arguments))


def story_of(transcript: Transcript, most: int) -> Story:
    """The story of a transcript, of at most so many answers."""
    turns: list[Turn] = []
    said: list[str] = []
    steps: list[Step] = []
    entries = transcript.entries
    results = _results(entries)
    for seq, entry in enumerate(entries):
        if entry.kind is Kind.USER:
            if steps:
                turns.append(_turn(said, steps))
                said, steps = [], []
            said.append(_text(entry))
        elif entry.kind is Kind.ASSISTANT:
            if steps and not steps[-1].calls:
                turns.append(_turn(said, steps))
                said, steps = [], []
            steps.append(Step(_text(entry), _calls(seq, entry, results)))
        if sum(len(turn.steps) for turn in turns) + len(steps) >= most:
            break
    return Story([*turns, _turn(said, steps)] if steps else turns)


def _turn(said: Sequence[str], steps: Sequence[Step]) -> Turn:
    closing = [Step("That is all.", ())] if steps[-1].calls else []
    ends = [Step(step.text or ("" if step.calls else "Done."), step.calls) for step in steps]
    return Turn("\n".join(filter(None, said)) or "Go on.", (*ends, *closing))


def _results(entries: Sequence[Entry]) -> dict[int, list[str]]:
    """Bodies of the results that follow each model turn."""
    found: dict[int, list[str]] = {}
    last = -1
    for seq, entry in enumerate(entries):
        last = seq if entry.kind is Kind.ASSISTANT else last
        if entry.kind is Kind.TOOL:
            found.setdefault(last, []).append(entry.body)
    return found


def _calls(seq: int, entry: Entry, results: dict[int, list[str]]) -> tuple[ToolCall, ...]:
    """The calls that have a result, each with an id of its own, which its argument repeats."""
    made = []
    for i, (call, body) in enumerate(zip(entry.calls, results.get(seq, []), strict=False)):
        name = TOOL_NAME.sub("_", call.name)[:40] or "tool"
        call_id = f"call_{seq}_{i}"
        arguments: dict[str, Any] = {"id": call_id, "text": call.arguments}
        made.append(ToolCall(name, arguments, body, False, 0, call_id))
    return tuple(made)


def _text(entry: Entry) -> str:
    return "\n".join(part.text for part in entry.parts if part.kind is PartKind.TEXT)
