"""Recordings of our own, and every request of them as sent: `golden/` (see its README)."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

import compactor
from compactor import Policy
from tests.golden_files import RECORDINGS, describe

POLICIES = {
    "anthropic": Policy(window=1400, keep_recent=4, counter="chars4", recallable=True),
    "openai-chat": Policy(window=1400, keep_recent=4, counter="chars4", counter_scale=1300),
    "claude-code": Policy(window=1400, keep_recent=4, counter="o200k_base", counter_scale=1000),
    "entries": Policy(window=900, keep_recent=2, counter="chars4", evidence_budget_tokens=0),
}
"""Recording, named as its format → the policy that it is replayed under."""


@pytest.mark.parametrize("name", POLICIES)
def test_every_request_of_a_recording(name: str, golden: SnapshotAssertion) -> None:
    path = next(RECORDINGS.glob(f"{name}.json*"))
    transcript = compactor.load(path)
    assert transcript.format == name
    assert describe(transcript, POLICIES[name]) == golden


def test_every_recording_is_replayed() -> None:
    assert sorted(path.stem for path in RECORDINGS.iterdir()) == sorted(POLICIES)
