"""Gemini `generateContent`: request bodies, what its SDKs hold, and bare lists of contents.

A user's content is split into its function responses and the runs of other parts between them;
everything in a model's content belongs to the turn. Keys are found in the spelling of REST
(`functionCall`) and of the SDKs (`function_call`), and stay as they are. A response without an id
answers the calls of its name in the turn before in their order. Signatures are siblings of what
they sign and not bound to the prefix, so nothing ever removes them.
Specification: DESIGN section 3; reference providers.md C4.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.model import Call, Entry, Part, PartKind, Path
from compactor.formats import blocks
from compactor.formats.blocks import other_part, unknown_part
from compactor.formats.builder import Builder
from compactor.formats.dialects import GEMINI, dialect
from compactor.formats.keyed import KeyReaders, medium_part, runs, sealed_part
from compactor.formats.lens_bases import MessageList
from compactor.formats.messages import (
    Body,
    Carried,
    field,
    listed,
    locate,
    refuse_server_history,
    text_field,
    value_at,
    word_of,
)
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import REMOVE, Edit, compact_json
from compactor.formats.raw.objects import is_object, members
from compactor.formats.speech import SHAPES

_FIELDS = ("contents", "config", "model", "systemInstruction", "tools", "cachedContent")
ROLES = ("user", "model", "function")
_SOLE_KEYS = ("output", "result", "error")
_SCHEMAS = ("parameters", "parametersJsonSchema")
_BESIDE_NOTHING = ("thoughtSignature", "thought_signature", "thought")
"""Keys of a part that is there for its signature alone."""
_SNAKE = MappingProxyType(
    {
        "cachedContent": "cached_content",
        "codeExecutionResult": "code_execution_result",
        "executableCode": "executable_code",
        "fileData": "file_data",
        "fileUri": "file_uri",
        "functionCall": "function_call",
        "functionDeclarations": "function_declarations",
        "functionResponse": "function_response",
        "inlineData": "inline_data",
        "mimeType": "mime_type",
        "parametersJsonSchema": "parameters_json_schema",
        "systemInstruction": "system_instruction",
        "thoughtSignature": "thought_signature",
        "toolCall": "tool_call",
        "toolResponse": "tool_response",
    }
)


class Gemini(MessageList):
    """The lens of `generateContent`."""

    name = GEMINI
    shape = SHAPES[GEMINI]
    leading = ()

    def recognises(self, root: Any) -> bool:
        return dialect(root) == self.name

    def located(self, root: Any) -> Body:
        """The contents of a body, of a bare list, or of an SDK's or framework's request object."""
        is_model = is_object(root) and not isinstance(root, dict)
        fields = {key: _get(root, key) for key in _FIELDS} if is_model else root
        body = locate(fields, "contents")
        refuse_server_history(body.fields.get("config"), ("config",))
        return body

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return rewrite_response(value_at(root, entry.at), entry, text)

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        role, parts, inner = _role(message, at), field(message, "parts"), (*at, "parts")
        if role == "model":
            builder.turn(*turn_facts(builder, parts, inner), at)
        elif isinstance(parts, list):
            say_user(builder, parts, inner)
        else:
            builder.user(parts_facts(builder, parts, inner), at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:  # noqa: ARG002
        system, tools = _beside(body, "systemInstruction"), _beside(body, "tools")
        parts = field(system, "parts")
        texts = listed(system if parts is None else parts)
        known = system is not None or tools is not None
        return Carried(tuple(texts), tuple(listed(tools)), known)

    def tool_texts(self, tool: Any) -> list[str]:
        """A tool is several functions, hosted tools, or both."""
        texts: list[str] = []
        for definition in listed(_get(tool, "functionDeclarations")):
            schemas = (_get(definition, key) for key in _SCHEMAS)
            schema = next((schema for schema in schemas if schema is not None), None)
            texts += [text_field(definition, "name"), text_field(definition, "description")]
            texts.append("" if schema is None else compact_json(schema))
        if not is_object(tool):
            return [compact_json(tool)]
        declared = ("functionDeclarations", _SNAKE["functionDeclarations"])
        hosted = {k: v for k, v in members(tool) if k not in declared and v is not None}
        return [*texts, compact_json(hosted)] if hosted else texts


def rewrite_response(part: Any, entry: Entry, text: str) -> list[Edit]:
    """Edits that make `text` the body of the function response in a part at `entry.at`.

    A response keeps the key that says all of it; an error stays one.
    """
    at = (*entry.at, _spelled(part, "functionResponse"))
    native = _get(part, "functionResponse")
    sole = _sole_key(field(native, "response"))
    if sole is not None:
        edits = [Edit((*at, "response", sole), text)]
    else:
        edits = [Edit((*at, "response"), {"error" if entry.error else "output": text})]
    if field(native, "parts") is not None:
        edits.append(Edit((*at, "parts"), REMOVE))
    return edits


def _beside(body: Body, key: str) -> Any:
    """What REST has beside the contents; what an SDK was called with is in `config`."""
    value = _get(body.fields, key)
    return _get(body.fields.get("config"), key) if value is None else value


def _role(message: Any, at: Path) -> str:
    """The role; a content without one is the user's."""
    if field(message, "role") in (None, "") and field(message, "parts") is not None:
        return "user"
    return word_of(message, "role", ROLES, at)


