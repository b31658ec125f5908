"""Gemini requests as its SDK holds them and as they were recorded: read, rewritten, compacted."""

import json
from pathlib import Path

import pytest
from google.genai import types
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

import compactor
from compactor import Policy
from compactor.core.model import Kind, PartKind
from compactor.formats import detect
from compactor.formats.providers.gemini import Gemini
from compactor.formats.raw.native import apply_edits, read_document
from compactor.testing import Conversation, ToolCall
from tests import pairing

LENS = Gemini()
CONTENTS = TypeAdapter(list[types.Content])
SHARED = Path(__file__).resolve().parents[1].parent / "shared"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x01\x68"  # 640x360
POLICY = Policy(window=2000, counter="chars4", keep_recent=2)


def talk():
    return (
        Conversation(system="be brief", tools=[{"name": "f", "description": "d", "parameters": {}}])
        .user("go")
        .parallel([ToolCall("f", {"n": 1}, "a" * 4000), ToolCall("f", {"n": 2}, "b" * 4000)])
        .call("g", {}, result="c" * 4000, error=True, text="look", reasoning="hm")
        .call("g", {"x": None}, result="", images=2)
        .call("g", {}, result="d" * 400)
        .assistant("done")
        .user("thanks")
    )


def without_ids(body):
    """The same as clients before Gemini 3 send it."""
    for content in body["contents"]:
        for part in content["parts"]:
            for native in (part.get("functionCall"), part.get("functionResponse")):
                (native or {}).pop("id", None)
    return body


def objects(body):
    """The contents as the SDK's own objects."""
    return [types.Content.model_validate(content) for content in body["contents"]]


def dumped(contents, **more):
    return [content.model_dump(exclude_none=True, **more) for content in contents]


def elided(outcome):
    return [seq for record in outcome.report.passes for seq in record["elided"]]


@pytest.mark.parametrize("written", [Conversation.gemini, lambda talk: without_ids(talk.gemini())])
def test_a_compacted_request_is_what_the_sdk_takes_and_as_valid_as_before(written):
    body = written(talk())
    outcome = compactor.compact(body, POLICY)
    assert elided(outcome) == [2, 3, 7]
    assert outcome.report.format == "gemini"
    contents = outcome.request["contents"]
    assert pairing.problems("gemini", body["contents"]) == []
    assert pairing.problems("gemini", contents) == []
    assert dumped(CONTENTS.validate_python(contents), by_alias=True, mode="json") == contents
    first, second = (part["functionResponse"] for part in contents[2]["parts"])
    assert first["response"] == second["response"]
    assert first["response"] == {"output": "[elided 4000 chars of f output]"}


def test_the_checks_refuse_a_response_that_is_no_object_and_one_that_is_missing():
    contents = talk().gemini()["contents"]
    contents[2]["parts"][0]["functionResponse"]["response"] = "[elided]"
    with pytest.raises(ValidationError):
        CONTENTS.validate_python(contents)
    assert pairing.problems("gemini", contents) == [(2, "a response that is no object")]
    del contents[2]["parts"][0]
    assert pairing.problems("gemini", contents) == [(2, "2 calls, 1 responses")]


def test_ids_or_none_and_dicts_or_objects_make_no_difference():
    body = talk().gemini()
    bare = without_ids(talk().gemini())
    shown = [
        compactor.compact(contents, POLICY, format="gemini").request
        for contents in (body["contents"], bare["contents"], objects(body), objects(bare))
    ]
    texts = [[entry.body for entry in LENS.read(each).entries] for each in shown]
    assert all(text == texts[0] for text in texts)
    assert sum("[elided" in text for text in texts[0]) == 3


def test_objects_come_back_as_objects_and_untouched_ones_are_the_same():
    before = objects(talk().gemini())
    dumps = dumped(before)
    outcome = compactor.compact(before, POLICY)
    after = outcome.request
    assert elided(outcome) == [2, 3, 7]
    assert [type(content) for content in after] == [types.Content] * len(before)
    assert [new is old for old, new in zip(before, after, strict=True)] == [
        index not in (2, 6) for index in range(len(before))
    ]
    part = after[2].parts[0]
    assert (type(part), type(part.function_response)) == (types.Part, types.FunctionResponse)
    assert part.function_response.response == {"output": "[elided 4000 chars of f output]"}
    assert dumped(before) == dumps
    again = compactor.compact(before, POLICY, outcome.journal)
    assert dumped(again.request) == dumped(after)


def test_an_object_with_media_and_a_signature_is_read_and_rewritten():
    media = [types.FunctionResponsePart.from_bytes(data=PNG, mime_type="image/png")]
    response = types.FunctionResponse(name="f", response={"rows": [1]}, parts=media)
    call = types.Part(function_call=types.FunctionCall(name="f"), thought_signature=b"\x00\xff")
    contents = [
        types.ModelContent(parts=[call]),
        types.UserContent(parts=[types.Part(function_response=response)]),
    ]
    turn, result = LENS.read(contents).entries
    assert [(part.kind, part.size) for part in turn.parts] == [(PartKind.SEALED, 4)]
    assert [(part.kind, part.size) for part in result.parts] == [(PartKind.IMAGE, 23 * 13)]
    assert result.body == '{"rows":[1]}'
    changed = apply_edits(contents, LENS.rewrite_body(contents, result, "M"))
    assert changed[0] is contents[0]
    assert type(changed[1]) is types.UserContent
    assert changed[1].parts[0].function_response == types.FunctionResponse(
        name="f", response={"output": "M"}
    )
    assert contents[1].parts[0].function_response.parts == media


