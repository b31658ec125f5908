"""Writer of OpenAI Responses: all that was said or done is an item. See `compactor.testing`."""

from __future__ import annotations

import json
from typing import Any

from compactor.testing.facts import ASSISTANT, TOOL, Fact, Native, Said


def openai_responses(talk: Said) -> Native:
    body: Native = {"model": talk.model} if talk.model else {}
    if talk.system_prompt:
        body["instructions"] = talk.system_prompt
    if talk.tools:
        body["tools"] = [{"type": "function", **tool, "strict": False} for tool in talk.tools]
    items = (item for at, fact in enumerate(talk.facts) for item in _response_items(fact, at))
    return body | {"input": list(items)}


def _response_items(fact: Fact, number: int) -> list[Native]:
    """Each thing that a model does is an item of its own, in the order of its doing."""
    if fact.kind == TOOL:
        output: Any = fact.text
        if fact.images:
            text = [{"type": "input_text", "text": fact.text}] if fact.text else []
            output = text + [_input_image(number) for number in range(fact.images)]
        return [{"type": "function_call_output", "call_id": fact.call_id, "output": output}]
    message: Native = {"role": fact.kind, "content": fact.text}
    if fact.kind != ASSISTANT:
        return [message]
    items: list[Native] = []
    if fact.reasoning:
        summary = [{"type": "summary_text", "text": fact.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary})
    if fact.text:
        items.append(message)
    items += [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(dict(call.arguments)),
        }
        for call in fact.calls
    ]
    return items or [message]


def _input_image(number: int) -> Native:
    url = f"https://example.com/{number}.png"
    return {"type": "input_image", "image_url": url, "detail": "auto"}
