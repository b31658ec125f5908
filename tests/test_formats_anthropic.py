"""The Anthropic lens: what a request body becomes, and what a rewritten one looks like."""

import json

import msgspec
import pytest

from compactor.core.errors import Finding, InputError
from compactor.core.model import Call, Entry, Kind, Overhead, Part, PartKind
from compactor.formats.media import digest_of
from compactor.formats.providers.anthropic import Anthropic
from compactor.formats.raw.native import apply_edits, compact_json, read_document

LENS = Anthropic()
PNG = "iVBORw0KGgoAAAANSUhEUgAAA+gAAAPoCAYAAA"  # 1000x1000


def read(*messages, **body):
    return LENS.read({"messages": list(messages), **body})


def facts(reading):
    return [msgspec.structs.asdict(entry) for entry in reading.entries]


def entry(kind, at, **more):
    return msgspec.structs.asdict(Entry(kind=kind, at=at, **more))


def text(words):
    return Part(PartKind.TEXT, words)


def other(block):
    words = compact_json(block)
    return Part(PartKind.OTHER, size=len(words), digest=digest_of(words))


def user(*content):
    return {"role": "user", "content": list(content)}


def turn(*content):
    return {"role": "assistant", "content": list(content)}


def said(words):
    return {"type": "text", "text": words}


def use(call_id, name="grep", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id, content, **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def one_result(block):
    reading = read(turn(use("a")), user(block))
    return reading.entries[1], reading


def test_a_conversation_becomes_entries_in_document_order():
    reading = read(
        {"role": "user", "content": "go"},
        turn(said("look"), use("a", q=1), use("b", "bash", c="ls")),
        user(result("b", "beta"), said("and"), said("then"), result("a", "alpha"), said("on")),
        {"role": "system", "content": [said("mind")]},
        turn(said("done")),
    )
    a = Call("a", "grep", '{"q":1}', ("messages", 1, "content", 1, "input"))
    b = Call("b", "bash", '{"c":"ls"}', ("messages", 1, "content", 2, "input"))
    assert facts(reading) == [
        entry(Kind.USER, ("messages", 0), parts=(text("go"),)),
        entry(Kind.ASSISTANT, ("messages", 1), parts=(text("look"),), calls=(a, b)),
        entry(Kind.TOOL, ("messages", 2, "content", 0), call_id="b", call=b, body="beta"),
        entry(Kind.USER, ("messages", 2), parts=(text("and"), text("then"))),
        entry(Kind.TOOL, ("messages", 2, "content", 3), call_id="a", call=a, body="alpha"),
        entry(Kind.USER, ("messages", 2), parts=(text("on"),)),
        entry(Kind.SYSTEM, ("messages", 3), parts=(text("mind"),)),
        entry(Kind.ASSISTANT, ("messages", 4), parts=(text("done"),)),
    ]
    assert reading.findings == []


def test_a_bare_list_is_addressed_from_its_root():
    reading = LENS.read([turn(use("a")), user(result("a", "x"))])
    assert [e.at for e in reading.entries] == [(0,), (1, "content", 0)]
    assert reading.entries[0].calls[0].at == (0, "content", 0, "input")
    assert reading.overhead == Overhead((), known=False)


def test_adjacent_assistant_messages_are_one_turn():
    reading = read(turn(said("a"), use("x")), turn(said("b"), use("y")), turn(said("c")))
    (only,) = reading.entries
    assert only.parts == (text("a"), text("b"), text("c"))
    assert [call.id for call in only.calls] == ["x", "y"]
    assert only.at == ("messages", 0)


def test_hosted_calls_and_their_results_belong_to_the_turn():
    blocks = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s",
            "content": [{"encrypted_content": "e"}],
        },
        {"type": "mcp_tool_use", "id": "m", "name": "f", "server_name": "g", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m", "content": "long", "is_error": False},
    ]
    reading = read(turn(*blocks, said("found")))
    assert facts(reading) == [
        entry(Kind.ASSISTANT, ("messages", 0), parts=(*map(other, blocks), text("found")))
    ]
    assert reading.findings == []


