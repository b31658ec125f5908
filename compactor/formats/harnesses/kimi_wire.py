"""The events of a session of Kimi CLI 1, as its `wire.jsonl` has them.

A step is one response: its parts and calls come in pieces, and results of calls may stand between
them, so a step is told when it is over. What is sent of a result is the harness's `message` and the
`output`. What a compaction kept is in another file. Events of a sub-agent lie inside those of the
one that started it. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from compactor.core.errors import Finding
from compactor.core.model import Call, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.blocks import block_part, content_parts, result_facts
from compactor.formats.builder import Builder
from compactor.formats.messages import field, text_field, value_at
from compactor.formats.providers.openai_chat import READERS
from compactor.formats.raw.edits import dotted
from compactor.formats.recorded import compacted, count_of, has_tokens, items, time_ms, unanswered

_TURN, _STEER, _STEP, _ENDED = "TurnBegin", "SteerInput", "StepBegin", "TurnEnd"
_PART, _CALL, _PIECE, _RESULT = "ContentPart", "ToolCall", "ToolCallPart", "ToolResult"
_STATUS, _COMPACTED, _SUBAGENT = "StatusUpdate", "CompactionEnd", "SubagentEvent"
SPOKEN: Final = (_TURN, _STEER, _PART, _CALL, _RESULT)
"""Events in which something is said."""
STREAMED: Final[Path] = ("ToolCallPart",)
"""The address of arguments that came in pieces: they stand nowhere as a whole."""
_OLD_ID: Final = "task_tool_call_id"
_DEPTH: Final = 8
"""How many sub-agents may be inside one another."""


class Event(NamedTuple):
    """An event.

    agent: whose it is; "" of the main conversation.
    at: address of its payload.
    when: the time of its line.
    """

    agent: str
    kind: str
    at: Path
    when: Any


def events(root: Any) -> list[Event]:
    """All events of a file, without what they hold. O(n)."""
    found: list[Event] = []
    for index, row in enumerate(items(root)):
        message = field(row, "message")
        at: Path = (index, "message")
        agent, kind, payload = "", text_field(message, "type"), field(message, "payload")
        for _ in range(_DEPTH if kind == _SUBAGENT else 0):
            ids = (text_field(payload, k) for k in ("agent_id", "parent_tool_call_id", _OLD_ID))
            agent, at = next(filter(None, ids), agent), (*at, "payload", "event")
            event = field(payload, "event")
            kind, payload = text_field(event, "type"), field(event, "payload")
            if kind != _SUBAGENT:
                break
        if kind and isinstance(payload, dict):
            found.append(Event(agent, kind, (*at, "payload"), field(row, "timestamp")))
    return found


def recognises(root: Any) -> bool:
    """Whether it is such a file: a line holds an event of a turn beside its time."""
    return any(
        text_field(field(row, "message"), "type") in (*SPOKEN, _SUBAGENT)
        and isinstance(field(field(row, "message"), "payload"), dict)
        for row in items(root)
    )


def all_usage(root: Any) -> list[Usage]:
    """Usage of every step, in order."""
    return [usage for event in events(root) for usage in _usage(root, event, 0)]


def read(root: Any, told: Sequence[Event]) -> Reading:
    """What the events of one agent say."""
    story = _Story(root)
    for event in told:
        story.tell(event)
    story.end_step()
    entries = story.builder.entries
    return Reading(
        entries=entries,
        overhead=Overhead(known=False),
        findings=[
            *story.builder.findings,
            *unanswered(entries),
            *compacted(story.gone),
            *_missing(story.gone),
        ],
        usage=tuple(story.usage),
    )


class _Story:
    """Tells events to a builder, a step at a time."""

    def __init__(self, root: Any) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.gone = 0
        self._root = root
        self._parts: list[Event] = []
        self._calls: list[tuple[Event, list[str]]] = []
        self._results: list[Event] = []
        self._counts: list[Event] = []

    def tell(self, event: Event) -> None:
        """The next event."""
        if event.kind in (_TURN, _STEER, _STEP, _ENDED, _COMPACTED):
            self.end_step()
        if event.kind in (_TURN, _STEER):
            said, at = value_at(self._root, event.at), (*event.at, "user_input")
            said = field(said, "user_input")
            self.builder.user(content_parts(self.builder, said, at, READERS), event.at)
        elif event.kind == _COMPACTED:
            self.gone += self.builder.size
            self.builder, self.usage = Builder(), []
        elif event.kind == _CALL:
            self._calls.append((event, []))
        elif event.kind == _PIECE and self._calls:
            piece = value_at(self._root, event.at)
            self._calls[-1][1].append(text_field(piece, "arguments_part"))
        kept = {_PART: self._parts, _RESULT: self._results, _STATUS: self._counts}
        if event.kind in kept:
            kept[event.kind].append(event)

    def end_step(self) -> None:
        """Say the response that the events so far make up, and then its results."""
        calls = [_call(self._root, event, pieces) for event, pieces in self._calls]
        parts = [*self._said()]
        n = self.builder.size
        if parts or calls:
            at = (self._parts or [event for event, _ in self._calls])[0].at
            self.builder.turn(parts, calls, at)
            n = self.builder.size - 1
        for event in self._results:
            self._result(event)
        self.usage += [usage for event in self._counts for usage in _usage(self._root, event, n)]
        self._parts, self._calls, self._results, self._counts = [], [], [], []

    def _said(self) -> Iterator[Part]:
        """The parts of a response; pieces of one text or thought are one part."""
        blocks_of = ((event, value_at(self._root, event.at)) for event in self._parts)
        parts = [block_part(self.builder, block, event.at, READERS) for event, block in blocks_of]
        for kind, pieces in groupby(parts, key=lambda part: part.kind):
            if kind in (PartKind.TEXT, PartKind.REASONING):
                yield Part(kind, "".join(part.text for part in pieces))
            else:
                yield from pieces

    def _result(self, event: Event) -> None:
        payload, at = value_at(self._root, event.at), (*event.at, "return_value")
        given = field(payload, "return_value")
        output = (*at, "output")
        texts, others, is_odd = result_facts(self.builder, field(given, "output"), output, READERS)
        self.builder.result(
            text_field(payload, "tool_call_id"),
            [*filter(None, [text_field(given, "message")]), *texts],
            others,
            at,
            error=field(given, "is_error") is True,
            required=is_odd or not isinstance(given, dict),
            orphan_path=dotted(event.at),
        )


def _call(root: Any, event: Event, pieces: Sequence[str]) -> Call:
    payload, at = value_at(root, event.at), (*event.at, "function", "arguments")
    function = field(payload, "function")
    written = field(function, "arguments")
    if pieces:
        written, at = text_field(function, "arguments") + "".join(pieces), STREAMED
    arguments = blocks.arguments_text(written)
    return Call(text_field(payload, "id"), text_field(function, "name"), arguments, at)


def _usage(root: Any, event: Event, n: int) -> list[Usage]:
    counts = field(value_at(root, event.at), "token_usage") if event.kind == _STATUS else None
    usage = Usage(
        n=n,
        input=count_of(counts, "input_other"),
        cache_read=count_of(counts, "input_cache_read"),
        cache_write=count_of(counts, "input_cache_creation"),
        output=count_of(counts, "output"),
        time_ms=time_ms(event.when),
    )
    return [usage] if has_tokens(usage) else []


def _missing(gone: int) -> list[Finding]:
    message = "what the compaction kept is not in this file; context.jsonl beside it has it"
    return [Finding("preserved_missing", message)] if gone else []
