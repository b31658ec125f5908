"""Native data comes back byte for byte, whatever it is, and edits change only what they name."""

from __future__ import annotations

import copy
import datetime
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import Finding, InputError, InternalError
from compactor.core.model import Path
from compactor.formats import json_text
from compactor.formats.native import (
    NESTING_LIMIT,
    REMOVE,
    Document,
    Edit,
    Opaque,
    Pairs,
    Rows,
    Spelled,
    apply_edits,
    compact_json,
    compact_json_text,
    read_document,
    splice_text,
)

SHARED = FilePath(__file__).resolve().parents[2] / "shared"
BUGS = SHARED / "bugs"
RECORDINGS = sorted(
    file for file in SHARED.glob("transcripts/*/*") if file.suffix in {".json", ".jsonl", ".traj"}
)


def read(text: str | bytes, *, strict: bool = False) -> Document:
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return read_document(data, "input", strict=strict)


# A model of JSON source: it knows its own text and how an edit must change it.


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
    added = [
        f"{compact_json(path[-1])}:{compact_json(value)}"
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
    """Every address in a value, and one of a new key in every object."""
    yield at
    if isinstance(value, dict):
        yield (*at, "new")
        for key, inner in value.items():
            yield from addresses(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from addresses(inner, (*at, index))


def draw_edits(data: st.DataObject, root: Any) -> list[Edit]:
    places = st.sampled_from(list(addresses(root)))
    drawn = data.draw(st.lists(st.tuples(places, NEW_VALUES | st.just(REMOVE)), max_size=5))
    return [Edit(path, value) for path, value in drawn if path or value is not REMOVE]


def outermost(edits: list[Edit]) -> dict[Path, Any]:
    """One edit an address, the last; none inside another."""
    last = {edit.path: edit.value for edit in edits}
    return {
        path: value
        for path, value in last.items()
        if not any(path[:length] in last for length in range(len(path)))
    }


# Byte for byte.


@given(SOURCES, SPACE, SPACE, st.booleans())
def test_without_edits_a_json_document_comes_back_as_the_same_bytes(
    source: Any, before: str, after: str, bom: bool
) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + (before + source.render() + after).encode()
    document = read(data)
    assert (document.edited([]), document.is_lines) == (data, False)


@given(SOURCES, SPACE, SPACE, st.data())
def test_edits_change_exactly_the_text_of_the_edited_values(
    source: Any, before: str, after: str, data: st.DataObject
) -> None:
    document = read(before + source.render() + after)
    edits = draw_edits(data, document.root)
    expected = before + edited_source(source, outermost(edits)) + after
    assert document.edited(edits) == expected.encode()
    assert splice_text(before + source.render() + after, edits) == expected


@given(SOURCES, st.data())
def test_edits_mean_the_same_in_text_and_in_python_objects(
    source: Any, data: st.DataObject
) -> None:
    document = read(source.render())
    edits = draw_edits(data, document.root)
    before = compact_json(document.root)
    changed = apply_edits(document.root, edits)
    assert compact_json(read(document.edited(edits)).root) == compact_json(changed)
    assert compact_json(document.root) == before


@given(SOURCES)
def test_raw_is_the_source_text_of_every_value(source: Any) -> None:
    document = read(source.render())
    for path in addresses(document.root):
        if path[-1:] != ("new",):
            value = read(document.raw(path)).root
            inner = document.root
            for step in path:
                inner = inner[step]
            assert compact_json(value) == compact_json(inner)


@given(
    st.lists(SOURCES.filter(lambda source: isinstance(source, Container)), min_size=2), st.data()
)
def test_edits_in_json_lines_leave_every_other_line_as_it_was(
    sources: list[Any], data: st.DataObject
) -> None:
    ends = st.sampled_from(["\n", "\r\n", "\n\n", " \n"])
    texts = [re.sub(r"[\r\n]", " ", source.render()) for source in sources]
    line_ends = [*(data.draw(ends) for _ in texts[1:]), data.draw(st.sampled_from(["", "\n"]))]
    document = read("".join(text + end for text, end in zip(texts, line_ends, strict=True)))
    assert compact_json(document.root) == compact_json([read(text).root for text in texts])
    assert (document.is_lines, document.findings) == (True, [])
    edits = [edit for edit in draw_edits(data, document.root) if len(edit.path) > 1]
    for row in range(len(texts)):
        mine = [Edit(path[1:], value) for path, value in edits if path[0] == row]
        texts[row] = splice_text(texts[row], mine)
    expected = "".join(text + end for text, end in zip(texts, line_ends, strict=True))
    assert document.edited(edits) == expected.encode()


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ('{ "a" : 1 , "b" : 2 , "c" : 3 }', [Edit(("a",), REMOVE)], '{ "b" : 2 , "c" : 3 }'),
        ('{ "a" : 1 , "b" : 2 , "c" : 3 }', [Edit(("b",), REMOVE)], '{ "a" : 1 , "c" : 3 }'),
        ('{ "a" : 1 , "b" : 2 , "c" : 3 }', [Edit(("c",), REMOVE)], '{ "a" : 1 , "b" : 2 }'),
        ("[1, 2, 3]", [Edit((0,), REMOVE), Edit((2,), "x"), Edit((1,), REMOVE)], '["x"]'),
        ("[1, 2]", [Edit((1,), REMOVE), Edit((0,), REMOVE)], "[]"),
        ("{ }", [Edit(("k",), []), Edit(("l",), {})], '{"k":[],"l":{} }'),
        ('{"a": 1}', [Edit(("a",), REMOVE), Edit(("b",), None)], '{"b":null}'),
        ('{"a": 1, "a": 2, "b": 3}', [Edit(("a",), 9)], '{"a": 1, "a": 9, "b": 3}'),
        ('{"a": 1, "a": 2, "b": 3}', [Edit(("a",), REMOVE)], '{"b": 3}'),
        ('{"a": "x", "a": {"b": 1}}', [Edit(("a", "b"), 2)], '{"a": "x", "a": {"b": 2}}'),
        ('{"a": {"b": 1}, "a": [1]}', [Edit(("a", 0), 2)], '{"a": {"b": 1}, "a": [2]}'),
        ('{"a": 1}', [Edit(("gone",), REMOVE)], '{"a": 1}'),
        (" [1.0] ", [Edit((), {"new": True})], ' {"new":true} '),
        ('["\\u0061"]', [Edit((0,), 'é\ud83d"\n😀\x7f')], '["é\\ud83d\\"\\n😀\x7f"]'),
        ("[1]", [Edit((0,), 2), Edit((0,), 3)], "[3]"),
        ("[[1]]", [Edit((0,), "outer"), Edit((0, 0), "inner")], '["outer"]'),
    ],
)
def test_an_edit_leaves_valid_json_and_its_surroundings(
    text: str, edits: list[Edit], expected: str
) -> None:
    assert splice_text(text, edits) == expected
    assert read(expected).root == apply_edits(read(text).root, edits)


