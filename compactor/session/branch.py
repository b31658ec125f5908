"""The live branch: which stored entries a request carries, and what the new ones are called.

Entries are matched in order by digest: matched ones keep their seq, the others are new. What a
request does not carry is off the branch and stays stored. A text of ours that stands for a run of
entries (a summary, an edit) stands for them here too. Specification: DESIGN section 3, seq.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile
from operator import is_
from typing import NamedTuple, cast

from compactor.core.model import Entry, Kind, Path, entry_digest
from compactor.core.view import View
from compactor.session.given_back import BlockOf, Known, Piece, originals


class Branch:
    """The entries that the last request carried, oldest first: parallel lists.

    seqs, digests: as stored.
    seen: the entries with the addresses of the last request; None for those that this process has
        not read. What a request shows of ours is the original here.
    given: the entries of the last request itself, as far as they are one for one.
    """

    def __init__(self, seqs: list[int], digests: list[str]) -> None:
        self.seqs = seqs
        self.digests = digests
        self.seen: list[Entry | None] = [None] * len(seqs)
        self.given: list[Entry] = []

    def __len__(self) -> int:
        return len(self.seqs)

    def follow(self, matched: Matched) -> None:
        """Become what a request carries. O(what changed), and a copy of pointers."""
        keep = matched.keep
        self.seqs[keep:] = matched.labels[keep:]
        self.digests[keep:] = matched.digests
        self.seen = list(matched.entries)
        self.given = matched.given

    def cut(self, size: int) -> None:
        """Only the first entries stay."""
        del self.seqs[size:], self.digests[size:], self.seen[size:], self.given[size:]


class Matched(NamedTuple):
    """A request laid over the branch.

    entries: all entries, those behind a message of ours included; labels: their seqs.
    keep: how many entries of the branch stand as they are before the first difference.
    new: indexes of the entries that are new, ascending; digests: of the entries from `keep` on.
    carried: first indexes of the runs that the request shows already.
    given: the request's own entries before the first run that it shows.
    """

    entries: list[Entry]
    labels: list[int]
    keep: int
    new: list[int]
    digests: list[str]
    carried: frozenset[int]
    given: list[Entry]


def lay(
    entries: Sequence[Entry],
    branch: Branch,
    view: View,
    next_seq: int,
    known: Known,
    block_of: BlockOf | None = None,
) -> Matched:
    """Lay the entries of a request over the branch.

    Args:
        entries: as the request carries them, oldest first.
        branch: what the last request carried.
        view: of the branch's journal: what we made of its entries.
        next_seq: of the first new entry.
        known: what of the branch a request may carry in other words.
        block_of: entry of the request, part → address, as `Revisions.block_of`; None where the
            format has no revisions.

    Returns:
        O(new entries), and a pointer comparison for each of the others.
    """
    laid, given, carried = _expanded(entries, branch, view, known, block_of or _message_of)
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
    return Matched(laid, labels, keep, new, digests, carried, given)


def _expanded(
    entries: Sequence[Entry], branch: Branch, view: View, known: Known, block_of: BlockOf
) -> tuple[list[Entry], list[Entry], frozenset[int]]:
    """The entries with our own texts replaced by what they stand for. O(entries)."""
    same = sum(takewhile(bool, map(is_, branch.given, entries)))
    laid = cast("list[Entry]", branch.seen[:same])
    runs, carried = known.ours.runs, list[int]()
    end_of_given = len(entries)
    for number in range(same, len(entries)):
        entry, index = entries[number], len(laid)
        pieces: list[Piece] = []
        if index < len(branch) and entry.kind is Kind.USER and runs:
            behind = entries[number + 1] if number + 1 < len(entries) else None
            pieces = known.pieces(entry, index, behind)
        if not pieces:
            laid.append(known.restored(entry, index) if index < len(branch) else entry)
            continue
        end_of_given = min(end_of_given, number)
        carried += (first for first, end, part in pieces if _stands(view, first, end, entry, part))
        laid += originals(entry, pieces, known, block_of)
    return laid, list(entries[:end_of_given]), frozenset(carried)


def _stands(view: View, first: int, end: int, entry: Entry, part: int) -> bool:
    """Whether a run is shown as a part of this entry still."""
    run = view.runs.get(first)
    return run is not None and (run.end, run.text) == (end, entry.parts[part].text)


def _message_of(entry: Entry, part: int) -> Path:  # noqa: ARG001
    return entry.at


def _common(laid: Sequence[Entry], branch: Branch, view: View) -> int:
    """How many entries stand as the branch has them: same object, or the same facts."""
    upto = min(len(laid), len(branch))
    if all(map(is_, islice(branch.seen, upto), laid)):
        return upto
    for index in range(upto):
        entry = laid[index]
        if branch.seen[index] is entry:
            continue
        if entry_digest(entry) not in (branch.digests[index], *view.known.get(index, ())):
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
