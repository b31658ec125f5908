"""What a harness says of a result when it inserts it: the call, the output, the file, the changes.

Values of one shape, made from mappings or objects and checked here: the rest may rely on them. What
is wrong is the harness's fault and is refused with the field's name. Specification: DESIGN section
7, docs/sessions.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from compactor.core.errors import InputError
from compactor.core.lines import count_lines


class Content(NamedTuple):
    """A file's content, as text or as bytes."""

    data: str | bytes

    @property
    def raw(self) -> bytes:
        """As it is on the disk. Text that was decoded with escapes gives back its bytes."""
        if isinstance(self.data, bytes):
            return self.data
        try:
            return self.data.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return self.data.encode("utf-8", "surrogatepass")

    @property
    def text(self) -> str:
        """Exactly, with an escape for each byte that is no text; not to be shown as it is."""
        if isinstance(self.data, str):
            return self.data
        return self.data.decode("utf-8", "surrogateescape")

    @property
    def binary(self) -> bool:
        """Whether it is no text: it has a NUL."""
        return b"\0" in self.data if isinstance(self.data, bytes) else "\0" in self.data

    @property
    def sha(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def lines(self) -> int:
        return count_lines(self.text)


class Read(NamedTuple):
    """What of which file a read shows.

    path: as the call gave it; "" to take it from the call.
    resolved: what identifies the file; "" where it is the path.
    first, last, total: from 1; None to derive them.
    sha: of the content; "" to derive it.
    """

    path: str
    resolved: str
    first: int | None
    last: int | None
    total: int | None
    content: Content | None
    sha: str


class Change(NamedTuple):
    """One file before and after; None where there is no file. One of the two is not None."""

    path: str
    resolved: str
    old: Content | None
    new: Content | None

    @property
    def sha(self) -> str:
        """Of the new content; "" for a deleted file."""
        return "" if self.new is None else self.new.sha


class Insertion(NamedTuple):
    """A result that is to be inserted.

    tool: as the call names it; arguments: JSON.
    output: what the tool gave: a text, or native blocks.
    error: the call failed.
    note: a line that the tool adds.
    """

    tool: str
    arguments: str = "{}"
    output: Any = ""
    error: bool = False
    read: Read | None = None
    edits: tuple[Change, ...] = ()
    note: str | None = None


def read_of(native: Any) -> Read | None:
    """The facts of a read; None for None.

    Args:
        native: a mapping or object with `path, resolved, first, last, total_lines` and `content`
            (text or bytes) or `sha256`; what `content` and the call say may be left out.

    Raises:
        InputError: `input.shape`.
    """
    if native is None:
        return None
    given = _Fields(native, _READ, "read")
    content, sha = given.content("content"), given.text("sha256")
    first, last, total = (given.number(name) for name in _NUMBERS)
    if sha and (len(sha) != 64 or sha.strip("0123456789abcdef")):
        raise given.refusal("sha256", "64 hex digits in lower case")
    if content is None and not (sha and None not in (first, last, total)):
        raise given.refusal("content", "given, or else sha256, first, last and total_lines")
    resolved = given.text("resolved")
    return Read(given.text("path"), resolved, first, last, total, content, sha)


def change_of(native: Any) -> Change:
    """One changed file.

    Args:
        native: a mapping or object with `path, resolved, old, new` (text or bytes, None for a file
            that is not there).

    Raises:
        InputError: `input.shape`.
    """
    given = _Fields(native, _CHANGE, "edits")
    path = given.text("path") or given.text("resolved")
    if not path:
        raise given.refusal("path", "the path that the call gave")
    old, new = given.content("old"), given.content("new")
    if old is None and new is None:
        raise given.refusal("new", "the new content where there is no old one")
    return Change(path, given.text("resolved") or path, old, new)


_NUMBERS = ("first", "last", "total_lines")
_READ = ("path", "resolved", *_NUMBERS, "content", "sha256")
_CHANGE = ("path", "resolved", "old", "new")
_MOST = 10**12


class _Fields:
    """Fields of a mapping or an object, checked one by one."""

    def __init__(self, native: Any, names: tuple[str, ...], place: str) -> None:
        self._native = native
        self._place = place
        unknown = [key for key in native if key not in names] if self._is_mapping else []
        if unknown:
            raise self.refusal(str(unknown[0]), f"no field; there are {', '.join(names)}")

    @property
    def _is_mapping(self) -> bool:
        return isinstance(self._native, Mapping)

    def text(self, name: str) -> str:
        value = self._get(name)
        if not isinstance(value, str | None):
            raise self.refusal(name, "a text")
        return value or ""

    def number(self, name: str) -> int | None:
        value = self._get(name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (whole and 0 <= value < _MOST):
            raise self.refusal(name, "a whole number, not below 0")
        return value if whole else None

    def content(self, name: str) -> Content | None:
        value = self._get(name)
        if isinstance(value, bytearray | memoryview):
            value = bytes(value)
        if not isinstance(value, str | bytes | None):
            raise self.refusal(name, "text, bytes or None")
        return None if value is None else Content(value)

    def refusal(self, name: str, what: str) -> InputError:
        path = f"{self._place}.{name}"
        return InputError(f"{name} must be {what}", code="input.shape", path=path)

    def _get(self, name: str) -> Any:
        if self._is_mapping:
            return self._native.get(name)
        return getattr(self._native, name, None)
