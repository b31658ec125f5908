"""The context file on the disk: private, replaced whole, never read through a link.

It holds a whole conversation, so its directory is 0700 and it is 0600, made anew by rename at every
write; whatever was put in its place (a link, a FIFO, a directory, somebody else's file) is replaced
and not read, in the place of the directory too. What holds on Windows, which lacks some of these
calls, is said in docs/editing.md. Specification: DESIGN section 8, seed 004.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from compactor.core.errors import EditError, StoreError

NAME = "context.txt"
MOST = 64 * 1024 * 1024
"""Bytes of a file that is read back."""
_ELSE = "something else stands in its place"
_WHY = {errno.ENOENT: "it is gone", errno.ELOOP: _ELSE, errno.ENXIO: _ELSE}
"""What an error of the system means here: a link is not followed, a socket not opened."""
_OURS = f".{NAME}."
"""What our own names beside it begin with."""
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_HAS_DIR_FD = os.open in os.supports_dir_fd


def new_folder(parent: str | None) -> str:
    """A directory for one session, for its owner only."""
    try:
        return tempfile.mkdtemp(prefix="context-", dir=parent)
    except OSError as error:
        raise _unwritable(parent or tempfile.gettempdir(), error) from error


def path_in(folder: str) -> str:
    """Where the file lies."""
    return str(Path(folder) / NAME)


def write(folder: str, text: str) -> str:
    """Put the file there anew.

    Returns:
        its path.

    Raises:
        StoreError: `store.unwritable`.
    """
    path = path_in(folder)
    data = text.encode("utf-8", "surrogatepass")
    try:
        _make(folder)
        with _opened(folder) as place:
            place.put(data)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def read(folder: str) -> str:
    """What the file holds now.

    Raises:
        EditError: `edit.damaged_header` when it is not our file any more, or no text.
    """
    try:
        with _opened(folder) as place:
            handle = place.open(NAME, os.O_RDONLY | _NOFOLLOW | _NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                facts = os.fstat(file.fileno())
                if not stat.S_ISREG(facts.st_mode) or not _is_ours(facts) or facts.st_nlink > 1:
                    raise _not_ours(_ELSE)
                if facts.st_size > MOST:
                    raise _not_ours(f"it has more than {MOST} bytes")
                data = file.read(MOST + 1)
    except OSError as error:
        raise _not_ours(_WHY.get(error.errno or 0, error.strerror or str(error))) from error
    if len(data) > MOST:
        raise _not_ours(f"it has more than {MOST} bytes")
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise _not_ours("it is not in UTF-8") from error


def digest(text: str) -> str:
    """What a file's text is known by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def exists(folder: str) -> bool:
    """Whether anything lies in the file's place."""
    return os.path.lexists(path_in(folder))


def modes(folder: str) -> tuple[int, int]:
    """Permissions of the file and of its directory."""
    file, directory = os.lstat(Path(folder) / NAME), os.lstat(folder)
    return stat.S_IMODE(file.st_mode), stat.S_IMODE(directory.st_mode)


def remove(folder: str) -> None:
    """Remove the directory with the file and all that a tool made beside it, if it is ours."""
    with suppress(OSError), _opened(folder) as place:
        place.clear()
        os.rmdir(folder)


class _Place:
    """The directory, held open so that a path put in its place leads nowhere."""

    def __init__(self, folder: str, handle: int | None) -> None:
        self._folder = folder
        self._handle = handle

    def open(self, name: str, flags: int) -> int:
        return os.open(self._at(name), flags, 0o600, dir_fd=self._handle)

    def put(self, data: bytes) -> None:
        """Put the file there, whole or not at all."""
        temporary, aside = _own_name(), _own_name()
        handle = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW)
        try:
            with os.fdopen(handle, "wb") as file:
                _set_private(handle, 0o600)
                file.write(data)
            if self._is_directory(NAME):  # a rename replaces everything else
                self._rename(NAME, aside)
                self._remove(aside)
            self._rename(temporary, NAME)
        except BaseException:
            self._remove(temporary)
            raise

    def clear(self) -> None:
        """Remove everything."""
        for name in os.listdir(self._folder if self._handle is None else self._handle):
            self._remove(name)

    def _remove(self, name: str) -> None:
        """Remove what lies there, however deep, as far as it can be."""
        waiting = [name]
        while waiting:
            name = waiting.pop()
            with suppress(OSError):
                if self._is_directory(name):
                    waiting += self._taken_apart(name)
                else:
                    os.unlink(self._at(name), dir_fd=self._handle)

    def _taken_apart(self, name: str) -> list[str]:
        """Remove a folder; what is in it is put beside it, under the names that are given back."""
        if self._handle is None:
            shutil.rmtree(self._at(name))
            return []
        inside = os.open(name, os.O_RDONLY | _DIRECTORY | _NOFOLLOW, dir_fd=self._handle)
        try:
            moved = {entry: _own_name() for entry in os.listdir(inside)}
            for entry, own in moved.items():
                os.rename(entry, own, src_dir_fd=inside, dst_dir_fd=self._handle)
        finally:
            os.close(inside)
        os.rmdir(name, dir_fd=self._handle)
        return list(moved.values())

    def _rename(self, old: str, new: str) -> None:
        os.replace(self._at(old), self._at(new), src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def _is_directory(self, name: str) -> bool:
        try:
            facts = os.stat(self._at(name), dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return stat.S_ISDIR(facts.st_mode)

    def _at(self, name: str) -> str:
        return name if self._handle is not None else str(Path(self._folder) / name)


def _own_name() -> str:
    """A name that nobody can have put something at."""
    return f"{_OURS}{secrets.token_hex(8)}"


def _make(folder: str) -> None:
    """The directory, if it is lost; what of ours stands in its place goes."""
    with suppress(FileNotFoundError):
        facts = os.lstat(folder)
        if not stat.S_ISDIR(facts.st_mode) and _is_ours(facts):
            os.unlink(folder)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)


@contextmanager
def _opened(folder: str) -> Iterator[_Place]:
    """The directory, if it is one of ours."""
    facts = os.lstat(folder)
    if not stat.S_ISDIR(facts.st_mode) or not _is_ours(facts):
        raise PermissionError(1, "its directory is not ours", folder)
    if not _HAS_DIR_FD:
        yield _Place(folder, None)
        return
    handle = os.open(folder, os.O_RDONLY | _DIRECTORY | _NOFOLLOW)
    try:
        if not _is_ours(os.fstat(handle)):
            raise PermissionError(1, "its directory is not ours", folder)
        _set_private(handle, 0o700)
        yield _Place(folder, handle)
    finally:
        os.close(handle)


def _set_private(handle: int, mode: int) -> None:
    """Permissions that no umask changes."""
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


def _is_ours(facts: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()


def _not_ours(why: str) -> EditError:
    return EditError(
        f"the context file cannot be read: {why}", code="edit.damaged_header", path="file"
    )


def _unwritable(path: str, error: OSError) -> StoreError:
    return StoreError(
        f"the context file cannot be written: {error.strerror or error}",
        code="store.unwritable",
        path=path,
        hint="give a folder that only this user can write to (context_dir)",
    )
