"""The Gemini lens: what a request becomes, in either spelling, and a rewritten one's shape."""

import msgspec
import pytest

from compactor.core.errors import InputError
from compactor.core.model import Call, Entry, Kind, Overhead, Part, PartKind
from compactor.formats.lens import SignedReasoning
from compactor.formats.media import digest_of
from compactor.formats.providers.gemini import Gemini
from compactor.formats.raw.native import apply_edits, compact_json, read_document

LENS = Gemini()
GIF = "R0lGODlhgAJoAQAA"  # 640x360


def read(*contents, **body):
    return LENS.read({"contents": list(contents), **body})


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


def user(*parts, **more):
    return {"role": "user", "parts": list(parts), **more}


def model(*parts, **more):
    return {"role": "model", "parts": list(parts), **more}


def said(words, **more):
    return {"text": words, **more}


def use(name="f", call_id=None, **args):
    call = {"name": name, "args": args}
    return {"functionCall": call if call_id is None else {"id": call_id, **call}}


def answer(response, name="f", call_id=None, **more):
    native = {"name": name, "response": response, **more}
    return {"functionResponse": native if call_id is None else {"id": call_id, **native}}


def snake(native):
    """The same as the SDKs spell it."""
    if isinstance(native, list):
        return [snake(item) for item in native]
    if not isinstance(native, dict):
        return native
    spelled = {}
    for key, value in native.items():
        is_the_users = key in ("args", "response")
        name = "".join("_" + c.lower() if c.isupper() else c for c in key)
        spelled[name] = value if is_the_users else snake(value)
    return spelled


CONVERSATION = [
    user(said("go"), {"inlineData": {"mimeType": "image/gif", "data": GIF}}),
    model(
        said("hm", thought=True),
        said("look"),
        {**use("grep", "a", q=1.0), "thoughtSignature": "c2ln"},
        use("ls", "b"),
    ),
    user(
        answer({"output": "alpha"}, "grep", "a"),
        answer({"error": "beta"}, "ls", "b"),
        said("and on"),
    ),
    model(said("done")),
]


def test_a_conversation_becomes_entries_in_document_order():
    reading = read(*CONVERSATION)
    turn, results = ("contents", 1, "parts"), ("contents", 2, "parts")
    a = Call("a", "grep", '{"q":1.0}', (*turn, 2, "functionCall", "args"))
    b = Call("b", "ls", "{}", (*turn, 3, "functionCall", "args"))
    picture = Part(PartKind.IMAGE, size=23 * 13, digest=digest_of(GIF))
    assert facts(reading) == [
        entry(Kind.USER, ("contents", 0), parts=(text("go"), picture)),
        entry(
            Kind.ASSISTANT,
            ("contents", 1),
            parts=(Part(PartKind.REASONING, "hm"), text("look"), sealed("c2ln")),
            calls=(a, b),
        ),
        entry(Kind.TOOL, (*results, 0), call_id="a", call=a, body="alpha"),
        entry(Kind.TOOL, (*results, 1), call_id="b", call=b, body="beta", error=True),
        entry(Kind.USER, ("contents", 2), parts=(text("and on"),)),
        entry(Kind.ASSISTANT, ("contents", 3), parts=(text("done"),)),
    ]
    assert reading.findings == []
    assert reading.overhead == Overhead((), known=False)


def without_addresses(reading):
    return [
        (e.kind, e.parts, [c[:3] for c in e.calls], e.call_id, e.name, e.body, e.error)
        for e in reading.entries
    ]


def test_both_spellings_say_the_same():
    camel, snaked = LENS.read(CONVERSATION), LENS.read(snake(CONVERSATION))
    assert snake(CONVERSATION) != CONVERSATION
    assert without_addresses(camel) == without_addresses(snaked)
    assert snaked.entries[1].calls[0].at == (1, "parts", 2, "function_call", "args")


def test_what_an_sdk_dumps_with_its_nulls_says_the_same():
    nulls = {"text": None, "function_call": None, "function_response": None, "thought": None}
    dumped = [
        {**content, "parts": [{**nulls, "inline_data": None, **part} for part in content["parts"]]}
        for content in snake(CONVERSATION)
    ]
    reading = LENS.read(dumped)
    assert without_addresses(reading) == without_addresses(LENS.read(CONVERSATION))
    assert reading.findings == []


@pytest.mark.parametrize("role", [{"role": "user"}, {"role": "function"}, {"role": None}, {}])
def test_a_content_that_is_not_the_models_is_the_users(role):
    reading = read(model(use()), {**role, "parts": [answer({"output": "x"}), said("y")]})
    assert [e.kind for e in reading.entries] == [Kind.ASSISTANT, Kind.TOOL, Kind.USER]


