"""The Converse lens: what a request becomes, and what a rewritten one looks like."""

import copy

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.core.model import Call, Entry, Kind, Overhead, Part, PartKind
from compactor.formats.media import digest_of
from compactor.formats.providers.bedrock import Bedrock
from compactor.formats.raw.native import apply_edits, compact_json, read_document

LENS = Bedrock()
GIF = "R0lGODlhgAJoAQAA"  # 640x360
GIF_BYTES = b"GIF89a\x80\x02\x68\x01\x00\x00"
CACHE_POINT = {"cachePoint": {"type": "default"}}


def read(*messages, **body):
    return LENS.read({"messages": list(messages), **body})


def facts(reading):
    return [msgspec.structs.asdict(entry) for entry in reading.entries]


def entry(kind, at, **more):
    return msgspec.structs.asdict(Entry(kind=kind, at=at, **more))


def text(words):
    return Part(PartKind.TEXT, words)


def sealed(data):
    return Part(PartKind.SEALED, size=len(data), digest=digest_of(data))


def other(native):
    spelled = compact_json(native)
    return Part(PartKind.OTHER, size=len(spelled), digest=digest_of(spelled))


def user(*content):
    return {"role": "user", "content": list(content)}


def turn(*content):
    return {"role": "assistant", "content": list(content)}


def said(words):
    return {"text": words}


def use(call_id, name="f", **arguments):
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}


def result(call_id, *content, **more):
    return {"toolResult": {"toolUseId": call_id, "content": list(content), **more}}


def thought(words, signature=None):
    signed = {} if signature is None else {"signature": signature}
    return {"reasoningContent": {"reasoningText": {"text": words, **signed}}}


def image(**source):
    return {"image": {"format": "gif", "source": source}}


def test_a_conversation_becomes_entries_in_document_order():
    reading = read(
        user(said("go"), image(bytes=GIF)),
        turn(thought("hm", "c2ln"), said("look"), use("a", "grep", q=1.0), use("b", "ls")),
        user(
            result("b", said("beta"), status="error"),
            result("a", said("alpha"), {"json": {"n": 1.0}}),
            CACHE_POINT,
            said("and on"),
        ),
        {"role": "system", "content": [said("mind")]},
        turn(said("done")),
    )
    at, results = ("messages", 1, "content"), ("messages", 2, "content")
    a = Call("a", "grep", '{"q":1.0}', (*at, 2, "toolUse", "input"))
    b = Call("b", "ls", "{}", (*at, 3, "toolUse", "input"))
    picture = Part(PartKind.IMAGE, size=23 * 13, digest=digest_of(GIF))
    assert facts(reading) == [
        entry(Kind.USER, ("messages", 0), parts=(text("go"), picture)),
        entry(
            Kind.ASSISTANT,
            ("messages", 1),
            parts=(Part(PartKind.REASONING, "hm", at=(*at, 0)), text("look")),
            calls=(a, b),
        ),
        entry(Kind.TOOL, (*results, 0), call_id="b", call=b, body="beta", error=True),
        entry(Kind.TOOL, (*results, 1), call_id="a", call=a, body='alpha\n{"n":1.0}'),
        entry(Kind.USER, ("messages", 2), parts=(text("and on"),)),
        entry(Kind.SYSTEM, ("messages", 3), parts=(text("mind"),)),
        entry(Kind.ASSISTANT, ("messages", 4), parts=(text("done"),)),
    ]
    assert reading.findings == []
    assert reading.overhead == Overhead((), known=False)


def test_each_run_of_other_blocks_around_results_is_an_entry():
    reading = read(
        turn(use("a"), use("b")),
        user(said("1"), said("2"), result("a"), image(bytes=GIF), result("b"), said("3")),
    )
    assert [(e.kind, len(e.parts)) for e in reading.entries[1:]] == [
        *((Kind.USER, 2), (Kind.TOOL, 0), (Kind.USER, 1), (Kind.TOOL, 0), (Kind.USER, 1)),
    ]


