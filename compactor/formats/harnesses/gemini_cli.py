"""Gemini CLI: recordings (`~/.gemini/tmp/<project>/chats/session-*`), checkpoints of `/chat save`.

A checkpoint is the contents of the next request, alone. A recording is one object with `messages`,
or JSON Lines: a line of a known `id` replaces that message, `$rewindTo` takes messages back, `$set`
with `messages` replaces them all, which is how the harness's compaction and masking show. A result
lies in the record of its call and is paired there, unless the message behind it holds the responses
as they were sent. Thought summaries are not sent again; info, warning and error messages are not
sent unless they hold media.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.builder import Builder
from compactor.formats.lens_bases import AddressedCalls
from compactor.formats.messages import field, shape_error, text_field, value_at
from compactor.formats.placed import Listing, placed, read_placed
from compactor.formats.providers.gemini import (
    Gemini,
    is_response,
    parts_facts,
    rewrite_response,
    say_user,
    turn_facts,
)
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import (
    cleared,
    compacted,
    count_of,
    items,
    left_behind,
    time_ms,
    unanswered,
)

_HEAD = ("sessionId", "projectHash")
_HISTORY = "history"
_CONTENTS = Gemini()
_TURN, _PROMPT = "gemini", "user"
_NOTICES = ("info", "warning", "error")
_TYPES = (_TURN, _PROMPT, *_NOTICES)
_MASK = "<tool_output_masked>"


class GeminiCli(AddressedCalls):
    """The lens of Gemini CLI's recordings and checkpoints."""

    name = "gemini-cli"

    def recognises(self, root: Any) -> bool:
        return _is_checkpoint(root) or any(map(_is_head, _rows(root)))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: what an old message is depends on new lines. O(n).

        Raises:
            InputError: `input.shape` when it is no such recording.
        """
        if _is_checkpoint(root):
            return read_placed(Listing(_CONTENTS, {}, placed(root[_HISTORY], (_HISTORY,))))
        if not self.recognises(root):
            raise shape_error((), "no object says the session and project of a recording")
        log = _Log()
        log.take(root)
        story = _Story()
        for at in log.odd:
            story.builder.report("unknown_line", "not a message of a recording", dotted(at))
        sent = [message for message in log.live.values() if _is_sent(message.native)]
        for message, after in zip_longest(sent, sent[1:]):
            story.tell(message, answered=after is not None and _answers(after.native))
        subagent = any(field(row, "kind") == "subagent" for row in _rows(root))
        return Reading(
            entries=story.builder.entries,
            overhead=Overhead(known=False),
            findings=[
                *story.builder.findings,
                *unanswered(story.builder.entries),
                *cleared(story.masked),
                *left_behind(log.taken_back),
                *compacted(log.compacted, "messages"),
                *([Finding("subagent_file", "the recording of a subagent")] if subagent else []),
            ],
            model=story.model,
            usage=tuple(story.usage),
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """One a message, as it was written last; those taken back or compacted too. O(n)."""
        log = _Log()
        log.take(root)
        return [usage for native in log.counted.values() for usage in _usage(native, 0)]

    def messages(self, root: Any) -> Sequence[Any]:
        lists = (field(root, key) for key in ("messages", _HISTORY))
        return next((found for found in lists if isinstance(found, list)), _rows(root))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        native = value_at(root, entry.at)
        if isinstance(native, str):
            return [Edit(entry.at, text)]
        return rewrite_response(native, entry, text)


class _Message(NamedTuple):
    native: Any
    at: Path


class _Log:
    """The messages that are live after every line. Amortised O(1) a message.

    live: by id (in one object: by index), in order; a message that is written again stays in place.
    taken_back, compacted: how many sent messages are live no more.
    odd: addresses of what looks like a message and is none.
    counted: every message that was ever written with its usage, by id or by address.
    """

    def __init__(self) -> None:
        self.live: dict[str | int, _Message] = {}
        self.taken_back = 0
        self.compacted = 0
        self.odd: list[Path] = []
        self.counted: dict[str | Path, Any] = {}

    def take(self, root: Any) -> None:
        """Everything that a recording holds."""
        if isinstance(root, dict):
            for index, native in enumerate(items(root.get("messages"))):
                self._add(index, native, ("messages", index))
            return
        for index, row in enumerate(_rows(root)):
            self._line(row, index)

    def _line(self, row: Any, index: int) -> None:
        goal, own = text_field(row, "$rewindTo"), text_field(row, "id")
        if goal:
            self._rewind(goal)
        elif own:
            self._add(own, row, (index,))
        elif isinstance(field(field(row, "$set"), "messages"), list):
            self._replace(row["$set"]["messages"], (index, "$set", "messages"))
        elif isinstance(field(row, "messages"), list):
            self._replace(row["messages"], (index, "messages"))
        elif field(row, "type") is not None:
            self.odd.append((index,))

    def _add(self, key: str | int, native: Any, at: Path) -> None:
        if text_field(native, "type") in _TYPES:
            self.live[key] = _Message(native, at)
            if isinstance(native.get("tokens"), dict):
                self.counted[key if isinstance(key, str) else at] = native
        else:
            self.odd.append(at)

    def _rewind(self, goal: str) -> None:
        """Take back a message and all behind it; all of them when it is not known."""
        known = goal in self.live
        while self.live:
            key, message = self.live.popitem()
            self.taken_back += _is_sent(message.native)
            if known and key == goal:
                return

    def _replace(self, natives: list[Any], at: Path) -> None:
        """Put other messages in the place of all: compacted, or without the last, taken back."""
        old = self.live
        self.live = {}
        for index, native in enumerate(natives):
            self._add(text_field(native, "id") or index, native, (*at, index))
        sent = [key for key, message in old.items() if _is_sent(message.native)]
        gone = sum(key not in self.live for key in sent)
        if gone and sent[0] in self.live and sent[-1] not in self.live:
            self.taken_back += gone
        else:
            self.compacted += gone


class _Story:
    """Tells the messages that are sent to a builder."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        self.masked = 0

    def tell(self, message: _Message, *, answered: bool) -> None:
        """Say one message.

        Args:
            answered: whether the next message holds the results of its calls.
        """
        native, at = message
        if native["type"] != _TURN:
            self._content(native.get("content"), (*at, "content"))
            return
        parts, calls = _turn_parts(self.builder, native, at)
        n = self.builder.size
        if parts or calls:
            self.builder.turn(parts, calls, at)
            n = self.builder.size - 1
        self.model = text_field(native, "model") or self.model
        self.usage += _usage(native, n)
        if not answered:
            self._results(native, at, {call.at: call for call in calls})

    def _results(self, native: Any, at: Path, calls: Mapping[Path, Call]) -> None:
        """What the tools of a turn gave, each beside its call."""
        for index, record in enumerate(items(native.get("toolCalls"))):
            here = (*at, "toolCalls", index)
            call, result = calls.get((*here, "args")), field(record, "result")
            if isinstance(result, str):
                said = text_field(record, "id")
                self.builder.result(said, [result], (), (*here, "result"), call=call)
                self.masked += _MASK in result
            elif result is not None:
                self._content(result, (*here, "result"), call)

    def _content(self, native: Any, at: Path, call: Call | None = None) -> None:
        """A text, or parts: responses and what stands between them."""
        if isinstance(native, list):
            first = self.builder.size
            say_user(self.builder, native, at, call)
            self.masked += sum(_MASK in e.body for e in self.builder.entries[first:])
        else:
            is_text = isinstance(native, str)
            parts = [_text(native)] if is_text else parts_facts(self.builder, native, at)
            self.builder.user(parts, at[:-1])


