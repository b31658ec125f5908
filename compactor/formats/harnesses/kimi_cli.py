"""Kimi sessions (`wire.jsonl`: events of the context and of requests).

A step is one response: its parts and calls lie on lines of their own, each result on another. What
is sent of a result is its `output` and the harness's `note`. Only `context.*` events are the
conversation; prompts, approvals and `usage.record` repeat what they say. `kimi_history` says what
is live. `inputOther` is what was not cached. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.blocks import Readers, block_part, content_parts, result_facts
from compactor.formats.builder import Builder
from compactor.formats.harnesses.kimi_history import (
    EVENT,
    MESSAGE,
    RESULT,
    STEP,
    SUMMARY,
    History,
    Item,
)
from compactor.formats.keyed import sealed_part
from compactor.formats.lens_bases import RowLens
from compactor.formats.media import document_part, image_url_part
from compactor.formats.messages import Carried, field, shape_error, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import REMOVE, Edit, compact_json
from compactor.formats.recorded import (
    cleared,
    compacted,
    count_of,
    items,
    left_behind,
    time_ms,
    unanswered,
    unreadable,
)

_CLEARED_CHARS = 400
"""Kimi's microcompaction cleared results of 100 tokens and more, at four characters a token."""


class KimiCli(RowLens):
    """The lens of Kimi sessions."""

    name = "kimi-cli"

    def recognises(self, root: Any) -> bool:
        return any(
            isinstance(field(row, "message"), dict)
            if text_field(row, "type") == MESSAGE
            else text_field(row, "type") == EVENT and isinstance(field(row, "event"), dict)
            for row in items(root)
        )

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: a new event can take back old ones. O(n).

        Raises:
            InputError: `input.shape` when nothing is said.
        """
        rows = items(root)
        history = History()
        for index, row in enumerate(rows):
            history.take(row, index)
        if not history.is_begun:
            raise shape_error((), "no event of a Kimi session says anything")
        story = _Story(rows)
        for number, item in enumerate(history.live()):
            story.tell(item, is_cleared=number < history.cutoff)
        entries, carried = story.builder.entries, _carried(rows)
        return Reading(
            entries=entries,
            overhead=_overhead(carried),
            carried=carried,
            findings=[
                *story.builder.findings,
                *unanswered(entries),
                *unreadable([(index,) for index in history.odd], "lines"),
                *cleared(sum(entry.cleared for entry in entries)),
                *left_behind(history.left),
                *compacted(history.compacted, "messages"),
            ],
            model=history.model,
            usage=tuple(story.usage),
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """One a request, in order, those of compactions and in what was taken back too. O(n).

        They are records of their own; a session without any has what its steps ended with.
        """
        rows = items(root)
        records = [row for row in rows if text_field(row, "type") == "usage.record"]
        if records:
            return [
                usage for row in records for usage in _usage(row, row, 0, text_field(row, "model"))
            ]
        ends = [row for row in rows if text_field(row, "type") == EVENT and _is_end(row)]
        return [usage for row in ends for usage in _usage(row["event"], row, 0, "")]

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        native, at = value_at(root, entry.at), entry.at
        if entry.at[-1] == "message":
            return blocks.rewrite_content(field(native, "content"), (*at, "content"), text, ())
        output = (*at, "output")
        edits = blocks.rewrite_content(field(native, "output"), output, text, ())
        return [*(edits or [Edit(output, text)]), Edit((*at, "note"), REMOVE)]


class _Story:
    """Tells the messages of a context to a builder."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self.builder = Builder()
        self.usage: list[Usage] = []
        self._calls: dict[int, Call] = {}

    def tell(self, item: Item, *, is_cleared: bool) -> None:
        """Say one message.

        Args:
            is_cleared: a long result is not in the prompt any more.
        """
        row = self.rows[item.row]
        if item.role == STEP:
            self._step(item)
        elif item.role == RESULT:
            self._result(row["event"], item, is_cleared=is_cleared)
        elif item.role == SUMMARY:
            text = text_field(row, "contextSummary") or text_field(row, "summary")
            self.builder.user([Part(PartKind.TEXT, text)], (item.row,))
        else:
            self._message(row["message"], (item.row, "message"), item.role)

    def _step(self, item: Item) -> None:
        """One response. A step that failed before it said anything is not sent."""
        parts: list[Part] = []
        calls: list[Call] = []
        for index in item.inner:
            event, at = self.rows[index]["event"], (index, "event")
            if event["type"] == "content.part":
                parts.append(block_part(self.builder, event.get("part"), (*at, "part"), READERS))
                continue
            arguments = blocks.arguments_text(event.get("args"))
            call_id, name = text_field(event, "toolCallId"), text_field(event, "name")
            self._calls[index] = call = Call(call_id, name, arguments, (*at, "args"))
            calls.append(call)
        n = self.builder.size
        if parts or calls:
            self.builder.turn(parts, calls, (item.row, "event"))
            n = self.builder.size - 1
        if item.end >= 0:
            end = self.rows[item.end]
            self.usage += _usage(end["event"], end, n, item.model)

    def _result(self, event: Any, item: Item, *, is_cleared: bool) -> None:
        result, at = field(event, "result"), (item.row, "event", "result")
        output, note = field(result, "output"), text_field(result, "note")
        texts, others, is_odd = result_facts(self.builder, output, (*at, "output"), READERS)
        is_gone = is_cleared and sum(map(len, texts)) >= _CLEARED_CHARS
        self.builder.result(
            text_field(event, "toolCallId"),
            [] if is_gone else [*texts, *filter(None, [note])],
            [] if is_gone else others,
            at,
            error=field(result, "isError") is True,
            required=is_odd,
            cleared=is_gone,
            call=self._calls.get(item.call),
            orphan_path=dotted(at),
        )

    def _message(self, message: Any, at: Path, role: str) -> None:
        content, inner = field(message, "content"), (*at, "content")
        if role == "tool":
            texts, others, is_odd = result_facts(self.builder, content, inner, READERS)
            call_id = text_field(message, "toolCallId")
            self.builder.result(call_id, texts, others, at, required=is_odd, orphan_path=dotted(at))
            return
        parts = content_parts(self.builder, content, inner, READERS)
        if role == "assistant":
            self.builder.turn(parts, _message_calls(message, (*at, "toolCalls")), at)
        else:
            say = self.builder.user if role == "user" else self.builder.system
            say(parts, at)


