"""The rows of pi sessions that are in a prompt: what each says, and what a turn used.

Two tables are the documentation: `ROLES` of messages, and `ROWS` that are no messages and in the
prompt all the same. Whatever is no turn and no result is a user message.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Part, PartKind, Path, Usage
from compactor.formats import blocks
from compactor.formats.blocks import Readers, block_part, content_parts, result_facts
from compactor.formats.builder import Builder
from compactor.formats.harnesses.pi_tree import COMPACTION, MESSAGE, Row
from compactor.formats.media import digest_of, image_part
from compactor.formats.messages import field, text_field
from compactor.formats.raw.edits import dotted
from compactor.formats.recorded import count_of, time_ms

TURN, _RESULT, _COMMAND = "assistant", "toolResult", "bashExecution"
OF_PI = (_RESULT, _COMMAND, "custom", "hookMessage")
"""Roles that only pi writes."""
_DROPPED = ("aborted", "error")


def role_of(row: Any) -> str:
    return text_field(field(row, "message"), "role") if text_field(row, "type") == MESSAGE else ""


def speaks(row: Any) -> bool:
    """Whether a row holds a message of the conversation."""
    role = role_of(row)
    return role == TURN or role in ROLES


def is_dropped(message: Row) -> bool:
    """Whether a turn failed or was stopped, and so is in no later request."""
    return message.get("stopReason") in _DROPPED


def usage_of(row: Row, n: int) -> Usage:
    """pi counts what was cached beside the input; a message has the time of its request."""
    message = row["message"]
    native = message.get("usage")
    return Usage(
        n=n,
        input=count_of(native, "input"),
        cache_read=count_of(native, "cacheRead"),
        cache_write=count_of(native, "cacheWrite"),
        output=count_of(native, "output"),
        model=text_field(message, "model"),
        time_ms=time_ms(row.get("timestamp")) or time_ms(message.get("timestamp")),
    )


def turn_facts(builder: Builder, content: Any, at: Path) -> tuple[list[Part], list[Call]]:
    inner = (*at, "content")
    if not isinstance(content, list):
        return content_parts(builder, content, inner, READERS), []
    parts: list[Part] = []
    calls: list[Call] = []
    for index, block in enumerate(content):
        here = (*inner, index)
        if field(block, "type") == "toolCall":
            arguments = blocks.arguments_text(field(block, "arguments"))
            name = text_field(block, "name")
            calls.append(Call(text_field(block, "id"), name, arguments, (*here, "arguments")))
        else:
            parts.append(block_part(builder, block, here, READERS))
    return parts, calls


def _say_user(builder: Builder, message: Row, at: Path) -> None:
    content = message.get("content")
    builder.user(content_parts(builder, content, (*at, "content"), READERS), at)


def _say_result(builder: Builder, message: Row, at: Path) -> None:
    content = message.get("content")
    texts, others, is_odd = result_facts(builder, content, (*at, "content"), READERS)
    builder.result(
        text_field(message, "toolCallId"),
        texts,
        others,
        at,
        error=message.get("isError") is True,
        required=is_odd,
        orphan_path=dotted(at),
    )


def _say_command(builder: Builder, message: Row, at: Path) -> None:
    """A command that the user ran, unless it was to stay out of the prompt."""
    if message.get("excludeFromContext") is not True:
        texts = (text_field(message, key) for key in ("command", "output"))
        builder.user([Part(PartKind.TEXT, text) for text in texts], at)


def _say_summary(builder: Builder, row: Row, at: Path) -> None:
    builder.user([Part(PartKind.TEXT, text_field(row, "summary"))], at)


def _thinking(block: Any) -> Part:
    """Reasoning as text; where the provider keeps that sealed, its seal."""
    text, seal = text_field(block, "thinking"), text_field(block, "thinkingSignature")
    if text or not seal:
        return Part(PartKind.REASONING, text)
    return Part(PartKind.SEALED, size=len(seal), digest=digest_of(seal))


def _image(block: Any) -> Part:
    return image_part(text_field(block, "data"))


READERS: Readers = MappingProxyType({"thinking": _thinking, "image": _image})

_Say = Callable[[Builder, Row, Path], None]

ROLES: Mapping[str, _Say] = MappingProxyType(
    {
        "user": _say_user,
        "custom": _say_user,
        "hookMessage": _say_user,
        _RESULT: _say_result,
        _COMMAND: _say_command,
        "branchSummary": _say_summary,
        "compactionSummary": _say_summary,
    }
)
"""Role of a message, turns aside → what it says."""

ROWS: Mapping[str, _Say] = MappingProxyType(
    {
        COMPACTION: _say_summary,
        "branch_summary": _say_summary,
        "custom_message": _say_user,
    }
)
"""Row that is no message and still in the prompt → what it says."""
