"""Checks of what `convert` gives: the same entries but for what is said, and a valid request.

Both are made here without the code that converts: entries are compared as the target's own lens
reads them, OpenTelemetry's messages by a reader of this file's own.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import botocore.session
import jsonschema
from anthropic.types import MessageParam
from botocore.validate import ParamValidator
from google.genai import types as genai
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from compactor import Converted
from compactor.core.model import Entry, Kind, PartKind
from compactor.formats import lens
from tests import pairing
from tests.fakes import anthropic_api, gemini_api, openai_api

TARGETS = (
    *("anthropic", "openai-chat", "openai-responses", "gemini", "bedrock"),
    *("entries", "otel"),
)
PROVIDERS = TARGETS[:5]
LISTS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input"} | {
    "gemini": "contents",
    "bedrock": "messages",
}
"""Provider → the key of its messages."""
ADDED = ("begin_added", "media_moved", "call_completed")
"""Findings that say that there is one entry more."""


class Facts(NamedTuple):
    """What a conversion must keep of an entry."""

    kind: str
    texts: str
    calls: tuple[tuple[str, str], ...]
    body: str
    error: bool
    name: str
    media: tuple[str, ...]


def facts_of(entries: Sequence[Entry], names: Mapping[str, str], *, counted: bool) -> list[Facts]:
    """The facts of entries.

    Args:
        names: tool names that the target has others for.
        counted: media are known by their number only.
    """
    return [_facts(entry, names, counted=counted) for entry in entries]


def _facts(entry: Entry, names: Mapping[str, str], *, counted: bool) -> Facts:
    media = [p for p in entry.parts if p.kind in (PartKind.IMAGE, PartKind.DOCUMENT)]
    return Facts(
        kind=entry.kind.value,
        texts="\n".join(part.text for part in entry.parts if part.kind is PartKind.TEXT),
        calls=tuple((names.get(c.name, c.name), c.arguments or "{}") for c in entry.calls),
        body=entry.body,
        error=entry.error,
        name=names.get(entry.name, entry.name) if entry.call is not None else "",
        media=tuple("" if counted else part.digest for part in media),
    )


def check_same(before: Sequence[Entry], converted: Converted) -> int:
    """Every entry that no finding names is there as it was; of the others no text is lost.

    Returns:
        how many entries no finding names.
    """
    counted = converted.format == "entries"
    names = renamed(converted)
    reported = {found.seq for found in converted.findings}
    after = written(converted, counted=counted)
    place, kept = 0, 0
    for seq, facts in enumerate(facts_of(before, names, counted=counted)):
        if seq in reported:
            continue
        assert facts in after[place:], (seq, facts, after[place : place + 3])
        place = after.index(facts, place) + 1
        kept += 1
    everything = "\n".join(text for facts in after for text in (facts.texts, facts.body))
    lost = {found.seq for found in converted.findings if found.code == "text_left_out"}
    for seq in sorted(reported - lost - {None}):
        for said in texts_of(before[seq]):
            assert said in everything, (seq, said)
    codes = Counter(found.code for found in converted.findings)
    assert len(after) <= len(before) + sum(codes[code] for code in ADDED)
    if reported <= {None}:
        assert len(after) == len(before) + sum(codes[code] for code in ADDED)
    return kept


def texts_of(entry: Entry) -> list[str]:
    """What an entry says, each text for itself."""
    texts = [part.text for part in entry.parts if part.kind is PartKind.TEXT]
    return list(filter(None, [*texts, entry.body]))


def written(converted: Converted, *, counted: bool) -> list[Facts]:
    """The facts of what was written."""
    native = json.loads(converted.to_bytes())
    if converted.format == "otel":
        return read_otel(native)
    return facts_of(lens(converted.format).read(native).entries, {}, counted=counted)


def renamed(converted: Converted) -> dict[str, str]:
    """Old name of a tool → new one, as the findings say."""
    said = (f.message for f in converted.findings if f.code == "tool_renamed")
    pairs = (message.removeprefix("the tool ").split(" is called ") for message in said)
    return {_quoted(old): _quoted(new.rpartition(", as the")[0]) for old, new in pairs}


def _quoted(text: str) -> str:
    import ast

    return str(ast.literal_eval(text))


def read_otel(native: Any) -> list[Facts]:
    """OpenTelemetry's messages, adjacent answers as one; errors have no place in them."""
    found: list[Facts] = []
    names: dict[str, str] = {}
    for message in native["gen_ai.input.messages"]:
        facts = _otel_facts(message, names)
        if found and found[-1].kind == facts.kind == "assistant":
            last = found.pop()
            texts = "\n".join(filter(None, (last.texts, facts.texts)))
            facts = facts._replace(texts=texts, calls=last.calls + facts.calls)
        found.append(facts)
    return found


