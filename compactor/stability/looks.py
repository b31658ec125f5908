"""What a difference looks like: a clock, a uuid, a reordering, …, and what to do about it.

A guess from the two values alone, the first that fits of `_GUESSES`; its words and its advice are
the table `LOOKS`. A guess says nothing about whether there is a break. Specification: docs/pytest.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from compactor.formats.native import compact_json, compact_json_text
from compactor.formats.within import within
from compactor.stability.differences import Difference, How, common_prefix, written_alike


class Look(NamedTuple):
    """What a difference looks like.

    said: completes "it looks like …"; advice: what to do about it.
    """

    said: str
    advice: str


_KEEP = "Keep what was sent as it was sent, and append to it."
_LATER = "say it in the newest message instead, or once for the whole conversation."

LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        "clock": Look(
            "a clock: both are a time or a date",
            f"Take the time out of what is sent again; {_LATER}",
        ),
        "duration": Look(
            "a clock: both are a time that something took",
            "Leave durations out, or fix the text of a result when it is made.",
        ),
        "uuid": Look(
            "a uuid: both are, and each is a new one",
            f"Make it once and store it with the message; {_LATER}",
        ),
        "call id": Look(
            "ids of calls that are made anew for each request",
            "Store the ids that the model gave, or make them once, when a message is stored.",
        ),
        "random id": Look(
            "a random id: both are, and each is a new one",
            "Make it once and store it with the message, or count instead.",
        ),
        "counter": Look(
            "a number that goes on: the rest around it is the same",
            f"Leave counters out of what is sent again; {_LATER}",
        ),
        "tool order": Look(
            "a reordering: the same tools in another order",
            "Send tools in one fixed order, say sorted by name; never in that of a set.",
        ),
        "item order": Look(
            "a reordering: the same items in another order",
            "Build the list in one fixed order; never in that of a set or a directory.",
        ),
        "key order": Look(
            "a reordering: the same keys with the same values in another order, as when it was "
            "serialised anew",
            "Keep objects as they came, or always write their keys in one order.",
        ),
        "line order": Look(
            "a reordering: the same lines or words in another order",
            "Sort them; the order of a set, a directory or a search is another one each time.",
        ),
        "serialised": Look(
            "a re-serialised value: the same JSON, spelled otherwise",
            "Keep the text as it came from the model; do not parse it and write it again.",
        ),
        "spelling": Look(
            "a re-serialised request: the same values, other spaces or escapes between them. "
            "Providers read the values alone; what hashes bytes in between does not",
            'Serialise a message once, or let it pass: cache_stability(spelling="ignore").',
        ),
        "tools": Look(
            "another set of tools",
            "Send the same tools with every request of a conversation, also those not used now.",
        ),
        "model": Look(
            "another model, whose cache is its own", "Stay with one model within a conversation."
        ),
        "setting": Look(
            "a setting that is part of the prompt",
            "Keep it for the conversation, or let it pass: cache_stability(ignore=[…]).",
        ),
        "dropped": Look(
            "messages that are left out, as by a sliding window",
            "Free much at once and seldom: docs/caching.md. A pass that you make on purpose is "
            "told with cache_stability.passed(…).",
        ),
        "inserted": Look(
            "messages that are put in between old ones",
            "Append new messages at the end, reminders too.",
        ),
        "message order": Look("a reordering: the same messages in another order", _KEEP),
        "elided": Look(
            "an elision of the compactor that nobody told of",
            "Tell passes before the request that shows them: cache_stability.passed(outcome).",
        ),
        "cut": Look("an old text that was cut", "Cut a result before it is sent the first time."),
        "grown": Look(
            "an old text that grew", "Put what is new into a message of its own at the end."
        ),
        "shape": Look("an old message of another shape", _KEEP),
        "rewritten": Look("an old message that was rewritten", _KEEP),
    }
)
"""Kind → its words."""


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
    return type(old) is not bool is not type(new) and _is_number(old, new) and old == new


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


_SEPARATORS: Final = ("\n", ", ", ",", " ")


def _lines_reordered(seen: Seen) -> bool:
    old, new = seen.found.old, seen.found.new
    if not (isinstance(old, str) and isinstance(new, str)) or len(old) != len(new):
        return False
    return any(sorted(old.split(by)) == sorted(new.split(by)) for by in _SEPARATORS)


_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY: Final = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_TIME: Final = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?"
_ZONE: Final = r"(?: ?(?:z|utc|gmt|[+-]\d{2}:?\d{2})\b)?"
_CLOCK: Final = re.compile(
    "|".join(
        (
            rf"\b\d{{4}}-\d{{2}}-\d{{2}}(?:[t ]{_TIME})?{_ZONE}",
            r"\b20\d{6}(?:[t_-]?\d{4,6})?z?\b",
            rf"\b(?:{_DAY},? )?\d{{1,2}}(?:st|nd|rd|th)?[ -]{_MONTH},?[ -]\d{{4}}"
            rf"(?:,? (?:at )?{_TIME})?{_ZONE}",
            rf"\b(?:{_DAY},? )?{_MONTH} +\d{{1,2}}(?:st|nd|rd|th)?(?:,? (?:{_TIME},? )?\d{{4}})?"
            rf"(?:,? (?:at )?{_TIME})?{_ZONE}",
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
    r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b", re.IGNORECASE
)
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
    return bool(new) and len(new) < len(old) and common_prefix(old, new) * 2 > len(new)


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
    ("uuid", _both_match(_UUID)),
    ("clock", _both_match(_CLOCK)),
    ("duration", _both_match(_DURATION)),
    ("line order", _lines_reordered),
    ("random id", _random),
    ("counter", _counts),
    ("elided", _elided),
    ("grown", _grown),
    ("cut", _cut),
    ("shape", _other_shape),
)
"""Kind → whether it fits, the surest first."""


def sorted_json(value: Any) -> str:
    """Compact JSON with the keys of objects in order: equal for what differs in their order only."""
    return compact_json(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


_LOOSE: Final = re.compile(rf"[\w.:/+-]*\d[\w.:/+-]*|\b(?:{_MONTH}|{_DAY})\b", re.IGNORECASE)


def loose(value: Any) -> str:
    """A value with all that changes by itself taken out: equal for what is the same message.

    Key order, JSON in texts, every word with a digit in it, names of months and days.
    """
    return _LOOSE.sub("#", sorted_json(_parsed(value)))


def _parsed(value: Any) -> Any:
    """Texts that are JSON objects or lists as their values."""
    if isinstance(value, str):
        inner = within("", value)
        return value if inner is None else inner.value
    if isinstance(value, dict):
        return {key: _parsed(item) for key, item in value.items()}
    return [_parsed(item) for item in value] if isinstance(value, list) else value
