"""What the tests of the replay share: agents, benches with flat prices."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import compactor
from compactor import Policy
from compactor.replay import Bench
from compactor.replay.caches import CACHES
from compactor.replay.prices import USUAL, Tariff
from compactor.replay.recording import Recording
from compactor.testing import Conversation, ToolCall

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


def said(rng: random.Random, steps: int) -> Conversation:
    """A conversation of results of all sizes, wide turns, errors and pictures."""
    talk = Conversation(system="s" * rng.choice([0, 3000, 9000])).user("u" * rng.randrange(1, 3000))
    for k in range(steps):
        kind, size = rng.random(), rng.choice([0, 1, 3, 30, 200, 400])
        if kind < 0.6:
            talk.call("bash", {"n": k}, result=f"line {k} of it\n" * size, text="t" * (size % 7),
                      error=rng.random() < 0.15, images=int(rng.random() < 0.05))  # fmt: skip
        elif kind < 0.8:
            width = rng.randrange(1, 24 if rng.random() < 0.2 else 4)
            talk.parallel([ToolCall("read", {"path": f"{i}{k % 3}"}, f"{k} {i}\n" * size)
                           for i in range(width)])  # fmt: skip
        elif kind < 0.9:
            talk.user("more " * (size + 1))
        else:
            talk.assistant("said " * (size + 1))
    return talk


def rest(recording: Recording, minutes: list[int]) -> Recording:
    """The recording with its requests so many minutes apart."""
    times = itertools.accumulate(minutes)
    pairs = zip(recording.requests, times, strict=False)
    asked = [each._replace(time_ms=1 + 60_000 * minute) for each, minute in pairs]
    return recording._replace(requests=asked)
