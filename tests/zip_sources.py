"""Zip archives written byte by byte, with all that real writers and hostile ones put into them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import zstandard

STORED, DEFLATED, ZSTD = 0, 8, 93


class Member(NamedTuple):
    """A member to write. is_streamed: its sizes stand behind it; is_wide: as 64-bit numbers."""

    name: str
    data: bytes
    method: int = DEFLATED
    is_streamed: bool = False
    is_wide: bool = False
    flags: int = 0
    extra: bytes = b""
    comment: bytes = b""


TIME, DATE = 0x6C3A, 0x5AB5


def packed(member: Member) -> bytes:
    if member.method == DEFLATED:
        writer = zlib.compressobj(9, zlib.DEFLATED, -15)
        return writer.compress(member.data) + writer.flush()
    if member.method == ZSTD:
        cut = len(member.data) // 2
        frames = (member.data[:cut], member.data[cut:])
        return b"".join(map(zstandard.ZstdCompressor(level=1).compress, frames))
    return member.data


def archive(
    members: Sequence[Member], *, comment: bytes = b"", is_wide: bool = False, lead: bytes = b""
) -> bytes:
    """The bytes of an archive; `lead` stands before its own start."""
    body, records = b"", b""
    for member in members:
        local, record = _member(member, len(body))
        body += local
        records += record
    count, size, start = len(members), len(records), len(body)
    tail = b""
    if is_wide:
        end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
        tail = end + struct.pack("<4sLQL", b"PK\6\7", 0, start + size, 1)
        start = 0xFFFFFFFF
    tail += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, size, start, len(comment))
    return lead + body + records + tail + comment


def _member(member: Member, offset: int) -> tuple[bytes, bytes]:
    name, data, check = member.name.encode(), packed(member), zlib.crc32(member.data)
    flags = member.flags | 0x800 | (8 if member.is_streamed else 0)
    sizes = (len(data), len(member.data))
    local_sizes = (0, 0) if member.is_streamed else sizes
    extra = local_extra = member.extra
    shown, local_shown = sizes, local_sizes
    if member.is_wide:
        local_extra = struct.pack("<2H2Q", 1, 16, local_sizes[1], local_sizes[0]) + extra
        extra = extra + struct.pack("<2H2Q", 1, 16, sizes[1], sizes[0])
        shown = local_shown = (0xFFFFFFFF, 0xFFFFFFFF)
    local_check = 0 if member.is_streamed else check
    head = (45, flags, member.method, TIME, DATE)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", *head, local_check, *local_shown, len(name), 0)
    local = local[:-2] + struct.pack("<H", len(local_extra)) + name + local_extra + data
    if member.is_streamed:
        kind = "<4sL2Q" if member.is_wide else "<4s3L"
        local += struct.pack(kind, b"PK\7\x08", check, *sizes)
    lengths = (len(name), len(extra), len(member.comment))
    record = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 0x32D, *head, check, *shown, *lengths, 0, 0, 0o644 << 16, offset
    )
    return local, record + name + extra + member.comment
