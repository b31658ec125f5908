"""Patterns of what changes by itself: times and dates, durations, uuids.

Made to tell two texts that are known to differ, so they take what looks like one. Specification:
docs/pytest.md.
"""

from __future__ import annotations

import re
from typing import Final

_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY: Final = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_TIME: Final = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?"
_ZONE: Final = r"(?: ?(?:z|utc|gmt|[+-]\d{2}:?\d{2})\b)?"
_AT: Final = rf"(?:,? (?:at )?{_TIME})?{_ZONE}"
_OF_MONTH: Final = r"\d{1,2}(?:st|nd|rd|th)?"
CLOCK: Final = re.compile(
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
DURATION: Final = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)? ?(?:ms|µs|us|ns|s|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?)\b",
    re.IGNORECASE,
)
UUID: Final = re.compile(
    r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b", re.IGNORECASE
)

LOOSE: Final = re.compile(rf"[\w.:/+-]*\d[\w.:/+-]*|\b(?:{_MONTH}|{_DAY})\b", re.IGNORECASE)
"""Words with a digit in them, names of months and days."""
