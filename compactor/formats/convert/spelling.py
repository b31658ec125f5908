"""Ids, names and arguments as the target takes them.

What is right stays as it is. The rest depends only on what stands before it, so that a longer
conversation begins as the shorter one did. Linear: a name is looked at once for each place it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Final

from compactor.formats.convert.notes import Frame
from compactor.formats.convert.rules import Spelling
from compactor.formats.raw.json_compact import compact_json_text, quoted
from compactor.formats.talk import Asked, Said, Tool

_LONE: Final = re.compile("[\ud800-\udfff]")
_NUMBER_CHARS: Final = 9
"""Room for a number behind a text that others have too."""


class Speller:
    """Spells the calls, results and tools of one conversation, oldest first."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._calls: dict[int, Asked] = {}
        self._taken = _Taken()
        self._names: dict[str, str] = {}
        self._named = _Taken()
        self.changed_ids = 0

    def tools(self, tools: Iterable[Tool]) -> tuple[Tool, ...]:
        """Tools with names that may be; those that are kept as they are have such names."""
        return tuple(
            tool if tool.native is not None else tool._replace(name=self._name(tool.name, None))
            for tool in tools
        )

    def said(self, said: Said) -> Said:
        """An entry with its calls, or the call it answers, as they are spelled here."""
        if said.calls:
            if not self._frame.rules.pairs:
                self._taken = _Taken()
            number = count()
            pieces = (
                self._call(piece, said.seq, next(number)) if isinstance(piece, Asked) else piece
                for piece in said.pieces
            )
            return said._replace(pieces=tuple(pieces))
        if said.key is not None:
            call = self._calls[said.key]
            return said._replace(call_id=call.id, name=call.name, custom=call.custom)
        return said._replace(name=self._name(said.name, said.seq)) if said.name else said

    def _call(self, call: Asked, seq: int, index: int) -> Asked:
        call_id, name = self._id(call.id, seq, index), self._name(call.name, seq)
        spelled = self._with_arguments(call._replace(id=call_id, name=name), seq)
        self._calls[call.key] = spelled
        return spelled

    def _id(self, old: str, seq: int, index: int) -> str:
        """The id itself where it may be and is free, else one that tells its place."""
        rule = self._frame.rules.ids
        new = _fit(old, rule) or self._frame.texts.call_id.format(seq=seq, index=index)
        new = self._taken.take(new, rule.length, f"_{seq}_{index}")
        self.changed_ids += bool(old) and new != old
        return new

    def _name(self, old: str, seq: int | None) -> str:
        known = self._names.get(old)
        if known is not None:
            return known
        rule, new = self._frame.rules.names, old
        if rule.wrong is not None:
            new = _fit(old, rule) or self._frame.words.name_unknown
            new = self._named.take(new, rule.length)
        self._names[old] = new
        if new != old:
            said = f"the tool {old[:80]!r} is called {new!r}, as the target takes no such name"
            self._frame.notes.report("tool_renamed", said, seq)
        return new

    def _with_arguments(self, call: Asked, seq: int) -> Asked:
        rules, text = self._frame.rules, call.arguments
        if call.custom and rules.custom:
            return call
        call = call._replace(custom=False)
        if not rules.objects:
            return call
        compact = compact_json_text(text) if text else "{}"
        if compact is not None and compact.startswith("{"):
            return call._replace(arguments=text or "{}")
        key = quoted(self._frame.texts.arguments)
        message = f"arguments that are no JSON object stand under {key} in one"
        self._frame.notes.report("arguments_wrapped", message, seq)
        return call._replace(arguments=f"{{{key}:{quoted(text) if compact is None else compact}}}")


def _fit(text: str, rule: Spelling) -> str:
    """A text without what may not be in it, cut to the length."""
    if rule.wrong is not None:
        text = rule.wrong.sub("_", text)
    elif rule.length:
        text = _LONE.sub("_", text)
    if rule.first is not None and rule.first.match(text):
        text = f"_{text}"
    return text[: rule.length] if rule.length else text


class _Taken:
    """Texts that must differ. Amortised O(1) a text, whatever texts there are."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, text: str, length: int, place: str = "") -> str:
        """The text, or with its place or a number behind it one that nobody has taken."""
        new = text
        if place and new in self._taken:
            new = (text[: length - len(place)] if length else text) + place
        base = text[: length - _NUMBER_CHARS] if length else text
        while new in self._taken:
            number = self._next[base] = self._next.get(base, 1) + 1
            new = f"{base}_{number}"
        self._taken.add(new)
        return new
