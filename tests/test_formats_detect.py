"""Which format an input is in, and how an unknown name or shape is refused."""

import pytest

from compactor.core.errors import InputError
from compactor.formats import FORMATS, detect, lens

USER = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "hello"}
SYSTEM = {"role": "system", "content": "be brief"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
TEXT = {"type": "text", "text": "hi"}


def of(kind):
    return {"role": "user", "content": [TEXT, {"type": kind}]}


CASES = {
    "results in a user message": ([{"role": "user", "content": [RESULT]}], "anthropic"),
    "thinking in a turn": (
        [USER, {"role": "assistant", "content": [{"type": "thinking"}]}],
        "anthropic",
    ),
    "a picture in a source": ([of("image")], "anthropic"),
    "a system prompt beside the messages": ({"messages": [USER], "system": "s"}, "anthropic"),
    "an Anthropic schema": ({"messages": [USER], "tools": [{"input_schema": {}}]}, "anthropic"),
    "a system message between tool blocks": (
        [{"role": "user", "content": [RESULT]}, SYSTEM, REPLY],
        "anthropic",
    ),
    "a system message and thinking": (
        [SYSTEM, {"role": "assistant", "content": [{"type": "thinking"}]}],
        "anthropic",
    ),
    "an Anthropic version": ({"messages": [USER], "anthropic_version": "2023-06-01"}, "anthropic"),
    "texts alone": ([USER, REPLY], "anthropic"),
    "texts and a Claude model": ({"messages": [USER], "model": "claude-opus-5"}, "anthropic"),
    "no messages at all": ([], "anthropic"),
    "a tool message": (
        [USER, {"role": "tool", "tool_call_id": "c", "content": "x"}],
        "openai-chat",
    ),
    "tool calls": ([USER, {"role": "assistant", "tool_calls": [CALL]}], "openai-chat"),
    "a legacy call": ([USER, {"role": "assistant", "function_call": {}}], "openai-chat"),
    "a system message": ([SYSTEM, USER], "openai-chat"),
    "a developer message": ([{"role": "developer", "content": "x"}, USER], "openai-chat"),
    "calls among blocks and a file of a client": (
        [of("file"), {"role": "assistant", "content": [{"type": "tool_use"}]}],
        "anthropic",
    ),
    "a file": ([of("file")], "openai-chat"),
    "calls twice, as blocks and beside them": (
        [{"role": "assistant", "content": [{"type": "tool_use"}], "tool_calls": [CALL]}],
        "openai-chat",
    ),
    "a picture by URL": ([of("image_url")], "openai-chat"),
    "an OpenAI function": (
        {"messages": [USER], "tools": [{"type": "function", "function": {"name": "f"}}]},
        "openai-chat",
    ),
    "texts and a GPT model": ({"messages": [USER], "model": "gpt-6-sol"}, "openai-chat"),
    "texts and a routed GPT model": ({"messages": [USER], "model": "openai/gpt-6"}, "openai-chat"),
    "thinking blocks behind tool roles": (
        [
            {"role": "assistant", "content": [{"type": "thinking"}], "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "x"},
        ],
        "openai-chat",
    ),
    "an input in the place of messages": ({"input": [USER]}, "openai-responses"),
    "an input that is a text, for a model": (
        {"model": "gpt-6", "input": "hi"},
        "openai-responses",
    ),
    "an input without items yet": ({"model": "gpt-6", "input": []}, "openai-responses"),
    "an item of the model's alone": ([{"type": "reasoning", "summary": []}], "openai-responses"),
    "a call behind plain messages": (
        [{"role": "developer", "content": "x"}, USER, REPLY, {"type": "function_call"}],
        "openai-responses",
    ),
    "input blocks": ([USER, of("input_text")], "openai-responses"),
    "output blocks": (
        [{"type": "message", "role": "assistant", "content": [{"type": "output_text"}]}],
        "openai-responses",
    ),
    "a text in a typed message": ([{"type": "message", **USER}], "openai-responses"),
    "a whole answer of Anthropic's among messages": (
        [USER, {"type": "message", "role": "assistant", "content": [TEXT]}],
        "anthropic",
    ),
    "messages beside an input": ({"messages": [USER], "input": [USER]}, "anthropic"),
    "a tool role before an item": (
        [{"role": "tool", "tool_call_id": "c", "content": "x"}, {"type": "function_call"}],
        "openai-chat",
    ),
    "lines of a session": (
        [{"type": "summary"}, {"type": "user", "uuid": "u", "message": USER}],
        "claude-code",
    ),
    "contents with parts": ([{"role": "user", "parts": [{"text": "hi"}]}], "gemini"),
    "contents without a role": ({"contents": [{"parts": [{"text": "hi"}]}]}, "gemini"),
    "no contents yet": ({"contents": []}, "gemini"),
    "contents of an SDK": ({"model": "m", "contents": [{"parts": []}], "config": {}}, "gemini"),
    "blocks without a type": ([{"role": "user", "content": [{"text": "hi"}]}], "bedrock"),
    "keyed calls": ([USER, {"role": "assistant", "content": [{"toolUse": {}}]}], "bedrock"),
    "keyed results": ([{"role": "user", "content": [{"toolResult": {}}]}], "bedrock"),
    "a system message before keyed blocks": (
        [SYSTEM, {"role": "user", "content": [{"text": "hi"}]}],
        "bedrock",
    ),
    "a body of Converse": ({"modelId": "m", "messages": [], "inferenceConfig": {}}, "bedrock"),
    "a tool config": ({"messages": [USER], "toolConfig": {"tools": []}}, "bedrock"),
    "Anthropic's blocks before one without a type": (
        [{"role": "user", "content": [RESULT]}, {"role": "user", "content": [{"text": "hi"}]}],
        "anthropic",
    ),
    "parts with contents": (
        [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}],
        "otel",
    ),
    "a span of a request": (
        {"spans": [{"name": "chat", "attributes": {"gen_ai.operation.name": "chat"}}]},
        "otel",
    ),
    "an observation": (
        {"observations": [{"type": "SPAN", "traceId": "t", "startTime": "2025-01-01T00:00:00Z"}]},
        "langfuse",
    ),
    "a run of a model": ([{"run_type": "llm", "inputs": {}}], "langsmith"),
    "LangChain's types": ([{"type": "human", "content": "hi"}], "langchain"),
    "LangChain's classes": (
        [{"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": ""}}],
        "langchain",
    ),
    "a message that a chat keeps": ([{"id": "1", "role": "user", "parts": [TEXT]}], "vercel-ai"),
    "calls with a hyphen": (
        [USER, {"role": "assistant", "content": [{"type": "tool-call"}]}],
        "vercel-ai",
    ),
    "results with a hyphen": (
        [{"role": "tool", "content": [{"type": "tool-result"}]}],
        "vercel-ai",
    ),
    "neutral entries": ([{"kind": "user", "text": "hi"}], "entries"),
    "neutral entries in an object": ({"entries": [{"kind": "tool", "call": "a"}]}, "entries"),
    "no neutral entries": ({"entries": []}, "entries"),
}


