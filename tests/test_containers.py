"""Packed and large inputs: what comes out, what goes back in, and what a hostile one cannot do."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
import zstandard

import compactor
from compactor import inputs
from compactor.containers import PackedInput
from compactor.core.errors import Finding, InputError
from compactor.formats.raw.native import Document, Edit, read_document
from tests.zip_sources import Member, archive

VALUE = b'{"messages": [{"role":"user","content":"hi"}, 1.50]}\n'
ROWS = b"".join(b'{"n":%d,"text":"%s"}\r\n' % (n, b"word %d " % n * 40) for n in range(20))


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=1234)


def zstandard_of(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_content_size=False).compress(data)


def unzstandard(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()


Pack = Callable[[bytes], bytes]
KINDS: dict[str, tuple[Pack, Pack]] = {
    "gzip": (gzipped, gzip.decompress),
    "zstd": (zstandard_of, unzstandard),
}
each_kind = pytest.mark.parametrize(("pack", "unpack"), KINDS.values(), ids=KINDS)


def read(data: bytes, *, strict: bool = False) -> Document:
    return PackedInput(data, "input", strict=strict).document()


def code_of(data: bytes, *, strict: bool = False, max_bytes: int = 10**9) -> str:
    with pytest.raises(InputError) as caught:
        PackedInput(data, "input", strict=strict, max_bytes=max_bytes).document()
    assert caught.value.path == "input"
    assert caught.value.hint
    return caught.value.code


@each_kind
@pytest.mark.parametrize(
    "content", [VALUE, ROWS, b"\xef\xbb\xbf" + ROWS], ids=["json", "lines", "bom"]
)
def test_packed_data_is_read_and_written_as_what_is_in_it(
    pack: Pack, unpack: Pack, content: bytes
) -> None:
    plain, packed = read(content), read(pack(content))
    assert (packed.root, packed.is_lines, packed.findings) == (plain.root, plain.is_lines, [])
    assert packed.edited([]) == pack(content)
    edit = Edit((3, "text") if plain.is_lines else ("messages", 0, "content"), "short é")
    edited = packed.edited([edit])
    assert unpack(edited) == plain.edited([edit])
    assert edited[:2] == pack(content)[:2]
    assert edited == read(pack(content)).edited([edit])
    assert read(edited).edited([]) == edited
    assert packed.place((3,) if plain.is_lines else ("messages", 0)) == plain.place(
        (3,) if plain.is_lines else ("messages", 0)
    )
    assert packed.raw(edit.path) == plain.raw(edit.path)


def test_gzip_data_of_ours_holds_no_time_and_no_system() -> None:
    edited = read(gzipped(VALUE)).edited([Edit(("messages", 1), 2)])
    assert edited[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


@each_kind
def test_the_content_tells_and_not_the_name(tmp_path: Path, pack: Pack, unpack: Pack) -> None:  # noqa: ARG001
    body = b'{"messages":[{"role":"user","content":"hi"}]}'
    for name, data in (("a.json", pack(body)), ("b.gz", body), ("c.zst", body), ("d", pack(body))):
        (tmp_path / name).write_bytes(data)
        transcript = compactor.load(tmp_path / name)
        assert (transcript.format, transcript.to_bytes()) == ("anthropic", data)
        assert compactor.detect(tmp_path / name) == compactor.detect(data) == "anthropic"


def skippable(data: bytes) -> bytes:
    return b"\x5a\x2a\x4d\x18" + len(data).to_bytes(4, "little") + data


@pytest.mark.parametrize(
    "data",
    [
        gzipped(ROWS[:300]) + gzipped(b"") + gzipped(ROWS[300:]),
        gzipped(ROWS[:300]) + b"\0" * 3 + gzipped(ROWS[300:]) + b"\0" * 5000,
        zstandard_of(ROWS[:300]) + zstandard_of(b"") + zstandard_of(ROWS[300:]),
        skippable(b"x") + zstandard_of(ROWS[:300]) + skippable(b"") + zstandard_of(ROWS[300:]),
        gzipped(zstandard_of(ROWS)),
        zstandard_of(gzipped(gzipped(ROWS))),
    ],
    ids=["members", "padded", "frames", "skippable", "zstd in gzip", "gzip in gzip in zstd"],
)
def test_data_in_several_parts_or_layers_is_one_input(data: bytes) -> None:
    document = read(data, strict=True)
    assert (document.root, document.edited([])) == (read(ROWS).root, data)
    assert read(document.edited([Edit((0, "text"), "x")])).root[0] == {"n": 0, "text": "x"}


def test_an_archive_may_be_packed_once_more() -> None:
    data = gzipped(archive([Member("a.json", b'{"k":"v"}'), Member("b.jsonl", b'{"k":1}\n{"t')]))
    document = read(data)
    assert dict(document.root) == {"a.json": {"k": "v"}, "b.jsonl": [{"k": 1}]}
    assert [finding.path for finding in document.findings] == ["input/b.jsonl:2"]
    assert dict(read(document.edited([Edit(("a.json", "k"), "w")])).root)["a.json"] == {"k": "w"}


def test_what_is_packed_too_often_is_refused() -> None:
    data = ROWS
    for _ in range(4):
        data = gzipped(data)
    assert code_of(data) == "input.packed"


@each_kind
def test_packed_data_that_ends_early_is_read_as_far_as_it_goes(pack: Pack, unpack: Pack) -> None:
    words = (hashlib.sha256(b"%d" % n).hexdigest() for n in range(9000))
    content = b"".join(b'{"n":"%s"}\n' % word.encode() for word in words)
    data = pack(content)  # of several blocks
    whole = read(data).root
    codes, lengths = set(), set()
    for cut in range(10, len(data), len(data) // 25):
        torn = data[:cut]
        try:
            document = read(torn)
        except InputError as error:
            codes.add(error.code)
            continue
        assert list(document.root) == whole[: len(document.root)]
        assert document.edited([]) == torn
        assert (document.findings[0].code, document.findings[0].path) == (
            *("damaged_container", "input"),
        )
        assert code_of(torn, strict=True) == "input.packed"
        lengths.add(len(document.root))
        assert unpack(document.edited([Edit((0, "n"), "x")])).startswith(b'{"n":"x"}\n')
    assert (codes, len(lengths) > 2) == ({"input.packed"}, True)


@pytest.mark.parametrize("behind", [b"x", b"junk that is no gzip data", b"\0\0oops"])
def test_what_stands_behind_gzip_data_is_said_and_left_alone(behind: bytes) -> None:
    data = gzipped(ROWS) + behind
    document = read(data)
    assert (document.root, document.edited([])) == (read(ROWS).root, data)
    assert [finding.code for finding in document.findings] == ["damaged_container"]


@each_kind
def test_any_damage_is_an_input_error_or_a_finding(pack: Pack, unpack: Pack) -> None:  # noqa: ARG001
    data = pack(ROWS)
    codes = set()
    for at in range(4, len(data)):
        for bits in (0x01, 0x80, 0xFF):
            damaged = data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]
            try:
                assert read(damaged).edited([]) == damaged
            except InputError as error:
                codes.add(error.code)
    assert codes <= {"input.packed", "input.not_json"}


@each_kind
def test_a_bomb_is_refused_before_it_fills_memory(pack: Pack, unpack: Pack) -> None:  # noqa: ARG001
    data = pack(b" " * 50_000_000)
    assert len(data) < 300_000
    tracemalloc.start()
    try:
        assert code_of(data, max_bytes=1_000_000) == "input.too_large"
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_a_value_that_would_be_too_large_in_memory_is_refused_where_it_was_packed() -> None:
    for data in (b"[" + b"1," * 100 + b"1]", b'{"a":1}\n[' + b"1," * 100 + b"1]\n"):
        assert read_document(data, "input", value_bytes=len(data)).edited([]) == data
        with pytest.raises(InputError) as caught:
            read_document(data, "input", value_bytes=100)
        assert caught.value.code == "input.too_large"


# Where bytes come from.


@pytest.fixture
def only_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if files of more than 100 bytes were large."""
    monkeypatch.setattr(inputs, "EAGER_BYTES", 100)
    monkeypatch.setattr(inputs, "BLOCK_BYTES", 20)


