"""The oracle against the real thing: two programs written apart from one specification must agree.

The oracle (`tests/oracle.py`) knows the neutral shape alone, so its cases are also written in the
other formats, and worked off in steps with a journal. More cases than the default run has:

    python -m tests.test_differential SEED COUNT
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

import compactor
from compactor import Journal, Outcome, Transcript
from compactor.core.policy import policy_from
from compactor.formats import lens
from compactor.formats.entries import to_neutral
from compactor.testing import Conversation, Fact, ToolCall
from tests.harness import WAYS, as_text
from tests.oracle import generate, run

Entry = dict[str, Any]

NUMBERS = (
    *("tokens_before", "tokens_after", "tier", "cutoff", "pressed", "overflow", "why", "threshold"),
)
OTHERS = ("anthropic", "openai-chat", "claude-code", "openai-responses", "gemini", "bedrock")
"""Formats that the oracle does not know."""


def ours(native: Any, format_name: str, policy: Entry, settings: Entry, **more: Any) -> Outcome:
    """What the program under test makes of a case."""
    settings = settings | more
    whole = policy | {"overheadTokens": settings.pop("overhead", 0)}
    if isinstance(native, bytes):
        native = compactor.load(native, format_name)
    chosen = policy_from(whole, "case")
    return compactor.compact(native, chosen, format=format_name, explain=True, **settings)


def differences(outcome: Outcome, expected: Entry, *ignored: str) -> Entry:
    """Where an outcome and the oracle's answer differ: name → (ours, the oracle's)."""
    shown = outcome.request
    native = shown.view() if isinstance(shown, Transcript) else shown
    view = to_neutral(lens(outcome.report.format).read(native).entries)
    got = {name: getattr(outcome.report, name) for name in NUMBERS}
    got["passes"] = list(outcome.report.passes)
    got["fates"] = [fate.fate for fate in outcome.fates]
    got["view"] = [_plain(entry, entry["text"]) for entry in view]
    wanted = {name: expected[name] for name in (*NUMBERS, "passes", "fates")}
    wanted["view"] = [_plain(entry, entry["text"]) for entry in expected["view"]]
    return {
        name: (got[name], wanted[name])
        for name in wanted
        if name not in ignored and got[name] != wanted[name]
    }


def _plain(entry: Entry, text: str) -> tuple[Any, ...]:
    """An entry as both sides can say it: the two join the texts of a turn in their own ways."""
    calls = tuple((call["id"], call["name"]) for call in entry.get("calls", ()))
    if entry["kind"] == "assistant":
        text = text.replace("\n", "")
    result = (entry.get("call"), entry.get("images", 0)) if entry["kind"] == "tool" else ()
    return entry["kind"], text, calls, result


def in_steps(rng: random.Random, case: tuple[list[Entry], Entry, Entry]) -> Iterator[Entry]:
    """Differences of each call of a conversation that is handed over in steps, with a journal."""
    entries, policy, settings = case
    refused = settings.pop("overflowed", False)
    counts = [n for n in range(len(entries) + 1) if not _splits_a_turn(entries, n)]
    counts = rng.sample(counts, min(len(counts), rng.choice([1, 3, 6, 99])))
    way = rng.choice(WAYS)
    journal, done = Journal(), list[Entry]()
    for count in [*sorted(counts), len(entries)]:
        part = entries[:count]
        if way != "same objects":
            part = json.loads(json.dumps(part))
        if way == "journal as text":
            journal = as_text(journal)
        overflowed = refused and rng.random() < 0.3
        expected = run(part, policy, passes=done, overflowed=overflowed, **settings)
        outcome = ours(part, "entries", policy, settings, journal=journal, overflowed=overflowed)
        # At an n that has its pass the oracle says `passed`; ours says what this call found.
        passed_here = bool(done) and done[-1]["entries"] == len(outcome.fates)
        yield differences(outcome, expected, *(["why"] if passed_here else []))
        journal, done = outcome.journal, done + expected["passes"]


def _splits_a_turn(entries: Sequence[Entry], count: int) -> bool:
    """Whether the entry behind a cut goes on with the one before it: then that one is another."""
    around = entries[max(count - 1, 0) : count + 1]
    return len(around) == 2 and all(entry["kind"] == "assistant" for entry in around)


def conversation(entries: Sequence[Entry]) -> Conversation:
    """The entries as facts, without arguments that are no object: not all formats have these."""
    talk = Conversation()
    for entry in entries:
        if entry["kind"] == "assistant":
            calls = [
                ToolCall(call["name"] or "unnamed", _object(call["arguments"]), None, id=call["id"])
                for call in entry["calls"]
            ]
            talk.parallel(calls, text=entry["text"])
        elif entry["kind"] == "tool":
            error, images = entry.get("error", False), entry.get("images", 0)
            talk.result(entry["call"], entry["text"], error=error, images=images)
        elif entry["kind"] == "user":
            talk.user(entry["text"])
        else:
            talk.system(entry["text"])
    return talk


def _object(arguments: str) -> Entry:
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def in_format(case: tuple[list[Entry], Entry, Entry], format_name: str) -> Entry | None:
    """Differences of a case written in a format; None where the format cannot express it."""
    entries, policy, settings = case
    talk = conversation(entries)
    if format_name not in talk.formats or not talk.facts:
        return None
    if format_name == "claude-code" and not _in_place(talk):
        return None
    if format_name in ("openai-chat", "openai-responses"):
        settings = settings | {"failed": [*settings.get("failed", ()), *talk.failed]}
    expected = run(talk.entries(), policy, **settings)
    return differences(ours(talk.write(format_name), format_name, policy, settings), expected)


def _in_place(talk: Conversation) -> bool:
    """Whether no result answers a turn before the last one: a session moves it up to its turn."""
    earlier, last = set[str](), set[str]()
    for before, fact in pairwise([Fact("user", ""), *talk.facts]):
        if fact.kind == "assistant" != before.kind:
            earlier, last = earlier | last, set()
        last |= {call.id for call in fact.calls}
        if fact.kind == "assistant" == before.kind or fact.call_id in earlier - last:
            return False
    return True


@pytest.mark.parametrize("seed", range(6))
def test_the_oracle_and_the_core_agree_on_whole_conversations(seed: int) -> None:
    for number in range(60):
        entries, policy, settings = generate(random.Random(f"whole {seed} {number}"))
        expected = run(entries, policy, **settings)
        found = differences(ours(entries, "entries", policy, settings), expected)
        assert found == {}, f"whole {seed} {number}"


@pytest.mark.parametrize("seed", range(6))
def test_the_oracle_and_the_core_agree_at_each_call_with_a_journal(seed: int) -> None:
    for number in range(20):
        rng = random.Random(f"steps {seed} {number}")
        for at, found in enumerate(in_steps(rng, generate(rng))):
            assert found == {}, f"steps {seed} {number} at call {at}"


@pytest.mark.parametrize("format_name", OTHERS)
def test_the_oracle_and_the_core_agree_in_every_format(format_name: str) -> None:
    compared = 0
    for number in range(150):
        case = generate(random.Random(f"formats {number}"))
        found = in_format(case, format_name)
        compared += found is not None
        assert not found, f"formats {number}"
    assert compared >= 40


def main(seed: int, count: int) -> None:
    """Print in how many of `count` cases something differs, and the first of each kind."""
    tally: Counter[str] = Counter()
    for number in range(seed, seed + count):
        rng = random.Random(number)
        case = generate(rng)
        entries, policy, settings = case
        whole = differences(
            ours(entries, "entries", policy, settings), run(entries, policy, **settings)
        )
        found = {"whole": whole} | {name: in_format(case, name) for name in OTHERS}
        found |= {f"step {at}": step for at, step in enumerate(in_steps(rng, case))}
        bad = {name: value for name, value in found.items() if value}
        tally.update(["different" if bad else "equal"])
        if bad and tally["different"] <= 3:
            sys.stdout.write(f"{number}: {str(bad)[:2000]}\n")
    sys.stdout.write(f"{dict(tally)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
