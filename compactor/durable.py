"""Files that survive a crash and other processes: locked, written durably, replaced atomically.

Only plain `OSError`s leave this module; who calls knows what the file is and says so. A write
either reaches the disk or leaves the file as it was. Temporary names are not to be guessed, and
nothing is written through one that is already there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

import portalocker

_POLL_S = 0.02
_BINARY = getattr(os, "O_BINARY", 0)


def open_locked(path: Path, wait_s: float, *, create: bool, readonly: bool) -> FileIO | None:
    """A file, unbuffered and locked until it is closed.

    Args:
        path: of a regular file.
        wait_s: how long another process may hold it.
        create: make it when it is missing.
        readonly: share the lock with other readers, where the system can.

    Returns:
        the file, or None when it is missing and not to be made.

    Raises:
        BlockingIOError: another process held it all the time.
        OSError: it cannot be opened, or is no regular file.
    """
    deadline = time.monotonic() + wait_s
    while True:
        file = _opened(path, create=create, readonly=readonly)
        if file is None:
            return None
        try:
            _lock(file, deadline, shared=readonly and os.name == "posix")
            if _is_at(file, path):
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # it was moved or removed while we waited: look again


def write_at(file: FileIO, start: int, data: bytes) -> None:
    """Make `data` the end of the file from `start` on, durably.

    Raises:
        OSError: nothing is behind `start` then.
    """
    try:
        file.truncate(start)
        file.seek(start)
        _write_all(file, data)
    except BaseException:
        with contextlib.suppress(OSError):
            file.truncate(start)
        raise


def copy_aside(file: FileIO, path: Path) -> Path:
    """A durable copy of an open file, with its mode, under the first free name `FILE.old-N`.

    Raises:
        OSError: there is no copy then.
    """
    mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    number = 1
    while True:
        aside = path.with_name(f"{path.name}.old-{number}")
        try:
            copy = _new_file(aside, mode)
            break
        except FileExistsError:
            number += 1
    try:
        with copy:
            file.seek(0)
            _write_all(copy, file.readall())
    except BaseException:
        aside.unlink()
        raise
    sync_folder(path.parent)
    return aside


def replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Put other bytes in a file's place at once: readers see the old or the new, never a part.

    The file keeps its mode; a link stays a link; a device or a pipe is written to as it is.

    Args:
        pieces: of the new bytes, written one after the other.

    Raises:
        OSError: the file is as it was then.
    """
    known = _known(path)
    if known is not None and not stat.S_ISREG(known.st_mode):
        with path.open("wb") as device:
            device.writelines(pieces)
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with _new_file(temporary, 0o666) as file:
            for piece in pieces:
                _write(file, piece)
            os.fsync(file.fileno())
        if known is not None:
            temporary.chmod(stat.S_IMODE(known.st_mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def check_replaceable(path: Path) -> None:
    """Whether `replace_file` could write there, as far as can be told without writing.

    Raises:
        OSError: a folder stands there or the folder is missing, or we may not write.
    """
    known = _known(path)
    if known is not None and stat.S_ISDIR(known.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if known is None or stat.S_ISREG(known.st_mode):  # a file is replaced: its folder is written to
        path = Path(os.path.realpath(path)).parent
        if not stat.S_ISDIR(path.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder durable. Only POSIX lets a folder be synced."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _known(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _opened(path: Path, *, create: bool, readonly: bool) -> FileIO | None:
    known = _known(path)
    if known is not None and not stat.S_ISREG(known.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")  # opening a pipe would hang
    if create:
        return FileIO(os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o666), "r+b")
    return FileIO(path, "rb" if readonly else "r+b") if known is not None else None


def _lock(file: FileIO, deadline: float, *, shared: bool) -> None:
    flags = portalocker.LockFlags
    kind = (flags.SHARED if shared else flags.EXCLUSIVE) | flags.NON_BLOCKING
    while True:
        try:
            portalocker.lock(file, kind)
            return
        except portalocker.LockException as error:
            if time.monotonic() >= deadline:
                raise BlockingIOError(errno.EAGAIN, "another process has it locked") from error
            time.sleep(_POLL_S)


def _is_at(file: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _new_file(path: Path, mode: int) -> FileIO:
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode), "wb")


def _write_all(file: FileIO, data: bytes) -> None:
    """All of it, on the disk. A write may be short where the disk is nearly full."""
    _write(file, data)
    os.fsync(file.fileno())


def _write(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
