"""Sets of SWE-agent runs with messages of their own kind (`nebius/SWE-agent-trajectories`).

A row is a run: its messages have a role (`system`, `user`, `ai`) and a `text`, or the
`system_prompt`. No field tells an observation from a prompt, but nobody writes in these runs save
the model and the environment: behind a model's message with a command, which stands in its last
fenced block, comes the observation. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading
from compactor.formats.builder import Builder
from compactor.formats.harnesses.swe_agent import command_of
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import Carried, field, text_field
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items, unanswered
from compactor.formats.runs import Run, chosen, named, others

_SYSTEM, _PROMPT, _TURN = "system", "user", "ai"
_FENCE: Final = re.compile(r"^```", re.MULTILINE)


class SweAgentNebius(RunLens):
    """The lens of arrays or lines of SWE-agent runs whose messages are `{role: "ai", text}`.

    Args:
        thread: the `instance_id` of a run, one of `threads(root)`; "" is the first.
    """

    name = "swe-agent-nebius"

    def recognises(self, root: Any) -> bool:
        return any(map(_is_run, root if isinstance(root, list) else [root]))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads one run. O(the file).

        Raises:
            InputError: `input.shape` when there is no run, or no such thread.
        """
        runs = _runs(root)
        run = chosen(runs, self.thread, root)
        story = _Story()
        for index, message in enumerate(items(field(run.native, "trajectory"))):
            story.tell(message, (*run.at, "trajectory", index))
        entries = story.builder.entries
        findings = [*story.builder.findings, *unanswered(entries)]
        return Reading(
            entries=entries,
            overhead=Overhead(tuple(story.system), known=True),
            carried=Carried(tuple(story.system), known=True),
            findings=[*findings, *([] if self.thread else others(runs))],
        )

    def runs(self, root: Any) -> Sequence[Run]:
        return _runs(root)

    def messages(self, root: Any) -> Sequence[Any]:
        return items(field(chosen(_runs(root), self.thread, root).native, "trajectory"))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:  # noqa: ARG002
        return [Edit((*entry.at, "text"), text)]


def _is_run(row: Any) -> bool:
    return any(
        field(message, "role") == _TURN and isinstance(field(message, "text"), str)
        for message in items(field(row, "trajectory"))
    )


def _runs(root: Any) -> list[Run]:
    rows = enumerate(root) if isinstance(root, list) else [("", root)]
    found = (
        Run(text_field(row, "instance_id"), (index,) if index != "" else (), row)
        for index, row in rows
        if _is_run(row)
    )
    return named(found, root)


class _Story:
    """Tells the messages of a run to a builder.

    system: texts of the leading system messages.
    """

    def __init__(self) -> None:
        self.builder = Builder()
        self.system: list[str] = []
        self._asked: Call | None = None

    def tell(self, message: Any, at: Path) -> None:
        """Say one message."""
        role, asked = field(message, "role"), self._asked
        text, self._asked = text_field(message, "text"), None
        if role == _SYSTEM and not self.builder.size:
            self.system += filter(None, (text_field(message, "system_prompt"), text))
        elif role == _TURN:
            action = _action(text)
            calls = [] if action is None else [Call("", command_of(action), "", (*at, "text"))]
            self.builder.turn([Part(PartKind.TEXT, text)], calls, at)
            self._asked = next(iter(calls), None)
        elif role == _PROMPT and asked is not None:
            self.builder.result("", [text], (), at, call=asked)
        elif role in (_PROMPT, _SYSTEM):
            self.builder.user([Part(PartKind.TEXT, text)], at)
        else:
            self.builder.report("unknown_line", "not a message of a run", dotted(at))


def _action(text: str) -> str | None:
    """What stands in the last fenced block of a text; None where there is none. O(text)."""
    fences = [match.end() for match in _FENCE.finditer(text)]
    if len(fences) < 2:
        return None
    return text[fences[-2] : fences[-1] - 3].partition("\n")[2]
