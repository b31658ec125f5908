"""Tells a `Conversation` to the writers of formats, and writes what only tests need.

The writers are those of `compactor.formats.write`. Here is what a test's facts are in their terms:
reasoning as the provider of each format would have signed it, pictures at addresses it takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from compactor.core.model import Kind, PartKind
from compactor.formats.talk import Asked, Medium, Native, Piece, Reasoning, Said, Talk, Text, Tool
from compactor.formats.write.anthropic import result_block, turn_blocks
from compactor.testing.facts import ASSISTANT, SIGNATURE, TOOL, Fact, Telling

_FAMILY: Mapping[str, str] = MappingProxyType(
    {
        "anthropic": "anthropic",
        "bedrock": "anthropic",
        "claude-code": "anthropic",
        "openai-responses": "openai",
        "gemini": "gemini",
        "openai-chat": "chat",
    }
)
"""Format → whose reasoning is in it."""


def told(talk: Telling, name: str) -> Talk:
    """A conversation for the writer of a format."""
    names: dict[str, str] = {}
    said: list[Said] = []
    for number, fact in enumerate(talk.facts):
        said.append(_said(fact, number, name, names))
        names |= {call.id: call.name for call in fact.calls}
    tools = (Tool(t["name"], t["description"], t["parameters"]) for t in talk.tools)
    system = (talk.system_prompt,) if talk.system_prompt else ()
    return Talk(tuple(said), system, tuple(tools), talk.model)


def claude_code(talk: Telling) -> bytes:
    """A session file. Each block and each result has a line; a result hangs on that of its call.

    A line that is no message comes first, as in real files: one line alone would be plain JSON.
    """
    rows: list[Native] = [{"type": "summary", "summary": "", "leafUuid": ""}]
    made_by: dict[str, str] = {}
    last: str | None = None
    for number, said in enumerate(told(talk, "claude-code").said, 1):
        for message in _claude_messages(said, number, talk.model):
            block = message["content"][0] if isinstance(message["content"], list) else {}
            parent = made_by.get(block.get("tool_use_id", ""), last)
            last = f"line-{len(rows)}"
            if block.get("type") == "tool_use":
                made_by[block["id"]] = last
            row = {"parentUuid": parent, "isSidechain": False, "sessionId": "session-1"}
            rows.append(row | {"type": message["role"], "message": message, "uuid": last})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _claude_messages(said: Said, number: int, model: str) -> list[Native]:
    if said.kind is Kind.USER:
        return [{"role": "user", "content": "".join(said.texts)}]
    if said.kind is Kind.TOOL:
        return [{"role": "user", "content": [result_block(said)]}]
    head = {"id": f"message-{number}", "type": "message", "role": ASSISTANT, "model": model}
    return [head | {"content": [block]} for block in turn_blocks(said)]


def _said(fact: Fact, number: int, name: str, names: Mapping[str, str]) -> Said:
    if fact.kind == TOOL:
        text: tuple[Piece, ...] = (Text(fact.text),) if fact.text else ()
        pictures = (_picture(index, name) for index in range(fact.images))
        tool = names.get(fact.call_id, "unknown")
        return Said(Kind.TOOL, (*text, *pictures), number, fact.call_id, tool, fact.error)
    if fact.kind != ASSISTANT:
        return Said(Kind(fact.kind), (Text(fact.text),), number)
    pieces: list[Piece] = [_reasoning(fact, number, name)] if fact.reasoning else []
    pieces += [Text(fact.text)] if fact.text else []
    pieces += [Asked(c.id, c.name, json.dumps(dict(c.arguments))) for c in fact.calls]
    return Said(Kind.ASSISTANT, tuple(pieces), number)


def _reasoning(fact: Fact, number: int, name: str) -> Reasoning:
    """Reasoning as the provider of a format would give it back."""
    family = _FAMILY.get(name, "")
    summary = [{"type": "summary_text", "text": fact.reasoning}]
    item = {"type": "reasoning", "id": f"rs_{number}", "summary": summary}
    seal = SIGNATURE if family == "anthropic" else ""
    return Reasoning(fact.reasoning, family, seal, native=item if family == "openai" else None)


def _picture(number: int, name: str) -> Medium:
    """A picture of unknown size; Bedrock takes those of its own store only."""
    store = "s3://example" if name == "bedrock" else "https://example.com"
    return Medium(PartKind.IMAGE, "image/png", url=f"{store}/{number}.png")
