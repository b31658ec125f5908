"""The directory of a zip archive: where each member lies, and the same with members moved.

Reads what an archive says of itself and trusts none of it; nothing is ever extracted, so a name is
only a name. Records are kept as they are, and of a changed one only numbers are written anew: what
we do not know of stays. Zip64 included; archives of several disks are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from compactor.formats.raw.sources import Bytes


class BadZipError(Exception):
    """This is no archive that can be read; the message says why."""


class Place(NamedTuple):
    """Where a number stands in a record, and its size in bytes."""

    at: int
    size: int


class Entry(NamedTuple):
    """A member as the directory has it.

    record: its bytes in the directory.
    places: of `packed`, `size` and `offset` in the record.
    packed: bytes that it takes in the archive.
    size: bytes that it unpacks to.
    offset: where its local header is, counted from the archive's own start.
    """

    name: str
    record: bytes
    flags: int
    method: int
    check: int
    packed: int
    size: int
    offset: int
    places: tuple[Place, Place, Place]


class Directory(NamedTuple):
    """The directory of an archive.

    entries: in its order.
    lead: bytes before the archive's own start, from which offsets count.
    start, end: the records are these bytes of the input.
    """

    entries: list[Entry]
    lead: int
    start: int
    end: int


class Changed(NamedTuple):
    """What a member is now: its checksum and sizes."""

    check: int
    packed: int
    size: int


ENCRYPTED, _DESCRIPTOR, _UTF8 = 0x1, 0x8, 0x800
_RECORD: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_END: Final = struct.Struct("<4s4H2LH")
_END64: Final = struct.Struct("<4sQ2H2L4Q")
_LOCATOR: Final = struct.Struct("<4sLQL")
_FULL, _FULL_SHORT = 0xFFFFFFFF, 0xFFFF
_ZIP64: Final = 1
_TAIL_MAX: Final = _END.size + 0xFFFF


def read_directory(data: Bytes) -> Directory:
    """The directory of an archive. O(the directory).

    Raises:
        BadZipError: there is none, or it is damaged.
    """
    end = _end_at(data)
    _, disk, first_disk, _, _, size, offset, _ = _END.unpack(data[end : end + _END.size])
    records_end = end
    wide = _end64_at(data, end)
    if wide is not None:
        records_end = wide
        fields = _END64.unpack(data[wide : wide + _END64.size])
        disk, first_disk, size, offset = fields[4], fields[5], fields[8], fields[9]
    lead = records_end - size - offset
    if disk or first_disk:
        raise BadZipError("it is one of several parts")
    if lead < 0:
        raise BadZipError("its directory does not fit into it")
    start = offset + lead
    entries = list(_entries(data[start : start + size]))
    return Directory(entries, lead, start, start + size)


def _end_at(data: Bytes) -> int:
    """Where the record is that ends an archive. Its comment may hold anything, such records too."""
    low = max(len(data) - _TAIL_MAX, 0)
    tail = data[low : len(data)]
    at, last = tail.rfind(b"PK\x05\x06"), -1
    while at >= 0:
        end = at + _END.size + int.from_bytes(tail[at + 20 : at + 22], "little")
        if end == len(tail):
            return low + at
        last = at if last < 0 and end < len(tail) else last
        at = tail.rfind(b"PK\x05\x06", 0, at)
    if last < 0:
        raise BadZipError("the archive ends early, or is none")
    return low + last  # something stands behind it


def _end64_at(data: Bytes, end: int) -> int | None:
    """Where the record with the large numbers is, if there is one."""
    locator = data[max(end - _LOCATOR.size, 0) : end]
    if locator[:4] != b"PK\x06\x07":
        return None
    for at in (_LOCATOR.unpack(locator)[2], end - _LOCATOR.size - _END64.size):
        if 0 <= at < end and data[at : at + 4] == b"PK\x06\x06":
            return int(at)
    raise BadZipError("its directory is damaged")


def _entries(records: bytes) -> Iterator[Entry]:
    at = 0
    while at < len(records):
        head = records[at : at + _RECORD.size]
        if len(head) < _RECORD.size or head[:4] != b"PK\x01\x02":
            raise BadZipError("its directory is damaged")
        fields = _RECORD.unpack(head)
        lengths = fields[10:13]
        record = records[at : at + _RECORD.size + sum(lengths)]
        if len(record) < _RECORD.size + sum(lengths):
            raise BadZipError("its directory is damaged")
        yield _entry(record, fields)
        at += len(record)


def _entry(record: bytes, fields: tuple[int, ...]) -> Entry:
    flags, method, check, name_size, extra_size = (fields[i] for i in (3, 4, 7, 10, 11))
    name = record[_RECORD.size : _RECORD.size + name_size]
    extra_at = _RECORD.size + name_size
    wide = _wide_at(record, extra_at, extra_at + extra_size)
    numbers, places = [], []
    for at in (24, 20, 42):  # size, packed, offset: in this order where they are large
        place = Place(at, 4)
        if _number(record, place) == _FULL and wide is not None:
            place, wide = Place(wide, 8), wide + 8
            if place.at + 8 > extra_at + extra_size:
                raise BadZipError("its directory is damaged")
        places.append(place)
        numbers.append(_number(record, place))
    size, packed, offset = numbers
    text = name.decode("utf-8", "surrogateescape") if flags & _UTF8 else name.decode("cp437")
    order = (places[1], places[0], places[2])
    return Entry(text, record, flags, method, check, packed, size, offset, order)


def _wide_at(record: bytes, at: int, end: int) -> int | None:
    """Where the large numbers stand in the extra fields `at..end`; None where there are none."""
    while at + 4 <= end:
        kind, size = struct.unpack_from("<2H", record, at)
        if kind == _ZIP64:
            return at + 4
        at += 4 + size
    return None


def _number(record: bytes, place: Place) -> int:
    return int.from_bytes(record[place.at : place.at + place.size], "little")


def data_range(data: Bytes, directory: Directory, entry: Entry) -> tuple[int, int]:
    """The bytes of the input that are a member's packed data.

    Raises:
        BadZipError: there is no such member there.
    """
    start = directory.lead + entry.offset
    head = data[start : start + _LOCAL.size]
    if len(head) < _LOCAL.size or head[:4] != b"PK\x03\x04":
        raise BadZipError("it is not where the directory says")
    start += _LOCAL.size + sum(_LOCAL.unpack(head)[9:11])
    if start + entry.packed > directory.start:
        raise BadZipError("it does not fit into the archive")
    return start, start + entry.packed


def local_header(data: Bytes, directory: Directory, entry: Entry, changed: Changed) -> bytes:
    """The header before a changed member's data: as it was but for what has changed."""
    start = directory.lead + entry.offset
    header = bytearray(data[start : data_range(data, directory, entry)[0]])
    name_size, extra_size = _LOCAL.unpack(header[: _LOCAL.size])[9:11]
    extra_at = _LOCAL.size + name_size
    wide = _wide_at(bytes(header), extra_at, extra_at + extra_size)
    struct.pack_into("<H", header, 6, entry.flags & ~_DESCRIPTOR)
    struct.pack_into("<L", header, 14, changed.check)
    for at, number in ((22, changed.size), (18, changed.packed)):
        is_wide = _number(bytes(header), Place(at, 4)) == _FULL and wide is not None
        if is_wide and wide is not None and wide + 8 <= len(header):
            struct.pack_into("<Q", header, wide, number)
            wide += 8
        else:
            struct.pack_into("<L", header, at, number)
    return bytes(header)


