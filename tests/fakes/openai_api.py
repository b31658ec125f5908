"""OpenAI's Chat Completions and Responses as far as their rules concern a compactor.

What may stand where, and what belongs together (reference providers.md C2, C3). Reasoning items are
opaque and come back as they were given.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.script import Turn
from tests.fakes.server import RefusalError


class OpenAI:
    """The provider; one instance serves one conversation, in either API."""

    def __init__(self, script: Sequence[Turn]) -> None:
        self.script = list(script)
        self.requests: list[Any] = []
        self._reasoning: dict[str, Any] = {}

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> Any:  # noqa: ARG002
        if path == "/chat/completions":
            check_chat(body["messages"])
            say = self._chat
        elif path == "/responses":
            self._check_items(body)
            say = self._response
        else:
            raise RefusalError(f"no {path}", 404)
        turn = self.script[len(self.requests)]
        self.requests.append(body)
        return say(body["model"], turn)

    def error(self, refused: RefusalError) -> Any:
        return {"error": {"message": refused.message, "type": "invalid_request_error"}}

    def _chat(self, model: str, turn: Turn) -> Any:
        number = len(self.requests)
        calls = [
            {
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for index, call in enumerate(turn.calls)
        ]
        message: Any = {"role": "assistant", "content": turn.text or None}
        choice = {
            "index": 0,
            "finish_reason": "tool_calls" if calls else "stop",
            "message": message | ({"tool_calls": calls} if calls else {}),
        }
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [choice],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def _response(self, model: str, turn: Turn) -> Any:
        number = len(self.requests)
        reasoning = {
            "type": "reasoning",
            "id": f"rs_{number}",
            "summary": [],
            "encrypted_content": f"sealed-{number}" * 8,
        }
        self._reasoning[reasoning["id"]] = copy.deepcopy(reasoning)
        output: list[Any] = [reasoning]
        if turn.text:
            part = {"type": "output_text", "text": turn.text, "annotations": []}
            output.append(
                {
                    "type": "message",
                    "id": f"msg_{number}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            )
        output += [
            {
                "type": "function_call",
                "id": f"fc_{number}_{index}",
                "call_id": f"call_{number}_{index}",
                "name": call.name,
                "arguments": json.dumps(call.arguments),
                "status": "completed",
            }
            for index, call in enumerate(turn.calls)
        ]
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "model": model,
            "status": "completed",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }

    def _check_items(self, body: Any) -> None:
        if body.get("previous_response_id") or body.get("conversation"):
            raise RefusalError("this fake keeps no history")
        items = body["input"]
        check_outputs(items)
        for index, item in enumerate(items):
            if item.get("type") != "reasoning":
                continue
            following = items[index + 1].get("type") if index + 1 < len(items) else None
            if following not in ("message", "function_call"):
                raise RefusalError(
                    f"Item '{item['id']}' of type 'reasoning' was provided without its required "
                    "following item."
                )
            if {k: v for k, v in item.items() if v is not None} != self._reasoning.get(item["id"]):
                raise RefusalError(f"Item '{item['id']}': encrypted content could not be verified")


def check_chat(messages: Any) -> None:
    """Every call is answered, once, right behind the turn that makes it."""
    open_calls: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                raise RefusalError(
                    "messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'."
                )
            open_calls.remove(message["tool_call_id"])
            _check_text(message.get("content"), index, only_text=True)
            continue
        _check_all_answered(open_calls)
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        if not open_calls:
            _check_text(message.get("content"), index, only_text=False)
    _check_all_answered(open_calls)


def _check_all_answered(open_calls: list[str]) -> None:
    if open_calls:
        raise RefusalError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(open_calls)
        )


def _check_text(content: Any, index: int, *, only_text: bool) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        raise RefusalError(f"Invalid value for 'messages[{index}].content': expected text or parts")
    for part in content:
        if only_text and part["type"] != "text":
            raise RefusalError(f"Invalid value for 'messages[{index}].content': only text")
        if not {"type", "text", "prompt_cache_breakpoint", "image_url"} >= part.keys():
            raise RefusalError(f"Unknown parameter in 'messages[{index}].content'")


def check_outputs(items: Any) -> None:
    """Every call has an output behind it, and every output its call before it."""
    known: set[str] = set()
    open_calls: list[str] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            if not item["id"].startswith("fc"):
                raise RefusalError("Invalid 'id': Expected an ID that begins with 'fc'")
            known.add(item["call_id"])
            open_calls.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in known:
                raise RefusalError(
                    f"No tool call found for function call output with call_id {item['call_id']}."
                )
            if item["call_id"] in open_calls:
                open_calls.remove(item["call_id"])
            _check_output(item["output"])
    if open_calls:
        raise RefusalError(f"No tool output found for function call {open_calls[0]}.")


def _check_output(output: Any) -> None:
    if isinstance(output, str):
        return
    for part in output:
        if part["type"] not in ("input_text", "input_image", "input_file"):
            raise RefusalError(f"Invalid value: '{part['type']}'")
