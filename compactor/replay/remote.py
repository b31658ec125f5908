"""Files of any file system that fsspec knows, by URL, and the packages of extras."""

from __future__ import annotations

import importlib
from pathlib import PurePosixPath
from typing import Any

from compactor.core.errors import CompactorError, InputError, PolicyError
from compactor.walk import NEVER


def package(name: str, extra: str = "ray") -> Any:
    """A package of an extra.

    Raises:
        PolicyError: `policy.not_installed`.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise PolicyError(
            f"this needs the package {name.partition('.')[0]}: {error}",
            code="policy.not_installed",
            hint=f"pip install 'transcript-compactor[{extra}]'",
        ) from error


def is_url(path: str) -> bool:
    """Whether a path is one for fsspec."""
    return "://" in path


def listed(url: str) -> list[tuple[str, int, bool]]:
    """The files of a URL: itself, or what `walk` would take of a folder.

    Returns:
        URL, size in bytes, whether it was named itself; in order. What cannot be looked at is given
        itself: who reads it says why.

    Raises:
        PolicyError: `policy.not_installed`.
    """
    try:
        files, root = file_system(url)
        if not files.isdir(root):
            return [(url, int(files.size(root) or 0), True)]
        found = files.find(root, detail=True)
    except PolicyError:
        raise
    except Exception:  # each file system has errors of its own
        return [(url, 0, True)]
    base = PurePosixPath(root)
    return [
        (files.unstrip_protocol(path), int(about.get("size") or 0), False)
        for path, about in sorted(found.items())
        if not NEVER.search(path)
        and not any(name.startswith(".") for name in PurePosixPath(path).relative_to(base).parts)
    ]


def read_bytes(url: str) -> bytes:
    """A file.

    Raises:
        InputError: `input.unreadable`.
    """
    files, path = file_system(url)
    try:
        return bytes(files.cat_file(path))
    except Exception as error:
        raise _unreadable(url, error) from error


def write_bytes(url: str, data: bytes) -> None:
    """A whole file, in the place of one that is there, its folder made where there are any.

    Raises:
        CompactorError: `output.unwritable`.
    """
    files, path = file_system(url)
    try:
        files.makedirs(files._parent(path), exist_ok=True)
        files.pipe_file(path, data)
    except Exception as error:
        raise CompactorError(
            f"cannot be written: {error}", code="output.unwritable", path=url
        ) from error


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and what the file is called on it.

    Raises:
        InputError: `input.unreadable`.
        PolicyError: `policy.not_installed`.
    """
    fsspec = package("fsspec")
    try:
        files, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # its protocol needs a package, or is none
        raise _unreadable(url, error) from error
    return files, path


def _unreadable(url: str, error: Exception) -> InputError:
    return InputError(f"cannot be read: {error}", code="input.unreadable", path=url)
