"""A request body as it was sent, apart from the objects of the harness that made it.

Bytes and texts keep their spelling; Python values and the models of SDKs are spelled as compact
JSON at once, so that a list which grows later changes nothing that was recorded. What was written
stands beside each item of the lists at the top of a body. Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from compactor.core.errors import InputError
from compactor.core.model import Path
from compactor.formats.raw.json_text import NotJsonError, after_space, read_value
from compactor.formats.raw.native import compact_json
from compactor.formats.raw.objects import is_object
from compactor.formats.raw.sources import decoded
from compactor.formats.raw.within import whole_value


class Body(NamedTuple):
    """A body that was read.

    root: its value; not to be changed.
    written: address of an item of a list at the top → its text; {} when it came as Python values.
    """

    root: Any
    written: dict[Path, str]


def read_body(given: Any) -> Body:
    """What a harness hands over: bytes, a JSON text, or Python values. O(the body).

    Raises:
        InputError: `input.not_json`; `input.shape` when it is neither an object nor a list.
    """
    raw = isinstance(given, bytes | bytearray | str)
    text = _text(given) if raw else compact_json(given)
    try:
        root, start = whole_value(text)
    except NotJsonError as error:
        raise InputError(f"no request body: {error}", code="input.not_json", path="$") from error
    if not (isinstance(root, list) or is_object(root)):
        raise InputError(
            f"a request body is an object or a list of messages, not {type(given).__name__}",
            code="input.shape",
            path="$",
            hint="record(body), record([message, …]) or record(bytes)",
        )
    return Body(root, dict(_items(text, start)) if raw else {})


def _text(given: bytes | bytearray | str) -> str:
    return given if isinstance(given, str) else decoded(bytes(given)).removeprefix("\ufeff")


def _items(text: str, start: int) -> Iterator[tuple[Path, str]]:
    """The texts of the items of a list, or of the lists right inside an object."""
    if text[start] == "[":
        yield from (((index,), written) for index, written in _listed(text, start))
        return
    for key, at in _members(text, start):
        if text[at] == "[":
            yield from (((key, index), written) for index, written in _listed(text, at))


def _members(text: str, start: int) -> Iterator[tuple[str, int]]:
    """The keys of an object and where their values begin. The text is known to be JSON."""
    pos = after_space(text, start + 1)
    while text[pos] != "}":
        key, pos = read_value(text, pos)
        at = after_space(text, after_space(text, pos) + 1)
        yield key, at
        pos = _behind(text, read_value(text, at)[1])


def _listed(text: str, start: int) -> Iterator[tuple[int, str]]:
    """The items of a list as written."""
    pos, index = after_space(text, start + 1), 0
    while text[pos] != "]":
        end = read_value(text, pos)[1]
        yield index, text[pos:end]
        pos, index = _behind(text, end), index + 1


def _behind(text: str, end: int) -> int:
    """Where the next member or item begins, or the end of the container."""
    pos = after_space(text, end)
    return after_space(text, pos + 1) if text[pos] == "," else pos