def say_user(builder: Builder, parts: list[Any], at: Path, call: Call | None = None) -> None:
    """Each function response is an entry, each run of other parts between them is one.

    Args:
        at: address of the list of parts.
        call: what the responses answer, where the format holds both in one place.
    """
    marks = (is_response(part) for part in parts)
    for is_result, indexes in runs(marks):
        if is_result:
            _say_result(builder, parts[indexes[0]], (*at, indexes[0]), call)
            continue
        run: list[Part] = []
        for index in indexes:
            run += _part_facts(builder, parts[index], (*at, index))
        builder.user(run, at[:-1])


def is_response(part: Any) -> bool:
    """Whether a part holds a function response."""
    return is_object(_get(part, "functionResponse"))


def _say_result(builder: Builder, part: Any, at: Path, call: Call | None) -> None:
    """A part with a function response. What is signed must stay as it is."""
    native = _get(part, "functionResponse")
    here = (*at, _spelled(part, "functionResponse"))
    response = field(native, "response")
    others = parts_facts(builder, field(native, "parts"), (*here, "parts"))
    is_odd = response is not None and not is_object(response)
    if is_odd:
        others.append(unknown_part(builder, response, (*here, "response")))
    body = "" if is_odd else _body(response)
    builder.result(
        text_field(native, "id"),
        [body] if body else [],
        others,
        at,
        error=field(response, "error") is not None,
        required=is_odd or bool(_signature(part)),
        name=text_field(native, "name"),
        in_order=True,
        call=call,
        orphan_path=dotted(at),
    )


def _body(response: Any) -> str:
    """The text of the key that says all of it, else the compact JSON; nothing of nothing."""
    sole = _sole_key(response)
    if sole is not None:
        return text_field(response, sole)
    return compact_json(response) if response else ""


def _sole_key(response: Any) -> str | None:
    """The only key of a response, where it says all of it and is a text or null."""
    if not isinstance(response, dict) or len(response) != 1:
        return None
    ((key, value),) = response.items()
    return key if key in _SOLE_KEYS and (value is None or isinstance(value, str)) else None


def turn_facts(builder: Builder, parts: Any, at: Path) -> tuple[list[Part], list[Call]]:
    """Parts and calls of a model's content, whose parts lie at `at`."""
    if not isinstance(parts, list):
        return parts_facts(builder, parts, at), []
    said: list[Part] = []
    calls: list[Call] = []
    for index, part in enumerate(parts):
        native = _get(part, "functionCall")
        if not is_object(native):
            said += _part_facts(builder, part, (*at, index))
            continue
        arguments = blocks.arguments_text(field(native, "args"))
        here = (*at, index, _spelled(part, "functionCall"), "args")
        calls.append(Call(text_field(native, "id"), text_field(native, "name"), arguments, here))
        said += _signature(part)
    return said, calls


def parts_facts(builder: Builder, parts: Any, at: Path) -> list[Part]:
    """A list of parts without calls and responses."""
    if not isinstance(parts, list):
        return [] if parts is None else [unknown_part(builder, parts, at)]
    return [
        found
        for index, part in enumerate(parts)
        for found in _part_facts(builder, part, (*at, index))
    ]


def _part_facts(builder: Builder, part: Any, at: Path) -> list[Part]:
    """What a part holds that is neither call nor response, and the signature beside it."""
    text, signature = field(part, "text"), _signature(part)
    if isinstance(text, str):
        is_thought = field(part, "thought") is True
        return [Part(PartKind.REASONING if is_thought else PartKind.TEXT, text), *signature]
    for key, read in READERS.items():
        value = _get(part, key)
        if value is not None:
            return [read(value), *signature]
    if signature and all(v is None or k in _BESIDE_NOTHING for k, v in members(part)):
        return signature
    return [unknown_part(builder, part, at), *signature]


def _signature(part: Any) -> list[Part]:
    data = _get(part, "thoughtSignature")
    return [sealed_part(data)] if data else []


def _inline(blob: Any) -> Part:
    return medium_part(field(blob, "data"), "", blob, is_image=_is_image(blob))


def _file(file: Any) -> Part:
    uri = _get(file, "fileUri")
    return medium_part(None, uri if isinstance(uri, str) else "", file, is_image=_is_image(file))


def _is_image(medium: Any) -> bool:
    mime = _get(medium, "mimeType")
    return isinstance(mime, str) and mime.lower().startswith("image/")


def _get(native: Any, key: str) -> Any:
    """A field in either spelling."""
    return field(native, _spelled(native, key))


def _spelled(native: Any, key: str) -> str:
    """A key as this object spells it: as in REST or as in the SDKs."""
    snake = _SNAKE.get(key)
    if snake is None or field(native, key) is not None or field(native, snake) is None:
        return key
    return snake


READERS: KeyReaders = MappingProxyType(
    {"inlineData": _inline, "fileData": _file}
    | dict.fromkeys(
        ("executableCode", "codeExecutionResult", "toolCall", "toolResponse"), other_part
    )
)
