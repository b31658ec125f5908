"""The fakes refuse what the providers refuse: one broken request a rule."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.fakes.anthropic_api import BETA, Anthropic
from tests.fakes.gemini_api import Gemini
from tests.fakes.openai_api import OpenAI
from tests.fakes.script import Asked, Turn
from tests.fakes.server import RefusalError

CALL = Asked("bash", {"step": "a"}, "result")
SCRIPT = [
    Turn(("first",), "", (CALL, CALL)),
    Turn(("second", ""), "look", (CALL,)),
    Turn(("third",), "done"),
    Turn((), "bye"),
    Turn((), "bye"),
]
MARK = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}


def refused(fake: Any, path: str, body: Any, headers: dict[str, str] | None = None) -> str:
    """Why a fake refuses a request; "" when it does not."""
    try:
        fake.answer(path, body, headers or {})
    except RefusalError as why:
        return why.message
    return ""


# Anthropic


class Talk:
    """A conversation with the fake of Anthropic."""

    def __init__(self, rounds: int = 2) -> None:
        self.fake = Anthropic(SCRIPT)
        self.body: Any = {
            "model": "m",
            "system": "be brief",
            "tools": [{"name": "bash", "input_schema": {}}],
            "thinking": {"type": "adaptive"},
            "messages": [{"role": "user", "content": "go"}],
        }
        for _ in range(rounds):
            self.step()

    def step(self) -> Any:
        answer = self.fake.answer("/v1/messages", self.body, {})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "result"}
            for block in answer["content"]
            if block["type"] == "tool_use"
        ]
        said = {"role": "assistant", "content": answer["content"]}
        self.body["messages"] += [said, {"role": "user", "content": results or "more"}]
        return answer

    def refuses(self, headers: dict[str, str] | None = None) -> str:
        return refused(self.fake, "/v1/messages", self.body, headers)

    def content(self, index: int) -> Any:
        return self.body["messages"][index]["content"]


def _drop_result(talk: Talk) -> None:
    del talk.content(2)[0]


def _move_results(talk: Talk) -> None:
    talk.body["messages"].insert(3, {"role": "user", "content": [talk.content(2).pop()]})


def _orphan(talk: Talk) -> None:
    talk.content(2)[0]["tool_use_id"] = "toolu_gone"


def _twice(talk: Talk) -> None:
    talk.content(2).append(talk.content(2)[0])


def _text_first(talk: Talk) -> None:
    talk.content(2).insert(0, {"type": "text", "text": "hi"})


def _empty(talk: Talk) -> None:
    talk.content(2).append({"type": "text", "text": ""})


def _blank(talk: Talk) -> None:
    talk.content(2)[0]["content"] = [{"type": "text", "text": "  "}]


def _empty_turn(talk: Talk) -> None:
    talk.body["messages"] += [
        {"role": "assistant", "content": []},
        {"role": "user", "content": "x"},
    ]


def _no_user(talk: Talk) -> None:
    del talk.body["messages"][0]


def _edit_result(talk: Talk) -> None:
    talk.content(2)[0]["content"] = "shorter"


def _edit_input(talk: Talk) -> None:
    talk.content(1)[1]["input"] = {}


def _edit_system(talk: Talk) -> None:
    talk.body["system"] = "be long"


def _edit_tools(talk: Talk) -> None:
    talk.body["tools"] = []


def _edit_old_thinking(talk: Talk) -> None:
    talk.content(1)[0]["thinking"] = "other"


def _edit_last_thinking(talk: Talk) -> None:
    talk.content(3)[0]["thinking"] = "other"


def _edit_redacted(talk: Talk) -> None:
    talk.content(3)[1]["data"] += "0"


def _gap(talk: Talk) -> None:
    del talk.content(3)[0]


def _five(talk: Talk) -> None:
    for block in (*talk.content(2), *talk.content(4), talk.body["tools"][0], talk.content(1)[1]):
        block["cache_control"] = MARK


def _automatic_and_four(talk: Talk) -> None:
    talk.body["cache_control"] = MARK
    for block in (*talk.content(2), talk.body["tools"][0], talk.content(1)[1]):
        block["cache_control"] = MARK


def _other_ttl_at_the_end(talk: Talk) -> None:
    talk.body["cache_control"] = LONG
    talk.content(4)[-1]["cache_control"] = MARK


def _short_before_long(talk: Talk) -> None:
    talk.content(2)[0]["cache_control"] = MARK
    talk.content(4)[0]["cache_control"] = LONG


def _marked_thinking(talk: Talk) -> None:
    talk.content(1)[0]["cache_control"] = MARK


def _binding_without_beta(talk: Talk) -> None:
    talk.body["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}


def _no_thinking_in_turn(talk: Talk) -> None:
    talk.body["thinking"] = {"type": "enabled", "budget_tokens": 10}
    del talk.content(3)[:2]


BROKEN = {
    _drop_result: "`tool_use` ids were found without `tool_result`",
    _move_results: "`tool_use` ids were found without `tool_result`",
    _orphan: "`tool_use` ids were found without `tool_result`",
    _twice: "a single result",
    _text_first: "`tool_result` blocks must come first",
    _empty: "must be non-empty",
    _blank: "must contain non-whitespace text",
    _empty_turn: "must have non-empty content",
    _no_user: 'first message must use the "user" role',
    _edit_result: "messages.3.content.0: Invalid `signature`",
    _edit_input: "messages.3.content.0: Invalid `signature`",
    _edit_system: "messages.1.content.0: Invalid `signature`",
    _edit_tools: "messages.1.content.0: Invalid `signature`",
    _edit_old_thinking: "messages.1.content.0: Invalid `signature`",
    _edit_last_thinking: "in the latest assistant message cannot be modified",
    _edit_redacted: "in the latest assistant message cannot be modified",
    _gap: "messages.3.content.0: Invalid `signature`",
    _five: "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    _automatic_and_four: "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    _other_ttl_at_the_end: "another ttl",
    _short_before_long: "must not come after",
    _marked_thinking: "Extra inputs are not permitted",
    _binding_without_beta: "block_binding: Extra inputs are not permitted",
    _no_thinking_in_turn: "must start with a thinking block",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__.strip("_"))
def test_anthropic_refuses(broken: Any) -> None:
    talk = Talk()
    assert copy.deepcopy(talk).refuses() == ""
    broken(talk)
    assert BROKEN[broken] in talk.refuses()


def _last_only(talk: Talk) -> None:
    del talk.content(1)[0]


def _none(talk: Talk) -> None:
    del talk.content(1)[0]
    del talk.content(3)[:2]


def _first_only(talk: Talk) -> None:
    del talk.content(3)[:2]


def _marks_moved(talk: Talk) -> None:
    talk.body["messages"][0]["content"] = [{"type": "text", "text": "go", "cache_control": MARK}]
    talk.content(2)[0]["cache_control"] = MARK


@pytest.mark.parametrize("allowed", [_last_only, _none, _first_only, _marks_moved])
def test_anthropic_takes_an_unbroken_run_of_thinking_and_moved_breakpoints(allowed: Any) -> None:
    talk = Talk()
    allowed(talk)
    assert talk.refuses() == ""


def test_anthropic_leaves_out_what_no_longer_fits_where_the_request_says_so() -> None:
    talk = Talk()
    _edit_result(talk)
    _binding_without_beta(talk)
    answer = talk.fake.answer("/v1/messages", talk.body, {"anthropic-beta": f"x,{BETA}"})
    assert [done["path"] for done in answer["input_transformations"]] == [
        "messages.3.content.0",
        "messages.3.content.1",
    ]


def test_anthropic_refuses_thinking_that_comes_back() -> None:
    talk = Talk()
    old = copy.deepcopy(talk.content(1)[0])
    _none(talk)
    talk.step()
    talk.content(1).insert(0, old)
    assert "messages.5.content.0: Invalid `signature`" in talk.refuses()


def test_without_the_check_an_edit_before_thinking_is_taken() -> None:
    talk = Talk()
    talk.fake.binds = False
    _edit_result(talk)
    assert talk.refuses() == ""


# OpenAI


def chat() -> tuple[OpenAI, Any]:
    fake = OpenAI(SCRIPT)
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for _ in range(2):
        answer = fake.answer("/chat/completions", {"model": "m", "messages": messages}, {})
        said = answer["choices"][0]["message"]
        messages += [said]
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": "result"}
            for call in said["tool_calls"]
        ]
    return fake, messages


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m: m.pop(2), "did not have response messages: call_1_0"),
        (lambda m: m.pop(), "did not have response messages: call_2_0"),
        (lambda m: m.insert(2, {"role": "user", "content": "x"}), "did not have response"),
        (lambda m: m[2].update(tool_call_id="gone"), "must be a response to a preceeding"),
        (lambda m: m.append(m[2]), "must be a response to a preceeding"),
        (lambda m: m[2].update(content=None), "expected text or parts"),
        (lambda m: m[2].update(content=[{"type": "image_url", "image_url": {}}]), "only text"),
    ],
)
def test_openai_chat_refuses(change: Any, why: str) -> None:
    fake, messages = chat()
    body = {"model": "m", "messages": messages}
    assert refused(OpenAI(SCRIPT), "/chat/completions", body) == ""
    change(messages)
    assert why in refused(fake, "/chat/completions", body)


def responses() -> tuple[OpenAI, Any]:
    fake = OpenAI(SCRIPT)
    items: list[Any] = [{"role": "user", "content": "go"}]
    for _ in range(2):
        output = fake.answer("/responses", {"model": "m", "input": items}, {})["output"]
        items += output
        items += [
            {"type": "function_call_output", "call_id": item["call_id"], "output": "result"}
            for item in output
            if item["type"] == "function_call"
        ]
    return fake, items


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda i: i.pop(), "No tool output found for function call call_2_0"),
        (lambda i: i.pop(2), "No tool call found for function call output"),
        (lambda i: i[2].update(id="call_1"), "Expected an ID that begins with 'fc'"),
        (lambda i: i.__delitem__(slice(2, 6)), "without its required following item"),
        (lambda i: i[1].update(encrypted_content="x"), "could not be verified"),
        (lambda i: i[4].update(output=[{"type": "text", "text": "x"}]), "Invalid value: 'text'"),
    ],
)
def test_openai_responses_refuses(change: Any, why: str) -> None:
    fake, items = responses()
    body = {"model": "m", "input": items}
    assert refused(fake, "/responses", copy.deepcopy(body)) == ""
    change(items)
    assert why in refused(fake, "/responses", body)


# Gemini


def gemini() -> tuple[Gemini, Any]:
    fake = Gemini(SCRIPT)
    contents: list[Any] = [{"role": "user", "parts": [{"text": "go"}]}]
    for _ in range(2):
        said = fake.answer(GENERATE, {"contents": contents}, {})["candidates"][0]["content"]
        calls = [part["functionCall"] for part in said["parts"] if "functionCall" in part]
        answers = [
            {"functionResponse": {"id": c["id"], "name": c["name"], "response": {"output": "x"}}}
            for c in calls
        ]
        contents += [said, {"role": "user", "parts": answers}]
    return fake, contents


GENERATE = "/v1beta/models/m:generateContent"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: c[2]["parts"].pop(), "number of function response parts is equal"),
        (lambda c: c.pop(2), "number of function response parts is equal"),
        (lambda c: c.pop(), "a function call without its response"),
        (lambda c: c.pop(0), "function call turn comes immediately after"),
        (lambda c: c[2]["parts"].clear(), "must not be empty"),
        (lambda c: c[2]["parts"][0]["functionResponse"].update(response="x"), "an object"),
        (lambda c: c[2]["parts"][0]["functionResponse"].update(name="f"), "must name its call"),
        (lambda c: c[1]["parts"][0].pop("thoughtSignature"), "missing a `thought_signature`"),
        (lambda c: c[3]["parts"][1]["functionCall"].update(args={}), "Corrupted thought"),
    ],
)
def test_gemini_refuses(change: Any, why: str) -> None:
    fake, contents = gemini()
    body = {"contents": contents}
    assert refused(fake, GENERATE, copy.deepcopy(body)) == ""
    change(contents)
    assert why in refused(fake, GENERATE, body)