class Request(BaseModel):
    """What a framework hands to its hook: the SDK's contents and config in an object of its own."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    model: str | None = None
    contents: list[types.Content] = []
    config: types.GenerateContentConfig = types.GenerateContentConfig()
    cache_config: object = None


def test_a_frameworks_request_object_comes_back_as_one():
    tools = [types.Tool.model_validate(tool) for tool in talk().gemini()["tools"]]
    config = types.GenerateContentConfig(system_instruction="be brief", tools=tools)
    request = Request(model="gemini-3.8-flash", contents=objects(talk().gemini()), config=config)
    reading = LENS.read(request)
    assert reading.overhead == LENS.read(talk().gemini()).overhead
    assert reading.model == "gemini-3.8-flash"
    outcome = compactor.compact(request, POLICY)
    assert type(outcome.request) is Request
    assert outcome.request.config is config
    assert elided(outcome) == [2, 3, 7]
    cached = Request(config=types.GenerateContentConfig(cached_content="cachedContents/1"))
    with pytest.raises(compactor.CompactorError) as caught:
        compactor.compact(cached, POLICY)
    assert (caught.value.code, caught.value.path) == (
        "input.provider_history",
        "$.config.cachedContent",
    )


def test_what_an_sdk_object_becomes_as_json_says_the_same():
    media = types.Part.from_bytes(data=PNG + b"\xfb\xff" * 40, mime_type="image/png")
    contents = [types.UserContent(parts=[types.Part(text="see"), media])]
    as_json = [content.model_dump(mode="json", by_alias=True) for content in contents]
    assert "_" in as_json[0]["parts"][1]["inlineData"]["data"]
    readings = [LENS.read(each).entries[0].parts for each in (contents, as_json)]
    assert readings[0] == readings[1]


def test_settings_for_signed_reasoning_concern_no_reasoning_of_gemini():
    body = talk().gemini() | {"model": "gemini-3.8-flash"}
    plain = compactor.compact(body, Policy(window=2000, counter="chars4", keep_recent=2))
    for reasoning in ("keep", "drop", "provider"):
        policy = Policy(window=2000, counter="chars4", keep_recent=2, reasoning=reasoning)
        outcome = compactor.compact(body, policy)
        assert (outcome.request, outcome.headers) == (plain.request, {})


if SHARED.is_dir():

    def recorded():
        for path in sorted((SHARED / "transcripts" / "gemini-http").glob("*.jsonl")):
            for number, line in enumerate(path.read_text().splitlines()):
                request = json.loads(line).get("request")
                if request:
                    yield pytest.param(request, id=f"{path.stem}:{number}")

    @pytest.mark.parametrize("request_body", list(recorded()))
    def test_a_recorded_request_is_read_written_back_and_rewritten(request_body):
        data = json.dumps(request_body, indent=1).encode()
        document = read_document(data, "t")
        assert document.edited([]) == data
        assert detect(document.root).name == "gemini"
        reading = LENS.read(document.root)
        assert reading.findings == []
        assert reading.overhead.known
        results = [e for e in reading.entries if e.kind is Kind.TOOL]
        assert all(e.call is not None and not e.required for e in results)
        edits = [edit for e in results for edit in LENS.rewrite_body(document.root, e, "M")]
        again = json.loads(document.edited(edits))
        bodies = [e.body for e in LENS.read(again).entries if e.kind is Kind.TOOL]
        assert bodies == ["M"] * len(results)
        assert pairing.problems("gemini", again["contents"]) == []
        for contents in (document.root["contents"], again["contents"]):
            sent = dumped(CONTENTS.validate_python(contents), by_alias=True, mode="json")
            assert without_signatures(sent) == without_signatures(contents)

    def without_signatures(contents):
        """Bytes that the SDK spells in an alphabet of its own."""
        return [
            {**c, "parts": [{**p, "thoughtSignature": "thoughtSignature" in p} for p in c["parts"]]}
            for c in contents
        ]

    @pytest.mark.parametrize("request_body", list(recorded()))
    def test_a_recorded_request_is_compacted_validly(request_body):
        policy = Policy(
            window=200, overhead_tokens=0, counter="chars4", keep_recent=1, min_gain=0, min_freed=0
        )
        outcome = compactor.compact(request_body, policy, explain=True)
        before, after = request_body["contents"], outcome.request["contents"]
        assert pairing.problems("gemini", after) == []
        CONTENTS.validate_python(after)
        changed = {LENS.read(request_body).entries[seq].at[1] for seq in elided(outcome)}
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            assert (old is new) == (index not in changed)
