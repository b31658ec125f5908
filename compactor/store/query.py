"""A free text as words to look for. Nothing in it is query syntax, and its length is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactor.store.words import chains, fold, split

QUERY_CHARS = 2_000
QUERY_WORDS = 16
_PIECES = 16
_PHRASE_CHARS = 200


class Reading(NamedTuple):
    """One way to read a chain: `getUser` is `get user`, or one word.

    words: of the index, which a text must hold all.
    parts: of the chain, in order.
    """

    words: tuple[str, ...]
    parts: tuple[str, ...]


class Word(NamedTuple):
    """One chain of a query.

    spelled: as in the query, folded.
    readings: a text holds the word by any of them.
    pieces: what it is made of; only itself where that is one piece.
    """

    spelled: str
    readings: tuple[Reading, ...]
    pieces: tuple[str, ...]


class Query(NamedTuple):
    """What is looked for.

    words: each once, by appearance.
    phrase: all of it, folded, for texts that hold it as it stands; "" for one word.
    cut: there was more than we look at.
    """

    words: tuple[Word, ...]
    phrase: str
    cut: bool


def parse(query: str) -> Query:
    """The words of a query. O(QUERY_CHARS)."""
    looked_at = query[:QUERY_CHARS]
    found: dict[str, Word] = {}
    for match in chains(looked_at):
        word = _word(match.group())
        if word.pieces:
            found.setdefault(word.spelled, word)
    words = tuple(found.values())
    phrase = fold(looked_at.strip())
    is_phrase = len(words) > 1 and len(phrase) <= _PHRASE_CHARS
    cut = len(query) > QUERY_CHARS or len(words) > QUERY_WORDS
    return Query(words[:QUERY_WORDS], phrase if is_phrase else "", cut)


def pieces_of(word: Word) -> list[Word]:
    """The pieces of a word that was not found as a whole."""
    pieces = dict.fromkeys(word.pieces)
    return [Word(piece, (Reading((piece,), (piece,)),), (piece,)) for piece in pieces]


def expression(words: Sequence[Word]) -> str:
    """What asks FTS5 for the texts that hold all of several words."""
    readings = [[f"({_all(reading.words)})" for reading in word.readings] for word in words]
    return " AND ".join(f"({' OR '.join(each)})" for each in readings)


def _word(chain: str) -> Word:
    spelled = fold(chain)
    parts, pairs, _ = split(chain)
    dense = len(pairs) > 0 and "_" not in pairs[0]
    readings = dict.fromkeys((_reading(chain), _reading(spelled)))
    pieces = pairs if dense else parts
    return Word(spelled, tuple(each for each in readings if each.words), pieces[:_PIECES])


def _reading(chain: str) -> Reading:
    """The fewest words of the index that say all of a chain: pairs, and parts in no pair."""
    parts, pairs, _ = split(chain)
    paired = {part for pair in pairs for part in (pair.split("_") if "_" in pair else pair)}
    alone = tuple(part for part in parts if part not in paired)
    return Reading((*pairs, *alone)[:_PIECES], parts)


def _all(words: tuple[str, ...]) -> str:
    return " AND ".join(f'"{word}"' for word in words)
