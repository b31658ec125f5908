"""Builds entries, the same way for every format (law L6).

A lens says what it meets, in document order: `system`, `user`, `turn`, `result`. The builder merges
adjacent model turns, finds the call that a result answers, and reports orphans and unanswered
calls. It can be cut back to an earlier native item, so that a longer request is read from where the
last one ended. Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections.abc import Iterable

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
        self._finding_items: list[int] = []
        self._item = 0
        self._more_parts: list[Part] = []
        self._more_calls: list[Call] = []

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
        calls = tuple(calls)
        if self._entries and self._entries[-1].kind is Kind.ASSISTANT:
            self._more_parts += _counted(parts)
            self._more_calls += calls
        else:
            self._push(Entry(kind=Kind.ASSISTANT, parts=_counted(parts), calls=calls, at=at))
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
        orphan_path: str = "",
    ) -> None:
        """One tool result.

        Args:
            call_id: the provider's id of the call, "" where the format has none.
            texts: the text blocks, joined with a newline into the body.
            others: media and unknown blocks, in order.
            name: the tool's name where the format has no call ids (legacy functions).
            orphan_path: where to point when no call is known; "" reports nothing.
        """
        call = self._answered(call_id, name)
        if call is None and orphan_path:
            said = call_id or name
            self.report("orphan_result", f"no call is known for result {said!r}", orphan_path)
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
        while self._starts and self._starts[-1] >= item:
            self._pop()
        if self._entries and self._entries[-1].kind is Kind.ASSISTANT:
            item = self._starts[-1]
            while self._starts and self._starts[-1] >= item:
                self._pop()
        while self._finding_items and self._finding_items[-1] >= item:
            self._finding_items.pop()
            self.findings.pop()
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
        )
        self._more_parts, self._more_calls = [], []

    def _pop(self) -> None:
        entry = self._entries.pop()
        self._starts.pop()
        for call in entry.calls:
            self._calls[_key(call.id, call.name)].pop()

    def _answered(self, call_id: str, name: str) -> Call | None:
        """The nearest earlier call with this id; without an id, a call made of the given name."""
        known = self._calls.get(_key(call_id, name)) if call_id or name else None
        if known:
            return known[-1]
        return Call("", name, "") if name and not call_id else None


def _key(call_id: str, name: str) -> str | tuple[str]:
    """What a call is found by: its id; where the format has none, its name."""
    return call_id or (name,)


def _counted(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts without empty texts: `null`, "" and [] are the same facts."""
    empty = (PartKind.TEXT, PartKind.REASONING)
    return tuple(p for p in parts if p.text or p.kind not in empty)
