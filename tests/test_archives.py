"""Zip archives: members are read as JSON on demand, and only changed ones are packed anew."""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

import compactor
from compactor.archives import Archive
from compactor.containers import PackedInput
from compactor.core.errors import InputError, InternalError
from compactor.formats.raw.members import Members
from compactor.formats.raw.native import REMOVE, Document, Edit, apply_edits
from tests.zip_sources import DEFLATED, STORED, ZSTD, Member, archive

LINES = b'{"a":1}\n{"torn\n{"b":"x"}\n'
EXTRA = b"\x55\x54\x05\0\x03abcd"


def read(data: bytes, *, strict: bool = False) -> Document:
    return PackedInput(data, "log.eval", strict=strict).document()


def code_of(data: bytes, name: str = "") -> tuple[str, str]:
    """The code and place of the error of an archive, or of one of its members."""
    with pytest.raises(InputError) as caught:
        read(data).root[name]
    return caught.value.code, caught.value.path


def members(**changes: Any) -> list[Member]:
    return [
        Member("header.json", b'{ "v": 2 }', STORED, **changes),
        Member("samples/a b.json", b'{"messages": ["' + b"x" * 500 + b'", 1.50]}', **changes),
        Member("lines.jsonl", LINES, ZSTD, extra=EXTRA, comment=b"why", **changes),
        Member("picture.png", b"\x89PNG\r\n", **changes),
    ]


KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"is_streamed": True},
    {"is_wide": True},
    {"is_streamed": True, "is_wide": True},
)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=[",".join(kind) or "-" for kind in KINDS])


def archives(kind: dict[str, Any]) -> Iterator[bytes]:
    for comment, is_wide in itertools.product((b"", b"a note"), (False, True)):
        yield archive(members(**kind), comment=comment, is_wide=is_wide)


@each_kind
def test_an_archive_is_a_mapping_from_names_to_parsed_members(kind: dict[str, Any]) -> None:
    for data in archives(kind):
        root = read(data).root
        assert isinstance(root, Members)
        assert list(root) == [member.name for member in members()]
        assert dict(root) == {
            "header.json": {"v": 2},
            "samples/a b.json": {"messages": ["x" * 500, 1.5]},
            "lines.jsonl": [{"a": 1}, {"b": "x"}],
            "picture.png": None,
        }
        assert (len(root), "header.json" in root, "x" in root) == (4, True, False)
        with pytest.raises(KeyError):
            root["x"]


@each_kind
def test_without_edits_an_archive_comes_back_byte_for_byte(kind: dict[str, Any]) -> None:
    for data in archives(kind):
        assert read(data).edited([]) == data


EDITS = [
    Edit(("samples/a b.json", "messages", 0), "short"),
    Edit(("lines.jsonl", 1, "b"), REMOVE),
]
EXPECTED = {
    "header.json": b'{ "v": 2 }',
    "samples/a b.json": b'{"messages": ["short", 1.50]}',
    "lines.jsonl": b'{"a":1}\n{"torn\n{}\n',
    "picture.png": b"\x89PNG\r\n",
}


@each_kind
def test_only_changed_members_are_packed_anew(kind: dict[str, Any]) -> None:
    for data in archives(kind):
        edited = read(data).edited(EDITS)
        assert edited == read(data).edited(reversed(EDITS))
        old, new = (zipfile.ZipFile(io.BytesIO(each)) for each in (data, edited))
        assert new.comment == old.comment
        pairs = list(zip(old.infolist(), new.infolist(), strict=True))
        for before, after in pairs:
            for key in ("filename", "date_time", "compress_type", "external_attr", "comment"):
                assert getattr(after, key) == getattr(before, key)
            raw = edited[after.header_offset :]
            if after.filename not in {path[0] for path, _ in EDITS}:
                assert after.flag_bits == before.flag_bits
                size = after.compress_size + 30
                assert raw[:size] == data[before.header_offset :][:size]
        found = {name: content(edited, info) for name, info in new.NameToInfo.items()}
        assert found == EXPECTED
        again = read(edited)
        assert dict(again.root) == dict(apply_edits(read(data).root, EDITS))
        assert again.edited([]) == edited


def content(data: bytes, info: zipfile.ZipInfo) -> bytes:
    """A member as the standard library reads it, which does not know Zstandard."""
    if info.compress_type == ZSTD:
        start = info.header_offset + 30 + len(info.filename.encode())
        extra = int.from_bytes(data[info.header_offset + 28 :][:2], "little")
        frames = data[start + extra :][: info.compress_size]
        return zstandard.ZstdDecompressor().decompress(frames, max_output_size=10**6)
    return zipfile.ZipFile(io.BytesIO(data)).read(info)


