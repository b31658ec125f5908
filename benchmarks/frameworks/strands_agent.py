"""Strands' own agent with `SlidingWindowConversationManager`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from strands import Agent
from strands import tool as strands_tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models import Model
from strands.tools.executors import SequentialToolExecutor

from benchmarks.frameworks.story import Case, Message, Step, Story

PACKAGE = "strands-agents"
NAME = "SlidingWindowConversationManager"
CASES = (
    Case(NAME, {"window_size": 40, "per_turn": True}, "sliding:messages=40"),
    Case(NAME, {"window_size": 10, "per_turn": True}, "sliding:messages=10"),
)


def requests(story: Story, case: Case) -> list[list[Message]]:
    """The messages of each request that reached the model."""
    model = _Fake(story)
    agent = Agent(
        model=model,
        tools=_tools(story),
        conversation_manager=SlidingWindowConversationManager(**case.options),
        tool_executor=SequentialToolExecutor(),
        callback_handler=None,
    )
    for turn in story.turns:
        agent(turn.said)
    return model.seen


def _tools(story: Story) -> list[Any]:
    def run(id: str, text: str) -> str:  # noqa: A002, ARG001
        """A tool."""
        return story.results[id]

    return [strands_tool(name=name)(run) for name in story.names]


class _Fake(Model):
    def __init__(self, story: Story) -> None:
        self._story = story
        self.seen: list[list[Message]] = []

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        yield {}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        step = self._story.steps[len(self.seen)]
        self.seen.append([plain for message in messages for plain in _plain(message)])
        for event in _events(step):
            yield event


def _events(step: Step) -> Iterator[dict[str, Any]]:
    yield {"messageStart": {"role": "assistant"}}
    if step.text:
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": step.text}}}
        yield {"contentBlockStop": {}}
    for call in step.calls:
        use = {"toolUseId": call.id, "name": call.name}
        yield {"contentBlockStart": {"start": {"toolUse": use}}}
        arguments = json.dumps(dict(call.arguments))
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
        yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "tool_use" if step.calls else "end_turn"}}


def _plain(message: dict[str, Any]) -> Iterator[Message]:
    blocks = message["content"]
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    for result in results:
        text = "\n".join(part.get("text", "") for part in result["content"])
        yield Message("tool", text, result["toolUseId"])
    texts = "\n".join(block["text"] for block in blocks if "text" in block)
    calls = tuple(block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block)
    if texts or calls or not results:
        yield Message(message["role"], texts, calls=calls)
