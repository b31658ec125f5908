"""Revisions in requests: a text in the place of a run of entries, or of something that was said.

A run is all that lies between the address of its first entry and that of the entry behind it. The
text takes the place where it began: a block of the message that the run left something of, else a
message of its own. What that does to the order of speakers is settled in `turn_taking`; `speech`
says what a format's messages look like. Nothing is decided here.
Specification: DESIGN sections 3 and 8; reference providers.md C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from compactor.core.errors import InternalError
from compactor.core.model import Entry, Kind, Part, PartKind, Path
from compactor.core.view import Run
from compactor.formats.builder import Builder
from compactor.formats.messages import Body, Dialect, field
from compactor.formats.raw.edits import REMOVE, Edit, dotted
from compactor.formats.speech import Said, Shape
from compactor.formats.turn_taking import Place, Plan


def replace_runs(
    shape: Shape, body: Body, entries: Sequence[Entry], runs: Sequence[Run]
) -> list[Edit]:
    """Edits that show each run of entries as one text of the user.

    Args:
        entries: all of the request, with the addresses of `body`.
        runs: oldest first; they do not overlap.

    Returns:
        O(what the runs cover).

    Raises:
        InternalError: `internal.edit` where a run covers nothing of the request.
    """
    plan = Plan(body.items, shape)
    for run in runs:
        start = place_of(shape, body, entries, run.first)
        stop = place_of(shape, body, entries, run.end)
        if start >= stop:
            at = entries[run.first].at
            message = f"entries {run.first} to {run.end} are nothing of this request"
            raise InternalError(message, code="internal.edit", path=dotted(at))
        plan.take(start, stop, run.text)
    return [Edit((*body.base, *path), value) for path, value in plan.edits()]


def place_of(shape: Shape, body: Body, entries: Sequence[Entry], index: int) -> Place:
    """Where an entry begins, or where the last one ends.

    Blocks of the user that follow a result begin behind it; others begin their message, unless
    their address says otherwise.
    """
    if index == len(entries):
        return Place(len(body.items), 0)
    depth = len(body.base)
    at = entries[index].at
    before = entries[index - 1].at if index else ()
    block = _block_in(at, shape.key, depth)
    if block is None:
        is_same = before[: depth + 1] == at[: depth + 1]
        result = _block_in(before, shape.key, depth) if is_same else None
        block = 0 if result is None else result + 1
    message = at[depth]
    if not isinstance(message, int):
        raise InternalError("not the address of a message", code="internal.edit", path=dotted(at))
    return Place(message, block)


def _block_in(at: Path, key: str, depth: int) -> int | None:
    """The block that an address goes into; None for the address of a message."""
    steps = at[depth + 1 : depth + 3]
    return steps[1] if len(steps) == 2 and steps[0] == key and isinstance(steps[1], int) else None


def block_of(dialect: Dialect, shape: Shape, body: Body, entry: Entry, part: int) -> Path:
    """The address of the block that a part of a user entry comes from. O(the message)."""
    number = place_of(shape, body, [entry], 0).message
    content, at = field(body.items[number], shape.key), (*body.base, number)
    if not isinstance(content, (list, tuple)):
        return at
    owners: list[int] = []
    parts: list[Part] = []
    for index, block in enumerate(content):
        builder = Builder()
        dialect.message(builder, {"role": "user", shape.key: [block]}, at)
        for one in builder.entries:
            found = one.parts if one.kind is Kind.USER else ()
            owners += [index] * len(found)
            parts += found
    first = _window(parts, list(entry.parts))
    return (*at, shape.key, owners[first + part])


def rewrite_text(shape: Shape, body: Body, entry: Entry, part: int, text: str) -> list[Edit]:
    """Edits that put `text` in the place of the text `entry.parts[part]`; none where it stands.

    The text of a turn is found by its number: what an earlier edit showed may be there by now.

    Raises:
        InternalError: `internal.edit` where the request has no such text.
    """
    rank = sum(one.kind is PartKind.TEXT for one in entry.parts[:part])
    if entry.kind is Kind.ASSISTANT:
        found = next(islice(_of_turn(shape, body, entry), rank, None), None)
    else:
        said = list(_of_message(shape, body, entry))
        wanted = [one.text for one in entry.parts if one.kind is PartKind.TEXT]
        first = _window([one.text for one in said], wanted)
        found = next(iter(said[first + rank :]), None)
    if found is None:
        message = f"part {part} of this entry is no text of the request"
        raise InternalError(message, code="internal.edit", path=dotted(entry.at))
    if found.text == text:
        return []
    return [Edit(found.at, text), *(Edit(at, REMOVE) for at in found.more)]


def _of_turn(shape: Shape, body: Body, entry: Entry) -> Iterator[Said]:
    """The texts of a model's turn, which may be several messages or items."""
    start = place_of(shape, body, [entry], 0).message
    for index in range(start, len(body.items)):
        if not _is_models(body.items[index]):
            return
        said = shape.texts(body.items[index], (*body.base, index))
        yield from (one for one in said if one.text)


def _of_message(shape: Shape, body: Body, entry: Entry) -> Iterator[Said]:
    """The texts of the message that an entry of the user begins in, from there on."""
    depth = len(body.base)
    start = place_of(shape, body, [entry], 0)
    for one in shape.texts(body.items[start.message], entry.at[: depth + 1]):
        if one.text and (_block_in(one.at, shape.key, depth) or 0) >= start.block:
            yield one


def _is_models(message: Any) -> bool:
    """Whether a message or item is the model's; of items only messages say whose they are."""
    speaker = field(message, "role") or field(message, "kind")
    return speaker in (None, Kind.ASSISTANT, "model")


def _window(items: list[Any], wanted: list[Any]) -> int:
    """Where some items stand in a row; 0 when they do not."""
    size = len(wanted)
    starts = range(len(items) - size + 1)
    return next((at for at in starts if items[at : at + size] == wanted), 0)
