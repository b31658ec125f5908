"""Anthropic Messages: a request body (reference providers.md C1)."""

from __future__ import annotations

from typing import Any, Final

from compactor.core.model import Kind, PartKind
from compactor.formats.talk import (
    Asked,
    Medium,
    Native,
    Opaque,
    Piece,
    Reasoning,
    Said,
    Talk,
    Text,
    Tool,
)
from compactor.formats.write.pieces import arguments, exchanges, named

MAX_TOKENS: Final = 1024
"""The API wants a limit of the answer, and no conversation says one."""


def anthropic(talk: Talk) -> Native:
    """A body with messages, system prompt and tools."""
    body: Native = {"max_tokens": MAX_TOKENS}
    if talk.model:
        body["model"] = talk.model
    if talk.system:
        is_one = len(talk.system) == 1
        body["system"] = talk.system[0] if is_one else [_text(text) for text in talk.system]
    if talk.tools:
        body["tools"] = [_tool(tool) for tool in talk.tools]
    return body | {"messages": [_message(group) for group in exchanges(talk.said)]}


def result_block(said: Said) -> Native:
    """A `tool_result`."""
    content: Any = "\n".join(said.texts) if said.is_text else _blocks(said)
    block: Native = {"type": "tool_result", "tool_use_id": said.call_id, "content": content}
    return block | {"is_error": True} if said.error else block


def turn_blocks(said: Said) -> list[Native]:
    """Reasoning, texts and calls of a model turn; a turn that says nothing is an empty text."""
    return _blocks(said) or [_text("")]


def _message(group: list[Said]) -> Native:
    first = group[0]
    if first.kind is Kind.TOOL:
        content = [
            block
            for said in group
            for block in ([result_block(said)] if said.kind is Kind.TOOL else _blocks(said))
        ]
        return {"role": "user", "content": content}
    if first.kind is Kind.ASSISTANT:
        return {"role": "assistant", "content": turn_blocks(first)}
    is_plain = first.is_text and len(first.pieces) <= 1
    return {
        "role": first.kind.value,
        "content": "".join(first.texts) if is_plain else _blocks(first),
    }


def _blocks(said: Said) -> list[Native]:
    return [block for block in map(_block, said.pieces) if block is not None]


def _block(piece: Piece) -> Any:
    if isinstance(piece, Text):
        return _text(piece.text)
    if isinstance(piece, Asked):
        head = {"type": "tool_use", "id": piece.id, "name": piece.name}
        return head | {"input": arguments(piece)}
    if isinstance(piece, Reasoning):
        if piece.redacted:
            return {"type": "redacted_thinking", "data": piece.seal}
        return {"type": "thinking", "thinking": piece.text, "signature": piece.seal}
    return piece.native if isinstance(piece, Opaque) else _medium(piece)


def _text(text: str) -> Native:
    return {"type": "text", "text": text}


def _medium(medium: Medium) -> Native:
    block: Native = {"type": "image" if medium.kind is PartKind.IMAGE else "document"}
    if medium.data:
        source = {"type": "base64", "media_type": medium.mime, "data": medium.data}
    elif medium.url:
        source = {"type": "url", "url": medium.url}
    else:
        source = {"type": "file", "file_id": medium.file_id}
    block["source"] = source
    return block | {"title": medium.name} if medium.name and block["type"] == "document" else block


def _tool(tool: Tool) -> Any:
    if tool.native is not None:
        return tool.native
    return {**named(tool), "input_schema": tool.parameters}