def test_a_thousand_members_that_move_are_found_again() -> None:
    numbers = range(1000)
    data = archive([Member(f"{n}.json", b'{"n":%d,"t":"text"}' % n) for n in numbers])
    edits = [Edit((f"{n}.json", "t"), "x" * n) for n in numbers if n % 3]
    edited = io.BytesIO(read(data).edited(edits))
    archived = zipfile.ZipFile(edited)
    assert archived.testzip() is None
    assert [json.loads(archived.read(f"{n}.json")) for n in numbers] == [
        {"n": n, "t": "x" * n if n % 3 else "text"} for n in numbers
    ]


def test_places_and_source_texts_are_those_of_the_member() -> None:
    document = read(archive(members()))
    paths: list[tuple[str | int, ...]] = [
        *((), ("header.json",), ("header.json", "v"), ("lines.jsonl", 1, "b"), ("picture.png",))
    ]
    assert [document.place(path) for path in paths] == [
        "log.eval",
        "log.eval/header.json",
        "log.eval/header.json $.v",
        "log.eval/lines.jsonl:3 $.b",
        "log.eval/picture.png",
    ]
    assert document.raw(("header.json",)).strip() == '{ "v": 2 }'
    assert document.raw(("samples/a b.json", "messages", 1)) == "1.50"
    assert [finding.path for finding in document.findings] == ["log.eval/lines.jsonl:2"]


@pytest.mark.parametrize(
    "path", [(), ("x",), (0,), ("picture.png",), ("picture.png", "k"), ("header.json", "k", "l")]
)
def test_an_edit_of_what_is_not_there_is_our_own_fault(path: tuple[Any, ...]) -> None:
    document = read(archive(members()))
    with pytest.raises(InternalError) as caught:
        document.edited([Edit(path, 1)])
    assert caught.value.code == "internal.edit"
    with pytest.raises(InternalError):
        apply_edits(document.root, [Edit(("header.json",), REMOVE)])


def test_a_damaged_member_is_an_error_of_its_own_and_the_others_are_read() -> None:
    whole = members()
    data = archive([*whole, Member("bad.json", b'{"a":', STORED)])
    assert code_of(data, "bad.json") == ("input.not_json", "log.eval/bad.json:1:6")
    assert read(data).root["header.json"] == {"v": 2}
    assert code_of(data.replace(b'{"a":', b'{"b":'), "bad.json") == (
        *("input.packed", "log.eval/bad.json"),
    )
    with pytest.raises(InputError) as caught:
        read(archive(whole), strict=True).root["lines.jsonl"]
    assert (caught.value.code, caught.value.path) == ("input.not_json", "log.eval/lines.jsonl:2")


@pytest.mark.parametrize("change", [{"method": 12}, {"flags": 1}, {"method": 99}])
def test_what_we_cannot_unpack_is_refused_and_copied(change: dict[str, Any]) -> None:
    odd = Member("odd.json", b"????", STORED)._replace(**change)
    data = archive([odd, *members()])
    assert code_of(data, "odd.json") == ("input.packed", "log.eval/odd.json")
    edited = read(data).edited(EDITS)
    assert edited[: data.index(b"????") + 4] == data[: data.index(b"????") + 4]


def test_a_name_is_only_a_name() -> None:
    names = [
        "../../etc/passwd",
        "/abs.json",
        "C:\\x.json",
        "a\0b",
        "\x1b[31m.json",
        "é/ß.json",
        ".",
    ]
    data = archive([Member(name, b"[1]") for name in names])
    root = read(data).root
    assert dict(root) == {name: [1] for name in names}
    edited = read(data).edited([Edit((name, 0), 2) for name in names])
    assert dict(read(edited).root) == {name: [2] for name in names}


def test_of_equal_names_the_last_is_meant_and_the_others_stay() -> None:
    data = archive([Member("a.json", b"[1]"), Member("b.json", b"[2]"), Member("a.json", b"[3]")])
    assert dict(read(data).root) == {"a.json": [3], "b.json": [2]}
    edited = zipfile.ZipFile(io.BytesIO(read(data).edited([Edit(("a.json", 0), 9)])))
    assert [edited.read(info) for info in edited.infolist()] == [b"[1]", b"[2]", b"[9]"]