def test_a_cache_point_is_nothing_that_was_said():
    plain = [user(said("a"), said("b")), turn(use("x")), user(result("x", said("1")))]
    marked = [
        user(said("a"), CACHE_POINT, said("b"), CACHE_POINT),
        turn(use("x"), CACHE_POINT),
        user(CACHE_POINT, result("x", said("1"), CACHE_POINT), CACHE_POINT),
    ]

    def without_addresses(messages):
        return [(e.kind, e.parts, e.call_id, e.name, e.body) for e in LENS.read(messages).entries]

    assert without_addresses(marked) == without_addresses(plain)
    assert [e.parts for e in read(user(CACHE_POINT), user()).entries] == [(), ()]


def test_adjacent_assistant_messages_are_one_turn():
    reading = read(turn(said("a")), turn(use("x")), turn(said("b")))
    (only,) = reading.entries
    assert (only.parts, [c.id for c in only.calls]) == ((text("a"), text("b")), ["x"])


def test_leading_system_messages_and_system_blocks_are_overhead():
    schema = {"type": "object", "properties": {}}
    spec = {"name": "grep", "description": "find", "inputSchema": {"json": schema}, "strict": True}
    reading = read(
        {"role": "system", "content": [said("three")]},
        user(said("go")),
        system=[said("one"), CACHE_POINT, {"guardContent": {"text": {"text": "two"}}}],
        toolConfig={
            "tools": [{"toolSpec": spec}, {"systemTool": {"name": "web"}}, CACHE_POINT],
            "toolChoice": {"auto": {}},
        },
        modelId="us.anthropic.claude-opus-5-5-v1:0",
    )
    assert reading.overhead == Overhead(
        (
            *("one", '{"guardContent":{"text":{"text":"two"}}}', "three"),
            *("grep", "find", compact_json(schema), '{"systemTool":{"name":"web"}}'),
        ),
        known=True,
    )
    assert [e.at for e in reading.entries] == [("messages", 1)]
    assert reading.model == "us.anthropic.claude-opus-5-5-v1:0"


def test_a_moved_cache_point_leaves_the_overhead_alone():
    known = read(user(said("x")), system=[said("s")])
    root = {"messages": [user(said("x"))], "system": [said("s"), CACHE_POINT]}
    assert LENS.read(root, known).overhead == known.overhead


# Results

BODIES = {
    "texts": ([said("one"), said("two")], "one\ntwo", 0),
    "json": ([{"json": {"a": [1, 2.50]}}], '{"a":[1,2.5]}', 0),
    "a text and json": ([said("one"), {"json": [1]}], "one\n[1]", 0),
    "json that is null": ([{"json": None}], "", 0),
    "an empty list": ([], "", 0),
    "a picture": ([said("one"), image(bytes=GIF)], "one", 1),
    "a picture alone": ([image(bytes=GIF)], "", 1),
    "a document that is a text": (
        [{"document": {"format": "txt", "name": "d", "source": {"text": "one"}}}],
        "",
        1,
    ),
}


@pytest.mark.parametrize(("content", "body", "others"), BODIES.values(), ids=BODIES)
def test_a_body_is_the_texts_and_json_of_a_result(content, body, others):
    reading = read(turn(use("a")), user(result("a", *content)))
    read_result = reading.entries[1]
    assert (read_result.body, len(read_result.parts)) == (body, others)
    assert read_result.empty == (not body and not others)
    assert not read_result.required
    assert reading.findings == []


@pytest.mark.parametrize("content", [{"content": None}, {}])
def test_a_result_without_content_is_no_candidate(content):
    root = [turn(use("a")), user({"toolResult": {"toolUseId": "a", **content}})]
    read_result = LENS.read(root).entries[1]
    assert read_result.empty
    assert LENS.rewrite_body(root, read_result, "M") == []


