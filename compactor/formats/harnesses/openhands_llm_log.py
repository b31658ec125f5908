"""OpenHands' logs of LLM calls: one file a request (`log_completions`), or many as JSON Lines.

A log is what was asked beside what came back: messages in the shape of Chat Completions, or items
of the Responses API, with tools and `response`. Where the model has no tool calls of its own,
calls and results are text in `messages`, the tools are in the system prompt, and `raw_messages` or
`fncall_messages` repeat them as they were before; they are not sent. LiteLLM's own logs of requests
have the same shape. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compactor.core.model import Path
from compactor.formats.answers import answer_of
from compactor.formats.messages import Dialect, field, text_field, value_at
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.providers.openai_responses import OpenAIResponses
from compactor.formats.recorded import time_ms
from compactor.formats.traces.request_log import RequestLog
from compactor.formats.traces.request_survey import FAILED, Sent, Skipped

_TIMES = ("timestamp", "api_call_start_time")
_UNSENT_COPIES = ("raw_messages", "fncall_messages")


class OpenHandsLlmLog(RequestLog):
    """OpenHands' logs of LLM calls (one file a request), and LiteLLM's in the same shape."""

    name = "openhands-llm-log"

    def recognises(self, root: Any) -> bool:
        return any(_is_log(value_at(root, at)) for at in self.places(root))

    def places(self, root: Any) -> Iterable[Path]:
        return ((index,) for index in range(len(root))) if isinstance(root, list) else ((),)

    def messages(self, root: Any) -> Sequence[Any]:
        """The messages of a single log, the logs of several."""
        key = _history(root)
        return root[key] if key else root if isinstance(root, list) else ()

    def record(self, root: Any, at: Path) -> Sent | Skipped | None:
        log = value_at(root, at)
        if not _is_log(log):
            return None
        key, options = _history(log), field(log, "kwargs")
        is_plain = any(field(log, copy) is not None for copy in _UNSENT_COPIES)
        tools = field(log, "tools")
        tools = field(options, "tools") if tools is None else tools
        model = text_field(log, "model") or text_field(options, "model")
        when = next(filter(None, (time_ms(field(log, key)) for key in _TIMES)), 0)
        answer = answer_of(_response(log), model, when)
        dialect: Dialect = OpenAIChat() if key == "messages" else OpenAIResponses()
        sent = Sent(
            dialect=dialect,
            fields={
                "tools": None if is_plain else tools,
                "instructions": field(log, "instructions"),
            },
            at=(*at, key),
            items=log[key],
            model=model,
            answer=answer,
        )
        is_failed = _response(log) is None or answer.is_error
        return Skipped(FAILED, answer, sent) if is_failed else sent


def _is_log(native: Any) -> bool:
    """Whether an object holds a history beside what came back for it."""
    if not _history(native):
        return False
    is_refused = isinstance(native.get("error"), dict) and "latency_sec" in native
    return is_refused or _response(native) is not None


def _response(log: Any) -> Any:
    """What came back: parsed, or, as LiteLLM hands it to its callbacks, the text of it."""
    response, text = field(log, "response"), field(log, "original_response")
    if isinstance(response, dict):
        return response
    return text if isinstance(text, str) and "litellm_call_id" in log else None


def _history(native: Any) -> str:
    """The key of the messages; "" where there are none."""
    if not isinstance(native, dict):
        return ""
    return next((key for key in ("messages", "input") if isinstance(native.get(key), list)), "")