def test_what_the_provider_summarises_is_carried_and_said():
    blocks = [
        {"type": "compaction", "content": "summary"},
        {"type": "compaction", "content": None, "encrypted_content": "x", "signature": "y"},
        {"type": "compaction", "content": None},
    ]
    reading = read(turn(*blocks, said("so")), compaction={"type": "summarize"})
    assert reading.entries[0].parts == (*map(other, blocks), text("so"))
    assert [(f.code, f.path) for f in reading.findings] == [
        ("provider_compaction", "$.compaction"),
        ("provider_compaction", "$.messages[0].content[0]"),
        ("provider_compaction", "$.messages[0].content[1]"),
    ]


THOUGHTS = (
    {"type": "thinking", "thinking": "I should", "signature": "sig1"},
    {"type": "thinking", "thinking": "", "signature": "signature"},
    {"type": "redacted_thinking", "data": "cmVk"},
)
UNSIGNED = {"type": "thinking", "thinking": "hm"}


def test_reasoning_is_text_where_it_can_be_read_and_sealed_where_not():
    at = ("messages", 0, "content")
    assert read(turn(*THOUGHTS, UNSIGNED)).entries[0].parts == (
        Part(PartKind.REASONING, "I should", at=(*at, 0)),
        Part(PartKind.SEALED, size=9, digest=digest_of("signature"), at=(*at, 1)),
        Part(PartKind.SEALED, size=4, digest=digest_of("cmVk"), at=(*at, 2)),
        Part(PartKind.REASONING, "hm"),
    )


def test_signed_reasoning_is_removed_and_no_message_is_left_empty():
    root = {
        "messages": [
            turn(THOUGHTS[0], said("a"), THOUGHTS[1], THOUGHTS[2], UNSIGNED),
            turn(*THOUGHTS),
            turn(THOUGHTS[0], use("a")),
        ]
    }
    (read_turn,) = LENS.read(root).entries
    changed = apply_edits(root, LENS.remove_reasoning(root, read_turn, "[gone]"))
    assert changed["messages"] == [turn(said("a"), UNSIGNED), turn(said("[gone]")), turn(use("a"))]
    source = json.dumps(root).encode()
    document = read_document(source, "t")
    edits = LENS.remove_reasoning(document.root, LENS.read(document.root).entries[0], "[gone]")
    assert json.loads(document.edited(edits)) == changed


def test_a_turn_without_signed_reasoning_loses_nothing():
    root = [turn(UNSIGNED, said("a"))]
    assert LENS.remove_reasoning(root, LENS.read(root).entries[0], "[gone]") == []


BINDING = {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize(
    ("thinking", "bound"),
    [
        ({"type": "enabled", "budget_tokens": 9}, {"type": "enabled", "budget_tokens": 9}),
        ({"type": "adaptive", "block_binding": None}, {"type": "adaptive"}),
        (None, {"type": "adaptive"}),
    ],
)
def test_a_request_can_let_the_provider_drop_unbound_reasoning(thinking, bound):
    root = {"messages": [], "thinking": thinking}
    changed = apply_edits(root, LENS.bind_reasoning(root, BINDING))
    assert changed["thinking"] == {**bound, "block_binding": BINDING}


@pytest.mark.parametrize("root", [[], {"messages": [], "thinking": {"type": "disabled"}}])
def test_where_thinking_is_off_or_there_is_no_body_nothing_can_be_bound(root):
    assert LENS.bind_reasoning(root, BINDING) is None


def test_media_have_a_kind_a_digest_and_patches_where_known():
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}
    reading = read(
        user(
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "document", "source": pdf, "title": "T"},
            {"type": "document", "source": {"type": "text", "data": "plain words"}},
        )
    )
    assert reading.entries[0].parts == (
        Part(PartKind.IMAGE, size=1296, digest=digest_of(PNG)),
        Part(PartKind.IMAGE, digest=digest_of("https://a/b.png")),
        Part(PartKind.IMAGE, digest=digest_of("file_1")),
        Part(PartKind.DOCUMENT, digest=digest_of("JVBE")),
        text("plain words"),
    )


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("plain", "plain"),
        ([said("one"), said("two")], "one\ntwo"),
        ([said(""), said("two")], "two"),
        ("", ""),
        ([], ""),
        (None, ""),
        ([said("")], ""),
    ],
)
def test_a_body_is_the_texts_of_a_result(content, body):
    read_result, _ = one_result(result("a", content))
    assert (read_result.body, read_result.parts, read_result.empty) == (body, (), not body)


