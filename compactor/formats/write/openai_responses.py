"""OpenAI Responses: a request body; all that was said or done is an item (providers.md C3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compactor.core.model import Kind, PartKind
from compactor.formats.raw.objects import members
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


def openai_responses(talk: Talk) -> Native:
    """A body with items, instructions and tools."""
    body: Native = {"model": talk.model} if talk.model else {}
    if talk.system:
        body["instructions"] = "\n\n".join(talk.system)
    if talk.tools:
        body["tools"] = [_tool(tool) for tool in talk.tools]
    return body | {"input": [item for said in talk.said for item in _items(said)]}


def _items(said: Said) -> list[Any]:
    """Each thing that a model does is an item of its own, in the order of its doing."""
    if said.kind is Kind.TOOL:
        output = "\n".join(said.texts) if said.is_text else _blocks(said)
        kind = "custom_tool_call_output" if said.custom else "function_call_output"
        return [{"type": kind, "call_id": said.call_id, "output": output}]
    if said.kind is Kind.ASSISTANT:
        return list(_turn(said)) or [_message(said, "")]
    is_plain = said.is_text and len(said.pieces) <= 1
    return [_message(said, "".join(said.texts) if is_plain else _blocks(said))]


def _turn(said: Said) -> Iterator[Any]:
    for piece in said.pieces:
        if isinstance(piece, Text):
            yield _message(said, piece.text)
        elif isinstance(piece, Asked):
            yield _call(piece)
        elif isinstance(piece, Reasoning | Opaque) and piece.native is not None:
            yield {key: value for key, value in members(piece.native) if value is not None}


def _message(said: Said, content: Any) -> Native:
    return {"role": said.kind.value, "content": content}


def _blocks(said: Said) -> list[Native]:
    return [block for block in map(_block, said.pieces) if block is not None]


def _block(piece: Piece) -> Any:
    if isinstance(piece, Text):
        return {"type": "input_text", "text": piece.text}
    if isinstance(piece, Medium):
        return _image(piece) if piece.kind is PartKind.IMAGE else _file(piece)
    return piece.native if isinstance(piece, Opaque) else None


def _image(medium: Medium) -> Native:
    where = {"file_id": medium.file_id} if medium.file_id else {"image_url": url_of(medium)}
    return {"type": "input_image", **where, "detail": "auto"}


def _file(medium: Medium) -> Native:
    if medium.file_id:
        return {"type": "input_file", "file_id": medium.file_id}
    if medium.url:
        return {"type": "input_file", "file_url": medium.url}
    name = medium.name or "document.pdf"
    return {"type": "input_file", "filename": name, "file_data": url_of(medium)}


def _call(call: Asked) -> Native:
    head = {"call_id": call.id, "name": call.name}
    if call.custom:
        return {"type": "custom_tool_call", **head, "input": call.arguments}
    return {"type": "function_call", **head, "arguments": call.arguments}


def _tool(tool: Tool) -> Any:
    if tool.native is not None:
        return tool.native
    return {"type": "function", **named(tool), "parameters": tool.parameters, "strict": False}
