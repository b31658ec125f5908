"""The Responses lens: what a request body becomes."""

import pytest

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Call, Kind, Overhead, Part, PartKind
from compactor.formats.media import digest_of
from compactor.formats.raw.native import compact_json
from tests.responses_kit import (
    GIF,
    LENS,
    call,
    entry,
    facts,
    opaque,
    output,
    read,
    reply,
    said,
    text,
)


def test_a_conversation_becomes_entries_in_document_order():
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "first"}],
        "content": [{"type": "reasoning_text", "text": "then"}],
        "encrypted_content": "gAAA",
    }
    reading = read(
        {"role": "user", "content": "go"},
        reasoning,
        reply("look"),
        call("a", '{ "q" : 1.0 }'),
        call("b", "not json", "bash", id="fc_2", status="completed"),
        output("b", "beta"),
        output("a", [said("alpha"), said("omega")]),
        {"type": "message", "role": "developer", "content": [said("mind")]},
        {"role": "assistant", "content": "done", "phase": "final_answer"},
    )
    a = Call("a", "grep", '{"q":1.0}', ("input", 3, "arguments"))
    b = Call("b", "bash", "not json", ("input", 4, "arguments"))
    parts = (
        Part(PartKind.REASONING, "first"),
        Part(PartKind.REASONING, "then"),
        Part(PartKind.SEALED, size=4, digest=digest_of("gAAA")),
        text("look"),
    )
    assert facts(reading) == [
        entry(Kind.USER, 0, parts=(text("go"),)),
        entry(Kind.ASSISTANT, 1, parts=parts, calls=(a, b)),
        entry(Kind.TOOL, 5, call_id="b", call=b, body="beta"),
        entry(Kind.TOOL, 6, call_id="a", call=a, body="alpha\nomega"),
        entry(Kind.SYSTEM, 7, parts=(text("mind"),)),
        entry(Kind.ASSISTANT, 8, parts=(text("done"),)),
    ]
    assert reading.findings == []
    assert not any(part.signed for part in parts)


CALLS = {
    "custom": (
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": '{ "a": 1 }'},
        Call("c", "sql", '{ "a": 1 }', ("input", 0, "input")),
    ),
    "shell": (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls", "pwd"]}},
        Call("c", "shell", '{"commands":["ls","pwd"]}', ("input", 0, "action")),
    ),
    "local shell": (
        {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"command": ["ls"]}},
        Call("c", "local_shell", '{"command":["ls"]}', ("input", 0, "action")),
    ),
    "local shell without a call id": (
        {"type": "local_shell_call", "id": "l", "action": {"command": ["ls"]}},
        Call("l", "local_shell", '{"command":["ls"]}', ("input", 0, "action")),
    ),
    "patch": (
        {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file"}},
        Call("c", "apply_patch", '{"type":"delete_file"}', ("input", 0, "operation")),
    ),
    "computer": (
        {"type": "computer_call", "call_id": "c", "action": {"type": "wait"}},
        Call("c", "computer", '{"type":"wait"}', ("input", 0, "action")),
    ),
    "computer with several actions": (
        {"type": "computer_call", "call_id": "c", "actions": [{"type": "wait"}]},
        Call("c", "computer", '[{"type":"wait"}]', ("input", 0, "actions")),
    ),
    "a search for tools by the client": (
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"q": 1}},
        Call("c", "tool_search", '{"q":1}', ("input", 0, "arguments")),
    ),
    "arguments given as an object": (
        call("c", {"b": [1, 2]}),
        Call("c", "grep", '{"b":[1,2]}', ("input", 0, "arguments")),
    ),
}


@pytest.mark.parametrize(("item", "made"), CALLS.values(), ids=CALLS)
def test_a_call_has_an_id_a_name_and_its_arguments(item, made):
    (turn,) = read(item).entries
    assert (turn.kind, turn.parts, turn.calls) == (Kind.ASSISTANT, (), (made,))


def test_a_custom_tools_input_that_is_no_text_is_compact_json():
    item = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": {"a": 1}}
    assert read(item).entries[0].calls[0].arguments == '{"a":1}'


HOSTED = (
    {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "q"}},
    {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "results": [{"text": "r"}]},
    {"type": "mcp_list_tools", "id": "ml_1", "server_label": "s", "tools": []},
    {"type": "mcp_call", "id": "mc_1", "name": "f", "arguments": "{}", "output": "o" * 99},
    {"type": "mcp_approval_request", "id": "ar_1", "name": "f", "arguments": "{}"},
    {"type": "program", "id": "p_1", "call_id": "pc", "code": "f()", "fingerprint": "x"},
    {"type": "program_output", "id": "p_2", "call_id": "pc", "result": "r", "status": "completed"},
    {"type": "tool_search_call", "id": "ts_1", "execution": "server", "arguments": {}},
    {"type": "tool_search_output", "id": "ts_2", "execution": "server", "tools": [{"name": "f"}]},
    {"type": "tool_search_output", "id": "ts_3", "tools": []},
)


