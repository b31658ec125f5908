"""What a difference looks like, a row of `looks.LOOKS`: the first guess that fits.

From the two values alone. Patterns take what looks like a clock or an id, as they only tell apart
two texts that are known to differ. A guess says nothing about whether there is a break.
Specification: docs/pytest.md.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from compactor.formats.raw.native import compact_json, compact_json_text
from compactor.formats.raw.within import within
from compactor.stability.differences import Difference, How, common_prefix, written_alike


class Seen(NamedTuple):
    """What a guess is made from: a difference, and the two texts it stands in; "" for no text."""

    found: Difference
    old: str
    new: str


def look_of(found: Difference) -> str:
    """The kind of a difference, one of `LOOKS`."""
    seen = Seen(found, *_texts(found))
    return next((kind for kind, fits in _GUESSES if fits(seen)), "rewritten")


def _texts(found: Difference) -> tuple[str, str]:
    """The two leaves as texts; a number as its JSON; "" for containers."""
    old, new = found.old, found.new
    if isinstance(old, str) and isinstance(new, str):
        return old, new
    return (compact_json(old), compact_json(new)) if _are_numbers(old, new) else ("", "")


# Other spellings of the same


def _same_but_for_key_order(seen: Seen) -> bool:
    return any(
        sorted_json(old) == sorted_json(new) and not written_alike(old, new)
        for _, old, new in seen.found.around
        if isinstance(old, dict)
    )


def _same_number(seen: Seen) -> bool:
    old, new = seen.found.old, seen.found.new
    return _are_numbers(old, new) and _near(old, new)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)


def _near(old: float, new: float) -> bool:
    """Whether two numbers are equal, or off by what a number of fewer bits is off by."""
    is_small = abs(old) < _SMALL and abs(new) < _SMALL  # seconds since 1970 are near each other
    return old == new or (is_small and math.isclose(old, new, rel_tol=1e-6))


_SMALL: Final = 1_000_000


def _same_json(seen: Seen) -> bool:
    """Whether both are texts of the same JSON."""
    inner = within("", seen.old), within("", seen.new)
    if inner[0] is None or inner[1] is None:
        compact = compact_json_text(seen.old)
        return bool(seen.old) and compact is not None and compact == compact_json_text(seen.new)
    return _same_values(inner[0].value, inner[1].value)


def _same_values(old: Any, new: Any) -> bool:
    if _are_numbers(old, new):
        return _near(old, new)
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same_values(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same_values, old, new))
    return written_alike(old, new)


def _same_but_for_spaces(seen: Seen) -> bool:
    return bool(seen.old) and seen.old.split() == seen.new.split()


_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


def _same_but_for_escapes(seen: Seen) -> bool:
    return bool(seen.old) and _unescaped(seen.old) == _unescaped(seen.new)


def _unescaped(text: str) -> list[str]:
    """Its words without escapes of JSON and HTML, accents composed."""
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), html.unescape(text))
    return unicodedata.normalize("NFC", plain).split()


_ENCODED: Final = re.compile(r"(?:data:[\w/+.;=-]*,)?[A-Za-z0-9+/_-]{64,}={0,2}")


def _image(seen: Seen) -> bool:
    return all(_ENCODED.fullmatch(text) for text in (seen.old, seen.new))


# Another order


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


_SEPARATORS: Final = re.compile(r"[\s,;(){}\[\]<>'\"`]+")


def _words_reordered(seen: Seen) -> bool:
    if not seen.old or len(seen.old) != len(seen.new):
        return False
    return sorted(_SEPARATORS.split(seen.old)) == sorted(_SEPARATORS.split(seen.new))


# What changes by itself

_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY: Final = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_TIME: Final = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?"
_ZONE: Final = r"(?: ?(?:z|utc|gmt|[+-]\d{2}:?\d{2})\b)?"
_AT: Final = rf"(?:,? (?:at )?{_TIME})?{_ZONE}"
_OF_MONTH: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_CLOCK: Final = re.compile(
    "|".join(
        (
            rf"\b\d{{4}}-\d{{2}}-\d{{2}}(?:[t ]{_TIME})?{_ZONE}",
            r"\b20\d{6}(?:[t_-]?\d{4,6})?z?\b",
            rf"\b(?:{_DAY},? )?{_OF_MONTH}[ -]{_MONTH},?[ -]\d{{4}}{_AT}",
            rf"\b(?:{_DAY},? )?{_MONTH} +{_OF_MONTH}(?:,? (?:{_TIME},? )?\d{{4}})?{_AT}",
            r"\b\d{4}[/.]\d{1,2}[/.]\d{1,2}\b",
            r"\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b",
            rf"\b{_TIME}{_ZONE}",
            r"(?<![\d.])1\d{9}(?:\.\d+|\d{3}|\d{6}|\d{9})?(?!\d)",
            rf"\b{_DAY}\b",
        )
    ),
    re.IGNORECASE | re.ASCII,
)
_DURATION: Final = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)? ?(?:ms|µs|us|ns|s|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?)\b",
    re.IGNORECASE,
)
_UUID: Final = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}(?![0-9a-f])",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z0-9_+/=-]+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_RANDOM_CHARS: Final = 8
_ID_KEYS: Final = ("id", "tool_use_id", "tool_call_id", "call_id", "toolUseId", "callId")
_AROUND: Final = 80


def _both_match(pattern: re.Pattern[str]) -> Callable[[Seen], bool]:
    """Whether the pattern matches in both texts where they part."""

    def fits(seen: Seen) -> bool:
        at = common_prefix(seen.old, seen.new)
        return all(_match_at(pattern, text, at) is not None for text in (seen.old, seen.new))

    return fits


def _match_at(pattern: re.Pattern[str], text: str, at: int) -> str | None:
    """What the pattern matches around a place, which it may begin or end at."""
    for match in pattern.finditer(text, max(0, at - _AROUND), at + _AROUND):
        if match.start() <= at <= match.end():
            return match[0]
    return None


def _call_ids(seen: Seen) -> bool:
    path = seen.found.path
    return bool(path) and path[-1] in _ID_KEYS and seen.found.how is How.VALUE


def _counts(seen: Seen) -> bool:
    """Whether nothing but numbers differs."""
    return bool(seen.old) and _NUMBER.sub("#", seen.old) == _NUMBER.sub("#", seen.new)


def _random(seen: Seen) -> bool:
    at = common_prefix(seen.old, seen.new)
    words = _match_at(_WORD, seen.old, at), _match_at(_WORD, seen.new, at)
    return all(word is not None and _is_random(word) for word in words)


def _is_random(word: str) -> bool:
    digits = sum(char.isdigit() for char in word)
    return len(word) >= _RANDOM_CHARS and 0 < digits < len(word)


# What somebody did to a text

_MARKER: Final = "[elided "
_MASKED_TIMES: Final = 4


def _elided(seen: Seen) -> bool:
    return _MARKER in compact_json(seen.found.new) and _MARKER not in compact_json(seen.found.old)


def _grown(seen: Seen) -> bool:
    return bool(seen.old) and seen.new.startswith(seen.old)


def _cut(seen: Seen) -> bool:
    """Whether the new text is the beginning of the old one, with a word on that behind it."""
    kept = common_prefix(seen.old, seen.new)
    return (
        bool(seen.new) and len(seen.new) * 4 <= len(seen.old) * 3 and kept * 4 >= len(seen.new) * 3
    )


def _masked(seen: Seen) -> bool:
    return bool(seen.new) and len(seen.new) * _MASKED_TIMES <= len(seen.old)


def _other_shape(seen: Seen) -> bool:
    found = seen.found
    return found.how in (How.KEYS, How.LENGTH) or type(found.old) is not type(found.new)


_GUESSES: Final[tuple[tuple[str, Callable[[Seen], bool]], ...]] = (
    ("elided", _elided),
    ("key order", _same_but_for_key_order),
    ("serialised", _same_number),
    ("serialised", _same_json),
    ("item order", _items_reordered),
    ("spaces", _same_but_for_spaces),
    ("escapes", _same_but_for_escapes),
    ("image", _image),
    ("call id", _call_ids),
    ("uuid", _both_match(_UUID)),
    ("clock", _both_match(_CLOCK)),
    ("duration", _both_match(_DURATION)),
    ("line order", _words_reordered),
    ("counter", _counts),
    ("random id", _random),
    ("grown", _grown),
    ("cut", _cut),
    ("masked", _masked),
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


ID: Final = "#"
"""Stands for what changes by itself."""
_LOOSE: Final = re.compile(rf"[\w.:/+-]*\d[\w.:/+-]*|\b(?:{_MONTH}|{_DAY})\b", re.IGNORECASE)
"""Words with a digit in them, names of months and days."""


def loose(value: Any) -> str:
    """A value with all that changes by itself taken out: equal for what is the same message.

    Every word with a digit in it, names of months and days; and what is spelled otherwise: order of
    keys, fields that are null, JSON in texts, spaces, accents.
    """
    return _LOOSE.sub(ID, sorted_json(_plain(value)))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        inner = within("", value)
        return " ".join(_unescaped(value)) if inner is None else _plain(inner.value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value
