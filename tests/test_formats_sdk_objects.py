"""Objects of the providers' SDKs among dicts: read as what they send, given back as what came in.

Requests are made and sent by the SDKs' own clients, over a wire that ends here.
"""

import copy
import json

import msgspec
import pytest
from google.genai import types as google
from openai.types.responses import (
    ResponseApplyPatchToolCallOutput,
    ResponseCustomToolCallOutputItem,
    ResponseFunctionShellToolCallOutput,
    ResponseFunctionToolCallOutputItem,
)
from openai.types.responses.response_output_item import LocalShellCallOutput

import compactor
from compactor.core.errors import InternalError
from compactor.core.model import Kind, entry_digest
from compactor.formats import lens
from compactor.formats.raw.native import REMOVE, Edit, apply_edits, compact_json
from compactor.formats.raw.objects import changed_model, field, is_object, members
from tests import revision_kit
from tests.sdk_clients import Wire

BIG = "line of output\n" * 200
POLICY = {"window": 1500, "counter": "chars4", "keep_recent": 2, "evidence_budget_tokens": 0}


def reasoning(number):
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAAA"}


def call(number):
    arguments = json.dumps({"command": f"cat {number}"})
    made = {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}"}
    return made | {"name": "bash", "arguments": arguments, "status": "completed"}


def responses_items(wire, turns):
    """A harness of the Responses API: appends the SDK's own output items to its input."""
    items = [{"role": "user", "content": "go"}]
    for number in range(turns):
        items += wire.responses(items, reasoning(number), call(number)).output
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": BIG})
    content = [{"type": "output_text", "text": "done", "annotations": []}]
    message = {"type": "message", "id": "m", "status": "completed", "role": "assistant"}
    items += wire.responses(items, message | {"content": content}).output
    return [*items, {"role": "user", "content": "more"}]


def chat_messages(wire, turns):
    messages = [{"role": "user", "content": "go"}]
    for number in range(turns):
        function = {"name": "bash", "arguments": json.dumps({"command": f"cat {number}"})}
        made = {"id": f"c{number}", "type": "function", "function": function}
        messages.append(wire.chat(messages, content=None, tool_calls=[made]))
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": BIG})
    messages.append(wire.chat(messages, content="done"))
    return [*messages, {"role": "user", "content": "more"}]


def anthropic_messages(wire, turns):
    messages = [{"role": "user", "content": "go"}]
    for number in range(turns):
        said = {"type": "text", "text": "look"}
        made = {"type": "tool_use", "id": f"c{number}", "name": "bash"}
        answer = wire.messages(messages, said, made | {"input": {"command": f"cat {number}"}})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": BIG}
        messages.append({"role": "assistant", "content": answer.content})
        messages.append({"role": "user", "content": [result]})
    answer = wire.messages(messages, {"type": "text", "text": "done"})
    messages.append({"role": "assistant", "content": answer.content})
    return [*messages, {"role": "user", "content": "more"}]


HARNESSES = {
    "openai-responses": (responses_items, Wire.responses, "input"),
    "openai-chat": (chat_messages, Wire.chat, "messages"),
    "anthropic": (anthropic_messages, Wire.messages, "messages"),
}
harnesses = pytest.mark.parametrize("name", HARNESSES)


def wired(wire, name, items):
    """What the SDK sends for messages."""
    _, send, key = HARNESSES[name]
    send(wire, items)
    return wire.sent[-1][key]


def facts(entries):
    return [
        msgspec.structs.asdict(entry) | {"digest": entry_digest(entry), "name": entry.name}
        for entry in entries
    ]


@harnesses
def test_objects_are_read_as_what_their_sdk_sends(name):
    wire = Wire()
    items = HARNESSES[name][0](wire, 3)
    assert not all(isinstance(item, dict) for item in items) or name == "anthropic"
    plain = wired(wire, name, items)
    reading = lens(name).read(items)
    assert facts(reading.entries) == facts(lens(name).read(plain).entries)
    assert [entry.name for entry in reading.entries if entry.kind is Kind.TOOL] == ["bash"] * 3
    assert reading.findings == []
    assert json.loads(compact_json(items)) == plain