def test_what_the_provider_ran_itself_belongs_to_the_models_turn():
    reading = read(*HOSTED, reply("so"))
    assert facts(reading) == [
        entry(Kind.ASSISTANT, 0, parts=(*map(opaque, HOSTED), text("so"))),
    ]
    assert reading.findings == []


def test_pictures_of_hosted_tools_have_an_allowance_and_not_the_length_of_their_base64():
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed"}
    ran = {"type": "code_interpreter_call", "id": "ci_1", "code": "plot()", "container_id": "x"}
    logs = {"type": "logs", "logs": "ok"}
    url = {"type": "image", "url": f"data:image/gif;base64,{GIF}"}
    reading = read(
        made | {"result": GIF}, made | {"result": None}, ran | {"outputs": [logs, url]}, ran
    )
    gif = Part(PartKind.IMAGE, size=23 * 13, digest=digest_of(GIF))
    assert reading.entries[0].parts == (
        *(opaque(made), gif, opaque(made)),
        *(opaque(ran), opaque(logs), gif, opaque(ran)),
    )


def test_an_input_that_is_a_text_is_a_users_message():
    root = {"model": "gpt-5.4", "input": "hello", "instructions": "be brief"}
    reading = LENS.read(root)
    assert facts(reading) == [entry(Kind.USER, 0, parts=(text("hello"),))]
    assert (reading.overhead, reading.model) == (Overhead(("be brief",), known=True), "gpt-5.4")
    longer = {**root, "input": [{"role": "user", "content": "hello"}, reply("hi")]}
    assert facts(LENS.read(longer, reading)) == facts(LENS.read(longer))


@pytest.mark.parametrize("words", ["", "hello"])
def test_an_input_that_is_a_text_is_given_back_as_it_was(words):
    root = {"model": "gpt-5.4", "input": words}
    policy = compactor.Policy(window=9, counter="chars4", reserve_tokens=8)
    out = compactor.compact(root, policy, place_breakpoints=True)
    assert out.request == {"model": "gpt-5.4", "input": words}
    assert (out.report.format, out.report.entries) == ("openai-responses", 1)


def test_instructions_leading_messages_and_tools_are_overhead():
    schema = {"type": "object", "properties": {}}
    grep = {"type": "function", "name": "grep", "description": "find", "parameters": schema}
    custom = {"type": "custom", "name": "sql", "description": "query"}
    inside = {"type": "namespace", "name": "git", "description": "git", "tools": [grep, custom]}
    reading = read(
        {"role": "developer", "content": [said("one"), said("two")]},
        {"type": "additional_tools", "role": "developer", "tools": [grep]},
        {"type": "message", "role": "system", "content": "three"},
        {"role": "user", "content": "go"},
        instructions="zero",
        tools=[
            grep,
            {"type": "function", "name": "now", "parameters": None, "strict": True},
            {"type": "web_search"},
            custom,
            inside,
        ],
    )
    spelled = '{"type":"object","properties":{}}'
    assert reading.overhead == Overhead(
        (
            *("zero", "one", "two", "three"),
            *("grep", "find", spelled),
            "now",
            '{"type":"web_search"}',
            compact_json(custom),
            *("git", "git", "grep", "find", spelled, compact_json(custom)),
            *("grep", "find", spelled),
        ),
        known=True,
    )
    assert [e.at for e in reading.entries] == [("input", 3)]


@pytest.mark.parametrize("body", [{}, {"instructions": "x", "prompt": {"id": "pmpt_1"}}])
def test_overhead_is_unknown_where_the_request_does_not_say_all_of_it(body):
    assert not read({"role": "user", "content": "x"}, **body).overhead.known


def test_what_a_developer_or_a_user_sets_in_mid_conversation_is_an_entry_of_theirs():
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]}
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    approval = {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True}
    reading = read({"role": "user", "content": "go"}, tools, update, approval)
    assert facts(reading)[1:] == [
        entry(Kind.SYSTEM, 1, parts=(opaque(tools),)),
        entry(Kind.SYSTEM, 2, parts=(opaque(update),)),
        entry(Kind.USER, 3, parts=(opaque(approval),)),
    ]
    assert reading.findings == []


