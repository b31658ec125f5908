"""Images and documents: what they are told apart by, and how large an image is.

A part of a medium never depends on the length of its base64: an image has its 28-pixel patches when
its header says its size, 0 when it does not, and `loop.json` says what that costs. Only a bounded
prefix is decoded, strictly, so that a hostile header costs nothing and no decoder's leniency shows.
Sources: Anthropic vision docs (patches; reference providers.md D3); the PNG, GIF, JPEG and WebP
header layouts. Specification: DESIGN section 3, Tokens.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from typing import Any, NamedTuple

from compactor.core.model import Part, PartKind

PATCH_PIXELS = 28
"""Edge of the square that a provider counts as one token (Anthropic vision docs)."""
_HEADER_BASE64 = 64
"""Characters that hold the whole header of PNG, GIF and WebP."""
_JPEG_BASE64 = 256 * 1024
"""A JPEG's size stands behind its metadata; further in than this it stays unknown."""
_DATA_URL_HEADER = 256
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")
_URL_ALPHABET = str.maketrans("-_", "+/")
_SPACE = {ord(c): None for c in " \t\r\n"}
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})


class Size(NamedTuple):
    """Pixels; both at least 1."""

    width: int
    height: int


def digest_of(text: str) -> str:
    """SHA-256 of a text, hex. Takes lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def image_part(data: str) -> Part:
    """An image given as base64."""
    size = image_size(data)
    return Part(PartKind.IMAGE, size=patches(size) if size else 0, digest=digest_of(data))


def image_url_part(url: str) -> Part:
    """An image given as a URL. The same picture has one digest, as a data URL or as base64."""
    data = data_of(url)
    if data is not None:
        return image_part(data)
    return Part(PartKind.IMAGE, digest=digest_of(url))


def base64_of(data: Any) -> str:
    """The base64 of bytes, or of base64 in either alphabet; "" for anything else."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return binascii.b2a_base64(data, newline=False).decode("ascii")
    return data.translate(_URL_ALPHABET) if isinstance(data, str) else ""


def document_part(identity: str) -> Part:
    """A document known by its base64, a (data) URL or a file id."""
    data = data_of(identity)
    return Part(PartKind.DOCUMENT, digest=digest_of(identity if data is None else data))


def data_of(url: str) -> str | None:
    """The base64 of a `data:` URL; None for anything else."""
    if not url.startswith("data:"):
        return None
    comma = url.find(",", 0, _DATA_URL_HEADER)
    if comma < 0 or not url.endswith(";base64", 0, comma):
        return None
    return url[comma + 1 :]


def patches(size: Size) -> int:
    """Patches that cover an image, before any cap."""
    return -(-size.width // PATCH_PIXELS) * -(-size.height // PATCH_PIXELS)


def image_size(data: str) -> Size | None:
    """Pixels of a base64 image by its header; None when it does not say. Bounded work."""
    head = _decoded(data, _HEADER_BASE64)
    if head.startswith(b"\xff\xd8"):
        size = _jpeg(_decoded(data, _JPEG_BASE64))
    else:
        size = _png(head) or _gif(head) or _webp(head)
    return size if size and size.width > 0 and size.height > 0 else None


def _decoded(data: str, limit: int) -> bytes:
    """The bytes of the first `limit` characters, up to the first that is no base64."""
    match = _BASE64.match(data[:limit].translate(_SPACE))
    text = match.group() if match else ""
    return binascii.a2b_base64(text[: len(text) // 4 * 4])


def _png(head: bytes) -> Size | None:
    if not head.startswith(b"\x89PNG\r\n\x1a\n") or head[12:16] != b"IHDR" or len(head) < 24:
        return None
    return Size(int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big"))


def _gif(head: bytes) -> Size | None:
    if head[:6] not in (b"GIF87a", b"GIF89a") or len(head) < 10:
        return None
    return Size(int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little"))


def _webp(head: bytes) -> Size | None:
    """Lossy frames, lossless streams and extended canvases, by their first chunk."""
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        return None
    chunk = head[12:16]
    if chunk == b"VP8X":
        width, height = (int.from_bytes(head[i : i + 3], "little") + 1 for i in (24, 27))
        return Size(width, height)
    if chunk == b"VP8L" and head[20] == 0x2F:
        bits = int.from_bytes(head[21:25], "little")
        return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if chunk == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = (int.from_bytes(head[i : i + 2], "little") & 0x3FFF for i in (26, 28))
        return Size(width, height)
    return None


def _jpeg(data: bytes) -> Size | None:
    """Walks the segments to the first frame header; each step goes at least two bytes on."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF or marker in _JPEG_BARE:
            at += 1 if marker == 0xFF else 2
            continue
        if marker in _JPEG_FRAMES:
            height, width = (int.from_bytes(data[at + i : at + i + 2], "big") for i in (5, 7))
            return Size(width, height)
        at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return None
