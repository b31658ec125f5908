"""The Chat Completions lens: what a request body becomes, and what a rewritten one looks like."""

import json

import msgspec
import pytest

from compactor.core.errors import InputError
from compactor.core.model import Call, Entry, Kind, Overhead, Part, PartKind
from compactor.formats.media import digest_of
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.raw.native import apply_edits, compact_json, read_document

LENS = OpenAIChat()
GIF = "R0lGODlhgAJoAQAA"  # 640x360


def read(*messages, **body):
    return LENS.read({"messages": list(messages), **body})


def facts(reading):
    return [msgspec.structs.asdict(entry) for entry in reading.entries]


def entry(kind, at, **more):
    return msgspec.structs.asdict(Entry(kind=kind, at=at, **more))


def text(words):
    return Part(PartKind.TEXT, words)


def said(words):
    return {"type": "text", "text": words}


def use(call_id, arguments="{}", name="grep"):
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def turn(*calls, **more):
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def tool(call_id, content, **more):
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def test_a_conversation_becomes_entries_in_document_order():
    reading = read(
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        turn(use("a", '{ "q" : 1.0 }'), use("b", "not json", "bash"), content="look"),
        tool("b", "beta"),
        tool("a", "alpha"),
        {"role": "developer", "content": [said("mind")]},
        {"role": "assistant", "content": [said("done"), {"type": "refusal", "refusal": "no"}]},
    )
    at = ("messages", 2, "tool_calls")
    a = Call("a", "grep", '{"q":1.0}', (*at, 0, "function", "arguments"))
    b = Call("b", "bash", "not json", (*at, 1, "function", "arguments"))
    assert facts(reading) == [
        entry(Kind.USER, ("messages", 1), parts=(text("go"),)),
        entry(Kind.ASSISTANT, ("messages", 2), parts=(text("look"),), calls=(a, b)),
        entry(Kind.TOOL, ("messages", 3), call_id="b", call=b, body="beta"),
        entry(Kind.TOOL, ("messages", 4), call_id="a", call=a, body="alpha"),
        entry(Kind.SYSTEM, ("messages", 5), parts=(text("mind"),)),
        entry(Kind.ASSISTANT, ("messages", 6), parts=(text("done"), text("no"))),
    ]
    assert reading.findings == []
    assert reading.overhead == Overhead(("be brief",), known=True)


def test_adjacent_assistant_messages_are_one_turn():
    reading = read(
        {"role": "assistant", "content": "a"}, turn(use("x")), {"role": "assistant", "content": "b"}
    )
    (only,) = reading.entries
    assert (only.parts, [call.id for call in only.calls]) == ((text("a"), text("b")), ["x"])


def test_a_turn_holds_reasoning_refusal_and_audio():
    audio = {"id": "audio_1"}
    reading = read(
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "hm",
            "reasoning": "hm",
            "refusal": "no",
            "audio": audio,
        }
    )
    size, digest = len(compact_json(audio)), digest_of(compact_json(audio))
    assert reading.entries[0].parts == (
        Part(PartKind.REASONING, "hm"),
        text("no"),
        Part(PartKind.OTHER, size=size, digest=digest),
    )
    assert reading.findings == []


def test_a_custom_tools_input_is_taken_as_written():
    native = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": '{ "a": 1 }'}}
    (call,) = read(turn(native)).entries[0].calls
    assert call == Call(
        "c", "sql", '{ "a": 1 }', ("messages", 0, "tool_calls", 0, "custom", "input")
    )


def test_arguments_given_as_an_object_are_compact_json():
    native = {"id": "c", "function": {"name": "f", "arguments": {"b": [1, 2]}}}
    assert read(turn(native)).entries[0].calls[0].arguments == '{"b":[1,2]}'


def test_a_legacy_function_result_finds_its_call_by_name():
    reading = read(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "x"},
        {"role": "function", "name": "g", "content": None},
    )
    call = Call("", "f", "{}", ("messages", 0, "function_call", "arguments"))
    assert [(e.call_id, e.call, e.name, e.body) for e in reading.entries[1:]] == [
        ("", call, "f", "x"),
        ("", Call("", "g", ""), "g", ""),
    ]
    assert reading.findings == []


