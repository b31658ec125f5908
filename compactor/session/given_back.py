"""What a harness gives back of ours: texts that a request carries because we showed them before.

Some harnesses keep what they send, not what they were told. A text that a record showed, at the
place of which the record speaks, is identity with that record and no parsing: the entry is taken
for what it was. Later records may show something else there by now, so all that stood count.
Specification: DESIGN section 3, seq.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from compactor.core.journal import (
    AnyRecord,
    EditRecord,
    PassRecord,
    Resolution,
    StubsRecord,
    SummaryRecord,
)
from compactor.core.model import Entry, Kind, Part, PartKind, Path, entry_digest

Original = Callable[[int], Entry]
"""Index in the branch → the entry as it was first handed in."""
BlockOf = Callable[[Entry, int], Path]
"""Entry of a request, part → address of the block that it comes from."""


class GivenBack:
    """Texts that records showed, by the index that they speak of.

    runs: index → where the run ends and its text, the newest first.
    bodies: of results; replies: of turns, by part.
    turns: digests of turns with elided arguments.
    """

    def __init__(self, records: Iterable[AnyRecord] = ()) -> None:
        self.runs: dict[int, list[tuple[int, str]]] = {}
        self.bodies: dict[int, set[str]] = {}
        self.replies: dict[int, dict[int, set[str]]] = {}
        self.turns: dict[int, set[str]] = {}
        for record in records:
            self.take(record)

    def take(self, record: AnyRecord) -> None:
        """Count what one more record shows. O(its texts)."""
        match record:
            case PassRecord():
                for elision in record.elided:
                    self.bodies.setdefault(elision.seq, set()).add(elision.text)
                for inputs in record.inputs:
                    self.turns.setdefault(inputs.seq, set()).add(inputs.shown)
                self._resolve(record.stubs)
            case StubsRecord():
                self._resolve(record.resolved)
            case SummaryRecord():
                self._run(0, record.upto, record.text)
            case EditRecord(op="rewrite", part=-1):
                self.bodies.setdefault(record.first, set()).add(record.text)
            case EditRecord(op="rewrite"):
                replies = self.replies.setdefault(record.first, {})
                replies.setdefault(record.part, set()).add(record.text)
            case EditRecord():
                self._run(record.first, record.end, record.text)
            case _:
                pass

    def _run(self, first: int, end: int, text: str) -> None:
        self.runs.setdefault(first, []).insert(0, (end, text))

    def _resolve(self, resolved: Iterable[Resolution]) -> None:
        for resolution in resolved:
            self.bodies.setdefault(resolution.seq, set()).add(resolution.text)

    def restored(self, entry: Entry, index: int, original: Original) -> Entry:
        """A result or turn as it was handed in first, where it shows texts of ours."""
        if entry.kind is Kind.TOOL and entry.body in self.bodies.get(index, ()):
            known = original(index)
            if known.kind is Kind.TOOL and known.call_id == entry.call_id:  # else another one
                return msgspec.structs.replace(entry, body=known.body, parts=known.parts)
        if entry.kind is not Kind.ASSISTANT:
            return entry
        if index in self.replies:
            entry = self._with_replies(entry, original(index), self.replies[index])
        if index in self.turns and entry_digest(entry) in self.turns[index]:
            known = original(index)
            pairs = zip(entry.calls, known.calls, strict=True)
            calls = tuple(call._replace(arguments=was.arguments) for call, was in pairs)
            return msgspec.structs.replace(entry, calls=calls)
        return entry

    def _with_replies(self, entry: Entry, known: Entry, replies: dict[int, set[str]]) -> Entry:
        """A turn with its own texts. Reasoning may be gone, so only texts are laid over texts."""
        own = [at for at, part in enumerate(known.parts) if part.kind is PartKind.TEXT]
        here = [at for at, part in enumerate(entry.parts) if part.kind is PartKind.TEXT]
        parts = list(entry.parts)
        if len(own) != len(here):
            return entry
        for at, was in zip(here, own, strict=True):
            if parts[at].text in replies.get(was, ()):
                parts[at] = parts[at]._replace(text=known.parts[was].text)
        return msgspec.structs.replace(entry, parts=tuple(parts))

    def pieces(self, entry: Entry, index: int, size: int, original: Original) -> list[Piece]:
        """What an entry of the user holds where a text of ours is in it, alone or beside others.

        A provider that takes no two messages of the user in a row makes us put a text into the
        message beside it, as a part of its own.

        Args:
            size: how many entries the branch has.

        Returns:
            the pieces; none when there is no such text or anything else is in it.
        """
        pieces: list[Piece] = []
        parts, part = entry.parts, 0
        while part < len(parts) and index < size:
            end = self._run_of(parts[part], index, size)
            if end:
                pieces.append(Piece(index, end, part))
                part, index = part + 1, end
                continue
            known = original(index)
            stop = part + len(known.parts)
            if known.kind is not Kind.USER or parts[part:stop] != known.parts:
                return []
            pieces.append(Piece(index, 0, part))
            part, index = stop, index + 1
        return pieces if part == len(parts) and any(piece.end for piece in pieces) else []

    def _run_of(self, part: Part, index: int, size: int) -> int:
        """Where the run ends that a part stands for; 0 when it stands for none."""
        if part.kind is not PartKind.TEXT:
            return 0
        known = self.runs.get(index, ())
        return next((end for end, text in known if text == part.text and end <= size), 0)


class Piece(NamedTuple):
    """A piece of what the user said: one entry, or a text of ours.

    first: index of the entry, or of the first one of the run; end: of the run, 0 for an entry.
    part: of the request's entry, where the piece begins.
    """

    first: int
    end: int
    part: int


def originals(
    entry: Entry, pieces: list[Piece], original: Original, block_of: BlockOf
) -> Iterator[Entry]:
    """The entries of pieces, with the address of what stands for them in the request."""
    is_whole = len(pieces) == 1
    for first, end, part in pieces:
        at = entry.at if is_whole else block_of(entry, part)
        for index in range(first, end or first + 1):
            known = original(index)
            yield known if known.at == at else msgspec.structs.replace(known, at=at)
