"""Amazon Bedrock Converse: a request body, bytes as base64 as its REST API has them (C5)."""

from __future__ import annotations

import re
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

FORMATS: Final = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
    "application/pdf": "pdf",
    "text/csv": "csv",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
"""IANA type → Converse's name of the format."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9()\[\] -]| (?= )")
_NAME_CHARS: Final = 180


def bedrock(talk: Talk) -> Native:
    """A body with messages, system prompt and tools."""
    body: Native = {"modelId": talk.model} if talk.model else {}
    if talk.system:
        body["system"] = [{"text": text} for text in talk.system]
    if talk.tools:
        body["toolConfig"] = {"tools": [_tool(tool) for tool in talk.tools]}
    names: dict[str, int] = {}
    return body | {"messages": [_message(group, names) for group in exchanges(talk.said)]}


def _message(group: list[Said], names: dict[str, int]) -> Native:
    role = "user" if group[0].kind is Kind.TOOL else group[0].kind.value
    return {"role": role, "content": [block for said in group for block in _blocks(said, names)]}


def _blocks(said: Said, names: dict[str, int]) -> list[Native]:
    """What an entry says; one that says nothing is an empty text."""
    made = (_block(piece, names) for piece in said.pieces)
    blocks = [block for block in made if block is not None]
    if said.kind is not Kind.TOOL:
        return blocks or [{"text": ""}]
    result: Native = {"toolUseId": said.call_id, "content": blocks}
    return [{"toolResult": result | {"status": "error"} if said.error else result}]


def _block(piece: Piece, names: dict[str, int]) -> Any:
    if isinstance(piece, Text):
        return {"text": piece.text}
    if isinstance(piece, Asked):
        call = {"toolUseId": piece.id, "name": piece.name, "input": arguments(piece)}
        return {"toolUse": call}
    if isinstance(piece, Reasoning):
        return {"reasoningContent": _reasoning(piece)}
    return piece.native if isinstance(piece, Opaque) else _medium(piece, names)


def _reasoning(piece: Reasoning) -> Native:
    if piece.redacted:
        return {"redactedContent": piece.seal}
    text = {"text": piece.text}
    return {"reasoningText": text | {"signature": piece.seal} if piece.seal else text}


def _medium(medium: Medium, names: dict[str, int]) -> Native:
    source: Native = {"bytes": medium.data}
    if not medium.data:
        source = {"s3Location": {"uri": medium.url}}
    block = {"format": FORMATS.get(medium.mime, "txt"), "source": source}
    if medium.kind is PartKind.IMAGE:
        return {"image": block}
    return {"document": {"name": _name(medium.name, names), **block}}


def _name(name: str, names: dict[str, int]) -> str:
    """A document's name: of few characters, and another one for each document."""
    name = _NOT_IN_NAMES.sub("-", name)[:_NAME_CHARS].strip() or "document"
    names[name] = names.get(name, 0) + 1
    return name if names[name] == 1 else f"{name} ({names[name]})"


def _tool(tool: Tool) -> Any:
    if tool.native is not None:
        return tool.native
    return {"toolSpec": {**named(tool), "inputSchema": {"json": tool.parameters}}}
