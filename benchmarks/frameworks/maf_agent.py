"""Microsoft's own Agent of the Agent Framework, with its compaction strategies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import agent_framework
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    tool,
)
from agent_framework import Message as Sent

from benchmarks.frameworks.story import Case, Message, Story

PACKAGE = "agent-framework-core"
TOOLS, SLIDING = "ToolResultCompactionStrategy", "SlidingWindowStrategy"
CASES = (
    Case(TOOLS, {"keep_last_tool_call_groups": 1}, "maf-tool-results:keep=1"),
    Case(TOOLS, {"keep_last_tool_call_groups": 4}, "maf-tool-results:keep=4"),
    Case(SLIDING, {"keep_last_groups": 20}, "maf-sliding:groups=20"),
)


def requests(story: Story, case: Case) -> list[list[Message]]:
    """The messages of each request that reached the model."""
    return asyncio.run(_requests(story, case))


async def _requests(story: Story, case: Case) -> list[list[Message]]:
    strategy = getattr(agent_framework, case.name)(**case.options)
    seen: list[list[Message]] = []
    client = _client(story, seen)
    agent = Agent(client=client, tools=_tools(story), compaction_strategy=strategy)
    session = agent.create_session()
    for turn in story.turns:
        await agent.run(turn.said, session=session)
    return seen


def _client(story: Story, seen: list[list[Message]]) -> Any:
    class Fake(FunctionInvocationLayer, BaseChatClient):  # type: ignore[misc]
        def _inner_get_response(self, *, messages: list[Sent], **_: Any) -> Any:
            async def answer() -> ChatResponse:
                step = story.steps[len(seen)]
                seen.append([plain for message in messages for plain in _plain(message)])
                calls = [
                    Content.from_function_call(c.id, c.name, arguments=dict(c.arguments))
                    for c in step.calls
                ]
                texts = [Content.from_text(step.text)] if step.text else []
                return ChatResponse(messages=[Sent(role="assistant", contents=[*texts, *calls])])

            return answer()

    return Fake(function_invocation_configuration={"max_iterations": 10_000})


def _tools(story: Story) -> list[Any]:
    def run(id: str, text: str) -> str:  # noqa: A002, ARG001
        """A tool."""
        return story.results[id]

    return [tool(name=name)(run) for name in story.names]


def _plain(message: Sent) -> Iterator[Message]:
    results = [content for content in message.contents if content.type == "function_result"]
    for result in results:
        yield Message("tool", str(result.result), str(result.call_id))
    if not results:
        texts = "\n".join(c.text or "" for c in message.contents if c.type == "text")
        calls = [str(c.call_id) for c in message.contents if c.type == "function_call"]
        yield Message(str(message.role), texts, calls=tuple(calls))
