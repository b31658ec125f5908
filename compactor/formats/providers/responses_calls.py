"""Calls that the client answers, and its answers, in OpenAI's Responses API.

`CALLS` says where each kind of call has its name and arguments. An output's texts are its body, in
whatever shape; a screenshot, tools that were found, what is encrypted, and what a program of the
provider's is run again over must not change. Also here: the blocks of messages and outputs.
Specification: DESIGN section 3; reference providers.md C3.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.core.model import Call, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import Readers, as_text, block_part, result_facts
from compactor.formats.builder import Builder
from compactor.formats.media import document_part, image_url_part
from compactor.formats.messages import field, listed, text_field
from compactor.formats.providers.anthropic import is_sealed
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import compact_json
from compactor.formats.raw.objects import is_object

STREAMS = ("stdout", "stderr")


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


def say_call(builder: Builder, item: Any, at: Path) -> None:
    """A call, its item one of `CALLS`."""
    shape = CALLS[field(item, "type")]
    call_id, item_id = text_field(item, "call_id"), text_field(item, "id")
    if field(item, "type") == "local_shell_call" and item_id:
        # Its output names the call by `id`, which the reference calls the id of the call.
        call_id = call_id or item_id
        builder.alias(item_id, call_id)
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(at))
    key = next((key for key in shape.keys if field(item, key) is not None), shape.keys[0])
    native = field(item, key)
    is_text = shape.as_written and isinstance(native, str)
    arguments = native if is_text else blocks.arguments_text(native)
    name = shape.tool or text_field(item, "name")
    builder.turn((), [Call(call_id, name, arguments, (*at, key))], at)


def say_output(builder: Builder, item: Any, at: Path) -> None:
    """A result with a text or blocks. One without a call id may name its tool."""
    output = field(item, "output")
    texts, others, is_odd = result_facts(builder, output, (*at, "output"), READERS)
    call_id = text_field(item, "call_id")
    builder.result(
        call_id,
        texts,
        others,
        at,
        error=_has_failed(item),
        required=is_odd or _must_stay(item),
        name="" if call_id else text_field(item, "name"),
        orphan_path=dotted(at),
    )


def _has_failed(item: Any) -> bool:
    """The status of a patch; those of other outputs say only whether they are whole."""
    is_patch = field(item, "type") == "apply_patch_call_output"
    return bool(is_patch and field(item, "status") == "failed")


def _must_stay(item: Any) -> bool:
    """Whether an output is sealed, or a program of the provider's is run again over it."""
    is_replayed = field(field(item, "caller"), "type") == "program"
    return is_replayed or any(map(is_sealed, (item, *listed(field(item, "output")))))


def say_local_shell_output(builder: Builder, item: Any, at: Path) -> None:
    """A result that names its call by either of its ids."""
    output = field(item, "output")
    texts, others, is_odd = result_facts(builder, output, (*at, "output"), READERS)
    call_id = builder.call_id_of(text_field(item, "call_id") or text_field(item, "id"))
    required = is_odd or _must_stay(item)
    builder.result(call_id, texts, others, at, required=required, orphan_path=dotted(at))


def say_shell_output(builder: Builder, item: Any, at: Path) -> None:
    """The streams of a shell's commands in order; a command that ran out of time has failed."""
    chunks = field(item, "output")
    if not isinstance(chunks, list):
        say_output(builder, item, at)
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
        required=is_odd or _must_stay(item),
        orphan_path=dotted(at),
    )


def say_screenshot(builder: Builder, item: Any, at: Path) -> None:
    """A screenshot, which must stay one."""
    screenshot = block_part(builder, field(item, "output"), (*at, "output"), READERS)
    say_required(builder, item, [screenshot], at)


def say_required(builder: Builder, item: Any, parts: list[Part], at: Path) -> None:
    """A result that must never change."""
    call_id = text_field(item, "call_id")
    builder.result(call_id, (), parts, at, required=True, orphan_path=dotted(at))


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