def test_a_result_without_content_is_empty_and_stays_so():
    root = [turn(use("a")), user({"type": "tool_result", "tool_use_id": "a"})]
    read_result = LENS.read(root).entries[1]
    assert read_result.empty
    assert LENS.rewrite_body(root, read_result, "M") == []


@pytest.mark.parametrize(
    ("flag", "error"), [(True, True), (False, False), (None, False), ("true", False), (1, False)]
)
def test_only_the_formats_own_flag_makes_a_failure(flag, error):
    read_result, _ = one_result(result("a", "exit code 1: Error", is_error=flag))
    assert read_result.error is error


@pytest.mark.parametrize(
    ("block", "required"),
    [
        ({"type": "tool_reference", "tool_name": "f"}, True),
        ({"type": "web_thing", "encrypted_content": "x"}, True),
        ({"type": "run", "encrypted_stdout": "x"}, True),
        ({"type": "note", "signature": "x"}, True),
        ({"type": "note", "signature": None}, False),
        ({"type": "search_result", "source": "s", "title": "t", "content": [said("x")]}, False),
        ({"type": "browser_state", "tabs": []}, False),
        (said("signature encrypted_content"), False),
    ],
)
def test_a_result_that_refers_or_is_signed_must_not_change(block, required):
    read_result, _ = one_result(result("a", [said("x"), block]))
    assert read_result.required is required


@pytest.mark.parametrize(("signature", "required"), [("s", True), (None, False)])
def test_a_result_that_is_signed_itself_must_not_change(signature, required):
    read_result, _ = one_result(result("a", "x", signature=signature))
    assert read_result.required is required


def test_a_result_keeps_what_is_no_text_beside_its_body():
    image = {"type": "image", "source": {"type": "url", "url": "https://a/b"}}
    found = {"type": "search_result", "source": "s", "title": "t", "content": [said("x")]}
    read_result, _ = one_result(result("a", [said("x"), image, found, said("y")]))
    assert read_result.body == "x\ny"
    assert read_result.parts == (
        Part(PartKind.IMAGE, digest=digest_of("https://a/b")),
        other(found),
    )


EPHEMERAL = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}

SHAPES = {
    "a string": ('"content": "old" ,"x":1', '"content": "M" ,"x":1'),
    "an empty string": ('"content" : ""', '"content" : "M"'),
    "blocks": (
        '"is_error":true, "content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]',
        '"is_error":true, "content":[{"type":"text","text":"M"}]',
    ),
    "a picture alone": (
        '"content":[{"type":"image","source":{"type":"url","url":"u"}}],"toolset_name":null',
        '"content":[{"type":"text","text":"M"}],"toolset_name":null',
    ),
    "a breakpoint on the result": (
        '"content":"old","cache_control": {"type":"ephemeral"}',
        '"content":"M","cache_control": {"type":"ephemeral"}',
    ),
    "breakpoints inside": (
        (
            '"content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},'
            '{"type":"text","text":"b","cache_control":{"type":"ephemeral","ttl":"1h"}},'
            '{"type":"text","text":"c","cache_control":null}]'
        ),
        '"content":[{"type":"text","text":"M","cache_control":{"type":"ephemeral","ttl":"1h"}}]',
    ),
}


@pytest.mark.parametrize(("before", "after"), SHAPES.values(), ids=SHAPES)
def test_a_rewritten_body_keeps_its_shape_and_every_other_byte(before, after):
    source = (
        '{ "messages":[ {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f",'
        '"input":{"b" : 1.0}}]},\n {"content":[{"tool_use_id":"a", %s ,"type":"tool_result"}],'
        '"role":"user"} ],"temperature":0.10 }\n'
    )
    document = read_document((source % before).encode(), "t")
    target = LENS.read(document.root).entries[1]
    edits = LENS.rewrite_body(document.root, target, "M")
    assert document.edited(edits).decode() == source % after


@pytest.mark.parametrize("content", [None, 5, {"type": "text", "text": "x"}])
def test_a_content_that_is_no_text_and_no_list_is_not_rewritten(content):
    block = result("a", content)
    read_result, _ = one_result(block)
    root = {"messages": [turn(use("a")), user(block)]}
    assert read_result.empty or read_result.required
    assert LENS.rewrite_body(root, read_result, "M") == []