@harnesses
def test_a_pass_over_objects_sends_what_a_pass_over_dicts_sends(name):
    wire = Wire()
    items = HARNESSES[name][0](wire, 6)
    plain, before = wired(wire, name, items), copy.deepcopy(items)
    policy = compactor.Policy(**POLICY)
    out = compactor.compact(items, policy, format=name)
    expected = compactor.compact(plain, policy, format=name)
    assert wired(wire, name, out.request) == expected.request != plain
    assert out.journal.records == expected.journal.records
    assert out.report.passes
    assert items == before
    untouched = [new is old for new, old in zip(out.request, items, strict=True)]
    assert untouched.count(False) == sum(len(done["elided"]) for done in out.report.passes) == 5
    assert untouched[0] is untouched[1] is untouched[-1] is True


@harnesses
def test_a_harness_that_appends_objects_is_read_for_the_price_of_what_is_new(name):
    wire = Wire()
    items = HARNESSES[name][0](wire, 6)
    policy, journal, known = compactor.Policy(**POLICY), None, None
    for end in range(1, len(items) + 1):
        known = lens(name).read(items[:end], known)
        assert facts(known.entries) == facts(lens(name).read(items[:end]).entries)
        if isinstance(items[end - 1], dict) and items[end - 1].get("role") != "assistant":
            out = compactor.compact(items[:end], policy, journal, format=name)
            journal = out.journal
    whole = compactor.compact(items, policy, format=name)
    assert wired(wire, name, out.request) == wired(wire, name, whole.request)


@harnesses
def test_a_run_over_objects_sends_what_a_run_over_dicts_sends(name):
    wire = Wire()
    items = HARNESSES[name][0](wire, 3)
    plain, before = wired(wire, name, items), copy.deepcopy(items)
    for runs in revision_kit.whole_runs(lens(name).read(items).entries):
        shown = revision_kit.shown(name, items, runs)
        assert wired(wire, name, shown) == revision_kit.shown(name, plain, runs)
    assert items == before


@harnesses
def test_a_reply_that_is_an_object_is_rewritten_in_it(name):
    wire = Wire()
    items = HARNESSES[name][0](wire, 1)
    plain = wired(wire, name, items)
    entries = lens(name).read(items).entries
    seq = max(at for at, entry in enumerate(entries) if entry.kind is Kind.ASSISTANT)
    part = next(at for at, one in enumerate(entries[seq].parts) if one.text == "done")
    shown = apply_edits(items, lens(name).rewrite_text(items, entries[seq], part, "new"))
    expected = apply_edits(plain, lens(name).rewrite_text(plain, entries[seq], part, "new"))
    assert wired(wire, name, shown) == expected != plain


@pytest.mark.parametrize("name", ["openai-responses", "openai-chat"])
def test_a_list_that_begins_with_objects_is_recognised(name):
    items = HARNESSES[name][0](Wire(), 1)
    assert compactor.detect(items[1:]) == name


