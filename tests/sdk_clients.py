"""Clients of the providers' SDKs whose requests stay here: what goes over the wire is kept.

`Wire` answers every request with an object it was given and keeps the body as it was sent, so that
a test compares what an SDK makes of its own objects with what it makes of plain ones.
"""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import openai


class Wire:
    """A transport. `sent`: request bodies, oldest first; `answer`: what comes back next."""

    def __init__(self, answer: Any = None) -> None:
        self.sent: list[Any] = []
        self.answer = answer
        http = httpx2.Client(transport=httpx2.MockTransport(self._answered))
        self.openai = openai.OpenAI(api_key="none", http_client=http)
        self.anthropic = anthropic.Anthropic(api_key="none", http_client=http)

    def _answered(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(json.loads(request.content))
        return httpx2.Response(200, json=self.answer)

    def responses(self, items: list[Any], *output: Any) -> Any:
        """One request of the Responses API, and the model's answer to it."""
        self.answer = RESPONSE | {"output": list(output)}
        return self.openai.responses.parse(model="gpt-5.4", input=items)

    def chat(self, messages: list[Any], **message: Any) -> Any:
        """One request of Chat Completions, and the model's message."""
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
        self.answer = COMPLETION | {"choices": [choice]}
        answer = self.openai.chat.completions.create(model="gpt-5.4", messages=messages)
        return answer.choices[0].message

    def messages(self, messages: list[Any], *content: Any) -> Any:
        """One request of Anthropic's Messages API, and the model's answer to it."""
        self.answer = MESSAGE | {"content": list(content)}
        return self.anthropic.messages.parse(model="claude-test", max_tokens=99, messages=messages)


RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 0,
    "model": "gpt-5.4",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "status": "completed",
}
COMPLETION = {"id": "c_1", "object": "chat.completion", "created": 0, "model": "gpt-5.4"}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
