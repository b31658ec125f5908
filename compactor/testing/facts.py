"""The facts that `Conversation` collects and that writers put into words (`compactor.testing`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

USER, ASSISTANT, TOOL, SYSTEM = "user", "assistant", "tool", "system"
SIGNATURE = "c2lnbmF0dXJl"


class ToolCall(NamedTuple):
    """A call for `Conversation.parallel`; fields as the arguments of `Conversation.call`."""

    name: str
    arguments: Mapping[str, Any] = MappingProxyType({})
    result: str | None = ""
    error: bool = False
    images: int = 0
    id: str = ""


class Fact(NamedTuple):
    """What was said: one message of a person, a model or the system, or one tool result.

    kind: user, assistant, tool or system.
    call_id, error, images: of a tool result.
    reasoning, calls: of a model turn.
    """

    kind: str
    text: str
    call_id: str = ""
    error: bool = False
    images: int = 0
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()


class Telling(Protocol):
    """A conversation, as those see it who tell it to writers."""

    facts: list[Fact]
    system_prompt: str
    tools: tuple[Mapping[str, Any], ...]
    model: str
