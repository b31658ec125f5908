"""Replay against a second simulator, and against what was measured elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
import replay_naive as naive
from hypothesis import HealthCheck, given, settings
from replay_kit import bench, lab, rest
from strategies import conversations, policies

import compactor
from compactor import Policy
from compactor.replay.prompt import Shown
from compactor.replay.recording import Recording
from compactor.replay.results import Step
from compactor.replay.spelling import spelled
from compactor.replay.strategies import STRATEGIES
from compactor.testing import Conversation

# Against the second simulator.


def priced(policy: Policy) -> Policy:
    return msgspec.structs.replace(policy, trigger="priced", read=100, write=1250)


@given(talk=conversations(("anthropic",)), policy=policies())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_our_policies_are_replayed_as_whole_requests_would_be(
    talk: Conversation, policy: Policy
) -> None:
    for ours in (policy, priced(policy)):
        work = bench(talk, ours)
        measure, overhead = work.recording.measure, work.recording.overhead
        sent = naive.prompts(talk, compactor.Policy(**msgspec.structs.asdict(ours)), measure)
        made = work.replay(ours)
        found = [(row.tokens_sent, row.cached, row.written) for row in made.rows]
        assert found == naive.ideal(sent, overhead)
        assert made.breaks == made.passes == naive.breaks(sent)


MINUTES = [[0] * 40, [3] * 40, [1, 6] * 20, [4, 4, 9] * 14]


@pytest.mark.parametrize("minutes", MINUTES)
@pytest.mark.parametrize("width", [1, 12, 25])
def test_breakpoints_lookback_and_expiry_are_as_by_rendering(
    minutes: list[int], width: int
) -> None:
    talk = Conversation(system="s" * 6000).user("go")
    for k in range(12):
        calls = [compactor.testing.ToolCall("bash", {"n": i}, f"{k} " * 150) for i in range(width)]
        talk.parallel(calls)
    policy = Policy(window=1500 + 1000 * width, counter="chars4", keep_recent=2 * width)
    work = bench(talk, policy, "anthropic")
    work.recording = rest(work.recording, minutes)
    work._cold = [False] * len(work.recording.requests)
    sent = naive.prompts(talk, compactor.Policy(**msgspec.structs.asdict(policy)),
                         work.recording.measure)  # fmt: skip
    made = work.replay(policy)
    times = [asked.time_ms for asked in work.recording.requests]
    found = [(r.tokens_sent, r.cached, r.written, r.uncached) for r in made.rows]
    assert found == naive.anthropic(sent, work.recording.overhead, times)
    assert made.passes > 0


def shown_again(recording: Recording, steps: Iterator[Step]) -> list[naive.Prompt]:
    """Requests rendered anew from what a strategy said."""
    now: dict[int, Shown] = {}
    found = []
    for asked, step in zip(recording.requests, steps, strict=True):
        for seq, shown in step.changes.items():
            assert shown is not None
            now[seq] = shown
        whole = [
            naive.entered(entry, recording.measure)
            if seq not in now
            else naive.Entered(now[seq].text or "", now[seq].tokens, 1, entry.kind)
            for seq, entry in enumerate(recording.entries[: asked.n])
        ]
        found.append(tuple(each for each in whole if each.text))
    return found


NAMED = (
    "none", "mask:last=4", "mask:last=4,polling=5", "clear-tool-uses:trigger=3000",
    "langchain-clear-tool-uses:trigger=3000", "staircase", "sliding:messages=6",
    "pydantic-harness:max_tokens=3000", "opencode-prune:protect=900,minimum=300",
    "gemini-cli-mask:protect=1000,minimum=500",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_strategies_are_replayed_as_whole_requests_would_be(name: str) -> None:
    talk = Conversation(system="s" * 400)
    for turn in range(5):
        talk.user(f"turn {turn}")
        for k in range(4):
            lines = "".join(f"{turn} {k} line {i}\n" for i in range(20 + 30 * k))
            talk.call("read" if k % 2 else "bash", {"n": k}, result=lines)
        talk.assistant("done")
    work = bench(talk, Policy(window=10_000, counter="chars4"))
    given = spelled(name)
    sent = shown_again(work.recording, STRATEGIES[given.name](work.recording, given))
    made = work.replay(name)
    found = [(row.tokens_sent, row.cached, row.written) for row in made.rows]
    assert found == naive.ideal(sent, work.recording.overhead)
    assert made.breaks == naive.breaks(sent)
    assert (made.passes > 0) == (name != "none")


# Against what was measured with the frameworks themselves (frameworks study, section 1).

MEASURED = {
    "none": (0, 1.0),
    "langchain-clear-tool-uses:trigger=10000,keep=3": (21, 1.17),
    "langchain-clear-tool-uses:trigger=10000,keep=3,clear_at_least=5000": (1, 0.93),
    "mask:last=5": (25, 2.03),
    "mask:last=5,polling=10": (3, 0.90),
    "pydantic-harness:max_messages=20,keep_pairs=3": (3, 0.76),
    "sliding:messages=10": (26, 2.07),
}
"""Strategy → breaks in 30 requests, cost against none (in characters, without framing)."""


@pytest.mark.parametrize("name", MEASURED)
def test_breaks_and_costs_are_those_of_the_frameworks_themselves(name: str) -> None:
    breaks, cost = MEASURED[name]
    made = bench(lab(), Policy(window=200_000, counter="chars4")).replay(name)
    assert (made.requests, made.breaks) == (31, breaks)
    assert made.cost_to_none == pytest.approx(cost, abs=0.03)
