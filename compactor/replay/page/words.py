"""Text of transcripts for a page: harmless, in one piece, cut where it is long.

A transcript is written by strangers. None of it becomes markup or script, turns the line around, or
hides in it. Specification: docs/report.md.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from compactor.replay.page.told import Text

TEXT_CHARS_MAX: Final = 6000
"""More of one text is never kept; three quarters of them are its beginning."""

_HARMFUL: Final = re.compile(
    # controls but tabs and line ends, delete and C1; what turns text around or hides in it
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\ufff9-\uffff]"
)
_MARKUP: Final = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def harmless(text: str) -> str:
    """The text with what cannot be seen spelled out. O(text)."""
    return _HARMFUL.sub(_escaped, text.replace("\r\n", "\n"))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def one_line(text: str, chars: int) -> str:
    """A name in one line, its end where it is long. O(chars)."""
    line = harmless(text[-chars - 1 :]).replace("\n", "\\n").replace("\t", "\\t")
    return line if len(line) <= chars else f"…{line[1 - chars :]}"


def clipped(text: str, chars: int = TEXT_CHARS_MAX) -> Text:
    """A harmless text, its middle left out where it is longer. O(chars)."""
    head, tail = _parts(chars)
    if len(text) <= head + tail:
        return Text(harmless(text))
    end = text[len(text) - tail :]
    return Text(harmless(text[:head]), len(text) - head - tail, harmless(end))


def shorter(text: Text, chars: int) -> Text:
    """A text that was clipped, clipped further."""
    head, tail = _parts(chars)
    if not text.omitted:
        return clipped(text.head, chars)
    lost = max(0, len(text.head) - head) + max(0, len(text.tail) - tail)
    kept_tail = text.tail[max(0, len(text.tail) - tail) :]
    return Text(text.head[:head], text.omitted + lost, kept_tail)


def _parts(chars: int) -> tuple[int, int]:
    return chars - chars // 4, chars // 4


def script_json(value: Any) -> str:
    """JSON that can stand in a `<script>`: whatever it says, it neither ends it nor begins one."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_MARKUP)