def test_a_string_deep_in_a_calls_input_is_replaced_alone():
    root = {"messages": [turn(use("a", path="p", edits=[{"new": "long", "old": "short"}]))]}
    read_turn = LENS.read(root).entries[0]
    edits = LENS.rewrite_argument(root, read_turn, 0, ("edits", 0, "new"), "M")
    changed = apply_edits(root, edits)
    assert changed["messages"][0]["content"][0]["input"] == {
        "path": "p",
        "edits": [{"new": "M", "old": "short"}],
    }


def test_system_texts_and_tools_are_overhead():
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    reading = read(
        {"role": "user", "content": "go"},
        system=[said("be brief"), said("be kind") | {"cache_control": EPHEMERAL}],
        tools=[
            {"name": "grep", "description": "find", "input_schema": schema},
            {"type": "web_search_20250305", "name": "web_search", "cache_control": HOUR},
        ],
        model="claude-x",
    )
    assert reading.overhead == Overhead(
        (
            "be brief",
            "be kind",
            "grep",
            "find",
            '{"type":"object","properties":{"q":{"type":"string"}}}',
            '{"type":"web_search_20250305","name":"web_search"}',
        ),
        known=True,
    )
    assert reading.model == "claude-x"


@pytest.mark.parametrize(
    ("body", "known"),
    [({"system": "s"}, True), ({"tools": []}, True), ({}, False), ({"system": None}, False)],
)
def test_overhead_is_known_when_the_recording_carries_system_or_tools(body, known):
    assert read({"role": "user", "content": "x"}, **body).overhead.known is known


def test_leading_system_messages_are_overhead_too():
    reading = read({"role": "system", "content": "s"}, {"role": "user", "content": "x"})
    assert reading.overhead == Overhead(("s",), known=True)
    assert [e.at for e in reading.entries] == [("messages", 1)]


SHAPELESS = {
    "messages that are no list": ({"messages": {}}, "$.messages"),
    "no messages": ({"model": "m"}, "$.messages"),
    "neither body nor list": ("text", "$"),
    "a message that is no object": ({"messages": [{"role": "user"}, 7]}, "$.messages[1]"),
    "no role": ([{"content": "x"}], "$[0].role"),
    "a role of another format": ([{"role": "user"}, {"role": "tool"}], "$[1].role"),
    "a role that is no word": ({"messages": [{"role": ["user"]}]}, "$.messages[0].role"),
}


@pytest.mark.parametrize(("root", "path"), SHAPELESS.values(), ids=SHAPELESS)
def test_what_is_no_conversation_is_refused_with_its_place(root, path):
    with pytest.raises(InputError) as caught:
        LENS.read(root)
    assert (caught.value.code, caught.value.path) == ("input.shape", path)


ODD = {
    "content that is a number": (user() | {"content": 5}, "unknown_block", ".content"),
    "a block of an unknown type": (user({"type": "hologram"}), "unknown_block", ".content[0]"),
    "a block that is no object": (user("words"), "unknown_block", ".content[0]"),
    "a type that is no word": (user({"type": {}}), "unknown_block", ".content[0]"),
    "a text block without text": (user({"type": "text"}), "unknown_block", ".content[0]"),
    "a call made by the user": (user(use("a")), "unknown_block", ".content[0]"),
    "a result given by the model": (turn(result("a", "x")), "unknown_block", ".content[0]"),
    "an empty text block": (user(said("a"), said("")), "empty_text", ".content[1]"),
    "an empty content": ({"role": "assistant", "content": ""}, "empty_text", ".content"),
}


@pytest.mark.parametrize(("message", "code", "path"), ODD.values(), ids=ODD)
def test_what_is_odd_is_carried_through_and_said(message, code, path):
    reading = read(message)
    assert [(f.code, f.path) for f in reading.findings] == [(code, f"$.messages[0]{path}")]
    assert len(reading.entries) == 1


def test_a_call_without_an_id_is_said_and_its_nameless_result_is_an_orphan():
    reading = read(turn({"type": "tool_use", "name": "f", "input": {}}), user(result(None, "x")))
    assert [(f.code, f.path) for f in reading.findings] == [
        ("missing_id", "$.messages[0].content[0]"),
        ("orphan_result", "$.messages[1].content[0]"),
        ("unanswered_call", "$.messages[0].content[0]"),
    ]
    assert [call.id for call in reading.entries[0].calls] == [""]


