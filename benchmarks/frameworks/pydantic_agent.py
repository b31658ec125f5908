"""pydantic-ai's own agent with `ClearToolResults` of pydantic-ai-harness."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits
from pydantic_ai_harness.compaction import ClearToolResults

from benchmarks.frameworks.story import Case, Message, Story

PACKAGE = "pydantic-ai-harness"
os.environ["PYDANTIC_AI_NO_BANNER"] = "1"
CASES = (
    Case("ClearToolResults", {"max_tokens": 20_000}, "pydantic-harness:max_tokens=20000"),
    Case("ClearToolResults", {"max_messages": 20}, "pydantic-harness:max_messages=20"),
    Case("ClearToolResults", {"max_tokens": 6_000, "keep_pairs": 5, "min_clear_tokens": 2_000},
         "pydantic-harness:max_tokens=6000,keep_pairs=5,min_clear_tokens=2000"),
)  # fmt: skip


def requests(story: Story, case: Case) -> list[list[Message]]:
    """The messages of each request that reached the model."""
    seen: list[list[Message]] = []

    def answer(messages: list[ModelMessage], _info: Any) -> ModelResponse:
        step = story.steps[len(seen)]
        seen.append(list(_plain(messages)))
        calls = [ToolCallPart(c.name, dict(c.arguments), tool_call_id=c.id) for c in step.calls]
        texts = [TextPart(step.text)] if step.text or not calls else []
        usage = RequestUsage(
            input_tokens=story.tokens(seen[-1]), output_tokens=story.answered(step)
        )
        return ModelResponse(parts=[*texts, *calls], usage=usage)

    capability: Any = ClearToolResults(**case.options)
    agent = Agent(FunctionModel(answer), tools=_tools(story), capabilities=[capability])
    history: list[ModelMessage] = []
    for turn in story.turns:
        done = agent.run_sync(
            turn.said, message_history=history, usage_limits=UsageLimits(request_limit=None)
        )
        history = done.all_messages()
    return seen


def _tools(story: Story) -> list[Tool]:
    def run(id: str, text: str) -> str:  # noqa: A002, ARG001
        return story.results[id]

    return [Tool(run, name=name, description="A tool.") for name in story.names]


def _plain(messages: list[ModelMessage]) -> Iterator[Message]:
    for message in messages:
        if isinstance(message, ModelResponse):
            texts = [part.content for part in message.parts if isinstance(part, TextPart)]
            calls = [p.tool_call_id for p in message.parts if isinstance(p, ToolCallPart)]
            yield Message("assistant", "\n".join(texts), calls=tuple(calls))
            continue
        for part in message.parts:
            if part.part_kind == "tool-return":
                yield Message("tool", str(part.content), part.tool_call_id)
            elif part.part_kind == "user-prompt":
                yield Message("user", str(part.content))