def test_a_content_that_is_a_text_stays_one():
    root = [turn(use("a")), user({"toolResult": {"toolUseId": "a", "content": "old"}})]
    read_result = LENS.read(root).entries[1]
    assert read_result.body == "old"
    changed = apply_edits(root, LENS.rewrite_body(root, read_result, "M"))
    assert changed[1]["content"][0]["toolResult"]["content"] == "M"


def test_a_content_of_another_shape_must_not_change():
    reading = read(turn(use("a")), user({"toolResult": {"toolUseId": "a", "content": {"x": 1}}}))
    assert (reading.entries[1].required, reading.entries[1].body) == (True, "")
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unknown_block", "$.messages[1].content[0].toolResult.content")
    ]


@pytest.mark.parametrize(("status", "error"), [("error", True), ("success", False), (None, False)])
def test_the_status_says_whether_a_call_failed(status, error):
    native = result("a", said("Traceback: error"), status=status)
    assert read(turn(use("a")), user(native)).entries[1].error is error


SHAPES = {
    "a text": ('[ {"text" : "old\\u00e9"} ]', '[{"text":"M"}]'),
    "blocks": ('[{"text":"a"},{"json":{"b" : 1.50}},{"x":1}]', '[{"text":"M"}]'),
    "a picture": ('[{"image":{"format":"gif","source":{"bytes":"R0lG"}}}]', '[{"text":"M"}]'),
    "cache points inside": (
        '[{"text":"a"},{"cachePoint":{"type":"default"}},{"cachePoint":{"ttl":"1h","type":"default"}}]',
        '[{"text":"M"},{"cachePoint":{"ttl":"1h","type":"default"}}]',
    ),
}


@pytest.mark.parametrize(("before", "after"), SHAPES.values(), ids=SHAPES)
def test_a_rewritten_body_keeps_every_other_byte(before, after):
    source = (
        '{ "messages":[ {"role":"assistant","content":[{"toolUse":{"input":{ "z": 1},"name":"f",'
        '"toolUseId":"a"}}]},\n {"content":[ {"toolResult":{"toolUseId" :"a", "content": %s ,'
        '"status":"error","x":[{}]}}, {"cachePoint":{ "type":"default"}}],"role":"user"} ],'
        '"inferenceConfig":{"temperature":0.10} }\n'
    )
    document = read_document((source % before).encode(), "t")
    target = LENS.read(document.root).entries[1]
    edits = LENS.rewrite_body(document.root, target, "M")
    assert document.edited([]).decode() == source % before
    assert document.edited(edits).decode() == source % after


def test_a_long_string_in_arguments_is_replaced_where_it_is():
    root = [turn(use("a", text="long", n=1))]
    edits = LENS.rewrite_argument(root, LENS.read(root).entries[0], 0, ("text",), "M")
    assert apply_edits(root, edits) == [turn(use("a", text="M", n=1))]


# Other blocks


def test_media_have_a_kind_a_digest_and_patches_where_known():
    document = {"format": "pdf", "name": "d"}
    reading = read(
        user(
            image(bytes=GIF),
            image(bytes=GIF_BYTES),
            image(s3Location={"uri": "s3://a/b.gif"}),
            {"document": {**document, "source": {"bytes": b"%PDF"}}},
            {"document": {**document, "source": {"s3Location": {"uri": "s3://a/b.pdf"}}}},
            {"document": {**document, "source": {"text": "words"}}},
            {"document": {**document, "source": {"content": [said("a"), said("b")]}}},
            {"video": {"format": "mp4", "source": {"bytes": b"\x00" * 9999}}},
            {"audio": {"format": "wav", "source": {"s3Location": {"uri": "s3://a/c"}}}},
            {"guardContent": {"text": {"text": "guarded", "qualifiers": ["query"]}}},
            {"guardContent": {"image": {"format": "png", "source": {"bytes": GIF_BYTES}}}},
        )
    )
    seen = Part(PartKind.IMAGE, size=23 * 13, digest=digest_of(GIF))
    assert reading.entries[0].parts == (
        *(seen, seen, Part(PartKind.IMAGE, digest=digest_of("s3://a/b.gif"))),
        Part(PartKind.DOCUMENT, digest=digest_of("JVBERg==")),
        Part(PartKind.DOCUMENT, digest=digest_of("s3://a/b.pdf")),
        *(text("words"), text("a\nb")),
        Part(PartKind.DOCUMENT, digest=digest_of("AAAA" * 3333)),
        Part(PartKind.DOCUMENT, digest=digest_of("s3://a/c")),
        *(text("guarded"), seen),
    )
    assert reading.findings == []


