"""The format-neutral shape: a list of entries (CONFORMANCE, Entries)."""

from __future__ import annotations

from compactor.core.model import Kind, PartKind
from compactor.formats.talk import Medium, Native, Opaque, Said, Talk


def entries(talk: Talk) -> list[Native]:
    """One object an entry; keys that say nothing are left out."""
    return [_entry(said) for said in talk.said]


def _entry(said: Said) -> Native:
    text = "\n".join(said.texts)
    if said.kind is Kind.TOOL:
        return _result(said, text)
    if said.kind is not Kind.ASSISTANT:
        return {"kind": said.kind.value, "text": text}
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in said.calls]
    return {"kind": said.kind.value, "text": text, "calls": calls}


def _result(said: Said, text: str) -> Native:
    entry: Native = {"kind": said.kind.value, "call": said.call_id, "text": text}
    if said.error:
        entry["error"] = True
    media = [piece for piece in said.pieces if isinstance(piece, Medium | Opaque)]
    images = sum(piece.kind is PartKind.IMAGE for piece in media)
    return entry | {"images": images} if images else entry
