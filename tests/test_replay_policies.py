"""Spellings of policies and caches, requests, regret, recommendations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from replay_kit import bench, lab

import compactor
from compactor import Policy
from compactor.core.errors import PolicyError
from compactor.core.model import Usage
from compactor.replay import Replay
from compactor.replay.caches import cache_of
from compactor.replay.own import NAMES
from compactor.replay.recommend import recommend
from compactor.replay.regret import identifiers
from compactor.replay.spelling import spelled
from compactor.replay.strategies import STRATEGIES
from compactor.testing import Conversation


@pytest.mark.parametrize("policy", [*STRATEGIES, *NAMES])
def test_every_number_of_a_replay_is_one(policy: str) -> None:
    talk = Conversation().user("go")
    for k in range(40):
        talk.call("bash", {"n": k}, result=f"line {k} of a log\n" * 900).user("on")
    made = bench(talk, Policy(window=40_000, counter="chars4")).replay(policy)
    assert made.passes or policy == "none"
    assert msgspec.convert(msgspec.to_builtins(made), Replay) == made


# Regret and recommendations.


def test_regret_counts_identifiers_whose_every_sight_was_elided() -> None:
    talk = Conversation().user("go")
    talk.call("bash", {"n": 1}, result="the token is deadbeef01 " + "x" * 4000)
    for k in range(6):
        talk.call("bash", {"n": k}, result="nothing here " * 50)
    talk.assistant("it was deadbeef01")
    talk.assistant("again deadbeef01").user("ok").assistant("deadbeef01 once more")
    work = bench(talk, Policy(window=200_000, counter="chars4"))
    assert work.replay("none").regret == 0
    made = work.replay("mask:last=2")
    # Used in two turns (adjacent ones are one); in the second the model's own words are in sight.
    assert made.regret == 0.5


def test_identifiers_are_words_as_programs_have_them() -> None:
    text = "plain words, snake_case camelCase deadbeef01 v1 src/core/fold.py 4711 HTTPServer_X"
    assert identifiers(text) == {"snake_case", "camelCase", "deadbeef01", "HTTPServer_X"}


def replayed(policy: str, cost: int, regret: float, overflow: int = 0) -> Replay:
    zero = dict.fromkeys(("requests", "tokens_sent", "cached", "written", "uncached"), 0)
    return Replay(policy=policy, format="", model="", cache="", window=None, cost_nano=cost,
                  cost_to_none=1.0, cost_to_optimum=None, breaks=0, passes=0,
                  overflow_requests=overflow, regret=regret, **zero)  # fmt: skip


def test_the_cheapest_that_fits_and_loses_little_is_recommended() -> None:
    found = recommend(
        [
            replayed("none", 100, 0.0, overflow=2),
            replayed("a", 50, 0.1),
            replayed("b", 70, 0.01),
            replayed("c", 80, 0.0),
        ]
    )
    assert [(choice.policy, choice.chosen, choice.why_not) for choice in found] == [
        ("none", False, "2 more requests over the window"),
        ("a", False, "regret 10.0% is over 3%"),
        ("b", True, ""),
        ("c", False, "costs more"),
    ]


# Spellings.


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("nothing", "policy.unknown_key"),
        ("mask:latest=5", "policy.unknown_key"),
        ("mask:last=five", "policy.range"),
        ("mask:last", "policy.syntax"),
        ("mask:last=1,last=2", "policy.syntax"),
        ("priced:keepRecnt=5", "policy.unknown_key"),
        ("priced:keepRecent=many", "policy.range"),
        ("priced:keepRecent=-3", "policy.range"),
        ("mask:last=-3", "policy.range"),
        ("missing.toml", "policy.unreadable"),
    ],
)
def test_a_wrong_policy_is_refused_in_words(text: str, code: str) -> None:
    with pytest.raises(PolicyError) as refused:
        bench(lab(3), Policy(window=1000)).replay(text)
    assert refused.value.code == code
    assert text in refused.value.path
    assert refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        *("cheap", "anthropic:life=5m", "anthropic:ttl=2h", "blocks:size=x", "blocks:size=0"),
        *("anthropic:size=3", "openai:placement=tail", "prefix:placement=tail", "gemini:min=-1"),
    ],
)
def test_a_wrong_cache_is_refused_in_words(text: str) -> None:
    with pytest.raises(PolicyError):
        cache_of(spelled(text), {})


def test_settings_are_spelled_as_in_the_config_file(tmp_path: Path) -> None:
    file = tmp_path / "compactor.toml"
    file.write_text('trigger = "priced"\nkeepRecent = 3\nwindow = 9_000\n')
    work = bench(lab(), Policy(window=200_000, counter="chars4"))
    from_file, from_text = work.replay(str(file)), work.replay("priced:keepRecent=3,window=9_000")
    assert from_file.rows == from_text.rows
    assert from_file.window == 9000
    assert work.replay("priced").rows != from_text.rows


def test_requests_are_the_recorded_ones_and_else_the_boundaries() -> None:
    transcript = compactor.load(lab(3).anthropic())
    made = compactor.replay(transcript, "none", window=1000)
    assert [row.entries for row in made.rows] == [1, 3, 5, 7]
    assert "requests_assumed" in [finding.code for finding in made.findings]
    transcript.reading.usage = (Usage(n=3, input=9), Usage(n=7, input=9))
    made = compactor.replay(transcript, "none", window=1000)
    assert [row.entries for row in made.rows] == [3, 7]
    assert "requests_assumed" not in [finding.code for finding in made.findings]


def test_what_changes_nothing_that_was_sent_is_no_pass() -> None:
    """A recording that begins late: its first request is over much that none had carried."""
    transcript = compactor.load(lab(30).anthropic())
    transcript.reading.usage = tuple(Usage(n=n, input=9) for n in (31, 33, 51, 61))
    policy = Policy(window=12_000, counter="chars4", keep_recent=4)
    made = compactor.replay(transcript, policy, cache="prefix")
    assert [(row.broken, row.passes > 0) for row in made.rows] == [
        (False, False), (False, False), (True, True), (True, True),
    ]  # fmt: skip
    assert made.rows[0].tokens_sent < 15 * 1000  # it was compacted all the same
    mask = compactor.replay(transcript, "mask:last=2", cache="prefix", window=12_000)
    assert [row.passes for row in mask.rows] == [int(row.broken) for row in mask.rows]


def answered_by(*models: str) -> Any:
    """A recording whose requests these models answered, a second apart."""
    transcript = compactor.load(lab(len(models) - 1).anthropic())
    transcript.reading.usage = tuple(
        Usage(n=2 * k + 1, input=9, model=model, time_ms=1 + 1000 * k)
        for k, model in enumerate(models)
    )
    transcript.reading.model = models[-1]
    return transcript


def test_each_request_has_prices_and_cache_of_the_model_that_answered_it() -> None:
    opus, sonnet = "claude-opus-4-8", "claude-sonnet-4-6"
    made = compactor.replay(answered_by(opus, opus, sonnet, opus), "none", cache="anthropic:min=0")
    sent = [row.tokens_sent for row in made.rows]
    assert [row.cached for row in made.rows] == [0, sent[0], 0, sent[1]]
    assert [row.cold for row in made.rows] == [False, False, True, False]
    assert [row.cost_nano for row in made.rows] == [
        sent[0] * 6250,
        sent[0] * 500 + (sent[1] - sent[0]) * 6250,
        sent[2] * 3750,
        sent[1] * 500 + (sent[3] - sent[1]) * 6250,
    ]


def test_without_one_the_cache_is_that_of_the_model_that_answered_most() -> None:
    transcript = answered_by(*["claude-opus-4-8"] * 3, "someone/else-7b")
    assert compactor.replay(transcript, "none").cache == "anthropic"
    made = compactor.replay(transcript, Policy(model="gpt-5.5", window=9_000, enabled=False))
    assert (made.cache, made.model) == ("openai-5.5", "gpt-5.5")
    assert not any(row.cold for row in made.rows)


def test_a_policy_without_a_window_is_refused_and_nothing_needs_none() -> None:
    transcript = compactor.load(lab(3).anthropic())
    assert compactor.replay(transcript, "none").window is None
    with pytest.raises(PolicyError) as refused:
        compactor.replay(transcript, "priced")
    assert refused.value.code == "policy.model_unknown"
