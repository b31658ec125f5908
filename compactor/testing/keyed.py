"""Writers of the formats whose blocks are keyed, Gemini and Bedrock. See `compactor.testing`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compactor.testing.facts import (
    ASSISTANT,
    SIGNATURE,
    TOOL,
    USER,
    Fact,
    Native,
    Said,
    picture_url,
)


def _exchanges(facts: Iterable[Fact]) -> list[list[Fact]]:
    """Results share a message, and what the person says next goes behind them in it."""
    groups: list[list[Fact]] = []
    for fact in facts:
        if groups and groups[-1][-1].kind == TOOL and fact.kind in (TOOL, USER):
            groups[-1].append(fact)
        else:
            groups.append([fact])
    return groups


def gemini(talk: Said) -> Native:
    """A `generateContent` body, as REST spells it."""
    body: Native = {"model": talk.model} if talk.model else {}
    if talk.system_prompt:
        body["systemInstruction"] = {"parts": [{"text": talk.system_prompt}]}
    if talk.tools:
        declared = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "parametersJsonSchema": tool["parameters"],
            }
            for tool in talk.tools
        ]
        body["tools"] = [{"functionDeclarations": declared}]
    names: dict[str, str] = {}
    contents: list[Native] = []
    for facts in _exchanges(talk.facts):
        parts = [part for fact in facts for part in _gemini_parts(fact, names)]
        names |= {call.id: call.name for fact in facts for call in fact.calls}
        role = "model" if facts[0].kind == ASSISTANT else USER
        contents.append({"role": role, "parts": parts})
    return body | {"contents": contents}


def _gemini_parts(fact: Fact, names: Mapping[str, str]) -> list[Native]:
    """The parts of a fact; a response needs a name, whether its call is known or not."""
    if fact.kind == TOOL:
        response: Native = {"id": fact.call_id, "name": names.get(fact.call_id, "unknown")}
        response["response"] = {"error" if fact.error else "output": fact.text}
        if fact.images:
            response["parts"] = [
                {"fileData": {"mimeType": "image/png", "fileUri": picture_url(number)}}
                for number in range(fact.images)
            ]
        return [{"functionResponse": response}]
    parts: list[Native] = []
    if fact.reasoning:
        parts.append({"text": fact.reasoning, "thought": True})
    if fact.text:
        parts.append({"text": fact.text})
    parts += [
        {"functionCall": {"id": call.id, "name": call.name, "args": dict(call.arguments)}}
        for call in fact.calls
    ]
    return parts or [{"text": ""}]


def bedrock(talk: Said) -> Native:
    """A Converse body."""
    body: Native = {"modelId": talk.model} if talk.model else {}
    if talk.system_prompt:
        body["system"] = [{"text": talk.system_prompt}]
    if talk.tools:
        specs = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "inputSchema": {"json": tool["parameters"]},
            }
            for tool in talk.tools
        ]
        body["toolConfig"] = {"tools": [{"toolSpec": spec} for spec in specs]}
    messages = []
    for facts in _exchanges(talk.facts):
        role = USER if facts[0].kind == TOOL else facts[0].kind
        content = [block for fact in facts for block in _bedrock_blocks(fact)]
        messages.append({"role": role, "content": content})
    return body | {"messages": messages}


def _bedrock_blocks(fact: Fact) -> list[Native]:
    if fact.kind == TOOL:
        content: list[Native] = [{"text": fact.text}] if fact.text else []
        for number in range(fact.images):
            source = {"s3Location": {"uri": f"s3://example/{number}.png"}}
            content.append({"image": {"format": "png", "source": source}})
        result: Native = {"toolUseId": fact.call_id, "content": content}
        return [{"toolResult": result | {"status": "error"} if fact.error else result}]
    blocks: list[Native] = []
    if fact.reasoning:
        thinking = {"text": fact.reasoning, "signature": SIGNATURE}
        blocks.append({"reasoningContent": {"reasoningText": thinking}})
    if fact.text:
        blocks.append({"text": fact.text})
    blocks += [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call.arguments)}}
        for call in fact.calls
    ]
    return blocks or [{"text": ""}]
