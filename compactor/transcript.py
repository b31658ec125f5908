"""Transcripts: native data that was read, with the changes to show; `load` and `detect`.

A recording is read from its bytes and given back byte for byte where nothing changed.
Specification: DESIGN section 3; docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import IO, Any

import msgspec

from compactor import installed
from compactor.containers import PackedInput
from compactor.core.errors import Finding, InputError
from compactor.core.model import Entry, Reading, Usage
from compactor.formats.lens import Lens, RecordedUsage, Threads
from compactor.formats.raw.native import Document, Edit, LazyRows, Rows, apply_edits, compact_json
from compactor.formats.raw.sources import Bytes
from compactor.inputs import of_path


class Transcript:
    """Entries over untouched native data, with the changes to show.

    Attributes:
        format: name of its format, as after `-f`.
        root: the native data as parsed Python values, unchanged.
        edits: what `to_bytes` and `view` change.
    """

    def __init__(
        self,
        lens: Lens,
        root: Any,
        reading: Reading,
        document: Document | None = None,
        edits: Sequence[Edit] = (),
        thread: str = "",
    ) -> None:
        self._lens = lens
        self.root = root
        self.reading = reading
        self.document = document
        self.edits = tuple(edits)
        self._thread = thread
        self._threads: tuple[str, ...] | None = None

    @property
    def format(self) -> str:
        return self._lens.name

    @property
    def lens(self) -> Lens:
        return self._lens

    @property
    def entries(self) -> Sequence[Entry]:
        """The canonical entries, oldest first; index is seq."""
        return self.reading.entries

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was strange in the input and is carried through."""
        damage = tuple(self.document.findings) if self.document else ()
        return damage + tuple(self.reading.findings)

    @property
    def threads(self) -> tuple[str, ...]:
        """Names of the conversations in the file, for `load(…, thread=…)`; none where one is all.

        The first is what is read when none is asked for. O(the file), once.
        """
        if self._threads is None:
            self._threads = _threads(self._lens, self.root)
        return self._threads

    @property
    def thread(self) -> str:
        """The name of the conversation that was read; "" where the format has none. O(the file)."""
        return self._thread or next(iter(self.threads), "")

    @property
    def usage(self) -> tuple[Usage, ...]:
        """What providers counted for the requests of this conversation, where that is recorded."""
        return self.reading.usage

    def all_usage(self) -> list[Usage]:
        """The same for every request of the file, once each: of all threads and branches. O(file).

        Returns:
            in the order of the file; `n` is 0, as no entries are implied. A format that has sums
            only gives one `Usage` with their number of `requests`.
        """
        if isinstance(self._lens, RecordedUsage):
            return self._lens.all_usage(self.root)
        return [msgspec.structs.replace(usage, n=0) for usage in self.usage]

    def of_thread(self, name: str) -> Transcript:
        """Another conversation of the same file, without changes. O(the file).

        Raises:
            InputError: `input.thread_unknown`; as `load`.
        """
        lens = _of_thread(self._lens, self.threads, name)
        other = Transcript(
            lens, self.root, installed.read(lens, self.root), self.document, thread=name
        )
        other._threads = self._threads
        return other

    def view(self) -> Any:
        """The native data with the changes; untouched messages are the same objects."""
        return apply_edits(self.root, self.edits)

    def to_bytes(self) -> bytes:
        """The native bytes with the changes; everything else byte for byte as it was read."""
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """The bytes of `to_bytes` one after the other: a large file is never held as a whole."""
        if self.document is not None:
            return self.document.pieces(self.edits)
        return iter((compact_json(self.view()).encode("utf-8"),))

    def write_to(self, stream: IO[bytes]) -> None:
        """Write the bytes of `to_bytes` to a binary stream."""
        for piece in self.pieces():
            stream.write(piece)

    def with_edits(self, edits: Sequence[Edit]) -> Transcript:
        """The same transcript showing other changes."""
        return Transcript(self._lens, self.root, self.reading, self.document, edits, self._thread)


