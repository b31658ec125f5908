"""Which files are meant by the paths that a person names: files as they are, folders walked.

In a folder all files count but hidden ones, links to folders, and kinds that are never a
transcript; in the order of their names, the same on every machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

NEVER: Final = re.compile(
    r"""\.(?:
      # what programs are made of, and what tells of them
      py|pyc|pyi|ipynb|[cm]?js|jsx|tsx?|map|css|scss|less|html?|xml|svg|rs|go|java|kt|c|h|cc|cpp|hpp
    | cs|rb|php|pl|lua|swift|sh|bash|zsh|fish|ps1|bat|sql|toml|ini|cfg|conf|ya?ml|lock|csv|tsv|rst
    | tex|diff|patch
      # pictures, sound, type, documents
    | png|jpe?g|gif|webp|bmp|ico|tiff?|avif|heic|psd|mp[34]|m4a|wav|ogg|flac|mov|avi|mkv|webm
    | ttf|otf|woff2?|eot|pdf|docx?|xlsx?|pptx?
      # programs, packages, data of programs
    | exe|dll|so|dylib|a|o|lib|class|jar|wasm|whl|egg|deb|rpm|dmg|iso|img|bin|tar|tgz|bz2|xz|7z|rar
    | db|sqlite3?|parquet|arrow|np[yz]|pkl|pt|safetensors|gguf|pem|key|crt|tmp|swp|bak|journal
    )\Z""",
    re.VERBOSE | re.IGNORECASE,
)
"""Ends of names that are left out of folders. A file that is named is always read."""


class Found(NamedTuple):
    """A file.

    named: a person named it, not the folder it is in.
    """

    path: Path
    size_bytes: int
    named: bool


def files(paths: Iterable[str | Path]) -> Iterator[Found]:
    """All files of these paths, each once, in order. What is missing is given as a named file."""
    seen: set[tuple[int, int]] = set()
    for path in map(Path, paths):
        for found in _below(path) if os.path.isdir(path) else [Found(path, _size(path), True)]:
            same = _identity(found.path)
            if same is None or same not in seen:
                yield found
            if same is not None:
                seen.add(same)


def _below(folder: Path) -> Iterator[Found]:
    """The files of a folder and of those in it; a folder that cannot be read is given itself."""
    folders = [folder]
    while folders:
        here = folders.pop()
        try:
            inside = sorted(os.scandir(here), key=lambda each: each.name)
        except OSError:
            yield Found(here, 0, here == folder)
            continue
        shown = [each for each in inside if not each.name.startswith(".")]
        yield from (
            Found(Path(each.path), _size(each), False)
            for each in shown
            if _is_file(each) and not NEVER.search(each.name)
        )
        folders += [
            Path(each.path) for each in reversed(shown) if each.is_dir(follow_symlinks=False)
        ]


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Not so are links that lead nowhere, or in a circle, of which the system says an error."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _size(entry: Path | os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except (OSError, ValueError):
        return 0


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        known = path.stat()
    except (OSError, ValueError):
        return None
    return known.st_dev, known.st_ino
