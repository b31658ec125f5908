"""Damaged and foreign inputs: a reading or a refusal with its place, and never anything else."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.core.model import Kind, entry_digest
from compactor.formats import detect, lens
from compactor.formats.entries import to_neutral
from compactor.formats.raw.native import apply_edits, read_document

ANTHROPIC = {
    "model": "claude-x",
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "sig"},
                {"type": "text", "text": "look"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"q": [1, "x"]}},
                {"type": "tool_use", "id": "b", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "alpha", "is_error": True},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [
                        {"type": "text", "text": "beta", "cache_control": {"type": "ephemeral"}},
                        {"type": "image", "source": {"type": "base64", "data": "R0lGODlhgAJoAQAA"}},
                        {"type": "document", "source": {"type": "text", "data": "doc"}},
                        {"type": "tool_reference", "tool_name": "g"},
                    ],
                },
                {"type": "text", "text": "on"},
            ],
        },
        {"role": "system", "content": "mind"},
    ],
}
CHAT = {
    "model": "gpt-x",
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "b", "type": "custom", "custom": {"name": "g", "input": "raw"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "alpha"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "beta"}]},
        {"role": "assistant", "function_call": {"name": "h", "arguments": "{"}},
        {"role": "function", "name": "h", "content": "gamma"},
    ],
}
ENTRIES = {
    "entries": [
        {"kind": "system", "text": "s"},
        {"kind": "user", "text": "go"},
        {
            "kind": "assistant",
            "text": "look",
            "calls": [{"id": "a", "name": "f", "arguments": "{}"}],
        },
        {"kind": "tool", "call": "a", "text": "alpha", "error": False, "images": 1},
    ]
}
RESPONSES = {
    "model": "gpt-x",
    "instructions": "s",
    "tools": [{"type": "function", "name": "f", "parameters": {}}],
    "input": [
        {"role": "developer", "content": "s"},
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:,x"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "shell_call", "call_id": "b", "action": {"commands": ["ls"]}},
        {"type": "function_call_output", "call_id": "a", "output": "alpha"},
        {
            "type": "shell_call_output",
            "call_id": "b",
            "output": [
                {"stdout": "beta", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                {"stdout": "", "stderr": "late", "outcome": {"type": "timeout"}},
            ],
        },
        {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"command": []}},
        {"type": "local_shell_call_output", "id": "l", "output": "gamma"},
        {"type": "image_generation_call", "id": "g", "result": "R0lGODlhgAJoAQAA"},
        {"type": "custom_tool_call", "call_id": "d", "name": "g", "input": "raw"},
        {
            "type": "custom_tool_call_output",
            "call_id": "d",
            "output": [{"type": "input_text", "text": "delta", "prompt_cache_breakpoint": {}}],
        },
        {"type": "apply_patch_call", "call_id": "e", "operation": {"diff": "+"}},
        {"type": "apply_patch_call_output", "call_id": "e", "status": "failed", "output": "eps"},
    ],
}
GEMINI = {
    "model": "gemini-x",
    "systemInstruction": {"parts": [{"text": "s"}]},
    "config": {"tools": []},
    "tools": [{"function_declarations": [{"name": "f", "parameters": {}}]}, {"googleSearch": {}}],
    "contents": [
        {"role": "user", "parts": [{"text": "go"}, {"inlineData": {"mimeType": "image/gif"}}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "f", "args": {"q": [1, "x"]}}},
                {"functionCall": {"name": "f"}},
                {"executableCode": {"code": "1"}},
            ],
        },
        {
            "parts": [
                {"functionResponse": {"id": "a", "name": "f", "response": {"output": "alpha"}}},
                {"functionResponse": {"name": "f", "response": {"error": {"code": 5}}}},
                {"text": "on"},
            ]
        },
        {
            "role": "function",
            "parts": [
                {
                    "function_response": {
                        "name": "f",
                        "response": {"rows": [1]},
                        "parts": [
                            {"inline_data": {"mime_type": "image/gif", "data": "R0lGODlhgAJoAQAA"}},
                            {"fileData": {"fileUri": "gs://a"}},
                        ],
                    }
                }
            ],
        },
    ],
}
BEDROCK = {
    "modelId": "claude-x",
    "system": [{"text": "s"}, {"cachePoint": {"type": "default"}}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]},
    "additionalModelRequestFields": {"thinking": {"type": "adaptive"}},
    "messages": [
        {"role": "user", "content": [{"text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
                {"toolUse": {"toolUseId": "a", "name": "f", "input": {"q": [1, "x"]}}},
                {"toolUse": {"toolUseId": "b", "name": "f", "input": {}}},
                {"toolUse": {"toolUseId": "c", "name": "g", "type": "server_tool_use"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "a",
                        "content": [{"text": "alpha"}, {"json": {"n": 1}}],
                        "status": "error",
                    }
                },
                {"cachePoint": {"type": "default"}},
                {
                    "toolResult": {
                        "toolUseId": "b",
                        "content": [
                            {"image": {"source": {"bytes": "R0lGODlhgAJoAQAA"}}},
                            {"document": {"name": "d", "source": {"text": "doc"}}},
                            {"cachePoint": {"type": "default"}},
                        ],
                    }
                },
                {"text": "on"},
            ],
        },
        {"role": "system", "content": [{"text": "mind"}]},
    ],
}
VALID = {
    "anthropic": ANTHROPIC,
    "openai-chat": CHAT,
    "entries": ENTRIES,
    "openai-responses": RESPONSES,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
}

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
words = st.sampled_from(
    [
        *("user", "assistant", "tool", "system", "function", "text", "tool_use", "tool_result"),
        *("image", "model", "parts", "functionCall", "function_response", "response", "output"),
        *("error", "thoughtSignature", "toolUse", "toolResult", "content", "json", "cachePoint"),
    ]
)
values = st.recursive(
    scalars | words,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | words, inner, max_size=3)
    ),
    max_leaves=6,
)


def addresses(value, path=()):
    """Every address in a JSON value, the root's first."""
    yield path
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from addresses(inner, (*path, key))


