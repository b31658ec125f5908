"""Cuts huge texts where no token crosses, so that counting never panics or runs out of bounds.

tiktoken's regex raises a Rust panic (no `Exception`) on 999,999 blanks in a row, and one unbroken
piece of megabytes costs many times what ordinary text does. So a text over `WHOLE` characters is
counted in segments of at most `PIECE`. A cut at a `BOUNDARY` is exact: no pre-token of
`o200k_base` or `cl100k_base` spans it, and no lookahead sees past it. Only a text without one in
128 Ki characters is cut at a fixed offset, a stated approximation: 36 kinds of unbroken text
(letters, CJK, marks, emoji, punctuation, blanks, newlines), 28,800 cuts at random places: at most
3 tokens a cut, and at the offsets used here at most 1.
Character classes are spelled out: Python's own tables differ from Rust's and between versions.
Specification: DESIGN section 3, Tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WHOLE = 400_000
"""Characters up to which a text is one segment. The panic needs 999,999 blanks in a row."""

PIECE = 196_608
"""Longest segment of a longer text, in characters. 3 * 2**16: digits are grouped by three and the
vocabularies' runs of one character are powers of two long, so most fixed cuts are exact too."""

SPAN = 65_536
"""Characters after which the next boundary ends a segment."""

_BLANK = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACE = _BLANK + "\r\n"
_MARKS = r"!-&(-/:-@\[-`{-~"
_CJK = "\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
_CJK_MARKS = (
    "\u3001\u3002\u3008-\u3011\u3014-\u301b\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f"
)

BOUNDARY = re.compile(
    # A newline belongs to what stands before it; only white space and `/` can join it.
    f"(?<=\n)(?=[^{_SPACE}/])"
    # A blank opens a piece; only a run of white space has one inside.
    f"|(?<=[^{_SPACE}])(?=[{_BLANK}])"
    # A word ends before a digit and before a mark, save the apostrophe of a contraction.
    f"|(?<=[A-Za-z])(?=[0-9{_MARKS}])"
    f"|(?<=[0-9])(?=[A-Za-z'{_MARKS}])"
    f"|(?<=[{_CJK}])(?=[{_CJK_MARKS}])"
)
"""Places that no pre-token of either vocabulary spans, whatever stands around them."""


def segments(text: str) -> Iterator[str]:
    """The text in pieces whose token counts add up to its own (see above). O(characters).

    Args:
        text: any text without surrogates.

    Yields:
        the text itself up to `WHOLE` characters; else pieces of at most `PIECE`, in order.
    """
    length = len(text)
    if length <= WHOLE:
        yield text
        return
    start = 0
    while length - start > PIECE:
        found = BOUNDARY.search(text, start + SPAN, start + PIECE)
        end = found.start() if found else start + PIECE
        yield text[start:end]
        start = end
    yield text[start:]
