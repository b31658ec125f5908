"""A file that remembers token counts between runs: digest → count, for each counter.

A counter's fingerprint pins its counts, so a remembered one is always right; the digest stands for
the text, which is not in the file. Several processes may use one file. It is only ever a help: what
cannot be opened, read or written is done without, and a damaged file is thrown away. Specification:
docs/replay.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compactor import counters

FOLDER: Final = "COMPACTOR_CACHE_DIR"
"""Environment variable: the folder of the file."""
NAME: Final = "tokens-1.sqlite"
BYTES_MAX: Final = 512 * 1024 * 1024
"""A larger file is begun anew."""
TEXT_CHARS_MIN: Final = 200
"""Shorter texts are counted sooner than they are found."""

_PENDING_MAX: Final = 5000
_WAIT_S: Final = 2.0
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS counts "
    "(digest BLOB PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID"
)


def default_path() -> Path | None:
    """Where the file is: `COMPACTOR_CACHE_DIR`, else the user's folder for such files, if any."""
    given = os.environ.get(FOLDER)
    if given:
        return Path(given) / NAME
    try:
        return _user_folder() / "compactor" / NAME
    except RuntimeError:  # the user has no home
        return None


def _user_folder() -> Path:
    """As each system has it."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"


@contextlib.contextmanager
def used(is_wanted: bool) -> Iterator[None]:
    """Count with the file behind the counters, where it is wanted.

    Whatever is wrong with the file, counts are the same.
    """
    path = default_path() if is_wanted else None
    if path is None:
        yield
        return
    store = TokenCache(path)
    with counters.remembering(store):
        try:
            yield
        finally:
            store.close()


class TokenCache:
    """One open file. Lookups cost a hash of the text and one search.

    Args:
        path: made with its folder where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new: dict[bytes, int] = {}
        self._file = self._opened()

    def get(self, counter: str, text: str) -> int | None:
        """The remembered count. counter: its fingerprint."""
        if self._file is None or len(text) < TEXT_CHARS_MIN:
            return None
        key = _key(counter, text)
        if key in self._new:
            return self._new[key]
        try:
            row = self._file.execute(
                "SELECT tokens FROM counts WHERE digest = ?", (key,)
            ).fetchone()
        except sqlite3.Error as error:
            self._fail(error)
            return None
        if row is None:
            return None
        tokens = _unsealed(key, row[0])
        if tokens is None:
            self._fail(sqlite3.DatabaseError("a count is not what was written"))
        return tokens

    def put(self, counter: str, text: str, tokens: int) -> None:
        """Remember a count; written in groups, and by `close`."""
        if self._file is None or len(text) < TEXT_CHARS_MIN:
            return
        self._new[_key(counter, text)] = tokens
        if len(self._new) >= _PENDING_MAX:
            self._write()

    def close(self) -> None:
        """Write what is new. Nothing is remembered any more."""
        self._write()
        self._shut()

    def _write(self) -> None:
        if self._file is None or not self._new:
            return
        try:
            with self._file:
                rows = [(key, _sealed(key, tokens)) for key, tokens in sorted(self._new.items())]
                self._file.executemany("INSERT OR IGNORE INTO counts VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            self._fail(error)
        self._new.clear()

    def _opened(self) -> sqlite3.Connection | None:
        """The file; a damaged or outgrown one is removed, once."""
        for is_last in (False, True):
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                if self._path.exists() and self._path.stat().st_size > BYTES_MAX:
                    self._remove()
                return self._connected()
            except sqlite3.Error as error:
                if is_last or not _is_damage(error):
                    return None
                self._remove()
            except OSError:
                return None
        return None

    def _connected(self) -> sqlite3.Connection:
        file = sqlite3.connect(self._path, timeout=_WAIT_S, check_same_thread=False)
        try:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = OFF")  # what a crash of the system damages is redone
            file.execute(_SCHEMA)
            file.execute("SELECT tokens FROM counts LIMIT 1").fetchone()
        except BaseException:
            file.close()
            raise
        return file

    def _fail(self, error: sqlite3.Error) -> None:
        """Do without from now on; a damaged file is made anew by the next."""
        self._shut()
        if _is_damage(error):
            self._remove()

    def _shut(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(sqlite3.Error):
                file.close()

    def _remove(self) -> None:
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{self._path}{end}")


def _is_damage(error: sqlite3.Error) -> bool:
    """Another process that writes, a full disk or a missing permission is no damage."""
    return not isinstance(error, sqlite3.OperationalError) or "no such column" in str(error)


def _sealed(key: bytes, tokens: int) -> int:
    """The count with a checksum below it: the file itself has none."""
    return tokens << 32 | zlib.crc32(b"%d" % tokens, zlib.crc32(key))


def _unsealed(key: bytes, value: object) -> int | None:
    if not isinstance(value, int) or value < 0:
        return None
    tokens = value >> 32
    return tokens if _sealed(key, tokens) == value else None


def _key(counter: str, text: str) -> bytes:
    """What stands for a text under a counter: 16 bytes."""
    data = text.encode("utf-8", "surrogatepass")
    name = counter.encode()
    return hashlib.blake2b(data, digest_size=16, key=hashlib.sha256(name).digest()).digest()