def test_media_of_a_user_have_a_kind_a_digest_and_patches_where_known():
    reading = read(
        {
            "role": "user",
            "content": [
                said("see"),
                {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{GIF}"}},
                {"type": "image_url", "image_url": {"url": "https://a/b", "detail": "low"}},
                {"type": "image_url", "image_url": "https://a/c"},
                {"type": "input_audio", "input_audio": {"data": "UklG" * 9999, "format": "wav"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE"}},
                {"type": "file", "file": {"file_id": "file_1"}},
            ],
        }
    )
    assert reading.entries[0].parts == (
        text("see"),
        Part(PartKind.IMAGE, size=23 * 13, digest=digest_of(GIF)),
        Part(PartKind.IMAGE, digest=digest_of("https://a/b")),
        Part(PartKind.IMAGE, digest=digest_of("https://a/c")),
        Part(PartKind.DOCUMENT, digest=digest_of("UklG" * 9999)),
        Part(PartKind.DOCUMENT, digest=digest_of("JVBE")),
        Part(PartKind.DOCUMENT, digest=digest_of("file_1")),
    )


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("plain", "plain"),
        ([said("one"), said("two")], "one\ntwo"),
        ("", ""),
        ([], ""),
        (None, ""),
        ([said("")], ""),
    ],
)
def test_a_body_is_the_texts_of_a_tool_message(content, body):
    read_result = read(turn(use("a")), tool("a", content)).entries[1]
    assert (read_result.body, read_result.parts, read_result.empty) == (body, (), not body)
    assert not read_result.error


SHAPES = {
    "a string": ('"content" : "old\\u00e9" ,"x":1', '"content" : "M" ,"x":1'),
    "parts": (
        '"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]',
        '"content":[{"type":"text","text":"M"}]',
    ),
    "breakpoints inside": (
        (
            '"content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"},'
            '"prompt_cache_breakpoint":{"mode":"explicit"}},'
            '{"type":"text","text":"b","prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}}]'
        ),
        (
            '"content":[{"type":"text","text":"M","cache_control":{"type":"ephemeral"},'
            '"prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}}]'
        ),
    ),
}


@pytest.mark.parametrize(("before", "after"), SHAPES.values(), ids=SHAPES)
def test_a_rewritten_body_keeps_its_shape_and_every_other_byte(before, after):
    source = (
        '{ "messages":[ {"role":"assistant","content":null,"tool_calls":[{"id":"a","function":'
        '{"arguments":"{ \\"z\\": 1}","name":"f"}}]},\n'
        ' {"tool_call_id":"a", %s ,"role":"tool"} ],"temperature":0.10 }\n'
    )
    document = read_document((source % before).encode(), "t")
    target = LENS.read(document.root).entries[1]
    edits = LENS.rewrite_body(document.root, target, "M")
    assert document.edited(edits).decode() == source % after


def test_a_content_that_is_null_is_not_rewritten():
    root = [turn(use("a")), tool("a", None)]
    assert LENS.rewrite_body(root, LENS.read(root).entries[1], "M") == []


def test_system_texts_tools_and_functions_are_overhead():
    schema = {"type": "object", "properties": {}}
    function = {"name": "grep", "description": "find", "parameters": schema, "strict": True}
    reading = read(
        {"role": "developer", "content": [said("one"), said("two")]},
        {"role": "system", "content": "three"},
        {"role": "user", "content": "go"},
        tools=[
            {"type": "function", "function": function},
            {"type": "function", "function": {"name": "now"}},
            {"type": "custom", "custom": {"name": "sql"}},
        ],
        functions=[function],
    )
    spelled = '{"type":"object","properties":{}}'
    assert reading.overhead == Overhead(
        (
            *("one", "two", "three"),
            *("grep", "find", spelled),
            "now",
            '{"type":"custom","custom":{"name":"sql"}}',
            *("grep", "find", spelled),
        ),
        known=True,
    )
    assert [e.at for e in reading.entries] == [("messages", 2)]


def test_overhead_is_unknown_without_system_message_and_tools():
    assert read({"role": "user", "content": "x"}).overhead == Overhead((), known=False)


@pytest.mark.parametrize(
    ("message", "path"),
    [("x", "$.messages[0]"), ({"role": "human"}, "$.messages[0].role"), ({}, "$.messages[0].role")],
)
def test_what_is_no_conversation_is_refused_with_its_place(message, path):
    with pytest.raises(InputError) as caught:
        read(message)
    assert (caught.value.code, caught.value.path) == ("input.shape", path)


ODD = {
    "calls that are no list": (turn() | {"tool_calls": {}}, ["unknown_block"], ".tool_calls"),
    "a call of an unknown kind": (
        turn({"id": "a", "type": "spell"}),
        ["unknown_block", "unanswered_call"],
        ".tool_calls[0]",
    ),
    "a call that is no object": (
        turn(7),
        ["missing_id", "unknown_block", "unanswered_call"],
        ".tool_calls[0]",
    ),
    "a part of an unknown type": (
        {"role": "user", "content": [{"type": "smell"}]},
        ["unknown_block"],
        ".content[0]",
    ),
    "a content that is a number": ({"role": "user", "content": 1.5}, ["unknown_block"], ".content"),
    "an empty text part": (
        {"role": "user", "content": [said("")]},
        ["empty_text"],
        ".content[0]",
    ),
    "an orphan": (tool("gone", "x"), ["orphan_result"], ""),
}


@pytest.mark.parametrize(("message", "codes", "path"), ODD.values(), ids=ODD)
def test_what_is_odd_is_carried_through_and_said(message, codes, path):
    reading = read(message)
    assert [f.code for f in reading.findings] == codes
    assert {f.path for f in reading.findings} == {f"$.messages[0]{path}"}
    assert len(reading.entries) == 1


def test_a_result_of_an_odd_shape_must_not_change():
    root = [turn(use("a")), tool("a", {"rows": 3})]
    read_result = LENS.read(root).entries[1]
    assert (read_result.required, read_result.body) == (True, "")


def test_b11_repeated_ids_are_answered_by_the_nearest_earlier_call():
    reading = read(
        *(
            message
            for words in ("one", "two", "three")
            for message in (turn(use("run:0", json.dumps({"cmd": words}))), tool("run:0", words))
        )
    )
    assert [(e.call.arguments, e.body) for e in reading.entries if e.call] == [
        ('{"cmd":"one"}', "one"),
        ('{"cmd":"two"}', "two"),
        ('{"cmd":"three"}', "three"),
    ]
    assert reading.findings == []


def test_b18_a_pass_changes_one_body_and_no_other_byte():
    source = (
        '{ "model":"m",\n "messages":[\n'
        '  {"role":"user","content":"caf\\u00e9 and café, path a\\/b"},\n'
        '  {"content":null,"role":"assistant","tool_calls":[{"type":"function","id":"c1",'
        '"function":{"arguments":"{ \\"z\\": 1,\\"a\\" :[2 , 3], \\"n\\":1.0}","name":"run"}}]},\n'
        '  {"content":"OLD é","tool_call_id":"c1","role":"tool"},\n'
        '  {"role":"assistant","content":"ok \\ud83d\\ude00 😀"}\n ] , "temperature":0.10 }\n'
    )
    document = read_document(source.encode(), "t")
    reading = LENS.read(document.root)
    assert reading.entries[1].calls[0].arguments == '{"z":1,"a":[2,3],"n":1.0}'
    assert document.edited([]).decode() == source
    edits = LENS.rewrite_body(document.root, reading.entries[2], "M")
    assert document.edited(edits).decode() == source.replace("OLD é", "M")


def test_b68_a_long_string_in_arguments_is_replaced_inside_the_text_of_json():
    arguments = (
        '{"path": "docs/x.md", "mode": 420,  "content": "# Title\\n\\"quoted\\"", "tags": [null]}'
    )
    root = [turn(use("c1", arguments, "write_file"))]
    edits = LENS.rewrite_argument(root, LENS.read(root).entries[0], 0, ("content",), "[cut]")
    changed = apply_edits(root, edits)
    assert changed[0]["tool_calls"][0]["function"]["arguments"] == (
        '{"path": "docs/x.md", "mode": 420,  "content": "[cut]", "tags": [null]}'
    )


def test_arguments_that_are_no_json_are_replaced_as_a_whole():
    root = [turn(use("c1", "*** Begin Patch", "apply"))]
    edits = LENS.rewrite_argument(root, LENS.read(root).entries[0], 0, (), "[cut]")
    assert apply_edits(root, edits)[0]["tool_calls"][0]["function"]["arguments"] == "[cut]"


def test_a_picture_in_a_tool_message_is_gone_when_it_is_rewritten():
    url = f"data:image/gif;base64,{GIF}"
    shown = {"type": "image_url", "image_url": {"url": url}}
    root = [turn(use("a")), tool("a", [said("window"), shown])]
    read_result = LENS.read(root).entries[1]
    assert (read_result.body, [p.kind for p in read_result.parts]) == ("window", [PartKind.IMAGE])
    changed = apply_edits(root, LENS.rewrite_body(root, read_result, "M"))
    assert changed[1] == tool("a", [said("M")])
