"""Rows of message lists of OpenHands and SWE-agent, as data sets have them.

Lists are in the shape of Chat Completions. Where the model had no tool calls of its own, a call is
told in its text (`<function=NAME>`), and the result is the user's message right behind it: in
OpenHands' lists the one that says of which call it is; in SWE-agent's, where nobody else writes,
any. What such a message says beyond its first words changes nothing.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from compactor.core.model import Call, Entry, Part, PartKind, Reading
from compactor.formats.chat_story import CHAT, ROW_IDS, ChatStory, is_chat, row_tools
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import field, overhead_of, text_field, value_at
from compactor.formats.placed import Listing, Placed, placed
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items, unanswered
from compactor.formats.runs import Run, chosen, id_of, named, others

_LISTS: Final = ("messages", "trajectory")
_TOLD: Final = "<function="
"""How a call begins that is told in a text."""
_NAME_CHARS: Final = 100
_NAME: Final = re.compile(r"[A-Za-z0-9_.:/-]+")
_RESULT, _OBSERVED = "EXECUTION RESULT of [", "OBSERVATION:"
"""How results begin, OpenHands' and SWE-agent's."""
_TOOLS: Final = ("execute_bash", "execute_ipython_cell")
"""Tools that only OpenHands has."""


class OpenHandsMessages(RunLens):
    """The lens of rows of OpenHands' and SWE-agent's message lists.

    Args:
        thread: a row, one of `threads(root)`; "" is the first.
    """

    name = "openhands-messages"

    def recognises(self, root: Any) -> bool:
        rows = _rows(root)
        return bool(rows) and all(map(_is_row, rows)) and any(map(_is_own, rows))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads one row. O(the file).

        Raises:
            InputError: `input.shape` when there is no row, or no such thread.
        """
        runs = self.runs(root)
        run = chosen(runs, self.thread, root)
        tools = row_tools(run.native)
        listing = Listing(CHAT, tools, _messages(run))
        story = ChatStory()
        is_told, builder = _tell(story, listing), story.builder
        carried = listing.carried()
        has_calls = any(entry.calls for entry in builder.entries)
        is_whole = bool(tools) or is_told or not has_calls
        overhead = overhead_of(CHAT, carried)
        return Reading(
            entries=builder.entries,
            overhead=msgspec.structs.replace(overhead, known=is_whole),
            carried=carried,
            findings=[
                *builder.findings,
                *unanswered(builder.entries),
                *([] if self.thread else others(runs)),
            ],
            model=text_field(run.native, "model"),
        )

    def runs(self, root: Any) -> list[Run]:
        places = enumerate(root) if isinstance(root, list) else [(None, root)]
        found = (
            Run(id_of(row, ROW_IDS), () if index is None else (index,), row)
            for index, row in places
            if _is_row(row)
        )
        return named(found, root)

    def messages(self, root: Any) -> Sequence[Any]:
        return [message.native for message in _messages(chosen(self.runs(root), self.thread, root))]

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        message = value_at(root, entry.at)
        if field(message, "role") != "user":
            return CHAT.rewrite_body(root, entry, text)
        content = text_field(message, "content")
        return [Edit((*entry.at, "content"), content[: _head(content)] + text)]


def _rows(root: Any) -> Sequence[Any]:
    """The rows of a list; a row alone is one only where no request has its messages."""
    if isinstance(root, list):
        return root
    return [root] if isinstance(field(root, _LISTS[1]), list) else ()


def _key(row: Any) -> str:
    return next((key for key in _LISTS if isinstance(field(row, key), list)), "")


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and is_chat(field(row, _key(row)))


def _is_own(row: Any) -> bool:
    """Whether a row is an agent's: by its key, its tools, or results of calls told in texts."""
    messages = field(row, _key(row))
    if _key(row) == _LISTS[1]:
        return True
    named = [*items(field(row, "tools"))]
    for message in messages:
        named += items(field(message, "tool_calls"))
    if any(text_field(field(each, "function"), "name") in _TOOLS for each in named):
        return True
    return any(_answers(answer, is_run=False) for answer in _behind_calls(messages))


def _behind_calls(messages: Sequence[Any]) -> list[Any]:
    """The messages right behind calls that are told in texts."""
    return [after for before, after in pairwise(messages) if _called(before)]


def _messages(run: Run) -> list[Placed]:
    key = _key(run.native)
    return placed(items(field(run.native, key)), (*run.at, key))


def _tell(story: ChatStory, listing: Listing) -> bool:
    """Say the entries; returns whether calls were told in texts."""
    builder = story.builder
    messages = listing.messages[len(listing.lead()) :]
    answers = _behind_calls([message.native for message in messages])
    is_run = text_field(next(iter(answers), None), "content").partition("\n")[0] == _OBSERVED
    asked: Call | None = None
    for message in messages:
        name = _called(message.native)
        if asked is not None and _answers(message.native, is_run=is_run):
            content = text_field(message.native, "content")
            body = content[_head(content) :]
            builder.result("", [body] if body else [], (), message.at, call=asked)
            asked = None
        elif name:
            asked = Call("", name, "", (*message.at, "content"))
            text = text_field(message.native, "content")
            builder.turn([Part(PartKind.TEXT, text)], [asked], message.at)
        else:
            story.tell(message.native, message.at)
            asked = None
    return bool(answers)


def _called(message: Any) -> str:
    """The name of the last call that a model's message tells in its text; "" where it has none."""
    if field(message, "role") != "assistant" or items(field(message, "tool_calls")):
        return ""
    _, told, rest = text_field(message, "content").rpartition(_TOLD)
    name, closed, _ = rest[:_NAME_CHARS].partition(">")
    return name if told and closed and _NAME.fullmatch(name) else ""


def _answers(message: Any, *, is_run: bool) -> bool:
    """Whether the message behind a call is its result. is_run: nobody but the tools writes here."""
    if field(message, "role") != "user" or not isinstance(field(message, "content"), str):
        return False
    return is_run or bool(_head(message["content"]))


def _head(content: str) -> int:
    """How many characters of a result are the harness's own first words."""
    line, end, _ = content.partition("\n")
    size = len(line) + len(end)
    if line == _OBSERVED:
        return size
    return size if line.startswith(_RESULT) and line.endswith("]:") else 0
