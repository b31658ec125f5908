"""What a message of an inspect_ai log says, and what a request used.

A failed call's message is what the model got of it, in the place of the result. What `input_tokens`
include differs by provider and version, and shows in `total_tokens`: inspect_ai means them without
what was cached, older versions passed on what OpenAI counts, which is all of the prompt. Gemini's
reasoning stands beside its output. Specification: docs/formats.md.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Part, PartKind, Path, Usage
from compactor.formats import blocks
from compactor.formats.blocks import Readers, content_parts, other_part, result_facts
from compactor.formats.builder import Builder
from compactor.formats.media import digest_of, document_part, image_url_part
from compactor.formats.messages import field, text_field
from compactor.formats.raw.edits import dotted
from compactor.formats.recorded import count_of, has_tokens, items, time_ms


def usage_of(request: Any, n: int) -> Usage | None:
    """Usage of one request; None where nothing was sent or counted."""
    native = field(field(request, "output"), "usage")
    if field(request, "cache") == "read":  # answered by inspect_ai's own cache
        return None
    asked, output, reasoning, total = (
        count_of(native, key)
        for key in ("input_tokens", "output_tokens", "reasoning_tokens", "total_tokens")
    )
    read = count_of(native, "input_tokens_cache_read")
    written = count_of(native, "input_tokens_cache_write")
    more = total - asked - output
    if more != 0 and more in (reasoning, reasoning + read + written):
        output, more = output + reasoning, more - reasoning
    if more == 0 and asked >= read + written:  # all that was asked, cached or not
        asked -= read + written
    usage = Usage(
        n=n,
        input=asked,
        cache_read=read,
        cache_write=written,
        output=output,
        model=model_of(request),
        time_ms=time_ms(field(request, "completed")) or time_ms(field(request, "timestamp")),
    )
    return usage if has_tokens(usage) else None


def model_of(request: Any) -> str:
    return text_field(field(request, "output"), "model") or text_field(request, "model")


def error_of(message: Any) -> str:
    """What the model got in the place of a failed call's result."""
    return text_field(field(message, "error"), "message")


def _say_turn(builder: Builder, message: Any, at: Path) -> None:
    parts = content_parts(builder, field(message, "content"), (*at, "content"), READERS)
    calls = []
    for index, native in enumerate(items(field(message, "tool_calls"))):
        here = (*at, "tool_calls", index, "arguments")
        arguments = blocks.arguments_text(field(native, "arguments"))
        calls.append(
            Call(text_field(native, "id"), text_field(native, "function"), arguments, here)
        )
    builder.turn(parts, calls, at)


def say_result(
    builder: Builder, message: Any, at: Path, *, required: bool = False, cleared: bool = False
) -> None:
    failed = error_of(message)
    content = failed or field(message, "content")
    texts, others_, is_odd = result_facts(builder, content, (*at, "content"), READERS)
    builder.result(
        text_field(message, "tool_call_id"),
        texts,
        others_,
        at,
        error=field(message, "error") is not None or bool(text_field(message, "tool_error")),
        required=is_odd or required,
        cleared=cleared,
        name=text_field(message, "function"),
        orphan_path=dotted(at),
    )


def _say_user(builder: Builder, message: Any, at: Path) -> None:
    content = field(message, "content")
    builder.user(content_parts(builder, content, (*at, "content"), READERS), at)


def _say_system(builder: Builder, message: Any, at: Path) -> None:
    content = field(message, "content")
    builder.system(content_parts(builder, content, (*at, "content"), READERS), at)


def _reasoning(block: Any) -> Part:
    """Reasoning as text; what the provider keeps sealed, by its size."""
    text = text_field(block, "reasoning")
    if field(block, "redacted") is not True:
        return Part(PartKind.REASONING, text)
    return Part(PartKind.SEALED, size=len(text), digest=digest_of(text))


def _image(block: Any) -> Part:
    return image_url_part(text_field(block, "image"))


def _medium(block: Any) -> Part:
    kind = text_field(block, "type")
    return document_part(text_field(block, kind))


READERS: Readers = MappingProxyType(
    {
        "reasoning": _reasoning,
        "image": _image,
        "audio": _medium,
        "video": _medium,
        "document": _medium,
        "tool_use": other_part,
        "data": other_part,
    }
)
"""Type of a content block, texts aside → what it counts as."""

ROLES = MappingProxyType(
    {
        "user": _say_user,
        "assistant": _say_turn,
        "tool": say_result,
        "system": _say_system,
        "developer": _say_system,
    }
)
"""Role of a message → what it says."""
