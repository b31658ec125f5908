"""Tells entries as a conversation: their parts and calls in one order, results with their calls.

Parts of entries have no address, but calls and sealed reasoning have: a call stands before the
first sealed block that the model made after it, and else behind the texts. A result answers the
call that its lens found; of calls of one turn with one id, the first that is still open.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from compactor.core.model import Call, Entry, Kind, Part, PartKind, Path
from compactor.formats.convert.natives import Natives, Sealed, find, medium_of, order_of, seal_of
from compactor.formats.messages import field, listed, text_field, value_at
from compactor.formats.raw.json_text import NotJsonError
from compactor.formats.raw.objects import is_object
from compactor.formats.talk import Asked, Opaque, Piece, Reasoning, Said, Text

_PLAIN: Final[Mapping[str, str]] = {
    "openai-chat": "chat",
    "gemini": "gemini",
    "bedrock": "bedrock",
}
"""Formats whose API takes back reasoning that is not sealed → the family of such reasoning."""
_CALLS: Final = ("functionCall", "function_call")


class Source(NamedTuple):
    """Where a conversation comes from.

    name: of the format.
    failed: ids of calls that failed, beside the format's own flags.
    same: it is written in the very format it comes from.
    """

    name: str
    root: Any
    failed: Collection[str] = ()
    same: bool = False


def tell(entries: Sequence[Entry], source: Source) -> list[Said]:
    """What was said, one for each entry. Linear in the native data."""
    natives = find(source.root, entries, blocks=source.same)
    asked = _Asking(entries)
    said: list[Said] = []
    for seq, entry in enumerate(entries):
        pieces = _Pieces(source, natives, entry)
        if entry.kind is Kind.ASSISTANT:
            said.append(Said(entry.kind, pieces.turn(asked.keys_of(seq)), seq))
        elif entry.kind is Kind.TOOL:
            said.append(
                Said(
                    entry.kind,
                    pieces.result(),
                    seq,
                    entry.call_id,
                    entry.name,
                    entry.error or entry.call_id in source.failed,
                    asked.answered_by(entry),
                )
            )
        else:
            said.append(Said(entry.kind, pieces.message(), seq))
    return said


class _Asking:
    """Which call each result answers. O(entries + calls)."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._first: list[int] = []
        self._by_object: dict[int, tuple[Call, int, int]] = {}
        self._by_place: dict[Path, tuple[Call, int, int]] = {}
        self._waiting: dict[tuple[int, str, str], list[int]] = {}
        self._done: set[int] = set()
        key = 0
        for seq, entry in enumerate(entries):
            self._first.append(key)
            for call in entry.calls:
                found = (call, seq, key)
                self._by_object[id(call)] = found
                if call.at:
                    self._by_place[call.at] = found
                self._waiting.setdefault(_name_in(call, seq), []).append(key)
                key += 1
        for waiting in self._waiting.values():
            waiting.reverse()

    def keys_of(self, seq: int) -> int:
        """The key of an entry's first call; the others follow."""
        return self._first[seq]

    def answered_by(self, result: Entry) -> int | None:
        """The key of the call that a result answers; None when no call is known.

        Where ids repeat in a turn, results answer in their order.
        """
        call = result.call
        found = None if call is None else self._by_object.get(id(call))
        if found is None and call is not None and call.at:
            found = self._by_place.get(call.at)
        if found is None:
            return None
        call, seq, key = found
        if not call.id and key not in self._done:
            self._done.add(key)
            return key
        waiting = self._waiting[_name_in(call, seq)]
        while waiting and waiting[-1] in self._done:
            waiting.pop()
        key = waiting.pop() if waiting else key
        self._done.add(key)
        return key


def _name_in(call: Call, seq: int) -> tuple[int, str, str]:
    """What calls of a turn are told apart by: their ids, and where they have none their names."""
    return seq, call.id, "" if call.id else call.name


