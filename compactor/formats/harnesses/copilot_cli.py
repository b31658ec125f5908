"""Copilot CLI sessions (`~/.copilot/session-state/…/events.jsonl`).

A line is an event. Messages with one `apiCallId` are one response; results come in any order behind
it, and what is said to the model between them is sent behind them all. What is sent of a user's
message is `transformedContent`, of a result `content`; hooks and `detailedContent` repeat texts for
others. A compaction leaves its summary and what was said since it began. `copilot_usage` says what
is counted. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.agents import agent_runs, run_findings
from compactor.formats.builder import Builder
from compactor.formats.harnesses.copilot_usage import TURN, all_usage, turn_key, usage_of
from compactor.formats.keyed import medium_part, sealed_part
from compactor.formats.lens_bases import RowLens, RunLens
from compactor.formats.messages import Carried, field, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import REMOVE, Edit
from compactor.formats.recorded import (
    compacted,
    items,
    left_behind,
    unanswered,
    unreadable,
)
from compactor.formats.runs import Run, chosen

_SYSTEM, _PROMPT, _RESULT = "system.message", "user.message", "tool.execution_complete"
_BEGUN, _SUMMARY = "session.compaction_start", "session.compaction_complete"
_CLEARED, _REWOUND, _MODEL = (
    *("session.context_cleared", "session.snapshot_rewind"),
    "session.model_change",
)
_SPEAKS = (_PROMPT, TURN, _RESULT)
_KNOWN = (_SYSTEM, *_SPEAKS, _BEGUN, _SUMMARY, _CLEARED, _REWOUND, _MODEL)


class CopilotCli(RowLens, RunLens):
    """The lens of Copilot CLI sessions.

    Args:
        thread: one of `threads(root)`: a subagent's, or the main one; "" is the first.
    """

    name = "copilot-cli"

    def recognises(self, root: Any) -> bool:
        return any(_speaks(row) and "parentId" in row for row in items(root))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: a new event can take back old ones. O(n).

        Raises:
            InputError: `input.shape` when nothing is said, or the thread does not exist.
        """
        rows = items(root)
        runs = _runs(rows)
        run = chosen(runs, self.thread)
        live = _live(rows, run.native)
        story = _Story(rows)
        for index in live.events:
            story.tell(index)
        story.flush()
        systems = _systems(rows, run.native)
        findings = [
            *story.builder.findings,
            *unanswered(story.builder.entries),
            *unreadable([(i,) for i, row in enumerate(rows) if _is_odd(row)], "lines"),
            *left_behind(live.left),
            *compacted(live.before, "events"),
            *run_findings(runs, run, self.thread),
        ]
        if story.usage:
            message = "no request's prompt is counted; where a run ended, their sum is"
            findings.append(Finding("usage_partial", message))
        return Reading(
            entries=story.builder.entries,
            overhead=Overhead(systems, known=bool(systems)),
            carried=Carried(systems, known=bool(systems)),
            findings=findings,
            model=story.model,
            usage=tuple(story.usage),
        )

    def runs(self, root: Any) -> Sequence[Run]:
        return _runs(items(root))

    def all_usage(self, root: Any) -> list[Usage]:
        """Of every thread and branch: runs that ended as sums, the rest a response each. O(n)."""
        return all_usage(items(root))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        data, at = value_at(root, entry.at), entry.at
        if isinstance(field(data, "error"), dict) and field(data, "result") is None:
            return [Edit((*at, "error", "message"), text)]
        if isinstance(field(data, "result"), str):
            return [Edit((*at, "result"), text)]
        content, media = ((*at, "result", key) for key in ("content", "binaryResultsForLlm"))
        return [Edit(content, text), Edit(media, REMOVE)]


