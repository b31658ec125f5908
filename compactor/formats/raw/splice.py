"""Edits made inside a JSON text: only the edited values are written anew.

Everything else stays: whitespace, key order, duplicate keys, escapes, number spellings. One linear
scan over the value, by patterns that jump from bracket to bracket; of several equal keys the last
is the value, as in `edits`. New values are compact JSON. An edit inside a string is one of the JSON
text that it holds, and the rest of the string keeps its escapes. Specification: DESIGN section 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, cast

from compactor.core.errors import InputError, InternalError
from compactor.core.model import Path
from compactor.formats.raw.edit_tree import (
    KEEP,
    REMOVE,
    Edit,
    EditNode,
    appended,
    edit_tree,
    no_place,
)
from compactor.formats.raw.json_compact import compact_json, quoted
from compactor.formats.raw.json_text import OR_BACK, STRING, NotJsonError, after_space, read_value
from compactor.formats.raw.within import whole_value


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
    try:
        value, start = whole_value(text)
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
    if root.value is REMOVE:
        raise InternalError("the root cannot be removed", code="internal.edit", path="$")
    _check(value, root, ())
    return sorted(_changes(text, start, root)[1])


def text_with(text: str, node: EditNode, at: Path) -> str:
    """A string of Python's with edits made in the JSON text that it holds.

    Args:
        at: its address, for errors.

    Raises:
        InternalError: `internal.edit` when an address does not exist.
    """
    _check(text, node, at)
    return replaced(text, sorted(_changes(text, after_space(text, 0), node)[1]))


def span(text: str, start: int, value: Any, path: Path) -> tuple[int, int]:
    """Where in a text the value at `path` of the value that begins at `start` stands."""
    inner = value
    for depth, step in enumerate(path):
        inner = _member(inner, step, path[:depth])
    [change] = changes(text, start, value, [Edit(path, None)])
    return change.start, change.end


def _check(value: Any, node: EditNode, at: Path) -> None:
    """Whether every address exists; of a key that is set or removed, the object with it.

    Raises:
        InternalError: `internal.edit` when one does not.
    """
    if node.value is not KEEP or not node.inner:
        return
    value = _entered(value, next(iter(node.inner)), at)
    new = appended(node, len(value)) if isinstance(value, list) else []
    for step, inner in node.inner.items():
        if inner.value is KEEP:
            _check(_member(value, step, at), inner, (*at, step))
        elif new and isinstance(step, int) and step >= new[0]:
            continue
        elif not (isinstance(value, dict) and isinstance(step, str)):
            _member(value, step, at)


def _member(value: Any, step: str | int, at: Path) -> Any:
    """The value at one step of an address.

    Raises:
        InternalError: `internal.edit` when there is none.
    """
    value = _entered(value, step, at)
    if isinstance(value, dict) and isinstance(step, str) and step in value:
        return value[step]
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    raise no_place(at, step)


def _entered(value: Any, step: str | int, at: Path) -> Any:
    """A value, or of a string what its JSON says."""
    while isinstance(value, str):
        try:
            value, _ = whole_value(value)
        except NotJsonError as error:
            raise no_place(at, step) from error
    return value


def _changes(text: str, pos: int, node: EditNode) -> tuple[int, list[Change]]:
    """The end of the value at `pos` and the changes of it or in it."""
    if node.value is not KEEP or not node.inner:
        end = value_end(text, pos)
        gives_all = node.value is not KEEP
        return end, [Change(pos, end, compact_json(node.value))] if gives_all else []
    if text[pos] in "[{":
        return _scan(text, pos, node)
    return _enter(text, pos, node) if text[pos] == '"' else (value_end(text, pos), [])


def _enter(text: str, pos: int, node: EditNode) -> tuple[int, list[Change]]:
    """The end of the string at `pos` and the changes in it, which are of the text that it holds.

    None where that is no JSON: then it stands under one of several equal keys, before the last.
    """
    end = value_end(text, pos)
    held = cast("str", read_value(text, pos)[0])
    try:
        whole_value(held)
    except NotJsonError:
        return end, []
    found = sorted(_changes(held, after_space(held, 0), node)[1])
    places = _places(text, pos + 1, end - 1, [at for change in found for at in change[:2]])
    return end, [Change(next(places), next(places), quoted(change.text)[1:-1]) for change in found]


def _places(text: str, pos: int, end: int, wanted: list[int]) -> Iterator[int]:
    """Where characters of a string stand in its spelling `pos..end`, in order. Linear."""
    at = 0
    for index in wanted:
        while at < index:
            match = _SPELLED.match(text, pos, min(end, pos + index - at))
            size = match.end() - pos if match else 0
            if size:  # characters that are spelled as themselves
                pos, at = pos + size, at + size
                continue
            match = _ESCAPE.match(text, pos, end)
            pos, at = match.end() if match else pos + 1, at + 1
        yield pos


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
    for key, _, value, _ in {member.key: member for member in members}.values():
        inner = node.inner.get(key)
        if inner is not None and inner.value is KEEP and text[value] not in "[{":
            _, inside[key] = _changes(text, value, inner)
    found = [change for key in inside for change in inside[key]]
    return at + 1, found + _own_changes(pos, node, members, is_object=is_object)


def _read_key(text: str, pos: int) -> tuple[str, int]:
    """The key at `pos` and where its value begins."""
    end = value_end(text, pos)
    key = text[pos + 1 : end - 1]
    if "\\" in key:
        key = cast("str", read_value(text, pos)[0])
    return key, after_space(text, after_space(text, end) + 1)


def _own_changes(
    pos: int, node: EditNode, members: list[_Member], *, is_object: bool
) -> list[Change]:
    """Changes of whole members; of several equal keys the last is the value, all are removed."""
    edits = {key: inner.value for key, inner in node.inner.items() if inner.value is not KEEP}
    if not is_object:
        new = appended(node, len(members))
        edits |= {key: edits.pop(key) for key in new}  # in the order of the list
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
            said = f"{quoted(str(key))}:" if is_object else ""
            added.append(said + compact_json(value))
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
_SPELLED: Final = re.compile(r"[^\\]*+")
_PAIR: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE: Final = re.compile(rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\.", re.DOTALL)
