"""The words a text is found by: our own, the same on every machine and Python.

A *chain* is what stands together without a space: `extract_path`, `src/app.ts`, `getUserName`. It
is cut into *parts*, and a text is found by each part and by each pair of neighbours (`src_app`,
`app_ts`), so by any piece of an identifier or path. Scripts without spaces are found by each
character and each pair. Upper and lower case and accents are one. Nothing here asks Python's
Unicode tables about characters that newer versions of them may classify otherwise. A change needs a
new schema version (`schema.py`): the index holds these words. Specification: docs/store.md, Search.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain as flattened
from itertools import pairwise
from typing import NamedTuple

from compactor.store.texts import to_bytes, to_text

MAX_PART = 64
"""Characters of a part; what is longer (base64, minified code) is found by its beginning."""
_CAMEL_CHARS = 40
_CAMEL_PIECES = 8
_REMEMBERED = 64
"""Characters of the longest chain whose words are remembered."""
JOINT = r"_.:/\\@-"
"""What may stand between the parts of a chain."""

_DENSE = (
    "\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3040-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Hangul, kana, bopomofo, Han: words are not set apart."""
_SIGN = "\u2070-\u2bff\U0001f000-\U0001ffff"
"""Arrows, mathematics, boxes, emoji: each a word."""
LETTER = (
    "A-Za-z0-9\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\u0dff\u10a0-\u10ff\u1200-\u177f\u1800-\u1fff"
    "\u2c00-\u2dff\ua000-\ua95f\ua980-\uabff\ufb00-\ufdff\ufe70-\ufefe\uff10-\uff19\uff21-\uff3a"
    "\uff41-\uff5a\U00010000-\U0001cfff\U0001e000-\U0001efff"
)
"""Everything else that is no punctuation, space, control, private or lone surrogate."""
_CASED = ((0xC0, 0x24F), (0x370, 0x52F), (0x531, 0x556), (0x1E00, 0x1FFF), (0xFF10, 0xFF5A))
"""Blocks whose case and accents are folded: full since before Unicode 14, so settled for good."""
_ACCENTS = "\u0300-\u036f"


def _fold_table() -> dict[int, str]:
    """One character for one, so that places in a folded text are places in the text."""
    table = {code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)}
    for first, last in _CASED:
        for code in range(first, last + 1):
            folded = unicodedata.normalize("NFKD", chr(code).lower())[0]
            if folded != chr(code) and not folded.isspace():
                table[code] = folded
    table[ord("ς")] = "σ"
    return table


_FOLD = _fold_table()
_FOLDED = re.compile(f"[{''.join(chr(code) for code in sorted(_FOLD) if code > 0x7F)}]")
_STRIP = re.compile(f"[{_ACCENTS}]+")
_ASCII_CHAIN = re.compile(rf"\\?[A-Za-z0-9]+(?:[{JOINT}]{{1,3}}[A-Za-z0-9]+)*")
_CHAIN = re.compile(rf"\\?[{LETTER}]+(?:[{JOINT}]{{1,3}}[{LETTER}]+)*|[{_DENSE}]+|[{_SIGN}]")
_JOINTS = re.compile(rf"[{JOINT}]+")
_IS_LETTER = re.compile(f"[{LETTER}]")
_IS_DENSE = re.compile(f"[{_DENSE}]")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_ESCAPE = re.compile(r"\\+(?:[nrt]|u[0-9a-fA-F]{4})?")
"""`one\\ntwo` in quoted JSON or source: read both as a path and as an escape."""
_NUMBER = re.compile("[0-9]+")
_NUMBERED = re.compile(r"([a-z]{3,})[0-9]+")


class Chain(NamedTuple):
    """What is asked of the index for one chain.

    parts: the pieces, folded.
    pairs: neighbours, as the index spells them; two numbers are no pair.
    whole: atoms in camel case, written together.
    """

    parts: tuple[str, ...]
    pairs: tuple[str, ...]
    whole: tuple[str, ...]


def fold(text: str) -> str:
    """A text without its case and (composed) accents; each character stays in its place."""
    if text.isascii():
        return text.lower()
    if _FOLDED.search(text):
        return text.translate(_FOLD)
    return to_text(to_bytes(text).lower())  # bytes have only the case of ASCII


def bare(text: str) -> str:
    """A text without its case and any accents: the parts of its chains stand in it as they are."""
    folded = fold(text)
    return folded if folded.isascii() else _STRIP.sub("", folded)


def pair_of(word: str) -> tuple[str, ...]:
    """The parts of a pair of parts; any other word as it is."""
    return tuple(word.split("_"))


def is_letter(character: str) -> bool:
    """Whether a character is part of a word that spaces set apart."""
    return _IS_LETTER.match(character) is not None


def chains(text: str) -> Iterator[re.Match[str]]:
    """The chains of a text, in order. O(text)."""
    return (_ASCII_CHAIN if text.isascii() else _CHAIN).finditer(text)


def words(text: str) -> list[str]:
    """The words that the index holds of a text: each once, by appearance. O(text)."""
    pieces = " ".join(dict.fromkeys(text.replace("\n", " ").split(" ")))  # most come again
    found = dict.fromkeys((_ASCII_CHAIN if text.isascii() else _CHAIN).findall(pieces))
    is_short = max(map(len, found), default=0) <= _REMEMBERED
    each = map(_known_words if is_short else _words_of, found)
    return list(dict.fromkeys(flattened.from_iterable(each)))


def _words_of(chain: str) -> tuple[str, ...]:
    return _words(chain) if len(chain) > _REMEMBERED else _known_words(chain)


def _words(chain: str) -> tuple[str, ...]:
    """The words of one chain."""
    if chain.isascii() and chain.isalpha() and chain.islower():  # most are
        return (chain[:MAX_PART],)
    if chain.isascii() and chain.isdecimal():
        return (chain[:MAX_PART],)
    parts, pairs, whole = split(chain)
    found = [*whole, *parts]
    for part in parts:
        numbered = _NUMBERED.fullmatch(part)
        if numbered:
            found.append(numbered.group(1))
    found += pairs
    if "\\" in chain:
        for piece in _ESCAPE.sub(" ", chain).split():
            found += _words(piece)
    return tuple(dict.fromkeys(found))


_known_words = lru_cache(maxsize=1 << 16)(_words)
"""Most chains come again. What is remembered is never changed."""


def split(chain: str) -> Chain:
    """A chain as parts and pairs."""
    if _IS_DENSE.match(chain):
        pairs = tuple(map("".join, pairwise(chain)))
        return Chain(tuple(chain), pairs, ())
    parts: list[str] = []
    whole = []
    for atom in _JOINTS.split(chain):
        pieces = _camel(atom)
        if len(pieces) > 1:
            whole.append(atom.lower())
            parts += [piece.lower() for piece in pieces]
        else:
            parts.append(_STRIP.sub("", fold(atom))[:MAX_PART])
    parts = [part for part in parts if part]
    pairs = tuple(
        f"{one}_{other}" for one, other in pairwise(parts) if not _NUMBER.fullmatch(one + other)
    )
    return Chain(tuple(parts), pairs, tuple(whole))


def _camel(atom: str) -> list[str]:
    """`getUserName` as its pieces. Ids in mixed case, such as base64, are cut nowhere."""
    if len(atom) > _CAMEL_CHARS or not atom.isascii() or atom.islower() or atom.isupper():
        return [atom]
    pieces = _CAMEL.findall(atom)
    return pieces if len(pieces) <= min(_CAMEL_PIECES, len(atom) // 2) else [atom]
