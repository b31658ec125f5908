"""Chat messages as observers write them: a role, a content in any provider's blocks, calls beside.

Instrumentations and callback handlers mix dialects: calls stand beside the content, in it, or among
extra arguments; a result names its call under one of two keys, or only its tool, as its role. This
reads them all; a list that is purely of one provider is read by that provider's lens instead.
Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import unknown_part
from compactor.formats.builder import Builder
from compactor.formats.frameworks.langchain_messages import READERS as LANGCHAIN
from compactor.formats.keyed import runs
from compactor.formats.messages import (
    SYSTEM_ROLES,
    Body,
    Carried,
    field,
    listed,
    open_calls,
    shape_error,
    text_field,
    value_at,
)
from compactor.formats.providers.anthropic import READERS as ANTHROPIC
from compactor.formats.providers.anthropic import rewrite_result
from compactor.formats.providers.bedrock import READERS as BEDROCK
from compactor.formats.providers.bedrock import Bedrock
from compactor.formats.providers.openai_chat import READERS as OPENAI
from compactor.formats.providers.responses_calls import READERS as RESPONSES
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.raw.objects import is_object
from compactor.formats.raw.within import within
from compactor.formats.recorded import items
from compactor.formats.tool_texts import any_tool_texts

_TURN = ("assistant", "ai", "model")
_PERSON = ("user", "human")
_CALL_IDS = ("tool_call_id", "call_id", "toolCallId", "id")
_KEYED = ("toolUse", "toolResult")


class AnyChat:
    """The dialect of mixed chat messages."""

    name = "any-chat"
    leading = SYSTEM_ROLES

    def recognises(self, root: Any) -> bool:
        """Whether it is a list of messages with a role, or an object that has one."""
        found = root if isinstance(root, list) else field(root, "messages")
        return isinstance(found, list) and any(map(_speaks, found))

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        role, content, inner = (
            text_field(message, "role"),
            field(message, "content"),
            (*at, "content"),
        )
        if not role:
            raise shape_error((*at, "role"), "no role")
        if role in _TURN:
            builder.turn(*_turn_facts(builder, message, at), at)
        elif role in SYSTEM_ROLES:
            builder.system(_parts(builder, content, inner), at)
        elif role in _PERSON or _has_results(content):
            _say_user(builder, content, inner)
        elif is_calls(content):
            builder.turn((), _told_calls(builder, content, inner), at)
        elif not is_definition(message):
            _say_result(builder, message, at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        texts = [text for message in lead for text in listed(field(message, "content"))]
        tools = [*listed(body.fields.get("tools")), *listed(body.fields.get("functions"))]
        tools += [field(m, "content") for m in body.items if is_definition(m)]
        return Carried(tuple(texts), tuple(tools), bool(lead or tools))

    def tool_texts(self, tool: Any) -> list[str]:
        return any_tool_texts(tool)

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        native = value_at(root, entry.at)
        if isinstance(field(native, "toolResult"), dict):
            return Bedrock().rewrite_body(root, entry, text)
        if field(native, "type") == "tool_result":
            return rewrite_result(native, entry.at, text)
        content, at = field(native, "content"), (*entry.at, "content")
        if isinstance(content, list) and content and all(map(_is_untyped, content)):
            return [Edit(at, [{"text": text}])]
        return blocks.rewrite_content(content, at, text, ("cache_control",)) or [Edit(at, text)]


def _speaks(message: Any) -> bool:
    has_said = any(field(message, key) is not None for key in ("content", "tool_calls"))
    return bool(text_field(message, "role")) and has_said


def is_definition(message: Any) -> bool:
    """Whether a message is a tool's definition, which a handler puts behind the others."""
    content = field(message, "content")
    return field(content, "type") == "function" and is_object(field(content, "function"))


def _first_open(builder: Builder) -> Call | None:
    """The first call of the turn before that has no result yet. Bounded."""
    recent = builder.entries[-_RECENT:]
    return next(iter(open_calls(recent, len(recent))), None)


_RECENT = 100
"""More results than a turn has."""


def is_calls(content: Any) -> bool:
    """Whether a content is the JSON of calls, which some observers write in a tool's name."""
    step = within("content", content)
    natives = items(step.value) if step is not None else []
    return bool(natives) and all(map(_is_function_call, natives))


def _is_function_call(native: Any) -> bool:
    function = field(native, "function")
    return field(native, "type") == "function" and isinstance(field(function, "arguments"), str)


def _told_calls(builder: Builder, content: Any, at: Path) -> list[Call]:
    step = within(str(at[-1]), content)
    inner = at if step is None else (*at[:-1], step)
    natives = [] if step is None else step.value
    return [_call(builder, native, (*inner, i)) for i, native in enumerate(natives)]


def _has_results(content: Any) -> bool:
    return isinstance(content, list) and any(map(is_result, content))


def is_result(block: Any) -> bool:
    """Whether a block of a content is a result."""
    return field(block, "type") == "tool_result" or is_object(field(block, "toolResult"))


def _is_untyped(block: Any) -> bool:
    return is_object(block) and field(block, "type") is None


def _say_user(builder: Builder, content: Any, at: Path) -> None:
    """Each result among the blocks is an entry, each run of others between them is one."""
    if not isinstance(content, list):
        builder.user(_parts(builder, content, at), at[:-1])
        return
    for holds_result, indexes in runs(map(is_result, content)):
        if holds_result:
            _say_block(builder, content[indexes[0]], (*at, indexes[0]))
        else:
            builder.user([_part(builder, content[i], (*at, i)) for i in indexes], at[:-1])


