"""The same conversation as three providers want it: each as it grows, and checked by its SDK."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter

Call = dict[str, Any]
"""`id`, `name` and `arguments`, an object."""


class Anthropic:
    """Messages of Anthropic's API."""

    format = "anthropic"
    key = "messages"
    types: TypeAdapter[Any] = TypeAdapter(list[MessageParam])

    def user(self, text: str) -> list[Any]:
        return [{"role": "user", "content": text}]

    def asks(self, text: str, call: Call) -> list[Any]:
        use = {"type": "tool_use", "id": call["id"], "name": call["name"]}
        blocks = [{"type": "text", "text": text}, use | {"input": call["arguments"]}]
        return [{"role": "assistant", "content": blocks}]

    def result(self, call: Call, text: str) -> list[Any]:
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        return [{"role": "user", "content": [block]}]


class Chat:
    """Messages of OpenAI's Chat Completions."""

    format = "openai-chat"
    key = "messages"
    types: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])

    def user(self, text: str) -> list[Any]:
        return [{"role": "user", "content": text}]

    def asks(self, text: str, call: Call) -> list[Any]:
        function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
        calls = [{"id": call["id"], "type": "function", "function": function}]
        return [{"role": "assistant", "content": text, "tool_calls": calls}]

    def result(self, call: Call, text: str) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call["id"], "content": text}]


class Responses:
    """Items of OpenAI's Responses API."""

    format = "openai-responses"
    key = "input"
    types: TypeAdapter[Any] = TypeAdapter(ResponseInputParam)

    def user(self, text: str) -> list[Any]:
        return [{"role": "user", "content": text}]

    def asks(self, text: str, call: Call) -> list[Any]:
        said = {"role": "assistant", "content": text}
        function = {"type": "function_call", "call_id": call["id"], "name": call["name"]}
        return [said, function | {"arguments": json.dumps(call["arguments"])}]

    def result(self, call: Call, text: str) -> list[Any]:
        return [{"type": "function_call_output", "call_id": call["id"], "output": text}]


Dialect = Anthropic | Chat | Responses
DIALECTS: tuple[Dialect, ...] = (Anthropic(), Chat(), Responses())


def check(dialect: Dialect, request: Any) -> None:
    """Raise where the types of the provider's SDK would not take a request."""
    _gone_through(dialect.types.validate_python(request[dialect.key]))


def _gone_through(value: Any) -> None:
    """Lists inside are only checked when somebody goes through them."""
    if isinstance(value, dict):
        for inner in value.values():
            _gone_through(inner)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for inner in value:
            _gone_through(inner)
