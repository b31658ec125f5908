"""Large JSON Lines: rows read on demand say and give back the same as rows that are held."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.formats.raw import sources
from compactor.formats.raw.native import (
    REMOVE,
    Document,
    Edit,
    LazyRows,
    Rows,
    apply_edits,
    compact_json,
    read_document,
)
from tests.json_sources import SOURCES, Container, draw_edits


class Sliced:
    """Bytes that can only be asked for their length and for slices."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, part: slice, /) -> bytes:
        assert isinstance(part, slice)
        return self._data[part]


def outcome(data: bytes, *, lazy: bool) -> Document | tuple[str, str, str]:
    """The document, or the error in its words."""
    try:
        if lazy:
            return read_document(Sliced(data), "input", eager_bytes=0)
        return read_document(data, "input")
    except InputError as error:
        return error.code, error.path, error.message


def check_same(data: bytes, edits: list[Edit]) -> None:
    held, lazy = (outcome(data, lazy=lazy) for lazy in (False, True))
    if not isinstance(held, Document) or not isinstance(lazy, Document):
        assert held == lazy
        return
    assert (lazy.is_lines, lazy.findings) == (held.is_lines, held.findings)
    assert isinstance(lazy.root, LazyRows) == lazy.is_lines
    assert compact_json(lazy.root) == compact_json(held.root)
    assert lazy.edited([]) == data
    assert lazy.edited(edits) == held.edited(edits)
    assert compact_json(apply_edits(lazy.root, edits)) == compact_json(
        apply_edits(held.root, edits)
    )
    assert [lazy.place(path) for path, _ in edits] == [held.place(path) for path, _ in edits]
    paths = [(row,) for row in range(len(held.root))] if held.is_lines else []
    assert [lazy.raw(path) for path in paths] == [held.raw(path) for path in paths]


FRAGMENTS = st.sampled_from(
    [
        b'{"a":1}',
        b'{"a',
        b"\n",
        b"\r\n",
        b"[",
        b'"',
        b"\\",
        b"}",
        b"5",
        b" ",
        b"\xff",
        b'"\xc3\xa9"',
    ]
)


@given(st.binary(max_size=30) | st.lists(FRAGMENTS, max_size=30).map(b"".join))
def test_any_bytes_are_read_on_demand_as_they_are_at_once(data: bytes) -> None:
    check_same(data, [])
    check_same(b"\xef\xbb\xbf" + data, [])


@given(
    st.lists(SOURCES.filter(lambda source: isinstance(source, Container)), min_size=2, max_size=5),
    st.sampled_from([b"\n", b"\r\n", b"\n\n", b"", b" \n"]),
    st.data(),
)
def test_edits_of_rows_read_on_demand_give_the_same_bytes(
    records: list[Any], between: bytes, data: st.DataObject
) -> None:
    lines = [record.render().replace("\n", " ").replace("\r", " ").encode() for record in records]
    source = between.join(lines) + data.draw(st.sampled_from([b"", b"\n", b'\n{"torn']))
    root = read_document(source, "input").root
    edits = [edit for edit in draw_edits(data, root) if edit.path]
    check_same(source, edits)


@pytest.mark.parametrize("gone", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2), (3, 4, 5)])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n", b"\r\n"])
def test_removed_lines_leave_no_empty_ones(gone: tuple[int, ...], end: bytes) -> None:
    body = b"\n".join(b'{"a":%d}' % n for n in range(6)) + end
    data = b"\xef\xbb\xbf" + body
    expected = b"\n".join(line for n, line in enumerate(body.split(b"\n")) if n not in gone)
    edits = [Edit((n,), REMOVE) for n in gone]
    assert read_document(data, "input").edited(edits) == b"\xef\xbb\xbf" + expected
    check_same(data, edits)


def test_every_line_is_found_where_pieces_of_the_input_meet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = b'{"a":"\xc3\xa9"}\n\n{"b":"' + b"x" * 20 + b'"}\n{"c":1}{"d":2}\n'
    for size in range(1, 12):
        monkeypatch.setattr(sources, "CHUNK", size)
        found = list(sources.lines_of(Sliced(data), 0))
        assert [line for _, line in found] == data.split(b"\n")
        assert all(data[at:].startswith(line) for at, line in found)
        assert b"".join(sources.slices(Sliced(data), 3, 50)) == data[3:50]
        assert all(map(len, sources.slices(Sliced(data), 3, 50)))
        check_same(data, [Edit((2,), REMOVE), Edit((1, "b"), "y")])


def lazy_rows(count: int) -> tuple[LazyRows, list[int]]:
    """Rows and the indexes that were read so far."""
    read: list[int] = []

    def row(index: int) -> tuple[Any, int]:
        read.append(index)
        return {"n": index}, 3 << 20

    return LazyRows(count, row), read


def test_rows_read_on_demand_are_a_list_to_look_at() -> None:
    rows, _ = lazy_rows(4)
    plain = [{"n": n} for n in range(4)]
    assert isinstance(rows, list)
    assert (rows, list(rows), [*reversed(rows)]) == (plain, plain, plain[::-1])
    assert (rows[1], rows[-1], rows[1:3], rows[::-2]) == (
        *(plain[1], plain[3], plain[1:3], plain[::-2]),
    )
    assert (len(rows), bool(rows), {"n": 2} in rows, {"n": 9} in rows) == (4, True, True, False)
    assert (rows == plain[:3], rows != plain, plain == rows) == (False, False, True)
    assert [(one["n"], two["n"]) for one, two in pairwise(rows)] == [(0, 1), (1, 2), (2, 3)]
    for index in (4, -5):
        with pytest.raises(IndexError):
            rows[index]


def test_only_the_rows_read_last_are_kept() -> None:
    rows, read = lazy_rows(5)
    assert rows[0] is rows[0]
    assert [rows[n]["n"] for n in (0, 1, 0, 2, 0, 1)] == [0, 1, 0, 2, 0, 1]
    assert read == [0, 1, 2, 0, 1]  # of three megabytes each two are kept


def test_code_that_goes_around_the_list_trips_instead_of_seeing_nothing() -> None:
    rows, _ = lazy_rows(2)
    assert json.dumps(rows) == '[{"n": 0}, {"n": 1}]'
    with pytest.raises(TypeError):
        msgspec.json.encode(rows)


def test_a_changed_list_reads_the_other_rows_on_demand_too() -> None:
    rows, read = lazy_rows(5)
    changed = apply_edits(rows, [Edit((1,), REMOVE), Edit((3, "n"), "x")])
    assert read == [3]
    assert isinstance(changed, LazyRows)
    assert changed == [{"n": 0}, {"n": 2}, {"n": "x"}, {"n": 4}]
    assert rows == [{"n": n} for n in range(5)]
    assert isinstance(copy.copy(Rows([1])), Rows)


def test_a_large_input_is_written_in_pieces_of_which_the_unchanged_ones_are_slices() -> None:
    lines = [b'{"n":%d,"t":"%s"}' % (n, b"x" * 1000) for n in range(3000)]
    data = b"\n".join(lines)
    document = read_document(Sliced(data), "input", eager_bytes=0)
    pieces = list(document.pieces([Edit((1500, "t"), "short")]))
    assert max(map(len, pieces)) <= sources.CHUNK
    assert b"".join(pieces) == data.replace(lines[1500], b'{"n":1500,"t":"short"}')