def test_server_tools_and_citations_belong_to_the_turn():
    call = {"toolUseId": "s", "name": "web", "input": {}, "type": "server_tool_use"}
    found = {"toolUseId": "s", "content": [said("found")], "type": "web_search_result"}
    source = {"source": "s", "title": "t", "content": [said("x")]}
    cited = {"content": [said("so"), said("it is")], "citations": [{"title": "t"}]}
    reading = read(
        turn({"toolUse": call}, {"toolResult": found}, {"citationsContent": cited}),
        user({"searchResult": source}),
    )
    assert [(e.kind, e.parts, e.calls) for e in reading.entries] == [
        (Kind.ASSISTANT, (other(call), other(found), text("so\nit is")), ()),
        (Kind.USER, (other(source),), ()),
    ]
    assert reading.findings == []


def test_only_signed_reasoning_has_an_address():
    blocks = [
        thought("plain"),
        thought("signed", "c2ln"),
        thought("", "c2lnbg=="),
        {"reasoningContent": {"redactedContent": b"\x00\xff\xfe"}},
        {"reasoningContent": {"redactedContent": "AP/+"}},
    ]
    at = ("messages", 0, "content")
    assert read(turn(*blocks)).entries[0].parts == (
        Part(PartKind.REASONING, "plain"),
        Part(PartKind.REASONING, "signed", at=(*at, 1)),
        sealed("c2lnbg==")._replace(at=(*at, 2)),
        sealed("AP/+")._replace(at=(*at, 3)),
        sealed("AP/+")._replace(at=(*at, 4)),
    )


REMOVED = {
    "beside a text": ([thought("x", "s"), said("so")], [said("so")]),
    "beside unsigned reasoning": ([thought("x", "s"), thought("y")], [thought("y")]),
    "two alone": ([thought("x", "s"), thought("", "t")], [said("gone")]),
    "alone with a cache point": ([thought("x", "s"), CACHE_POINT], [said("gone"), CACHE_POINT]),
}


@pytest.mark.parametrize(("content", "left"), REMOVED.values(), ids=REMOVED)
def test_signed_reasoning_can_be_removed_without_leaving_a_message_empty(content, left):
    root = {"messages": [turn(*content), turn(thought("z", "s"), use("a"))]}
    (entry_read,) = LENS.read(root).entries
    changed = apply_edits(root, LENS.remove_reasoning(root, entry_read, "gone"))
    assert changed == {"messages": [turn(*left), turn(use("a"))]}