def _message_calls(message: Any, at: Path) -> list[Call]:
    """Calls of a turn that was appended whole."""
    return [
        Call(
            text_field(native, "id"),
            text_field(native, "name"),
            blocks.arguments_text(native.get("arguments")),
            (*at, index, "arguments"),
        )
        for index, native in enumerate(items(field(message, "toolCalls")))
        if isinstance(native, dict)
    ]


def _usage(native: Any, row: Any, n: int, model: str) -> list[Usage]:
    """Usage that an event or a record holds, which its row dates."""
    counts = field(native, "usage")
    if not isinstance(counts, dict):
        return []
    return [
        Usage(
            n=n,
            input=count_of(counts, "inputOther"),
            cache_read=count_of(counts, "inputCacheRead"),
            cache_write=count_of(counts, "inputCacheCreation"),
            output=count_of(counts, "output"),
            model=model,
            time_ms=time_ms(row.get("time")),
        )
    ]


def _is_end(row: Any) -> bool:
    return text_field(row.get("event"), "type") == "step.end"


def _carried(rows: Sequence[Any]) -> Carried:
    """The system prompt and the tools as they were set last."""
    system, tools = "", list[Any]()
    for row in rows:
        kind = text_field(row, "type")
        if kind in ("config.update", "profile.bind"):
            system = text_field(row, "systemPrompt") or system
        elif kind == "llm.tools_snapshot":
            tools = items(field(row, "tools"))
    return Carried((system,) if system else (), tuple(tools), bool(system or tools))


def _overhead(carried: Carried) -> Overhead:
    texts = (t for tool in carried.tools for t in blocks.tool_texts(tool, tool, "parameters"))
    return Overhead(tuple(filter(None, (*carried.system, *texts))), carried.known)


def _think(block: Any) -> Part:
    """Reasoning as text; where only that is kept, as it is sealed."""
    text = text_field(block, "think")
    return Part(PartKind.REASONING, text) if text else sealed_part(field(block, "encrypted"))


def _image(block: Any) -> Part:
    return image_url_part(text_field(field(block, "imageUrl"), "url") or compact_json(block))


def _media(block: Any) -> Part:
    inner = field(block, "audioUrl") or field(block, "videoUrl")
    return document_part(text_field(inner, "url") or compact_json(block))


READERS: Readers = MappingProxyType(
    {"think": _think, "image_url": _image, "audio_url": _media, "video_url": _media}
)
