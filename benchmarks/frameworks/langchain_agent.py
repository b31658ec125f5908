"""LangChain's own agent with `ContextEditingMiddleware`."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool

from benchmarks.frameworks.story import Case, Message, Story

PACKAGE = "langchain"
CASES = (
    Case("ClearToolUsesEdit", {"trigger": 20_000, "keep": 3},
         "langchain-clear-tool-uses:trigger=20000,keep=3"),
    Case("ClearToolUsesEdit", {"trigger": 8_000, "keep": 5, "clear_at_least": 3_000},
         "langchain-clear-tool-uses:trigger=8000,keep=5,clear_at_least=3000"),
)  # fmt: skip


def requests(story: Story, case: Case) -> list[list[Message]]:
    """The messages of each request that reached the model."""
    edit = ClearToolUsesEdit(**case.options)
    model = _Fake(story=story, seen=[])
    agent = create_agent(model, _tools(story), middleware=[ContextEditingMiddleware(edits=[edit])])
    history: list[Any] = []
    for turn in story.turns:
        state = agent.invoke(
            {"messages": [*history, ("user", turn.said)]}, {"recursion_limit": 10_000}
        )
        history = state["messages"]
    seen: list[list[Message]] = model.seen
    return seen


def _tools(story: Story) -> list[StructuredTool]:
    def run(id: str, text: str) -> str:  # noqa: A002, ARG001
        return story.results[id]

    return [
        StructuredTool.from_function(run, name=name, description="A tool.") for name in story.names
    ]


class _Fake(BaseChatModel):
    story: Any
    seen: Any

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **_: Any) -> _Fake:  # noqa: ARG002
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        step = self.story.steps[len(self.seen)]
        self.seen.append([_plain(message) for message in messages])
        calls = [{"name": c.name, "args": dict(c.arguments), "id": c.id} for c in step.calls]
        message = AIMessage(content=step.text, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def _plain(message: BaseMessage) -> Message:
    roles = {"human": "user", "ai": "assistant", "tool": "tool"}
    calls = tuple(str(call["id"]) for call in getattr(message, "tool_calls", ()))
    call = getattr(message, "tool_call_id", "")
    return Message(roles[message.type], str(message.content), call, calls)
