"""The newest texts of a session, which are not in the word index yet: read by every search.

A text that waits holds a word if and only if the index would say so of it, so that nobody can tell
when a text was indexed. Most texts are decided by looking for characters; only the rest are cut
into words.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cached_property, lru_cache

from compactor.store import index
from compactor.store.query import Reading, Word
from compactor.store.words import JOINT, LETTER, bare, pair_of, words


class Waiting:
    """One text that waits.

    Attributes:
        body: its id.
    """

    def __init__(self, body: int, text: str, about: str) -> None:
        self.body = body
        self._text = text
        self._about = about

    def holds(self, word: Word) -> bool:
        """Whether the index would find this text by a word."""
        return any(self._holds_all(reading) for reading in word.readings)

    def _holds_all(self, reading: Reading) -> bool:
        if not all(self._may_hold(word) for word in reading.words):
            return False
        return self._stands_there(reading) or self._words.issuperset(reading.words)

    def _may_hold(self, word: str) -> bool:
        """False where the parts of a word do not even stand side by side."""
        parts = pair_of(word)
        if not all(part in self._bare for part in parts):
            return False
        return len(parts) == 1 or _side_by_side(parts).search(self._bare) is not None

    def _stands_there(self, reading: Reading) -> bool:
        """Whether a place that looks like it holds the words: a short cut for most texts."""
        whole = self._whole
        if len(self._bare) != len(whole):  # accents were taken out: places are not the same
            return False
        match = _pattern(reading.parts).search(self._bare)
        return match is not None and set(words(whole[slice(*match.span())])).issuperset(
            reading.words
        )

    @cached_property
    def _whole(self) -> str:
        return f"{self._text}\n{self._about}"

    @cached_property
    def _bare(self) -> str:
        return bare(self._whole)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(index.words_of(self._text, self._about))


@lru_cache(maxsize=256)
def _side_by_side(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"[{JOINT}]{{0,3}}".join(map(re.escape, parts)))


@lru_cache(maxsize=256)
def _pattern(parts: tuple[str, ...]) -> re.Pattern[str]:
    """Parts as they stand in a chain, which begins and ends with them or goes on behind a joint."""
    return re.compile(f"(?<![{LETTER}]){_side_by_side(parts).pattern}(?![{LETTER}])")


def waiting(db: sqlite3.Connection, session: int, indexed: int) -> list[Waiting]:
    """The texts that wait, newest first. O(their size), which `index.py` bounds."""
    first, last = (session << 32) + indexed + 1, (session + 1 << 32) - 1
    texts = [Waiting(*each) for each in index.placed(db, first, last)]
    return texts[::-1]
