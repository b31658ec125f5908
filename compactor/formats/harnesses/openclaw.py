"""OpenClaw telemetry (`telemetry.jsonl`): events of agents, tools and channels, one a line.

An agent's start and end say what its session holds, in messages as pi has them, each time anew: the
last of these is what the next request carries, with the prompt that started it. A session, of which
sub-agents have one each, is a conversation, named by its key. Events of tools and channels repeat
what the messages say. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Final

from compactor.core.errors import Finding
from compactor.core.model import Entry, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.builder import Builder
from compactor.formats.harnesses.pi_rows import ROLES, TURN, is_dropped, turn_facts, usage_of
from compactor.formats.lens_bases import RowLens, RunLens
from compactor.formats.messages import field, shape_error, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import compacted, has_tokens, items, unanswered
from compactor.formats.runs import Run, chosen, named, others

_START, _END = "agent.start", "agent.end"
_SUBAGENT: Final = ":subagent:"
"""What the key of a sub-agent's session has in it."""
_Known = tuple[Any, ...]


class OpenClaw(RowLens, RunLens):
    """The lens of OpenClaw's telemetry.

    Args:
        thread: the key of a session; "" is the first that is no sub-agent's.
    """

    name = "openclaw"

    def recognises(self, root: Any) -> bool:
        return any(map(_is_told, items(root)))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n).

        Raises:
            InputError: `input.shape` when no agent is told of, or there is no such session.
        """
        runs = self.runs(root)
        session: _Session = chosen(runs, self.thread).native
        story = _Story()
        for index, message in enumerate(session.messages):
            story.tell(message, (session.row, "messages", index))
        if session.prompt:
            story.builder.user([Part(PartKind.TEXT, session.prompt)], (session.row,))
        gone = len(session.told.keys() - session.holds().keys())
        return Reading(
            entries=story.builder.entries,
            overhead=Overhead(known=False),
            findings=[
                *story.builder.findings,
                *unanswered(story.builder.entries),
                *_dropped(story.dropped),
                *compacted(gone, "messages"),
                *([] if self.thread else others(runs)),
            ],
            model=story.model,
            usage=tuple(story.usage),
        )

    def runs(self, root: Any) -> list[Run]:
        found = sorted(_sessions(items(root)).items(), key=lambda each: _SUBAGENT in each[0])
        if not found:
            raise shape_error((), "no event tells what an agent's session holds")
        return named(Run(key, (session.row,), session) for key, session in found)

    def all_usage(self, root: Any) -> list[Usage]:
        """One a turn, session by session, those of compacted and stopped turns too. O(n)."""
        told = (m for session in _sessions(items(root)).values() for m in session.told.values())
        turns = (usage_of({"message": m}, 0) for m in told if text_field(m, "role") == TURN)
        return list(filter(has_tokens, turns))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        content = field(value_at(root, entry.at), "content")
        return blocks.rewrite_content(content, (*entry.at, "content"), text, ())


def _is_told(row: Any) -> bool:
    """Whether an event says what a session holds."""
    return text_field(row, "type") in (_START, _END) and bool(text_field(row, "sessionKey"))


@dataclasses.dataclass(slots=True)
class _Session:
    """What a session holds after its events so far.

    row: of the event that said so last.
    prompt: what the agent was started with beyond the messages; "" when it ended since.
    told: every message that was ever in it, by what it is known by.
    """

    row: int = 0
    messages: Sequence[Any] = ()
    prompt: str = ""
    told: dict[_Known, Any] = dataclasses.field(default_factory=dict)

    def holds(self) -> dict[_Known, Any]:
        """The messages in it now, by what they are known by."""
        return {_known(message, index): message for index, message in enumerate(self.messages)}


def _sessions(rows: Sequence[Any]) -> dict[str, _Session]:
    """The sessions by their keys, in the order in which they began. O(n)."""
    found: dict[str, _Session] = {}
    for index, row in enumerate(rows):
        if not _is_told(row):
            continue
        session = found.setdefault(row["sessionKey"], _Session())
        messages = field(row, "messages")
        prompt = text_field(row, "prompt") if row["type"] == _START else ""
        if isinstance(messages, list) or not session.told:
            session.row, session.prompt = index, prompt
            session.messages = items(messages)
            session.told.update(session.holds())
    return found


def _known(message: Any, position: int) -> _Known:
    """What a message is known by in every event that repeats it."""
    when = field(message, "timestamp")
    keys = ("role", "responseId", "toolCallId")
    return (str(position if when is None else when), *(str(field(message, key)) for key in keys))


class _Story:
    """Tells the messages of a session to a builder."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        self.dropped = 0

    def tell(self, message: Any, at: Path) -> None:
        """Say one message."""
        role = text_field(message, "role")
        if role == TURN:
            self._turn(message, at)
        elif role in ROLES:
            ROLES[role](self.builder, message, at)
        else:
            self.builder.report("unknown_line", "not a message of a session", dotted(at))

    def _turn(self, message: Any, at: Path) -> None:
        n = self.builder.size
        if is_dropped(message):
            self.dropped += 1
        else:
            self.builder.turn(*turn_facts(self.builder, field(message, "content"), at), at)
            n = self.builder.size - 1
        self.model = text_field(message, "model") or self.model
        usage = usage_of({"message": message}, n)
        if has_tokens(usage) and n:
            self.usage.append(usage)


def _dropped(count: int) -> Iterator[Finding]:
    if count:
        message = f"{count} turns that failed or were stopped are not in later requests"
        yield Finding("dropped_turns", message)