@pytest.mark.usefixtures("only_small")
def test_a_large_file_is_read_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    data = inputs.of_path(path)
    assert isinstance(data, inputs.FileBytes)
    assert (len(data), data[0 : len(data)], data[5:9], data[-3:], data[7:2]) == (
        *(len(ROWS), ROWS, ROWS[5:9], ROWS[-3:], b""),
    )
    assert PackedInput(data, "input").document().edited([]) == ROWS


@pytest.mark.usefixtures("only_small")
def test_a_file_that_becomes_shorter_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    data = inputs.of_path(path)
    path.write_bytes(ROWS + b"{}")  # what is appended was not there
    assert len(data) == len(ROWS)
    path.write_bytes(ROWS[:200])
    assert data[0:100] == ROWS[:100]
    with pytest.raises(InputError) as caught:
        data[150:250]
    assert (caught.value.code, caught.value.path) == ("input.unreadable", str(path))


@pytest.mark.usefixtures("only_small")
def test_what_comes_through_a_pipe_or_out_of_a_container_goes_to_the_disk() -> None:
    read_end, write_end = os.pipe()
    with open(write_end, "wb") as stream:
        stream.write(ROWS)
    with open(read_end, "rb") as stream:
        data = inputs.of_stream(stream, "<stdin>")
    assert isinstance(data, inputs.FileBytes)
    assert data[0 : len(data)] == ROWS
    assert read(gzipped(ROWS)).edited([Edit((0, "n"), 7)])
    small = inputs.of_stream(io.BytesIO(b"[1]"), "<stdin>")
    assert small == b"[1]"


