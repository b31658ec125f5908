"""What differences look like: a clock, a uuid, a reordering, …, in words, and what to do about it.

A table; which of its rows fits a difference is `guesses`. Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Look(NamedTuple):
    """What a difference looks like.

    name: a noun; said: what shows it; advice: what to do about it.
    """

    name: str
    said: str
    advice: str


_KEEP = "Keep what was sent as it was sent, and append to it."
_SELDOM = "Free much at once and seldom. Tell of a pass that you make on purpose: passed(…)."
_LATER = "say it in the newest message instead, or once for the whole conversation."

LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        "clock": Look(
            "a clock",
            "both are a time or a date",
            f"Take the time out of what is sent again; {_LATER}",
        ),
        "duration": Look(
            "a clock",
            "both say how long something took",
            "Leave durations out, or fix the text of a result when it is made.",
        ),
        "uuid": Look(
            "a uuid",
            "both are a uuid, and each is a new one",
            f"Make it once and store it with the message; {_LATER}",
        ),
        "call id": Look(
            "new ids of old calls",
            "the ids of calls are made anew for each request",
            "Store the ids that the model gave, or make them once, when a message is stored.",
        ),
        "random id": Look(
            "a random id",
            "both are a random id, and each is a new one",
            "Make it once and store it with the message, or count instead.",
        ),
        "counter": Look(
            "a counter",
            "nothing but numbers differs",
            f"Leave counters out of what is sent again; {_LATER}",
        ),
        "tool order": Look(
            "a reordering of the tools",
            "the same tools in another order",
            "Send tools in one fixed order, say sorted by name; never in that of a set.",
        ),
        "item order": Look(
            "a reordering of a list",
            "the same items in another order",
            "Build the list in one fixed order; never in that of a set or a directory.",
        ),
        "key order": Look(
            "a reordering of keys",
            "the same keys and values in another order, as when an object was serialised anew",
            "Keep objects as they came, or always write their keys in one order.",
        ),
        "line order": Look(
            "a reordering of lines or words",
            "the same lines or words in another order",
            "Sort them; the order of a set, a directory or a search is another one each time.",
        ),
        "serialised": Look(
            "a re-serialised value",
            "the same JSON, spelled otherwise",
            "Keep the text as it came from the model; do not parse it and write it again.",
        ),
        "spelling": Look(
            "a re-serialised request",
            "the same values, with other spaces or escapes, or a text as a list with one text; a "
            "provider reads the values alone, but a cache that goes by bytes does not",
            'Serialise a message once, or let it pass: ignore=["spelling"].',
        ),
        "spaces": Look(
            "other white space",
            "the same text with other spaces or line ends",
            "Keep the text as it was sent: strip or indent it before it is sent the first time.",
        ),
        "escapes": Look(
            "other escapes",
            "the same text, escaped or composed otherwise, as ü is u and two dots or \\u00fc",
            "Keep the text as it was sent; do not escape or normalise it again.",
        ),
        "image": Look(
            "data encoded anew",
            "both are base64, as of an image",
            "Encode an image once and keep the text: encoders do not give the same bytes twice.",
        ),
        "tools": Look(
            "another set of tools",
            "tools came or went",
            "Send the same tools with every request of a conversation, also those not used now.",
        ),
        "model": Look(
            "another model",
            "another model has a cache of its own",
            "Stay with one model within a conversation.",
        ),
        "setting": Look(
            "another setting",
            "the setting is part of the prompt",
            "Keep it for the conversation, or let it pass: ignore=[…].",
        ),
        "dropped": Look(
            "dropped messages",
            "old messages are left out, as by a sliding window",
            _SELDOM,
        ),
        "inserted": Look(
            "messages put in between",
            "new messages stand between old ones",
            "Append new messages at the end, reminders too.",
        ),
        "message order": Look(
            "a reordering of messages",
            "old messages stand elsewhere",
            "Keep what was sent where it was; say a reminder again at the end, and leave the old.",
        ),
        "elided": Look(
            "an elision that nobody told of",
            "the new text is a marker of the compactor",
            "Tell passes before the request that shows them: passed(outcome).",
        ),
        "cut": Look(
            "a shortened old text",
            "the new text is the beginning of the old one",
            "Cut a result before it is sent the first time.",
        ),
        "masked": Look(
            "a masked old text",
            "a short text stands for a long one",
            _SELDOM,
        ),
        "grown": Look(
            "a lengthened old text",
            "the new text begins with the old one",
            "Put what is new into a message of its own at the end.",
        ),
        "shape": Look("another shape", "it has other fields or blocks", _KEEP),
        "reworded": Look(
            "another text",
            "it says something else",
            f"Keep prompts and tools as they were; {_LATER}",
        ),
        "rewritten": Look("a rewritten old message", "an old message says something else", _KEEP),
    }
)
"""Kind → its words."""
