"""Converse requests as boto takes them: compacted whole, valid before and after."""

import copy

import botocore.session
import pytest
from botocore.validate import ParamValidator

import compactor
from compactor import Policy
from compactor.testing import Conversation, ToolCall
from tests import pairing

GIF_BYTES = b"GIF89a\x80\x02\x68\x01\x00\x00"
CACHE_POINT = {"cachePoint": {"type": "default"}}
CONVERSE = (
    botocore.session.Session()
    .get_service_model("bedrock-runtime")
    .operation_model("Converse")
    .input_shape
)
POLICY = Policy(window=2000, counter="chars4", keep_recent=2)


def talk(**more):
    return (
        Conversation(system="be brief", tools=[{"name": "f", "description": "d", "parameters": {}}])
        .user("go")
        .parallel([ToolCall("f", {"n": 1}, "a" * 4000), ToolCall("f", {"n": 2}, "b" * 4000)])
        .call("g", {}, result="c" * 4000, error=True, text="look", reasoning="hm")
        .call("g", {"x": None}, result="", images=2)
        .call("g", {}, result="d" * 400, **more)
        .assistant("done")
        .user("thanks")
    )


def result(call_id, text):
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": text}]}}


def faults(request):
    """What boto says of a request before it is sent."""
    report = ParamValidator().validate({"modelId": "m", **request}, CONVERSE)
    return report.generate_report()


def test_a_compacted_request_is_what_boto_takes_and_as_valid_as_before():
    body = talk().bedrock()
    body["messages"][2]["content"].append(CACHE_POINT)
    body["messages"][2]["content"][0]["toolResult"]["content"].append(
        {"image": {"format": "gif", "source": {"bytes": GIF_BYTES}}}
    )
    before = copy.deepcopy(body)
    assert (faults(body), pairing.problems("bedrock", body["messages"])) == ("", [])
    outcome = compactor.compact(body, POLICY)
    assert [seq for record in outcome.report.passes for seq in record["elided"]] == [2, 3, 7]
    assert body == before
    messages = outcome.request["messages"]
    assert (faults(outcome.request), pairing.problems("bedrock", messages)) == ("", [])
    assert messages[2]["content"] == [
        result("call_1", "[elided 4000 chars and 1 image of f output]"),
        result("call_2", "[elided 4000 chars of f output]"),
        CACHE_POINT,
    ]
    assert messages[4]["content"] == body["messages"][4]["content"]
    assert [new is old for old, new in zip(body["messages"], messages, strict=True)] == [
        index not in (2, 6) for index in range(len(messages))
    ]


def test_the_checks_refuse_what_converse_refuses():
    body = talk().bedrock()
    body["messages"][2]["content"][0]["toolResult"]["content"] = "text"
    assert "valid types: <class 'list'>" in faults(body)
    body = talk().bedrock()
    del body["messages"][2]["content"][0]
    assert pairing.problems("bedrock", body["messages"]) == [(1, "call call_1: 0 results")]


def test_a_cache_point_that_moves_changes_nothing_else():
    plain, marked = None, None
    whole = talk().bedrock()["messages"]
    for end in (3, 5, 7, 9, 12):
        request = whole[:end]
        with_point = [
            *request[:-1],
            {**request[-1], "content": [*request[-1]["content"], CACHE_POINT]},
        ]
        one = compactor.compact(request, POLICY, plain, format="bedrock")
        two = compactor.compact(with_point, POLICY, marked, format="bedrock")
        plain, marked = one.journal, two.journal
        assert plain == marked
        last = two.request[-1]["content"]
        assert last[-1] == CACHE_POINT
        assert [*two.request[:-1], {**two.request[-1], "content": last[:-1]}] == one.request


@pytest.mark.parametrize("reasoning", ["provider", "drop", "keep"])
def test_claudes_signed_reasoning_is_bound_dropped_or_kept(reasoning):
    body = talk(reasoning="later").bedrock() | {"modelId": "us.anthropic.claude-opus-5-5-v1:0"}
    body["additionalModelRequestFields"] = {"thinking": {"type": "adaptive"}}
    policy = Policy(window=2000, counter="chars4", keep_recent=2, reasoning=reasoning)
    outcome = compactor.compact(body, policy)
    assert outcome.report.passes
    signed = [
        block
        for message in outcome.request["messages"]
        for block in message["content"]
        if "reasoningContent" in block
    ]
    assert len(signed) == (0 if reasoning == "drop" else 2)
    thinking = outcome.request["additionalModelRequestFields"]["thinking"]
    assert ("block_binding" in thinking) == (reasoning == "provider")
    assert (faults(outcome.request), pairing.problems("bedrock", outcome.request["messages"])) == (
        *("", []),
    )
