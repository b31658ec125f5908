"""Tells the two dialects of `{role, content}` messages apart by signs, looked up in tables.

Chat Completions has roles and keys that the Anthropic API refuses, Anthropic has calls and results
among its blocks: whichever comes first decides. Without any of these hints do: Anthropic's block
types and body keys, then a system message in the list or the model's name. What has neither (plain
texts) reads the same in both, and counts as Anthropic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compactor.formats.messages import SYSTEM_ROLES, field, listed, text_field

ANTHROPIC = "anthropic"
OPENAI_CHAT = "openai-chat"

_CHAT_ROLES = ("developer", "tool", "function")
_CHAT_KEYS = ("tool_calls", "function_call", "tool_call_id", "reasoning_content", "refusal")
_CHAT_BLOCKS = ("image_url", "input_audio")
_CHAT_BLOCK_HINTS = ("file", "refusal")
_CHAT_TOOL_KEYS = ("function", "custom")
_CHAT_FIELDS = (
    "functions",
    "frequency_penalty",
    "logit_bias",
    "max_completion_tokens",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "stream_options",
)
_ANTHROPIC_BLOCKS = ("tool_use", "tool_result")
_ANTHROPIC_BLOCK_HINTS = (
    "document",
    "image",
    "mcp_tool_use",
    "redacted_thinking",
    "search_result",
    "server_tool_use",
    "thinking",
)
_ANTHROPIC_FIELDS = (
    "anthropic_beta",
    "anthropic_version",
    "container",
    "context_management",
    "mcp_servers",
    "stop_sequences",
    "system",
    "thinking",
    "top_k",
)
_CHAT_MODELS = ("gpt", "chatgpt", "o1", "o3", "o4")


def dialect(root: Any) -> str | None:
    """The lens name of a request body or message list; None when it is neither.

    Looks at shape and names, never at lengths. O(messages + blocks), less once it is sure.
    """
    items = root if isinstance(root, list) else field(root, "messages")
    if not isinstance(items, list) or (items and not isinstance(field(items[0], "role"), str)):
        return None
    fields = root if isinstance(root, dict) else {}
    if _body_is_chat(fields):
        return OPENAI_CHAT
    anthropic, chat = _hints_anthropic(fields), _hints_chat(fields)
    for message in items:
        kinds = _kinds(message)
        if _is_chat(message, kinds):
            return OPENAI_CHAT
        if any(kind in _ANTHROPIC_BLOCKS for kind in kinds):
            return ANTHROPIC
        anthropic = anthropic or any(kind in _ANTHROPIC_BLOCK_HINTS for kind in kinds)
        chat = (
            chat
            or field(message, "role") in SYSTEM_ROLES
            or any(kind in _CHAT_BLOCK_HINTS for kind in kinds)
        )
    return OPENAI_CHAT if chat and not anthropic else ANTHROPIC


def _is_chat(message: Any, kinds: Sequence[Any]) -> bool:
    return (
        field(message, "role") in _CHAT_ROLES
        or any(field(message, key) is not None for key in _CHAT_KEYS)
        or any(kind in _CHAT_BLOCKS for kind in kinds)
    )


def _kinds(message: Any) -> Sequence[Any]:
    content = field(message, "content")
    return [field(block, "type") for block in content] if isinstance(content, list) else ()


def _body_is_chat(fields: Mapping[str, Any]) -> bool:
    return any(fields.get(key) is not None for key in _CHAT_FIELDS) or any(
        isinstance(field(tool, key), dict)
        for tool in listed(fields.get("tools"))
        for key in _CHAT_TOOL_KEYS
    )


def _hints_anthropic(fields: Mapping[str, Any]) -> bool:
    return any(fields.get(key) is not None for key in _ANTHROPIC_FIELDS) or any(
        field(tool, "input_schema") is not None for tool in listed(fields.get("tools"))
    )


def _hints_chat(fields: Mapping[str, Any]) -> bool:
    name = text_field(fields, "model").rpartition("/")[2]
    return name.startswith(_CHAT_MODELS)
