"""Goose sessions: as exported (`conversation`), or as older versions kept them, one message a line.

Requests of tools and their responses are blocks that hold what came of them: `value` (older: `Ok`)
or an error. Messages that are not for the agent are not sent. Specification: DESIGN section 3,
docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading
from compactor.formats import blocks
from compactor.formats.blocks import Readers, block_part, result_facts
from compactor.formats.builder import Builder
from compactor.formats.keyed import runs, sealed_part
from compactor.formats.lens_bases import AddressedCalls
from compactor.formats.media import image_part
from compactor.formats.messages import field, shape_error, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items, left_behind, unanswered, unreadable

_ASKED, _GIVEN = "toolRequest", "toolResponse"
_PROMPT: Final = ("user", "User")
_TURN: Final = ("assistant", "Assistant")
_HEAD: Final = ("working_dir", "message_count")
"""What the first line of a session says."""
_VALUES: Final = ("value", "Ok")


class Goose(AddressedCalls):
    """The lens of Goose's sessions."""

    name = "goose"

    def recognises(self, root: Any) -> bool:
        if isinstance(field(root, "conversation"), list):
            return any(map(_speaks, root["conversation"]))
        rows = items(root)
        if any(all(field(row, key) is not None for key in _HEAD) for row in rows[:1]):
            return any(map(_speaks, rows))
        return any(_speaks(row) and any(map(_is_own, items(field(row, "content")))) for row in rows)

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n).

        Raises:
            InputError: `input.shape` when it is no session.
        """
        if not self.recognises(root):
            raise shape_error((), "no message of a Goose session")
        base: Path = ("conversation",) if isinstance(root, dict) else ()
        builder, odd, hidden = Builder(), list[Path](), 0
        for index, message in enumerate(self.messages(root)):
            at = (*base, index)
            if not _speaks(message):
                odd += [at] if field(message, "role") is not None else []
            elif field(field(message, "metadata"), "agentVisible") is False:
                hidden += 1
            else:
                _say(builder, message["content"], (*at, "content"), is_turn=_is_turn(message))
        return Reading(
            entries=builder.entries,
            overhead=Overhead(known=False),
            findings=[
                *builder.findings,
                *unanswered(builder.entries),
                *left_behind(hidden),
                *unreadable(odd, "messages"),
            ],
        )

    def messages(self, root: Any) -> Sequence[Any]:
        return items(field(root, "conversation")) if isinstance(root, dict) else items(root)

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        result, at = field(value_at(root, entry.at), "toolResult"), (*entry.at, "toolResult")
        keys = _content_at(result)
        native = value_at(result, keys)
        return blocks.rewrite_content(native, (*at, *keys), text, ())


def _speaks(message: Any) -> bool:
    is_known = text_field(message, "role") in (*_PROMPT, *_TURN)
    return is_known and isinstance(field(message, "content"), list)


def _is_turn(message: Any) -> bool:
    return text_field(message, "role") in _TURN


def _is_own(block: Any) -> bool:
    return text_field(block, "type") in (_ASKED, _GIVEN)


def _say(builder: Builder, content: Sequence[Any], at: Path, *, is_turn: bool) -> None:
    """Each response is an entry; what else a message holds is a turn, or of the user."""
    for is_result, indexes in runs(field(block, "type") == _GIVEN for block in content):
        if is_result:
            _say_result(builder, content[indexes[0]], (*at, indexes[0]))
            continue
        calls = [_call(content[i], (*at, i)) for i in indexes if _asks(content[i])]
        parts = [
            block_part(builder, content[i], (*at, i), READERS)
            for i in indexes
            if not _asks(content[i])
        ]
        if is_turn:
            builder.turn(parts, calls, at[:-1])
        else:
            builder.user(parts, at[:-1])


def _asks(block: Any) -> bool:
    return text_field(block, "type") == _ASKED


def _call(block: Any, at: Path) -> Call:
    asked = field(block, "toolCall")
    key = next((key for key in _VALUES if field(asked, key) is not None), "")
    made, here = (field(asked, key), (*at, "toolCall", key)) if key else (asked, (*at, "toolCall"))
    arguments = blocks.arguments_text(field(made, "arguments"))
    return Call(text_field(block, "id"), text_field(made, "name"), arguments, (*here, "arguments"))


def _say_result(builder: Builder, block: Any, at: Path) -> None:
    result = field(block, "toolResult")
    keys = _content_at(result)
    native, here = value_at(result, keys), (*at, "toolResult", *keys)
    texts, others, is_odd = result_facts(builder, native, here, READERS)
    value = next((field(result, key) for key in _VALUES if field(result, key) is not None), None)
    builder.result(
        text_field(block, "id"),
        texts,
        others,
        at,
        error=value is None or field(value, "isError") is True,
        required=is_odd or not isinstance(result, dict),
        orphan_path=dotted(at),
    )


def _content_at(result: Any) -> Path:
    """Where in a result its content is: blocks, or the text of an error."""
    for key in _VALUES:
        value = field(result, key)
        if isinstance(field(value, "content"), list):
            return (key, "content")
        if value is not None:
            return (key,)
    return next(((key,) for key in ("error", "Err") if field(result, key) is not None), ())


def _thinking(block: Any) -> Part:
    return Part(PartKind.REASONING, text_field(block, "thinking"))


def _redacted(block: Any) -> Part:
    return sealed_part(text_field(block, "data"))


def _image(block: Any) -> Part:
    return image_part(text_field(block, "data"))


READERS: Readers = MappingProxyType(
    {"thinking": _thinking, "redactedThinking": _redacted, "image": _image}
)
