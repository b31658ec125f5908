"""Where cache breakpoints keep the unchanged prefix readable, and placing them.

A pass rewrites the prompt from its first changed entry on; what lies before is still in the
provider's cache, but is found only from a breakpoint close behind it, and only where an earlier
request had one. All addresses are of the request as it is shown. Specification: DESIGN section 9;
providers.md A1, A2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from compactor.core.errors import Finding
from compactor.core.frontier import Reach
from compactor.core.model import Entry, Path
from compactor.formats.lens import CacheBreakpoints, Lens
from compactor.formats.raw.edits import Edit, apply_edits, dotted
from compactor.formats.raw.moved import Moved


class Place(NamedTuple):
    """A block where a breakpoint can stand, and the entry that it ends."""

    seq: int
    at: Path

    def report(self) -> dict[str, Any]:
        return {"seq": self.seq, "path": dotted(self.at)}


class Places(NamedTuple):
    """Where breakpoints are worth having; None where there is none.

    frontier: reads the longest prefix that stands as it was sent.
    anchor: keeps readable what later passes leave as it is.
    end: writes this request.
    passed: whether this request was rewritten.
    """

    frontier: Place | None = None
    anchor: Place | None = None
    end: Place | None = None
    passed: bool = False

    def report(self) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Frontier and anchor, as reports show them."""
        places = (self.frontier, self.anchor)
        frontier, anchor = (place.report() if place else None for place in places)
        return frontier, anchor

    def wanted(self) -> list[Path]:
        """Addresses, the most useful first.

        After a pass nothing is read without the frontier. Else a breakpoint at the end reads back
        to it over a few blocks, and the anchor, read by nobody yet, would expire.
        """
        first, second = (
            (self.frontier, self.anchor) if self.passed else (self.anchor, self.frontier)
        )
        return list(dict.fromkeys(place.at for place in (first, second, self.end) if place))


class Placed(NamedTuple):
    edits: list[Edit]
    findings: tuple[Finding, ...]


class Request(NamedTuple):
    """A request as it is shown.

    root: native data; moved: where in it things are.
    entries: as handed in; hidden: seq → first seq of the run in whose place a text of ours is.
    """

    root: Any
    moved: Moved
    entries: Sequence[Entry]
    hidden: Mapping[int, int]


def find(lens: Lens, request: Request, reach: Reach) -> Places:
    """The places of a request; none where the format has no breakpoints."""
    if not isinstance(lens, CacheBreakpoints):
        return Places()
    ends = (reach.frontier, reach.anchor, len(request.entries))
    frontier, anchor, end = (_place(lens, request, n) for n in ends)
    return Places(frontier, anchor, end, reach.passed)


def _place(lens: CacheBreakpoints, request: Request, n: int) -> Place | None:
    """The last block before entry n that can have a breakpoint, close by; none of a text of ours.

    The same n gives the same place in every request, so that what one writes another reads.
    """
    seq = n
    for _ in range(_STEPS):
        seq -= 1
        while seq in request.hidden:
            seq = request.hidden[seq] - 1
        if seq < 0:
            return None
        entry = request.entries[seq]
        moved = request.moved.after(entry.at)
        if moved is not None and moved != entry.at:
            entry = msgspec.structs.replace(entry, at=moved)
        at = lens.block_at_end(request.root, entry) if moved is not None else None
        if at is not None:
            return Place(seq, at)
    return None


_STEPS = 4
"""Entries looked at. A model's turn has no place, and no two of them are adjacent."""


def place(lens: Lens, shown: Any, places: Places, cache_rule: str | None) -> Placed:
    """Breakpoints at the frontier, the anchor and the end, as far as the limit allows.

    The request's own breakpoints stay; the end comes last, because that is where a harness sets its
    own.

    Args:
        cache_rule: of the model, as its table names it; None when the model is not known.
    """
    if not isinstance(lens, CacheBreakpoints):
        return _not_placed(f"we place no cache breakpoints in format {lens.name!r}")
    if cache_rule is not None and cache_rule not in lens.cache_rules:
        return _not_placed(f"the model's cache ({cache_rule}) knows no breakpoints of this format")
    edits: list[Edit] = []
    free = lens.breakpoint_limit - lens.breakpoints(shown)
    for at in places.wanted():
        placing = lens.place_breakpoint(shown, at)
        if placing and free <= 0:
            text = f"all {lens.breakpoint_limit} cache breakpoints are in use"
            return Placed(edits, (Finding("breakpoints_not_placed", text, dotted(at)),))
        free -= bool(placing)
        edits += placing
    if not edits or not isinstance(shown, list):
        return Placed(edits, ())
    text = f"breakpoints outside these messages count too: {lens.breakpoint_limit} in all"
    return Placed(edits, (Finding("breakpoints_elsewhere", text),))


def _not_placed(why: str) -> Placed:
    return Placed([], (Finding("breakpoints_not_placed", why),))


def added(edits: Iterable[Edit], then: Iterable[Edit]) -> list[Edit]:
    """Edits of a root, and edits of what they make of it, as edits of the root.

    Args:
        then: addresses of the edited root.
    """
    all_edits = list(edits)
    moved = Moved(all_edits)
    for at, value in then:
        path = moved.before(at)
        for index, (outer, container) in enumerate(all_edits):
            if len(outer) < len(path) and path[: len(outer)] == outer:
                inner = apply_edits(container, [Edit(path[len(outer) :], value)])
                all_edits[index] = Edit(outer, inner)
                break
        else:
            all_edits.append(Edit(path, value))
    return all_edits