@pytest.mark.parametrize(
    ("edits", "path"),
    [
        ([Edit((2,), "x")], "$"),
        ([Edit((-1,), "x")], "$"),
        ([Edit(("k",), "x")], "$"),
        ([Edit((0, "k", "l"), "x")], "$[0].k"),
        ([Edit((0, "m", "l"), "x")], "$[0]"),
        ([Edit((0, 0), "x")], "$[0]"),
        ([Edit((1, "k"), "x")], "$[1]"),
        ([Edit((), REMOVE)], "$"),
    ],
)
def test_an_edit_of_what_is_not_there_is_our_own_fault_and_changes_nothing(
    edits: list[Edit], path: str
) -> None:
    document = read('[{"k": 1}, null]')
    for attempt in (document.edited, lambda given: apply_edits(document.root, given)):
        with pytest.raises(InternalError) as caught:
            attempt(edits)
        assert (caught.value.code, caught.value.path) == ("internal.edit", path)


def test_bytes_that_are_no_text_and_crlf_and_bom_survive_an_edit_beside_them() -> None:
    data = b'\xef\xbb\xbf{\r\n"\xff":"\xc3\x28\xed\xa0\x80",\r\n"a":1}\r\n\r\n'
    document = read(data)
    assert document.edited([Edit(("a",), "é")]) == data.replace(b"1", '"é"'.encode())
    assert document.edited([Edit(("\udcff",), 2)]) == data.replace(b'"\xc3\x28\xed\xa0\x80"', b"2")
    assert compact_json(document.root["\udcff"]) == r'"\udcc3(\udced\udca0\udc80"'


