"""Random transcripts and policies for the oracle and for what it is compared with.

Every irregularity of the pure pass comes up now and then, none of it in every case. All settings
are in range, and no tool is one that reads files (the oracle has no file table).
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

Entry = dict[str, Any]

NAMES = (
    *("bash", "bash", "bash", "scan_sinks", "scan_sinks", "record_finding", "trace_callers"),
    *("mcp__x__scan_sinks", "note", "mcp__a__b__note", "recall", "recall", "mcp__locac__recall"),
    *("wéird näme!", "💥?", "", "n" * 70, "a.b/c:d@e-f", "__", "scan_sinks__x", "unknown"),
)
ARGUMENTS = (
    *("{}", "{}", "{}", "", "not json", "[1, 2]", '{"a":NaN}', '{"k": "é", "k": {}}'),
    '{ "a" : [1, 2.50, -0, 1E3, true, null] }',
    r'{"cmd":"ls \u0041\/\n\t\u0007 \ud83d x \ud83d\ude00"}',
    '{"cmd": "' + "y" * 300 + '"}',
)
CITED = (
    *("ev_3a91f0c2", "ev_5b0d77ae", "xev_3a91f0c2", "ev_3a91f0c2a", "_ev_00000001", "ev_00000002_"),
    *("ev_0000000", "ev_ABCDEF01", "éev_0a0a0a0aé", "ev_11111111ev_22222222", "-ev_33333333-"),
    *(f"ev_{n:08x}" for n in range(12)),
    *(f"job-{n}{'zy' * 24}{n}" for n in range(9)),
    *("job-12", "job-123", "job-12-", "job-12job-345"),
)
HEX_ID = {"prefix": "ev_", "alphabet": "0123456789abcdef", "length": 8}
KINDS = (
    {"prefix": "job-", "alphabet": "0123456789", "length": 2},
    {"prefix": "job-", "alphabet": "0123456789zy", "length": 50},
    {"prefix": "job-", "alphabet": "0123456789", "length": 3},
    {"prefix": "ev_", "alphabet": "0123456789ABCDEF", "length": 8},
)
FILLERS = ("x", "word ", "line\n", "é", "💥", "\ud83d", "\x00", "[elided 5 chars of bash output]")


def body(rng: random.Random, window: int) -> str:
    """A result of any size: none, about a marker's and above, or a share of the window."""
    share = rng.choice([0.01, 0.03, 0.05, 0.1, 0.1, 0.25])
    about = rng.choice([0, 8, 100, 160, 240, *[int(window * 4 * share)] * 6])
    size = about * rng.randint(70, 130) // 100
    filler = rng.choice(FILLERS)
    text = (filler * (size // len(filler) + 1))[:size]
    if size and rng.random() < 0.3:
        cited = [rng.choice(CITED) for _ in range(rng.randint(1, 14))]
        text = rng.choice([" ", ",", "", "\n"]).join(cited) + rng.choice(["", " "]) + text
    return text


def arguments(rng: random.Random, name: str) -> str:
    """Arguments of a call; those of a recall name something, or fail to."""
    if "recall" not in name or rng.random() < 0.1:
        return rng.choice(ARGUMENTS)
    named = rng.choice(["12", "#0012", "00000AbC", "#fffff", "123456789", "#", "12\n", "xyz", 12])
    odd = rng.choice([-1, True, 2.0, "3", None, 99, 10**30])
    seq = rng.choice([rng.randint(0, 12), rng.randint(0, 40), odd])
    shapes = ({"seq": seq}, {"seq": seq}, {"id": named}, {"seq": seq, "id": named}, {"query": "x"})
    return json.dumps(rng.choice(shapes))


def results(rng: random.Random, calls: list[Entry], window: int) -> list[Entry]:
    """Results of the calls: nearly all, nearly in order, some to nobody."""
    names = [call["id"] for call in calls if rng.random() < 0.97]
    if rng.random() < 0.1:
        rng.shuffle(names)
    if rng.random() < 0.05:
        names.append(rng.choice(["nobody", "c1", "c2"]))
    out: list[Entry] = []
    for name in names:
        entry: Entry = {"kind": "tool", "call": name, "text": body(rng, window)}
        if rng.random() < 0.15:
            entry["error"] = rng.random() < 0.8
        if rng.random() < 0.03:
            entry["images"] = rng.randint(0, 3)
        out.append(entry)
    return out


def turn(rng: random.Random, at: int, window: int) -> list[Entry]:
    """One or two assistant entries, perhaps none, with their calls and results."""
    out: list[Entry] = []
    for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 1, 1, 1, 2])):
        calls: list[Entry] = []
        for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3, 5])):
            name = rng.choice(NAMES)
            ident = f"c{rng.randint(1, 6) if rng.random() < 0.1 else 100 + at + len(out)}"
            ident += rng.choice(["", f".{len(calls)}", f".{len(calls)}"])
            calls.append({"id": ident, "name": name, "arguments": arguments(rng, name)})
        text = "a" * rng.choice([0, 3, 4, 30])
        out.append({"kind": "assistant", "text": text, "calls": calls})
        if rng.random() < 0.9:
            out += results(rng, calls, window)
    return out


