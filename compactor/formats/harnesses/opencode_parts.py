"""The parts of opencode messages: what each counts as, calls and their results.

A tool part holds a call and, in its state, its result. Hosted tools belong to the model's turn. A
part that is the client's own (`CLIENT_ONLY`) is not sent; one that is in no table is said.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import other_part, unknown_part
from compactor.formats.builder import Builder
from compactor.formats.harnesses.opencode_session import COMPACTION, STEP, STEP_END
from compactor.formats.media import digest_of, document_part, image_url_part
from compactor.formats.messages import field, text_field, value_at
from compactor.formats.recorded import items

TOOL = "tool"
CLIENT_ONLY = (STEP, STEP_END, "agent", "patch", "retry", "snapshot")
_READ_IN = ("text/plain", "application/x-directory")
"""Files that stand in a text part beside them."""
_SEALS = ("reasoningEncryptedContent", "redactedData", "reasoningOpaque", "signature")


def is_call(part: Any) -> bool:
    """Whether a part is a call that opencode itself answers; hosted ones belong to the turn."""
    is_hosted = field(field(part, "metadata"), "providerExecuted") is True
    return text_field(part, "type") == TOOL and not is_hosted


def read_call(part: Any, at: Path) -> Call:
    arguments = blocks.arguments_text(field(field(part, "state"), "input"))
    name = text_field(part, "tool")
    return Call(text_field(part, "callID"), name, arguments, (*at, "state", "input"))


def say_result(builder: Builder, part: Any, call: Call, at: Path) -> None:
    """What a call gave; nothing when it is still running, or was when the recording ended."""
    state = field(part, "state")
    where = body_at(state)
    if where is None:
        return
    is_cleared = bool(field(field(state, "time"), "compacted")) and where == ("output",)
    body = value_at(state, where[:-1]).get(where[-1])
    others = [] if is_cleared else [_attachment(file) for file in items(state.get("attachments"))]
    is_odd = body is not None and not isinstance(body, str)
    if is_odd:
        others.append(unknown_part(builder, body, (*at, "state", *where)))
    builder.result(
        call.id,
        [body] if isinstance(body, str) and body and not is_cleared else [],
        others,
        at,
        error=where == ("error",),
        required=is_odd,
        cleared=is_cleared,
        call=call,
    )


def body_at(state: Any) -> Path | None:
    """Where a state has the text of its result; None while there is none."""
    status, metadata = text_field(state, "status"), field(state, "metadata")
    if status == "completed":
        return ("output",)
    if status != "error":
        return None
    is_partial = field(metadata, "interrupted") is True and text_field(metadata, "output")
    return ("metadata", "output") if is_partial else ("error",)


def _attachment(file: Any) -> Part:
    url = text_field(file, "url")
    is_image = text_field(file, "mime").startswith("image/")
    return image_url_part(url) if is_image else document_part(url)


def _text(part: Any) -> list[Part]:
    return [Part(PartKind.TEXT, text_field(part, "text"))]


def _user_text(part: Any) -> list[Part] | None:
    return None if field(part, "ignored") is True else _text(part)


def _file(part: Any) -> list[Part] | None:
    return None if field(part, "mime") in _READ_IN else [_attachment(part)]


def _words(part: Any) -> list[Part]:  # noqa: ARG001
    """What stands for words that are opencode's own."""
    return []


def _reasoning(part: Any) -> list[Part]:
    """Reasoning as text; where the provider keeps that sealed, its seal."""
    text = text_field(part, "text")
    seal = "" if text else _seal(field(part, "metadata"))
    if not seal:
        return [Part(PartKind.REASONING, text)]
    return [Part(PartKind.SEALED, size=len(seal), digest=digest_of(seal))]


def _seal(metadata: Any) -> str:
    """What a provider signed or sealed, under its name and a key of its own."""
    natives = metadata.values() if isinstance(metadata, dict) else ()
    found = (text_field(native, key) for native in natives for key in _SEALS)
    return next(filter(None, found), "")


def _hosted(part: Any) -> list[Part]:
    return [other_part(field(part, "state"))]


Readers = Mapping[str, Callable[[Any], list[Part] | None]]
"""Type of a part → what it counts as; None when it is not sent."""

USER_PARTS: Readers = MappingProxyType(
    {"text": _user_text, "file": _file, COMPACTION: _words, "subtask": _words}
)
"""Parts of a user's message."""

TURN_PARTS: Readers = MappingProxyType({"text": _text, "reasoning": _reasoning, TOOL: _hosted})
"""Parts of a turn, calls aside."""
