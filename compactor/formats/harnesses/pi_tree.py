"""Which rows of a pi session are in the next request, and in what order.

A session file is an append-only tree: each row names the row before it (`parentId`); in the oldest
files, without ids, each hangs on the one above it. The newest row decides which branch is live.
From the last compaction on it the request carries the summary, the rows that it kept verbatim, and
what follows. Links that lead nowhere fall back to the row before, so every walk goes up the file
and ends. Knows ids and links, never texts. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from compactor.formats.messages import field, text_field

Row = Mapping[str, Any]

MESSAGE, SESSION, COMPACTION = "message", "session", "compaction"


@dataclasses.dataclass(slots=True)
class Tree:
    """The linked rows of a session, by index in the file.

    up: index of the row that each hangs on; -1 at a root. Always smaller.
    place: index of a row by its id.
    broken: rows whose parent is not above them in the file.
    copies: rows left out because an earlier one has the same id.
    compactions: rows that say that what is above them was compacted.
    """

    up: dict[int, int] = dataclasses.field(default_factory=dict)
    place: dict[str, int] = dataclasses.field(default_factory=dict)
    broken: list[int] = dataclasses.field(default_factory=list)
    copies: list[int] = dataclasses.field(default_factory=list)
    compactions: set[int] = dataclasses.field(default_factory=set)


class Branch(NamedTuple):
    """The live branch, as indexes of rows.

    path: from the root to the newest row.
    prompt: what the next request carries, in its order.
    kept: those of `prompt` that the compaction kept verbatim.
    before: those of `path` that are no longer in the prompt.
    missing: the compaction names a first row to keep that is not on the path.
    """

    path: list[int]
    prompt: list[int]
    kept: frozenset[int]
    before: list[int]
    missing: bool


def link(rows: Sequence[Any]) -> Tree:
    """The rows with their links resolved. O(rows)."""
    tree, last = Tree(), -1
    for index, row in enumerate(rows):
        kind, name = text_field(row, "type"), text_field(row, "id")
        if not kind or kind == SESSION:
            continue
        if name in tree.place:
            tree.copies.append(index)
            continue
        tree.up[index] = _above(tree, row, index, last)
        if kind == COMPACTION:
            tree.compactions.add(index)
        if name:
            tree.place[name] = index
        last = index
    return tree


def live_branch(rows: Sequence[Any], tree: Tree) -> Branch:
    """The branch that holds the newest row. O(rows)."""
    path: list[int] = []
    index = max(tree.up, default=-1)
    while index >= 0:
        path.append(index)
        index = tree.up[index]
    path.reverse()
    cuts = [at for at, index in enumerate(path) if index in tree.compactions]
    if not cuts:
        return Branch(path, path, frozenset(), [], missing=False)
    cut = cuts[-1]
    first = _first_kept(rows[path[cut]], tree)
    start = cut if first is None else bisect_left(path, first, 0, cut)
    missing = first is not None and path[start] != first
    start = cut if missing else start
    kept = [index for index in path[start:cut] if index not in tree.compactions]
    prompt = [path[cut], *kept, *path[cut + 1 :]]
    return Branch(path, prompt, frozenset(kept), path[:start], missing)


def _above(tree: Tree, row: Row, index: int, last: int) -> int:
    """Index of a row's parent; the row before where it names none that is above it."""
    parent = row.get("parentId")
    if parent is None and text_field(row, "id") and "parentId" in row:
        return -1
    if isinstance(parent, str):
        if parent in tree.place:
            return tree.place[parent]
        tree.broken.append(index)
    return last


def _first_kept(row: Row, tree: Tree) -> int | None:
    """Index of the first row that a compaction kept; None when it kept none, -1 when unknown."""
    index = field(row, "firstKeptEntryIndex")
    if type(index) is int:
        return index
    name = text_field(row, "firstKeptEntryId")
    return tree.place.get(name, -1) if name else None
