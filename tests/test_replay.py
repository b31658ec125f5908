"""Replay against a second simulator, and against what was measured elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from replay_kit import bench, lab
from strategies import conversations, policies

import compactor
from compactor import Policy
from compactor.replay.prompt import Shown
from compactor.replay.recording import Recording
from compactor.replay.results import Step
from compactor.replay.spelling import spelled
from compactor.replay.strategies import STRATEGIES
from compactor.testing import Conversation
from tests import replay_oracle as oracle
from tests.replay_requests import Piece, Sent, piece, sent, tokens

# Against the second simulator.


def priced(policy: Policy) -> Policy:
    return msgspec.structs.replace(policy, trigger="priced", read=100, write=1250)


def ideal(all_sent: list[Sent]) -> list[tuple[int, int, int]]:
    """(sent, cached, written) where all that any earlier request had is served."""
    return [(tokens(s.pieces), *oracle.prefix(all_sent[:k], s)) for k, s in enumerate(all_sent)]


@given(talk=conversations(("anthropic",)), policy=policies())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_our_policies_are_replayed_as_whole_requests_would_be(
    talk: Conversation, policy: Policy
) -> None:
    recording = compactor.load(talk.anthropic())
    plain = msgspec.structs.replace(policy, counter="chars4", counter_scale=1000)
    for ours in (plain, priced(plain)):
        made = bench(talk, ours).replay(ours)
        found = [(row.tokens_sent, row.cached, row.written) for row in made.rows]
        all_sent = sent(recording, compactor.Policy(**msgspec.structs.asdict(ours)))
        assert found == ideal(all_sent)
        assert [row.passes for row in made.rows] == [one.passes for one in all_sent]
        assert made.breaks == made.passes == sum(oracle.breaks(all_sent))


@pytest.mark.parametrize("width", [1, 12, 25])
def test_breakpoints_reach_back_over_wide_turns_as_by_rendering(width: int) -> None:
    talk = Conversation(system="s" * 6000).user("go")
    for k in range(12):
        calls = [compactor.testing.ToolCall("bash", {"n": i}, f"{k} " * 150) for i in range(width)]
        talk.parallel(calls)
    policy = Policy(window=1500 + 1000 * width, counter="chars4", keep_recent=2 * width)
    made = bench(talk, policy, "anthropic").replay(policy)
    whole = compactor.Policy(**msgspec.structs.asdict(policy))
    all_sent = sent(compactor.load(talk.anthropic()), whole)
    serve = oracle.anthropic(lambda _model: 1024, 5 * oracle.MINUTE)
    found = [(row.cached, row.written) for row in made.rows]
    assert found == [serve(all_sent[:k], now) for k, now in enumerate(all_sent)]
    assert made.passes > 0


def shown_again(recording: Recording, steps: Iterator[Step]) -> list[Sent]:
    """Requests rendered anew from what a strategy said."""
    now: dict[int, Shown] = {}
    first = Piece("overhead", recording.overhead, "overhead", 1, 0)
    found = []
    for asked, step in zip(recording.requests, steps, strict=True):
        now |= {seq: shown for seq, shown in step.changes.items() if shown is not None}
        whole = [
            piece(entry, None)
            if seq not in now
            else Piece(f"{seq} {now[seq].text}", now[seq].tokens, entry.kind, 1, 0)
            for seq, entry in enumerate(recording.entries[: asked.n])
            if seq not in now or now[seq].text
        ]
        found.append(Sent((first, *whole), None, "", 0, step.passes))
    return found


NAMED = (
    "none", "mask:last=4", "mask:last=4,polling=5", "clear-tool-uses:trigger=3000",
    "langchain-clear-tool-uses:trigger=3000", "staircase", "sliding:messages=6",
    "pydantic-harness:max_tokens=3000", "opencode-prune:protect=900,minimum=300",
    "gemini-cli-mask:protect=1000,minimum=500", "inspect-edit:threshold=3000",
    "inspect-trim:threshold=3000,preserve=60", "maf-tool-results", "maf-sliding:groups=8",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_strategies_are_replayed_as_whole_requests_would_be(name: str) -> None:
    talk = Conversation(system="s" * 400)
    for turn in range(5):
        talk.user(f"turn {turn}")
        for k in range(4):
            lines = "".join(f"{turn} {k} line {i}\n" for i in range(20 + 30 * k))
            talk.call("read" if k % 2 else "bash", {"n": k}, result=lines)
        talk.assistant(f"done {turn}")
    work = bench(talk, Policy(window=10_000, counter="chars4"))
    given = spelled(name)
    all_sent = shown_again(work.recording, STRATEGIES[given.name](work.recording, given))
    made = work.replay(name)
    found = [(row.tokens_sent, row.cached, row.written) for row in made.rows]
    assert found == ideal(all_sent)
    assert made.breaks == sum(oracle.breaks(all_sent))
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
