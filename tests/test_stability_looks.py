"""What a break is named by: texts that differ, and faults of harnesses in every format."""

from __future__ import annotations

import base64
import json
import random
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compactor.core.model import Path
from compactor.formats.messages import value_at
from compactor.formats.raw.edits import Edit, apply_edits
from compactor.stability import LOOKS, CacheStability
from compactor.testing import Conversation
from tests.stability_kit import (
    FORMATS,
    LONG,
    bodies,
    history,
    looks,
    requests_of,
    streamed,
)

PIXELS = [base64.b64encode(bytes(range(k, k + 90))).decode() for k in (0, 7)]
TEXTS: dict[str, tuple[str, str, str]] = {
    "an ISO time": ("now 2026-03-01T10:00:07Z.", "now 2026-03-01T10:00:19Z.", "clock"),
    "an ISO date": ("on 2026-03-01", "on 2026-04-11", "clock"),
    "a time of day": ("it is 9:59 AM here", "it is 10:00 AM here", "clock"),
    "a date in words": ("Sunday, March 1, 2026", "Monday, March 2, 2026", "clock"),
    "another date in words": ("today: 1 March 2026.", "today: 2 March 2026.", "clock"),
    "a date with slashes": ("3/1/2026", "3/2/2026", "clock"),
    "what ctime says": ("Sun Mar  1 10:00:07 2026", "Sun Mar  1 10:00:08 2026", "clock"),
    "seconds since 1970": ("t=1772359207", "t=1772359219", "clock"),
    "milliseconds": ("t=1772359207123", "t=1772359219456", "clock"),
    "seconds with a fraction": ("t=1772359207.12", "t=1772359209.4", "clock"),
    "a duration": ("took 1.2s", "took 1.4s", "duration"),
    "a long duration": ("ran for 12 minutes", "ran for 13 minutes", "duration"),
    "a uuid": (
        "run 9c7f1e5e-3f1d-4c7b-9a53-0a4f5f6ad111",
        "run 1b2f1e5e-3f1d-4c7b-9a53-0a4f5f6ad222",
        "uuid",
    ),
    "a uuid without dashes": (
        "9c7f1e5e3f1d4c7b9a530a4f5f6ad111",
        "1b2f1e5e3f1d4c7b9a530a4f5f6ad222",
        "uuid",
    ),
    "a uuid behind a word": (
        "call_9c7f1e5e3f1d4c7b9a530a4f5f6ad111",
        "call_1b2f1e5e3f1d4c7b9a530a4f5f6ad222",
        "uuid",
    ),
    "a random id": ("session k3J9fQ2xZ1", "session p0Lm4R7yW8", "random id"),
    "a folder of mkdtemp": ("in /tmp/tmpkq3zx9w_/work", "in /tmp/tmpb12zx0_q/work", "random id"),
    "a counter": ("step 3 of 20", "step 4 of 20", "counter"),
    "a sum of tokens": ("used: 1234/200000", "used: 20551/200000", "counter"),
    "a process": ("pid=4000", "pid=4037", "counter"),
    "a version": ("compiler-1.2.3", "compiler-1.2.4", "counter"),
    "lines in another order": ("a.c\nb.c\nc.c", "b.c\nc.c\na.c", "line order"),
    "a list in another order": ("tools: bash, grep", "tools: grep, bash", "line order"),
    "a set": ("use {'bash', 'grep', 'sed'}", "use {'sed', 'bash', 'grep'}", "line order"),
    "JSON spelled otherwise": ('{"a":1, "b":2}', '{"b":2,"a":1}', "serialised"),
    "JSON with other escapes": ('{"a":"\\u00fc"}', '{"a":"ü"}', "serialised"),
    "a number in JSON": ('{"a":1.50}', '{"a":1.5}', "serialised"),
    "a newline trimmed": ("no rule\n", "no rule", "spaces"),
    "other line ends": ("a\nb", "a\r\nb", "spaces"),
    "another indent": ("if x:\n    y", "if x:\n  y", "spaces"),
    "accents composed": ("für", unicodedata.normalize("NFD", "für"), "escapes"),
    "escaped twice": ("für", "f\\u00fcr", "escapes"),
    "HTML": ("a < b", "a &lt; b", "escapes"),
    "an image": (PIXELS[0], PIXELS[1], "image"),
    "an image as a URL": (*(f"data:image/png;base64,{one}" for one in PIXELS), "image"),
    "another text": ("the parser", "the lexer", "rewritten"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_difference_is_named_by_what_it_looks_like(name: str) -> None:
    old, new, look = TEXTS[name]
    made = bodies()[2:]
    for body, text in zip(made, (old, new), strict=True):
        body["messages"][4]["content"][0]["content"] = text
    assert looks(streamed(made)) == [look]


ALONE = [name for name, (*_, look) in TEXTS.items() if look not in ("serialised", "image")]


@pytest.mark.parametrize("name", ALONE)
def test_so_is_one_in_the_middle_of_a_prompt(name: str) -> None:
    old, new, look = TEXTS[name]
    made = bodies()[:2]
    for body, text in zip(made, (old, new), strict=True):
        body["system"] = f"You fix builds. {text} Be brief."
    assert looks(streamed(made)) == ["reworded" if look == "rewritten" else look]


# Faults of harnesses

SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}},
    "required": ["command", "timeout"],
}
TALK = Conversation(
    system="You fix builds.",
    tools=[
        {"name": name, "description": f"Runs {name}.", "parameters": SCHEMA}
        for name in ("bash", "grep", "read", "write")
    ],
    model="gpt-5.4",
).user("Why is the build red?")
for step in range(5):
    TALK.call(
        "bash",
        {"command": f"make {step}", "timeout": 1.5, "env": "ü"},
        result=f"{LONG}\n  line {step}\n",
        text=f"I look at {'abcde'[step]}.",
    )
