"""What the tests of the replay share: the study's agent, benches with flat prices."""

from __future__ import annotations

import itertools
from pathlib import Path

import compactor
from compactor import Policy
from compactor.replay import Bench
from compactor.replay.caches import CACHES
from compactor.replay.prices import USUAL, Tariff
from compactor.replay.recording import Recording
from compactor.testing import Conversation

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "transcripts"
IDEAL = CACHES["prefix"]
FLAT = Tariff((USUAL,))


def bench(talk: Conversation, policy: Policy, cache: str = "prefix") -> Bench:
    return Bench(compactor.load(talk.anthropic()), policy, cache=cache, prices=FLAT)


def lab(steps: int = 30) -> Conversation:
    """The agent of the frameworks study, section 1."""
    talk = Conversation(system="sys").user("go")
    for k in range(1, steps + 1):
        talk.call("read", {"i": k}, result=f"result {k} " + "x" * 4000, text=f"step {k}")
    return talk


def rest(recording: Recording, minutes: list[int]) -> Recording:
    """The recording with its requests so many minutes apart."""
    times = itertools.accumulate(minutes)
    pairs = zip(recording.requests, times, strict=False)
    asked = [each._replace(time_ms=1 + 60_000 * minute) for each, minute in pairs]
    return recording._replace(requests=asked)