def _otel_facts(message: Any, names: dict[str, str]) -> Facts:
    parts = message["parts"]
    if message["role"] == "tool":
        [part] = parts
        response = part["response"]
        parts = response if isinstance(response, list) else [{"type": "text", "content": response}]
        media = _otel_media(parts)
        return Facts("tool", "", (), _otel_text(parts), False, names.get(part["id"], ""), media)
    calls = [part for part in parts if part["type"] == "tool_call"]
    names |= {call["id"]: call["name"] for call in calls}
    spelled = tuple((call["name"], _spelled(call.get("arguments", {}))) for call in calls)
    return Facts(message["role"], _otel_text(parts), spelled, "", False, "", _otel_media(parts))


def _spelled(arguments: Any) -> str:
    from compactor.formats.raw.json_compact import compact_json

    return arguments if isinstance(arguments, str) else compact_json(arguments)


def _otel_text(parts: Any) -> str:
    return "\n".join(part["content"] for part in parts if part["type"] == "text")


def _otel_media(parts: Any) -> tuple[str, ...]:
    from compactor.formats.media import digest_of

    keys = {"blob": "content", "uri": "uri", "file": "file_id"}
    return tuple(digest_of(p[keys[p["type"]]]) for p in parts if p["type"] in keys)


# -- what providers refuse


def problems(converted: Converted) -> list[Any]:
    """What a provider would refuse of a request: its pairing, its rules, its types."""
    if converted.format == "otel":
        return otel_faults(converted.native)
    items = [] if converted.format == "entries" else converted.native[LISTS[converted.format]]
    if not items:
        return []
    empty_result = [(i, "empty text") for i, m in enumerate(items) if m.get("role") == "tool"]
    found = [p for p in pairing.problems(converted.format, items) if p not in empty_result]
    return found + _RULES[converted.format](items) + spelling(converted.format, items)


def refused(check: Callable[[Any], None], items: Any) -> list[str]:
    """Why a fake of the provider refuses a request."""
    try:
        check(items)
    except (anthropic_api.RefusalError, KeyError) as why:
        return [str(why)]
    return []


def _anthropic(items: Any) -> list[Any]:
    spoken = [item for item in items if item["role"] != "system"]
    return refused(lambda all_: anthropic_api.check_shape({"messages": all_}), spoken)


def _chat(items: Any) -> list[Any]:
    known = [item for item in items if not _has_files(item)]
    return refused(openai_api.check_chat, known)


def _has_files(item: Any) -> bool:
    content = item.get("content")
    return isinstance(content, list) and any(
        p["type"] not in ("text", "image_url") for p in content
    )


def _responses(items: Any) -> list[Any]:
    """The fake knows functions only; a custom call and its output pair in the same way."""
    asked = {i["call_id"] for i in items if i.get("type") == "custom_tool_call"}
    given = {i["call_id"] for i in items if i.get("type") == "custom_tool_call_output"}
    typed = [
        {**i, "type": i.get("type", "message").replace("custom_tool", "function")} for i in items
    ]
    found = refused(openai_api.check_outputs, [{"id": "fc_1", **item} for item in typed])
    return found if asked == given else [*found, f"custom {asked} {given}"]


