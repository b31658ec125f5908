"""Cursor transcripts (`agent-transcripts/*.jsonl`): rows `{role, message: {content}}`.

Content is a list of blocks as Anthropic has them, but calls have no ids, and most files hold no
results at all: then there is nothing to elide, and it is said. Where there are results, they answer
the calls of the turn before in their order. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Kind, Overhead, Path, Reading
from compactor.formats import blocks
from compactor.formats.block_lens import BlockResults
from compactor.formats.blocks import block_part, content_parts, result_facts
from compactor.formats.builder import Builder
from compactor.formats.keyed import runs
from compactor.formats.lens_bases import RowLens
from compactor.formats.messages import field, shape_error, text_field
from compactor.formats.providers.anthropic import READERS
from compactor.formats.raw.edits import dotted
from compactor.formats.recorded import items, unanswered, unreadable

_TURN, _PROMPT = "assistant", "user"


class Cursor(BlockResults, RowLens):
    """The lens of Cursor's transcripts in JSON Lines."""

    name = "cursor"

    def recognises(self, root: Any) -> bool:
        rows = items(root)
        return bool(rows) and _speaks(rows[0]) and not any(field(row, "content") for row in rows)

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n).

        Raises:
            InputError: `input.shape` when it is no transcript.
        """
        if not self.recognises(root):
            raise shape_error((), "no message of a Cursor transcript")
        rows = items(root)
        story = _Story()
        for index, row in enumerate(rows):
            if _speaks(row):
                story.tell(row, index)
        entries = story.builder.entries
        odd = [(index,) for index, row in enumerate(rows) if not _speaks(row)]
        return Reading(
            entries=entries,
            overhead=Overhead(),
            findings=[*story.builder.findings, *_open(entries), *unreadable(odd, "rows")],
        )


def _speaks(row: Any) -> bool:
    message = field(row, "message")
    return (
        text_field(row, "role") in (_TURN, _PROMPT)
        and isinstance(message, dict)
        and "role" not in message
        and isinstance(field(message, "content"), (str, list))
    )


class _Story:
    """Tells rows to a builder."""

    def __init__(self) -> None:
        self.builder = Builder()
        self._asked: deque[Call] = deque()
        self._is_answered = False

    def tell(self, row: Any, index: int) -> None:
        """Say one row."""
        content, at = row["message"]["content"], (index, "message", "content")
        if row["role"] == _TURN:
            self._turn(content, at)
            return
        self._is_answered = True
        if isinstance(content, str):
            self.builder.user(content_parts(self.builder, content, at, READERS), at[:-1])
        else:
            self._prompt(content, at)

    def _turn(self, content: Any, at: Path) -> None:
        if self._is_answered:
            self._asked.clear()
        self._is_answered = False
        if isinstance(content, str):
            self.builder.turn(content_parts(self.builder, content, at, READERS), (), at[:-1])
            return
        calls = {
            index: Call(
                text_field(block, "id"),
                text_field(block, "name"),
                blocks.arguments_text(field(block, "input")),
                (*at, index, "input"),
            )
            for index, block in enumerate(content)
            if field(block, "type") == "tool_use"
        }
        parts = [
            block_part(self.builder, block, (*at, index), READERS)
            for index, block in enumerate(content)
            if index not in calls
        ]
        self._asked += calls.values()
        self.builder.turn(parts, calls.values(), at[:-1])

    def _prompt(self, content: Sequence[Any], at: Path) -> None:
        """Each result is an entry, each run of other blocks is one."""
        for is_result, indexes in runs(field(b, "type") == "tool_result" for b in content):
            if not is_result:
                run = [block_part(self.builder, content[i], (*at, i), READERS) for i in indexes]
                self.builder.user(run, at[:-1])
                continue
            block, here = content[indexes[0]], (*at, indexes[0])
            inner = field(block, "content")
            texts, rest, is_odd = result_facts(self.builder, inner, (*here, "content"), READERS)
            call = self._asked.popleft() if self._asked else None
            self.builder.result(
                call.id if call is not None else text_field(block, "tool_use_id"),
                texts,
                rest,
                here,
                error=field(block, "is_error") is True,
                required=is_odd,
                call=call,
                orphan_path=dotted(here),
            )


def _open(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Calls without results; where the file has none, once."""
    calls = sum(len(entry.calls) for entry in entries)
    if calls and not any(entry.kind is Kind.TOOL for entry in entries):
        message = f"the results of {calls} calls are not in the file, so nothing can be elided"
        yield Finding("results_not_recorded", message)
    else:
        yield from unanswered(entries)
