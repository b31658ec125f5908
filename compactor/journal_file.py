"""The journal on disk: JSON Lines, one lock, every line chained to the one before.

A line is `{"sum":"<16 hex>","record":{…}}`; `sum` covers the sum before it and the record's bytes,
so that a lost, changed or swapped line is noticed. A line counts once its newline is there: what a
crash left behind the last newline is dropped, reported and cut off by the next append. An append is
on the disk when it returns, or the file is as it was. Nothing is created before there is something
to write. Specification: DESIGN section 6, docs/journal.md.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, NoReturn, Self

from compactor.core.errors import Finding, JournalError
from compactor.core.journal import Journal, decode_record, encode_record
from compactor.core.records import AnyRecord
from compactor.durable import copy_aside, open_locked, sync_folder, write_at
from compactor.line_sum import SUM_CHARS, line_sum

LOCK_WAIT_S = 10.0
"""How long another process may hold the journal before we give up."""

_HEAD = b'{"sum":"'
_MIDDLE = b'","record":'
_RECORD_AT = len(_HEAD) + SUM_CHARS + len(_MIDDLE)


class JournalBegunError(JournalError):
    """Another process made the file between our `open` and our first `append`: open it again."""


class Lines(NamedTuple):
    """What a journal's bytes hold.

    sum: of the last record; "" when there is none.
    end: where the next line goes, in bytes.
    torn: bytes behind `end` that a crash left.
    """

    records: tuple[AnyRecord, ...]
    sum: str
    end: int
    torn: int


def read_lines(data: bytes, name: str) -> Lines:
    """The records of a journal's bytes. O(bytes).

    Args:
        data: the whole file.
        name: what errors call it.

    Raises:
        JournalError: `journal.damaged` with `name:line`.
    """
    lines = data.split(b"\n")
    tail = lines.pop()
    records, last = [], ""
    for number, line in enumerate(lines, 1):
        place = f"{name}:{number}"
        last, record = _read_line(line, last, place)
        records.append(decode_record(record, place))
    if tail and not _could_be_torn(tail, first=not records):
        raise _damaged("this is no line of a journal", f"{name}:{len(lines) + 1}")
    return Lines(tuple(records), last, len(data) - len(tail), len(tail))


def write_lines(records: Iterable[AnyRecord], last: str) -> tuple[bytes, str]:
    """The lines of records that follow a line with the sum `last`, and the new last sum."""
    lines = []
    for record in records:
        data = encode_record(record).encode("utf-8")
        last = line_sum(last, data)
        lines.append(b"".join((_HEAD, last.encode(), _MIDDLE, data, b"}\n")))
    return b"".join(lines), last


class JournalFile:
    """A journal file, locked for as long as it is open. Use it as a context manager.

    Attributes:
        path: of the file.
        journal: the records it holds.
        findings: `journal_torn`, `journal_restarted`, `journal_kept`.
    """

    def __init__(self, path: Path, file: FileIO | None, wait_s: float) -> None:
        self.path = path
        self.journal = Journal()
        self.findings: tuple[Finding, ...] = ()
        self._file = file
        self._wait_s = wait_s
        self._end = 0
        self._sum = ""
        self._afresh = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        readonly: bool = False,
        force: bool = False,
        wait_s: float | None = None,
    ) -> Self:
        """Lock a journal file and read it.

        Args:
            path: of the file. It is made by the first `append`, not here.
            create: a missing file is an empty journal; else an error.
            readonly: nothing will be appended; a lock shared with other readers will do.
            force: a damaged file is set aside by the next `append` instead of refused.
            wait_s: how long to wait for another process; None: `LOCK_WAIT_S`.

        Raises:
            JournalError: `store.locked`, `journal.damaged`, `journal.missing`,
                `journal.unreadable`.
        """
        path = Path(path)
        wait_s = LOCK_WAIT_S if wait_s is None else wait_s
        try:
            file = open_locked(path, wait_s, create=False, readonly=readonly)
        except OSError as error:
            _fail(error, path, "opened", "journal.unreadable")
        if file is None and not create:
            raise JournalError(
                "there is no such journal",
                code="journal.missing",
                path=str(path),
                hint="name the file that `compactor compact --journal` made, or leave it out",
            )
        journal_file = cls(path, file, wait_s)
        try:
            journal_file._read(force=force)
        except BaseException:
            journal_file.close()
            raise
        return journal_file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up the lock."""
        if self._file is not None:
            self._file.close()

    def start_afresh(self, reason: str) -> None:
        """Go on with an empty journal; the next `append` keeps the old file as `FILE.old-N`.

        Args:
            reason: one sentence for the finding.
        """
        self.journal = Journal()
        self.findings = (Finding("journal_restarted", reason, str(self.path)),)
        self._sum = ""
        self._afresh = True

    def append(self, records: Iterable[AnyRecord]) -> None:
        """Add records: one write, on the disk when this returns. No records, no write.

        Raises:
            JournalError: `journal.unwritable`: the file is as it was. `store.locked`.
            JournalBegunError: another process has begun this journal meanwhile.
        """
        records = tuple(records)
        if not records:
            return
        data, last = write_lines(records, self._sum)
        try:
            self._write(data)
        except OSError as error:
            _fail(error, self.path, "written", "journal.unwritable")
        self._sum = last
        self.journal = Journal(self.journal.records + records)

    def _read(self, *, force: bool) -> None:
        if self._file is None:
            return
        name = str(self.path)
        try:
            lines = read_lines(self._file.readall(), name)
        except OSError as error:
            _fail(error, self.path, "read", "journal.unreadable")
        except JournalError as error:
            if not force:
                raise
            self.start_afresh(f"the journal could not be used: {error.message}")
            return
        self.journal = Journal(lines.records)
        self._end, self._sum = lines.end, lines.sum
        if lines.torn:
            text = f"the last line was written only in part; its {lines.torn} bytes are left out"
            place = f"{name}:{len(lines.records) + 1}"
            self.findings = (Finding("journal_torn", text, place),)

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._write_first(data)
        elif self._afresh:
            self._write_afresh(self._file, data)
        else:
            write_at(self._file, self._end, data)
        self._end += len(data)

    def _write_first(self, data: bytes) -> FileIO:
        """Make the file. One that another process has begun meanwhile is left alone."""
        file = open_locked(self.path, self._wait_s, create=True, readonly=False)
        assert file is not None  # it is made when it is missing
        if os.fstat(file.fileno()).st_size:
            file.close()
            raise JournalBegunError(
                "another process has begun this journal meanwhile",
                code="store.locked",
                path=str(self.path),
                hint="open it again",
            )
        try:
            write_at(file, 0, data)
            sync_folder(self.path.parent)
        except BaseException:
            file.close()
            with contextlib.suppress(OSError):
                self.path.unlink()
            raise
        return file

    def _write_afresh(self, file: FileIO, data: bytes) -> None:
        """Copy the old file aside, then write over it: the lock stays on the one file."""
        aside = copy_aside(file, self.path)
        try:
            write_at(file, 0, data)
        except BaseException:
            write_at(file, 0, aside.read_bytes())
            aside.unlink()
            raise
        kept = Finding("journal_kept", f"the old journal is kept as {aside.name}", str(aside))
        self.findings += (kept,)
        self._end, self._afresh = 0, False


