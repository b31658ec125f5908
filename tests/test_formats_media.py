"""Sizes of images by their headers, and what media are told apart by."""

import base64
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.core.model import Part, PartKind
from compactor.formats.media import (
    Size,
    data_of,
    digest_of,
    document_part,
    image_part,
    image_size,
    image_url_part,
    patches,
)


def png(width, height):
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08" * 40


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 40


def jpeg(width, height, metadata=0, frame=0xC2):
    exif = b"\xff\xe1" + struct.pack(">H", 2 + metadata) + b"\xff" * metadata
    tables = b"\xff\xdb" + struct.pack(">H", 67) + b"\1" * 65
    start = bytes([0xFF, frame]) + struct.pack(">HBHHB", 17, 8, height, width, 3)
    return b"\xff\xd8" + exif + b"\xff\xff" + tables + start + b"\0" * 20


def webp(chunk, payload):
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + chunk + struct.pack("<I", 80) + payload


def webp_lossy(width, height):
    return webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height) + b"\0" * 20)


def webp_lossless(width, height):
    bits = (width - 1) | (height - 1) << 14
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", bits) + b"\0" * 20)


def webp_canvas(width, height):
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", b"\x10\0\0\0" + sides + b"\0" * 20)


def b64(data):
    return base64.b64encode(data).decode()


HEADERS = [png, gif, jpeg, webp_lossy, webp_lossless, webp_canvas]


@pytest.mark.parametrize("header", HEADERS)
def test_an_image_says_its_size_in_its_header(header):
    assert image_size(b64(header(1000, 37))) == Size(1000, 37)


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_cut_anywhere_gives_the_size_or_nothing(header):
    data = header(640, 480)
    sizes = {image_size(b64(data[:n])) for n in range(len(data) + 1)}
    assert sizes == {None, Size(640, 480)}


def test_a_jpeg_says_its_size_behind_its_metadata():
    assert image_size(b64(jpeg(800, 600, metadata=60_000))) == Size(800, 600)


def test_a_jpeg_with_too_much_metadata_stays_unknown():
    far = jpeg(800, 600, metadata=65_000)
    many = b"\xff\xd8" + far[2:-40] * 4 + far[2:]
    assert image_size(b64(many.replace(b"\xff\xc2", b"\xff\xe2", 4))) is None


def test_huffman_tables_are_no_frame_header():
    assert image_size(b64(jpeg(800, 600, frame=0xC4))) is None


@pytest.mark.parametrize("header", [png, gif, webp_lossy])
def test_a_side_of_zero_is_no_size(header):
    assert image_size(b64(header(0, 480))) is None


@pytest.mark.parametrize("noise", ["\n", " \r\n\t"])
def test_line_ends_inside_base64_do_not_hide_the_size(noise):
    data = b64(png(640, 480))
    assert image_size(noise.join([data[:7], data[7:30], data[30:]])) == Size(640, 480)


def test_repeated_signatures_of_a_broken_image_give_no_size():
    assert image_size("iVBORw0KGgoAAAAN" * 1000) is None


@settings(deadline=None)
@given(
    st.text()
    | st.binary().map(b64)
    | st.sampled_from(HEADERS).flatmap(
        lambda h: st.binary(max_size=80).map(lambda tail: b64(h(1, 1)[:12] + tail))
    )
)
def test_no_text_makes_the_header_reader_raise(text):
    size = image_size(text)
    assert size is None or (size.width > 0 and size.height > 0)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(Size(1000, 1000), 1296), (Size(28, 28), 1), (Size(29, 28), 2), (Size(1, 1), 1)],
)
def test_an_image_has_as_many_patches_as_cover_it(size, expected):
    assert patches(size) == expected


def test_the_same_picture_is_the_same_part_as_base64_and_as_a_data_url():
    data = b64(png(280, 280))
    expected = Part(PartKind.IMAGE, size=100, digest=digest_of(data))
    assert image_part(data) == expected
    assert image_url_part(f"data:image/png;base64,{data}") == expected


def test_a_remote_picture_has_no_size_and_its_url_as_identity():
    url = "https://example.org/a.png"
    assert image_url_part(url) == Part(PartKind.IMAGE, digest=digest_of(url))


def test_a_document_has_no_size_of_its_own():
    assert document_part("data:application/pdf;base64,JVBE") == Part(
        PartKind.DOCUMENT, digest=digest_of("JVBE")
    )


@pytest.mark.parametrize(
    ("url", "data"),
    [
        ("data:image/png;base64,AAAA", "AAAA"),
        ("data:;base64,", ""),
        ("data:text/plain,hello", None),
        ("data:image/png;base64", None),
        ("https://example.org/;base64,AAAA", None),
        ("data:" + "x" * 300 + ";base64,AAAA", None),
    ],
)
def test_only_a_base64_data_url_holds_base64(url, data):
    assert data_of(url) == data
