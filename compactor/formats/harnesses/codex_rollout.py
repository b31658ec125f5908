"""The rows of a Codex rollout: what the next request carries, and what each request used.

Rows are read once, oldest first. A `response_item` is appended to the history; `compacted` begins a
new one; a rollback cuts it back to where a user's turn began, across a compaction too. `event_msg`
rows repeat items for the screen and are read for what only they hold. A request shows as a
`token_count` whose totals have changed. Knows rows and item types, never texts.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.core.model import Path, Usage
from compactor.formats.messages import field, listed, text_field, value_at
from compactor.formats.providers.responses_items import ITEMS, MESSAGE
from compactor.formats.recorded import count_of, has_tokens, time_ms

_NOT_OF_THE_MODEL = ("agent_message", "compaction_trigger", "ghost_snapshot")
_ASKING = ("user", "developer", "system")
_SUMMARY = "message"
_USED = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")


class Item(NamedTuple):
    """A Responses item, without its texts, which a long rollout is made of.

    at: its address.
    role: of a message that is not the model's; "" for all else.
    is_answer: it is of the model, and not what it is asked.
    made: the item itself where it is in no file.
    """

    at: Path
    role: str
    is_answer: bool
    made: Any = None

    def native(self, root: Any) -> Any:
        """The item itself."""
        return self.made if self.made is not None else value_at(root, self.at)


class Request(NamedTuple):
    """A request: index in the history of the first item of its answer, and what it used (n 0)."""

    item: int
    usage: Usage


@dataclasses.dataclass(slots=True)
class History:
    """What a request carries, from the last compaction on.

    items: in their order; after an old compaction behind what survives of `base`.
    requests: that were made over them.
    base: the history that an old compaction took its messages from; None without one.
    kept: number of items that survive of `base`.
    before: number of items that compactions took out.
    """

    items: list[Item] = dataclasses.field(default_factory=list)
    requests: list[Request] = dataclasses.field(default_factory=list)
    base: History | None = None
    kept: int = 0
    before: int = 0

    def prompt(self) -> list[Item]:
        """All items, `kept` ones first. O(items of the chain), which no compaction copies."""
        bases: list[History] = []
        base = self.base
        while base is not None:
            bases.append(base)
            base = base.base
        kept = [item for base in reversed(bases) for item in base.items if _survives(item)]
        return [*kept, *self.items]

    def cut(self, size: int) -> list[Item]:
        """Take out the items from index `size` on, and the requests that they answer."""
        gone = self.items[size:]
        del self.items[size:]
        while self.requests and self.requests[-1].item > size:
            self.requests.pop()
        return gone


@dataclasses.dataclass(slots=True)
class Rollout:
    """What the rows of a rollout say.

    history: of the next request.
    left: addresses of the items that were rolled back.
    usage: of every request of the file, in order.
    model: the last one named.
    instructions: the system prompt; "" when the file has none.
    tools: definitions of the tools that the client brought; Codex's own are in no file.
    is_subagent: the file is a sub-agent's.
    odd: addresses of rows that should hold an item and do not.
    """

    history: History = dataclasses.field(default_factory=History)
    left: list[Path] = dataclasses.field(default_factory=list)
    usage: list[Usage] = dataclasses.field(default_factory=list)
    model: str = ""
    instructions: str = ""
    tools: list[Any] = dataclasses.field(default_factory=list)
    is_subagent: bool = False
    odd: list[Path] = dataclasses.field(default_factory=list)


def is_native(row: Any) -> bool:
    """Whether a row is of a rollout, the oldest shape included."""
    if isinstance(field(row, "payload"), dict):
        return text_field(row, "type") in _ROWS
    return text_field(row, "record_type") == "state" or _is_old_header(row)


def read_rollout(rows: Sequence[Any]) -> Rollout:
    """What the rows say. O(rows)."""
    reader = _Reader()
    for index, row in enumerate(rows):
        reader.read(row, index)
    return reader.rollout


def _item(native: Any, at: Path, made: Any = None) -> Item:
    role = text_field(native, "role")
    known = next((one for one in _ASKING if one == role), "")
    return Item(at, known, _is_answer(native), made)


def _is_answer(item: Any) -> bool:
    kind = field(item, "type")
    if kind is None or kind == MESSAGE:
        return text_field(item, "role") == "assistant"
    return kind not in _NOT_OF_THE_MODEL and not str(kind).endswith("_output")


def _is_old_header(row: Any) -> bool:
    """The first row of a file from before rows had a type."""
    if not isinstance(row, dict) or not {"id", "timestamp", "instructions"} <= row.keys():
        return False
    return not {"type", "role", "payload", "messages", "input"} & row.keys()


class _Reader:
    """Reads row after row.

    _answer: index of the first item of the answer that is being given; None between answers.
    _cut_short: the same of an answer that a message followed before its count did.
    _total: totals of the last count.
    _turns: where each user's turn began: a history and its size then.
    _stamp: time of the row that is read.
    """

    def __init__(self) -> None:
        self.rollout = Rollout()
        self._answer: int | None = None
        self._cut_short: int | None = None
        self._total: Any = None
        self._turns: list[tuple[History, int]] = []
        self._stamp: Any = None

    def read(self, row: Any, index: int) -> None:
        payload, self._stamp = field(row, "payload"), field(row, "timestamp")
        read = _ROWS.get(text_field(row, "type"))
        if read is None:
            if payload is None and text_field(row, "type") in ITEMS:
                self.item(row, (index,))
        elif isinstance(payload, dict):
            read(self, payload, (index, "payload"))
        elif row["type"] in ("response_item", "compacted"):
            self.rollout.odd.append((index,))

    def session(self, payload: Mapping[str, Any], at: Path) -> None:  # noqa: ARG002
        """A resumed session says all this again; the first instructions stay in force."""
        rollout = self.rollout
        base = payload.get("base_instructions")
        text = base if isinstance(base, str) else text_field(base, "text")
        rollout.instructions = rollout.instructions or text
        if not rollout.tools:
            tools = listed(payload.get("dynamic_tools"))
            rollout.tools = [tool for tool in tools if field(tool, "deferLoading") is not True]
        rollout.is_subagent |= field(payload.get("source"), "subagent") is not None

    def turn_context(self, payload: Mapping[str, Any], at: Path) -> None:  # noqa: ARG002
        self.rollout.model = text_field(payload, "model") or self.rollout.model
        text = text_field(payload, "base_instructions")
        self.rollout.instructions = self.rollout.instructions or text

    def item(self, payload: Mapping[str, Any], at: Path) -> None:
        items = self.rollout.history.items
        item = _item(payload, at)
        if item.is_answer:
            self._answer = len(items) if self._answer is None else self._answer
        elif not text_field(payload, "type").endswith("_output"):
            self._end_answer()
        items.append(item)

    def compacted(self, payload: Mapping[str, Any], at: Path) -> None:
        """The prompt is replaced by a list in the row, in old files by what was made of a text."""
        old, native = self.rollout.history, payload.get("replacement_history")
        if isinstance(native, list):
            where = (*at, "replacement_history")
            items = [_item(item, (*where, index)) for index, item in enumerate(native)]
            new = History(items, before=old.before + old.kept + len(old.items))
        else:
            kept = sum(map(_survives, old.items))
            before = old.before + len(old.items) - kept
            new = History([_summary(payload, at)], base=old, kept=old.kept + kept, before=before)
        self.rollout.history = new
        self._answer = self._cut_short = None

    def event(self, payload: Mapping[str, Any], at: Path) -> None:
        read = _EVENTS.get(text_field(payload, "type"))
        if read is not None:
            read(self, payload, at)

    def user_message(self, payload: Mapping[str, Any], at: Path) -> None:  # noqa: ARG002
        """A user's turn begins at the message that this row repeats, written just before or after.

        Other user messages are the harness's own (`AGENTS.md`, the environment).
        """
        history = self.rollout.history
        is_written = bool(history.items) and history.items[-1].role == "user"
        self._turns.append((history, len(history.items) - is_written))

    def roll_back(self, payload: Mapping[str, Any], at: Path) -> None:  # noqa: ARG002
        count = min(count_of(payload, "num_turns"), len(self._turns))
        if not count:
            return
        history, size = self._turns[-count]
        del self._turns[-count:]
        left = history.cut(size)
        if history is not self.rollout.history:
            left += self.rollout.history.items
        self.rollout.left += [item.at for item in left]
        self.rollout.history = history
        self._answer = self._cut_short = None

    def token_count(self, payload: Mapping[str, Any], at: Path) -> None:  # noqa: ARG002
        """A request, unless the row only repeats the totals, as at a turn's begin or end."""
        info = payload.get("info")
        total, last = field(info, "total_token_usage"), field(info, "last_token_usage")
        is_new = total is not None and _used(total) != _used(self._total)
        self._total = self._total if total is None else total
        usage = _usage(last, self.rollout.model, time_ms(self._stamp))
        if not is_new or not has_tokens(usage):
            return
        self.rollout.usage.append(usage)
        self._end_answer()
        history = self.rollout.history
        item = len(history.items) if self._cut_short is None else self._cut_short
        history.requests.append(Request(item, usage))
        self._cut_short = None

    def _end_answer(self) -> None:
        if self._answer is not None:
            self._answer, self._cut_short = None, self._answer


