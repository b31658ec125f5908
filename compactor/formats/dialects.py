"""Tells the dialects of message lists apart by signs, looked up in tables.

Gemini has `parts`. Of `{role, content}` messages Chat Completions has roles and keys that the
Anthropic API refuses, Anthropic has calls and results among its blocks, Converse has blocks without
a type: whichever comes first decides. Without any of these hints do: Converse's body keys, then
Anthropic's block types and body keys, then a system message in the list or the model's name. What
has neither (plain texts) reads the same in all, and counts as Anthropic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from compactor.formats.messages import SYSTEM_ROLES, field, listed, text_field

ANTHROPIC = "anthropic"
BEDROCK = "bedrock"
GEMINI = "gemini"
OPENAI_CHAT = "openai-chat"
OPENAI_RESPONSES = "openai-responses"

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
_CONVERSE_BLOCKS = (
    *("text", "toolUse", "toolResult", "reasoningContent", "cachePoint", "image", "document"),
    *("video", "audio", "guardContent", "citationsContent", "searchResult"),
)
_CONVERSE_FIELDS = (
    *("modelId", "toolConfig", "inferenceConfig", "guardrailConfig"),
    *("additionalModelRequestFields", "additionalModelResponseFieldPaths", "performanceConfig"),
)
_CHAT_MODELS = ("gpt", "chatgpt", "o1", "o3", "o4")
_THOUGHTS = ("summary", "content", "encrypted_content")
"""Keys of which an item of reasoning or of a compaction has one at least."""
_RESPONSES_BLOCKS = ("input_text", "output_text", "input_image", "input_file")


def dialect(root: Any) -> str | None:
    """The lens name of a request body or message list; None when it is neither.

    Looks at shape and names, never at lengths. O(messages + blocks), less once it is sure.
    """
    if _is_gemini(root):
        return GEMINI
    items = root if isinstance(root, list) else field(root, "messages")
    if not isinstance(items, list) or (items and not _is_message(items[0])):
        return None
    if items is root and items and not _says(items[0]):
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
        if _is_converse(message):
            return BEDROCK
        anthropic = anthropic or any(kind in _ANTHROPIC_BLOCK_HINTS for kind in kinds)
        chat = (
            chat
            or field(message, "role") in SYSTEM_ROLES
            or any(kind in _CHAT_BLOCK_HINTS for kind in kinds)
        )
    if any(fields.get(key) is not None for key in _CONVERSE_FIELDS):
        return BEDROCK
    return OPENAI_CHAT if chat and not anthropic else ANTHROPIC


def is_responses(root: Any, item_types: Collection[str]) -> bool:
    """Whether a root is a Responses request or a list of its items.

    A body has `input` where others have `messages`. In a bare list the first item decides that only
    one dialect can hold; `message` does not, as it is the type of Anthropic's answers too. Behind
    an item of another type than the API's stand lines of some program, and none of these items.
    """
    if isinstance(root, dict):
        items = root.get("input")
        if isinstance(items, list) and not isinstance(root.get("messages"), list):
            return not items or _is_item(items[0], item_types)
        return isinstance(items, str) and isinstance(root.get("model"), str)
    for item in root if isinstance(root, list) else ():
        kinds = _kinds(item)
        if _is_responses(item, kinds, item_types):
            return True
        if isinstance(field(item, "type"), str) and field(item, "type") not in item_types:
            return False
        is_leading = field(item, "role") in SYSTEM_ROLES  # `developer` is a role of both
        if (not is_leading and _is_chat(item, kinds)) or any(k in _ANTHROPIC_BLOCKS for k in kinds):
            return False
    return False


def _is_item(item: Any, item_types: Collection[str]) -> bool:
    kind = field(item, "type")
    return (isinstance(kind, str) and kind in item_types) or isinstance(field(item, "role"), str)


def _is_responses(item: Any, kinds: Sequence[Any], item_types: Collection[str]) -> bool:
    kind = field(item, "type")
    if kind == "message":
        has_text = isinstance(field(item, "content"), str)
        return has_text or any(kind in _RESPONSES_BLOCKS for kind in kinds)
    is_typed = isinstance(kind, str) and kind in item_types
    if kind in ("reasoning", "compaction"):  # words of many programs
        is_typed = any(field(item, key) is not None for key in _THOUGHTS)
    return is_typed or any(kind in _RESPONSES_BLOCKS for kind in kinds)


def _is_message(item: Any) -> bool:
    """Whether an item can begin one of these lists; UI frameworks have typed `parts` instead."""
    if field(item, "content") is None and isinstance(field(item, "parts"), list):
        return False
    return isinstance(field(item, "role"), str)


def _says(item: Any) -> bool:
    """Whether a message holds anything: of a list alone only that tells messages from records."""
    return any(field(item, key) is not None for key in ("content", "audio", *_CHAT_KEYS))


def _is_gemini(root: Any) -> bool:
    """Contents, whose parts have no type: other lists of messages with `parts` say one."""
    items = root if isinstance(root, list) else field(root, "contents")
    if not isinstance(items, list):
        return False
    if not items:
        return not isinstance(root, list)
    parts = field(items[0], "parts")
    return isinstance(parts, list) and all(field(part, "type") is None for part in parts)


def _is_converse(message: Any) -> bool:
    content = field(message, "content")
    return isinstance(content, list) and any(
        field(block, "type") is None and field(block, key) is not None
        for block in content
        for key in _CONVERSE_BLOCKS
    )


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
