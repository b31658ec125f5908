"""An agent at work against a fake, through the provider's own client.

Before each request the whole history goes through `compactor.compact`, with its journal or without.
Histories hold the SDKs' own objects, as people keep them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import anthropic
import openai
from google import genai
from google.genai import types as genai_types

import compactor
from compactor import Journal, Outcome, Policy
from tests.fakes.anthropic_api import Anthropic
from tests.fakes.gemini_api import Gemini
from tests.fakes.openai_api import OpenAI
from tests.fakes.script import PERSON, SYSTEM, TOOLS, Asked, Turn
from tests.fakes.server import serving

SCHEMA = {"type": "object", "properties": {"step": {"type": "string"}}}


class Memory:
    """How an agent calls `compact`: with the journal of the call before, or anew each time.

    outcomes: one a request.
    """

    def __init__(self, policy: Policy, *, keeps_journal: bool, **settings: Any) -> None:
        self.policy = policy
        self.keeps_journal = keeps_journal
        self.settings = settings
        self.journal: Journal | None = None
        self.outcomes: list[Outcome] = []

    def compact(self, request: Any, failed: Sequence[str] = ()) -> Outcome:
        outcome = compactor.compact(
            request, self.policy, self.journal, failed=failed, **self.settings
        )
        if self.keeps_journal:
            self.journal = outcome.journal
        self.outcomes.append(outcome)
        return outcome

    @property
    def passes(self) -> list[dict[str, Any]]:
        """All passes of the conversation."""
        if self.keeps_journal:
            return [record for out in self.outcomes for record in out.report.passes]
        return list(self.outcomes[-1].report.passes)


class Ran(NamedTuple):
    """What came of a run: the fake with the requests it got, and the agent's memory."""

    fake: Any
    memory: Memory


def run_anthropic(
    script: Sequence[Turn], memory: Memory, *, model: str, binds: bool = True, **body: Any
) -> Ran:
    """Messages, with signed thinking."""
    fake = Anthropic(script, binds=binds)
    tools = [{"name": name, "description": name, "input_schema": SCHEMA} for name in TOOLS]
    fixed = {"model": model, "max_tokens": 100, "system": SYSTEM, "tools": tools} | body
    messages: list[Any] = [{"role": "user", "content": PERSON}]
    with _anthropic(fake) as client:
        for turn in script:
            outcome = memory.compact(fixed | {"messages": messages})
            answer = client.messages.create(**outcome.request, extra_headers=outcome.headers)
            calls = [block for block in answer.content if block.type == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": asked.result}
                | ({"is_error": True} if asked.error else {})
                for call, asked in zip(calls, turn.calls, strict=True)
            ]
            said = {"role": "assistant", "content": answer.content}
            messages = [*messages, said, {"role": "user", "content": results or PERSON}]
    return Ran(fake, memory)


@contextmanager
def _anthropic(fake: Anthropic) -> Iterator[anthropic.Anthropic]:
    with (
        serving(fake) as url,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client,
    ):
        yield client


def run_chat(script: Sequence[Turn], memory: Memory) -> Ran:
    """Chat Completions; what failed only the harness knows."""
    fake = OpenAI(script)
    tools = [{"type": "function", "function": _function(name)} for name in TOOLS]
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": PERSON},
    ]
    failed: list[str] = []
    with _openai(fake) as client:
        for turn in script:
            request = {"model": "gpt-5.6-sol", "messages": messages, "tools": tools}
            outcome = memory.compact(request, failed)
            answer = client.chat.completions.create(**outcome.request)
            said = answer.choices[0].message
            messages = [*messages, said]
            calls = said.tool_calls or []
            failed += _failed([call.id for call in calls], turn.calls)
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": asked.result}
                for call, asked in zip(calls, turn.calls, strict=True)
            ] or [{"role": "user", "content": PERSON}]
    return Ran(fake, memory)


def run_responses(script: Sequence[Turn], memory: Memory) -> Ran:
    """Responses without a stored history, with sealed reasoning."""
    fake = OpenAI(script)
    tools = [{"type": "function"} | _function(name) for name in TOOLS]
    items: list[Any] = [{"role": "user", "content": PERSON}]
    failed: list[str] = []
    with _openai(fake) as client:
        for turn in script:
            request = {
                "model": "gpt-5.6-sol",
                "instructions": SYSTEM,
                "input": items,
                "tools": tools,
                "store": False,
            }
            outcome = memory.compact(request, failed)
            answer = client.responses.create(**outcome.request)
            calls = [item for item in answer.output if item.type == "function_call"]
            failed += _failed([call.call_id for call in calls], turn.calls)
            items = [*items, *answer.output]
            items += [
                {"type": "function_call_output", "call_id": call.call_id, "output": asked.result}
                for call, asked in zip(calls, turn.calls, strict=True)
            ] or [{"role": "user", "content": PERSON}]
    return Ran(fake, memory)


@contextmanager
def _openai(fake: OpenAI) -> Iterator[openai.OpenAI]:
    with (
        serving(fake) as url,
        openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client,
    ):
        yield client


def _function(name: str) -> dict[str, Any]:
    return {"name": name, "description": name, "parameters": SCHEMA}


def _failed(ids: list[str], calls: Sequence[Asked]) -> list[str]:
    return [one for one, asked in zip(ids, calls, strict=True) if asked.error]


def run_gemini(script: Sequence[Turn], memory: Memory) -> Ran:
    """`generateContent` with thought signatures."""
    fake = Gemini(script)
    contents: list[Any] = [{"role": "user", "parts": [{"text": PERSON}]}]
    declared = [
        {"name": name, "description": name, "parameters_json_schema": SCHEMA} for name in TOOLS
    ]
    config = {
        "system_instruction": SYSTEM,
        "tools": [{"function_declarations": declared}],
        "automatic_function_calling": {"disable": True},
    }
    with serving(fake) as url:
        options = genai_types.HttpOptions(base_url=url)
        with genai.Client(api_key="none", http_options=options) as client:
            for turn in script:
                request = {"model": "gemini-3.8-flash", "contents": contents, "config": config}
                outcome = memory.compact(request)
                answer = client.models.generate_content(**outcome.request)
                said = answer.candidates[0].content
                contents = [*contents, said, _answered(answer.function_calls or [], turn)]
    return Ran(fake, memory)


def _answered(calls: Sequence[Any], turn: Turn) -> dict[str, Any]:
    parts: list[Any] = [
        {
            "function_response": {
                "id": call.id,
                "name": call.name,
                "response": {"error" if asked.error else "output": asked.result},
            }
        }
        for call, asked in zip(calls, turn.calls, strict=True)
    ]
    return {"role": "user", "parts": parts or [{"text": PERSON}]}
