"""Messages that are spread over attributes: flat ones with numbers in their names, and events.

OpenLLMetry writes `gen_ai.prompt.0.role`, OpenInference `llm.input_messages.0.message.role`;
earlier conventions have an event a message (`gen_ai.user.message`), whose attributes or body are
its fields. Each becomes one message of mixed chat, whose parts know which attribute says them.
Specification: docs/formats.md; semantic-conventions 1.28 to 1.36; OpenInference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from compactor.core.model import Path
from compactor.formats.messages import field
from compactor.formats.placed import Placed
from compactor.formats.raw.objects import is_object
from compactor.formats.traces.any_chat import is_result
from compactor.formats.traces.otel_spans import Event, Span
from compactor.formats.traces.otel_values import Attribute, Gathered, Place
from compactor.formats.traces.recorded_messages import entered

_FILLERS: Final = ("message", "message_content", "tool_call")
_NAMES: Final = {"contents": "content"}
_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE: Final = "gen_ai.choice"
_LISTS: Final = ("content", "tool_calls")
_EVENT_KEYS: Final = ("role", "content", "tool_calls", "id", "name")


def flat_messages(span: Span, prefix: str) -> list[Placed]:
    """The messages of flat attributes, in the order of their numbers."""
    found: dict[int, dict[Path, Attribute]] = {}
    for key, attribute in span.attributes.items():
        if key.startswith(prefix):
            path = _path(key.removeprefix(prefix))
            if len(path) > 1 and isinstance(path[0], int):
                found.setdefault(path[0], {})[path[1:]] = attribute
    return [_gathered((*span.at, f"{prefix}{index}"), found[index]) for index in sorted(found)]


def _path(name: str) -> Path:
    """`0.message.tool_calls.1.tool_call.id` as a path."""
    steps = (_NAMES.get(step, step) for step in name.split(".") if step not in _FILLERS)
    return tuple(int(step) if _NUMBER.fullmatch(step) else step for step in steps)


_NUMBER: Final = re.compile("[0-9]{1,9}")


def _gathered(at: Path, said: Mapping[Path, Attribute]) -> Placed:
    """One message out of its fields and the items of its lists."""
    message: dict[str, Any] = {}
    places: dict[Path, Place] = {}
    for path, attribute in said.items():
        if len(path) == 1:
            message[str(path[0])] = attribute.value
            places[path] = _place(attribute)
    for name in _LISTS:
        numbers = sorted({path[1] for path in said if path[0] == name and _is_item(path)})
        if numbers:
            message[name] = [{} for _ in numbers]
        ranks = {number: rank for rank, number in enumerate(numbers)}
        for path, attribute in said.items():
            if path[0] == name and _is_item(path):
                here = (name, ranks[path[1]], *path[2:])
                if _put(message[name][ranks[path[1]]], path[2:], attribute.value):
                    places[here] = _place(attribute)
    return _message(at, message, places)


def _is_item(path: Path) -> bool:
    return len(path) > 2 and isinstance(path[1], int)


def _put(item: dict[str, Any], path: Path, value: Any) -> bool:
    """Put a value into an object of objects, unless another value is in the way."""
    for step in path[:-1]:
        item = item.setdefault(str(step), {})
        if not isinstance(item, dict):
            return False
    return item.setdefault(str(path[-1]), value) is value


def _place(attribute: Attribute) -> Place:
    return Place(attribute.at, isinstance(attribute.value, str))


def _message(at: Path, message: dict[str, Any], places: dict[Path, Place]) -> Placed:
    """A message with its address. Blocks that stand in it as a JSON text are its content."""
    content = message.get("content")
    if isinstance(content, str):
        blocks = entered(content, ("content",)).native
        if _are_blocks(blocks, message.get("role")):
            message["content"] = blocks
    calls = message.get("tool_calls")
    if isinstance(calls, str):
        message["tool_calls"] = entered(calls, ("tool_calls",)).native
    return _placed(at, message, places)


def _placed(at: Path, message: dict[str, Any], places: dict[Path, Place]) -> Placed:
    return Placed((*at[:-1], Gathered(str(at[-1]), None, message, places)), message)


def _are_blocks(content: Any, role: Any) -> bool:
    """Whether a JSON text is a content of blocks, and not what a tool gave."""
    if not isinstance(content, list) or not content or not all(map(is_object, content)):
        return False
    if role in ("tool", "function"):
        return any(map(is_result, content))
    return all(field(b, "type") is not None or any(map(b.get, _KEYED)) for b in content)


_KEYED: Final = ("text", "toolUse", "toolResult", "reasoningContent", "image", "document")


def event_messages(span: Span) -> list[Placed]:
    """The messages that were recorded as events, without the answer."""
    return [_of_event(span, e, _ROLES[e.name]) for e in span.events if e.name in _ROLES]


def event_answers(span: Span) -> list[Placed]:
    """What the model said, as an event."""
    return [_of_event(span, event, "assistant") for event in span.events if event.name == CHOICE]


def _of_event(span: Span, event: Event, role: str) -> Placed:
    """A message that an event says: as a whole, or each field in an attribute."""
    at = (*span.at, event.name)
    whole = event.attributes.get("gen_ai.event.content") or event.body
    if whole is not None:
        return _whole(at, whole, role)
    message: dict[str, Any] = {"role": role}
    places: dict[Path, Place] = {}
    for key in _EVENT_KEYS:
        attribute = event.attributes.get(key)
        if attribute is not None:
            message[key] = attribute.value
            places[(key,)] = _place(attribute)
    said = event.attributes.get("message")
    if said is not None and "content" not in message:
        if isinstance(entered(said.value, ("message",)).native, dict):
            return _whole(at, said, role)
        message["content"] = said.value
        places[("content",)] = _place(said)
    return _message(at, message, places)


def _whole(at: Path, said: Attribute, role: str) -> Placed:
    """A message that one attribute says, as an object or as its JSON; an answer lies within it."""
    value, inner = entered(said.value, said.at)
    if isinstance(field(value, "message"), dict):
        value, inner = value["message"], (*inner, "message")
    if isinstance(value, dict):
        return _placed(at, {"role": role, **value}, {(): Place(inner, is_text=False)})
    message = {"role": role, "content": said.value}
    return _message(at, message, {("content",): _place(said)})
