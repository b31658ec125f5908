"""What a difference looks like, a row of `looks.LOOKS`: the first guess that fits.

From the two values alone. A guess says nothing about whether there is a break. Specification:
docs/pytest.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from compactor.formats.native import compact_json, compact_json_text
from compactor.formats.within import within
from compactor.stability.clocks import CLOCK, DURATION, LOOSE, UUID
from compactor.stability.differences import Difference, How, common_prefix, written_alike


class Seen(NamedTuple):
    """What a guess is made from: a difference, and the whole values it is in."""

    found: Difference
    old: Any
    new: Any


def look_of(found: Difference, old: Any, new: Any) -> str:
    """The kind of a difference between two values, one of `LOOKS`.

    Args:
        old, new: the values whose first difference it is.
    """
    seen = Seen(found, old, new)
    return next((kind for kind, fits in _GUESSES if fits(seen)), "rewritten")


def _same_but_for_key_order(seen: Seen) -> bool:
    return any(
        sorted_json(old) == sorted_json(new) and not written_alike(old, new)
        for _, old, new in seen.found.around
        if isinstance(old, dict)
    )


def _number_respelled(seen: Seen) -> bool:
    old, new = seen.found.old, seen.found.new
    return _is_number(old, new) and bool(old == new)


def _is_number(*values: Any) -> bool:
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)


def _json_text_respelled(seen: Seen) -> bool:
    old, new = seen.found.old, seen.found.new
    if not (isinstance(old, str) and isinstance(new, str)):
        return False
    inner = within("", old), within("", new)
    if inner[0] is None or inner[1] is None:
        compact = compact_json_text(old)
        return compact is not None and compact == compact_json_text(new)
    return sorted_json(inner[0].value) == sorted_json(inner[1].value)


def _items_reordered(seen: Seen) -> bool:
    return any(
        same_items(old, new)
        for _, old, new in seen.found.around
        if isinstance(old, list) and isinstance(new, list)
    )


def same_items(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Whether two lists that differ hold the same, in another order."""
    if len(old) != len(new) or len(old) < 2:
        return False
    return sorted(map(sorted_json, old)) == sorted(map(sorted_json, new))


_SEPARATORS: Final = re.compile(r"[\s,;]+")


def _lines_reordered(seen: Seen) -> bool:
    old, new = seen.found.old, seen.found.new
    if not (isinstance(old, str) and isinstance(new, str)) or len(old) != len(new):
        return False
    return sorted(_SEPARATORS.split(old)) == sorted(_SEPARATORS.split(new))


_WORD: Final = re.compile(r"[A-Za-z0-9_+/=-]+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_RANDOM_CHARS: Final = 8
_ID_KEYS: Final = ("id", "tool_use_id", "tool_call_id", "call_id", "toolUseId", "callId")


def _both_match(pattern: re.Pattern[str]) -> Callable[[Seen], bool]:
    """Whether the pattern matches in both texts where they part."""

    def fits(seen: Seen) -> bool:
        old, new = _texts(seen.found)
        at = common_prefix(old, new)
        return all(_match_at(pattern, text, at) is not None for text in (old, new))

    return fits


def _texts(found: Difference) -> tuple[str, str]:
    """The two leaves as texts; a leaf that is none as its JSON; "" for containers."""
    old, new = found.old, found.new
    if isinstance(old, str) and isinstance(new, str):
        return old, new
    return (compact_json(old), compact_json(new)) if _is_number(old, new) else ("", "")


_BEFORE: Final = 80


def _match_at(pattern: re.Pattern[str], text: str, at: int) -> str | None:
    """What the pattern matches around a place, which it may begin or end at."""
    start = max(0, at - _BEFORE)
    for match in pattern.finditer(text, start, at + _BEFORE):
        if match.start() <= at <= match.end():
            return match[0]
    return None


def _random(seen: Seen) -> bool:
    old, new = _texts(seen.found)
    at = common_prefix(old, new)
    words = _match_at(_WORD, old, at), _match_at(_WORD, new, at)
    return all(word is not None and _is_random(word) for word in words)


def _is_random(word: str) -> bool:
    digits = sum(char.isdigit() for char in word)
    return len(word) >= _RANDOM_CHARS and 0 < digits < len(word)


def _call_ids(seen: Seen) -> bool:
    path = seen.found.path
    return bool(path) and path[-1] in _ID_KEYS and seen.found.how is How.VALUE


def _counts(seen: Seen) -> bool:
    """Whether nothing but numbers differs."""
    old, new = _texts(seen.found)
    return old != new and _NUMBER.sub("#", old) == _NUMBER.sub("#", new)


def _elided(seen: Seen) -> bool:
    marker = "[elided "
    return marker in compact_json(seen.new) and marker not in compact_json(seen.old)


def _cut(seen: Seen) -> bool:
    old, new = _texts(seen.found)
    kept = common_prefix(old, new)
    return bool(new) and len(new) * 4 <= len(old) * 3 and kept * 4 >= len(new) * 3


def _masked(seen: Seen) -> bool:
    old, new = _texts(seen.found)
    return bool(new) and len(new) * _MASKED_TIMES <= len(old) and not old.startswith(new)


_MASKED_TIMES: Final = 4


def _grown(seen: Seen) -> bool:
    old, new = _texts(seen.found)
    return bool(old) and new.startswith(old)


def _other_shape(seen: Seen) -> bool:
    found = seen.found
    return found.how in (How.KEYS, How.LENGTH) or type(found.old) is not type(found.new)


_GUESSES: Final[tuple[tuple[str, Callable[[Seen], bool]], ...]] = (
    ("key order", _same_but_for_key_order),
    ("serialised", _number_respelled),
    ("serialised", _json_text_respelled),
    ("item order", _items_reordered),
    ("call id", _call_ids),
    ("uuid", _both_match(UUID)),
    ("clock", _both_match(CLOCK)),
    ("duration", _both_match(DURATION)),
    ("line order", _lines_reordered),
    ("random id", _random),
    ("counter", _counts),
    ("elided", _elided),
    ("grown", _grown),
    ("masked", _masked),
    ("cut", _cut),
    ("shape", _other_shape),
)
"""Kind → whether it fits, the surest first."""


def sorted_json(value: Any) -> str:
    """Compact JSON with the keys of objects sorted."""
    return compact_json(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def loose(value: Any) -> str:
    """A value with all that changes by itself taken out: equal for what is the same message.

    Key order, JSON in texts, every word with a digit in it, names of months and days.
    """
    return LOOSE.sub("#", sorted_json(_parsed(value)))


def _parsed(value: Any) -> Any:
    """Texts that are JSON objects or lists as their values."""
    if isinstance(value, str):
        inner = within("", value)
        return value if inner is None else inner.value
    if isinstance(value, dict):
        return {key: _parsed(item) for key, item in value.items()}
    return [_parsed(item) for item in value] if isinstance(value, list) else value
