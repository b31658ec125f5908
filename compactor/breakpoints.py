"""Where cache breakpoints keep the unchanged prefix readable, and placing them.

A pass rewrites the prompt from its first changed entry on; what lies before is still in the
provider's cache, but is found only from a breakpoint close behind it. The frontier is that place.
Specification: DESIGN section 9; providers.md A1, A2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from compactor.core.compact import Decision
from compactor.core.errors import Finding
from compactor.core.model import Entry, Path
from compactor.core.report import frontier
from compactor.formats.lens import CacheBreakpoints, Lens
from compactor.formats.edits import Edit, dotted


class Frontier(NamedTuple):
    """The entry and the native block of the frontier."""

    seq: int
    at: Path

    def report(self) -> dict[str, Any]:
        return {"seq": self.seq, "path": dotted(self.at)}


class Placed(NamedTuple):
    edits: list[Edit]
    findings: tuple[Finding, ...]


def find_frontier(
    lens: Lens, root: Any, entries: list[Entry], decision: Decision
) -> Frontier | None:
    """The frontier of a request; None when there is none or the format has no breakpoints."""
    seq = frontier(decision)
    if seq is None or not isinstance(lens, CacheBreakpoints):
        return None
    at = lens.block_at_end(root, entries[seq])
    return None if at is None else Frontier(seq, at)


def place(lens: Lens, root: Any, entries: list[Entry], found: Frontier | None) -> Placed:
    """Breakpoints at the frontier and at the end of the request, as far as the limit allows.

    The request's own breakpoints stay; where they leave one place, the frontier has it, because the
    end is where a harness sets its own.
    """
    if not isinstance(lens, CacheBreakpoints):
        text = f"format {lens.name!r} has no cache breakpoints"
        return Placed([], (Finding("breakpoints_not_placed", text),))
    last = lens.block_at_end(root, entries[-1]) if entries else None
    wanted = [at for at in (found.at if found else None, last) if at is not None]
    edits: list[Edit] = []
    free = lens.breakpoint_limit - lens.breakpoints(root)
    for at in dict.fromkeys(wanted):
        placing = lens.place_breakpoint(root, at)
        if placing and free <= 0:
            text = f"all {lens.breakpoint_limit} cache breakpoints are in use"
            return Placed(edits, (Finding("breakpoints_not_placed", text, dotted(at)),))
        free -= bool(placing)
        edits += placing
    return Placed(edits, ())
