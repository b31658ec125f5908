"""Every recording of `../shared/transcripts` that loads, in every target, where that folder is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compactor
from compactor import CompactorError, Transcript
from tests import convert_kit as kit

SHARED = Path(__file__).resolve().parents[2] / "shared" / "transcripts"
THREADS = 5
"""Conversations of one file that are looked at; some files hold hundreds of one kind."""


def recorded() -> Iterator[Any]:
    """Every file that is of a format we read."""
    for path in sorted(SHARED.rglob("*")):
        if path.is_file() and path.name != "INDEX.tsv" and _loads(path):
            yield pytest.param(path, id=f"{path.parent.name}/{path.stem}")


def _loads(path: Path) -> bool:
    try:
        compactor.detect(path)
    except CompactorError:
        return False
    return True


def conversations(path: Path) -> Iterator[Transcript]:
    first = compactor.load(path)
    yield first
    for name in first.threads[1:THREADS]:
        yield first.of_thread(name)


if SHARED.is_dir():

    @pytest.mark.parametrize("path", list(recorded()))
    def test_a_recording_is_converted_to_every_target(path: Path) -> None:
        for transcript in conversations(path):
            for target in kit.TARGETS:
                converted = compactor.convert(transcript, target, complete=True)
                kit.check_same(transcript.entries, converted)
                assert kit.problems(converted) == []
                kit.check_types(converted)

    def test_most_of_what_is_recorded_is_carried_without_a_word() -> None:
        """So that findings do not excuse everything."""
        kept = whole = 0
        for path in sorted((SHARED / "claude-code").iterdir()):
            transcript = compactor.load(path)
            converted = compactor.convert(transcript, "anthropic", complete=True)
            kept += kit.check_same(transcript.entries, converted)
            whole += len(transcript.entries)
        assert kept > whole * 9 // 10