class _Pieces:
    """The pieces of one entry."""

    def __init__(self, source: Source, natives: Natives, entry: Entry) -> None:
        self._source = source
        self._natives = natives
        self._entry = entry
        self._signatures: dict[Path, str] = {}
        self._next: dict[str, int] = {}

    def message(self) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        for part in self._entry.parts:
            self._put(pieces, part, self._seal(part))
        return tuple(pieces)

    def result(self) -> tuple[Piece, ...]:
        body = (Text(self._entry.body),) if self._entry.body else ()
        return (*body, *self.message())

    def turn(self, key: int) -> tuple[Piece, ...]:
        """Parts and calls in one order. key: of the first call."""
        pieces: list[Piece] = []
        calls = iter([*enumerate(self._entry.calls, key), None])
        call = next(calls)
        for part in self._entry.parts:
            sealed = self._seal(part)
            place = part.at or _place(sealed)
            while call is not None and place and order_of(call[1].at) < order_of(place):
                pieces.append(self._asked(*call))
                call = next(calls)
            self._put(pieces, part, sealed)
        while call is not None:
            pieces.append(self._asked(*call))
            call = next(calls)
        return tuple(pieces)

    def _seal(self, part: Part) -> Sealed | None:
        """The block that a sealed part was read from: of several alike the next in the entry."""
        found = self._natives.seals.get(part.digest) if part.kind is PartKind.SEALED else None
        if not found:
            return None
        first, start = self._next.get(part.digest), order_of(self._entry.at)
        if first is None:
            first = bisect_left(found, start, key=lambda each: order_of(each.at))
        self._next[part.digest] = first + 1
        return found[min(first, len(found) - 1)]

    def _asked(self, key: int, call: Call) -> Asked:
        custom = call.at[-1:] == ("input",) and _is_custom(self._source.root, call.at[:-1])
        return Asked(call.id, call.name, call.arguments, custom, self._signature(call), key)

    def _signature(self, call: Call) -> str:
        """The signature beside a call, of whose address it is a beginning."""
        for size in range(len(call.at) if self._signatures else 0):
            signature = self._signatures.get(call.at[:size])
            if signature:
                return signature
        return ""

    def _put(self, pieces: list[Piece], part: Part, sealed: Sealed | None) -> None:
        if part.kind is PartKind.TEXT:
            pieces.append(Text(part.text))
        elif part.kind is PartKind.SEALED or (part.kind is PartKind.REASONING and part.signed):
            self._put_sealed(pieces, part, sealed)
        elif part.kind is PartKind.REASONING:
            pieces.append(Reasoning(part.text, _PLAIN.get(self._source.name, "")))
        elif part.kind is PartKind.OTHER:
            pieces.append(Opaque(part.kind, self._natives.blocks.get(part.digest)))
        else:
            medium = medium_of(part, self._natives.media)
            pieces.append(Opaque(part.kind) if medium is None else medium)

    def _put_sealed(self, pieces: list[Piece], part: Part, sealed: Sealed | None) -> None:
        if part.signed:
            reasoning = seal_of(_value_at(self._source.root, part.at))
            pieces.append(reasoning or Reasoning(part.text))
        elif sealed is None:
            pieces.append(Reasoning(""))
        elif sealed.reasoning.family == "gemini":
            self._put_signature(pieces, sealed)
        else:
            pieces.append(_with_summary(pieces, sealed.reasoning))

    def _put_signature(self, pieces: list[Piece], sealed: Sealed) -> None:
        """A signature goes to the call or the text it stands beside; alone it is an empty text."""
        seal, last = sealed.reasoning.seal, pieces[-1] if pieces else None
        if any(is_object(field(sealed.block, key)) for key in _CALLS):
            self._signatures[sealed.at] = seal
        elif isinstance(last, Text) and field(sealed.block, "text") == last.text:
            pieces[-1] = last._replace(signature=seal)
        elif isinstance(last, Reasoning) and field(sealed.block, "text") == last.text:
            pieces[-1] = last._replace(seal=seal)
        else:
            pieces.append(Text("", seal))


def _place(sealed: Sealed | None) -> Path:
    """Where a sealed block is; () for one that is a sibling of what it signs."""
    return sealed.at if sealed and sealed.reasoning.family != "gemini" else ()


def _with_summary(pieces: list[Piece], sealed: Reasoning) -> Reasoning:
    """A sealed item with its summaries, which were told before it and are a part of it."""
    blocks = (
        block for key in ("summary", "content") for block in listed(field(sealed.native, key))
    )
    texts = [text for text in (text_field(block, "text") for block in blocks) if text]
    for text in reversed(texts):
        if pieces and pieces[-1] == Reasoning(text):
            pieces.pop()
    return sealed._replace(text="\n".join(texts))


def _is_custom(root: Any, at: Path) -> bool:
    """Whether a call is one of a tool whose input is a text of its own."""
    native = _value_at(root, at)
    return at[-1:] == ("custom",) or field(native, "type") == "custom_tool_call"


def _value_at(root: Any, at: Path) -> Any:
    """The value at an address; None where there is none."""
    try:
        return value_at(root, at)
    except (LookupError, TypeError, NotJsonError):
        return None