def moved_records(
    directory: Directory, offsets: Mapping[int, int], changed: Mapping[int, Changed]
) -> Iterator[bytes]:
    """The records of the directory with members moved and changed.

    Args:
        offsets: old offset → new one.
        changed: what members are now, by their index.
    """
    for index, entry in enumerate(directory.entries):
        record = bytearray(entry.record)
        numbers = [entry.packed, entry.size, offsets[entry.offset]]
        new = changed.get(index)
        if new is not None:
            numbers[:2] = new.packed, new.size
            struct.pack_into("<H", record, 8, entry.flags & ~_DESCRIPTOR)
            struct.pack_into("<L", record, 16, new.check)
        for place, number in zip(entry.places, numbers, strict=True):
            _put(record, place, number)
        yield bytes(record)


def moved_end(data: Bytes, directory: Directory, by: int) -> bytes:
    """What follows the records, with the directory and itself moved by so many bytes."""
    tail = bytearray(data[directory.end : len(data)])
    end = _end_at(data) - directory.end
    wide = _end64_at(data, _end_at(data))
    if wide is not None:
        _add(tail, Place(wide - directory.end + 48, 8), by)
        _add(tail, Place(end - _LOCATOR.size + 8, 8), by)
    if _number(bytes(tail), Place(end + 16, 4)) != _FULL or wide is None:
        _add(tail, Place(end + 16, 4), by)
    return bytes(tail)


def _add(record: bytearray, place: Place, by: int) -> None:
    _put(record, place, _number(bytes(record), place) + by)


def _put(record: bytearray, place: Place, number: int) -> None:
    if number >= 1 << 8 * place.size:
        raise BadZipError("it would become too large for its directory")
    record[place.at : place.at + place.size] = number.to_bytes(place.size, "little")
