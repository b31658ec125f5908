"""Gemini `generateContent`: a request body, as REST spells it (reference providers.md C4)."""

from __future__ import annotations

from typing import Any

from compactor.core.model import Kind
from compactor.formats.talk import Asked, Medium, Native, Opaque, Piece, Reasoning, Said, Talk, Text
from compactor.formats.write.pieces import arguments, exchanges, named


def gemini(talk: Talk) -> Native:
    """A body with contents, system instruction and tools."""
    body: Native = {"model": talk.model} if talk.model else {}
    if talk.system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in talk.system]}
    if talk.tools:
        body["tools"] = _tools(talk)
    return body | {"contents": [_content(group) for group in exchanges(talk.said)]}


def _content(group: list[Said]) -> Native:
    parts = [part for said in group for part in _parts(said)]
    return {"role": "model" if group[0].kind is Kind.ASSISTANT else "user", "parts": parts}


def _parts(said: Said) -> list[Native]:
    """What an entry says; one that says nothing is an empty text."""
    if said.kind is Kind.TOOL:
        return [{"functionResponse": _response(said)}]
    return [part for part in map(_part, said.pieces) if part is not None] or [{"text": ""}]


def _response(said: Said) -> Native:
    """A response needs a name, whether its call is known or not."""
    response: Native = {"id": said.call_id, "name": said.name or "unknown"}
    response["response"] = {"error" if said.error else "output": "\n".join(said.texts)}
    media = [part for part in map(_part, said.pieces) if part is not None and "text" not in part]
    return response | {"parts": media} if media else response


def _part(piece: Piece) -> Any:
    if isinstance(piece, Text):
        return _signed({"text": piece.text}, piece.signature)
    if isinstance(piece, Asked):
        call = {"id": piece.id, "name": piece.name, "args": arguments(piece)}
        return _signed({"functionCall": call}, piece.signature)
    if isinstance(piece, Reasoning):
        return _signed({"text": piece.text, "thought": True}, piece.seal)
    return piece.native if isinstance(piece, Opaque) else _medium(piece)


def _signed(part: Native, signature: str) -> Native:
    return part | {"thoughtSignature": signature} if signature else part


def _medium(medium: Medium) -> Native:
    if medium.data:
        return {"inlineData": {"mimeType": medium.mime, "data": medium.data}}
    return {"fileData": {"mimeType": medium.mime, "fileUri": medium.url}}


def _tools(talk: Talk) -> list[Any]:
    """The functions in one tool; other tools as they are."""
    declared = [
        {**named(tool), "parametersJsonSchema": tool.parameters}
        for tool in talk.tools
        if tool.native is None
    ]
    natives = [tool.native for tool in talk.tools if tool.native is not None]
    return [{"functionDeclarations": declared}, *natives] if declared else natives
