"""The first place at which two JSON values differ, in the order in which they are written.

Not a diff: what a prompt cache keeps ends at the first difference, so nothing behind it is looked
at. Knows JSON only. Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.raw.native import compact_json


class How(StrEnum):
    """What differs at the place."""

    VALUE = "value"
    KEYS = "keys"
    """Objects that have other keys."""
    KEY_ORDER = "key order"
    """The same keys, another order."""
    LENGTH = "length"
    """One list has more items."""


class Missing:
    """Stands for a value that is not there."""

    def __repr__(self) -> str:
        return "(nothing)"


MISSING: Final = Missing()


class Difference(NamedTuple):
    """Where two values part.

    path: from the values down. Of objects with other keys or key order, that of the first key.
    old, new: what stands there; `MISSING` where nothing does. For `KEY_ORDER` the two objects.
    around: the lists and objects that hold the place in both, outermost first, with their paths.
    """

    path: Path
    old: Any
    new: Any
    how: How
    around: tuple[tuple[Path, Any, Any], ...] = ()


def first_difference(old: Any, new: Any) -> Difference | None:
    """The first difference of two values; None when they are written alike. O(the values).

    Goes down one level at a time and compares as written: `1.0` and `1` differ.
    """
    path: Path = ()
    around: tuple[tuple[Path, Any, Any], ...] = ()
    while True:
        step = _step(old, new)
        if step is None:
            return None
        if isinstance(old, dict | list) and isinstance(new, dict | list):
            around += ((path, old, new),)
        if step.how is not None:
            return Difference((*path, *step.key), step.old, step.new, step.how, around)
        path, old, new = (*path, *step.key), step.old, step.new


class _Step(NamedTuple):
    """One level down. how: None where the values below have to be looked at."""

    key: Path
    old: Any
    new: Any
    how: How | None


def _step(old: Any, new: Any) -> _Step | None:
    if isinstance(old, dict) and isinstance(new, dict):
        return _in_objects(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return _in_lists(old, new)
    return None if written_alike(old, new) else _Step((), old, new, How.VALUE)


def _in_objects(old: Mapping[str, Any], new: Mapping[str, Any]) -> _Step | None:
    for mine, yours in zip_longest(old, new):
        if mine != yours:
            if old.keys() == new.keys():
                return _Step((yours,), old, new, How.KEY_ORDER)
            key = yours if yours is not None and yours not in old else mine
            key = yours if key is None else key
            return _Step((key,), old.get(key, MISSING), new.get(key, MISSING), How.KEYS)
        if not written_alike(old[mine], new[mine]):
            return _Step((mine,), old[mine], new[mine], None)
    return None


def _in_lists(old: Sequence[Any], new: Sequence[Any]) -> _Step | None:
    for index, (mine, yours) in enumerate(zip(old, new, strict=False)):
        if not written_alike(mine, yours):
            return _Step((index,), mine, yours, None)
    if len(old) == len(new):
        return None
    index = min(len(old), len(new))
    mine = old[index] if index < len(old) else MISSING
    yours = new[index] if index < len(new) else MISSING
    return _Step((index,), mine, yours, How.LENGTH)


def written_alike(old: Any, new: Any) -> bool:
    """Whether two values are spelled the same."""
    if isinstance(old, str) and isinstance(new, str):
        return old == new
    return compact_json(old) == compact_json(new)


def common_prefix(old: Sequence[Any], new: Sequence[Any]) -> int:
    """How many items begin both. O(them), by halves where it is a text."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
