"""OpenAI Chat Completions: a request body (reference providers.md C2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

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
from compactor.formats.write.pieces import named, url_of


def openai_chat(talk: Talk) -> Native:
    """A body with messages, the system prompt first, and tools."""
    body: Native = {"model": talk.model} if talk.model else {}
    if talk.tools:
        body["tools"] = [_tool(tool) for tool in talk.tools]
    lead = [{"role": "system", "content": text} for text in talk.system]
    return body | {"messages": [*lead, *map(_message, talk.said)]}


def _message(said: Said) -> Native:
    if said.kind is Kind.TOOL:
        content = "\n".join(said.texts) if said.is_text else _parts(said.pieces)
        return {"role": "tool", "tool_call_id": said.call_id, "content": content}
    spoken = [p for p in said.pieces if not isinstance(p, Asked | Reasoning)]
    message: Native = {"role": said.kind.value, "content": _content(spoken)}
    thoughts = [piece.text for piece in said.pieces if isinstance(piece, Reasoning)]
    if thoughts:
        message["reasoning_content"] = "\n".join(thoughts)
    if said.calls:
        message["content"] = message["content"] or None
        message["tool_calls"] = [_call(call) for call in said.calls]
    return message


def _content(pieces: Sequence[Piece]) -> Any:
    """One text stays one, several are parts."""
    if len(pieces) == 1 and isinstance(pieces[0], Text):
        return pieces[0].text
    return _parts(pieces) or ""


def _parts(pieces: Iterable[Piece]) -> list[Native]:
    return [part for part in map(_part, pieces) if part is not None]


def _part(piece: Piece) -> Any:
    if isinstance(piece, Text):
        return {"type": "text", "text": piece.text}
    if isinstance(piece, Medium):
        return _medium(piece)
    return piece.native if isinstance(piece, Opaque) else None


def _medium(medium: Medium) -> Native:
    if medium.kind is PartKind.IMAGE:
        return {"type": "image_url", "image_url": {"url": url_of(medium)}}
    kind, _, name = medium.mime.partition("/")
    if kind == "audio":
        audio = {"data": medium.data, "format": "mp3" if name == "mpeg" else name}
        return {"type": "input_audio", "input_audio": audio}
    if medium.file_id:
        return {"type": "file", "file": {"file_id": medium.file_id}}
    file = {"filename": medium.name or "document.pdf", "file_data": url_of(medium)}
    return {"type": "file", "file": file}


def _call(call: Asked) -> Native:
    if call.custom:
        custom = {"name": call.name, "input": call.arguments}
        return {"id": call.id, "type": "custom", "custom": custom}
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _tool(tool: Tool) -> Any:
    if tool.native is not None:
        return tool.native
    return {"type": "function", "function": {**named(tool), "parameters": tool.parameters}}
