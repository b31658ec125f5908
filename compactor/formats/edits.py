"""Edits: addresses and new values, made in Python objects.

Addresses are those of the original, in all edits alike; of two edits at one address the later
counts, and an edit of a container counts before edits inside it. Containers are copied only on the
way to an edit. `splice` gives the same edits the same meaning inside text. Specification: DESIGN
section 2.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from compactor.core.errors import InternalError
from compactor.core.model import Path
from compactor.formats.json_compact import quoted
from compactor.formats.json_text import Pairs, as_object
from compactor.formats.objects import changed_model, field, is_model, typed


class _Remove:
    """The type of `REMOVE`."""

    def __repr__(self) -> str:
        return "REMOVE"


REMOVE: Final = _Remove()
"""As the value of an edit: delete the object key or the list element."""


class Edit(NamedTuple):
    """Set the value at `path`.

    path: keys and indexes from the root; a new last key is added at the end of its object.
    value: str, int, bool, None, list or dict; `REMOVE` deletes (a key that is not there: nothing).
    """

    path: Path
    value: Any


KEEP: Final = _Remove()
"""As the value of a node: nothing to do with the value itself."""


class EditNode:
    """Edits at one address: its new value, or edits of what lies in it."""

    __slots__ = ("inner", "value")

    def __init__(self) -> None:
        self.value: Any = KEEP
        self.inner: dict[str | int, EditNode] = {}


def edit_tree(edits: Iterable[Edit]) -> EditNode:
    """Edits by address, from the root down."""
    root = EditNode()
    for path, value in edits:
        node = root
        for step in path:
            node = node.inner.setdefault(step, EditNode())
        node.value = value
    return root


def apply_edits(root: Any, edits: Iterable[Edit]) -> Any:
    """The root with the edits made.

    Args:
        root: dicts, lists, tuples and models of SDKs; never changed.

    Returns:
        a value in which everything off the edited paths is the very same object and replaced keys
        keep their places. O(edits * depth + the containers on the way, each copied once).

    Raises:
        InternalError: `internal.edit` when an address does not exist.
    """
    return applied(root, edit_tree(edits))


def applied(value: Any, node: EditNode, at: Path = ()) -> Any:
    """`apply_edits` for the edits of one node; `at` is its address, for errors."""
    if node.value is REMOVE:
        raise InternalError("the root cannot be removed", code="internal.edit", path="$")
    if node.value is not KEEP:
        return node.value
    if not node.inner:
        return value
    if isinstance(value, Pairs):
        return _applied_to_pairs(value, node, at)
    if isinstance(value, dict):
        return _applied_to_dict(value, node, at)
    if isinstance(value, (list, tuple)):
        return _applied_to_list(value, node, at)
    if is_model(value):
        return _applied_to_model(value, node, at)
    raise no_place(at, next(iter(node.inner)))


def _applied_to_dict(value: dict[Any, Any], node: EditNode, at: Path) -> dict[Any, Any]:
    new = copy.copy(value)
    for key, inner in node.inner.items():
        if inner.value is REMOVE:
            new.pop(key, None)
        else:
            new[key] = applied(_member(value, key, inner, at), inner, (*at, key))
    return new


def _applied_to_pairs(value: Pairs, node: EditNode, at: Path) -> dict[str, Any]:
    """The last of several equal keys is the value; removing a key removes all of them."""
    pairs = list(value.pairs)
    last = {key: index for index, (key, _) in enumerate(pairs)}
    for key, inner in node.inner.items():
        if inner.value is REMOVE:
            continue
        new = applied(_member(value, key, inner, at), inner, (*at, key))
        if key in last:
            pairs[last[str(key)]] = (str(key), new)
        else:
            pairs.append((str(key), new))
    gone = {key for key, inner in node.inner.items() if inner.value is REMOVE}
    return as_object([pair for pair in pairs if pair[0] not in gone])


def _member(value: dict[Any, Any], key: str | int, inner: EditNode, at: Path) -> Any:
    """The old value of a key; None for a new key, which needs a whole value."""
    if not isinstance(key, str) or (key not in value and inner.value is KEEP):
        raise no_place(at, key)
    return value.get(key)


def _applied_to_model(value: Any, node: EditNode, at: Path) -> Any:
    new: dict[str, Any] = {}
    gone: list[str] = []
    for key, inner in node.inner.items():
        old = field(value, str(key))
        if not isinstance(key, str) or (old is None and inner.value is KEEP):
            raise no_place(at, key)
        if inner.value is REMOVE:
            gone.append(key)
        else:
            made = applied(old, inner, (*at, key))
            new[key] = made if inner.value is KEEP else typed(value, key, made)
    return changed_model(value, new, gone)


def _applied_to_list(
    value: list[Any] | tuple[Any, ...], node: EditNode, at: Path
) -> list[Any] | tuple[Any, ...]:
    items = list(value)
    gone = []
    for index, inner in node.inner.items():
        if not isinstance(index, int) or not 0 <= index < len(value):
            raise no_place(at, index)
        if inner.value is REMOVE:
            gone.append(index)
        else:
            items[index] = applied(value[index], inner, (*at, index))
    for index in sorted(gone, reverse=True):
        del items[index]
    return like(value, items)


def like(value: list[Any] | tuple[Any, ...], items: list[Any]) -> list[Any] | tuple[Any, ...]:
    """The items as the same kind of list or tuple as `value`."""
    if type(value) is list:
        return items
    if isinstance(value, list):
        new = copy.copy(value)
        new[:] = items
        return new
    return tuple(items)


def no_place(at: Path, step: str | int) -> InternalError:
    """The error of an edit whose address does not exist: `step` is not in the value at `at`."""
    return InternalError(f"no {step!r} to edit here", code="internal.edit", path=dotted(at))


def dotted(path: Path) -> str:
    """A path for people: `$.messages[7].content[0]`; odd keys are quoted in brackets."""
    steps = (f".{s}" if isinstance(s, str) and _WORD.fullmatch(s) else _bracketed(s) for s in path)
    return "$" + "".join(steps)


_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _bracketed(step: str | int) -> str:
    return f"[{step if isinstance(step, int) else quoted(step)}]"
