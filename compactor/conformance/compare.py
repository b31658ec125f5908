"""Where an answer first differs from what a case expects.

Values are compared as JSON: objects by keys, arrays and texts exactly, numbers by value, and true
is not 1. At the top of a result, and of the answer to each step of a session, only the keys that
the case names are looked at; what is *open* (reports, records, findings) may say more than the case
names, further down too. Neutral entries are compared with their defaults filled in. Specification:
CONFORMANCE.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import compact_json

OPEN = frozenset({"report", "journal", "findings"})
"""Keys of a result below which an implementation may say more than the case names."""
_ENTRIES = ("view", "entries")
_DEFAULTS: Mapping[str, dict[str, Any]] = {
    "tool": {"text": "", "call": "", "error": False, "images": 0},
    "assistant": {"text": "", "calls": []},
    "user": {"text": ""},
    "system": {"text": ""},
}
_BEFORE, _AFTER = 40, 120
"""Characters of a text that are shown before and after the place where it differs."""


class _Nothing:
    """Stands for a value that is not there."""


NOTHING: Final = _Nothing()


class Difference(NamedTuple):
    """The first place that differs. `expected` and `got` are for people, of bounded length."""

    path: str
    expected: str
    got: str


def compare_result(
    expected: dict[str, Any], got: dict[str, Any], at: Path = ("result",)
) -> Difference | None:
    """The first difference between a result and the keys that a case names; None for none.

    Args:
        at: address of the result.
    """
    for key, value in expected.items():
        wanted, said = value, got.get(key, NOTHING)
        if key in _ENTRIES:
            wanted, said = _filled(wanted), _filled(said)
        if key == "answers" and isinstance(wanted, list) and isinstance(said, list):
            found = _compare_answers(wanted, said, (*at, key))
        else:
            found = first_difference(wanted, said, (*at, key), is_open=key in OPEN)
        if found is not None:
            return found
    return None


def _compare_answers(expected: list[Any], got: list[Any], at: Path) -> Difference | None:
    """The first difference between the answers to steps. A refusal is never let pass."""
    for index in range(max(len(expected), len(got))):
        wanted, said = _item(expected, index), _item(got, index)
        here = (*at, index)
        if not isinstance(wanted, dict) or not isinstance(said, dict):
            found = first_difference(wanted, said, here)
        elif "error" in said and "error" not in wanted:
            found = _difference((*here, "error"), NOTHING, said["error"])
        else:
            found = compare_result(wanted, said, here)
        if found is not None:
            return found
    return None


def first_difference(
    expected: Any, got: Any, at: Path, *, is_open: bool = False
) -> Difference | None:
    """The first difference between two JSON values, in document order. O(their size).

    Args:
        at: their address.
        is_open: keys of objects that are not expected are not looked at.
    """
    if isinstance(expected, dict) and isinstance(got, dict):
        keys = [*expected, *(key for key in got if key not in expected and not is_open)]
        pairs = [(key, expected.get(key, NOTHING), got.get(key, NOTHING)) for key in keys]
    elif isinstance(expected, list) and isinstance(got, list):
        longest = range(max(len(expected), len(got)))
        pairs = [(index, _item(expected, index), _item(got, index)) for index in longest]
    else:
        return None if _same(expected, got) else _difference(at, expected, got)
    for key, one, other in pairs:
        found = first_difference(one, other, (*at, key), is_open=is_open)
        if found is not None:
            return found
    return None


def _same(expected: Any, got: Any) -> bool:
    """Whether two values that are not both containers of one kind are the same JSON."""
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        return expected == got
    return type(expected) is type(got) and bool(expected == got)


def _filled(entries: Any) -> Any:
    """Entries in the neutral shape with everything that goes without saying."""
    if not isinstance(entries, list):
        return entries
    return [
        _DEFAULTS.get(str(entry.get("kind")), {}) | entry if isinstance(entry, dict) else entry
        for entry in entries
    ]


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else NOTHING


def _difference(at: Path, expected: Any, got: Any) -> Difference:
    start = 0
    if isinstance(expected, str) and isinstance(got, str):
        start = _first_unlike(expected, got)
    return Difference(dotted(at), _said(expected, start), _said(got, start))


def _first_unlike(one: str, other: str) -> int:
    """Index of the first character that differs; the shorter length where one begins the other."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # halving: texts may have megabytes
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _said(value: Any, start: int) -> str:
    """A value on one line, the window around `start` of a long one."""
    if value is NOTHING:
        return "nothing"
    if not isinstance(value, str):
        text = compact_json(value)
        return text if len(text) <= _AFTER else f"{text[:_AFTER]}… ({len(text)} characters of JSON)"
    begin, end = max(0, start - _BEFORE), start + _AFTER
    if begin == 0 and len(value) <= end:
        return compact_json(value)
    window = compact_json(value[begin:end])
    return f"{window} (characters {begin}-{min(end, len(value))} of {len(value)})"
