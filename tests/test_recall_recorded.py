"""Every recorded conversation in a store: what a marker names is what it stands for, byte for byte.

`python -m benchmarks.exact ../shared/transcripts` does the same over all files at several windows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import exact
from compactor.store import SqliteStore
from tests.conftest import SHARED

MOST_BYTES = 1_500_000
FILES = [
    path
    for path in sorted((SHARED / "transcripts").glob("*/*"))
    if path.is_file() and path.stat().st_size < MOST_BYTES
]
WITHOUT_RESULTS = ("aider", "specstory-md")
"""Folders of recordings that are no transcripts to us."""


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in FILES}))
def test_every_elided_body_comes_back_exactly_by_its_markers_own_text(
    folder: str, tmp_path: Path
) -> None:
    found, read = exact.NOTHING, 0
    with SqliteStore.open(tmp_path / "store") as store:
        for path in FILES:
            talks = exact.conversations(path) if path.parent.name == folder else ()
            for number, transcript in enumerate(talks):
                name, read = f"{path.name} {number}", read + 1
                found = found.and_also(exact.check(store, name, transcript, 6))
        assert store.verify() == []
    assert found.lost == ()
    assert (read == 0) == (folder in WITHOUT_RESULTS)