def test_what_the_provider_summarises_or_keeps_is_carried_and_said():
    items = (
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
        {"type": "item_reference", "id": "rs_1"},
        {"id": "msg_1"},
        {"id": "msg_2", "type": None},
    )
    trigger = {"type": "compaction_trigger"}
    reading = read(*items, {"role": "user", "content": "go"}, trigger)
    assert facts(reading) == [
        entry(Kind.ASSISTANT, 0, parts=tuple(map(opaque, items))),
        entry(Kind.USER, 4, parts=(text("go"),)),
        entry(Kind.SYSTEM, 5, parts=(opaque(trigger),)),
    ]
    assert [(f.code, f.path) for f in reading.findings] == [
        ("provider_compaction", "$.input[0]"),
        ("provider_item_reference", "$.input[1]"),
        ("provider_item_reference", "$.input[2]"),
        ("provider_item_reference", "$.input[3]"),
        ("provider_compaction", "$.input[5]"),
    ]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({"truncation": "auto"}, ["provider_truncation"]),
        ({"truncation": "disabled", "context_management": None}, []),
        (
            {"context_management": [{"type": "compaction", "compact_threshold": 9}]},
            ["provider_context_management"],
        ),
    ],
)
def test_what_else_the_provider_does_to_the_context_is_said(body, codes):
    reading = read({"role": "user", "content": "x"}, **body)
    assert [f.code for f in reading.findings] == codes
    assert [f.path for f in reading.findings] == [f"$.{next(iter(body))}"] * len(codes)


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
@pytest.mark.parametrize("given", ["text", [{"role": "user", "content": "x"}], []])
def test_a_history_that_the_provider_keeps_is_refused(key, given):
    with pytest.raises(InputError) as caught:
        LENS.read({"input": given, key: "x_1"})
    assert (caught.value.code, caught.value.path) == ("input.provider_history", f"$.{key}")


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ("x", "$.input[0]"),
        (7, "$.input[0]"),
        ({"role": "tool", "content": "x"}, "$.input[0].role"),
        ({"type": "message", "content": "x"}, "$.input[0].role"),
        ({"role": ["user"]}, "$.input[0].role"),
        ({}, "$.input[0].type"),
        ({"type": 7}, "$.input[0].type"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(item, path):
    with pytest.raises(InputError) as caught:
        read(item)
    assert (caught.value.code, caught.value.path) == ("input.shape", path)


@pytest.mark.parametrize("given", [None, 7, {"a": 1}])
def test_an_input_that_is_neither_text_nor_list_is_refused(given):
    with pytest.raises(InputError) as caught:
        LENS.read({"input": given})
    assert (caught.value.code, caught.value.path) == ("input.shape", "$.input")


ODD = {
    "an unknown item": ({"type": "hologram"}, ["unknown_block"], ""),
    "a call without an id": (
        {"type": "function_call", "name": "f", "arguments": "{}"},
        ["missing_id", "unanswered_call"],
        "",
    ),
    "a summary that is no text": (
        {"type": "reasoning", "summary": [{"type": "x"}]},
        ["unknown_block"],
        ".summary[0]",
    ),
    "a block of an unknown type": (
        {"role": "user", "content": [{"type": "smell"}]},
        ["unknown_block"],
        ".content[0]",
    ),
    "a text block without a text": (
        {"role": "user", "content": [{"type": "input_text"}]},
        ["unknown_block"],
        ".content[0]",
    ),
    "a content that is a number": ({"role": "user", "content": 1.5}, ["unknown_block"], ".content"),
    "an orphan": (output("gone", "x"), ["orphan_result"], ""),
}


@pytest.mark.parametrize(("item", "codes", "path"), ODD.values(), ids=ODD)
def test_what_is_odd_is_carried_through_and_said(item, codes, path):
    reading = read(item)
    assert [f.code for f in reading.findings] == codes
    assert {f.path for f in reading.findings} == {f"$.input[0]{path}"}
    assert len(reading.entries) == 1


def test_a_call_that_is_left_open_is_said_at_its_item():
    reading = read(call("a"), call("b"), output("a", "x"), reply("so"))
    assert [(f.code, f.path) for f in reading.findings] == [("unanswered_call", "$.input[1]")]


def test_a_list_of_items_is_read_like_the_input_of_a_body():
    items = [{"role": "user", "content": "go"}, call("a"), output("a", "x")]
    assert [e.at for e in LENS.read(items).entries] == [(0,), (1,), (2,)]
    assert LENS.messages(items) is items
    assert LENS.messages({"input": items}) is items
    assert LENS.messages({"input": "go"}) == items[:1]
