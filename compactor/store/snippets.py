"""The lines of a text that show why it was found: a few, short, safe to print.

A unit is a line, or a stretch of a very long one. The units with the heaviest words are shown with
a line on either side; where a word stands for itself it counts more than inside of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compactor.store.protocol import Line
from compactor.store.query import Word
from compactor.store.words import fold, is_letter

UNITS = 3
AROUND = 1
WIDTH = 160
"""Characters of a line that are shown."""
MATCHES = 5_000
"""Matches of one text that are looked at."""
_INSIDE = 4
"""A word inside of another counts as a part of its weight."""
_UNSAFE = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Sought(NamedTuple):
    """A word that is to be shown, and what it weighs."""

    word: Word
    weight: int


class Unit(NamedTuple):
    """A line, or a stretch of it: its number from 0, and where line and match begin."""

    number: int
    start: int
    match: int


def lines_around(
    text: str, sought: Sequence[Sought], before: int = 0
) -> tuple[tuple[Line, ...], int]:
    """The best lines of a text, and how many it has. O(text).

    Args:
        sought: words that it is known to hold; it may hold none of them as they are spelled.
        before: lines of the whole that stand in front of this text.
    """
    total = before + text.count("\n") + (not text.endswith("\n"))
    shown: dict[tuple[int, int], Line] = {}
    for unit in _best(text, sought) or [Unit(0, 0, 0)]:
        for number, start in _neighbours(text, unit):
            place = unit.match if start == unit.start else start
            key, line = _line(text, number, start, place)
            shown.setdefault(key, line._replace(number=before + number + 1))
    return tuple(shown[key] for key in sorted(shown)), total


def _best(text: str, sought: Sequence[Sought]) -> list[Unit]:
    """The units with the most weight, in order."""
    weights: dict[tuple[int, int], dict[int, int]] = {}
    units: dict[tuple[int, int], Unit] = {}
    for unit, place, weight in _matches(text, sought):
        key = (unit.number, (unit.match - unit.start) // WIDTH)
        units.setdefault(key, unit)
        known = weights.setdefault(key, {})
        known[place] = max(known.get(place, 0), weight)
    best = sorted(weights, key=lambda key: (-sum(weights[key].values()), key))
    return [units[key] for key in sorted(best[:UNITS])]


def _matches(text: str, sought: Sequence[Sought]) -> Iterator[tuple[Unit, int, int]]:
    """Where words stand: the unit, which of them, and its weight there."""
    folded = fold(text)
    spelled = _spelled(folded, sought)
    if not spelled:
        return
    pattern = re.compile("|".join(map(re.escape, sorted(spelled, key=lambda s: (-len(s), s)))))
    places = {each: place for place, each in enumerate(spelled)}
    number = start = 0
    for count, match in enumerate(pattern.finditer(folded)):
        if count == MATCHES:
            return
        begun = folded.rfind("\n", start, match.start()) + 1
        if begun > start:
            number += folded.count("\n", start, begun)
            start = begun
        found = match.group()
        alone = _is_edge(text, match.start()) and _is_edge(text, match.end())
        weight = spelled[found] if alone else spelled[found] // _INSIDE
        yield Unit(number, start, match.start()), places[found], weight


def _spelled(folded: str, sought: Sequence[Sought]) -> dict[str, int]:
    """What to look for, and what it weighs: pieces where the whole does not stand there."""
    found: dict[str, int] = {}
    for word, weight in sought:
        pieces = (word.spelled,) if word.spelled in folded else word.pieces
        for each in pieces:
            found[each] = max(found.get(each, 0), weight // len(pieces))
    return found


def _is_edge(text: str, place: int) -> bool:
    """Whether a word may begin or end here, `getUser|Name` included."""
    if place in (0, len(text)):
        return True
    one, other = text[place - 1], text[place]
    camel = "a" <= one <= "z" and "A" <= other <= "Z"
    return camel or not (is_letter(one) and is_letter(other))


def _neighbours(text: str, unit: Unit) -> Iterator[tuple[int, int]]:
    """Numbers and starts of the lines around a unit's."""
    starts = [unit.start]
    for _ in range(AROUND):
        if starts[0] == 0:
            break
        starts.insert(0, text.rfind("\n", 0, starts[0] - 1) + 1)
    first = unit.number - len(starts) + 1
    for _ in range(AROUND):
        end = text.find("\n", starts[-1])
        if end < 0 or end + 1 == len(text):
            break
        starts.append(end + 1)
    yield from enumerate(starts, first)


def _line(text: str, number: int, start: int, place: int) -> tuple[tuple[int, int], Line]:
    """A line as it is shown: what surrounds a place in it."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    stretch = (place - start) // WIDTH
    left = start if end - start <= WIDTH else max(start, min(place - WIDTH // 3, end - WIDTH))
    right = min(end, left + WIDTH)
    shown = _UNSAFE.sub("\ufffd", text[left:right].removesuffix("\r"))
    cut = ("…" if left > start else "") + shown + ("…" if right < end else "")
    return (number, stretch), Line(number, cut)
