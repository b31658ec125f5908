"""inspect_ai's own `compaction()` handler, in the loop that its documentation shows.

Its models count tokens at the provider; here the fake one counts as replay does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

from benchmarks.frameworks.story import Case, Message, Step, Story

os.environ["INSPECT_DISPLAY"] = "none"  # before the import, which reads it
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    CompactionTrim,
    Model,
    ModelOutput,
    ModelUsage,
    compaction,
    get_model,
)
from inspect_ai.tool import ToolCall

PACKAGE = "inspect_ai"
STRATEGIES: dict[str, Any] = {"CompactionEdit": CompactionEdit, "CompactionTrim": CompactionTrim}
CASES = (
    Case("CompactionEdit", {"threshold": 20_000}, "inspect-edit:threshold=20000"),
    Case("CompactionEdit", {"threshold": 40_000, "keep_tool_uses": 10},
         "inspect-edit:threshold=40000,keep=10"),
    Case("CompactionTrim", {"threshold": 20_000}, "inspect-trim:threshold=20000"),
    Case("CompactionTrim", {"threshold": 30_000, "preserve": 0.5},
         "inspect-trim:threshold=30000,preserve=50"),
)  # fmt: skip


def requests(story: Story, case: Case) -> list[list[Message]]:
    """The messages of each request that would reach the model."""
    return asyncio.run(_requests(story, case))


async def _requests(story: Story, case: Case) -> list[list[Message]]:
    model = _model(story)
    history: list[ChatMessage] = [ChatMessageUser(content=story.turns[0].said, source="input")]
    handler = compaction(
        STRATEGIES[case.name](memory=False, **case.options),
        prefix=list(history), tools=[], model=model,
    )  # fmt: skip
    seen: list[list[Message]] = []
    for number, turn in enumerate(story.turns):
        history += [ChatMessageUser(content=turn.said)] if number else []
        for step in turn.steps:
            try:
                sent, extra = await handler.compact_input(history)
            except RuntimeError as error:  # its way of giving up: the sample ends here
                if "Compaction insufficient" not in str(error):
                    raise
                return seen
            history += [extra] if extra else []
            seen.append([_plain(message) for message in sent])
            answer = _answer(step)
            usage = ModelUsage(input_tokens=story.tokens(seen[-1]))
            await handler.record_output(sent, ModelOutput(usage=usage))
            history += [answer, *_results(story, step)]
    return seen


def _model(story: Story) -> Model:
    async def count(messages: Any, *_: Any, **__: Any) -> int:
        return story.tokens([_plain(message) for message in messages])

    async def nothing(*_: Any, **__: Any) -> int:
        return 0

    model: Any = get_model("mockllm/model", memoize=False)
    model.count_tokens, model.count_tool_tokens = count, nothing
    return model  # type: ignore[no-any-return]


def _answer(step: Step) -> ChatMessageAssistant:
    calls = [ToolCall(id=c.id, function=c.name, arguments=dict(c.arguments)) for c in step.calls]
    return ChatMessageAssistant(content=step.text, tool_calls=calls or None)


def _results(story: Story, step: Step) -> Iterator[ChatMessageTool]:
    for call in step.calls:
        text = story.results[call.id]
        yield ChatMessageTool(content=text, tool_call_id=call.id, function=call.name)


def _plain(message: ChatMessage) -> Message:
    calls = tuple(call.id for call in getattr(message, "tool_calls", None) or ())
    call = getattr(message, "tool_call_id", None) or ""
    return Message(message.role, message.text, call, calls)
