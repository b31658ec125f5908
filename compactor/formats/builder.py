"""Builds entries, the same way for every format (law L6).

A lens says what it meets, in document order: `system`, `user`, `turn`, `result`. The builder merges
adjacent model turns, finds the call that a result answers, and reports orphans and unanswered
calls. It can be cut back to an earlier native item, so that a longer request is read from where the
last one ended. Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Kind, Part, PartKind, Path


class Builder:
    """Collects entries oldest first. Amortised O(1) an entry and a message.

    findings: what was strange, with its place.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._entries: list[Entry] = []
        self._starts: list[int] = []
        self._calls: dict[str | tuple[str], list[Call]] = {}
        self._open: _OpenCalls | None = None
        self._finding_items: list[int] = []
        self._aliases: dict[str, list[str]] = {}
        self._alias_items: list[tuple[int, str]] = []
        self._item = 0
        self._more_parts: list[Part] = []
        self._more_calls: list[Call] = []
        self._more_hollow: list[Path] = []

    @property
    def entries(self) -> list[Entry]:
        """What was built; shared with the `Reading`, grows in place."""
        self._settle()
        return self._entries

    @property
    def size(self) -> int:
        """How many entries there are. Cheaper than `entries` while a turn grows."""
        return len(self._entries)

    def at_item(self, index: int) -> None:
        """Everything said from now on comes from native item `index`."""
        self._item = index

    def user(self, parts: Iterable[Part], at: Path) -> None:
        """A user message, or a run of its blocks that are no results."""
        self._push(Entry(kind=Kind.USER, parts=_counted(parts), at=at))

    def system(self, parts: Iterable[Part], at: Path) -> None:
        """A system or developer message in mid-conversation."""
        self._push(Entry(kind=Kind.SYSTEM, parts=_counted(parts), at=at))

    def turn(self, parts: Iterable[Part], calls: Iterable[Call], at: Path) -> None:
        """A model message or item; adjacent ones become one entry."""
        parts, calls = tuple(parts), tuple(calls)
        hollow = () if calls or not all(part.signed for part in parts) else _first_content(parts)
        counted = _counted(parts)
        self._open = None
        if self._entries and self._entries[-1].kind is Kind.ASSISTANT:
            self._more_parts += counted
            self._more_calls += calls
            self._more_hollow += hollow
        else:
            entry = Entry(kind=Kind.ASSISTANT, parts=counted, calls=calls, hollow=hollow, at=at)
            self._push(entry)
        for call in calls:
            self._calls.setdefault(_key(call.id, call.name), []).append(call)

    def result(
        self,
        call_id: str,
        texts: Iterable[str],
        others: Iterable[Part],
        at: Path,
        *,
        error: bool = False,
        required: bool = False,
        cleared: bool = False,
        name: str = "",
        in_order: bool = False,
        call: Call | None = None,
        orphan_path: str = "",
    ) -> None:
        """One tool result.

        Args:
            call_id: the provider's id of the call, "" where the format has none.
            texts: the text blocks, joined with a newline into the body.
            others: media and unknown blocks, in order.
            name: the tool's name where the format has no call ids (legacy functions).
            in_order: results without a usable id answer the calls of that name of the turn before
                in their order, and that one is known must show in the input.
            call: the call it answers, where the format holds both in one place; else looked for.
            orphan_path: where to point when no call is known; "" reports nothing.
        """
        if call is None:
            call = self._in_order(call_id, name) if in_order else self._answered(call_id, name)
        by_name = bool(name) and not call_id
        if call is None and orphan_path and (in_order or not by_name):
            said = call_id or name
            self.report("orphan_result", f"no call is known for result {said!r}", orphan_path)
        if call is None and by_name:
            call = Call("", name, "")
        self._push(
            Entry(
                kind=Kind.TOOL,
                parts=_counted(others),
                call_id=call_id,
                call=call,
                body="\n".join(texts),
                error=error,
                required=required,
                cleared=cleared,
                at=at,
            )
        )

    def alias(self, other: str, call_id: str) -> None:
        """Say that a result may name a call by another of its ids."""
        self._aliases.setdefault(other, []).append(call_id)
        self._alias_items.append((self._item, other))

    def call_id_of(self, name: str) -> str:
        """The id of the nearest earlier call with this id or alias; the given one if none is."""
        known = self._aliases.get(name)
        return known[-1] if known and not self._calls.get(name) else name

    def report(self, code: str, message: str, path: str = "", seq: int | None = None) -> None:
        """Keep a finding of the current item."""
        self.findings.append(Finding(code, message, path, seq))
        self._finding_items.append(self._item)

    def cut(self, item: int) -> int:
        """Forget what came from native items ≥ `item`.

        Returns:
            the first item to read again: `item`, or earlier when the last entry that stays began
            earlier and may still grow. O(what is forgotten).
        """
        self._settle()
        self._open = None
        while self._starts and self._starts[-1] >= item:
            self._pop()
        if self._entries and self._entries[-1].kind is Kind.ASSISTANT:
            item = self._starts[-1]
            while self._starts and self._starts[-1] >= item:
                self._pop()
        while self._finding_items and self._finding_items[-1] >= item:
            self._finding_items.pop()
            self.findings.pop()
        while self._alias_items and self._alias_items[-1][0] >= item:
            self._aliases[self._alias_items.pop()[1]].pop()
        return item

    def _push(self, entry: Entry) -> None:
        self._settle()
        self._entries.append(entry)
        self._starts.append(self._item)

    def _settle(self) -> None:
        """Put what a turn has grown by into its entry, once, as each time copies the turn."""
        if not self._more_parts and not self._more_calls:
            return
        last = self._entries[-1]
        self._entries[-1] = msgspec.structs.replace(
            last,
            parts=(*last.parts, *self._more_parts),
            calls=(*last.calls, *self._more_calls),
            hollow=(*last.hollow, *self._more_hollow),
        )
        self._more_parts, self._more_calls, self._more_hollow = [], [], []

    def _pop(self) -> None:
        entry = self._entries.pop()
        self._starts.pop()
        for call in entry.calls:
            self._calls[_key(call.id, call.name)].pop()

    def _answered(self, call_id: str, name: str) -> Call | None:
        """The nearest earlier call with this id; without an id, with this name and no id either."""
        known = self._calls.get(_key(call_id, name)) if call_id or name else None
        return known[-1] if known else None

    def _in_order(self, call_id: str, name: str) -> Call | None:
        """The call with this id, else the first of this name that the turn before left open.

        A result with an id answers no call with another one.
        """
        if self._open is None:
            self._settle()
            self._open = _OpenCalls(self._entries)
        call = self._answered(call_id, name) if call_id else None
        if call is None:
            first = self._open.first(name)
            has_other_id = bool(call_id) and first is not None and bool(first.id)
            call = self._answered("", name) if first is None or has_other_id else first
        if call is not None:
            self._open.take(call)
        return call