def _used(usage: Any) -> tuple[int, ...]:
    return tuple(count_of(usage, key) for key in _USED)


def _usage(native: Any, model: str, when_ms: int) -> Usage:
    """Codex counts what was cached into the input."""
    total, read, write, output = _used(native)
    return Usage(
        n=0,
        input=max(total - read - write, 0),
        cache_read=read,
        cache_write=write,
        output=output,
        model=model,
        time_ms=when_ms,
    )


def _survives(item: Item) -> bool:
    """Whether an old compaction keeps an item: messages, but those of the model and summaries."""
    is_summary = item.at[-1:] == (_SUMMARY,)
    return bool(item.role) and not is_summary


def _summary(payload: Mapping[str, Any], at: Path) -> Item:
    """The summary of an old compaction, as the user message that it became."""
    native = {"type": MESSAGE, "role": "user", "content": text_field(payload, _SUMMARY)}
    return _item(native, (*at, _SUMMARY), native)


_Read = Callable[[_Reader, Mapping[str, Any], Path], None]

_ROWS: Mapping[str, _Read] = MappingProxyType(
    {
        "session_meta": _Reader.session,
        "turn_context": _Reader.turn_context,
        "response_item": _Reader.item,
        "compacted": _Reader.compacted,
        "event_msg": _Reader.event,
    }
)
"""Row type → what it says. All others (`world_state`, …) are the client's own."""

_EVENTS: Mapping[str, _Read] = MappingProxyType(
    {
        "user_message": _Reader.user_message,
        "token_count": _Reader.token_count,
        "thread_rolled_back": _Reader.roll_back,
    }
)
"""Event type → what only it says."""
