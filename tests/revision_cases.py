"""Requests that hold much of what providers know, each valid, for tests of revisions.

Each: format → (request body, what says whether the provider would refuse it).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import botocore.session
from anthropic.types import MessageParam
from botocore.validate import ParamValidator
from google.genai import types as google
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter

from tests.fakes import anthropic_api, gemini_api, openai_api

EPHEMERAL = {"type": "ephemeral"}
POINT = {"cachePoint": {"type": "default"}}
PNG = "iVBORw0KGgo="


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {"q": 1}, **more}


def answer(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "a document"},
}
FOUND = {
    "type": "web_search_result",
    "url": "https://a",
    "title": "t",
    "encrypted_content": "gAAA",
    "page_age": None,
}

ANTHROPIC: list[Any] = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            text("both"),
            *(use("a"), use("b")),
        ],
    },
    {
        "role": "user",
        "content": [
            answer("a", [text("x"), IMAGE]),
            answer("b", "no", is_error=True),
            *(text("and on"), {**IMAGE, "cache_control": EPHEMERAL}),
        ],
    },
    {"role": "system", "content": "take care"},
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [FOUND]},
            text("found"),
        ],
    },
    {"role": "user", "content": [text("next", cache_control=EPHEMERAL), DOCUMENT]},
    {
        "role": "assistant",
        "content": [{"type": "redacted_thinking", "data": "cmVk"}, use("c")],
    },
    {"role": "user", "content": [answer("c", "ok", cache_control=EPHEMERAL)]},
    {"role": "assistant", "content": [use("d")]},
    {"role": "user", "content": [answer("d", [text("fine")]), text("thanks")]},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": "more"},
]


def function(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": '{"q": 1}'}}


CHAT: list[Any] = [
    {"role": "system", "content": "be brief"},
    {
        "role": "user",
        "content": [text("go"), {"type": "image_url", "image_url": {"url": "https://a/b.png"}}],
    },
    {"role": "assistant", "content": None, "tool_calls": [function("a"), function("b")]},
    {"role": "tool", "tool_call_id": "a", "content": "x"},
    {"role": "tool", "tool_call_id": "b", "content": [text("y")]},
    {"role": "assistant", "content": [text("said")], "refusal": "no"},
    {"role": "developer", "content": "take care"},
    {"role": "user", "content": "next"},
    {"role": "assistant", "content": "look", "tool_calls": [function("c")]},
    {"role": "tool", "tool_call_id": "c", "content": "ok"},
    {"role": "assistant", "content": [text("one"), {"type": "refusal", "refusal": "two"}]},
    {"role": "user", "content": "more"},
]


def reasoning(number: int) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAAA"}


def call(call_id: str) -> dict[str, Any]:
    made = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id}
    return {**made, "name": "f", "arguments": '{"q": 1}'}


def output(call_id: str, said: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": said}


def reply(number: int, *content: Any) -> dict[str, Any]:
    head = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
    return {**head, "content": list(content)}


def printed(words: str) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": []}


RESPONSES: list[Any] = [
    {"role": "developer", "content": "be brief"},
    {"role": "user", "content": "go"},
    *(reasoning(1), reply(1, printed("both")), call("a"), call("b")),
    *(output("a", "x"), output("b", [{"type": "input_text", "text": "y"}])),
    reasoning(2),
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    },
    reply(2, printed("one"), {"type": "refusal", "refusal": "two"}),
    {"role": "developer", "content": "take care"},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "next"},
            {"type": "input_image", "image_url": "https://a/b.png", "detail": "auto"},
        ],
    },
    *(reasoning(3), call("c"), output("c", "ok")),
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": "more"},
]


def fc(call_id: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": "f", "args": {"q": 1}}, **more}


def fr(call_id: str, response: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "f", "response": response}}


GEMINI: list[Any] = [
    {
        "role": "user",
        "parts": [{"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}],
    },
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": "both"},
            *(fc("a", thoughtSignature="c2ln"), fc("b")),
        ],
    },
    {"role": "user", "parts": [fr("a", {"output": "x"}), fr("b", {"error": "no"}), {"text": "on"}]},
    {"role": "model", "parts": [{"text": "found"}, {"text": "", "thoughtSignature": "c2ln"}]},
    {"role": "user", "parts": [{"text": "next"}]},
    {"role": "model", "parts": [fc("c", thoughtSignature="c2ln")]},
    {"role": "user", "parts": [fr("c", {"output": "ok"})]},
    {"role": "model", "parts": [fc("d", thoughtSignature="c2ln")]},
    {"role": "user", "parts": [fr("d", {"output": "ok"})]},
    {"role": "model", "parts": [{"text": "done", "thoughtSignature": "c2ln"}]},
    {"role": "user", "parts": [{"text": "more"}]},
]


def converse_use(call_id: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": "f", "input": {"q": 1}}}


def converse_result(call_id: str, *content: Any, **more: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "content": list(content), **more}}


BEDROCK: list[Any] = [
    {"role": "user", "content": [{"text": "go"}, POINT]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
            {"text": "both"},
            *(converse_use("a"), converse_use("b")),
        ],
    },
    {
        "role": "user",
        "content": [
            converse_result("a", {"text": "x"}, {"json": {"k": 1}}),
            converse_result("b", {"text": "no"}, status="error"),
            *(POINT, {"text": "and on"}),
        ],
    },
    {
        "role": "assistant",
        "content": [{"citationsContent": {"content": [{"text": "one"}, {"text": "two"}]}}],
    },
    {
        "role": "user",
        "content": [
            {"text": "next"},
            {"document": {"name": "d", "format": "txt", "source": {"text": "a document"}}},
            {"guardContent": {"text": {"text": "looked at"}}},
        ],
    },
    {"role": "assistant", "content": [converse_use("c")]},
    {"role": "user", "content": [converse_result("c", {"text": "ok"}), POINT]},
    {"role": "assistant", "content": [converse_use("d")]},
    {"role": "user", "content": [converse_result("d", {"text": "ok"})]},
    {"role": "assistant", "content": [{"text": "done"}]},
    {"role": "user", "content": [{"text": "more"}]},
]
ENTRIES: list[Any] = [
    {"kind": "user", "text": "go"},
    {"kind": "assistant", "text": "both", "calls": [{"id": i, "name": "f"} for i in "ab"]},
    *({"kind": "tool", "call": i, "text": "x"} for i in "ab"),
    {"kind": "system", "text": "take care"},
    {"kind": "assistant", "text": "done"},
    {"kind": "user", "text": "more"},
]
_CONVERSE = (
    botocore.session.Session()
    .get_service_model("bedrock-runtime")
    .operation_model("Converse")
    .input_shape
)


def taken_in(value: Any) -> Any:
    """Goes through everything, as iterables inside are only checked when they are gone through."""
    if isinstance(value, dict):
        return {key: taken_in(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [taken_in(inner) for inner in value]
    return value


def _typed(adapter: TypeAdapter[Any]) -> Callable[[Any], None]:
    def check(items: Any) -> None:
        taken_in(adapter.validate_python(items))

    return check


def _converse(items: Any) -> None:
    faults = ParamValidator().validate({"modelId": "m", "messages": items}, _CONVERSE)
    assert faults.generate_report() == ""
    roles = [message["role"] for message in items]
    assert roles == [("user", "assistant")[index % 2] for index in range(len(items))]


def _anthropic(items: Any) -> None:
    """Roles alternate, system messages aside, which stand between a user's and a model's."""
    spoken = [message for message in items if message["role"] != "system"]
    anthropic_api.check_shape({"messages": spoken})
    anthropic_api.check_breakpoints({"messages": spoken})
    roles = [message["role"] for message in spoken]
    assert roles == [("user", "assistant")[index % 2] for index in range(len(spoken))]
    for index, message in enumerate(items):
        if message["role"] == "system":
            assert items[index - 1]["role"] == "user"
            assert [m["role"] for m in items[index + 1 : index + 2]] in ([], ["assistant"])


def _gemini(items: Any) -> None:
    gemini_api.check_responses(items)
    roles = [content["role"] for content in items]
    assert roles == [("user", "model")[index % 2] for index in range(len(items))]


def _chat(items: Any) -> None:
    """The fake knows no refusals in parts, which are texts to it."""
    plain = [
        {**item, "content": [text("x") for _ in item["content"]]}
        if isinstance(item.get("content"), list) and item["role"] == "assistant"
        else item
        for item in items
    ]
    openai_api.check_chat(plain)


def _neutral(items: Any) -> None:
    json.dumps(items)


class Case(NamedTuple):
    """A request's messages. key: of them in a body; checks: raise where one would be refused."""

    key: str
    items: list[Any]
    checks: tuple[Callable[[Any], None], ...]

    def body(self) -> dict[str, Any]:
        return {"model": "m", self.key: self.items}

    def check(self, body: Any) -> None:
        for check in self.checks:
            check(body[self.key])


CASES: Mapping[str, Case] = {
    "anthropic": Case("messages", ANTHROPIC, (_anthropic, _typed(TypeAdapter(list[MessageParam])))),
    "openai-chat": Case(
        "messages",
        CHAT,
        (_chat, _typed(TypeAdapter(list[ChatCompletionMessageParam]))),
    ),
    "openai-responses": Case(
        "input", RESPONSES, (openai_api.check_outputs, _typed(TypeAdapter(ResponseInputParam)))
    ),
    "gemini": Case("contents", GEMINI, (_gemini, _typed(TypeAdapter(list[google.Content])))),
    "bedrock": Case("messages", BEDROCK, (_converse,)),
    "entries": Case("entries", ENTRIES, (_neutral,)),
}
