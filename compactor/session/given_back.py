"""What a harness gives back of ours: texts that a request carries because we showed them before.

Some harnesses keep what they send, not what they were told. A text that a record showed, at the
place of which the record speaks, is identity with that record and no parsing: the entry is taken
for what it was. Later records may show something else there by now, so all that stood count.
Turns with texts of ours are known by their digests (`View.known`).
Specification: DESIGN section 3, seq.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from compactor.core.model import Entry, Kind, Part, PartKind, Path, entry_digest
from compactor.core.records import (
    AnyRecord,
    EditRecord,
    PassRecord,
    Resolution,
    StubsRecord,
    SummaryRecord,
)

BlockOf = Callable[[Entry, int], Path]
"""Entry of a request, part → address of the block that it comes from."""


class GivenBack:
    """Texts that records showed, by the index that they speak of.

    runs: index → where the run ends and its text, the newest first; bodies: of results.
    """

    def __init__(self, records: Iterable[AnyRecord] = ()) -> None:
        self.runs: dict[int, list[tuple[int, str]]] = {}
        self.bodies: dict[int, set[str]] = {}
        for record in records:
            self.take(record)

    def take(self, record: AnyRecord) -> None:
        """Count what one more record shows. O(its texts)."""
        match record:
            case PassRecord():
                for elision in record.elided:
                    self.bodies.setdefault(elision.seq, set()).add(elision.text)
                self._resolve(record.stubs)
            case StubsRecord():
                self._resolve(record.resolved)
            case SummaryRecord():
                self._run(0, record.upto, record.text)
            case EditRecord(op="rewrite", part=-1):
                self.bodies.setdefault(record.first, set()).add(record.text)
            case EditRecord(op="tombstone" | "replace"):
                self._run(record.first, record.end, record.text)
            case _:
                pass

    def _run(self, first: int, end: int, text: str) -> None:
        self.runs.setdefault(first, []).insert(0, (end, text))

    def _resolve(self, resolved: Iterable[Resolution]) -> None:
        for resolution in resolved:
            self.bodies.setdefault(resolution.seq, set()).add(resolution.text)


class Known(NamedTuple):
    """What a request is laid over.

    digests: of the branch; turns: index → what a turn's may be otherwise, `View.known`.
    original: index → the entry as it was first handed in.
    ours: what the request may carry of ours.
    """

    digests: Sequence[str]
    turns: Mapping[int, Iterable[str]]
    original: Callable[[int], Entry]
    ours: GivenBack

    def restored(self, entry: Entry, index: int) -> Entry:
        """An entry as it was handed in first, where it shows texts of ours."""
        if entry.kind is Kind.TOOL:
            if entry.body in self.ours.bodies.get(index, ()):
                was = self.original(index)
                if was.kind is Kind.TOOL and was.call_id == entry.call_id:
                    return msgspec.structs.replace(entry, body=was.body, parts=was.parts)
        elif index in self.turns and entry_digest(entry) in self.turns[index]:
            return _with_texts_of(self.original(index), entry)
        return entry

    def pieces(self, entry: Entry, index: int, behind: Entry | None) -> list[Piece]:
        """What an entry of the user holds where a text of ours is in it, alone or beside others.

        A provider that takes no two messages of the user in a row makes us put a text into the
        message beside it, as a part of its own.

        Args:
            behind: the next entry of the request.

        Returns:
            the pieces; none when there is no such text or anything else is in it.
        """
        pieces: list[Piece] = []
        parts = entry.parts
        while parts and index < len(self.digests):
            part = len(entry.parts) - len(parts)
            end = self._end_of(parts, index, behind)
            if end:
                pieces.append(Piece(index, end, part))
                parts, index = parts[1:], end
                continue
            if not self._begins(parts, index):
                return []
            pieces.append(Piece(index, 0, part))
            parts, index = parts[len(self.original(index).parts) :], index + 1
        return pieces if not parts and any(piece.end for piece in pieces) else []

    def _end_of(self, parts: tuple[Part, ...], index: int, behind: Entry | None) -> int:
        """Where the run ends that the first of these parts stands for; 0 when it stands for none.

        Runs that began here may have had the same text: then what follows tells them apart.
        """
        ends = self._ends(parts[0], index)
        if len(ends) < 2:
            return ends[0] if ends else 0
        rest = parts[1:]
        fits = (e for e in ends if (self._begins(rest, e) if rest else self._is_at(behind, e)))
        return next(fits, ends[0])

    def _ends(self, part: Part, index: int) -> list[int]:
        if part.kind is not PartKind.TEXT:
            return []
        known, size = self.ours.runs.get(index, ()), len(self.digests)
        return list(dict.fromkeys(end for end, text in known if text == part.text and end <= size))

    def _begins(self, parts: tuple[Part, ...], index: int) -> bool:
        """Whether what the user says begins with an entry of the branch, or a text in its place."""
        if index >= len(self.digests) or self._ends(parts[0], index):
            return index < len(self.digests)
        was = self.original(index)
        return was.kind is Kind.USER and parts[: len(was.parts)] == was.parts

    def _is_at(self, entry: Entry | None, index: int) -> bool:
        """Whether an entry of the request is that of the branch, or a text in its place."""
        if entry is None or index >= len(self.digests):
            return entry is None and index >= len(self.digests)
        if entry.kind is Kind.USER and entry.parts:
            return self._begins(entry.parts, index)
        digests = (self.digests[index], *self.turns.get(index, ()))
        return entry_digest(self.restored(entry, index)) in digests


def _with_texts_of(was: Entry, entry: Entry) -> Entry:
    """A turn with the texts and arguments that it had first."""
    if len(was.parts) != len(entry.parts) or len(was.calls) != len(entry.calls):
        return entry  # its reasoning went too
    parts = tuple(
        part._replace(text=old.text) if part.kind is PartKind.TEXT else part
        for part, old in zip(entry.parts, was.parts, strict=True)
    )
    calls = tuple(
        call._replace(arguments=old.arguments)
        for call, old in zip(entry.calls, was.calls, strict=True)
    )
    return msgspec.structs.replace(entry, parts=parts, calls=calls)


class Piece(NamedTuple):
    """A piece of what the user said: one entry, or a text of ours.

    first: index of the entry, or of the first one of the run; end: of the run, 0 for an entry.
    part: of the request's entry, where the piece begins.
    """

    first: int
    end: int
    part: int


def originals(
    entry: Entry, pieces: list[Piece], known: Known, block_of: BlockOf
) -> Iterator[Entry]:
    """The entries of pieces, with the address of what stands for them in the request."""
    is_whole = len(pieces) == 1
    for first, end, part in pieces:
        at = entry.at if is_whole else block_of(entry, part)
        for index in range(first, end or first + 1):
            was = known.original(index)
            yield was if was.at == at else msgspec.structs.replace(was, at=at)