@pytest.mark.parametrize(("root", "name"), CASES.values(), ids=CASES)
def test_the_shape_of_an_input_says_its_format(root, name):
    assert detect(root).name == name


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_found_by_its_name(name):
    assert lens(name) is FORMATS[name]
    assert lens(name).name == name


@pytest.mark.parametrize(
    "root",
    [
        None,
        5,
        "text",
        {},
        {"messages": 3},
        [1, 2],
        [{"type": "x"}],
        {"input": "a text to embed"},
        {"input": ["texts", "to embed"]},
        {"input": [{"type": "x"}]},
        {"input": 5},
        [{"id": "msg_1"}],
        [{"role": 5}],
        [{"id": "msg_1", "role": "user", "time": {"created": 1}}],
        [{"id": "prt_1", "type": "reasoning", "text": "hm", "time": {"start": 1}}],
        [{"id": "prt_2", "type": "compaction", "auto": True}],
        [{"type": "system", "content": "s"}, {"type": "reasoning", "summary": []}],
        [{"type": "init"}, {"type": "message", "role": "user", "content": "hi"}],
        {"contents": 3},
        {"contents": [USER]},
        [{"role": "user", "parts": [TEXT]}],
    ],
)
def test_an_unknown_shape_is_refused_with_the_names_to_choose_from(root):
    with pytest.raises(InputError) as caught:
        detect(root)
    assert caught.value.code == "input.format_unknown"
    assert all(name in caught.value.hint for name in FORMATS)


@pytest.mark.parametrize(
    "key", ["previous_response_id", "conversation", "cachedContent", "previous_interaction_id"]
)
@pytest.mark.parametrize("rest", [{"input": []}, {"messages": [USER], "model": "gpt-6"}])
def test_a_history_that_the_provider_keeps_is_refused(key, rest):
    root = {**rest, key: "x1"}
    with pytest.raises(InputError) as caught:
        detect(root).read(root)
    assert (caught.value.code, caught.value.path) == ("input.provider_history", f"$.{key}")


def test_a_null_reference_to_a_history_is_none():
    root = {"messages": [USER], "previous_response_id": None}
    assert detect(root).name == "anthropic"


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("antropic", "anthropic"), ("openai", "openai-chat"), ("entry", "entries")],
)
def test_a_mistyped_format_is_answered_with_the_nearest_one(wrong, near):
    with pytest.raises(InputError, match=f"did you mean {near}") as caught:
        lens(wrong)
    assert caught.value.code == "input.format_unknown"
