"""The live branch: which stored entries a request carries, and what the new ones are called.

Entries are matched in order by digest: matched ones keep their seq, the others are new. What a
request does not carry is off the branch and stays stored. A text of ours that stands for a run of
entries (a summary, an edit) stands for them here too. Specification: DESIGN section 3, seq.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import is_
from typing import NamedTuple

import msgspec

from compactor.core.model import Entry, Kind, PartKind, Path, entry_digest
from compactor.core.view import View

BlockOf = Callable[[Entry, int], Path]
"""Entry of a request, part → address of the block that it comes from."""


class Branch:
    """The entries that the last request carried, oldest first: parallel lists.

    seqs, digests: as stored.
    seen: the entries as last handed in; None for those that this process has not read.
    """

    def __init__(self, seqs: list[int], digests: list[str]) -> None:
        self.seqs = seqs
        self.digests = digests
        self.seen: list[Entry | None] = [None] * len(seqs)

    def __len__(self) -> int:
        return len(self.seqs)

    def follow(self, matched: Matched) -> None:
        """Become what a request carries. O(what changed), and a copy of pointers."""
        keep = matched.keep
        self.seqs[keep:] = matched.labels[keep:]
        self.digests[keep:] = matched.digests
        self.seen = list(matched.entries)

    def cut(self, size: int) -> None:
        """Only the first entries stay."""
        del self.seqs[size:], self.digests[size:], self.seen[size:]


class Matched(NamedTuple):
    """A request laid over the branch.

    entries: all entries, those behind a message of ours included; labels: their seqs.
    keep: how many entries of the branch stand as they are before the first difference.
    new: indexes of the entries that are new, ascending; digests: of the entries from `keep` on.
    carried: first indexes of the runs that the request shows already.
    """

    entries: list[Entry]
    labels: list[int]
    keep: int
    new: list[int]
    digests: list[str]
    carried: frozenset[int]


def lay(
    entries: Sequence[Entry],
    branch: Branch,
    view: View,
    next_seq: int,
    original: Callable[[int], Entry],
    block_of: BlockOf | None = None,
) -> Matched:
    """Lay the entries of a request over the branch.

    Args:
        entries: as the request carries them, oldest first.
        branch: what the last request carried.
        view: of the branch's journal: what we made of its entries.
        next_seq: of the first new entry.
        original: index in the branch → the stored entry, for those behind a text of ours.
        block_of: entry of the request, part → address, as `Revisions.block_of`; None where the
            format has no revisions.

    Returns:
        O(new entries), and a pointer comparison for each of the others.
    """
    laid, carried = _expanded(entries, branch, view, original, block_of or _message_of)
    keep = _common(laid, branch, view)
    labels = branch.seqs[:keep]
    later = _Later(branch, keep)
    new: list[int] = []
    digests: list[str] = []
    for index in range(keep, len(laid)):
        digest = entry_digest(laid[index])
        seq = later.take(digest)
        if seq is None:
            seq = next_seq + len(new)
            new.append(index)
        labels.append(seq)
        digests.append(digest)
    return Matched(laid, labels, keep, new, digests, carried)


def _expanded(
    entries: Sequence[Entry],
    branch: Branch,
    view: View,
    original: Callable[[int], Entry],
    block_of: BlockOf,
) -> tuple[list[Entry], frozenset[int]]:
    """The entries with our own texts replaced by what they stand for. O(entries) if any."""
    if not view.runs:
        return list(entries), frozenset()
    laid: list[Entry] = []
    carried: list[int] = []
    for entry in entries:
        pieces = _pieces(entry, len(laid), branch, view, original)
        carried += [piece.first for piece in pieces if piece.end]
        laid += _originals(entry, pieces, original, block_of) if pieces else [entry]
    return laid, frozenset(carried)


def _message_of(entry: Entry, part: int) -> Path:  # noqa: ARG001
    return entry.at


class _Piece(NamedTuple):
    """A piece of what the user said, which is one entry or a run of ours.

    first: index of the entry, or of the first one of the run; end: of the run, 0 for an entry.
    part: of the request's entry, where the piece begins.
    """

    first: int
    end: int
    part: int


def _pieces(
    entry: Entry, index: int, branch: Branch, view: View, original: Callable[[int], Entry]
) -> list[_Piece]:
    """What an entry of the user holds where a text of ours is in it, alone or beside others.

    A provider that takes no two messages of the user in a row makes us put a text into the message
    beside it, each as parts of its own.

    Returns:
        the pieces; none when there is no such text or anything else is in it.
    """
    pieces: list[_Piece] = []
    part = 0
    while part < len(entry.parts) and index < len(branch) and entry.kind is Kind.USER:
        run = view.runs.get(index)
        if run is not None and run.end <= len(branch) and _says(entry, part, run.text):
            pieces.append(_Piece(index, run.end, part))
            part, index = part + 1, run.end
            continue
        known = original(index)
        end = part + len(known.parts)
        if known.kind is not Kind.USER or entry.parts[part:end] != known.parts:
            return []
        pieces.append(_Piece(index, 0, part))
        part, index = end, index + 1
    return pieces if part == len(entry.parts) and any(piece.end for piece in pieces) else []


def _says(entry: Entry, part: int, text: str) -> bool:
    found = entry.parts[part]
    return found.kind is PartKind.TEXT and found.text == text


def _originals(
    entry: Entry, pieces: list[_Piece], original: Callable[[int], Entry], block_of: BlockOf
) -> Iterator[Entry]:
    """The entries of pieces, with the address of what stands for them in the request."""
    is_whole = len(pieces) == 1
    for first, end, part in pieces:
        at = entry.at if is_whole else block_of(entry, part)
        for index in range(first, end or first + 1):
            known = original(index)
            yield known if known.at == at else msgspec.structs.replace(known, at=at)


def _common(laid: Sequence[Entry], branch: Branch, view: View) -> int:
    """How many entries stand as the branch has them: same object, same facts, or our rendering."""
    upto = min(len(laid), len(branch))
    if all(map(is_, islice(branch.seen, upto), laid)):
        return upto
    for index in range(upto):
        entry = laid[index]
        if branch.seen[index] is entry or branch.digests[index] == entry_digest(entry):
            continue
        if entry.kind is not Kind.TOOL or view.bodies.get(index) != entry.body:
            return index
    return upto


class _Later:
    """The entries of the branch behind the first difference, taken in order by digest."""

    def __init__(self, branch: Branch, start: int) -> None:
        self._branch = branch
        self._start = start
        self._at = start
        self._places: Mapping[str, list[int]] | None = None

    def take(self, digest: str) -> int | None:
        """The seq of the next entry with a digest; None when there is none. O(log n)."""
        if self._at >= len(self._branch):
            return None
        if self._places is None:
            places: dict[str, list[int]] = {}
            for index in range(self._start, len(self._branch)):
                places.setdefault(self._branch.digests[index], []).append(index)
            self._places = places
        found = self._places.get(digest, [])
        at = bisect_left(found, self._at)
        if at == len(found):
            return None
        self._at = found[at] + 1
        return self._branch.seqs[found[at]]
