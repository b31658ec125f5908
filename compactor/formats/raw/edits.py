"""Edits made in Python objects.

Containers are copied only on the way to an edit; a string on the way holds JSON, in whose text the
edit is made. `splice` gives the same edits (`edit_tree`) the same meaning inside text.
Specification: DESIGN section 2.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from compactor.core.errors import InternalError
from compactor.core.model import Path
from compactor.formats.raw.edit_tree import KEEP, EditNode, appended, edit_tree
from compactor.formats.raw.edit_tree import REMOVE as REMOVE
from compactor.formats.raw.edit_tree import Edit as Edit
from compactor.formats.raw.edit_tree import dotted as dotted
from compactor.formats.raw.edit_tree import no_place as no_place
from compactor.formats.raw.json_text import Pairs, as_object
from compactor.formats.raw.lazy_rows import LazyRows, Rows
from compactor.formats.raw.members import Members
from compactor.formats.raw.objects import changed_model, field, is_model, typed
from compactor.formats.raw.splice import text_with


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
    if isinstance(value, str):
        return text_with(value, node, at)
    if isinstance(value, Members):
        return _applied_to_members(value, node, at)
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


def _applied_to_members(value: Members, node: EditNode, at: Path) -> Members:
    new: dict[str, Any] = {}
    for name, inner in node.inner.items():
        if name not in value or inner.value is REMOVE:
            raise no_place(at, name)
        new[str(name)] = applied(value[str(name)], inner, (*at, name))
    return value.with_values(new)


def _applied_to_list(
    value: list[Any] | tuple[Any, ...], node: EditNode, at: Path
) -> list[Any] | tuple[Any, ...]:
    new: dict[int, Any] = {}
    gone: dict[int, None] = {}
    added = [] if isinstance(value, Rows) else appended(node, len(value))
    for index, inner in node.inner.items():
        if added and isinstance(index, int) and index >= added[0]:
            continue
        if not isinstance(index, int) or not 0 <= index < len(value):
            raise no_place(at, index)
        if inner.value is REMOVE:
            gone[index] = None
        else:
            new[index] = applied(value[index], inner, (*at, index))
    if isinstance(value, LazyRows):
        return value.with_items(new, gone)
    items = list(value)
    for index, item in new.items():
        items[index] = item
    for index in sorted(gone, reverse=True):
        del items[index]
    items += [node.inner[index].value for index in added]
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