def _gemini(items: Any) -> list[Any]:
    in_order = copy.deepcopy(items)
    for before, content in itertools.pairwise(in_order):
        ids = [p["functionCall"]["id"] for p in before["parts"] if "functionCall" in p]
        responses = [p for p in content["parts"] if "functionResponse" in p]
        responses.sort(key=lambda p, ids=ids: ids.index(p["functionResponse"]["id"]))  # type: ignore[misc]
        rest = [p for p in content["parts"] if "functionResponse" not in p]
        content["parts"] = responses + rest
    found = refused(gemini_api.check_responses, in_order)
    for index, content in enumerate(items):
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            found.append(f"contents[{index}]: no signature")
    return found


def _bedrock(items: Any) -> list[Any]:
    roles = [item["role"] for item in items]
    repeats = [i for i in range(1, len(roles)) if roles[i] == roles[i - 1]]
    texts = [b["text"] for m in items for b in m["content"] if "text" in b]
    texts += [
        inner["text"]
        for message in items
        for block in message["content"]
        for inner in block.get("toolResult", {}).get("content", ())
        if "text" in inner
    ]
    blank = [text for text in texts if not text.strip()]
    first = [] if not roles or roles[0] == "user" else ["begins with the model"]
    return [*first, *(f"messages[{i}]: role repeats" for i in repeats), *map(repr, blank)]


_RULES: Mapping[str, Callable[[Any], list[Any]]] = MappingProxyType(
    {
        "anthropic": _anthropic,
        "openai-chat": _chat,
        "openai-responses": _responses,
        "gemini": _gemini,
        "bedrock": _bedrock,
    }
)


class Spelled(NamedTuple):
    """How a provider wants ids and names: characters and length."""

    ids: str
    id_length: int
    names: str
    name_length: int


_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
SPELLED = {
    "anthropic": Spelled(_WORD, 10**6, _WORD, 128),
    "openai-chat": Spelled("", 40, _WORD, 64),
    "openai-responses": Spelled("", 64, _WORD, 64),
    "gemini": Spelled("", 10**6, _WORD + ".:", 64),
    "bedrock": Spelled(_WORD, 64, _WORD, 64),
}


def spelling(name: str, items: Any) -> list[str]:
    """Ids that are wrong, too long or not unique; names that are wrong or too long."""
    calls = calls_of(name, items)
    rule = SPELLED[name]
    found = [f"id {i!r}" for i, _, _ in calls if not _fits(i, rule.ids, rule.id_length)]
    found += [f"name {n!r}" for _, n, _ in calls if not _fits(n, rule.names, rule.name_length)]
    found += [f"arguments {a!r}" for _, _, a in calls if not isinstance(a, dict | None)]
    ids = Counter(call_id for call_id, _, _ in calls)
    return found + [f"id {call_id!r} {n} times" for call_id, n in ids.items() if n > 1]


def _fits(text: str, characters: str, length: int) -> bool:
    return 0 < len(text) <= length and (not characters or set(text) <= set(characters))