# Python objects.


def test_apply_edits_copies_only_the_way_to_the_edit() -> None:
    root = {"b": [{"x": {"y": 1}}, {"z": 2}], "a": ({"t": 1}, {"u": 2}), "c": {}}
    before = copy.deepcopy(root)
    new = apply_edits(root, [Edit(("b", 0, "x"), 5), Edit(("a", 1, "u"), 6), Edit(("d",), 7)])
    expected = {"b": [{"x": 5}, {"z": 2}], "a": ({"t": 1}, {"u": 6}), "c": {}, "d": 7}
    assert (root, new, list(new)) == (before, expected, ["b", "a", "c", "d"])
    assert (new["b"][1] is root["b"][1], new["a"][0] is root["a"][0]) == (True, True)
    assert new["c"] is root["c"]
    assert apply_edits(root, []) is root


def test_apply_edits_keeps_the_types_of_dicts_and_lists() -> None:
    root = Rows([OrderedDict(a=1, b=2)])
    new = apply_edits(root, [Edit((0, "a"), REMOVE)])
    assert (type(new), type(new[0]), new) == (Rows, OrderedDict, [{"b": 2}])


# JSON Lines and damage.

RECORDS = [
    '{"type":"user","n":[1,{"k":"v"}],"text":"a \\"{b}\\" [c]: {, é"}',
    '{"type": "assistant", "m": {"content": [{"type": "text", "text": "x\\\\"}]}}',
    '{"type":"user","uuid":"u3","m":{"role":"user","content":"d"}}',
]


def survivors(document: Document) -> list[Any]:
    return list(document.root) if document.is_lines else [document.root]


def test_a_file_torn_at_any_byte_keeps_its_whole_records_and_its_bytes() -> None:
    data = "\n".join(RECORDS).encode() + b"\n"
    ends = [len("\n".join(RECORDS[: n + 1]).encode()) for n in range(len(RECORDS))]
    for cut in range(len(data) + 1):
        whole = [json.loads(r) for r, end in zip(RECORDS, ends, strict=True) if end <= cut]
        if not whole:
            with pytest.raises(InputError, match="input") as caught:
                read(data[:cut])
            assert caught.value.code == "input.not_json"
            continue
        document = read(data[:cut])
        torn = cut not in ends and cut - 1 not in ends
        assert survivors(document) == whole
        assert document.edited([]) == data[:cut]
        assert [f.path for f in document.findings] == [f"input:{len(whole) + 1}"] * torn


def test_a_record_glued_behind_a_stub_cut_at_any_byte_is_read_or_reported() -> None:
    first, second, third = (json.loads(record) for record in RECORDS)
    stub_of = RECORDS[1]
    for cut in range(1, len(stub_of) + 1):
        stub = stub_of[:cut]
        data = f"{RECORDS[0]}\n{stub}{RECORDS[2]}\n{RECORDS[0]}".encode()
        document = read(data)
        could_be_inner = stub.rstrip()[-1] in ":["  # it may be the torn record's own value
        middle = [second, third] if cut == len(stub_of) else [] if could_be_inner else [third]
        assert document.root == [first, *middle, first]
        assert [(f.code, f.path) for f in document.findings] == [("damaged_line", "input:2")]
        assert document.edited([]) == data
        if middle == [third]:
            edited = document.edited([Edit((1, "m"), REMOVE), Edit((2, "n"), 0)])
            assert edited.startswith(f"{RECORDS[0]}\n{stub}".encode())
            assert read(edited).root == [first, {"type": "user", "uuid": "u3"}, {**first, "n": 0}]