def test_a_member_that_unpacks_to_more_than_it_says_or_we_take_is_refused() -> None:
    bomb = Member("bomb.json", b"[" + b" " * 10_000_000 + b"]")
    data = archive([bomb])
    small = data.replace(len(bomb.data).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert code_of(small, "bomb.json") == ("input.packed", "log.eval/bomb.json")
    huge = data.replace(len(bomb.data).to_bytes(4, "little"), (0xFFFFFFF0).to_bytes(4, "little"))
    assert code_of(huge, "bomb.json") == ("input.too_large", "log.eval/bomb.json")
    assert read(data).root["bomb.json"] == []


def test_members_that_share_their_bytes_are_read_and_never_changed() -> None:
    """As in archives that unpack to petabytes: a thousand names for one member."""
    data = archive([Member("a.json", b'{"k":"v"}', STORED), Member("b.json", b'{"k":"v"}', STORED)])
    second = data.rindex(b"PK\1\2")
    shared = data[: second + 42] + bytes(4) + data[second + 46 :]
    assert dict(read(shared).root) == {"a.json": {"k": "v"}, "b.json": {"k": "v"}}
    with pytest.raises(InputError) as caught:
        read(shared).edited([Edit(("a.json", "k"), "w")])
    assert caught.value.code == "input.packed"


def test_an_archive_torn_or_changed_at_any_byte_raises_nothing_but_input_errors() -> None:
    data = archive(members(is_wide=True)[:3], is_wide=True)
    torn = (data[:cut] for cut in range(4, len(data)))
    changed = (
        data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]
        for at in range(4, len(data))
        for bits in (0x01, 0xFF)
    )
    codes = set()
    for damaged in itertools.chain(torn, changed):
        try:
            document = read(damaged)
            for name in document.root:
                document.root[name]
            if "header.json" in document.root:
                document.edited([Edit(("header.json", "v"), 3)])
        except InputError as error:
            codes.add(error.code)
    assert codes == {"input.packed", "input.too_large"}


def test_an_archive_that_is_no_log_is_refused_as_no_format(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(archive(members()))
    with pytest.raises(InputError) as caught:
        compactor.load(path)
    assert caught.value.code == "input.format_unknown"
    path.write_bytes(archive([]))
    with pytest.raises(InputError) as caught:
        compactor.load(path)
    assert caught.value.code == "input.format_unknown"


@pytest.mark.parametrize("is_wide", [False, True])
def test_what_looks_like_an_end_inside_the_comment_is_none(is_wide: bool) -> None:
    comment = archive([Member("fake.json", b"0")]) + b" and more"
    data = archive(members(), comment=comment, is_wide=is_wide)
    edited = read(data).edited(EDITS)
    assert edited.endswith(comment)
    assert dict(read(edited).root) == dict(apply_edits(read(data).root, EDITS))


@pytest.mark.parametrize("is_wide", [False, True])
def test_bytes_before_an_archive_stay_there(is_wide: bool) -> None:
    data = archive(members(), is_wide=is_wide, lead=b"#!/bin/sh\n")
    document = Document("a", Archive(data, "a", strict=True, member_bytes=10**6))
    edited = document.edited(EDITS[:1])
    assert edited.startswith(b"#!/bin/sh\nPK")
    again = Archive(edited, "a", strict=True, member_bytes=10**6)
    assert again.root["samples/a b.json"] == {"messages": ["short", 1.5]}
    assert again.root["header.json"] == {"v": 2}


def test_something_behind_an_archive_stays_there() -> None:
    data = archive([Member("a.json", b"[1]")]) + b"\n"
    assert read(data).edited([]) == data
    edited = read(data).edited([Edit(("a.json", 0), "longer")])
    assert (edited[-1:], dict(read(edited).root)) == (b"\n", {"a.json": ["longer"]})
    assert DEFLATED in {
        info.compress_type for info in zipfile.ZipFile(io.BytesIO(edited)).infolist()
    }


def test_an_archive_of_something_else_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "sessions.zip"
    with zipfile.ZipFile(path, "w") as sessions:
        sessions.writestr("session.jsonl", '{"type":"user","message":{"role":"user"}}\n')
    with pytest.raises(InputError) as refused:
        compactor.load(path)
    assert refused.value.code == "input.format_unknown"
    assert refused.value.hint == "unpack it, and give the files that are in it"
