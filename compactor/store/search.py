"""Finds texts by words and ranks them, with bounded work and integers only.

The index is asked for the newest texts with all words, with all but one, and with each. The best of
these by what words they hold are read (their beginnings) and ranked as BM25 does: rare words count
more, repetition counts less and less, long texts less. Everything is a function of the session's
own texts: neither other sessions nor the state of the file or the version of SQLite change an
order. Specification: docs/store.md, Search.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from compactor.store import index
from compactor.store.protocol import Found, Hit
from compactor.store.query import Query, Word, expression, parse, pieces_of
from compactor.store.snippets import Sought, lines_around
from compactor.store.texts import to_text
from compactor.store.waiting import Waiting, waiting
from compactor.store.words import fold

NEWEST = 1_000
"""Texts that one question to the index gives; a word in more of them is `common`."""
READ = 300
"""Texts that are read to be ranked."""
READ_BYTES = 1 << 16
"""Of each of them, from its beginning."""
SHOWN_BYTES = 1 << 26
"""Of all hits, that are searched for the lines to show."""
LIMIT = 50
_ALL_BUT_ONE = range(3, 7)
"""Numbers of words for which texts with all but one of them are asked for."""
_SCALE = 100
_SHORT = 4
"""Characters of words that are mostly parts of others where they are not counted by themselves."""


class LostTextError(LookupError):
    """The word index speaks of a text that is not there as it was."""


class Term(NamedTuple):
    """A word that stands somewhere in the session.

    weight: the more, the fewer texts hold it.
    bodies: the newest that hold it.
    common: there are more.
    """

    word: Word
    weight: int
    bodies: list[int]
    common: bool


class Text(NamedTuple):
    """A text that is read to be ranked."""

    body: int
    seq: int | None
    number: int | None
    size: int
    folded: str
    held: int


class Texts(NamedTuple):
    """The texts of a session that can be asked for words.

    bodies: all bodies of the session.
    waiting: the newest, which are not in the index.
    """

    db: sqlite3.Connection
    session: int
    bodies: int
    waiting: list[Waiting]

    def newest(self, word: Word, limit: int) -> list[int]:
        """The newest bodies that hold a word, newest first."""
        found = [each.body for each in self.waiting if each.holds(word)][:limit]
        left = limit - len(found)
        return found + index.newest(self.db, self.session, expression([word]), left)


def find(
    db: sqlite3.Connection, session: int, bodies: int, indexed: int, query: str, limit: int
) -> Found:
    """See `protocol.SessionStore.search`.

    Args:
        bodies: of the session.
        indexed: those of them that are in the index.
    """
    limit = max(1, min(limit, LIMIT))
    asked = parse(query)
    texts = Texts(db, session, bodies, waiting(db, session, indexed) if asked.words else [])
    terms, missing = _terms(texts, asked)
    candidates = _candidates(db, session, terms)
    ranked = _ranked([_text(db, body, held) for body, held in candidates], terms, asked.phrase)
    return Found(
        list(_hits(db, session, ranked[:limit], terms)),
        tuple(word.spelled for word in asked.words),
        missing,
        tuple(term.word.spelled for term in terms if term.common),
        asked.cut,
    )


def _terms(texts: Texts, asked: Query) -> tuple[list[Term], tuple[str, ...]]:
    """The words that stand somewhere, and those that do not, of which the pieces are looked for."""
    terms, missing = [], []
    for word in asked.words:
        term = _term(texts, word)
        if term is not None:
            terms.append(term)
            continue
        missing.append(word.spelled)
        if len(word.pieces) > 1:
            found = (_term(texts, piece) for piece in pieces_of(word))
            terms += [term for term in found if term is not None]
    once = {term.word.spelled: term for term in terms}
    return list(once.values()), tuple(missing)


def _term(texts: Texts, word: Word) -> Term | None:
    found = texts.newest(word, NEWEST + 1)
    if not found:
        return None
    common = len(found) > NEWEST
    count = len(found)
    if common:  # as dense as among the newest
        oldest = found.pop() - (texts.session << 32)
        count = max(NEWEST, NEWEST * texts.bodies // (texts.bodies - oldest + 1))
    return Term(word, _log2_by_16(texts.bodies + count, count), found, common)


def _log2_by_16(over: int, under: int) -> int:
    """16 times the binary logarithm of a fraction ≥ 1, the same on every machine."""
    return (over**16 // under**16).bit_length()


def _candidates(
    db: sqlite3.Connection, session: int, terms: Sequence[Term]
) -> list[tuple[int, int]]:
    """Bodies and the terms they hold (a bit each): the best by weight, the newer among equals."""
    held: dict[int, int] = {}
    for bits, bodies in _questions(db, session, terms):
        for body in bodies:
            held[body] = held.get(body, 0) | bits
    weights = {bits: _weight(bits, terms) for bits in sorted(set(held.values()))}
    best = sorted(held.items(), key=lambda item: (-weights[item[1]], -item[0]))
    return best[:READ]


def _questions(
    db: sqlite3.Connection, session: int, terms: Sequence[Term]
) -> Iterator[tuple[int, list[int]]]:
    """Sets of terms, and the newest bodies that hold all of a set."""
    for place, term in enumerate(terms):
        yield 1 << place, term.bodies
    everything = (1 << len(terms)) - 1
    sets = [everything] if len(terms) > 1 else []
    if len(terms) in _ALL_BUT_ONE:
        sets += [everything ^ 1 << place for place in range(len(terms))]
    for bits in sets:
        if any(term.common for term in _of(bits, terms)):  # else they are all there already
            words = [term.word for term in _of(bits, terms)]
            yield bits, index.newest(db, session, expression(words), NEWEST)


def _of(bits: int, terms: Sequence[Term]) -> list[Term]:
    return [term for place, term in enumerate(terms) if bits >> place & 1]


def _weight(bits: int, terms: Sequence[Term]) -> int:
    return sum(term.weight for term in _of(bits, terms))


def _text(db: sqlite3.Connection, body: int, held: int) -> Text:
    seq, number, about, size, data = _row(
        db,
        "SELECT p.seq, p.number, p.about, length(b.data), substr(b.data, 1, ?)"
        " FROM place p JOIN body b ON b.id = p.body WHERE p.body = ?",
        READ_BYTES,
        body,
    )
    text = (data + b"\n" + about).decode("utf-8", "replace")
    return Text(body, seq, number, size, fold(text), held)


def _ranked(texts: list[Text], terms: Sequence[Term], phrase: str) -> list[tuple[int, int, Text]]:
    """(score, terms it holds, text), best first; the newer among equals."""
    usual = sum(min(text.size, READ_BYTES) for text in texts) // max(1, len(texts)) + 1
    scored = [(*_score(text, terms, phrase, usual), text) for text in texts]
    return sorted(scored, key=lambda item: (-item[0], -_newness(item[2])))


def _newness(text: Text) -> int:
    """Results that are no entry yet are the newest."""
    return text.seq if text.seq is not None else (1 << 32) + (text.number or 0)


def _score(text: Text, terms: Sequence[Term], phrase: str, usual: int) -> tuple[int, int]:
    size = 900 * min(text.size, READ_BYTES) // usual
    score = held = 0
    for place, term in enumerate(terms):
        known = text.held >> place & 1
        times = _times(text.folded, term.word) if known or term.common else 0
        times = max(times, known)
        if times:
            held |= 1 << place
            score += _SCALE * term.weight * times * 2_200 // (times * 1_000 + 300 + size)
    score = score * _weight(held, terms) // _weight((1 << len(terms)) - 1, terms)
    if phrase and phrase in text.folded:
        score += score // 2
    return score, held


def _times(folded: str, word: Word) -> int:
    """How often a word stands in a text, or how often each of its pieces does."""
    if len(word.spelled) <= _SHORT and word.spelled.isascii():
        alone = rf"(?<![a-z0-9]){re.escape(word.spelled)}(?![a-z0-9])"
        return sum(1 for _ in re.finditer(alone, folded))
    return folded.count(word.spelled) or min(folded.count(piece) for piece in word.pieces)


def _hits(
    db: sqlite3.Connection,
    session: int,
    ranked: Sequence[tuple[int, int, Text]],
    terms: Sequence[Term],
) -> Iterator[Hit]:
    left = SHOWN_BYTES
    for score, held, text in ranked:
        data, digest = _row(
            db, "SELECT substr(data, 1, ?), digest FROM body WHERE id = ?", left, text.body
        )
        if len(data) == text.size and hashlib.sha256(data).digest() != digest:
            raise LostTextError
        left = max(1, left - len(data))
        kind, tool, before = _where(db, session, text)
        sought = [Sought(term.word, term.weight) for term in _of(held, terms)]
        whole = to_text(data) if len(data) == text.size else data.decode("utf-8", "ignore")
        lines, total = lines_around(whole, sought, before)
        matched = tuple(term.word.spelled for term in _of(held, terms))
        yield Hit(text.seq, text.number, kind, tool, lines, total, matched, score)


def _where(db: sqlite3.Connection, session: int, text: Text) -> tuple[str, str, int]:
    """Kind, tool, and lines of the entry that stand before the body."""
    if text.seq is None:
        number = session << 32 | (text.number or 0)
        (tool,) = _row(db, "SELECT tool FROM result WHERE id = ?", number)
        return "tool", to_text(tool), 0
    seq = session << 32 | text.seq
    kind, name, head = _row(db, "SELECT kind, name, head FROM entry WHERE id = ?", seq)
    return to_text(kind), to_text(name), head.count(b"\n") if text.number is None else 0


def _row(db: sqlite3.Connection, statement: str, *values: int) -> tuple[Any, ...]:
    """One row that must be there."""
    row: tuple[Any, ...] | None = db.execute(statement, values).fetchone()
    if row is None:
        raise LostTextError
    return row
