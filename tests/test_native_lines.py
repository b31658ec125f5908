"""JSON Lines: whole records are read, damage is reported and stays, all else is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import Finding, InputError, InternalError
from compactor.formats.raw.native import REMOVE, Document, Edit, compact_json, splice_text
from tests.json_sources import SOURCES, Container, draw_edits, read


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


RECORDS = [
    '{"type":"user","n":[1,{"k":"v"}],"text":"a \\"{b}\\" [c]: {, é"}',
    '{"type": "assistant", "m": {"content": [{"type": "text", "text": "x\\\\"}]}}',
    '{"type":"user","uuid":"u3","m":{"role":"user","content":"d\\"{\\\\"}}',
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


@pytest.mark.parametrize(
    ("text", "rows", "damaged"),
    [
        ('{"a":"b{"c":1}\n{"d":2}\n', [{"c": 1}, {"d": 2}], [1]),
        ('n":"t"}}\n{"d":2}\n{"e":3}', [{"d": 2}, {"e": 3}], [1]),
        ('{"a":1}\n{"text":"if (x) {}\n{"b":2}', [{"a": 1}, {"b": 2}], [2]),
        ('{"a":1}\n{"text":"see [1]\n{"b":2}', [{"a": 1}, {"b": 2}], [2]),
        ('{"a":1}\n5\n"x"\n{"b":2}', [{"a": 1}, 5, "x", {"b": 2}], []),
        ('{"a":1}\n5 {"b":2}\n', [{"a": 1}, {"b": 2}], [2]),
        ('{"a":1}{"b":2}{"c', [{"a": 1}, {"b": 2}], [1]),
        ('{"a":1}{"b', [{"a": 1}], [1]),
        ("[1]\n\t\n[2]\r\n", [[1], [2]], []),
    ],
)
def test_whole_records_are_told_from_damage(text: str, rows: list[Any], damaged: list[int]) -> None:
    document = read(text)
    assert (document.is_lines, document.root) == (True, rows)
    assert [finding.path for finding in document.findings] == [f"input:{line}" for line in damaged]
    assert document.edited([]) == text.encode()


def test_damage_is_reported_with_its_line_and_byte() -> None:
    data = b'\xef\xbb\xbf{"a":"\xc3\xa9"}\n\n{"b":"\xff{"c":3}\n{"d":4} {"e":5}\noops\n{"f":6}\0\0'
    document = read(data)
    assert document.root == [{"a": "é"}, {"c": 3}, {"d": 4}, {"e": 5}, {"f": 6}]
    stay = "no whole JSON record; they stay as they are"
    assert document.findings == [
        Finding("damaged_line", f"7 bytes at byte 15 are {stay}", "input:3"),
        Finding("damaged_line", "2 records stand on one line, the second at byte 38", "input:4"),
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
