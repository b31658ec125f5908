"""What one item of OpenAI's Responses API says to the builder.

`ITEMS` is the documentation: item type → what it is. Calls and outputs that the client handles
become calls and results; hosted ones belong to the model's turn and are never touched. An unknown
item is carried through and said: as a result that must not change when it is an output, else as a
part of the turn. Specification: DESIGN section 3; reference providers.md C3, B3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.core.model import Call, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.anthropic import is_sealed
from compactor.formats.blocks import (
    Readers,
    as_text,
    block_part,
    content_parts,
    other_part,
    result_facts,
)
from compactor.formats.builder import Builder
from compactor.formats.media import digest_of, document_part, image_part, image_url_part
from compactor.formats.messages import (
    field,
    listed,
    shape_error,
    spell,
    text_field,
    word_of,
)
from compactor.formats.native import compact_json
from compactor.formats.objects import is_object, members

ROLES = ("user", "assistant", "system", "developer")
STREAMS = ("stdout", "stderr")
MESSAGE, REFERENCE = "message", "item_reference"

Say = Callable[[Builder, Any, Path], None]


class CallShape(NamedTuple):
    """A call that the client answers.

    tool: its name; "" when the item names it.
    keys: where its arguments are; the first that is there.
    as_written: arguments are a text of the tool's own, no JSON.
    """

    tool: str
    keys: tuple[str, ...]
    as_written: bool = False


CALLS: Mapping[str, CallShape] = MappingProxyType(
    {
        "function_call": CallShape("", ("arguments",)),
        "custom_tool_call": CallShape("", ("input",), as_written=True),
        "shell_call": CallShape("shell", ("action",)),
        "local_shell_call": CallShape("local_shell", ("action",)),
        "apply_patch_call": CallShape("apply_patch", ("operation",)),
        "computer_call": CallShape("computer", ("action", "actions")),
        "tool_search_call": CallShape("tool_search", ("arguments",)),
    }
)
"""Item type → where a client's call has its name and arguments."""


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


def _call(builder: Builder, item: Any, at: Path) -> None:
    shape = CALLS[field(item, "type")]
    call_id, item_id = text_field(item, "call_id"), text_field(item, "id")
    if field(item, "type") == "local_shell_call" and item_id:
        # Its output names the call by `id`, which the reference calls the id of the call.
        call_id = call_id or item_id
        builder.alias(item_id, call_id)
    if not call_id:
        builder.report("missing_id", "a call without an id", spell(at))
    key = next((key for key in shape.keys if field(item, key) is not None), shape.keys[0])
    native = field(item, key)
    is_text = shape.as_written and isinstance(native, str)
    arguments = native if is_text else blocks.arguments_text(native)
    name = shape.tool or text_field(item, "name")
    builder.turn((), [Call(call_id, name, arguments, (*at, key))], at)


def _output(builder: Builder, item: Any, at: Path) -> None:
    """A result with a text or blocks. One without a call id may name its tool."""
    output = field(item, "output")
    texts, others, is_odd = result_facts(builder, output, (*at, "output"), READERS)
    call_id = text_field(item, "call_id")
    builder.result(
        call_id,
        texts,
        others,
        at,
        error=field(item, "type") == "apply_patch_call_output"
        and field(item, "status") == "failed",
        required=is_odd
        or _is_replayed(item)
        or is_sealed(item)
        or any(map(is_sealed, listed(output))),
        name="" if call_id else text_field(item, "name"),
        orphan_path=spell(at),
    )


def _is_replayed(item: Any) -> bool:
    """Whether a program of the provider's made the call: it is run again over the same results."""
    return bool(field(field(item, "caller"), "type") == "program")


def _local_shell_output(builder: Builder, item: Any, at: Path) -> None:
    output = field(item, "output")
    texts, others, is_odd = result_facts(builder, output, (*at, "output"), READERS)
    call_id = builder.call_id_of(text_field(item, "call_id") or text_field(item, "id"))
    builder.result(call_id, texts, others, at, required=is_odd, orphan_path=spell(at))


def _shell_output(builder: Builder, item: Any, at: Path) -> None:
    """The streams of a shell's commands in order; a command that ran out of time has failed."""
    chunks = field(item, "output")
    if not isinstance(chunks, list):
        _output(builder, item, at)
        return
    streams = [field(chunk, key) for chunk in chunks for key in STREAMS]
    is_odd = not all(map(is_object, chunks)) or any(
        stream is not None and not isinstance(stream, str) for stream in streams
    )
    odd = [blocks.unknown_part(builder, chunks, (*at, "output"))] if is_odd else []
    outcomes = (field(field(chunk, "outcome"), "type") for chunk in chunks)
    builder.result(
        text_field(item, "call_id"),
        [] if is_odd else filter(None, streams),
        odd,
        at,
        error="timeout" in outcomes,
        required=is_odd or _is_replayed(item) or is_sealed(item),
        orphan_path=spell(at),
    )