Fault = Callable[[Any, int], Any]
"""What a harness does to its request k, from 0: changes it, or gives back another."""


def places(body: Any, begin: str) -> list[Path]:
    """Addresses of the texts that begin so, in the order of a body."""

    def below(value: Any, at: Path) -> Iterator[Path]:
        if isinstance(value, str) and value.startswith(begin):
            yield at
        elif isinstance(value, (dict, list)):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in pairs:
                yield from below(item, (*at, key))

    return list(below(body, ()))


def rewritten(body: Any, begin: str, change: Callable[[str], str], which: slice) -> Any:
    found = places(body, begin)[which]
    return apply_edits(body, [Edit(at, change(value_at(body, at))) for at in found])


ALL, OLD, FIRST = slice(None), slice(-1), slice(1)


def prompt(add: Callable[[int], str]) -> Fault:
    """A fault in the system prompt."""
    return lambda body, k: rewritten(body, "You fix", lambda text: f"{text} {add(k)}", ALL)


def results(change: Callable[[str], str], since: int = 0) -> Fault:
    """A fault in old results."""
    return lambda body, k: rewritten(body, "src/", change, OLD) if k >= since else body


def tools(change: Callable[[list[Any], int], None]) -> Fault:
    """A fault in the list of tools."""

    def fault(body: Any, k: int) -> None:
        found = body["toolConfig"]["tools"] if "toolConfig" in body else body["tools"]
        inner = found[0].get("functionDeclarations")
        change(found if inner is None else inner, k)

    return fault


def at_once(change: Callable[[list[Any]], None]) -> Fault:
    """A fault in the messages of request 3 alone."""
    return lambda body, k: change(history(body)) if k == 3 else None


def from_text(change: Callable[[str], str]) -> Fault:
    """A fault in the messages of request 3, as JSON."""

    def fault(body: Any, k: int) -> None:
        if k == 3:
            history(body)[:] = json.loads(change(json.dumps(history(body))))

    return fault


def new_ids(body: Any, k: int) -> None:
    made = json.dumps(history(body))
    for number in range(1, 6):
        made = made.replace(f'"call_{number}"', f'"call_{k}{number}7"')
    history(body)[:] = json.loads(made)


def reminding(body: Any, k: int) -> None:
    """Put a reminder before the newest message."""
    said = "Be brief."
    words = {"content": [{"text": said}]} if "toolConfig" in body else {"content": said}
    words = {"parts": [{"text": said}]} if "contents" in body else words
    if k:
        history(body).insert(-1, {"role": "user"} | words)


def sliding(body: Any, _k: int) -> None:
    """Leave old messages out."""
    found = history(body)
    first = 1 + (found[0]["role"] in ("system", "developer"))
    kept = 6 if "input" in body else 4  # of two steps
    del found[first : max(first, len(found) - kept)]


