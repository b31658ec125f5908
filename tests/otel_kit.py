"""A conversation as each convention of OpenTelemetry writers spells it, and spans that hold it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from compactor.formats.raw.native import Rows
from compactor.formats.traces.otel_values import spelled

Json = dict[str, Any]


def text(content: str) -> Json:
    return {"type": "text", "content": content}


def call(call_id: str, name: str = "bash") -> Json:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": {"command": call_id}}


def gave(call_id: str, response: Any, key: str = "response") -> Json:
    return {"type": "tool_call_response", "id": call_id, key: response}


def message(role: str, *parts: Any) -> Json:
    return {"role": role, "parts": [text(p) if isinstance(p, str) else p for p in parts]}


TALK = [
    message("user", "go"),
    message("assistant", "look", call("x"), call("y")),
    message("tool", gave("x", "one"), gave("y", "two")),
    message("assistant", "done"),
]
OLD_TALK = [
    *TALK[:2],
    message("user", gave("x", "one", "result"), gave("y", "two", "result")),
    TALK[3],
]
CHAT = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": "look",
        "tool_calls": [
            {
                "id": each,
                "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": each})},
            }
            for each in ("x", "y")
        ],
    },
    {"role": "tool", "tool_call_id": "x", "content": "one"},
    {"role": "tool", "tool_call_id": "y", "content": "two"},
    {"role": "assistant", "content": "done"},
]
KEYED = [
    ("user", [{"text": "go"}]),
    (
        "assistant",
        [
            {"text": "look"},
            *(
                {"toolUse": {"toolUseId": each, "name": "bash", "input": {"command": each}}}
                for each in ("x", "y")
            ),
        ],
    ),
    (
        "tool",
        [
            {"toolResult": {"toolUseId": each, "status": "success", "content": [{"text": body}]}}
            for each, body in (("x", "one"), ("y", "two"))
        ],
    ),
    ("assistant", [{"text": "done"}]),
]


def flat(messages: list[Json], prefix: str = "gen_ai.prompt") -> Json:
    """OpenLLMetry's numbered attributes."""
    found: Json = {}
    for index, each in enumerate(messages):
        for key in ("role", "content", "tool_call_id"):
            if key in each:
                found[f"{prefix}.{index}.{key}"] = each[key]
        for number, made in enumerate(each.get("tool_calls", ())):
            base = f"{prefix}.{index}.tool_calls.{number}"
            found[f"{base}.id"] = made["id"]
            found |= {f"{base}.{key}": value for key, value in made["function"].items()}
    return found


def flat_openinference(messages: list[Json]) -> Json:
    """OpenInference's numbered attributes."""
    found: Json = {}
    for index, each in enumerate(messages):
        base = f"llm.input_messages.{index}.message"
        for key in ("role", "content", "tool_call_id"):
            if key in each and each["role"] != "user":
                found[f"{base}.{key}"] = each[key]
        if each["role"] == "user":
            found[f"{base}.role"] = "user"
            found[f"{base}.contents.0.message_content.type"] = "text"
            found[f"{base}.contents.0.message_content.text"] = each["content"]
        for number, made in enumerate(each.get("tool_calls", ())):
            inner = f"{base}.tool_calls.{number}.tool_call"
            found[f"{inner}.id"] = made["id"]
            for key, value in made["function"].items():
                found[f"{inner}.function.{key}"] = value
    return found


def event(role: str, **attributes: Any) -> Json:
    return {"name": f"gen_ai.{role}.message", "attributes": attributes}


def span(attributes: Json, name: str = "a", parent: str = "r", at: int = 1, **more: Any) -> Json:
    """A span as SDKs print it."""
    start = f"2026-01-01T00:00:{at:02}.500000Z"
    ids = {"context": {"trace_id": "t", "span_id": name}, "parent_id": parent}
    return {"name": "chat", **ids, "start_time": start, "attributes": attributes, **more}


def listed(attributes: Mapping[str, Any]) -> list[Json]:
    """Attributes as OTLP lists them."""
    return [{"key": key, "value": spelled(value)} for key, value in attributes.items()]


def otlp(*spans: Json) -> Json:
    """Printed spans as OTLP has them."""
    made = [
        {
            "traceId": "t",
            "spanId": each["context"]["span_id"],
            "parentSpanId": each["parent_id"],
            "name": each["name"],
            "startTimeUnixNano": str(1_800_000_000_500_000_000 + int(each["start_time"][17:19])),
            "endTimeUnixNano": "1800000009000000000",
            "attributes": listed(each["attributes"]),
            "events": [
                {"name": e["name"], "attributes": listed(e["attributes"])}
                for e in each.get("events", ())
            ],
        }
        for each in spans
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": made}]}]}


def attributes_of(**attributes: Any) -> Json:
    return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **attributes}