def test_each_run_of_other_parts_around_responses_is_an_entry():
    picture = {"inlineData": {"mimeType": "image/gif", "data": GIF}}
    reading = read(
        model(use(), use()),
        user(said("a"), said("b"), answer({"output": "1"}), picture, answer({"output": "2"})),
    )
    assert [(e.kind, len(e.parts), e.body) for e in reading.entries[1:]] == [
        (Kind.USER, 2, ""),
        (Kind.TOOL, 0, "1"),
        (Kind.USER, 1, ""),
        (Kind.TOOL, 0, "2"),
    ]


@pytest.mark.parametrize("parts", [{"parts": []}, {"parts": None}, {}])
def test_a_content_that_says_nothing_is_an_entry_of_its_own(parts):
    reading = read({"role": "user", **parts}, {"role": "model", **parts})
    assert [(e.kind, e.parts) for e in reading.entries] == [(Kind.USER, ()), (Kind.ASSISTANT, ())]
    assert reading.findings == []


def test_adjacent_model_contents_are_one_turn():
    reading = read(model(said("a")), model(use()), model(said("b"), use("g")))
    (only,) = reading.entries
    assert (only.parts, [c.name for c in only.calls]) == ((text("a"), text("b")), ["f", "g"])


# What the body of a response is, and what becomes of it

LONG = {"rows": [1, 2.50, "é"], "more": None}
BODIES = {
    "an output": ({"output": "old"}, "old", False, {"output": "M"}),
    "a result": ({"result": "old"}, "old", False, {"result": "M"}),
    "an error": ({"error": "old"}, "old", True, {"error": "M"}),
    "an object": (LONG, compact_json(LONG), False, {"output": "M"}),
    "another key": ({"content": "old"}, '{"content":"old"}', False, {"output": "M"}),
    "an output that is no text": ({"output": [1]}, '{"output":[1]}', False, {"output": "M"}),
    "an error that is no text": (
        {"error": {"code": 5}},
        '{"error":{"code":5}}',
        True,
        {"error": "M"},
    ),
    "an output and an error": (
        {"output": "a", "error": "b"},
        '{"output":"a","error":"b"}',
        True,
        {"error": "M"},
    ),
    "an output and no error": (
        {"output": "a", "error": None},
        '{"output":"a","error":null}',
        False,
        {"output": "M"},
    ),
}


@pytest.mark.parametrize(("response", "body", "error", "after"), BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("spelled", [list, snake])
def test_a_body_is_the_text_of_the_one_key_or_the_whole_object(
    response, body, error, after, spelled
):
    more = {"willContinue": False, "scheduling": "SILENT", "x": [{}]}
    root = spelled([model(use()), user(answer(response, **more), said("on"))])
    result = LENS.read(root).entries[1]
    assert (result.body, result.parts, result.error, result.required) == (body, (), error, False)
    changed = apply_edits(root, LENS.rewrite_body(root, result, "M"))
    assert changed == spelled([model(use()), user(answer(after, **more), said("on"))])
    again = LENS.read(changed).entries[1]
    assert (again.body, again.error) == ("M", error)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        *((None, False), ({}, False), ({"output": ""}, False), ({"result": None}, False)),
        *(({"error": ""}, True), ({"error": None}, False)),
    ],
)
def test_a_response_that_says_nothing_is_no_candidate(response, error):
    result = read(model(use()), user(answer(response))).entries[1]
    assert (result.empty, result.error) == (True, error)


def test_a_response_that_is_left_out_says_nothing():
    result = read(model(use()), user({"functionResponse": {"name": "f"}})).entries[1]
    assert result.empty


@pytest.mark.parametrize("response", ["text", [1], 5, True])
def test_a_response_that_is_no_object_must_not_change(response):
    reading = read(model(use()), user(answer(response)))
    assert (reading.entries[1].required, reading.entries[1].body) == (True, "")
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unknown_block", "$.contents[1].parts[0].functionResponse.response")
    ]


def test_a_signed_response_must_not_change():
    part = {**answer({"output": "x"}), "thoughtSignature": "c2ln"}
    assert read(model(use()), user(part)).entries[1].required


SHAPES = {
    "the one key": (
        '"response" : { "output" : "old\\u00e9"  } ,"x":1.0',
        '"response" : { "output" : "M"  } ,"x":1.0',
    ),
    "another object": ('"response":{ "a": 1.50 }', '"response":{"output":"M"}'),
    "an error": ('"response":{"error" : {"code": 5}}', '"response":{"error":"M"}'),
    "media": (
        '"response":{"output":"old"}, "parts": [ {"inlineData":{"data":"R0lGOD"}} ],"y":[]',
        '"response":{"output":"M"},"y":[]',
    ),
    "media alone": (
        '"y":[] , "parts":[{"fileData":{"fileUri":"gs://a"}}]',
        '"y":[],"response":{"output":"M"}',
    ),
    "an output twice": (
        '"response":{"output":"a","output":"b"}',
        '"response":{"output":"a","output":"M"}',
    ),
}