@pytest.mark.usefixtures("only_small")
def test_a_stream_that_is_a_file_is_read_from_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b"head\n" + ROWS)
    with (tmp_path / "rows").open("rb") as stream:
        stream.readline()
        data = inputs.of_stream(stream, "<stdin>")
    assert isinstance(data, inputs.FileBytes)
    assert data[0 : len(data)] == ROWS


def test_what_cannot_be_read_has_a_code_of_its_own(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path, "a\0b"):
        with pytest.raises(InputError) as caught:
            compactor.load(path)
        assert (caught.value.code, caught.value.path) == ("input.unreadable", str(path))
        with pytest.raises(InputError):
            compactor.detect(Path(path))


class Failing(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:  # noqa: ARG002
        raise OSError(5, "Input/output error")


def test_a_stream_that_breaks_off_is_unreadable() -> None:
    stream: IO[bytes] = io.BufferedReader(Failing())
    with pytest.raises(InputError) as caught:
        inputs.of_stream(stream, "<stdin>")
    assert (caught.value.code, caught.value.path) == ("input.unreadable", "<stdin>")


def test_the_command_takes_packed_data_from_a_file_and_from_standard_input(tmp_path: Path) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
    (tmp_path / "body").write_bytes(gzipped(body))
    run = [sys.executable, "-m", "compactor", "compact", "--window", "5000"]
    for arguments, data in ((["body"], b""), (["-"], gzipped(body))):
        done = subprocess.run(
            [*run, *arguments],
            cwd=tmp_path,
            input=data,
            capture_output=True,
            timeout=60,
            check=False,
            env=os.environ | {"PYTHONPATH": str(Path(compactor.__file__).parents[1])},
        )
        assert (done.returncode, done.stdout) == (0, gzipped(body))


# Transcripts.


def test_a_transcript_is_written_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_bytes(b' {"messages":[{"role":"user","content":"hi"}]}\n')
    transcript = compactor.load(path)
    shown = transcript.with_edits([Edit(("messages", 0, "content"), "ho")])
    stream = io.BytesIO()
    shown.write_to(stream)
    assert stream.getvalue() == shown.to_bytes() == path.read_bytes().replace(b"hi", b"ho")


def test_native_data_that_is_parsed_already_is_a_transcript_too() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "model": "x"}
    for native in (body, body["messages"]):
        transcript = compactor.load(native)
        assert (transcript.format, transcript.root is native) == ("anthropic", True)
        assert json.loads(transcript.to_bytes()) == native
    assert compactor.load(body, "openai-chat").format == "openai-chat"


def test_damage_of_a_container_is_a_finding_of_the_transcript() -> None:
    data = (
        zlib.compress(b"", 9) and gzipped(b'{"messages":[{"role":"user","content":"hi"}]}\n')[:-4]
    )
    assert compactor.load(data).findings == (
        Finding(
            "damaged_container",
            "the gzip data ends early; what could be unpacked is read",
            "<bytes>",
        ),
    )
