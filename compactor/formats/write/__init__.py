"""Writers: a conversation in the words of a format. One file a format, one row a writer.

A writer only puts into words: it checks, repairs and leaves out nothing, and what its format has no
words for is not there any more (`formats.convert.fit`). What it gives is plain Python values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from compactor.formats.talk import Talk
from compactor.formats.write.anthropic import anthropic
from compactor.formats.write.bedrock import bedrock
from compactor.formats.write.entries import entries
from compactor.formats.write.gemini import gemini
from compactor.formats.write.openai_chat import openai_chat
from compactor.formats.write.openai_responses import openai_responses
from compactor.formats.write.otel import otel

WRITERS: Mapping[str, Callable[[Talk], Any]] = MappingProxyType(
    {
        "anthropic": anthropic,
        "openai-chat": openai_chat,
        "openai-responses": openai_responses,
        "gemini": gemini,
        "bedrock": bedrock,
        "entries": entries,
        "otel": otel,
    }
)
"""What a conversation can be written as → its writer."""
