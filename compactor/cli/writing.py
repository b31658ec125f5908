"""Files that commands write: which are one and the same, whether it can be done, doing it.

All is checked before the work begins, so that nothing is worked out that then cannot be kept. Paths
are replaced at once, see `durable`; a URL goes to its file system.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from compactor.core.errors import CompactorError
from compactor.durable import check_replaceable, replace_file
from compactor.replay.remote import file_system, is_url, write_bytes

STDOUT = "-"

Identity = tuple[int, int] | str


def identity(path: str | None) -> Identity | None:
    """What two spellings of one file have in common; None where there is nothing to destroy."""
    if path is None or path == STDOUT:
        return None
    if is_url(path):
        return path
    try:
        known = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    return (known.st_dev, known.st_ino) if stat.S_ISREG(known.st_mode) else None


def check_writable(path: str) -> None:
    """Whether a file could be written, as far as can be told without writing.

    Raises:
        CompactorError: `output.unwritable`; `input.unreadable`: a URL of no known file system;
            `policy.not_installed`.
    """
    if is_url(path):
        file_system(path)
        return
    try:
        check_replaceable(Path(path))
    except (OSError, ValueError) as error:
        raise _unwritable(path, error, hint="nothing was written") from error


def write_file(path: str, pieces: Iterable[bytes]) -> None:
    """A file in the place of what is there. pieces: of its bytes.

    Raises:
        CompactorError: `output.unwritable`.
    """
    if is_url(path):
        write_bytes(path, b"".join(pieces))
        return
    try:
        replace_file(Path(path), pieces)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: str, error: Exception, hint: str = "") -> CompactorError:
    reason = getattr(error, "strerror", None) or error
    return CompactorError(
        f"cannot be written: {reason}", code="output.unwritable", path=path, hint=hint
    )
