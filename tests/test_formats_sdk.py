"""What the lenses write is what the providers' own SDK types take."""

from collections.abc import Iterable

import pytest
from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter, ValidationError

from compactor.core.model import Kind
from compactor.formats import lens
from compactor.formats.raw.native import apply_edits

EPHEMERAL = {"type": "ephemeral"}
IMAGE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}


def said(words, **more):
    return {"type": "text", "text": words, **more}


ANTHROPIC = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "", "signature": "s"},
            *({"type": "tool_use", "id": i, "name": "f", "input": {"q": 1}} for i in "abcd"),
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": "plain",
                "is_error": True,
                "cache_control": EPHEMERAL,
            },
            {
                "type": "tool_result",
                "tool_use_id": "b",
                "content": [said("x", cache_control=EPHEMERAL), {"type": "image", "source": IMAGE}],
            },
            {
                "type": "tool_result",
                "tool_use_id": "c",
                "content": [{"type": "document", "source": PDF, "cache_control": EPHEMERAL}],
                "toolset_name": None,
            },
            {
                "type": "tool_result",
                "tool_use_id": "d",
                "content": [
                    {"type": "search_result", "source": "s", "title": "t", "content": [said("x")]}
                ],
            },
            said("and on"),
        ],
    },
]
CHAT = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "type": "custom", "custom": {"name": "g", "input": "x"}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "plain"},
    {
        "role": "tool",
        "tool_call_id": "b",
        "content": [said("x"), said("y", prompt_cache_breakpoint={"mode": "explicit"})],
    },
    {"role": "assistant", "content": None, "function_call": {"name": "h", "arguments": "{}"}},
    {"role": "function", "name": "h", "content": "gamma"},
]
CASES = {
    "anthropic": (ANTHROPIC, TypeAdapter(list[MessageParam])),
    "openai-chat": (CHAT, TypeAdapter(list[ChatCompletionMessageParam])),
}


def taken_in(value):
    """Goes through everything, as iterables inside are only checked when they are gone through."""
    if isinstance(value, dict):
        return {key: taken_in(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [taken_in(inner) for inner in value]
    return value


def rewritten(name, messages):
    results = [e for e in lens(name).read(messages).entries if e.kind is Kind.TOOL]
    edits = [e for result in results for e in lens(name).rewrite_body(messages, result, "[elided]")]
    assert len(edits) == len(results)
    return apply_edits(messages, edits)


@pytest.mark.parametrize("name", CASES)
def test_rewritten_messages_are_what_the_sdk_takes(name):
    messages, adapter = CASES[name]
    changed = rewritten(name, messages)
    assert [e.body for e in lens(name).read(changed).entries if e.kind is Kind.TOOL] == [
        "[elided]"
    ] * sum(e.kind is Kind.TOOL for e in lens(name).read(messages).entries)
    assert taken_in(adapter.validate_python(changed)) == changed


@pytest.mark.parametrize("name", CASES)
def test_the_check_itself_refuses_a_block_of_the_wrong_shape(name):
    messages, adapter = CASES[name]
    changed = apply_edits(rewritten(name, messages), [])
    target = changed[2]["content"][1] if name == "anthropic" else changed[3]
    broken = {**target, "content": [{"type": "text", "words": "x"}]}
    if name == "anthropic":
        changed = [changed[0], changed[1], {"role": "user", "content": [broken]}]
    else:
        changed = [*changed[:3], broken]
    with pytest.raises(ValidationError):
        taken_in(adapter.validate_python(changed))
