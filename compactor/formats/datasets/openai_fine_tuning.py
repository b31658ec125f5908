"""Rows of conversations in the shape of Chat Completions: fine-tuning files, and data sets.

A row has `messages`, or, where two answers are compared, an `input` with messages and the answers
`preferred_output` and `non_preferred_output`, each of which ends a conversation of its own. A row
may bring `tools`. A file with one row is a request body. Specification: DESIGN section 3,
docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from compactor.core.model import Entry, Reading
from compactor.formats.chat_story import CHAT, ROW_IDS, is_chat, row_tools
from compactor.formats.dialects import OPENAI_CHAT, dialect
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import field, text_field
from compactor.formats.placed import Listing, Placed, placed, read_placed
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items
from compactor.formats.runs import Run, chosen, id_of, named, others

_MESSAGES, _INPUT = "messages", "input"
_ANSWERS = ("preferred_output", "non_preferred_output")


class OpenAIFineTuning(RunLens):
    """The lens of rows `{messages}`: OpenAI's fine-tuning files, and arrays or lines like them.

    Args:
        thread: a row, one of `threads(root)`; "" is the first.
    """

    name = "openai-fine-tuning"

    def recognises(self, root: Any) -> bool:
        return isinstance(root, list) and bool(root) and all(map(_is_row, root))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads one row. O(the file).

        Raises:
            InputError: `input.shape` when there is no row, or no such thread.
        """
        runs = _rows(root)
        run = chosen(runs, self.thread, root)
        tools = row_tools(run.native, field(run.native, _INPUT))
        reading = read_placed(Listing(CHAT, tools, _messages(run)))
        has_calls = any(entry.calls for entry in reading.entries)
        is_whole = bool(tools) or not has_calls  # calls need tools, wherever those were
        reading.overhead = msgspec.structs.replace(reading.overhead, known=is_whole)
        reading.model = text_field(run.native, "model")
        reading.findings += [] if self.thread else others(runs)
        return reading

    def runs(self, root: Any) -> Sequence[Run]:
        return _rows(root)

    def messages(self, root: Any) -> Sequence[Any]:
        return [message.native for message in _messages(chosen(_rows(root), self.thread, root))]

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return CHAT.rewrite_body(root, entry, text)


def _is_row(row: Any) -> bool:
    """Whether a row is a conversation, and one that no other provider's format expresses."""
    if not isinstance(row, dict):
        return False
    if _is_compared(row):
        return is_chat(field(row[_INPUT], _MESSAGES))
    messages = row.get(_MESSAGES)
    if not is_chat(messages):
        return False
    return dialect(messages) == OPENAI_CHAT or all(map(_is_plain, items(messages)))


def _is_plain(message: Any) -> bool:
    content = field(message, "content")
    return content is None or isinstance(content, str)


def _is_compared(row: Any) -> bool:
    return isinstance(field(row, _INPUT), dict) and isinstance(field(row, _ANSWERS[0]), list)


def _rows(root: Any) -> list[Run]:
    return named(_conversations(root), root)


def _conversations(root: Any) -> Iterator[Run]:
    """One a row, two where answers are compared."""
    for index, row in enumerate(root if isinstance(root, list) else ()):
        name = id_of(row, ROW_IDS) or f"row-{index + 1}"
        if _is_compared(row):
            rest = name + "/non-preferred"
            yield from (
                Run(n, (index,), row, a) for n, a in zip((name, rest), _ANSWERS, strict=True)
            )
        elif items(field(row, _MESSAGES)):
            yield Run(name, (index,), row)


def _messages(run: Run) -> list[Placed]:
    """The messages of a conversation with their addresses."""
    paths = ((_INPUT, _MESSAGES), (run.part,)) if run.part else ((_MESSAGES,),)
    found: list[Placed] = []
    for path in paths:
        native = run.native
        for key in path:
            native = field(native, key)
        found += placed(items(native), (*run.at, *path))
    return found