def _turn_parts(builder: Builder, native: Any, at: Path) -> tuple[list[Part], list[Call]]:
    """What the model said: calls are parts of a content that holds any, else they lie beside it."""
    content = native.get("content")
    if isinstance(content, str):
        return [_text(content)] if content else [], list(_calls(builder, native, at))
    parts, calls = turn_facts(builder, content, (*at, "content"))
    return parts, calls or list(_calls(builder, native, at))


def _text(content: str) -> Part:
    return Part(PartKind.TEXT, content)


def _calls(builder: Builder, native: Any, at: Path) -> Iterator[Call]:
    for index, record in enumerate(items(native.get("toolCalls"))):
        here = (*at, "toolCalls", index)
        if not isinstance(record, dict):
            builder.report("unknown_block", "not a record of a tool call", dotted(here))
            continue
        arguments = blocks.arguments_text(record.get("args"))
        yield Call(text_field(record, "id"), text_field(record, "name"), arguments, (*here, "args"))


def _usage(native: Any, n: int) -> list[Usage]:
    """Usage of one request: its `input` holds what was cached, its `output` no thoughts."""
    tokens = native.get("tokens")
    if not isinstance(tokens, dict):
        return []
    cached = count_of(tokens, "cached")
    return [
        Usage(
            n=n,
            input=max(count_of(tokens, "input") - cached, 0) + count_of(tokens, "tool"),
            cache_read=cached,
            output=count_of(tokens, "output") + count_of(tokens, "thoughts"),
            model=text_field(native, "model"),
            time_ms=time_ms(native.get("timestamp")),
        )
    ]


def _rows(root: Any) -> Sequence[Any]:
    return root if isinstance(root, list) else [root]


def _is_checkpoint(root: Any) -> bool:
    history = field(root, _HISTORY)
    return isinstance(history, list) and bool(history) and _CONTENTS.recognises(history)


def _is_head(row: Any) -> bool:
    return all(text_field(row, key) for key in _HEAD)


def _is_sent(native: Any) -> bool:
    """Whether a message goes to the model; of the notices only media that a tool gave do."""
    kind, content = text_field(native, "type"), field(native, "content")
    if kind in _NOTICES:
        return isinstance(content, list) and any(field(part, "text") is None for part in content)
    return kind in (_TURN, _PROMPT)


def _answers(native: Any) -> bool:
    """Whether a message holds the results of the calls before it, as they were sent."""
    content = field(native, "content")
    return isinstance(content, list) and any(map(is_response, content))