def test_damage_is_reported_with_its_line_and_byte() -> None:
    data = b'\xef\xbb\xbf{"a":"\xc3\xa9"}\n\n{"b":"\xff{"c":3}\n{"d":4} {"e":5}\noops\n{"f":6}\0\0'
    document = read(data)
    assert document.root == [{"a": "é"}, {"c": 3}, {"d": 4}, {"e": 5}, {"f": 6}]
    stay = "no whole JSON record; they stay as they are"
    assert document.findings == [
        Finding("damaged_line", f"7 bytes at byte 15 are {stay}", "input:3"),
        Finding(
            "damaged_line", "the record at byte 38 does not begin on a line of its own", "input:4"
        ),
        Finding("damaged_line", f"4 bytes at byte 46 are {stay}", "input:5"),
        Finding("damaged_line", f"2 bytes at byte 58 are {stay}", "input:6"),
    ]
    assert (data[15:22], data[38:45]) == (b'{"b":"\xff', b'{"e":5}')
    places = [document.place(path) for path in ((), (0,), (1,), (2, "x y", 1), (4, "f"))]
    assert places == ["input", "input:1", "input:3", 'input:4 $["x y"][1]', "input:6 $.f"]


def test_strict_refuses_the_first_damaged_line() -> None:
    data = f"{RECORDS[0]}\n{RECORDS[1][:20]}{RECORDS[2]}\noops\n"
    with pytest.raises(InputError) as caught:
        read(data, strict=True)
    assert (caught.value.code, caught.value.path) == ("input.not_json", "input:2")
    whole = "\n\n".join(RECORDS) + "\n"
    assert read(whole, strict=True).edited([]) == whole.encode()


