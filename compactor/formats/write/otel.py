"""OpenTelemetry's GenAI messages, as the attributes of a span or an event.

Shapes: the JSON schemas `gen-ai-input-messages`, `gen-ai-system-instructions` and
`gen-ai-tool-definitions` of open-telemetry/semantic-conventions-genai (v0.1.0). Roles, parts and
their keys are theirs; nothing is added to them.
"""

from __future__ import annotations

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
from compactor.formats.write.pieces import arguments, named

INSTRUCTIONS, MESSAGES, TOOLS, MODEL = (
    *("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.tool.definitions"),
    "gen_ai.request.model",
)


def otel(talk: Talk) -> Native:
    """An object of attributes; the messages are those of the next request."""
    attributes: Native = {MODEL: talk.model} if talk.model else {}
    if talk.system:
        attributes[INSTRUCTIONS] = [_text(text) for text in talk.system]
    if talk.tools:
        attributes[TOOLS] = [_tool(tool) for tool in talk.tools]
    return attributes | {MESSAGES: [_message(said) for said in talk.said]}


def _tool(tool: Tool) -> Any:
    if tool.native is not None:
        return tool.native
    return {"type": "function", **named(tool), "parameters": tool.parameters}


def _message(said: Said) -> Native:
    if said.kind is not Kind.TOOL:
        return {"role": said.kind.value, "parts": _parts(said)}
    response: Any = "\n".join(said.texts) if said.is_text else _parts(said)
    part = {"type": "tool_call_response", "id": said.call_id, "response": response}
    return {"role": "tool", "parts": [part]}


def _parts(said: Said) -> list[Native]:
    return [part for part in map(_part, said.pieces) if part is not None]


def _part(piece: Piece) -> Any:
    if isinstance(piece, Text):
        return _text(piece.text)
    if isinstance(piece, Asked):
        head = {"type": "tool_call", "id": piece.id, "name": piece.name}
        return head | {"arguments": arguments(piece)} if piece.arguments else head
    if isinstance(piece, Reasoning):
        return {"type": "reasoning", "content": piece.text}
    return piece.native if isinstance(piece, Opaque) else _medium(piece)


def _text(text: str) -> Native:
    return {"type": "text", "content": text}


def _medium(medium: Medium) -> Native:
    """Inline data, an address or a provider's file."""
    head: Native = {"modality": _modality(medium)}
    if medium.mime:
        head["mime_type"] = medium.mime
    if medium.data:
        return {"type": "blob", **head, "content": medium.data}
    if medium.url:
        return {"type": "uri", **head, "uri": medium.url}
    return {"type": "file", **head, "file_id": medium.file_id}


def _modality(medium: Medium) -> str:
    if medium.kind is PartKind.IMAGE:
        return "image"
    kind = medium.mime.partition("/")[0]
    return kind if kind in ("audio", "video") else "document"
