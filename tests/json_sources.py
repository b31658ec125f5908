"""JSON source texts, made together with a model that says what an edit must make of them.

The model is independent of the code under test: a `Container` keeps its members and the gaps
between them apart, and `edited_source` puts the text together anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from hypothesis import strategies as st

from compactor.core.model import Path
from compactor.formats.raw.native import REMOVE, Document, Edit, Rows, compact_json, read_document


def read(text: str | bytes, *, strict: bool = False) -> Document:
    """A document of a text (lone surrogates stand for bytes that are no UTF-8) or of bytes."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return read_document(data, "input", strict=strict)


class Scalar(NamedTuple):
    text: str

    def render(self) -> str:
        return self.text


class Container(NamedTuple):
    """gaps[i] stands before member i (with its comma), the last one after all members."""

    brackets: str
    gaps: list[str]
    heads: list[str]
    values: list[Any]

    def render(self, added: str = "") -> str:
        members = [
            head + value.render() for head, value in zip(self.heads, self.values, strict=True)
        ]
        body = "".join(gap + member for gap, member in zip(self.gaps[:-1], members, strict=True))
        comma = "," if added and members else ""
        return f"{self.brackets[0]}{body}{comma}{added}{self.gaps[-1]}{self.brackets[1]}"

    def keys(self) -> list[str | int]:
        if self.brackets == "[]":
            return list(range(len(self.values)))
        return [json.loads(head[: head.rindex(":")], strict=False) for head in self.heads]


def edited_source(source: Any, edits: dict[Path, Any], at: Path = ()) -> str:
    """What the text must be after the edits (one an address, outer ones before inner ones)."""
    if at in edits:
        return compact_json(edits[at])
    if isinstance(source, Scalar):
        return source.text
    keys = source.keys()
    last = {key: index for index, key in enumerate(keys)}
    gaps, heads, values = [], [], []
    for index, key in enumerate(keys):
        if edits.get((*at, key)) is REMOVE:
            continue
        inner = source.values[index]
        text = edited_source(inner, edits, (*at, key)) if last[key] == index else inner.render()
        gaps.append(source.gaps[index] if values else source.gaps[0])
        heads.append(source.heads[index])
        values.append(Scalar(text))
    is_object = source.brackets == "{}"
    added = [
        (f"{compact_json(path[-1])}:" if is_object else "") + compact_json(value)
        for path, value in edits.items()
        if path[:-1] == at and path[-1] not in last and value is not REMOVE
    ]
    first_gap = [] if keys else [""]
    new = Container(source.brackets, [*gaps, *first_gap, source.gaps[-1]], heads, values)
    if not values and keys:
        new = Container(source.brackets, [source.gaps[0], source.gaps[-1]], [], [])
    if not values:
        inside = new.gaps[0] + ",".join(added) + new.gaps[1]
        return source.brackets[0] + inside + source.brackets[1]
    return new.render(",".join(added))


SPACE = st.text(" \t\n\r", max_size=2)
PLAIN = st.characters(exclude_categories=["Cs"], exclude_characters='"\\').filter(
    lambda char: char >= " "
)
ESCAPES = (
    *(r"\n", r"\"", r"\\", r"\/", r"\b", r"\u00e9", r"\u00E9", r"\u0000", r"\u001f"),
    *(r"\ud83d\ude00", r"\ud83d.", r"\ude00", r"\u2028"),
)
STRINGS = st.lists(PLAIN | st.sampled_from(ESCAPES), max_size=5).map(lambda u: f'"{"".join(u)}"')
NUMBERS = st.integers().map(str) | st.sampled_from(
    ["0", "-0", "1.0", "4.10", "1e5", "1E2", "1.0e5", "-0.0", "1e400", "NaN", "-Infinity"]
)
SCALARS = st.builds(Scalar, STRINGS | NUMBERS | st.sampled_from(["true", "false", "null"]))
KEYS = st.sampled_from([r'"a"', r'"\u0061"', r'"b"', r'""', r'"b:"', r'"\ud800"'])


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Container:
    values = draw(st.lists(inner, max_size=4))
    brackets = draw(st.sampled_from(["[]", "{}"]))
    commas = ["", *[","] * (len(values) - 1)] if values else []
    gaps = [draw(SPACE) + comma + draw(SPACE) for comma in commas]
    heads = [""] * len(values)
    if brackets == "{}":
        heads = [draw(KEYS) + draw(SPACE) + ":" + draw(SPACE) for _ in values]
    return Container(brackets, [*gaps, draw(SPACE)], heads, values)


SOURCES = st.recursive(SCALARS, containers, max_leaves=12)
HALF_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # would be read back as one character
NEW_TEXTS = st.text(max_size=4).filter(lambda text: not HALF_PAIR.search(text))
NEW_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NEW_TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NEW_TEXTS, inner, max_size=2),
    max_leaves=4,
)


def addresses(value: Any, at: Path = ()) -> Iterator[Path]:
    """Every address in a value, and one of a new member in every object and list, but for rows."""
    yield at
    if isinstance(value, dict):
        yield (*at, "new")
        for key, inner in value.items():
            yield from addresses(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from addresses(inner, (*at, index))
        if not isinstance(value, Rows):
            yield (*at, len(value))


def draw_edits(data: st.DataObject, root: Any) -> list[Edit]:
    places = st.sampled_from(list(addresses(root)))
    drawn = data.draw(st.lists(st.tuples(places, NEW_VALUES | st.just(REMOVE)), max_size=5))
    return [
        Edit(at, value)
        for at, value in drawn
        if value is not REMOVE or (at and (at[-1] == "new" or not is_new(root, at)))
    ]


def is_new(root: Any, at: Path) -> bool:
    """Whether an address is one of a new member."""
    for step in at[:-1]:
        root = root[step]
    return at[-1:] == ("new",) or (isinstance(root, list) and at[-1:] == (len(root),))


def outermost(edits: list[Edit]) -> dict[Path, Any]:
    """One edit an address, the last; none inside another."""
    last = {edit.path: edit.value for edit in edits}
    return {
        path: value
        for path, value in last.items()
        if not any(path[:length] in last for length in range(len(path)))
    }