class _OpenCalls:
    """The calls of the last turn that no result has taken, each name's in order. O(its tail)."""

    def __init__(self, entries: list[Entry]) -> None:
        self._taken: set[Path] = set()
        self._waiting: dict[str, deque[Call]] = {}
        for entry in reversed(entries):
            if entry.kind is Kind.ASSISTANT:
                for call in entry.calls:
                    self._waiting.setdefault(call.name, deque()).append(call)
                return
            if entry.call is not None:
                self.take(entry.call)

    def first(self, name: str) -> Call | None:
        """The first open call of this name. Amortised O(1)."""
        waiting = self._waiting.get(name)
        while waiting and waiting[0].at in self._taken:
            waiting.popleft()
        return waiting[0] if waiting else None

    def take(self, call: Call) -> None:
        """A result answers this call."""
        self._taken.add(call.at)


def _key(call_id: str, name: str) -> str | tuple[str]:
    """What a call is found by: its id; where the format has none, its name."""
    return call_id or (name,)


def _first_content(parts: Sequence[Part]) -> tuple[Path, ...]:
    """The content that holds the first of these blocks."""
    return (parts[0].at[:-1],) if parts else ()


def _counted(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts without empty texts: `null`, "" and [] are the same facts."""
    empty = (PartKind.TEXT, PartKind.REASONING)
    return tuple(p for p in parts if p.text or p.kind not in empty)