def _read_line(line: bytes, last: str, place: str) -> tuple[str, bytes]:
    """A line's sum and its record's bytes."""
    given, record = line[len(_HEAD) : len(_HEAD) + SUM_CHARS], line[_RECORD_AT:-1]
    if line != b"".join((_HEAD, given, _MIDDLE, record, b"}")):
        raise _damaged("this is no line of a journal", place)
    if given != line_sum(last, record).encode():
        raise _damaged("the checksum is not that of this line and those before it", place)
    return given.decode(), record


def _could_be_torn(tail: bytes, *, first: bool) -> bool:
    """Whether bytes without a newline are the start of a line of ours.

    Some file systems show zeros where a crash lost what was written. Anything else may be a file
    of the user's, and the next append would cut it off.
    """
    start = tail.rstrip(b"\0")[: len(_HEAD)]
    return _HEAD.startswith(start) and bool(start or not first)


def _damaged(message: str, place: str) -> JournalError:
    return JournalError(
        message,
        code="journal.damaged",
        path=place,
        hint="restore the journal from a copy, or start afresh with --force",
    )


def _fail(error: OSError, path: Path, verb: str, code: str) -> NoReturn:
    """An error of the system as ours."""
    problem = str(error.strerror or error)
    if isinstance(error, BlockingIOError):
        raise JournalError(
            problem,
            code="store.locked",
            path=str(path),
            hint="wait for it to end; network drives that cannot lock are no place for a journal",
        ) from error
    raise JournalError(
        f"the journal cannot be {verb}: {problem}",
        code=code,
        path=str(path),
        hint="it needs a regular file of its own that can be read and written",
    ) from error