def calls_of(name: str, items: Any) -> list[tuple[str, str, Any]]:
    """Id, name and arguments of every call; None for a text of the tool's own."""
    if name == "openai-responses":
        return [_response_call(i) for i in items if i.get("type", "").endswith("tool_call")] + [
            _response_call(item) for item in items if item.get("type") == "function_call"
        ]
    if name == "openai-chat":
        return [_chat_call(call) for item in items for call in item.get("tool_calls") or ()]
    keys = {"anthropic": "content", "bedrock": "content", "gemini": "parts"}
    blocks = [b for m in items if isinstance(m[keys[name]], list) for b in m[keys[name]]]
    if name == "anthropic":
        return [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
    if name == "gemini":
        found = [b["functionCall"] for b in blocks if "functionCall" in b]
        return [(call["id"], call["name"], call["args"]) for call in found]
    found = [b["toolUse"] for b in blocks if "toolUse" in b]
    return [(call["toolUseId"], call["name"], call["input"]) for call in found]


def _response_call(item: Any) -> tuple[str, str, Any]:
    is_own = item["type"] == "custom_tool_call"
    arguments = None if is_own else json.loads(item["arguments"])
    return item["call_id"], item["name"], arguments


def _chat_call(call: Any) -> tuple[str, str, Any]:
    if call["type"] == "custom":
        return call["id"], call["custom"]["name"], None
    function = call["function"]
    return call["id"], function["name"], json.loads(function["arguments"])


# -- the types of SDKs, and OpenTelemetry's schemas


CONVERSE = (
    botocore.session.Session()
    .get_service_model("bedrock-runtime")
    .operation_model("Converse")
    .input_shape
)
ACCEPTS: Mapping[str, TypeAdapter[Any]] = MappingProxyType(
    {
        "anthropic": TypeAdapter(list[MessageParam]),
        "openai-chat": TypeAdapter(list[ChatCompletionMessageParam]),
        "openai-responses": TypeAdapter(list[ResponseInputItemParam]),
        "gemini": TypeAdapter(list[genai.Content]),
    }
)


def check_types(converted: Converted) -> None:
    """The provider's SDK takes the request."""
    native = json.loads(converted.to_bytes())
    if converted.format == "bedrock":
        report = ParamValidator().validate({"modelId": "m", **native}, CONVERSE)
        found = report.generate_report()
        assert found == "", found
    elif converted.format in ACCEPTS:
        items = native[LISTS[converted.format]]
        if converted.format == "openai-responses":  # an item's own harness sends it without its id
            items = [{"id": "rs_1"} | i if i.get("type") == "reasoning" else i for i in items]
        ACCEPTS[converted.format].validate_python(items)


def _part(kind: str, required: Sequence[str], **keys: Any) -> Any:
    """One part of OpenTelemetry's messages, as its schema has it."""
    properties = {"type": {"const": kind}, **keys}
    return {
        "type": "object",
        "properties": properties,
        "required": ["type", *required],
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_MEDIUM = {"modality": _TEXT, "mime_type": _TEXT}
_TEXT_PART = _part("text", ["content"], content=_TEXT)
OTEL = {
    "gen_ai.input.messages": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "role": {"enum": ["system", "user", "assistant", "tool"]},
                "parts": {
                    "type": "array",
                    "items": {
                        "oneOf": [
                            _TEXT_PART,
                            _part("reasoning", ["content"], content=_TEXT),
                            _part("tool_call", ["name"], id=_TEXT, name=_TEXT, arguments={}),
                            _part("tool_call_response", ["response"], id=_TEXT, response={}),
                            _part("blob", ["modality", "content"], content=_TEXT, **_MEDIUM),
                            _part("uri", ["modality", "uri"], uri=_TEXT, **_MEDIUM),
                            _part("file", ["modality", "file_id"], file_id=_TEXT, **_MEDIUM),
                        ]
                    },
                },
            },
            "required": ["role", "parts"],
            "additionalProperties": False,
        },
    },
    "gen_ai.system_instructions": {"type": "array", "items": _TEXT_PART},
    "gen_ai.tool.definitions": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"type": _TEXT, "name": _TEXT, "parameters": {"type": "object"}},
            "required": ["type", "name"],
        },
    },
    "gen_ai.request.model": _TEXT,
}
"""Attribute → the facts of its JSON schema in semantic-conventions-genai v0.1.0, stricter in that
nothing else may be there."""
_VALIDATOR = jsonschema.Draft202012Validator(
    {"type": "object", "properties": OTEL, "additionalProperties": False}
)


def otel_faults(native: Any) -> list[str]:
    """What OpenTelemetry's schemas do not allow."""
    return [error.message for error in _VALIDATOR.iter_errors(native)]


def tools(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind is Kind.TOOL]
