"""Requests of our own recordings, edits and whole sessions, as `golden/` shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import compactor
from compactor import Policy
from compactor.core.texts import ArtifactId
from tests.golden_edits import describe_edits
from tests.golden_files import RECORDINGS, describe
from tests.golden_sessions import STORIES, describe_session

POLICIES = {
    "anthropic": Policy(window=1400, keep_recent=4, counter="chars4", recallable=True),
    "bedrock": Policy(window=700, counter="chars4"),
    "claude-code": Policy(window=1400, keep_recent=4, counter="o200k_base", counter_scale=1000),
    "cline": Policy(window=1500, keep_recent=4, counter="chars4", recallable=True),
    "codex": Policy(window=1500, keep_recent=4, counter="chars4", min_gain=100),
    "copilot-cli": Policy(window=1500, keep_recent=4, counter="chars4", evidence_tools=("view",)),
    "entries": Policy(window=900, keep_recent=2, counter="chars4", evidence_budget_tokens=0),
    "gemini": Policy(window=1500, keep_recent=4, counter="chars4", evidence_budget_tokens=0),
    "gemini-cli": Policy(
        window=1500, keep_recent=4, counter="chars4", recallable=True, elide_inputs=True
    ),
    "langchain": Policy(window=1500, keep_recent=4, counter="chars4", protected_tools=("grep",)),
    "openai-chat": Policy(window=1400, keep_recent=4, counter="chars4", counter_scale=1300),
    "openai-responses": Policy(window=1500, keep_recent=4, counter="chars4"),
    "opencode": Policy(window=3000, keep_recent=2, counter="chars4", trigger="priced"),
    "pi": Policy(window=1500, keep_recent=4, counter="chars4", pins=(4,)),
    "qwen-code": Policy(
        window=1500, keep_recent=4, counter="chars4",
        artifact_ids=(ArtifactId(prefix="order-", alphabet="0123456789", length=4),),
    ),
    "vercel-ai": Policy(window=1500, keep_recent=2, counter="chars4", reserve_tokens=600),
}  # fmt: skip
"""Recording, named as its format → the policy that it is replayed under."""


@pytest.mark.parametrize("name", POLICIES)
def test_every_request_of_a_recording(name: str, golden: SnapshotAssertion) -> None:
    path = next(RECORDINGS.glob(f"{name}.json*"))
    transcript = compactor.load(path)
    assert transcript.format == name
    assert describe(transcript, POLICIES[name]) == golden


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai-chat", "openai-responses"])
def test_edits_of_a_conversation(name: str, golden: SnapshotAssertion) -> None:
    assert describe_edits(name) == golden


@pytest.mark.parametrize("name", STORIES)
def test_a_session(name: str, golden: SnapshotAssertion, tmp_path: Path) -> None:
    told = describe_session(name, tmp_path / "held")
    assert told == golden
    assert describe_session(name, tmp_path / "reopened", reopens=True) == told


def test_every_recording_is_replayed() -> None:
    assert sorted(path.stem for path in RECORDINGS.iterdir()) == sorted(POLICIES)