CONVENTIONS: dict[str, Json] = {
    "messages as JSON": span(attributes_of() | {"gen_ai.input.messages": json.dumps(TALK)}),
    "messages as JSON, earlier keys": span(
        attributes_of() | {"gen_ai.input.messages": json.dumps(OLD_TALK, indent=1)}
    ),
    "structured messages": span(attributes_of() | {"gen_ai.input.messages": TALK}),
    "messages of the SDK of Vercel": span(
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.prompt.messages": json.dumps(
                [
                    {"role": "user", "content": [{"type": "text", "text": "go"}]},
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "text", "text": "look"},
                            *(
                                {
                                    "type": "tool-call",
                                    "toolCallId": each,
                                    "toolName": "bash",
                                    "input": {"command": each},
                                }
                                for each in ("x", "y")
                            ),
                        ],
                    },
                    {
                        "role": "tool",
                        "content": [
                            {
                                "type": "tool-result",
                                "toolCallId": each,
                                "toolName": "bash",
                                "output": {"type": "text", "value": body},
                            }
                            for each, body in (("x", "one"), ("y", "two"))
                        ],
                    },
                    {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
                ]
            ),
        }
    ),
    "numbered attributes": span({"llm.request.type": "chat"} | flat(CHAT)),
    "numbered attributes of OpenInference": span(
        {"openinference.span.kind": "LLM", "input.value": "{}"} | flat_openinference(CHAT)
    ),
    "an attribute of events": span(
        attributes_of(
            events=json.dumps(
                [
                    {
                        **{k: v for k, v in each.items() if k != "tool_call_id"},
                        **({"id": each["tool_call_id"]} if "tool_call_id" in each else {}),
                        "event.name": f"gen_ai.{each['role']}.message",
                        "gen_ai.message.index": index,
                    }
                    for index, each in enumerate(CHAT)
                ]
                + [{"index": 0, "message": CHAT[-1], "event.name": "gen_ai.choice"}]
            )
        )
    ),
    "events with fields": span(
        attributes_of(),
        events=[
            event(
                each["role"],
                **{
                    key: json.dumps(value) if isinstance(value, list) else value
                    for key, value in each.items()
                    if key not in ("role", "tool_call_id")
                },
                **({"id": each["tool_call_id"]} if "tool_call_id" in each else {}),
            )
            for each in CHAT
        ],
    ),
    "events with a message as JSON": span(
        attributes_of(),
        events=[event(each["role"], **{"gen_ai.event.content": json.dumps(each)}) for each in CHAT],
    ),
    "events with the blocks of Converse": span(
        attributes_of(), events=[event(role, content=json.dumps(blocks)) for role, blocks in KEYED]
    ),
    "an event with all messages": span(
        attributes_of(),
        events=[
            {
                "name": "gen_ai.client.inference.operation.details",
                "attributes": {"gen_ai.input.messages": json.dumps(TALK)},
            }
        ],
    ),
}
"""How writers say what was sent, by convention; each holds the same conversation."""

EXPORTS: dict[str, Callable[..., Any]] = {
    "OTLP": otlp,
    "OTLP, a batch a line": lambda *spans: Rows([otlp(each) for each in spans]),
    "spans, one a line": lambda *spans: Rows(spans),
    "a list of spans": lambda *spans: list(spans),
    "Jaeger": lambda *spans: {
        "data": [
            {
                "traceID": "t",
                "spans": [
                    {
                        "spanID": each["context"]["span_id"],
                        "references": [{"refType": "CHILD_OF", "spanID": each["parent_id"]}],
                        "operationName": each["name"],
                        "startTime": 1_800_000_000_000_000 + int(each["start_time"][17:19]),
                        "duration": 5000,
                        "tags": [
                            {"key": k, "type": "string", "value": v}
                            for k, v in each["attributes"].items()
                        ],
                        "logs": [
                            {
                                "timestamp": 5,
                                "fields": [
                                    {"key": "event", "value": e["name"]},
                                    *({"key": k, "value": v} for k, v in e["attributes"].items()),
                                ],
                            }
                            for e in each.get("events", ())
                        ],
                    }
                    for each in spans
                ],
            }
        ]
    },
}
"""How spans are kept, whatever they say."""


def records(span_id: str = "a") -> Json:
    """Log records of one span, with structured bodies."""
    bodies = [
        (each["role"], {k: v for k, v in each.items() if k != "tool_call_id"}) for each in CHAT
    ]
    for (_, body), each in zip(bodies, CHAT, strict=True):
        body |= {"id": each["tool_call_id"]} if "tool_call_id" in each else {}
    made = [
        {
            "timeUnixNano": str(1_800_000_000_000_000_000 + index),
            "body": spelled({key: value for key, value in body.items() if key != "role"}),
            "attributes": listed({"event.name": f"gen_ai.{role}.message"}),
            "spanId": span_id,
        }
        for index, (role, body) in enumerate(bodies)
    ]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": made}]}]}