def shuffled(items: list[Any], k: int) -> None:
    random.Random(k + 2).shuffle(items)


def key_sorted(value: Any) -> Any:
    return json.loads(json.dumps(value, sort_keys=True))


EACH, ONCE = [2, 3, 4, 5, 6], [4, 5]
"""The requests that break the cache where each is another, and where one is."""
FAULTS: dict[str, tuple[Fault, str, str, list[int]]] = {
    "a time in the prompt": (
        *(prompt(lambda k: f"It is 10:00:{k:02}."), "system prompt", "clock", EACH),
    ),
    "a uuid in the prompt": (
        prompt(lambda k: f"Run {uuid.UUID(int=7**40 * (k + 3) % 2**128, version=4)}."),
        *("system prompt", "uuid", EACH),
    ),
    "tools in random order": (tools(shuffled), "tools", "tool order", [2, 3, 4, 5, 6]),
    "a tool left out once": (
        *(tools(lambda items, k: items.pop() if k == 3 else None), "tools", "tools", ONCE),
    ),
    "a tool with its keys sorted": (
        tools(lambda items, k: items.append(key_sorted(items.pop())) if k == 3 else None),
        *("tools", "key order", ONCE),
    ),
    "a history with its keys sorted": (
        at_once(lambda found: found.__setitem__(slice(None), key_sorted(found))),
        *("", "key order", ONCE),
    ),
    "floats written anew": (
        *(from_text(lambda text: text.replace("1.5", "1.50000001")), "messages"),
        *("serialised", ONCE),
    ),
    "new ids in each request": (new_ids, "messages", "call id", [3, 4, 5, 6]),
    "a rewritten question": (
        lambda body, k: rewritten(body, "Why is", lambda _: "Mend it.", ALL) if k >= 3 else body,
        *("messages", "rewritten", [4]),
    ),
    "a rewritten answer": (
        lambda body, k: rewritten(body, "I look", lambda _: "Yes.", FIRST) if k >= 3 else body,
        *("messages", "rewritten", [4]),
    ),
    "old results trimmed": (results(str.strip), "messages", "spaces", [3, 4, 5, 6]),
    "old results masked": (*(results(lambda _: "[cleared]"), "messages", "masked", [3, 4, 5, 6]),),
    "old results cut": (
        *(results(lambda text: text[:300] + " [cut]"), "messages", "cut", [3, 4, 5, 6]),
    ),
    "old results elided": (
        results(lambda text: f"[elided {len(text)} chars of bash output]"),
        *("messages", "elided", [3, 4, 5, 6]),
    ),
    "a sliding window": (sliding, "messages", "dropped", [4, 5, 6]),
    "a reminder that moves": (reminding, "messages", "message order", [3, 4, 5, 6]),
    "a counter in the question": (
        lambda body, k: rewritten(body, "Why is", lambda text: f"{text} {9 - k} turns left.", ALL),
        *("messages", "counter", EACH),
    ),
}


def first_part(format_name: str) -> str:
    """Of which part the first message is."""
    return "system prompt" if format_name == "openai-chat" else "messages"


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_harness_is_caught_and_named_in_every_format(
    name: str, format_name: str
) -> None:
    fault, part, look, requests = FAULTS[name]
    stream = CacheStability()
    for k, body in enumerate(requests_of(TALK, format_name)):
        given = fault(body, k)
        stream.record(body if given is None else given)
    assert [(one.request, one.change.look) for one in stream.breaks] == [
        (request, look) for request in requests
    ]
    assert {one.change.part for one in stream.breaks} == {part or first_part(format_name)}
    assert stream.conversations == ("1",)
    for one in (one for one in stream.breaks if one.change.new):
        there = value_at(stream.requests[one.request - 1].body.root, one.change.at)
        if isinstance(there, str) and look != "key order":
            assert there == one.change.new != one.change.old


def test_every_look_is_found_by_a_test() -> None:
    named = {look for _, _, look in TEXTS.values()} | {look for _, _, look, _ in FAULTS.values()}
    in_test_stability = {"setting", "spelling", "item order", "model", "shape", "grown", "inserted"}
    assert named | in_test_stability | {"reworded"} == set(LOOKS)