def _computer_output(builder: Builder, item: Any, at: Path) -> None:
    """A screenshot, which must stay one."""
    screenshot = block_part(builder, field(item, "output"), (*at, "output"), READERS)
    _required(builder, item, [screenshot], at)


def _tool_search(builder: Builder, item: Any, at: Path) -> None:
    """A search that the client does is a call and its result; it loads tools, which must stay."""
    if not _is_clients(item):
        _hosted(builder, item, at)
    elif field(item, "type") == "tool_search_call":
        _call(builder, item, at)
    else:
        _required(builder, item, [other_part(field(item, "tools"))], at)


def _is_clients(item: Any) -> bool:
    execution = field(item, "execution")
    return execution == "client" or (execution is None and bool(text_field(item, "call_id")))


def _required(builder: Builder, item: Any, parts: list[Part], at: Path) -> None:
    """A result that must never change."""
    call_id = text_field(item, "call_id")
    builder.result(call_id, (), parts, at, required=True, orphan_path=spell(at))


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
    message = "the provider has summarised what lies before this item"
    builder.report("provider_compaction", message, spell(at))
    _hosted(builder, item, at)


def _compaction_trigger(builder: Builder, item: Any, at: Path) -> None:
    message = "the provider is asked to summarise what lies before this item"
    builder.report("provider_compaction", message, spell(at))
    _setting(builder, item, at)


def _reference(builder: Builder, item: Any, at: Path) -> None:
    """What a reference stands for is only known to the provider; mostly it is of the model."""
    message = "an item that the provider keeps; what it holds is not counted"
    builder.report("provider_item_reference", message, spell(at))
    _hosted(builder, item, at)


def _approval(builder: Builder, item: Any, at: Path) -> None:
    builder.user([other_part(item)], at)


def _setting(builder: Builder, item: Any, at: Path) -> None:
    """What the developer changes in mid-conversation."""
    builder.system([other_part(item)], at)


def _unknown(builder: Builder, item: Any, at: Path) -> None:
    builder.turn([blocks.unknown_part(builder, item, at)], (), at)


def _unknown_output(builder: Builder, item: Any, at: Path) -> None:
    _required(builder, item, [blocks.unknown_part(builder, item, at)], at)


ITEMS: Mapping[str, Say] = MappingProxyType(
    {
        MESSAGE: _message,
        REFERENCE: _reference,
        "additional_tools": _setting,
        "apply_patch_call": _call,
        "apply_patch_call_output": _output,
        "code_interpreter_call": _code_interpreter,
        "compaction": _compaction,
        "compaction_trigger": _compaction_trigger,
        "computer_call": _call,
        "computer_call_output": _computer_output,
        "configuration_update": _setting,
        "custom_tool_call": _call,
        "custom_tool_call_output": _output,
        "file_search_call": _hosted,
        "function_call": _call,
        "function_call_output": _output,
        "image_generation_call": _image_generation,
        "local_shell_call": _call,
        "local_shell_call_output": _local_shell_output,
        "mcp_approval_request": _hosted,
        "mcp_approval_response": _approval,
        "mcp_call": _hosted,
        "mcp_list_tools": _hosted,
        "program": _hosted,
        "program_output": _hosted,
        "reasoning": _reasoning,
        "shell_call": _call,
        "shell_call_output": _shell_output,
        "tool_search_call": _tool_search,
        "tool_search_output": _tool_search,
        "web_search_call": _hosted,
    }
)
"""Item type → what it says."""


def _refusal(block: Any) -> Part:
    return Part(PartKind.TEXT, text_field(block, "refusal"))


def _image(block: Any) -> Part:
    identity = text_field(block, "image_url") or text_field(block, "file_id")
    return image_url_part(identity or compact_json(block))


def _file(block: Any) -> Part:
    keys = ("file_data", "file_id", "file_url")
    return document_part(
        next(filter(None, (text_field(block, key) for key in keys)), "") or compact_json(block)
    )


def _audio(block: Any) -> Part:
    """A medium, not its base64: it has a document's allowance."""
    audio = field(block, "input_audio")
    return document_part(text_field(audio, "data") or compact_json(audio))


READERS: Readers = MappingProxyType(
    {
        "input_text": as_text,
        "output_text": as_text,
        "refusal": _refusal,
        "input_image": _image,
        "computer_screenshot": _image,
        "input_file": _file,
        "input_audio": _audio,
    }
)
"""Content block type → what it counts as."""