def transcript(rng: random.Random, window: int) -> list[Entry]:
    """Turns of a user, an assistant and results; often ended by an answer, sometimes not."""
    entries: list[Entry] = []
    for number in range(rng.choice([0, 1, 2, 4, 6, 8, 8, 12, 16])):
        if number == 0 or rng.random() < 0.25:
            kind = "user" if rng.random() < 0.9 else "system"
            entries.append({"kind": kind, "text": "u" * rng.choice([0, 2, 2, 40, window // 4])})
        entries += turn(rng, len(entries), window)
    if rng.random() < 0.03:
        entries = [entry for entry in entries if entry["kind"] != "assistant"]
    if rng.random() < 0.3:
        entries.append({"kind": "assistant", "text": "done", "calls": []})
    if rng.random() < 0.3:
        entries.append({"kind": "user", "text": "more"})
    if rng.random() < 0.05:
        entries.append({"kind": "user", "text": "giant " * window})
    return entries


def settings(rng: random.Random, window: int) -> dict[str, Any]:
    """A policy: each setting with a chance that differs from case to case."""
    policy: dict[str, Any] = {"window": window, "counter": "chars4"}
    optional = {
        "reserveTokens": rng.choice([window // 2, rng.randint(0, window - 1)]),
        "keepRecent": rng.choice([0, 1, 2, 3, 5]),
        "recentTokens": rng.choice([0, window // 20, window // 5, window]),
        "evidenceBudgetTokens": rng.choice([0, window // 20, window // 5, window // 2]),
        "evidenceTools": rng.choice([[], ["bash"], ["scan_sinks", "unknown"], ["x__scan_sinks"]]),
        "protectedTools": rng.choice([["note"], ["bash"], ["mcp__x__scan_sinks", "note"]]),
        "pins": [rng.randint(0, 30) for _ in range(rng.randint(0, 4))],
        "artifactIds": rng.choice([[HEX_ID, *KINDS], [*KINDS], [KINDS[2], KINDS[0]], []]),
        "minGain": rng.choice([0, 1, 5, 80]),
        "minFreed": rng.choice([0, 1, window // 10, window // 4, window // 2, window]),
        "counterScale": rng.choice([1500, 1500, 999, 1]),
        "enabled": rng.random() < 0.9,
        "mode": "elide" if rng.random() < 0.9 else "summarize",
    }
    chance = rng.choice([0.1, 0.3, 0.5])
    policy |= {key: value for key, value in optional.items() if rng.random() < chance}
    if "keepRecent" not in policy and rng.random() < 0.5:
        policy["keepRecent"] = rng.randint(0, 4)
    if rng.random() < 0.3:
        policy |= {"trigger": "priced", "read": rng.choice([20, 100, 900])}
        policy["write"] = rng.choice([1000, 1250])
        policy["window"] *= rng.choice([1, 4, 20])
        policy |= {"minFreed": rng.choice([0, 20])} if rng.random() < 0.5 else {}
        policy |= {"patience": rng.choice([0, 100, 500, 2000])} if rng.random() < 0.4 else {}
    return policy


def generate(rng: random.Random) -> tuple[list[Entry], dict[str, Any], dict[str, Any]]:
    """A case for `run`: entries, policy, keyword arguments."""
    window = rng.choice([4, 40, 150, 400, 600, 800, 1000, 1500, 1500, 2500, 2500, 6000])
    entries = transcript(rng, window)
    kwargs: dict[str, Any] = {}
    if rng.random() < 0.3:
        kwargs["overhead"] = rng.choice([1, window // 10, window // 10, window // 2, window])
    if rng.random() < 0.5:
        kwargs["recallable"] = True
    ids = [call["id"] for entry in entries for call in entry.get("calls", [])]
    if ids and rng.random() < 0.2:
        kwargs["failed"] = sorted({rng.choice(ids) for _ in range(3)})
    if rng.random() < 0.15:
        kwargs["overflowed"] = True
    return entries, settings(rng, window), kwargs


def reached(policy: dict[str, Any], answer: dict[str, Any]) -> set[str]:
    """The branches that an answer shows."""
    seen = {answer["why"], "tier:" + answer["tier"], *answer["fates"]}
    seen |= {flag for flag in ("pressed", "overflow") if answer[flag]}
    seen |= {f"passes:{min(len(answer['passes']), 3)}"}
    reserve = policy.get("reserveTokens", policy["window"] * 2 // 10)
    tier, floor = "elide", None
    for one in answer["passes"]:
        freed = one["tokens_before"] - one["tokens_after"]
        facts = {
            "pass:" + one["trigger"]: True,
            "pass:escalates": one["tier"] != tier,
            "pass:later in aggressive": tier == one["tier"] == "aggressive",
            "pass:under minFreed": freed < policy.get("minFreed", reserve // 10),
            "pass:no floor": one["floor"] is None,
            "pass:old floor elided": floor in one["elided"],
            "pass:several evidence kept": one["protected_count"] > 1,
        }
        seen |= {name for name, true in facts.items() if true}
        tier, floor = one["tier"], one["floor"]
    pairs = zip(answer["view"], answer["fates"], strict=True)
    texts = [entry["text"] for entry, fate in pairs if fate == "elided"]
    for words in (
        "artifact ids",
        " and 1 image",
        " images",
        "of failed",
        "recall seq=",
        "recall #",
    ):
        seen |= {"marker:" + words} if any(words in text for text in texts) else set()
    return seen


def report(run: Callable[..., dict[str, Any]], seed: int, count: int) -> None:
    """Print in how many of `count` random cases each branch was reached."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(count):
        entries, policy, kwargs = generate(rng)
        counts.update(reached(policy, run(entries, policy, **kwargs)))
    for name, times in sorted(counts.items()):
        sys.stdout.write(f"{times:7d} {name}\n")
