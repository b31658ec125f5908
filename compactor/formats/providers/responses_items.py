"""What one item of OpenAI's Responses API says to the builder.

`ITEMS` is the documentation: item type → what it is. Calls and outputs that the client handles
become calls and results; hosted ones belong to the model's turn and are never touched. An unknown
item is carried through and said: as a result that must not change when it is an output, else as a
part of the turn. Specification: DESIGN section 3; reference providers.md C3, B3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from compactor.core.model import Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import content_parts, other_part
from compactor.formats.builder import Builder
from compactor.formats.media import digest_of, image_part, image_url_part
from compactor.formats.messages import field, listed, shape_error, text_field, word_of
from compactor.formats.providers.responses_calls import (
    READERS,
    say_call,
    say_local_shell_output,
    say_output,
    say_required,
    say_screenshot,
    say_shell_output,
)
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.objects import is_object, members

ROLES = ("user", "assistant", "system", "developer")
MESSAGE, REFERENCE = "message", "item_reference"

Say = Callable[[Builder, Any, Path], None]


def kind_of(item: Any, at: Path) -> str:
    """The type of an item; messages and references may leave it out.

    Raises:
        InputError: `input.shape`, when it is no object or has neither type nor role nor id.
    """
    if not is_object(item):
        hint = "give dicts, or the models of the provider's SDK"
        raise shape_error(at, "an item must be an object", hint)
    kind = field(item, "type")
    if isinstance(kind, str):
        return kind
    if field(item, "role") is not None:
        return MESSAGE
    if kind is None and text_field(item, "id"):
        return REFERENCE
    raise shape_error((*at, "type"), "no type and no role")


def say_item(builder: Builder, item: Any, at: Path) -> None:
    """Say what an item is."""
    kind = kind_of(item, at)
    say = ITEMS.get(kind)
    if say is None:
        say = _unknown_output if kind.endswith("_output") else _unknown
    say(builder, item, at)


def _message(builder: Builder, item: Any, at: Path) -> None:
    role = word_of(item, "role", ROLES, at)
    parts = content_parts(builder, field(item, "content"), (*at, "content"), READERS)
    if role == "assistant":
        builder.turn(parts, (), at)
    elif role == "user":
        builder.user(parts, at)
    else:
        builder.system(parts, at)


def _reasoning(builder: Builder, item: Any, at: Path) -> None:
    """Summaries and texts; what is encrypted is counted too. It is bound to no prefix."""
    parts: list[Part] = []
    for key in ("summary", "content"):
        for index, block in enumerate(listed(field(item, key))):
            text = field(block, "text")
            is_text = isinstance(text, str)
            parts.append(
                Part(PartKind.REASONING, text)
                if is_text
                else blocks.unknown_part(builder, block, (*at, key, index))
            )
    sealed = text_field(item, "encrypted_content")
    if sealed:
        parts.append(Part(PartKind.SEALED, size=len(sealed), digest=digest_of(sealed)))
    builder.turn(parts, (), at)


def _tool_search(builder: Builder, item: Any, at: Path) -> None:
    """A search that the client does is a call and its result; it loads tools, which must stay."""
    if not _is_clients(item):
        _hosted(builder, item, at)
    elif field(item, "type") == "tool_search_call":
        say_call(builder, item, at)
    else:
        say_required(builder, item, [other_part(field(item, "tools"))], at)


def _is_clients(item: Any) -> bool:
    execution = field(item, "execution")
    return execution == "client" or (execution is None and bool(text_field(item, "call_id")))


def _hosted(builder: Builder, item: Any, at: Path) -> None:
    builder.turn([other_part(item)], (), at)


def _image_generation(builder: Builder, item: Any, at: Path) -> None:
    """The picture has a picture's allowance, not the length of its base64."""
    data = text_field(item, "result")
    picture = [image_part(data)] if data else []
    builder.turn([_without(item, "result"), *picture], (), at)


def _code_interpreter(builder: Builder, item: Any, at: Path) -> None:
    """Pictures that the code made count as such; logs and all else by their length."""
    parts = [_without(item, "outputs")]
    for output in listed(field(item, "outputs")):
        url = text_field(output, "url")
        is_picture = field(output, "type") == "image" and url
        parts.append(image_url_part(url) if is_picture else other_part(output))
    builder.turn(parts, (), at)


def _without(item: Any, key: str) -> Part:
    return other_part({name: value for name, value in members(item) if name != key})


def _compaction(builder: Builder, item: Any, at: Path) -> None:
    blocks.report_compaction(builder, at)
    _hosted(builder, item, at)


def _compaction_trigger(builder: Builder, item: Any, at: Path) -> None:
    message = "the provider is asked to summarise what lies before this item"
    builder.report("provider_compaction", message, dotted(at))
    _setting(builder, item, at)


def _reference(builder: Builder, item: Any, at: Path) -> None:
    """What a reference stands for is only known to the provider; mostly it is of the model."""
    message = "an item that the provider keeps; what it holds is not counted"
    builder.report("provider_item_reference", message, dotted(at))
    _hosted(builder, item, at)


def _approval(builder: Builder, item: Any, at: Path) -> None:
    builder.user([other_part(item)], at)


def _setting(builder: Builder, item: Any, at: Path) -> None:
    """What the developer changes in mid-conversation."""
    builder.system([other_part(item)], at)


def _unknown(builder: Builder, item: Any, at: Path) -> None:
    builder.turn([blocks.unknown_part(builder, item, at)], (), at)


def _unknown_output(builder: Builder, item: Any, at: Path) -> None:
    say_required(builder, item, [blocks.unknown_part(builder, item, at)], at)


ITEMS: Mapping[str, Say] = MappingProxyType(
    {
        MESSAGE: _message,
        REFERENCE: _reference,
        "additional_tools": _setting,
        "apply_patch_call": say_call,
        "apply_patch_call_output": say_output,
        "code_interpreter_call": _code_interpreter,
        "compaction": _compaction,
        "compaction_trigger": _compaction_trigger,
        "computer_call": say_call,
        "computer_call_output": say_screenshot,
        "configuration_update": _setting,
        "custom_tool_call": say_call,
        "custom_tool_call_output": say_output,
        "file_search_call": _hosted,
        "function_call": say_call,
        "function_call_output": say_output,
        "image_generation_call": _image_generation,
        "local_shell_call": say_call,
        "local_shell_call_output": say_local_shell_output,
        "mcp_approval_request": _hosted,
        "mcp_approval_response": _approval,
        "mcp_call": _hosted,
        "mcp_list_tools": _hosted,
        "program": _hosted,
        "program_output": _hosted,
        "reasoning": _reasoning,
        "shell_call": say_call,
        "shell_call_output": say_shell_output,
        "tool_search_call": _tool_search,
        "tool_search_output": _tool_search,
        "web_search_call": _hosted,
    }
)
"""Item type → what it says."""
