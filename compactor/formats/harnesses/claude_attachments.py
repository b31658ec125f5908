"""What Claude Code puts into a request beside the messages: `attachment` lines.

An attachment is no message but costs tokens: the harness sends it as text of a user message. Some
keep that text in the file, each kind in a place of its own (the table); of others (reminders) the
file holds only that they were there. That the texts are in the prompt shows in recorded usage: a
request after an `edited_text_file` of 8,200 characters had grown by 3,900 tokens. The few words
that the harness puts around a text are in no file and are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from compactor.core.model import Path
from compactor.formats.messages import field, listed, text_field

TEXT_OF: Mapping[str, Path] = MappingProxyType(
    {
        "agent_listing_delta": ("addedLines",),
        "deferred_tools_delta": ("addedLines",),
        "directory": ("content",),
        "edited_text_file": ("snippet",),
        "file": ("content", "file", "content"),
        "hook_additional_context": ("content",),
        "hook_success": ("content",),
        "invoked_skills": ("skills", "content"),
        "mcp_instructions_delta": ("addedBlocks",),
        "nested_memory": ("content", "content"),
        "plan_file_reference": ("planContent",),
        "queued_command": ("prompt",),
        "selected_lines_in_ide": ("content",),
        "skill_listing": ("content",),
    }
)
"""Attachment type → where it keeps the text that the model gets."""

CLIENT_ONLY = frozenset({"command_permissions", "hook_system_message"})
"""Attachments that the model never gets."""


def attachment_texts(attachment: Any) -> list[str] | None:
    """The texts that an attachment adds to the prompt, without empty ones; None when unknown."""
    kind = text_field(attachment, "type")
    if kind in CLIENT_ONLY:
        return []
    if kind not in TEXT_OF:
        return None
    return [text for text in _texts(attachment, TEXT_OF[kind]) if text]


def _texts(native: Any, path: Path) -> Iterator[str]:
    """Texts at a path; a list on the way, or at its end, stands for its items."""
    found = [native]
    for key in path:
        found = [field(item, str(key)) for value in found for item in listed(value)]
    for value in found:
        for item in listed(value):
            yield item if isinstance(item, str) else text_field(item, "text")