BINDING = {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize(
    ("thinking", "bound"),
    [
        ({"type": "adaptive"}, {"type": "adaptive", "block_binding": BINDING}),
        ({"type": "enabled", "x": 1}, {"type": "enabled", "x": 1, "block_binding": BINDING}),
        (
            {"type": "adaptive", "block_binding": {"x": 1, "prefix_mismatch_behavior": "error"}},
            {"type": "adaptive", "block_binding": {"x": 1, **BINDING}},
        ),
    ],
)
def test_the_binding_goes_where_converse_passes_the_providers_fields_on(thinking, bound):
    fields = {"thinking": thinking, "top_k": 5}
    root = {"messages": [user(said("x"))], "additionalModelRequestFields": fields}
    changed = apply_edits(root, LENS.bind_reasoning(root, BINDING))
    assert changed == {
        "messages": [user(said("x"))],
        "additionalModelRequestFields": {"thinking": bound, "top_k": 5},
    }
    assert LENS.bind_reasoning(changed, BINDING) == []


@pytest.mark.parametrize(
    "fields",
    [
        *({}, {"additionalModelRequestFields": None}, {"additionalModelRequestFields": {}}),
        {"additionalModelRequestFields": {"thinking": {"type": "disabled"}}},
        {"additionalModelRequestFields": {"thinking": {"type": "other"}}},
        {"additionalModelRequestFields": {"thinking": 5}},
    ],
)
def test_a_request_without_thinking_has_no_place_for_the_binding(fields):
    assert LENS.bind_reasoning({"messages": [], **fields}, BINDING) is None
    assert LENS.bind_reasoning([], BINDING) is None


ODD = {
    "a block of an unknown kind": (user({"smell": 1}), ["unknown_block"], ".content[0]"),
    "a block that is a text": (user("x"), ["unknown_block"], ".content[0]"),
    "a content that is a number": (user() | {"content": 1.5}, ["unknown_block"], ".content"),
    "a turn that is a number": (turn() | {"content": 1.5}, ["unknown_block"], ".content"),
    "an empty text": (user(said("")), ["empty_text"], ".content[0]"),
    "a call of the user": (user(use("a")), ["unknown_block"], ".content[0]"),
    "a call without an id": (
        turn({"toolUse": {"name": "f", "input": {}}}),
        ["missing_id", "unanswered_call"],
        ".content[0]",
    ),
    "an orphan": (user(result("gone", said("x"))), ["orphan_result"], ".content[0]"),
    "a result that is no object": (user({"toolResult": 5}), ["unknown_block"], ".content[0]"),
    "an unanswered call": (turn(use("a")), ["unanswered_call"], ".content[0]"),
}


@pytest.mark.parametrize(("message", "codes", "path"), ODD.values(), ids=ODD)
def test_what_is_odd_is_carried_through_and_said(message, codes, path):
    reading = read(message)
    assert [(f.code, f.path) for f in reading.findings] == [
        (code, f"$.messages[0]{path}") for code in codes
    ]
    assert len(reading.entries) == 1


@pytest.mark.parametrize("content", ["words", None])
def test_a_message_whose_content_is_no_list_is_read_all_the_same(content):
    reading = read(user() | {"content": content}, turn() | {"content": content})
    parts = (text(content),) if content else ()
    assert [(e.kind, e.parts) for e in reading.entries] == [
        (Kind.USER, parts),
        (Kind.ASSISTANT, parts),
    ]


@pytest.mark.parametrize(
    ("message", "path"),
    [("x", "$.messages[0]"), ({"role": "tool"}, "$.messages[0].role"), ({}, "$.messages[0].role")],
)
def test_what_is_no_message_is_refused_with_its_place(message, path):
    with pytest.raises(InputError) as caught:
        read(message)
    assert (caught.value.code, caught.value.path) == ("input.shape", path)


IDS = st.sampled_from(["a", "b", ""])
MESSAGES = st.one_of(
    st.builds(lambda blocks: turn(*blocks), st.lists(IDS.map(use), max_size=3)),
    st.builds(
        lambda blocks: user(*blocks),
        st.lists(IDS.map(result) | st.just(CACHE_POINT) | st.just(said("x")), max_size=4),
    ),
    st.just({"role": "system", "content": [said("x")]}),
)


@given(st.data())
def test_every_prefix_and_every_turn_back_reads_like_a_fresh_input(data):
    messages = data.draw(st.lists(MESSAGES, max_size=8))
    other_messages = data.draw(st.lists(MESSAGES, max_size=4))
    known = None
    for _ in range(data.draw(st.integers(1, 5))):
        tail = other_messages if data.draw(st.booleans()) else []
        root = messages[: data.draw(st.integers(0, len(messages)))] + tail
        known = LENS.read(root, known)
        fresh = LENS.read(copy.deepcopy(root))
        assert (facts(known), known.findings) == (facts(fresh), fresh.findings)