@st.composite
def damaged(draw, root):
    """A valid request with up to three places replaced, deleted or copied elsewhere."""
    root = copy.deepcopy(root)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(addresses(root))))
        if not path:
            continue
        holder = root
        for step in path[:-1]:
            holder = holder[step]
        if draw(st.integers(0, 3)) == 0:
            del holder[path[-1]]
        else:
            holder[path[-1]] = draw(values)
    return root


def answered(ask, root):
    """The answer or the refusal; any other exception is a fault."""
    try:
        return ask(root)
    except InputError as error:
        return error


def shown(entries):
    """What each entry says, its error flag and digest included."""
    return [
        (neutral, entry_digest(entry), entry.error)
        for neutral, entry in zip(to_neutral(entries), entries, strict=True)
    ]


@pytest.mark.parametrize("name", VALID)
@settings(deadline=None)
@given(data=st.data())
def test_a_damaged_request_is_read_or_refused_with_its_place(name, data):
    root = data.draw(damaged(VALID[name]))
    before = copy.deepcopy(root)
    reading = answered(lens(name).read, root)
    assert root == before
    if isinstance(reading, InputError):
        assert (reading.code, reading.path[0]) == ("input.shape", "$")
        return
    for finding in reading.findings:
        assert finding.path.startswith("$")
    for index, entry in enumerate(reading.entries):
        assert_rewritable(name, root, reading.entries, index, entry)


def assert_rewritable(name, root, entries, index, entry):
    """A candidate's rewritten body is all that changes, in objects and in text alike."""
    if entry.kind is not Kind.TOOL or entry.empty or entry.required:
        return
    edits = lens(name).rewrite_body(root, entry, "MARKER")
    assert edits
    changed = apply_edits(root, edits)
    again = lens(name).read(changed).entries
    assert again[index].body == "MARKER"
    assert again[index].parts == ()
    assert shown(again[:index]) == shown(entries[:index])
    assert shown(again[index + 1 :]) == shown(entries[index + 1 :])
    document = read_document(json.dumps(root).encode(), "t")
    assert json.loads(document.edited(edits)) == changed


@pytest.mark.parametrize("name", VALID)
@settings(deadline=None)
@given(root=values | st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4))
def test_any_json_is_read_or_refused_with_its_place(name, root):
    answer = answered(lens(name).read, root)
    if isinstance(answer, InputError):
        assert answer.path.startswith("$")


@settings(deadline=None)
@given(
    st.sampled_from(list(VALID.values())).flatmap(damaged)
    | values
    | st.fixed_dictionaries({"messages": st.lists(values, max_size=3)})
)
def test_detection_names_a_format_or_refuses(root):
    answer = answered(detect, root)
    if isinstance(answer, InputError):
        assert answer.code in ("input.format_unknown", "input.provider_history")
    else:
        assert answer.recognises(root)
