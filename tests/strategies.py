"""Hypothesis strategies: conversations that formats can express, and policies that act on them.

Sizes go with the windows of `policies`, so that passes, both tiers, waits and presses all come up;
`test_laws` counts that they do. Bodies are drawn as size and filler, which keeps examples small.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from compactor import Policy
from compactor.testing import IMAGES, REASONING, SYSTEM_TURNS, WRITERS, Conversation, ToolCall

LOOK_ALIKES = (
    "[elided 5 chars of bash output]",
    "[elided 4000 chars of bash output — recall seq=2]\n",
    "[#0001 a.txt lines 1-3 of 3 sha 4fdbc441]\n",
)
FILLERS = ("x", "word ", "line\n", "é", "💥", "\ud83d", "\x00", *LOOK_ALIKES)
NAMES = (
    *("bash", "bash", "bash", "scan_sinks", "record_finding", "mcp__x__scan_sinks", "note"),
    *("recall", "mcp__x__recall", "wéird näme]\n!", "n" * 80, "Read", "read_file"),
)
CITED = ("ev_3a91f0c2", "ev_5b0d77ae", "xev_3a91f0c2", "ev_ABCDEF01")
IDS = (*CITED, *(f"ev_{n:08x}" for n in range(9)))
SIZES = (0, 8, 100, 200, 400, 900, 1600, 3000)
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"command": "ls"},
    {"path": "a.py", "x": [1, 2.5, None]},
    {"text": "é\n" * 40},
    {"seq": 2},
    {"path": "a.py", "content": 'say "\\"\n' * 80, "edits": [{"new": "ev_3a91f0c2 " * 60}, 7]},
)
RECALLS: tuple[dict[str, Any], ...] = ({"id": "#0012"}, {"id": "AB"}, {"seq": 2}, {"query": "x"})
READS: tuple[dict[str, Any], ...] = (
    {"file_path": "/src/a.py"},
    {"file_path": "/src/../src/a.py", "offset": 10, "limit": 20},
    {"file_path": "b|c\n.py", "limit": 5},
)
ARGUMENTS_OF = {
    "Read": READS,
    "read_file": READS,
    "recall": RECALLS,
    "mcp__x__recall": RECALLS,
}


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """The text of a result: nothing, about a marker's length, or a share of a window."""
    size = draw(st.sampled_from(SIZES))
    filler = draw(st.sampled_from(FILLERS))
    text = (filler * (size // len(filler) + 1))[:size]
    cited = draw(st.lists(st.sampled_from(IDS), max_size=12)) if size and draw(rarely(4)) else []
    return " ".join([*cited, text])


def rarely(one_in: int) -> st.SearchStrategy[bool]:
    """True in one of so many draws; shrinks to False."""
    return st.integers(0, one_in - 1).map(lambda drawn: drawn == one_in - 1)


@st.composite
def conversations(draw: st.DrawFn, formats: Iterable[str] = tuple(WRITERS)) -> Conversation:
    """A conversation that all the given formats can express."""
    lacks = {lack for name in formats for lack in WRITERS[name].lacks}
    talk = Conversation().user(draw(st.sampled_from(["go", "u" * 400])))
    for _ in range(draw(st.integers(0, 12))):
        _add_step(draw, talk, lacks)
    return talk


def _add_step(draw: st.DrawFn, talk: Conversation, lacks: set[str]) -> None:
    step = draw(st.sampled_from(["call", "call", "call", "parallel", "say", "user", "odd"]))
    reasoning = "" if REASONING in lacks else draw(st.sampled_from(["", "", "hm " * 30]))
    if step == "user":
        talk.user(draw(st.sampled_from(["more", "u" * 40, "u" * 900])))
    elif step == "say":
        talk.assistant(draw(st.sampled_from(["done", "a" * 100])), reasoning=reasoning)
    elif step == "odd":
        _add_oddity(draw, talk, lacks)
    else:
        count = 1 if step == "call" else draw(st.integers(2, 5))
        text = draw(st.sampled_from(["", "I look."]))
        calls = [draw(_calls(IMAGES not in lacks)) for _ in range(count)]
        talk.parallel(calls, text=text, reasoning=reasoning)


def _add_oddity(draw: st.DrawFn, talk: Conversation, lacks: set[str]) -> None:
    """What real recordings hold now and then."""
    odd = draw(st.sampled_from(["system", "unanswered", "orphan", "same id"]))
    if odd == "orphan":
        talk.result("gone", draw(bodies()))
    elif odd == "unanswered":
        talk.call("bash", result=None)
    elif odd == "same id":
        talk.call("bash", result=draw(bodies()), id="same")
    elif SYSTEM_TURNS not in lacks:
        talk.system("a reminder")


@st.composite
def _calls(draw: st.DrawFn, with_images: bool) -> ToolCall:
    name = draw(st.sampled_from(NAMES))
    return ToolCall(
        name=name,
        arguments=draw(st.sampled_from(ARGUMENTS_OF.get(name, ARGUMENTS))),
        result=draw(bodies()),
        error=draw(rarely(5)),
        images=draw(st.integers(1, 2)) if with_images and draw(rarely(12)) else 0,
    )


WINDOWS = (150, 500, 800, 1200, 2500)


@st.composite
def policies(draw: st.DrawFn, *, plain: bool = False) -> Policy:
    """A policy in range, counting by characters; each setting is drawn now and then.

    Args:
        plain: without what is off by default: priced passes, elided inputs.
    """
    window = draw(st.sampled_from(WINDOWS))
    optional: dict[str, st.SearchStrategy[Any]] = {
        "reserve_tokens": st.sampled_from([window // 2, window // 20, window - 1]),
        "keep_recent": st.integers(0, 4),
        "recent_tokens": st.sampled_from([0, window // 20, window]),
        "evidence_budget_tokens": st.sampled_from([0, window // 5, window // 2]),
        "evidence_tools": st.sampled_from([(), ("bash",), ("scan_sinks", "note")]),
        "protected_tools": st.sampled_from([("note", "Read"), ("bash",)]),
        "pins": st.lists(st.integers(0, 12), max_size=3).map(tuple),
        "min_gain": st.sampled_from([0, 1, 80]),
        "min_freed": st.sampled_from([0, 1, window // 4, window]),
        "counter_scale": st.sampled_from([999, 1500]),
    }
    chosen = {name: draw(values) for name, values in optional.items() if draw(rarely(3))}
    if not plain and draw(rarely(4)):
        chosen |= {"trigger": "priced", "read": 100, "write": 1250}
        chosen["patience"] = draw(st.sampled_from([None, None, 0, 100, 500, 2000]))
    if not plain and draw(rarely(4)):
        chosen["elide_inputs"] = True
    if draw(rarely(4)):
        chosen["min_freed"] = window
    if "keep_recent" not in chosen and draw(st.booleans()):
        chosen["keep_recent"] = draw(st.integers(1, 3))
    overhead = draw(st.sampled_from([0, 0, window // 10]))
    recallable = draw(st.booleans())
    return Policy(
        window=window,
        counter="chars4",
        overhead_tokens=overhead,
        recallable=recallable,
        **chosen,
    )


class Case(NamedTuple):
    """A conversation, the policy for it, and the format that it is written in."""

    talk: Conversation
    policy: Policy
    format: str


@st.composite
def cases(draw: st.DrawFn, format: str) -> Case:  # noqa: A002  (the word users know)
    """A case in one format."""
    return Case(draw(conversations((format,))), draw(policies()), format)
