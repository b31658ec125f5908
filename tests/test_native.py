"""Native data comes back byte for byte, whatever it is, and edits change only what they name."""

from __future__ import annotations

import copy
import json
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import InputError, InternalError
from compactor.core.model import Path
from compactor.formats.raw.native import (
    REMOVE,
    Edit,
    Rows,
    apply_edits,
    compact_json,
    read_document,
    splice_text,
)
from tests.json_sources import (
    SOURCES,
    SPACE,
    addresses,
    draw_edits,
    edited_source,
    is_new,
    outermost,
    read,
)

SHARED = FilePath(__file__).resolve().parents[2] / "shared"
BUGS = SHARED / "bugs"
RECORDINGS = sorted(
    file for file in SHARED.glob("transcripts/*/*") if file.suffix in {".json", ".jsonl", ".traj"}
)


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
        if not is_new(document.root, path):
            value = read(document.raw(path)).root
            inner = document.root
            for step in path:
                inner = inner[step]
            assert compact_json(value) == compact_json(inner)


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
        ('{"a": [5], "a": [[1]]}', [Edit(("a", 0, 0), 2)], '{"a": [5], "a": [[2]]}'),
        ('{"a": ["x"], "a": [[1]]}', [Edit(("a", 0, 0), 2)], '{"a": ["x"], "a": [[2]]}'),
        ('{"a": 1}', [Edit(("gone",), REMOVE)], '{"a": 1}'),
        (" [1.0] ", [Edit((), {"new": True})], ' {"new":true} '),
        ('["\\u0061"]', [Edit((0,), 'é\ud83d"\n😀\x7f')], '["é\\ud83d\\"\\n😀\x7f"]'),
        ("[1]", [Edit((0,), 2), Edit((0,), 3)], "[3]"),
        ("[[1]]", [Edit((0,), "outer"), Edit((0, 0), "inner")], '["outer"]'),
        ("[ 1 , 2 ]", [Edit((3,), "b"), Edit((2,), "a")], '[ 1 , 2,"a","b" ]'),
        ("[1, 2]", [Edit((2,), 3), Edit((0,), REMOVE), Edit((1,), REMOVE)], "[3]"),
        ("[1, [ ]]", [Edit((1, 0), 3), Edit((0,), 2)], "[2, [3 ]]"),
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
        ([Edit((3,), "x")], "$"),
        ([Edit((2,), "x"), Edit((4,), "x")], "$"),
        ([Edit((2,), REMOVE)], "$"),
        ([Edit((2, "k"), "x")], "$"),
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
