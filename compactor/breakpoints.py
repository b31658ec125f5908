"""Where cache breakpoints keep the unchanged prefix readable, and placing them.

A pass rewrites the prompt from its first changed entry on; what lies before is still in the
provider's cache, but is found only from a breakpoint close behind it. The frontier is that place.
All addresses are of the request as it is shown. Specification: DESIGN section 9; providers.md A1,
A2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from compactor.core.compact import Decision
from compactor.core.errors import Finding
from compactor.core.model import Entry, Path
from compactor.core.report import frontier
from compactor.formats.edits import Edit, apply_edits, dotted
from compactor.formats.lens import CacheBreakpoints, Lens


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
    lens: Lens, shown: Any, entries: Sequence[Entry], decision: Decision
) -> Frontier | None:
    """The frontier of a request; None when there is none or the format has no breakpoints."""
    seq = frontier(decision)
    if seq is None or not isinstance(lens, CacheBreakpoints):
        return None
    at = lens.block_at_end(shown, entries[seq])
    return None if at is None else Frontier(seq, at)


def place(
    lens: Lens, shown: Any, entries: Sequence[Entry], found: Frontier | None, cache_rule: str | None
) -> Placed:
    """Breakpoints at the frontier and at the end of the request, as far as the limit allows.

    The request's own breakpoints stay; where they leave one place, the frontier has it, because the
    end is where a harness sets its own.

    Args:
        cache_rule: of the model, as its table names it; None when the model is not known.
    """
    if not isinstance(lens, CacheBreakpoints):
        return _not_placed(f"we place no cache breakpoints in format {lens.name!r}")
    if cache_rule is not None and cache_rule not in lens.cache_rules:
        return _not_placed(f"the model's cache ({cache_rule}) knows no breakpoints of this format")
    last = lens.block_at_end(shown, entries[-1]) if entries else None
    wanted = [at for at in (found.at if found else None, last) if at is not None]
    edits: list[Edit] = []
    free = lens.breakpoint_limit - lens.breakpoints(shown)
    for at in dict.fromkeys(wanted):
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
        then: addresses outside of lists that `edits` remove items of.
    """
    all_edits = list(edits)
    for path, value in then:
        for index, (outer, container) in enumerate(all_edits):
            if len(outer) < len(path) and path[: len(outer)] == outer:
                inner = apply_edits(container, [Edit(path[len(outer) :], value)])
                all_edits[index] = Edit(outer, inner)
                break
        else:
            all_edits.append(Edit(path, value))
    return all_edits
