"""Rows `{conversations}`: data sets in the shapes of ShareGPT and AgentBench.

A message is `{from, value}` or `{role, content}`. What a tool gave is a role of its own
(`observation`, `tool`), and a result; it answers the message of the model before it, in whose text
the call stands, so the call has no arguments. Where observations come as messages of a person,
nothing tells them from a prompt, and they stay. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading
from compactor.formats.builder import Builder
from compactor.formats.chat_story import texts_of
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import Carried, field, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items, unanswered
from compactor.formats.runs import Run, chosen, id_of, named, others

_MESSAGES = "conversations"
_PERSON, _TURN, _RESULT, _SYSTEM = "person", "turn", "result", "system"
_SPEAKERS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("human", "user"), _PERSON),
        **dict.fromkeys(("gpt", "assistant", "chatgpt", "bot", "model", "function_call"), _TURN),
        **dict.fromkeys(("observation", "tool", "function", "function_response"), _RESULT),
        "system": _SYSTEM,
    }
)
"""`from` or `role` → who speaks."""
_IDS = ("id", "task_id", "unique_id")
_TOOL = "tool"
"""The name of a call that stands in a text."""


class ShareGpt(RunLens):
    """The lens of rows `{conversations}` of ShareGPT's or AgentBench's shape, or of one row.

    Args:
        thread: a row, one of `threads(root)`; "" is the first.
    """

    name = "sharegpt"

    def recognises(self, root: Any) -> bool:
        return any(map(_is_row, root if isinstance(root, list) else [root]))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads one row. O(the file).

        Raises:
            InputError: `input.shape` when there is no row, or no such thread.
        """
        runs = _rows(root)
        run = chosen(runs, self.thread, root)
        story = _Story(run)
        entries = story.builder.entries
        findings = [*story.builder.findings, *unanswered(entries)]
        return Reading(
            entries=entries,
            overhead=Overhead(tuple(filter(None, story.system)), known=True),
            carried=Carried(tuple(filter(None, story.system)), known=True),
            findings=[*findings, *([] if self.thread else others(runs))],
        )

    def runs(self, root: Any) -> Sequence[Run]:
        return _rows(root)

    def messages(self, root: Any) -> Sequence[Any]:
        return items(field(chosen(_rows(root), self.thread, root).native, _MESSAGES))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return [Edit((*entry.at, _key_of(value_at(root, entry.at))), text)]


def _key_of(message: Any) -> str:
    """The key of what a message says."""
    return "value" if isinstance(field(message, "value"), str) else "content"


def _speaker(message: Any) -> str:
    """Who speaks; "" for what is no message."""
    said = text_field(message, "from") or text_field(message, "role")
    has_text = isinstance(field(message, _key_of(message)), str)
    return _SPEAKERS.get(said, "") if has_text else ""


def _is_row(row: Any) -> bool:
    messages = items(field(row, _MESSAGES))
    return bool(messages) and any(map(_speaker, messages))


def _rows(root: Any) -> list[Run]:
    rows: Iterator[tuple[Path, Any]] = iter([((), root)])
    if isinstance(root, list):
        rows = (((index,), row) for index, row in enumerate(root))
    return named((Run(id_of(row, _IDS), at, row) for at, row in rows if _is_row(row)), root)


class _Story:
    """Tells the messages of a row to a builder.

    system: what every request carried: system messages and, as a text, tools.
    """

    def __init__(self, run: Run) -> None:
        self.builder = Builder()
        self.system = [*texts_of(field(run.native, "system")), *texts_of(_tools(run.native))]
        messages = items(field(run.native, _MESSAGES))
        speakers = [*map(_speaker, messages)]
        self._asked: Iterator[Call] = iter(())
        for index, speaker in enumerate(speakers):
            at = (*run.at, _MESSAGES, index)
            count = _results_behind(speakers, index)
            self._tell(messages[index], speaker, at, count)

    def _tell(self, message: Any, speaker: str, at: Path, count: int) -> None:
        """Say one message.

        Args:
            count: how many results stand directly behind it.
        """
        text = text_field(message, _key_of(message))
        if speaker == _SYSTEM and not self.builder.size:
            self.system.append(text)
        elif speaker == _TURN:
            here = (*at, _key_of(message))
            calls = [Call("", _TOOL, "", here) for _ in range(count)]
            self.builder.turn([Part(PartKind.TEXT, text)], calls, at)
            self._asked = iter(calls)
        elif speaker == _RESULT:
            call = next(self._asked, None)
            self.builder.result("", [text], (), at, call=call, orphan_path=dotted(at))
        elif speaker:
            say = self.builder.system if speaker == _SYSTEM else self.builder.user
            say([Part(PartKind.TEXT, text)], at)
        else:
            self.builder.report("unknown_line", "not a message of a conversation", dotted(at))


def _results_behind(speakers: Sequence[str], index: int) -> int:
    """How many results stand directly behind a message. O(their number)."""
    if speakers[index] != _TURN:
        return 0
    end = index + 1
    while end < len(speakers) and speakers[end] == _RESULT:
        end += 1
    return end - index - 1


def _tools(row: Any) -> Any:
    """Tools as the row has them: a JSON text, or objects."""
    tools = field(row, "tools")
    return tools if isinstance(tools, (str, list)) else None
