"""What is said in the messages of requests, and how the user says something in them.

A table: format → `Shape`. Its `texts` walk a message in the order in which the lens of the format
makes text parts of it, so that the nth text part of an entry is found again.
Specification: DESIGN section 3; reference providers.md C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.core.model import Path
from compactor.formats.dialects import ANTHROPIC, BEDROCK, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES
from compactor.formats.messages import field, listed, text_field
from compactor.formats.raw.objects import is_object


class Said(NamedTuple):
    """A text in a message.

    at: where it stands; more: addresses of the rest of it, which goes when it is rewritten.
    """

    text: str
    at: Path
    more: tuple[Path, ...] = ()


class Shape(NamedTuple):
    """How the requests of a format hold what is said.

    key: of a message's content.
    message: a text, or blocks, as a message of the user.
    texts: the texts of a message that are text parts of entries, in order; empty ones too.
    block: a text as a block, where the user may not speak twice in a row: what is said in a row is
        one message then. None where each text is a message.
    is_result: whether a block is a tool result.
    """

    key: str
    message: Callable[[Any], dict[str, Any]]
    texts: Callable[[Any, Path], Iterator[Said]]
    block: Callable[[str], dict[str, Any]] | None = None
    is_result: Callable[[Any], bool] = bool


def _by_user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _in_blocks(key: str) -> Callable[[Any], dict[str, Any]]:
    """Messages of a format that takes no bare text."""
    return lambda content: {
        "role": "user",
        key: [_bare_block(content)] if isinstance(content, str) else content,
    }


def _typed_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _bare_block(text: str) -> dict[str, Any]:
    return {"text": text}


def _content_texts(message: Any, at: Path, inner: Mapping[str, Path]) -> Iterator[Said]:
    """The texts of a content: it is one, or has blocks of these types, with texts at these keys."""
    content, here = field(message, "content"), (*at, "content")
    if isinstance(content, str):
        yield Said(content, here)
        return
    for index, block in enumerate(listed(content)):
        kind = field(block, "type")
        keys = inner.get(kind, ()) if isinstance(kind, str) else ()
        text = _inside(block, keys) if keys else None
        if isinstance(text, str):
            yield Said(text, (*here, index, *keys))


def _inside(native: Any, keys: Path) -> Any:
    for key in keys:
        native = field(native, str(key))
    return native


_TEXT: Mapping[str, Path] = MappingProxyType({"text": ("text",)})
_CHAT = MappingProxyType({**_TEXT, "refusal": ("refusal",)})
_RESPONSES = MappingProxyType({**_CHAT, "input_text": ("text",), "output_text": ("text",)})
_ANTHROPIC = MappingProxyType({**_TEXT, "document": ("source", "data")})
_BEFORE_TEXTS = ("reasoningContent", "image")
"""Keys that say first what a block of Converse is."""


def _anthropic_texts(message: Any, at: Path) -> Iterator[Said]:
    """A document given as text is one."""
    for said in _content_texts(message, at, _ANTHROPIC):
        if said.at[-2:] != _ANTHROPIC["document"]:
            yield said
            continue
        index = said.at[-3]
        block = field(message, "content")[index]
        if field(field(block, "source"), "type") == "text":
            yield said


def _chat_texts(message: Any, at: Path) -> Iterator[Said]:
    yield from _content_texts(message, at, _CHAT)
    if field(message, "role") == "assistant":
        yield Said(text_field(message, "refusal"), (*at, "refusal"))


def _responses_texts(item: Any, at: Path) -> Iterator[Said]:
    """Only messages say something; of all other items what is counted is no text."""
    kind = field(item, "type")
    if kind == "message" or (kind is None and field(item, "role") is not None):
        yield from _content_texts(item, at, _RESPONSES)


def _gemini_texts(content: Any, at: Path) -> Iterator[Said]:
    for index, part in enumerate(listed(field(content, "parts"))):
        text = field(part, "text")
        calls = (field(part, key) for key in ("functionCall", "function_call"))
        is_said = field(part, "thought") is not True and not any(map(is_object, calls))
        if isinstance(text, str) and is_said:
            yield Said(text, (*at, "parts", index, "text"))


def _converse_texts(message: Any, at: Path) -> Iterator[Said]:
    content, inner = field(message, "content"), (*at, "content")
    if isinstance(content, str):
        yield Said(content, inner)
        return
    for index, block in enumerate(listed(content)):
        here = (*inner, index)
        if isinstance(field(block, "text"), str):
            yield Said(text_field(block, "text"), (*here, "text"))
        elif all(field(block, key) is None for key in _BEFORE_TEXTS):
            yield from _converse_block(block, here)


def _converse_block(block: Any, at: Path) -> Iterator[Said]:
    """Documents given as text, what a guardrail looks at, and texts with citations."""
    source = field(field(block, "document"), "source")
    guarded, cited = field(block, "guardContent"), field(block, "citationsContent")
    if isinstance(field(source, "text"), str):
        yield Said(text_field(source, "text"), (*at, "document", "source", "text"))
    elif isinstance(field(source, "content"), list):
        yield from _joined(field(source, "content"), (*at, "document", "source", "content"))
    elif guarded is not None and field(guarded, "image") is None:
        here = (*at, "guardContent", "text", "text")
        yield Said(text_field(field(guarded, "text"), "text"), here)
    elif isinstance(field(cited, "content"), list):
        yield from _joined(field(cited, "content"), (*at, "citationsContent", "content"))


def _joined(chunks: list[Any], at: Path) -> Iterator[Said]:
    """Texts in pieces are one text; the first piece takes it."""
    if chunks:
        text = "\n".join(text_field(chunk, "text") for chunk in chunks)
        yield Said(text, (*at, 0, "text"), tuple((*at, index) for index in range(1, len(chunks))))


def _neutral_texts(entry: Any, at: Path) -> Iterator[Said]:
    yield Said(text_field(entry, "text"), (*at, "text"))


def _is_tool_result(block: Any) -> bool:
    return text_field(block, "type") == "tool_result"


def _has_tool_result(block: Any) -> bool:
    return is_object(field(block, "toolResult"))


def _is_response(part: Any) -> bool:
    keys = ("functionResponse", "function_response")
    return any(is_object(field(part, key)) for key in keys)


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        ANTHROPIC: Shape("content", _by_user, _anthropic_texts, _typed_block, _is_tool_result),
        OPENAI_CHAT: Shape("content", _by_user, _chat_texts),
        OPENAI_RESPONSES: Shape("content", _by_user, _responses_texts),
        GEMINI: Shape("parts", _in_blocks("parts"), _gemini_texts, _bare_block, _is_response),
        BEDROCK: Shape(
            "content", _in_blocks("content"), _converse_texts, _bare_block, _has_tool_result
        ),
        "entries": Shape("text", lambda text: {"kind": "user", "text": text}, _neutral_texts),
    }
)
"""Format → its shape. OpenAI lets the user speak twice in a row; the three with blocks refuse it
(Anthropic's own API does not, those that speak its language may)."""
