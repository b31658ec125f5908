"""Factory Droid sessions (`~/.factory/sessions/…/*.jsonl`).

A row `{type: "message"}` holds an Anthropic message, read and rewritten by that format's functions.
The prompt has the rows in the order of the file. A row `compaction_state` stands for what lies
before its anchor, the anchor included; its summary comes first, then what was kept, then what
followed. System prompt, tools and usage are in no session. Specification: DESIGN section 3,
docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactor.core.errors import Finding
from compactor.core.model import Overhead, Part, PartKind, Path, Reading
from compactor.formats.block_lens import SignedBlocks
from compactor.formats.builder import Builder
from compactor.formats.lens_bases import RowLens
from compactor.formats.messages import field, shape_error, text_field
from compactor.formats.providers.anthropic import say_user, turn_facts
from compactor.formats.recorded import compacted, items, unanswered, unreadable

_START, _MESSAGE, _COMPACTION = "session_start", "message", "compaction_state"
_TURN, _PROMPT = "assistant", "user"
_NOT_SENT = "user_only"


class FactoryDroid(SignedBlocks, RowLens):
    """The lens of Factory Droid sessions. A subagent's session is a file of its own."""

    name = "factory-droid"

    def recognises(self, root: Any) -> bool:
        return any(
            text_field(row, "type") == _START and bool(text_field(row, "id")) for row in items(root)
        )

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: a new row can stand for old ones. O(n).

        Raises:
            InputError: `input.shape` when it is no session.
        """
        if not self.recognises(root):
            raise shape_error((), "no message of a Factory Droid session")
        rows = items(root)
        live = _live(rows)
        builder = Builder()
        if live.summary is not None:
            summary = text_field(rows[live.summary], "summaryText")
            builder.user([Part(PartKind.TEXT, summary)], (live.summary,))
        for index in live.rows:
            _say(builder, rows[index]["message"], (index, "message"))
        odd = [(i,) for i, row in enumerate(rows) if _is_odd(row)]
        return Reading(
            entries=builder.entries,
            overhead=Overhead(),
            findings=[
                *builder.findings,
                *unanswered(builder.entries),
                *compacted(live.before, "messages"),
                *live.findings,
                *unreadable(odd, "rows"),
            ],
            model=next((m for m in map(_model, reversed(rows)) if m), ""),
        )


class _Live:
    """What of a session the next request carries.

    summary: the row of the compaction it begins with; None when there was none.
    rows: the rows of its messages.
    before: how many messages the summary stands for.
    """

    def __init__(self) -> None:
        self.summary: int | None = None
        self.rows: list[int] = []
        self.before = 0
        self.findings: list[Finding] = []


def _live(rows: Sequence[Any]) -> _Live:
    """Follows the rows in order. O(rows)."""
    live = _Live()
    for index, row in enumerate(rows):
        if text_field(row, "type") == _COMPACTION:
            kept = _kept(rows, live, row)
            live.before += len(live.rows) - len(kept)
            live.summary, live.rows = index, kept
        elif _role(row) and field(row, "visibility") != _NOT_SENT:
            live.rows.append(index)
    return live


def _kept(rows: Sequence[Any], live: _Live, compaction: Any) -> list[int]:
    """The rows behind the anchor of a compaction; none where it names none."""
    anchor = text_field(field(compaction, "anchorMessage"), "id")
    if not anchor:
        return []
    for place in range(len(live.rows) - 1, -1, -1):
        if text_field(rows[live.rows[place]], "id") == anchor:
            return live.rows[place + 1 :]
    message = "the message that a compaction reached to is not in the file"
    live.findings.append(Finding("preserved_missing", message))
    return []


def _say(builder: Builder, message: Any, at: Path) -> None:
    if message["role"] != _TURN:
        say_user(builder, message.get("content"), at)
        return
    parts, calls = turn_facts(builder, message.get("content"), (*at, "content"))
    reasoning = text_field(message, "chatCompletionReasoningContent")
    builder.turn([Part(PartKind.REASONING, reasoning), *parts], calls, at)


def _role(row: Any) -> str:
    """Who speaks in a row; "" where nobody does."""
    message = field(row, "message") if text_field(row, "type") == _MESSAGE else None
    role = text_field(message, "role") if isinstance(message, dict) else ""
    has_content = isinstance(field(message, "content"), (str, list))
    return role if role in (_TURN, _PROMPT) and has_content else ""


def _is_odd(row: Any) -> bool:
    return text_field(row, "type") == _MESSAGE and not _role(row)


def _model(row: Any) -> str:
    return text_field(field(row, "message"), "model")