def test_a_removed_row_takes_its_line_unless_something_else_stands_there() -> None:
    data = b'{"a":1}\r\n{"b":2}{"c":3}\n{"d{"e":5}\n{"f":6}'
    document = read(data)
    assert document.edited([Edit((0,), REMOVE)]) == data[9:]
    assert document.edited([Edit((1,), REMOVE)]) == data.replace(b'{"b":2}', b"")
    gone = [Edit((1,), REMOVE), Edit((2,), REMOVE)]
    assert document.edited(gone) == b'{"a":1}\r\n{"d{"e":5}\n{"f":6}'
    assert document.edited([Edit((3,), REMOVE)]) == data.replace(b'{"e":5}', b"")
    assert document.edited([Edit((4,), REMOVE)]) == data[:-8]
    assert document.edited([Edit((3,), [0]), Edit((4, "f"), 7)]) == data.replace(
        b'{"e":5}', b"[0]"
    ).replace(b"6", b"7")
    for path in ((), (5,), ("a",)):
        with pytest.raises(InternalError):
            document.edited([Edit(path, 1)])


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"", "input"),
        (b"\xef\xbb\xbf \r\n", "input"),
        (b"hello", "input:1:1"),
        (b"# Title\n\n{text}\n[1]\n", "input:1:1"),
        (b'{"a":1} x', "input:1:9"),
        (b'{"a":1}\n}\n', "input:2:1"),
        (b'{\n "a": 1,\n "b": }', "input:3:7"),
        ('{"é": "é" "b"}'.encode(), "input:1:11"),
        (b'[\n{"a":1},\n{"b":2},\n{"c":3}\n', "input:5:1"),
        (b'{\n"a": "never closed\n}', "input:2:6"),
        (b"[1,]", "input:1:4"),
        (b'{"a":1,}', "input:1:8"),
        (b'{"a" 1}', "input:1:6"),
        (b"[01]", "input:1:3"),
        (b'["\\q"]', "input:1:2"),
        (b'["\\u12"]', "input:1:2"),
        (b"{1:2}", "input:1:2"),
        (b"nul", "input:1:1"),
        (b"\xff\xfe{\0}\0", "input:1:1"),
        (b"PK\x03\x04....", "input:1:1"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place_and_a_hint(data: bytes, path: str) -> None:
    with pytest.raises(InputError) as caught:
        read(data)
    assert (caught.value.code, caught.value.path) == ("input.not_json", path)
    assert caught.value.hint


FRAGMENTS = st.sampled_from([b'{"a":1}', b'{"a', b"\n", b"[", b'"', b"\\", b"}"])


@given(st.binary(max_size=30) | st.lists(FRAGMENTS).map(b"".join))
def test_any_bytes_are_read_back_exactly_or_refused(data: bytes) -> None:
    try:
        document = read(data)
    except InputError as refused:
        outcome = refused.code
    else:
        outcome = document.edited([])
    assert outcome in (data, "input.not_json")


# Values and compact JSON.


def test_values_are_ordinary_unless_their_spelling_would_be_lost() -> None:
    root = read(
        '{"a":[1,1.5,"x",true,null,{}],"b":[1E2,-0,4.10,NaN,-Infinity],"c":{"k":1,"k":2}}'
    ).root
    assert [type(item) for item in root["a"]] == [int, float, str, bool, type(None), dict]
    assert {type(item) for item in root["b"]} == {Spelled}
    assert (root["b"][:3], root["c"]) == ([100, 0, 4.1], {"k": 2})
    assert copy.deepcopy(root["b"][0]).text == "1E2"
    assert copy.deepcopy(root["c"]).pairs == [("k", 1), ("k", 2)]
    assert isinstance(root["c"], Pairs)


@given(SOURCES)
def test_compact_json_of_a_value_is_compact_json_of_its_text(source: Any) -> None:
    text = source.render()
    compact = compact_json(read(text).root)
    assert compact_json(read(compact).root) == compact
    if "NaN" not in text and "Infinity" not in text and "\x7f" not in text:
        assert compact_json_text(text) == compact


@given(NEW_VALUES)
def test_compact_json_of_python_values_is_what_json_dumps_writes(value: Any) -> None:
    compact = compact_json(value)
    assert json.loads(compact) == value
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert compact == re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", plain)


@pytest.mark.parametrize(
    ("text", "compact"),
    [
        (
            ' { "b" : [ 1.0e5 , -0 , 4.10 ] , "b" : "\\u00e9\\/" } ',
            '{"b":[1.0e5,-0,4.10],"b":"é/"}',
        ),
        (r'"\ud83d\ude00 \ud83d \uDE00"', '"😀 \\ud83d \\ude00"'),
        (
            r'"\u0001\u0008\u000C\u000a\r\t\u001F\u007f\u2028"',
            '"\\u0001\\b\\f\\n\\r\\t\\u001f\x7f\u2028"',
        ),
        ("1" * 10_000, "1" * 10_000),
        ("", None),
        (" ", None),
        ("{} {}", None),
        ("\ufeff{}", None),
        ("NaN", None),
        ("[Infinity]", None),
        ('"a\nb"', None),
        ('"\x00"', None),
        ('{"a":1,}', None),
        ("{'a':1}", None),
        ("[" * 100_000, None),
        ("[" * 100_000 + "NaN" + "]" * 100_000, None),
        ("[" * 100_000 + '"\t"' + "]" * 100_000, None),
        ("[ " * 100_000 + "1.0" + " ]" * 100_000, "[" * 100_000 + "1.0" + "]" * 100_000),
        ("[" * 100_000 + "1" + "]" * 99_999 + "}", None),
    ],
    ids=range(19),
)
def test_compact_json_text_keeps_spelling_and_refuses_what_is_no_json(
    text: str, compact: str | None
) -> None:
    assert compact_json_text(text) == compact


class Level(IntEnum):
    HIGH = 3


def test_compact_json_of_what_is_no_json_names_the_type_and_never_raises() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    shared = {"s": 1}
    value = {
        "t": (1, 2.0, float("nan")),
        "odd": [datetime.date(2024, 1, 1), b"x", {3}, Level.HIGH, object()],
        "loop": loop,
        "twice": [shared, shared],
        1: {None: 0, True: 1, 2.5: 2, (3,): 3},
        "big": 10**5000,
    }
    assert compact_json(value) == (
        '{"t":[1,2.0,NaN],"odd":["date","bytes","set",3,"object"],"loop":[1,"list"],'
        '"twice":[{"s":1},{"s":1}],"1":{"null":0,"true":1,"2.5":2,"tuple":3},'
        f'"big":1{"0" * 5000}}}'
    )


# Hostile input.


def nested(depth: int) -> str:
    """Alternating lists and objects, `depth` of them around a number."""
    opening = "".join('{"k": ' if level % 2 else "[ " for level in range(depth))
    closing = "".join(" }" if level % 2 else " ]" for level in reversed(range(depth)))
    return f"{opening}1.0{closing}"


@pytest.mark.parametrize("depth", [NESTING_LIMIT, NESTING_LIMIT + 1, 600, 100_000])
def test_deep_nesting_is_read_carried_and_given_back(depth: int) -> None:
    text = '{"deep": ' + nested(depth - 1) + ', "a": 1}'
    document = read(text)
    inner, levels = document.root["deep"], 1
    while isinstance(inner, (list, dict)):
        inner, levels = (inner[0] if isinstance(inner, list) else inner["k"]), levels + 1
    assert (type(inner), levels) == (
        Opaque if depth > NESTING_LIMIT else float,
        min(depth, NESTING_LIMIT),
    )
    compact = text.replace(" ", "")
    assert (compact_json(document.root), compact_json_text(text)) == (compact, compact)
    assert document.edited([Edit(("a",), 2)]) == text.replace('"a": 1', '"a": 2').encode()
    assert document.edited([Edit(("deep",), REMOVE)]) == b'{"a": 1}'
    assert document.raw(("deep",)) == nested(depth - 1)


def test_what_is_read_does_not_depend_on_the_depth_of_the_callers_stack() -> None:
    def below(frames: int, work: Callable[[], Any]) -> Any:
        return below(frames - 1, work) if frames else work()

    for depth in (NESTING_LIMIT - 1, NESTING_LIMIT, NESTING_LIMIT + 1):
        text = f"{nested(depth)}\n{nested(3)}\n"
        shallow = read(text).root
        for frames in range(0, 800, 25):
            assert below(frames, lambda text=text: read(text).root) == shallow


@pytest.mark.parametrize(
    "line",
    [
        "[" * 200_000,
        '{"a":' * 100_000,
        "{" * 200_000 + "}" * 200_000,
        '"\\' * 200_000 + '"}',
        "{}" * 50_000 + '{"',
        '\\"' * 200_000 + "}",
    ],
    ids=["lists", "objects", "braces", "quotes", "glued", "escapes"],
)
def test_a_hostile_line_between_records_costs_one_scan_and_is_kept(line: str) -> None:
    data = f'{{"a":1}}\n{line}\n{{"b":2}}\n'
    document = read(data)
    assert (document.root[0], document.root[-1]) == ({"a": 1}, {"b": 2})
    assert document.edited([]) == data.encode()
    assert (
        document.edited([Edit((len(document.root) - 1, "b"), 3)])
        == data.replace("2}", "3}").encode()
    )


def test_long_strings_and_integers_pass_through_and_can_be_replaced() -> None:
    long = 'line \\n \\"é\\" ' * 1_500_000
    digits = "7" * 100_000
    text = f'{{"long": "{long}", "n": {digits}, "a": 1}}'
    document = read(text)
    assert document.edited([Edit(("a",), 2)]) == text.replace('"a": 1', '"a": 2').encode()
    assert compact_json(document.root["n"]) == digits
    assert (
        document.edited([Edit(("long",), ""), Edit(("n",), 0)]) == b'{"long": "", "n": 0, "a": 1}'
    )


@given(st.text('[]{}:,"\\ue10-.+ tnN\n', max_size=12) | SOURCES.map(lambda source: source.render()))
def test_the_iterative_reader_reads_what_the_c_scanner_reads(text: str) -> None:
    start = json_text.after_space(text, 0)
    try:
        fast = json_text._LENIENT.raw_decode(text, start)
    except ValueError:
        with pytest.raises(json_text.NotJsonError):
            json_text._Reader(text, json_text._LENIENT_TOKEN).read(start)
    else:
        slow = json_text._Reader(text, json_text._LENIENT_TOKEN).read(start)
        assert (compact_json(slow[0]), slow[1]) == (compact_json(fast[0]), fast[1])


# Real files.


def strings(value: Any, at: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield at, value
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from strings(inner, (*at, key))
    for index, inner in enumerate(value) if isinstance(value, list) else ():
        yield from strings(inner, (*at, index))


if RECORDINGS:

    @pytest.mark.parametrize(
        "file", RECORDINGS, ids=[f"{f.parent.name}/{f.name}" for f in RECORDINGS]
    )
    def test_a_real_recording_comes_back_byte_for_byte(file: FilePath) -> None:
        data = file.read_bytes()
        document = read_document(data, file.name)
        assert document.edited([]) == data
        path, longest = max(strings(document.root), key=lambda found: len(found[1]))
        raw = document.raw(path)
        assert json.loads(raw) == longest
        edits = [Edit(found, "…") for found, text in strings(document.root) if text == longest]
        before, *parts = data.split(raw.encode())
        edited = document.edited(edits)
        assert read_document(edited, file.name).root == apply_edits(document.root, edits)
        assert edited.startswith(before + '"…"'.encode())
        assert edited.endswith('"…"'.encode() + parts[-1])


if BUGS.exists():

    def test_b18_odd_spelling_comes_back_and_only_the_elided_body_differs() -> None:
        data = (BUGS / "B18.json").read_bytes()
        document = read_document(data, "B18.json")
        assert document.edited([]) == data
        path = ("messages", 2, "content")
        raw = document.raw(path).encode()
        assert document.edited([Edit(path, "gone é")]) == data.replace(raw, '"gone é"'.encode())

    def test_b32_all_whole_records_are_read_and_the_damage_stays() -> None:
        data = (BUGS / "B32.jsonl").read_bytes()
        document = read_document(data, "B32.jsonl")
        assert [row["uuid"] for row in document.root] == ["u1", "a1", "u2", "a2"]
        assert [finding.path for finding in document.findings] == ["B32.jsonl:3", "B32.jsonl:5"]
        assert document.edited([]) == data
        path = (2, "message", "content", 0, "content")
        raw = document.raw(path).encode()
        assert document.edited([Edit(path, "gone")]) == data.replace(raw, b'"gone"')
        with pytest.raises(InputError) as caught:
            read_document(data, "B32.jsonl", strict=True)
        assert caught.value.path == "B32.jsonl:3"

    def test_b36_lone_surrogates_come_back_as_the_same_escapes() -> None:
        data = (BUGS / "B36.json").read_bytes()
        document = read_document(data, "B36.json")
        assert document.edited([]) == data
        body = document.root["messages"][2]["content"][0]["content"]
        assert (body.count("\udc4d"), body.count("😀"), body.count("\ud83d")) == (24, 24, 1)
        path = ("messages", 2, "content", 0, "content")
        assert compact_json(body) == document.raw(path).replace(r"\ud83d\ude00", "😀")
