"""Which messages of a SWE-agent run the model was sent: attempts, agents, and what was elided.

`history` keeps every message in full; history processors elide old observations in the prompt of a
step, which newer files record (`query`, first called `messages`). The live conversation is the last
prompt that goes with the history, and the messages of the history behind it; prompts of a requery
hold messages that were taken back, and are none. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.chat_story import texts_of
from compactor.formats.messages import field, text_field
from compactor.formats.raw.objects import is_object
from compactor.formats.recorded import items
from compactor.formats.runs import Run, named

MAIN = "main"
_PROMPTS = ("query", "messages")
_SAME = ("role", "agent", "message_type", "tool_call_ids")
"""What a history processor leaves as it is in every message."""
_ELIDED: Final = re.compile(
    r"Old environment output: \(\d+ lines omitted\)(?: \(\d+ images omitted\))?"
)


class Line(NamedTuple):
    """A message of the live conversation.

    is_cleared: the harness had replaced what it held.
    """

    message: Any
    at: Path
    is_cleared: bool = False


def is_run(native: Any) -> bool:
    """Whether an object is one attempt of an agent: steps with actions, or a history of agents."""
    history, steps = field(native, "history"), field(native, "trajectory")
    if isinstance(history, list) and any(map(_speaks, history)):
        return isinstance(steps, list) or any(field(m, "agent") is not None for m in history)
    return isinstance(steps, list) and any(
        isinstance(field(step, "action"), str) and isinstance(field(step, "observation"), str)
        for step in steps
    )


def _speaks(message: Any) -> bool:
    return isinstance(field(message, "role"), str) and field(message, "content") is not None


def runs_of(root: Any) -> list[Run]:
    """The conversations of a file: the main agent's, those of its subroutines, other attempts.

    The chosen attempt is in the file twice; its copy is left out.
    """
    found: list[Run] = []
    attempts = items(field(root, "attempts"))
    copied = field(field(root, "info"), "best_attempt_idx") if is_run(root) else None
    if is_run(root):
        found += _agents(root, (), MAIN)
    for index, attempt in enumerate(attempts):
        if is_run(attempt) and index != copied:
            found += _agents(attempt, ("attempts", index), f"attempt_{index}")
    return named(found)


def _agents(native: Any, at: Path, name: str) -> Iterator[Run]:
    """The conversation of each agent in a history, the first one's by the name of the run."""
    first, *rest = _agents_of(native) or [""]
    yield Run(name, at, native, first)
    for agent in rest:
        yield Run(agent if name == MAIN else f"{name}/{agent}", at, native, agent)


def _agents_of(native: Any) -> list[str]:
    """The names of the agents in a history, in order; messages without one are everybody's."""
    names = (text_field(message, "agent") for message in items(field(native, "history")))
    return [name for name in dict.fromkeys(names) if name]


def live(run: Run) -> list[Line]:
    """The messages of a run as the next request would carry them. O(what its prompts hold)."""
    native, base = run.native, run.at
    history = [
        Line(message, (*base, "history", index))
        for index, message in enumerate(items(field(native, "history")))
        if is_object(message) and text_field(message, "agent") in (run.part, "")
    ]
    prompt = _last_prompt(native, base, history)
    originals: list[Any] = [line.message for line in history[: len(prompt)]]
    originals += [None] * (len(prompt) - len(originals))
    shown = [
        line._replace(is_cleared=_is_elided(line.message, original))
        for line, original in zip(prompt, originals, strict=True)
    ]
    return [*shown, *history[len(prompt) :]]


def _last_prompt(native: Any, base: Path, history: Sequence[Line]) -> list[Line]:
    """The messages of the last prompt that is a part of the history as it went; none if none is."""
    steps = items(field(native, "trajectory"))
    for index in range(len(steps) - 1, -1, -1):
        for key in _PROMPTS:
            prompt = items(field(steps[index], key))
            at = (*base, "trajectory", index, key)
            if prompt and _goes_with(prompt, history):
                return [Line(message, (*at, i)) for i, message in enumerate(prompt)]
    return []


def _goes_with(prompt: Sequence[Any], history: Sequence[Line]) -> bool:
    """Whether a prompt has the messages that the history begins with, whatever they hold now."""
    if not all(map(_speaks, prompt)):
        return False
    if not history:
        return True
    return len(prompt) <= len(history) and all(
        field(message, key) == field(line.message, key)
        for message, line in zip(prompt, history, strict=False)
        for key in _SAME
    )


def _is_elided(message: Any, original: Any) -> bool:
    """Whether the harness has put its own words in the place of an observation.

    It has when they are not what the history holds: a tool may print the same words.
    """
    text = "\n".join(texts_of(field(message, "content")))
    if original is None or not _ELIDED.fullmatch(text):
        return False
    return text != "\n".join(texts_of(field(original, "content")))
