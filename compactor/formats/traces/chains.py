"""Recorded requests, sorted into the conversations they belong to.

A request carries its whole history, so the next request of a conversation begins with the entries
of the last one. It belongs to the conversation whose last request it extends or repeats; or with
which it shares more than that conversation began with (then a user went back, or a harness took
something out); or whose only request it answers, but for what stood at its end. For this results
are the same whatever their text is, as harnesses clear them. Entries are compared by digest. Only
digests are kept, so a log may be far larger than memory.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from compactor.core.model import Entry, Kind, entry_digest

_ROOT = 0


class Kept(NamedTuple):
    """A request over the first entries of what its conversation carried last.

    request: its number.
    n: it was made over entries 0..n-1.
    """

    request: int
    n: int


class Chain(NamedTuple):
    """One conversation.

    requests: numbers of its requests from 0, in the order in which they were added; at least one.
    size: how many entries its last request carried.
    """

    requests: tuple[int, ...]
    size: int


class Chains:
    """Takes requests one at a time. Each costs O(its entries)."""

    def __init__(self) -> None:
        self._exact = _Histories()
        self._alike = _Histories()
        self._owner: dict[int, int] = {}
        self._ends: list[_Ends] = []
        self._thread_of: list[int] = []
        self._threads: list[_Thread] = []

    def add(
        self, entries: Sequence[Entry], *, after: int | None = None, joins: int | None = None
    ) -> None:
        """The next request.

        Args:
            entries: what it carried, oldest first; with `after` only what it carried beyond that.
            after: number of an earlier request of which it says that it goes on from it.
            joins: number of an earlier request of the same conversation, where it shares nothing.
        """
        start = _Ends(_ROOT, _ROOT) if after is None else self._ends[after]
        digests = [*map(entry_digest, entries)]
        exact = self._exact.walk(start.exact, digests)
        alike = self._alike.walk(start.alike, map(_alike, entries, digests))
        known = joins if after is None else after
        thread = self._thread_of[known] if known is not None else self._continued(alike, entries)
        if thread < 0:
            thread = len(self._threads)
            self._threads.append(_Thread(first=alike.end))
        self._owner.update(dict.fromkeys(alike.nodes, thread))
        self._threads[thread].add(len(self._ends), alike.end, entries)
        self._ends.append(_Ends(exact.end, alike.end))
        self._thread_of.append(thread)

    def chains(self) -> list[Chain]:
        """The conversations, the largest first, the others in the order in which they began."""
        depth = self._alike.depth
        found = [Chain(tuple(t.requests), depth[t.last]) for t in self._threads]
        largest = max(found, key=lambda chain: chain.size, default=None)
        return [] if largest is None else [largest, *(c for c in found if c is not largest)]

    def kept(self, chain: Chain) -> list[Kept]:
        """Its requests over a start of what its last one carried, in order. O(size + requests)."""
        inside = frozenset(self._exact.above(self._ends[chain.requests[-1]].exact))
        ends = ((request, self._ends[request].exact) for request in chain.requests)
        return [Kept(request, self._exact.depth[end]) for request, end in ends if end in inside]

    def _continued(self, walk: _Walk, entries: Sequence[Entry]) -> int:
        """The conversation that goes on with a request; -1 when it begins one."""
        index = self._owner.get(walk.shared, -1)
        if index < 0:
            return -1
        thread, depth = self._threads[index], self._alike.depth
        shared = depth[walk.shared]
        if walk.shared == thread.last or shared > depth[thread.first]:
            return index
        is_answered = shared < len(entries) and entries[shared].kind is Kind.ASSISTANT
        return index if is_answered and not thread.has_turn else -1


def _alike(entry: Entry, digest: str) -> str:
    """What an entry has in common with itself after its result was cleared."""
    if entry.kind is not Kind.TOOL:
        return digest
    return f"{len(entry.call_id)}:{entry.call_id}{entry.name}"


class _Ends(NamedTuple):
    """Where a request's history ends: as it is, and but for the text of results."""

    exact: int
    alike: int


class _Walk(NamedTuple):
    """A history that was walked through.

    nodes: one an entry.
    end: the last of them, or where it began.
    shared: the last that was known before.
    """

    nodes: list[int]
    end: int
    shared: int


class _Histories:
    """Histories by what they begin with: a node stands for a digest behind all before it.

    depth: how many entries lie up to a node.
    """

    def __init__(self) -> None:
        self.depth = [0]
        self._before = [_ROOT]
        self._nodes: dict[tuple[int, str], int] = {}

    def walk(self, node: int, digests: Iterable[str]) -> _Walk:
        """From a node on; nodes are made where they are new."""
        nodes: list[int] = []
        shared = node
        for digest in digests:
            found = self._nodes.get((node, digest))
            if found is None:
                found = self._nodes[node, digest] = len(self.depth)
                self._before.append(node)
                self.depth.append(self.depth[node] + 1)
            else:
                shared = found
            nodes.append(found)
            node = found
        return _Walk(nodes, node, shared)

    def above(self, node: int) -> Iterator[int]:
        """A node and all before it."""
        while node != _ROOT:
            yield node
            node = self._before[node]
        yield _ROOT


class _Thread:
    """A conversation as it grows.

    first, last: the ends of its first and its last request.
    has_turn: whether any of its requests held a model turn.
    """

    def __init__(self, first: int) -> None:
        self.first = self.last = first
        self.requests: list[int] = []
        self.has_turn = False

    def add(self, request: int, end: int, entries: Sequence[Entry]) -> None:
        """A request of this conversation."""
        self.requests.append(request)
        self.last = end
        self.has_turn |= any(entry.kind is Kind.ASSISTANT for entry in entries)
