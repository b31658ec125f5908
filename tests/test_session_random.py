"""Whatever a harness does, where it is stopped and goes on makes no difference to what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session_kit import FORMATS, KINDS, Pair

SEEDS = range(3)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_is_taken_up_again_anywhere_sends_the_same_bytes(
    kind: str, name: str, tmp_path: Path
) -> None:
    passes = 0
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        pair = Pair(folder, name, KINDS[kind], seed)
        pair.run()
        passes += pair.passes
    assert passes


@pytest.mark.parametrize("seed", [1083, 1108, 1149])
def test_what_went_wrong_once_goes_well(seed: int, tmp_path: Path) -> None:
    """Entries that were lost and came back under other seqs; a result edited before a re-read."""
    Pair(tmp_path, "bedrock", KINDS["told, edits"], seed).run()