def test_server_side_context_editing_is_said_and_carried_through():
    reading = read({"role": "user", "content": "x"}, context_management={"edits": []})
    assert [(f.code, f.path) for f in reading.findings] == [
        ("provider_context_management", "$.context_management")
    ]


def test_b01_an_orphan_is_read_and_said_once():
    reading = read(
        user(result("toolu_gone", "long"), said("carry on")),
        turn(use("toolu_1")),
        user(result("toolu_1", "x")),
    )
    assert reading.findings == [
        Finding(
            "orphan_result", "no call is known for result 'toolu_gone'", "$.messages[0].content[0]"
        )
    ]
    assert (reading.entries[0].call, reading.entries[0].name) == (None, "")


def test_b05_an_interrupted_call_is_said_with_its_place():
    reading = read(
        turn(use("toolu_1")),
        user(result("toolu_1", "x")),
        turn(said("slow"), use("toolu_2")),
        {"role": "user", "content": "sorry, I stopped you"},
    )
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unanswered_call", "$.messages[2].content[1]")
    ]


def test_an_open_call_is_said_once_however_long_the_conversation_goes_on():
    reading = read(
        turn(use("a"), use("b")),
        user(result("b", "x"), said("go on")),
        turn(said("yes")),
        turn(use("c")),
        user(result("c", "x")),
        turn(said("done")),
    )
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unanswered_call", "$.messages[0].content[0]")
    ]


def test_a_repeated_id_in_one_turn_needs_as_many_results():
    both = read(turn(use("a"), use("a")), user(result("a", "x"), result("a", "y")))
    one = read(turn(use("a"), use("a")), user(result("a", "x")))
    assert both.findings == []
    assert [f.path for f in one.findings] == ["$.messages[0].content[1]"]


def test_b08_parallel_results_are_entries_of_their_own_in_one_message():
    root = {
        "messages": [
            turn(use("p1"), use("p2", "bash"), use("p3")),
            user(result("p1", "a"), result("p2", "exit 1", is_error=True), result("p3", "b")),
        ]
    }
    entries = LENS.read(root).entries
    assert [(e.name, e.body, e.error) for e in entries[1:]] == [
        ("grep", "a", False),
        ("bash", "exit 1", True),
        ("grep", "b", False),
    ]
    edits = [e for t in (entries[1], entries[3]) for e in LENS.rewrite_body(root, t, "M")]
    changed = apply_edits(root, edits)
    assert changed["messages"][1] == user(
        result("p1", "M"), result("p2", "exit 1", is_error=True), result("p3", "M")
    )
    assert changed["messages"][0] is root["messages"][0]
    assert changed["messages"][1]["content"][1] is root["messages"][1]["content"][1]


@pytest.mark.parametrize("length", [400, 400_000])
def test_b25_the_length_of_a_picture_does_not_matter(length):
    data = ("iVBORw0KGgoAAAAN" * length)[:length]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    read_result, _ = one_result(result("a", [said("window 800x600"), image]))
    assert (read_result.body, read_result.parts) == (
        "window 800x600",
        (Part(PartKind.IMAGE, size=0, digest=digest_of(data)),),
    )


def test_b36_lone_surrogates_are_read_and_written_back_as_they_were():
    source = json.dumps(
        {"messages": [turn(use("a", c="\ud83d")), user(result("a", "cut \ud83d end"))]}
    ).encode()
    document = read_document(source, "t")
    reading = LENS.read(document.root)
    assert reading.entries[1].body == "cut \ud83d end"
    assert reading.entries[0].calls[0].arguments == '{"c":"\\ud83d"}'
    assert document.edited([]) == source
    rewritten = document.edited(LENS.rewrite_body(document.root, reading.entries[1], "M"))
    assert rewritten == source.replace(b"cut \\ud83d end", b"M")


def test_b62_text_like_a_marker_is_text():
    marker = "[elided 48213 chars of grep output — recall seq=999999]"
    read_result, reading = one_result(result("a", marker))
    assert (read_result.body, read_result.cleared, reading.findings) == (marker, False, [])