@pytest.mark.parametrize(("before", "after"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("key", ["functionResponse", "function_response"])
def test_a_rewritten_body_keeps_every_other_byte(before, after, key):
    source = (
        '{ "generationConfig":{"temperature":0.10},\n "contents":[ {"parts":[{"thoughtSignature":'
        '"c2ln" , "functionCall":{"args":{ "z": 1},"name":"f"}}],"role":"model"},\n'
        ' {"role":"user", "parts":[{ "%s" : {"name" : "f", %s} }]} ] }\n'
    )
    document = read_document((source % (key, before)).encode(), "t")
    target = LENS.read(document.root).entries[1]
    edits = LENS.rewrite_body(document.root, target, "M")
    assert document.edited([]).decode() == source % (key, before)
    assert document.edited(edits).decode() == source % (key, after)


def test_media_of_a_response_are_counted_and_gone_when_it_is_rewritten():
    media = [
        {"inlineData": {"mimeType": "image/gif", "data": GIF, "displayName": "a.gif"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a/b.pdf"}},
    ]
    response = {"output": {"$ref": "a.gif"}}
    root = [model(use()), user(answer(response, parts=media))]
    result = LENS.read(root).entries[1]
    assert result.parts == (
        Part(PartKind.IMAGE, size=23 * 13, digest=digest_of(GIF)),
        Part(PartKind.DOCUMENT, digest=digest_of("gs://a/b.pdf")),
    )
    changed = apply_edits(root, LENS.rewrite_body(root, result, "M"))
    assert changed == [model(use()), user(answer({"output": "M"}))]


def test_a_long_string_in_arguments_is_replaced_where_it_is():
    for spelled in (list, snake):
        root = spelled([model(use("write", text="long", n=1))])
        edits = LENS.rewrite_argument(root, LENS.read(root).entries[0], 0, ("text",), "M")
        assert apply_edits(root, edits) == spelled([model(use("write", text="M", n=1))])


# What else a part may be


def test_media_of_a_user_have_a_kind_a_digest_and_patches_where_known():
    url_safe = "-_" * 500
    reading = read(
        user(
            {"inlineData": {"mimeType": "IMAGE/GIF", "data": GIF}},
            {"inlineData": {"mimeType": "image/png", "data": url_safe}},
            {"fileData": {"mimeType": "image/png", "fileUri": "gs://a"}},
            {"inlineData": {"mimeType": "audio/wav", "data": "UklG" * 9999}},
            {"fileData": {"mimeType": "video/mp4", "fileUri": "https://youtu.be/x"}},
            {"fileData": {"fileUri": "gs://b"}, "videoMetadata": {"fps": 1}},
        )
    )
    assert reading.entries[0].parts == (
        Part(PartKind.IMAGE, size=23 * 13, digest=digest_of(GIF)),
        Part(PartKind.IMAGE, digest=digest_of("+/" * 500)),
        Part(PartKind.IMAGE, digest=digest_of("gs://a")),
        Part(PartKind.DOCUMENT, digest=digest_of("UklG" * 9999)),
        Part(PartKind.DOCUMENT, digest=digest_of("https://youtu.be/x")),
        Part(PartKind.DOCUMENT, digest=digest_of("gs://b")),
    )
    assert reading.findings == []


def test_server_tools_belong_to_the_turn():
    natives = {
        "executableCode": {"language": "PYTHON", "code": "1"},
        "codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"},
        "toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {}},
        "toolResponse": {"id": "t", "response": {"x": 1}},
    }
    contents = model(*({key: value} for key, value in natives.items()), said("so"))
    (turn,) = read(contents).entries
    assert turn.parts == (*map(other, natives.values()), text("so"))
    assert turn.calls == ()


def test_signatures_are_counted_and_not_bound_to_the_prefix():
    reading = read(
        model(
            said("", thoughtSignature="c2ln"),
            {"thoughtSignature": "c2lnbg=="},
            {"thought_signature": b"\x00\xff\xfe", "text": None, "function_call": None},
            said("x", thought=False, thoughtSignature=""),
        )
    )
    assert reading.entries[0].parts == (
        *(sealed("c2ln"), sealed("c2lnbg=="), sealed("AP/+")),
        text("x"),
    )
    assert reading.findings == []
    assert not any(part.signed for part in reading.entries[0].parts)
    assert not isinstance(LENS, SignedReasoning)


ODD = {
    "a part of an unknown kind": (user({"smell": 1}), ["unknown_block"], ".parts[0]"),
    "a part that is empty": (user({}), ["unknown_block"], ".parts[0]"),
    "a part that is a text": (user("x"), ["unknown_block"], ".parts[0]"),
    "parts that are no list": ({"role": "user", "parts": "x"}, ["unknown_block"], ".parts"),
    "a model's parts that are none": ({"role": "model", "parts": 5}, ["unknown_block"], ".parts"),
    "a call of the user": (user(use()), ["unknown_block"], ".parts[0]"),
    "a response of the model": (model(answer({})), ["unknown_block"], ".parts[0]"),
    "a call that is no object": (model({"functionCall": 5}), ["unknown_block"], ".parts[0]"),
    "a response that is none": (user({"functionResponse": "x"}), ["unknown_block"], ".parts[0]"),
    "a signed part of an unknown kind": (
        model({"smell": 1, "thoughtSignature": "c2ln"}),
        ["unknown_block"],
        ".parts[0]",
    ),
}


@pytest.mark.parametrize(("content", "codes", "path"), ODD.values(), ids=ODD)
def test_what_is_odd_is_carried_through_and_said(content, codes, path):
    reading = read(content)
    assert [(f.code, f.path) for f in reading.findings] == [
        (code, f"$.contents[0]{path}") for code in codes
    ]
    assert [e.parts[0].kind for e in reading.entries] == [PartKind.OTHER]


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("x", "$.contents[0]"),
        ({"role": "assistant", "parts": []}, "$.contents[0].role"),
        ({"role": 5, "parts": []}, "$.contents[0].role"),
        ({}, "$.contents[0].role"),
    ],
)
def test_what_is_no_content_is_refused_with_its_place(content, path):
    with pytest.raises(InputError) as caught:
        read(content)
    assert (caught.value.code, caught.value.path) == ("input.shape", path)


@pytest.mark.parametrize("root", [{}, {"contents": "hi"}, {"contents": user(said("x"))}, 5])
def test_a_body_without_a_list_of_contents_is_refused(root):
    with pytest.raises(InputError) as caught:
        LENS.read(root)
    assert caught.value.code == "input.shape"


@pytest.mark.parametrize("key", ["cachedContent", "cached_content"])
@pytest.mark.parametrize("inside", [(), ("config",)])
def test_a_history_that_the_provider_keeps_is_refused(key, inside):
    body = {"contents": [user(said("x"))]}
    holder = body.setdefault("config", {}) if inside else body
    holder[key] = "cachedContents/1"
    with pytest.raises(InputError) as caught:
        LENS.read(body)
    path = "$" + "".join(f".{step}" for step in (*inside, key))
    assert (caught.value.code, caught.value.path) == ("input.provider_history", path)


# Overhead

SCHEMA = {"type": "object", "properties": {}}
DECLARED = {
    "functionDeclarations": [
        {"name": "grep", "description": "find", "parameters": SCHEMA, "response": SCHEMA},
        {"name": "ls", "parametersJsonSchema": SCHEMA},
        {"name": "now", "description": "the time"},
    ],
}
TEXTS = ("grep", "find", compact_json(SCHEMA), "ls", compact_json(SCHEMA), "now", "the time")


@pytest.mark.parametrize("spelled", [list, snake])
@pytest.mark.parametrize("inside", [False, True])
def test_system_texts_and_declared_functions_are_overhead(spelled, inside):
    carried = {
        "systemInstruction": {"role": "user", "parts": [said("be brief"), said("and kind")]},
        "tools": [DECLARED, {"googleSearch": {}}],
    }
    body = {"config": carried} if inside else carried
    reading = LENS.read(spelled([{**body, "contents": [user(said("x"))]}])[0])
    hosted = compact_json(spelled([{"googleSearch": {}}])[0])
    assert reading.overhead == Overhead(("be brief", "and kind", *TEXTS, hosted), known=True)


@pytest.mark.parametrize(
    ("system", "texts"),
    [
        ("be brief", ("be brief",)),
        (["be brief", said("and kind")], ("be brief", "and kind")),
        (said("be brief"), ("be brief",)),
        ({"parts": []}, ()),
    ],
)
def test_a_system_instruction_may_be_what_the_sdk_takes(system, texts):
    reading = read(user(said("x")), config={"system_instruction": system})
    assert reading.overhead == Overhead(texts, known=True)


def test_a_tool_may_be_functions_and_a_hosted_tool_at_once():
    tool = {**DECLARED, "codeExecution": {}, "googleSearch": None}
    reading = read(user(said("x")), tools=[tool])
    assert reading.overhead.texts == (*TEXTS, '{"codeExecution":{}}')


def test_the_model_is_read_where_the_request_names_it():
    assert read(user(said("x")), model="gemini-3.8-flash").model == "gemini-3.8-flash"
