"""Amazon Bedrock Converse: request bodies and bare message lists.

Blocks have no type: their one key says what they are. A user message is split into its results and
the runs of other blocks between them; everything in an assistant message belongs to the turn,
server tools included. A `cachePoint` is a block, but it is nothing that was said: it makes no entry
and splits none. What boto3 holds as bytes may be base64 as well.
Specification: DESIGN section 3; reference providers.md A4 and C5; botocore's model of `Converse`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Part, PartKind, Path, Reading
from compactor.formats import blocks
from compactor.formats.blocks import other_part, unknown_part
from compactor.formats.builder import Builder
from compactor.formats.dialects import BEDROCK, dialect
from compactor.formats.keyed import KeyReaders, medium_part, runs, sealed_part
from compactor.formats.lens_bases import MessageList
from compactor.formats.messages import (
    Body,
    Carried,
    field,
    listed,
    text_field,
    value_at,
    word_of,
)
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import REMOVE, Edit, compact_json
from compactor.formats.raw.objects import is_object
from compactor.formats.speech import SHAPES

ROLES = ("user", "assistant", "system")
_BINDABLE = ("adaptive", "enabled")
"""Kinds of thinking that take a binding (providers.md section 1)."""
_SERVER_TOOL = "server_tool_use"


class Bedrock(MessageList):
    """The lens of Converse."""

    name = BEDROCK
    shape = SHAPES[BEDROCK]

    def recognises(self, root: Any) -> bool:
        return dialect(root) == self.name

    def read(self, root: Any, known: Reading | None = None) -> Reading:
        reading = super().read(root, known)
        reading.model = text_field(root, "modelId")
        return reading

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """A text stays one; blocks become one text block, and behind it the last cache point."""
        content = field(field(value_at(root, entry.at), "toolResult"), "content")
        at = (*entry.at, "toolResult", "content")
        if isinstance(content, str):
            return [Edit(at, text)]
        if not isinstance(content, list):
            return []
        cache_points = [block for block in content if _is_cache_point(block)]
        return [Edit(at, [{"text": text}, *cache_points[-1:]])]

    def remove_reasoning(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """The first block that goes becomes the text where nothing else would be left."""
        edits: list[Edit] = []
        by_content: dict[Path, list[Path]] = {}
        for part in entry.parts:
            if part.signed:
                by_content.setdefault(part.at[:-1], []).append(part.at)
        for at, gone in by_content.items():
            edits += [Edit(block, REMOVE) for block in gone]
            said = [block for block in value_at(root, at) if not _is_cache_point(block)]
            if len(said) == len(gone):
                edits[-len(gone)] = Edit(gone[0], {"text": text})
        return edits

    def bind_reasoning(self, root: Any, binding: dict[str, str]) -> list[Edit] | None:
        """Converse has the provider's own fields beside its own."""
        at = ("additionalModelRequestFields", "thinking")
        thinking = field(field(root, at[0]), at[1])
        if field(thinking, "type") not in _BINDABLE:
            return None
        old, here = field(thinking, "block_binding"), (*at, "block_binding")
        if not isinstance(old, dict):
            return [Edit(here, binding)]
        return [Edit((*here, key), v) for key, v in binding.items() if old.get(key) != v]

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        role = word_of(message, "role", ROLES, at)
        content, inner = field(message, "content"), (*at, "content")
        if role == "assistant":
            builder.turn(*_turn_facts(builder, content, inner), at)
        elif role == "system":
            builder.system(_content_facts(builder, content, inner), at)
        elif isinstance(content, list):
            _say_user(builder, content, at)
        else:
            builder.user(_content_facts(builder, content, inner), at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        system, config = body.fields.get("system"), body.fields.get("toolConfig")
        texts = [*listed(system)]
        for message in lead:
            texts += listed(field(message, "content"))
        tools = _but_cache_points(listed(field(config, "tools")))
        known = system is not None or config is not None or bool(lead)
        return Carried(tuple(_but_cache_points(texts)), tuple(tools), known)

    def tool_texts(self, tool: Any) -> list[str]:
        """Name, description and schema; of a system tool its compact JSON."""
        definition = field(tool, "toolSpec")
        schema = field(field(definition, "inputSchema"), "json")
        if schema is None:
            return [compact_json(tool)]
        names = [text_field(definition, "name"), text_field(definition, "description")]
        return [*names, compact_json(schema)]


def _say_user(builder: Builder, content: list[Any], at: Path) -> None:
    """Each result is an entry, each run of other blocks between them is one."""
    inner = (*at, "content")
    for is_result, indexes in runs(map(_mark, content)):
        if is_result:
            _say_result(builder, content[indexes[0]], (*inner, indexes[0]))
            continue
        run: list[Part] = []
        for index in indexes:
            run += _block_facts(builder, content[index], (*inner, index))
        builder.user(run, at)


def _mark(block: Any) -> bool | None:
    return None if _is_cache_point(block) else is_object(field(block, "toolResult"))


def _say_result(builder: Builder, block: Any, at: Path) -> None:
    native, here = field(block, "toolResult"), (*at, "toolResult", "content")
    content = field(native, "content")
    is_odd = not (content is None or isinstance(content, (str, list)))
    if isinstance(content, list):
        texts, others = _result_facts(builder, content, here)
    else:
        parts = _content_facts(builder, content, here)
        texts, others = ([], parts) if is_odd else ([part.text for part in parts], [])
    builder.result(
        text_field(native, "toolUseId"),
        filter(None, texts),
        others,
        at,
        error=text_field(native, "status") == "error",
        required=is_odd,
        orphan_path=dotted(at),
    )


def _result_facts(builder: Builder, content: list[Any], at: Path) -> tuple[list[str], list[Part]]:
    """The texts of a result's blocks, JSON as compact JSON, and everything else."""
    texts: list[str] = []
    others: list[Part] = []
    for index, block in enumerate(content):
        text = _block_text(builder, block, (*at, index))
        if text is not None:
            texts.append(text)
        elif isinstance(block, dict) and "json" in block:
            texts.append("" if block["json"] is None else compact_json(block["json"]))
        else:
            others += _block_facts(builder, block, (*at, index))
    return texts, others


def _turn_facts(builder: Builder, content: Any, at: Path) -> tuple[list[Part], list[Call]]:
    """Parts and calls of an assistant message's content, which lies at `at`."""
    if not isinstance(content, list):
        return _content_facts(builder, content, at), []
    parts: list[Part] = []
    calls: list[Call] = []
    for index, block in enumerate(content):
        here = (*at, index)
        call = field(block, "toolUse")
        if is_object(call) and field(call, "type") != _SERVER_TOOL:
            calls.append(_call(builder, call, here))
            continue
        is_signed = _is_signed(field(block, "reasoningContent"))
        found = _block_facts(builder, block, here, _TURN_READERS)
        parts += (part._replace(at=here) if is_signed else part for part in found)
    return parts, calls


def _call(builder: Builder, native: Any, at: Path) -> Call:
    call_id, name = text_field(native, "toolUseId"), text_field(native, "name")
    if not call_id:
        builder.report("missing_id", "a call without an id", dotted(at))
    arguments = blocks.arguments_text(field(native, "input"))
    return Call(call_id, name, arguments, (*at, "toolUse", "input"))


def _content_facts(builder: Builder, content: Any, at: Path) -> list[Part]:
    """A content without calls and results. A text is read too, though Converse takes only lists."""
    if isinstance(content, str):
        return [Part(PartKind.TEXT, content)]
    if not isinstance(content, list):
        return [] if content is None else [unknown_part(builder, content, at)]
    parts: list[Part] = []
    for index, block in enumerate(content):
        parts += _block_facts(builder, block, (*at, index))
    return parts


def _block_facts(
    builder: Builder, block: Any, at: Path, readers: KeyReaders | None = None
) -> list[Part]:
    """What a block is that is neither call nor result; nothing of a cache point."""
    text = _block_text(builder, block, at)
    if text is not None:
        return [Part(PartKind.TEXT, text)]
    if _is_cache_point(block):
        return []
    for key, read in (READERS if readers is None else readers).items():
        value = field(block, key)
        if value is not None:
            return [read(value)]
    return [unknown_part(builder, block, at)]


def _block_text(builder: Builder, block: Any, at: Path) -> str | None:
    """The text of a text block; None for any other block."""
    text = field(block, "text")
    if not isinstance(text, str):
        return None
    if not text:
        builder.report("empty_text", "Converse refuses a blank text block", dotted(at))
    return text


def _is_cache_point(block: Any) -> bool:
    return field(block, "cachePoint") is not None


def _but_cache_points(natives: Iterable[Any]) -> Iterable[Any]:
    """System texts or tools without the cache points among them."""
    return (native for native in natives if not _is_cache_point(native))


def _is_signed(reasoning: Any) -> bool:
    """Claude signs its reasoning; other models on Bedrock do not."""
    has_signature = bool(text_field(field(reasoning, "reasoningText"), "signature"))
    return has_signature or field(reasoning, "redactedContent") is not None


def _reasoning(value: Any) -> Part:
    """Reasoning as text; where only its signature is kept, that."""
    reasoning = field(value, "reasoningText")
    text = text_field(reasoning, "text")
    if text:
        return Part(PartKind.REASONING, text)
    return sealed_part(field(value, "redactedContent") or text_field(reasoning, "signature"))


def _image(value: Any) -> Part:
    return _medium(value, is_image=True)


def _document(value: Any) -> Part:
    """A document given as text counts as text; any other has a fixed allowance."""
    source = field(value, "source")
    text = field(source, "text")
    if isinstance(text, str):
        return Part(PartKind.TEXT, text)
    chunks = field(source, "content")
    return _texts(chunks) if isinstance(chunks, list) else _medium(value)


def _medium(value: Any, *, is_image: bool = False) -> Part:
    source = field(value, "source")
    uri = text_field(field(source, "s3Location"), "uri")
    return medium_part(field(source, "bytes"), uri, source, is_image=is_image)


def _guarded(value: Any) -> Part:
    """What a guardrail looks at is a text or an image all the same."""
    image = field(value, "image")
    return _texts([field(value, "text")]) if image is None else _image(image)


def _cited(value: Any) -> Part:
    return _texts(listed(field(value, "content")))


def _texts(chunks: Iterable[Any]) -> Part:
    return Part(PartKind.TEXT, "\n".join(text_field(chunk, "text") for chunk in chunks))


READERS: KeyReaders = MappingProxyType(
    {
        "reasoningContent": _reasoning,
        "image": _image,
        "document": _document,
        "video": _medium,
        "audio": _medium,
        "guardContent": _guarded,
        "citationsContent": _cited,
    }
    | dict.fromkeys(("searchResult", "toolAddition", "toolRemoval"), other_part)
)
_TURN_READERS: KeyReaders = MappingProxyType(
    dict(READERS) | dict.fromkeys(("toolUse", "toolResult"), other_part)
)
