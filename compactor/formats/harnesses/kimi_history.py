"""What of a Kimi session is in the next request: its events, folded as Kimi folds them on resume.

Knows rows, roles and origins, never texts. A message said while calls are open waits for their
results; an undo takes back what is no injection; a compaction keeps users' own messages and puts
its summary behind them, an older one its summary before what is left. Amortised O(1) an event.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from compactor.formats.messages import field, text_field
from compactor.formats.recorded import count_of

MESSAGE, EVENT = "context.append_message", "context.append_loop_event"
STEP, RESULT, SUMMARY = "step", "tool.result", "summary"
_ROLES = ("user", "assistant", "system", "tool")


@dataclasses.dataclass(slots=True)
class Item:
    """One message of the context.

    role: of an appended message, or STEP, RESULT, SUMMARY.
    row: index of its line; of a step, of its begin.
    inner: of a step, indexes of its parts and calls.
    call: of a result, index of the line of its call.
    end: of a step, index of the line with its usage; -1 when it did not end.
    model: of a step, the model that was asked.
    real: a message of the user's own.
    injected: put in by the harness; an undo leaves it.
    alive: still in the context.
    """

    role: str
    row: int
    inner: list[int] = dataclasses.field(default_factory=list)
    call: int = -1
    end: int = -1
    model: str = ""
    real: bool = False
    injected: bool = False
    alive: bool = True


class History:
    """The context after the lines so far.

    compacted, left: how many messages compactions, clears and undos took out.
    cutoff: results among this many first messages are cleared when they are long.
    odd: indexes of lines that cannot be placed.
    """

    def __init__(self) -> None:
        self.model = ""
        self.compacted = self.left = self.cutoff = self.size = 0
        self.odd: list[int] = []
        self.is_begun = False
        self._items: list[Item] = []
        self._lead: Item | None = None
        self._first = self._fresh = 0
        self._own: list[Item] = []
        self._undoable: list[Item] = []
        self._steps: dict[str, Item] = {}
        self._pending: dict[str, int] = {}
        self._waiting: list[Item] = []

    def live(self) -> Iterator[Item]:
        """The messages of the context, in prompt order; those that wait for a result last."""
        lead = [self._lead] if self._lead is not None else []
        yield from (item for item in (*lead, *self._items, *self._waiting) if item.alive)

    def take(self, row: Any, index: int) -> None:
        """One line of a session."""
        kind = text_field(row, "type")
        if kind == MESSAGE:
            self._message(field(row, "message"), index)
        elif kind == EVENT:
            self._event(field(row, "event"), index)
        elif kind == "llm.request":
            self.model = text_field(row, "model") or self.model
        elif kind == "context.apply_compaction":
            self._compact(row, index)
        elif kind == "context.clear":
            self._clear()
        elif kind == "context.undo":
            self._undo(count_of(row, "count"))
        elif kind == "micro_compaction.apply":
            self.cutoff = count_of(row, "cutoff")

    def _message(self, message: Any, index: int) -> None:
        role = text_field(message, "role")
        if role not in _ROLES:
            self.odd.append(index)
            return
        origin = field(message, "origin")
        kind = text_field(origin, "kind")
        own = kind in ("", "user") or text_field(origin, "trigger") == "user-slash"
        item = Item(role, index, real=role == "user" and own, injected=kind == "injection")
        if self._pending and role != "tool":
            self._waiting.append(item)
        else:
            self._push(item)

    def _event(self, event: Any, index: int) -> None:
        kind, step = text_field(event, "type"), text_field(event, "stepUuid")
        if kind == "step.begin":
            self._settle()
            self._steps[text_field(event, "uuid")] = item = Item(STEP, index)
            self._push(item)
        elif kind == "step.end":
            ended = self._steps.pop(text_field(event, "uuid"), None)
            if ended is not None:
                ended.end, ended.model = index, self.model
        elif kind == RESULT:
            self._result(text_field(event, "toolCallId"), index)
        elif kind in ("content.part", "tool.call") and step in self._steps:
            self._steps[step].inner.append(index)
            if kind == "tool.call":
                self._pending[text_field(event, "toolCallId")] = index
        else:
            self.odd.append(index)

    def _result(self, call_id: str, index: int) -> None:
        """A result of a call that is open; Kimi sends no other."""
        call = self._pending.pop(call_id, -1)
        if call < 0:
            self.odd.append(index)
            return
        self._push(Item(RESULT, index, call=call))
        if not self._pending:
            self._settle()

    def _settle(self) -> None:
        """No call is open any more: what waited is said."""
        self._pending.clear()
        waiting, self._waiting = self._waiting, []
        for item in waiting:
            self._push(item)

    def _push(self, item: Item) -> None:
        self.is_begun = True
        self._items.append(item)
        self.size += 1
        if item.real:
            self._own.append(item)
        if not item.injected:
            self._undoable.append(item)

    def _drop(self, item: Item) -> int:
        """Take an item out; 1 when it was in."""
        was = int(item.alive)
        item.alive = False
        self.size -= was
        return was

    def _reset(self, cutoff: int) -> None:
        self.cutoff = min(self.cutoff, cutoff)
        self._steps.clear()
        self._pending.clear()
        self._waiting = []

    def _clear(self) -> None:
        for item in self._items[self._first :]:
            self.compacted += self._drop(item)
        self._first = self._fresh = len(self._items)
        if self._lead is not None:
            self.compacted += self._drop(self._lead)
        self._own.clear()
        self._undoable.clear()
        self._reset(0)

    def _undo(self, count: int) -> None:
        """Take back the last `count` messages of the user's own with all that followed."""
        while count > 0 and self._undoable:
            item = self._undoable.pop()
            taken = self._drop(item)
            self.left += taken
            count -= taken and item.real
        while self._own and not self._own[-1].alive:
            self._own.pop()
        self._reset(self.size)

    def _compact(self, row: Any, index: int) -> None:
        summary = Item(SUMMARY, index)
        if type(field(row, "keptUserMessageCount")) is int:
            self._keep_own(count_of(row, "keptUserMessageCount"), row)
            self._push(summary)
            self._undoable.clear()
        else:
            self._keep_tail(count_of(row, "compactedCount"))
            self._lead, self.size, self.is_begun = summary, self.size + 1, True
        self._reset(0)

    def _keep_own(self, kept: int, row: Any) -> None:
        """All goes but messages of the user's own: the first few and the last."""
        for item in self._items[self._fresh :]:
            if not item.real:
                self.compacted += self._drop(item)
        if self._lead is not None:
            self.compacted += self._drop(self._lead)
        head = min(count_of(row, "keptHeadUserMessageCount"), kept)
        end = max(len(self._own) - (kept - head), head)
        for item in self._own[head:end]:
            self.compacted += self._drop(item)
        del self._own[head:end]
        # The summary that is pushed now is the next compaction's to drop.
        self._fresh = len(self._items)

    def _keep_tail(self, gone: int) -> None:
        """The first `gone` messages go."""
        if self._lead is not None:
            dropped = self._drop(self._lead)
            self.compacted += dropped
            gone -= dropped
        while gone > 0 and self._first < len(self._items):
            dropped = self._drop(self._items[self._first])
            self.compacted += dropped
            gone -= dropped
            self._first += 1
        dead = next((i for i, item in enumerate(self._own) if item.alive), len(self._own))
        del self._own[:dead]
