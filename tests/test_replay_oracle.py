"""Replay beside an oracle that shares nothing with it: every cache, row by row."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from replay_kit import RECORDED, said

import compactor
from compactor import Policy
from compactor.core.model import Usage
from compactor.models import find
from compactor.transcript import Transcript
from tests import replay_oracle as oracle
from tests.replay_requests import Sent, colds, requests, sent, tokens

MINUTE, DAY = oracle.MINUTE, oracle.DAY


def least(rule: str, usual: int) -> Callable[[str], int]:
    """The shortest cached prompt of a model with a cache rule."""

    def of(name: str) -> int:
        model = find(name) if name else None
        own = model.min_cache_tokens if model and model.cache_rule == rule else None
        return usual if own is None else own

    return of


CLAUDE = least("anthropic_breakpoints", 1024)
ORACLES: dict[str, tuple[Any, int]] = {
    "prefix": (oracle.prefix, 0),
    "anthropic": (oracle.anthropic(CLAUDE, 5 * MINUTE), 5 * MINUTE),
    "anthropic:ttl=1h": (oracle.anthropic(CLAUDE, 60 * MINUTE), 60 * MINUTE),
    "openai": (oracle.openai(), 30 * MINUTE),
    "openai-5.5": (oracle.stepped(2048, 1024, DAY), DAY),
    "openai-old": (oracle.stepped(128, 1024, DAY), DAY),
    "gemini": (oracle.stepped(4096, 4096, DAY, hidden=4096), DAY),
    "gemini:hidden=0": (oracle.stepped(4096, 4096, DAY), DAY),
    "deepseek": (oracle.deepseek, DAY),
    "blocks": (oracle.stepped(16, 16, 0, last=1), 0),
}
"""Cache → what it serves, how long it lives."""
MARKS_ONLY = ("anthropic", "openai", "deepseek")
RESTS = (
    *(1_000, 60_000, 299_999, 300_000, 300_001),
    *(29 * MINUTE, 30 * MINUTE, 61 * MINUTE, 25 * 60 * MINUTE),
)
MODELS = ("claude-sonnet-5", "claude-opus-4-6", "gpt-5.5")


def recorded(rng: random.Random) -> Transcript:
    """Such a conversation, often with times and models of its requests."""
    read = compactor.load(said(rng, rng.randrange(3, 25)).anthropic(), "anthropic")
    if rng.random() < 0.4:
        return read
    usage, time, model = [], rng.choice([0, 10**12]), rng.choice(MODELS)
    for asked in requests(read):
        time += rng.choice(RESTS) if time else 0
        model = rng.choice(MODELS) if rng.random() < 0.1 else model
        usage.append(Usage(asked.n, 1, model=model, time_ms=time))
    reading = msgspec.structs.replace(read.reading, usage=tuple(usage))
    return Transcript(read.lens, read.root, reading)


def policy_for(rng: random.Random) -> Policy:
    window = rng.choice([4000, 8000, 20000])
    ours = Policy(window=window, counter="chars4", counter_scale=1000)
    priced = {"trigger": "priced", "read": 100, "write": 1250, "min_freed": 50}
    return msgspec.structs.replace(ours, **rng.choice([{}, {}, {"enabled": False}, priced]))


def compare(recording: Transcript, policy: Policy, cache: str, rows: int = 10**6) -> list[Sent]:
    """Whether the first rows of a replay are what the oracle says; what was sent."""
    serve, life = ORACLES[cache]
    has_images = any(part.kind == "image" for entry in recording.entries for part in entry.parts)
    if policy.trigger == "priced" and has_images:  # its rule for images goes by the cache
        policy = msgspec.structs.replace(policy, trigger="threshold")
    elif policy.trigger == "priced" and cache.partition(":")[0] in MARKS_ONLY:
        policy = msgspec.structs.replace(policy, patience=500)  # looking ahead goes by it too
    made = compactor.replay(recording, policy, cache=cache).rows[:rows]
    all_sent = sent(recording, policy, None if cache == "prefix" else colds(recording, life))
    expected = [
        (tokens(now.pieces), *serve(all_sent[:k], now), broken)
        for k, (now, broken) in enumerate(zip(all_sent, oracle.breaks(all_sent), strict=True))
        if k < rows
    ]
    found = [(row.tokens_sent, row.cached, row.written, row.broken) for row in made]
    assert found == expected
    return all_sent


@pytest.mark.parametrize("cache", ORACLES)
def test_every_row_is_what_a_simulator_says_that_looks_through_everything(cache: str) -> None:
    rng, passes = random.Random(cache), 0
    for _ in range(40):
        recording, policy = recorded(rng), policy_for(rng)
        passes += sum(one.passes for one in compare(recording, policy, cache))
    assert passes > 25


if RECORDED.is_dir():
    SMALL = (
        *("codex/agentv-gpt54-short.jsonl", "claude-code/agentv-short.jsonl"),
        *("cline/sdk-session.json", "gemini-cli/sbridge-36calls.json"),
        *("swe-agent/ctf-web-igotid.traj", "opencode/sbridge-compaction-claude.json"),
    )

    @pytest.mark.parametrize("name", SMALL)
    def test_rows_of_real_sessions_are_what_that_simulator_says(name: str) -> None:
        recording = compactor.load(RECORDED / name)
        policy = Policy(window=12_000, counter="chars4", counter_scale=1000)
        for cache in ("prefix", "anthropic", "openai", "deepseek"):
            compare(recording, policy, cache, rows=40)