def load(
    source: str | FilePath | bytes | Bytes | dict[str, Any] | list[Any],
    format: str | Lens | None = None,  # noqa: A002  (the word users know)
    *,
    thread: str = "",
    name: str = "",
    strict: bool = False,
) -> Transcript:
    """Read a recorded transcript or a request body.

    Files may be packed with gzip or Zstandard, and a zip archive is read by its members. Of a large
    JSON Lines file only what its entries hold is kept in memory.

    Args:
        source: a path, the bytes themselves, or native data that is parsed already.
        format: name of the format, or a lens of your own; None looks at the content.
        thread: one of the file's conversations, by its name in `Transcript.threads`.
        name: what errors call the bytes.
        strict: damaged lines and containers are an error instead of a finding.

    Raises:
        InputError: `input.unreadable`, `input.packed`, `input.too_large`, `input.not_json`,
            `input.shape`, `input.format_unknown`, `input.format_broken`, `input.thread_unknown`,
            with `file:line` or `$.path`.
    """
    lens = (installed.lens(format) if isinstance(format, str) else format) if format else None
    if isinstance(source, dict | list):
        return _read(lens or installed.detect(source), source, None, thread)
    document = _document(source, name, lens, strict=strict)
    return _read(lens or _detected(document.root), document.root, document, thread)


def _document(
    source: str | FilePath | Bytes, name: str, lens: Lens | None, *, strict: bool
) -> Document:
    """What a file or bytes hold, as one JSON value or as lines: a single line may be either."""
    data, name = _opened(source, name)
    packed = PackedInput(data, name, strict=strict)
    document = packed.document()
    if isinstance(document.root, dict) and not _recognised(document.root, lens):
        return _as_one_row(packed, lens) or document
    return document


def _read(lens: Lens, root: Any, document: Document | None, thread: str) -> Transcript:
    """What a lens reads of one conversation."""
    if thread:
        lens = _of_thread(lens, _threads(lens, root), thread)
    return Transcript(lens, root, installed.read(lens, root), document, thread=thread)


_NAMES_SHOWN = 10


def _threads(lens: Lens, root: Any) -> tuple[str, ...]:
    return tuple(lens.threads(root)) if isinstance(lens, Threads) else ()


def _of_thread(lens: Lens, known: Sequence[str], thread: str) -> Lens:
    """The lens of a conversation that is in the file, one of the known."""
    if isinstance(lens, Threads) and thread in known:
        return lens.of_thread(thread)
    more = f" and {len(known) - _NAMES_SHOWN} more" if len(known) > _NAMES_SHOWN else ""
    names = ", ".join(name[:80] for name in known[:_NAMES_SHOWN])
    raise InputError(
        f"there is no thread {thread[:80]!r}",
        code="input.thread_unknown",
        hint=f"threads: {names}{more}" if known else "the file has one conversation, without name",
    )


def _opened(source: str | FilePath | Bytes, name: str) -> tuple[Bytes, str]:
    if isinstance(source, str | FilePath):
        return of_path(FilePath(source)), name or str(source)
    return source, name or "<bytes>"


def _as_one_row(packed: PackedInput, lens: Lens | None) -> Document | None:
    """The input as JSON Lines with a single line, when a format knows it so."""
    try:
        row = packed.document(lines=True)
    except InputError:
        return None
    return row if len(row.root) == 1 and _recognised(row.root, lens) else None


def _recognised(root: Any, lens: Lens | None) -> bool:
    """Whether a root is of a format at all; a recording of one line looks like one JSON value."""
    return lens.recognises(root) if lens else installed.recognised(root)


_FIRST_ROWS = 200


def _detected(root: Any) -> Lens:
    """The lens of native data. Rows that are read on demand are told by the first of them."""
    if isinstance(root, LazyRows):
        try:
            return installed.detect(Rows(root[:_FIRST_ROWS]))
        except InputError:
            pass
    return installed.detect(root)


def detect(source: Any) -> str:
    """The name of the format of a path, of bytes, or of parsed native data.

    Raises:
        InputError: `input.format_unknown`, or as `load`.
    """
    if isinstance(source, bytes | str | FilePath):
        source = _document(source, "", None, strict=False).root
    return _detected(source).name