def _say_block(builder: Builder, block: Any, at: Path) -> None:
    """A result that is a block of a content."""
    keyed = field(block, "toolResult")
    native, here = (keyed, (*at, "toolResult")) if is_object(keyed) else (block, at)
    texts, others, is_odd = _result_facts(builder, field(native, "content"), (*here, "content"))
    has_failed = field(native, "is_error") is True or field(native, "status") == "error"
    builder.result(
        text_field(native, "toolUseId") or text_field(native, "tool_use_id"),
        texts,
        others,
        at,
        error=has_failed,
        required=is_odd,
        orphan_path=dotted(at),
    )


def _say_result(builder: Builder, message: Any, at: Path) -> None:
    """A message that is a result: it names its call, or its tool alone, maybe as its role."""
    content = field(message, "content")
    texts, others, is_odd = _result_facts(builder, content, (*at, "content"))
    call_id = next(filter(None, (text_field(message, key) for key in _CALL_IDS)), "")
    role = text_field(message, "role")
    name = text_field(message, "name") or ("" if role in ("tool", "function") else role)
    is_nameless = not call_id and not name
    builder.result(
        call_id,
        texts,
        others,
        at,
        error=field(message, "status") == "error",
        required=is_odd,
        name="" if call_id else name,
        in_order=not call_id,
        call=_first_open(builder) if is_nameless else None,
        orphan_path=dotted(at),
    )


def _result_facts(builder: Builder, content: Any, at: Path) -> tuple[list[str], list[Part], bool]:
    """What a result holds: a text, blocks, or any value, which its compact JSON says."""
    if content is None or isinstance(content, str):
        return [content] if content else [], [], False
    if not isinstance(content, list) or not all(map(is_object, content)):
        return [compact_json(content)], [], False
    texts: list[str] = []
    others: list[Part] = []
    for index, block in enumerate(content):
        part = _part(builder, block, (*at, index))
        if part.kind is PartKind.TEXT:
            texts += [part.text] if part.text else []
        else:
            others.append(part)
    return texts, others, False


def _turn_facts(builder: Builder, message: Any, at: Path) -> tuple[list[Part], list[Call]]:
    """Reasoning, content and calls of an answer, each call once."""
    content, inner = field(message, "content"), (*at, "content")
    keys = ("reasoning_content", "reasoning", "refusal")
    parts = [Part(PartKind.REASONING, text_field(message, key)) for key in keys[:2]]
    calls = _calls(builder, message, at)
    known = {call.id for call in calls}
    for index, block in enumerate(content if isinstance(content, list) else ()):
        call = _block_call(block, (*inner, index))
        if call is None:
            parts.append(_part(builder, block, (*inner, index)))
        elif call.id not in known:
            calls.append(call)
    if not isinstance(content, list):
        parts += _parts(builder, content, inner)
    return [*parts, Part(PartKind.TEXT, text_field(message, "refusal"))], calls


def _calls(builder: Builder, message: Any, at: Path) -> list[Call]:
    """Calls beside the content, or among what a handler calls additional arguments."""
    beside = field(message, "additional_kwargs")
    for holder, here in ((message, at), (beside, (*at, "additional_kwargs"))):
        natives = items(field(holder, "tool_calls"))
        if natives:
            inner = (*here, "tool_calls")
            return [_call(builder, native, (*inner, i)) for i, native in enumerate(natives)]
    return []


def _call(builder: Builder, native: Any, at: Path) -> Call:
    call_id, function = text_field(native, "id"), field(native, "function")
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(at))
    holder, here = (function, (*at, "function")) if is_object(function) else (native, at)
    key = "args" if field(holder, "args") is not None else "arguments"
    arguments = blocks.arguments_text(field(holder, key))
    return Call(call_id, text_field(holder, "name"), arguments, (*here, key))


def _block_call(block: Any, at: Path) -> Call | None:
    """The call that a block of a content is; None for any other block."""
    keyed = field(block, "toolUse")
    if is_object(keyed):
        arguments = blocks.arguments_text(field(keyed, "input"))
        here = (*at, "toolUse", "input")
        return Call(text_field(keyed, "toolUseId"), text_field(keyed, "name"), arguments, here)
    if field(block, "type") != "tool_use":
        return None
    arguments = blocks.arguments_text(field(block, "input"))
    return Call(text_field(block, "id"), text_field(block, "name"), arguments, (*at, "input"))


def _parts(builder: Builder, content: Any, at: Path) -> list[Part]:
    if content is None or isinstance(content, str):
        return [Part(PartKind.TEXT, content or "")]
    if not isinstance(content, list):
        return [Part(PartKind.TEXT, compact_json(content))]
    return [_part(builder, block, (*at, i)) for i, block in enumerate(content)]


def _part(builder: Builder, block: Any, at: Path) -> Part:
    """What a block counts as, of whatever dialect it is."""
    if isinstance(block, str):
        return Part(PartKind.TEXT, block)
    text = field(block, "text")
    text = field(block, "content") if text is None else text
    kind = field(block, "type") or field(block, "kind")
    if isinstance(text, str) and kind in (None, "text", "input_text", "output_text"):
        return Part(PartKind.TEXT, text)
    read = READERS.get(kind) if isinstance(kind, str) else None
    if read is not None:
        return read(block)
    for key, read_value in BEDROCK.items() if kind is None else ():
        if field(block, key) is not None:
            return read_value(field(block, key))
    if kind is None and field(block, "json") is not None:
        return Part(PartKind.TEXT, compact_json(field(block, "json")))
    return unknown_part(builder, block, at)


READERS: blocks.Readers = MappingProxyType({**RESPONSES, **ANTHROPIC, **OPENAI, **LANGCHAIN})
"""Type of a block → what it counts as, of all dialects that have types."""