class _Story:
    """Tells events to a builder: a response, its results, then what was said beside them."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        self._key: tuple[Any, ...] = ()
        self._turn: list[int] = []
        self._results: list[int] = []
        self._beside: list[int] = []

    def tell(self, index: int) -> None:
        """Say one event, at the latest with the next response."""
        kind, data = self.rows[index]["type"], self.rows[index]["data"]
        if kind == _MODEL:
            self.model = text_field(data, "newModel") or self.model
        elif kind == _RESULT:
            self._results.append(index)
        elif kind != TURN:
            self._beside.append(index)
        else:
            key = turn_key(data, index)
            if key != self._key:
                self.flush()
            self._key = key
            self._turn.append(index)

    def flush(self) -> None:
        """Say what waits for the end of a response."""
        if self._turn:
            self._say_turn(self._turn)
        for index in self._results:
            _say_result(self.builder, self.rows[index]["data"], (index, "data"))
        for index in self._beside:
            data = self.rows[index]["data"]
            self.builder.user(_said(data), (index, "data"))
        self._turn, self._results, self._beside = [], [], []

    def _say_turn(self, indexes: Sequence[int]) -> None:
        parts: list[Part] = []
        calls: list[Call] = []
        for index in indexes:
            data = self.rows[index]["data"]
            parts += _turn_parts(data)
            calls += _calls(self.builder, data, (index, "data", "toolRequests"))
            self.model = text_field(data, "model") or self.model
        self.builder.turn(parts, calls, (indexes[0], "data"))
        usage = usage_of([self.rows[index] for index in indexes], self.builder.size - 1)
        self.usage.append(msgspec.structs.replace(usage, model=self.model))


def _turn_parts(data: Any) -> Iterator[Part]:
    """Reasoning as text, or, where only that is kept, as it is sealed; then what was said."""
    reasoning = text_field(data, "reasoningText")
    sealed = text_field(data, "encryptedContent") or text_field(data, "reasoningOpaque")
    if reasoning:
        yield Part(PartKind.REASONING, reasoning)
    elif sealed:
        yield sealed_part(sealed)
    yield Part(PartKind.TEXT, text_field(data, "content"))


def _calls(builder: Builder, data: Any, at: Path) -> Iterator[Call]:
    for index, request in enumerate(items(field(data, "toolRequests"))):
        if not isinstance(request, dict):
            builder.report("unknown_block", "not a request of a tool", dotted((*at, index)))
            continue
        arguments = blocks.arguments_text(request.get("arguments"))
        call_id, name = text_field(request, "toolCallId"), text_field(request, "name")
        yield Call(call_id, name, arguments, (*at, index, "arguments"))


def _say_result(builder: Builder, data: Any, at: Path) -> None:
    """What is sent of a result: its `content` and media, or the message of an error."""
    result, error = field(data, "result"), field(data, "error")
    is_error = result is None and isinstance(error, dict)
    body = text_field(error, "message") if is_error else text_field(result, "content")
    if isinstance(result, str):
        body = result
    is_odd = not (is_error or isinstance(result, str | dict | None))
    media = [_medium(native) for native in items(field(result, "binaryResultsForLlm"))]
    builder.result(
        text_field(data, "toolCallId"),
        [body] if body else [],
        [*media, blocks.unknown_part(builder, result, (*at, "result"))] if is_odd else media,
        at,
        error=field(data, "success") is False,
        required=is_odd,
        orphan_path=dotted(at),
    )


def _said(data: Any) -> list[Part]:
    """What is sent of a user's message, with its media; of a compaction, its summary."""
    keys = ("transformedContent", "summaryContent", "content")
    text = next(filter(None, (text_field(data, key) for key in keys)), "")
    natives = (each for each in items(field(data, "attachments")) if text_field(each, "data"))
    return [Part(PartKind.TEXT, text), *map(_medium, natives)]


def _medium(native: Any) -> Part:
    """A medium with its base64, or with what it is known by."""
    is_image = text_field(native, "mimeType").startswith("image/")
    reference = text_field(native, "assetId")
    return medium_part(field(native, "data"), reference, native, is_image=is_image)


class _Live(NamedTuple):
    """What the next request carries.

    events: indexes, in prompt order; a compaction stands for its summary.
    before: how many events lie before the last compaction.
    left: how many were taken back.
    """

    events: list[int]
    before: int
    left: int


def _live(rows: Sequence[Any], indexes: Sequence[int]) -> _Live:
    """The live events of a thread. Amortised O(1) an event: a compaction keeps what is new."""
    live: list[int] = []
    place: dict[str, int] = {}
    begun = -1
    before = left = 0
    for index in indexes:
        row = rows[index]
        kind, data = row["type"], row["data"]
        if kind in (*_SPEAKS, _MODEL):
            live.append(index)
            place[text_field(row, "id")] = index
        elif kind == _BEGUN:
            begun = len(live)
        elif kind == _CLEARED or (kind == _SUMMARY and data.get("success") is True):
            cut = len(live) if begun < 0 or kind == _CLEARED else begun
            before += sum(rows[i]["type"] in _SPEAKS for i in live[:cut])
            models = [i for i in live[:cut] if rows[i]["type"] == _MODEL][-1:]
            summary = [index] if text_field(data, "summaryContent") else []
            live, begun = [*models, *summary, *live[cut:]], -1
        elif kind == _REWOUND:
            goal = place.get(text_field(data, "upToEventId"), index)
            while live and live[-1] >= goal:
                left += rows[live.pop()]["type"] in _SPEAKS
    return _Live(live, before, left)


def _systems(rows: Sequence[Any], indexes: Sequence[int]) -> tuple[str, ...]:
    """The system prompt as it was sent last: it is written again with every user's message."""
    found: dict[tuple[str, str], str] = {}
    for index in indexes:
        if rows[index]["type"] == _SYSTEM:
            data = rows[index]["data"]
            key = text_field(data, "role"), text_field(data, "name")
            found[key] = text_field(data, "content")
    return tuple(filter(None, found.values()))


def _runs(rows: Sequence[Any]) -> list[Run]:
    """The known events by thread; the threads in which anything is said."""
    found: dict[str, list[int]] = {"": []}
    for index, row in enumerate(rows):
        if _is_event(row):
            data = row["data"]
            name = text_field(row, "agentId") or text_field(data, "parentToolCallId")
            found.setdefault(name, []).append(index)
    return agent_runs(found, lambda index: _speaks(rows[index]))


def _is_event(row: Any) -> bool:
    """Whether a line is an event that says something about the conversation."""
    return text_field(row, "type") in _KNOWN and isinstance(row.get("data"), dict)


def _speaks(row: Any) -> bool:
    return _is_event(row) and row["type"] in _SPEAKS


def _is_odd(row: Any) -> bool:
    return text_field(row, "type") in _KNOWN and not _is_event(row)
