"""Gemini `generateContent` as far as its rules concern a compactor (reference providers.md C4).

Function responses right behind their calls, as many and as objects; the signature of the first call
of each step of the current turn.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.script import Turn
from tests.fakes.server import RefusalError


class Gemini:
    """The provider; one instance serves one conversation."""

    def __init__(self, script: Sequence[Turn]) -> None:
        self.script = list(script)
        self.requests: list[Any] = []
        self._signed: dict[str, Any] = {}

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> Any:  # noqa: ARG002
        if not path.split("?")[0].endswith(":generateContent"):
            raise RefusalError(f"no {path}", 404)
        self._check(body["contents"])
        turn = self.script[len(self.requests)]
        self.requests.append(body)
        candidate = {"content": {"role": "model", "parts": self._say(turn)}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}

    def error(self, refused: RefusalError) -> Any:
        said = {"code": refused.status, "message": refused.message, "status": "INVALID_ARGUMENT"}
        return {"error": said}

    def _say(self, turn: Turn) -> list[Any]:
        number = len(self.requests)
        parts: list[Any] = [{"text": turn.text}] if turn.text else []
        for index, call in enumerate(turn.calls):
            made = {"id": f"fc_{number}_{index}", "name": call.name, "args": call.arguments}
            part: Any = {"functionCall": made}
            if index == 0:
                part["thoughtSignature"] = f"c2lnbmVk{number:04d}"
                self._signed[part["thoughtSignature"]] = copy.deepcopy(made)
            parts.append(part)
        if not turn.calls:
            parts.append({"text": "", "thoughtSignature": f"c2lnbmVk{number:04d}"})
        return parts

    def _check(self, contents: Any) -> None:
        check_responses(contents)
        for index in range(_current_turn(contents), len(contents)):
            calls = _parts(contents[index], "functionCall")
            if not calls:
                continue
            signature, call = calls[0].get("thoughtSignature"), calls[0]["functionCall"]
            if not signature:
                raise RefusalError(
                    f"Function call `{call['name']}` in the `{index + 1}.` content block is "
                    "missing a `thought_signature`."
                )
            if self._signed.get(signature) != call:
                raise RefusalError("Corrupted thought signature.")


def check_responses(contents: Any) -> None:
    """Calls come behind a user's or a response content, responses right behind their calls."""
    for index, content in enumerate(contents):
        if not content["parts"]:
            raise RefusalError(f"contents[{index}].parts: must not be empty")
        before = contents[index - 1] if index else {"parts": []}
        calls, responses = (
            _parts(before, "functionCall"),
            _parts(content, "functionResponse"),
        )
        if len(calls) != len(responses):
            raise RefusalError(
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        for call, response in zip(calls, responses, strict=True):
            _check_response(call["functionCall"], response["functionResponse"])
        if _parts(content, "functionCall") and (not index or before.get("role") == "model"):
            raise RefusalError(
                "Please ensure that function call turn comes immediately after a user turn or "
                "after a function response turn."
            )
    if _parts(contents[-1], "functionCall"):
        raise RefusalError("a function call without its response")


def _check_response(call: Any, response: Any) -> None:
    if not isinstance(response.get("response"), dict):
        raise RefusalError("function_response.response: must be an object")
    if (call["name"], call.get("id")) != (response["name"], response.get("id")):
        raise RefusalError("a function response must name its call")


def _current_turn(contents: Any) -> int:
    """The last content of the person."""
    spoken = [
        index
        for index, content in enumerate(contents)
        if content["role"] == "user" and not _parts(content, "functionResponse")
    ]
    return spoken[-1] if spoken else 0


def _parts(content: Any, key: str) -> list[Any]:
    return [part for part in content["parts"] if key in part]
