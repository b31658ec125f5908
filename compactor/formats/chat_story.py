"""What lenses of recorded chats share: messages in the shape of Chat Completions, and their texts.

Messages are told one by one, where a format has more to say of some of them; leading system
messages are overhead. What is no message of that shape is said and left out, as the rest of a
recording can still be read. Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compactor.core.model import Path
from compactor.formats.builder import Builder
from compactor.formats.messages import SYSTEM_ROLES, field, listed, text_field
from compactor.formats.providers.openai_chat import ROLES, OpenAIChat
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import compact_json
from compactor.formats.raw.objects import is_object

CHAT = OpenAIChat()
ROW_IDS = ("id", "traj_id", "trajectory_id", "instance_id", "custom_id", "uuid")
"""What rows of conversations are known by, the first that is there."""


class ChatStory:
    """Tells messages one by one, oldest first.

    builder: what they are told to.
    system: texts of the leading system messages.
    """

    def __init__(self) -> None:
        self.builder = Builder()
        self.system: list[str] = []

    def tell(self, message: Any, at: Path) -> None:
        """Say one message."""
        role = field(message, "role")
        if role in SYSTEM_ROLES and not self.builder.size:
            self.system += texts_of(field(message, "content"))
        elif isinstance(role, str) and role in ROLES:
            CHAT.message(self.builder, message, at)
        else:
            self.builder.report("unknown_line", "not a message of a conversation", dotted(at))


def is_chat(messages: Any) -> bool:
    """Whether this is a list of messages with roles that Chat Completions knows. O(messages)."""
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(is_object(m) and text_field(m, "role") in ROLES for m in messages)
    )


def texts_of(content: Any) -> Iterator[str]:
    """The texts of a content: a string, or blocks, of which one without text counts as its JSON."""
    for block in listed(content):
        text = block if isinstance(block, str) else field(block, "text")
        yield text if isinstance(text, str) else compact_json(block)


def row_tools(*holders: Any) -> dict[str, Any]:
    """The tools that a row of a data set brings, as a request body has them."""
    pairs = ((key, field(holder, key)) for holder in holders for key in ("tools", "functions"))
    return {key: tools for key, tools in pairs if isinstance(tools, list)}
