"""What providers refuse, as checks on native messages: pairing, empty messages, empty texts.

Each check gives the list of problems that it finds; a conversation that had none must have none
after a pass, and one that had some must have the very same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

Problem = tuple[int, str]


def problems(format: str, items: Sequence[Any]) -> list[Problem]:  # noqa: A002
    """What is wrong with the messages, entries or lines of a format: (index, what)."""
    return list(CHECKS[format](items))


def _blocks(message: Any) -> list[Any]:
    """The content blocks of a message; a text is one block."""
    content = message.get("content")
    if isinstance(content, list):
        return content
    return [] if content is None else [{"type": "text", "text": content}]


def _of_type(message: Any, kind: str, key: str) -> list[Any]:
    return [block.get(key) for block in _blocks(message) if block.get("type") == kind]


def _empty(items: Sequence[Any]) -> Iterator[Problem]:
    for index, message in enumerate(items):
        if message.get("role") == "assistant" and message.get("tool_calls"):
            continue
        if not _blocks(message):
            yield index, "empty content"
        for block in _blocks(message):
            if block.get("type") == "text" and not block.get("text"):
                yield index, "empty text"
            if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
                texts = [inner for inner in block["content"] if inner.get("type") == "text"]
                yield from ((index, "empty text") for inner in texts if not inner.get("text"))


def _anthropic(items: Sequence[Any]) -> Iterator[Problem]:
    yield from _empty(items)
    for index, message in enumerate(items):
        following = items[index + 1] if index + 1 < len(items) else {}
        before = items[index - 1] if index else {}
        answered = _of_type(following, "tool_result", "tool_use_id")
        asked = _of_type(before, "tool_use", "id")
        for call in _of_type(message, "tool_use", "id"):
            if following and answered.count(call) != 1:
                yield index, f"call {call}: {answered.count(call)} results"
        for result in _of_type(message, "tool_result", "tool_use_id"):
            if result not in asked:
                yield index, f"orphan result {result}"
        kinds = [block.get("type") for block in _blocks(message)]
        results = kinds.count("tool_result")
        if any(kind != "tool_result" for kind in kinds[:results]):
            yield index, "a block stands before the results"


def _openai_chat(items: Sequence[Any]) -> Iterator[Problem]:
    yield from _empty(items)
    outstanding: list[Any] = []
    for index, message in enumerate(items):
        if message.get("role") == "tool":
            if message.get("tool_call_id") in outstanding:
                outstanding.remove(message.get("tool_call_id"))
            else:
                yield index, f"orphan result {message.get('tool_call_id')}"
            continue
        if outstanding:
            yield index, f"unanswered {outstanding}"
        outstanding = [call.get("id") for call in message.get("tool_calls") or []]


def _openai_responses(items: Sequence[Any]) -> Iterator[Problem]:
    """Outputs follow their calls and pair with them; reasoning is followed by what it led to."""
    asked: list[Any] = []
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        if kind.endswith("_call_output"):
            call_id = item.get("call_id") or item.get("id")
            if call_id in asked:
                asked.remove(call_id)
            else:
                yield index, f"orphan output {call_id}"
        elif kind.endswith("_call"):
            asked.append(item.get("call_id"))
        following = items[index + 1] if index + 1 < len(items) else {}
        of_model = following.get("role") == "assistant" or "call_id" in following
        if kind == "reasoning" and (not of_model or "output" in following):
            yield index, "reasoning without what it led to"
    if asked:
        yield len(items), f"no output for {asked}"


def _bedrock(items: Sequence[Any]) -> Iterator[Problem]:
    """Converse has Anthropic's rules for blocks that say by a key what they are."""
    yield from _anthropic([{**item, "content": [*map(_typed, item["content"])]} for item in items])


def _typed(block: Any) -> Any:
    if "toolUse" in block:
        return {"type": "tool_use", "id": block["toolUse"]["toolUseId"]}
    if "toolResult" in block:
        result = block["toolResult"]
        content = [*map(_typed, result["content"])]
        return {"type": "tool_result", "tool_use_id": result["toolUseId"], "content": content}
    return {"type": "text", **block} if "text" in block else {"type": next(iter(block))}


def _gemini(items: Sequence[Any]) -> Iterator[Problem]:
    """As many responses behind a turn as it has calls, each of one of them, each an object."""
    asked: list[Any] = []
    for index, content in enumerate(items):
        parts = content.get("parts") or []
        if not parts:
            yield index, "no parts"
        answered = _of_key(parts, "functionResponse")
        if asked and len(answered) != len(asked):
            yield index, f"{len(asked)} calls, {len(answered)} responses"
        names = [(call.get("id"), call.get("name")) for call in asked]
        for response in answered:
            if (response.get("id"), response.get("name")) not in names:
                yield index, f"orphan response {response.get('id')} {response.get('name')}"
            if not isinstance(response.get("response"), dict):
                yield index, "a response that is no object"
        asked = _of_key(parts, "functionCall")


def _of_key(parts: Sequence[Any], key: str) -> list[Any]:
    """The values of one kind, in the spelling of REST or of the SDKs."""
    snake = "".join("_" + c.lower() if c.isupper() else c for c in key)
    found = (part.get(key) or part.get(snake) for part in parts)
    return [value for value in found if value is not None]


def _claude_code(items: Sequence[Any]) -> Iterator[Problem]:
    """Lines: results and calls pair over the whole file, and every message says something."""
    spoken = [row["message"] for row in items if isinstance(row.get("message"), dict)]
    yield from _empty(spoken)
    asked: list[Any] = []
    for index, message in enumerate(spoken):
        asked += _of_type(message, "tool_use", "id")
        for result in _of_type(message, "tool_result", "tool_use_id"):
            if result in asked:
                asked.remove(result)
            else:
                yield index, f"orphan result {result}"
    if asked:
        yield len(spoken), f"unanswered {asked}"


def _entries(items: Sequence[Any]) -> Iterator[Problem]:
    outstanding: list[Any] = []
    for index, entry in enumerate(items):
        outstanding += [call["id"] for call in entry.get("calls") or []]
        if entry["kind"] == "tool" and entry["call"] in outstanding:
            outstanding.remove(entry["call"])
        elif entry["kind"] == "tool":
            yield index, f"orphan result {entry['call']}"
    if outstanding:
        yield len(items), f"unanswered {outstanding}"


CHECKS: Mapping[str, Callable[[Sequence[Any]], Iterator[Problem]]] = MappingProxyType(
    {
        "anthropic": _anthropic,
        "openai-chat": _openai_chat,
        "claude-code": _claude_code,
        "openai-responses": _openai_responses,
        "gemini": _gemini,
        "bedrock": _bedrock,
        "entries": _entries,
    }
)
