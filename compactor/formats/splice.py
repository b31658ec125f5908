"""Edits made inside a JSON text: only the edited values are written anew.

Everything else stays: whitespace, key order, duplicate keys, escapes, number spellings. One linear
scan over the value, by patterns that jump from bracket to bracket; of several equal keys the last
is the value, as in `edits`. New values are compact JSON. Specification: DESIGN section 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, cast

from compactor.core.errors import InputError
from compactor.core.model import Path
from compactor.formats.edits import KEEP, REMOVE, Edit, EditNode, applied, edit_tree, no_place
from compactor.formats.json_compact import compact_json, quoted
from compactor.formats.json_text import OR_BACK, STRING, NotJsonError, after_space, read_value


class Change(NamedTuple):
    """`text` in the place of characters `start..end` of a source."""

    start: int
    end: int
    text: str


def splice_text(text: str, edits: Iterable[Edit]) -> str:
    """A JSON text with the edits made: only the edited values are written anew.

    Raises:
        InputError: `input.not_json` when the text is no JSON value.
        InternalError: `internal.edit` when an address does not exist.
    """
    start = after_space(text, 0)
    try:
        value, end = read_value(text, start)
        if after_space(text, end) < len(text):
            raise NotJsonError("expected the end of the text", end, wants_value=False)
    except NotJsonError as error:
        problem = f"no JSON at character {error.pos}: {error}"
        raise InputError(problem, code="input.not_json") from error
    return replaced(text, changes(text, start, value, edits))


def replaced(text: str, spliced: list[Change]) -> str:
    """The text with changes made, which do not overlap and are in order. O(text)."""
    pieces: list[str] = []
    pos = 0
    for start, end, new in spliced:
        pieces += (text[pos:start], new)
        pos = end
    pieces.append(text[pos:])
    return "".join(pieces)


def changes(text: str, start: int, value: Any, edits: Iterable[Edit]) -> list[Change]:
    """Where a text must change so that the value that begins at `start` becomes the edited one.

    Args:
        value: what was read there; addresses are checked on it.

    Returns:
        changes in order. One scan over the value.
    """
    root = edit_tree(edits)
    applied(value, root)
    if root.value is not KEEP:
        return [Change(start, value_end(text, start), compact_json(root.value))]
    return sorted(_scan(text, start, root)[1]) if root.inner else []


def span(text: str, start: int, value: Any, path: Path) -> tuple[int, int]:
    """Where in a text the value at `path` of the value that begins at `start` stands."""
    inner = value
    for depth, step in enumerate(path):
        try:
            inner = inner[step]
        except (LookupError, TypeError) as error:
            raise no_place(path[:depth], step) from error
    [change] = changes(text, start, value, [Edit(path, None)])
    return change.start, change.end


class _Member(NamedTuple):
    """A member of an object or list: `start` is its key's or its own, `value` the value's."""

    key: str | int
    start: int
    value: int
    end: int


def _scan(text: str, pos: int, node: EditNode) -> tuple[int, list[Change]]:
    """The end of the container at `pos` and the changes in it."""
    members: list[_Member] = []
    inside: dict[str | int, list[Change]] = {}
    is_object = text[pos] == "{"
    at = after_space(text, pos + 1)
    while text[at] not in "]}":
        start = at
        key: str | int = len(members)
        if is_object:
            key, at = _read_key(text, at)
        inner = node.inner.get(key)
        if inner is not None and inner.value is KEEP and text[at] in "[{":
            end, inside[key] = _scan(text, at, inner)
        else:
            end = value_end(text, at)
        members.append(_Member(key, start, at, end))
        at = after_space(text, end)
        if text[at] == ",":
            at = after_space(text, at + 1)
    found = [change for key in inside for change in inside[key]]
    return at + 1, found + _own_changes(pos, node, members)


def _read_key(text: str, pos: int) -> tuple[str, int]:
    """The key at `pos` and where its value begins."""
    end = value_end(text, pos)
    key = text[pos + 1 : end - 1]
    if "\\" in key:
        key = cast("str", read_value(text, pos)[0])
    return key, after_space(text, after_space(text, end) + 1)


def _own_changes(pos: int, node: EditNode, members: list[_Member]) -> list[Change]:
    """Changes of whole members; of several equal keys the last is the value, all are removed."""
    edits = {key: inner.value for key, inner in node.inner.items() if inner.value is not KEEP}
    if not edits:
        return []
    last = {member.key: member for member in members}
    found: list[Change] = []
    added: list[str] = []
    for key, value in edits.items():
        if value is REMOVE:
            continue
        if key in last:
            found.append(Change(last[key].value, last[key].end, compact_json(value)))
        else:
            added.append(f"{quoted(str(key))}:{compact_json(value)}")
    kept = [edits.get(member.key) is not REMOVE for member in members]
    found += _removals(members, kept)
    if added:
        at = members[-1].end if members else pos + 1
        found.append(Change(at, at, ("," if True in kept else "") + ",".join(added)))
    return found


def _removals(members: list[_Member], kept: list[bool]) -> Iterator[Change]:
    """A removed member goes with the comma before it, or, before the first kept, behind it."""
    first = kept.index(True) if True in kept else len(kept)
    if first and first < len(kept):
        yield Change(members[0].start, members[first].start, "")
    elif first:
        yield Change(members[0].start, members[-1].end, "")
    for index in range(first, len(kept)):
        if not kept[index]:
            yield Change(members[index - 1].end, members[index].end, "")


def value_end(text: str, pos: int) -> int:
    """Index behind the value that begins at `pos` in text known to be JSON. Linear, any depth."""
    if text[pos] not in "[{":
        return _end(_STRING_OR_WORD, text, pos)
    depth = 0
    while True:
        depth += 1 if text[pos] in "[{" else -1
        if not depth:
            return pos + 1
        pos = _end(_TO_BRACKET, text, pos + 1)


def _end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    match = pattern.match(text, pos)
    return match.end() if match else pos


_STRING_OR_WORD: Final = re.compile(rf"{STRING}|[^ \t\n\r,\]}}]++", re.DOTALL)
_TO_BRACKET: Final = re.compile(rf'[^"\[\]{{}}]*+(?:{STRING}[^"\[\]{{}}]*+{OR_BACK})*+', re.DOTALL)
