"""Lines as Claude Code writes them, as small as they can be, and entries as plain tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactor.core.model import Kind, PartKind, Reading, Usage
from compactor.formats.harnesses.claude_code import ClaudeCode
from compactor.formats.raw.native import Rows

Json = dict[str, Any]


def shown(reading: Reading) -> list[tuple[Any, ...]]:
    """(user, texts), (assistant, texts, call ids), (tool, call id, body)."""
    rows: list[tuple[Any, ...]] = []
    for entry in reading.entries:
        texts = [p.text for p in entry.parts if p.kind in (PartKind.TEXT, PartKind.REASONING)]
        if entry.kind is Kind.TOOL:
            rows.append(("tool", entry.call_id, entry.body))
        elif entry.kind is Kind.ASSISTANT:
            rows.append(("assistant", texts, [call.id for call in entry.calls]))
        else:
            rows.append((entry.kind.value, texts))
    return rows


def read(*rows: Json, thread: str = "") -> Reading:
    return ClaudeCode(thread).read(Rows(rows))


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def line(kind: str, uuid: str | None, parent: str | None, **more: Any) -> Json:
    link = {} if uuid is None else {"uuid": uuid, "parentUuid": parent}
    return {"type": kind, **link, "isSidechain": False, **more}


def prompt(uuid: str | None, parent: str | None, content: Any, **more: Any) -> Json:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **more)


def said(uuid: str | None, parent: str | None, text: str, of: str = "", **message: Any) -> Json:
    return turn(uuid, parent, {"type": "text", "text": text}, of or f"m-{uuid}", **message)


def call(uuid: str | None, parent: str | None, call_id: str, of: str = "", **message: Any) -> Json:
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": call_id}}
    return turn(uuid, parent, block, of or f"m-{uuid}", **message)


def turn(uuid: str | None, parent: str | None, block: Json, of: str, **message: Any) -> Json:
    message = {"id": of, "role": "assistant", "model": "m", "content": [block], **message}
    return line("assistant", uuid, parent, message=message)


def result(uuid: str | None, parent: str | None, call_id: str, content: Any = "ok") -> Json:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return prompt(uuid, parent, [block], toolUseResult={"stdout": content})


def attachment(uuid: str, parent: str, kind: str, **fields: Any) -> Json:
    return line("attachment", uuid, parent, attachment={"type": kind, **fields})


def compacted(uuid: str, logical: str | None, **meta: Any) -> Json:
    more = {"logicalParentUuid": logical, "compactMetadata": {"trigger": "auto", **meta}}
    return line("system", uuid, None, subtype="compact_boundary", **more)


def summary(uuid: str, parent: str) -> Json:
    flags = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    return prompt(uuid, parent, "so far", **flags)


def microcompacted(uuid: str, parent: str, *calls: str, lines: Sequence[str] = ()) -> Json:
    meta = {"compactedToolIds": list(calls), "clearedAttachmentUUIDs": list(lines)}
    return line("system", uuid, parent, subtype="microcompact_boundary", microcompactMetadata=meta)


def used(read_tokens: int, output: int, **more: int) -> Json:
    return {
        "input_tokens": 2,
        "cache_read_input_tokens": read_tokens,
        "output_tokens": output,
    } | more


def numbers(usage: Usage) -> tuple[int, int, int, int]:
    """Input, cache read, cache write, output."""
    return (usage.input, usage.cache_read, usage.cache_write, usage.output)