BLOCKS = [
    {"type": "input_text", "text": "seen", "prompt_cache_breakpoint": {"mode": "explicit"}},
    {"type": "input_image", "image_url": "https://a/b.png", "detail": "auto"},
]
CHUNKS = [
    {"stdout": "out", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
    {"stdout": "", "stderr": "late", "outcome": {"type": "timeout"}},
]
OUTPUTS = {
    "a text": (ResponseFunctionToolCallOutputItem, "function_call_output", "text", {}),
    "blocks": (ResponseFunctionToolCallOutputItem, "function_call_output", BLOCKS, {}),
    "a custom tool's blocks": (
        *(ResponseCustomToolCallOutputItem, "custom_tool_call_output", BLOCKS, {}),
    ),
    "a shell": (
        *(ResponseFunctionShellToolCallOutput, "shell_call_output", CHUNKS),
        {"max_output_length": 9},
    ),
    "a local shell": (LocalShellCallOutput, "local_shell_call_output", "text", {}),
    "a patch": (
        *(ResponseApplyPatchToolCallOutput, "apply_patch_call_output", "text"),
        {"status": "failed"},
    ),
}


@pytest.mark.parametrize(("model", "kind", "output", "more"), OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_that_is_an_object_stays_one_when_it_is_rewritten(model, kind, output, more):
    plain = {"type": kind, "id": "o_1", "call_id": "c0", "output": output, "status": "completed"}
    plain |= more | {"x_unknown": [1]}
    native = model.construct(**copy.deepcopy(plain))
    before = copy.deepcopy(native)
    asked, wire, responses = call(0), Wire(), lens("openai-responses")
    shown = []
    for item in (native, plain):
        items = [asked, item]
        entry = responses.read(items).entries[1]
        shown.append(apply_edits(items, responses.rewrite_body(items, entry, "[elided]")))
    changed = shown[0][1]
    assert type(changed) is model
    assert (native, native.model_fields_set) == (before, before.model_fields_set)
    assert wired(wire, "openai-responses", shown[0]) == shown[1]
    again = responses.read(shown[0]).entries[1]
    assert (again.body, again.parts, again.error) == ("[elided]", (), entry.error)


class Plain:
    """Looks like nothing that we know."""

    model_fields = "no"


def test_what_is_an_object_is_told_by_what_it_can_do():
    part = google.Part(text="x")
    assert [is_object(native) for native in ({}, part)] == [True, True]
    others = (None, "x", 5, [], Plain(), Plain, google.Part, object())
    assert not any(map(is_object, others))
    assert [field(native, "text") for native in others] == [None] * len(others)


def test_keys_are_found_by_their_names_on_the_wire_and_in_python():
    response = google.FunctionResponse(name="f", response={"output": "x"})
    part = google.Part(function_response=response)
    assert field(part, "functionResponse") is field(part, "function_response") is response
    assert list(members(part)) == [("functionResponse", response)]
    edits = [Edit(("functionResponse", "response"), {"output": "[elided]"})]
    changed = apply_edits(part, edits)
    assert changed == google.Part(
        function_response=google.FunctionResponse(name="f", response={"output": "[elided]"})
    )
    assert part.function_response is response
    assert response.response == {"output": "x"}


def test_what_was_never_set_or_is_the_sdks_own_is_not_spelled():
    wire = Wire()
    (message,) = wire.responses(
        [],
        {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": []},
    ).output
    (block,) = wire.messages([], {"type": "text", "text": "hi"}).content
    assert compact_json(message) == (
        '{"id":"m","content":[],"role":"assistant","status":"completed","type":"message"}'
    )
    assert "parsed_output" in type(block).model_fields
    assert compact_json(block) == '{"text":"hi","type":"text"}'
    assert compact_json([google.Part()]) == "[{}]"


def test_a_key_is_removed_from_a_copy():
    native = ResponseFunctionToolCallOutputItem.construct(
        type="function_call_output", id="o", output="x", status=None, x_y=1
    )
    gone = apply_edits(native, [Edit(("status",), REMOVE), Edit(("x_y",), REMOVE)])
    assert compact_json(gone) == '{"id":"o","output":"x","type":"function_call_output"}'
    assert changed_model(native, {"x_y": 2}).x_y == 2
    assert compact_json(native) == (
        '{"id":"o","output":"x","status":null,"type":"function_call_output","x_y":1}'
    )


@pytest.mark.parametrize("path", [("nope", "deeper"), (0,)])
def test_an_address_that_is_not_in_an_object_is_our_fault(path):
    with pytest.raises(InternalError) as caught:
        apply_edits([google.Part(text="x")], [Edit((0, *path), "y")])
    assert caught.value.code == "internal.edit"
