"""Cache stability: what is a break, where it is, and which passes explain it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import compactor
from compactor import CompactorError, Policy
from compactor.core.model import Path as Address
from compactor.stability import CacheBreakError, CacheStability, describe
from compactor.stability.differences import first_difference
from compactor.testing import Conversation
from tests.stability_kit import LONG, TALK, TOOLS, bodies, changed, looks, seen, streamed

WRITERS = {
    "anthropic": Conversation.anthropic,
    "bedrock": Conversation.bedrock,
    "gemini": Conversation.gemini,
    "openai-chat": Conversation.openai_chat,
    "openai-responses": Conversation.openai_responses,
    "entries": Conversation.entries,
}


@pytest.mark.parametrize("format_name", WRITERS)
@pytest.mark.parametrize("way", ["values", "bytes"])
def test_a_harness_that_appends_breaks_nothing(format_name: str, way: str) -> None:
    stream = CacheStability()
    for count in TALK.boundaries:
        body = WRITERS[format_name](TALK.upto(count))
        stream.record(json.dumps(body).encode() if way == "bytes" else body)
    stream.check()
    assert (len(stream.requests), stream.conversations) == (len(TALK.boundaries), ("1",))


CONTENT: Address = ("messages", 2, "content", 0, "content")
ARGUMENTS: Address = ("messages", 1, "content", 1, "input")
REWRITTEN: dict[str, tuple[Address, Any, str, str, str]] = {
    "an old result": (CONTENT, "nothing", "messages", "$.messages[2].content[0].content", "masked"),
    "a cut result": (CONTENT, LONG[:900], "messages", "$.messages[2].content[0].content", "cut"),
    "a longer result": (
        *(CONTENT, LONG + "more", "messages", "$.messages[2].content[0].content", "grown"),
    ),
    "an old question": (
        *(("messages", 0, "content"), "Why is it green?", "messages"),
        *("$.messages[0].content", "rewritten"),
    ),
    "an elided result": (
        *(CONTENT, "[elided 1720 chars of bash output]", "messages"),
        *("$.messages[2].content[0].content", "elided"),
    ),
    "a new id of a call": (
        *(("messages", 1, "content", 1, "id"), "call_x", "messages"),
        *("$.messages[1].content[1].id", "call id"),
    ),
    "another key order": (
        *(ARGUMENTS, {"timeout": 10, "command": "make"}, "messages"),
        *("$.messages[1].content[1].input.timeout", "key order"),
    ),
    "a number spelled otherwise": (
        *(ARGUMENTS, {"command": "make", "timeout": 10.0}, "messages"),
        *("$.messages[1].content[1].input.timeout", "serialised"),
    ),
    "another argument": (
        *(ARGUMENTS, {"command": "make", "dir": "."}, "messages"),
        *("$.messages[1].content[1].input.dir", "shape"),
    ),
    "another system prompt": (
        *(("system",), "You build fixes.", "system prompt", "$.system", "reworded"),
    ),
    "another tool order": (
        *(("tools",), [TOOLS[1], TOOLS[0], TOOLS[2]], "tools", "$.tools[0].name", "tool order"),
    ),
    "a tool less": (("tools",), TOOLS[:2], "tools", "$.tools[2]", "tools"),
    "a tool with another schema": (
        *(("tools", 1, "input_schema"), {"type": "string"}, "tools"),
        *("$.tools[1].input_schema.type", "reworded"),
    ),
    "another model": (("model",), "claude-opus-4-5", "model", "$.model", "model"),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_was_sent_and_changes_is_a_break_with_its_place(name: str) -> None:
    at, value, part, place, look = REWRITTEN[name]
    assert seen(streamed(changed(at, value, upto=2))) == [(3, part, place, look)]


def test_a_setting_that_reaches_the_prompt_is_part_of_the_prefix_and_others_are_not() -> None:
    made = [one | {"max_tokens": k, "metadata": {"k": k}} for k, one in enumerate(bodies())]
    assert seen(streamed(made)) == []
    made[2] |= {"tool_choice": {"type": "none"}}
    assert seen(streamed(made)) == [
        (3, "settings", "$.tool_choice", "setting"),
        (4, "settings", "$.tool_choice", "setting"),
    ]
    assert seen(streamed(made, ignore=["tool_choice"])) == []
    assert seen(streamed(made, ignore=["settings"])) == []


CHANGED: dict[str, tuple[str, dict[str, Any], bool]] = {
    "Anthropic's tool choice": ("anthropic", {"tool_choice": {"type": "none"}}, True),
    "thinking": ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2048}}, True),
    "effort": ("anthropic", {"output_config": {"effort": "low"}}, True),
    "a service tier": ("anthropic", {"service_tier": "batch"}, False),
    "streaming": ("anthropic", {"stream": True}, False),
    "a breakpoint for the whole request": ("anthropic", {"cache_control": {"type": "e"}}, False),
    "OpenAI's tool choice": ("openai-chat", {"tool_choice": "none"}, False),
    "a schema of answers": ("openai-chat", {"response_format": {"type": "json_object"}}, True),
    "parallel calls": ("openai-chat", {"parallel_tool_calls": False}, True),
    "a seed": ("openai-chat", {"seed": 7}, False),
    "a cache key": ("openai-chat", {"prompt_cache_key": "k"}, False),
    "effort of reasoning": ("openai-responses", {"reasoning": {"effort": "low"}}, True),
    "a summary of reasoning": ("openai-responses", {"reasoning": {"summary": "auto"}}, False),
    "a format of texts": ("openai-responses", {"text": {"verbosity": "low"}}, True),
    "storing": ("openai-responses", {"store": False}, False),
    "a tool mode": ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}, True),
    "a temperature": ("gemini", {"generationConfig": {"temperature": 1}}, False),
    "Bedrock's tool choice": ("bedrock", {"toolConfig": {"tools": [], "toolChoice": {}}}, True),
    "a limit": ("bedrock", {"inferenceConfig": {"maxTokens": 9}}, False),
}
"""Shape, what a request says otherwise, and whether the provider reads another prompt then."""


@pytest.mark.parametrize("name", CHANGED)
def test_what_a_setting_changes_is_a_table_of_providers(name: str) -> None:
    format_name, more, is_break = CHANGED[name]
    made = [TALK.upto(count).write(format_name) for count in TALK.boundaries[:2]]
    found = seen(streamed([made[0], made[1] | more]))
    assert [(part, look) for _, part, _, look in found] == [("settings", "setting")] * is_break


def test_tools_that_load_on_demand_are_no_part_of_the_prefix() -> None:
    made = bodies()
    late = {"name": "late", "input_schema": {"type": "object"}, "defer_loading": True}
    made[2]["tools"] = [TOOLS[0], late, *TOOLS[1:]]
    assert seen(streamed(made)) == []


def test_what_lets_a_provider_into_a_server_is_kept_nowhere() -> None:
    stream = CacheStability()
    for k, body in enumerate(bodies()):
        server = {
            "type": "url",
            "url": "https://tools.example",
            "authorization_token": f"s3cret{k}",
        }
        tool = {"type": "mcp", "server_url": "https://x", "headers": {"Authorization": "s3cret"}}
        sent = body | {"mcp_servers": [server], "tools": [*TOOLS, tool]}
        headers = {"x-api-key": "s3cret", "authorization": "Bearer s3cret"}
        stream.record(json.dumps(sent), headers=headers)
    stream.check()
    assert "tools.example" in describe(stream)
    assert "s3cret" not in describe(stream) + json.dumps(stream.summary())


def test_a_header_that_reaches_the_prompt_is_part_of_the_prefix_and_others_are_not() -> None:
    stream = CacheStability()
    for k, body in enumerate(bodies()):
        beta = "b" if k == 3 else "a"
        stream.record(body, headers={"anthropic-beta": beta, "x-request-id": str(k)})
    assert seen(stream) == [(4, "settings", '$.headers["anthropic-beta"]', "setting")]


def test_the_order_of_names_in_a_header_says_nothing() -> None:
    stream = CacheStability()
    for body, beta in zip(bodies(), ("a,b", "b, a", "a,b", "b,a"), strict=True):
        stream.record(body, headers={"Anthropic-Beta": beta})
    assert seen(stream) == []


def test_a_model_that_only_the_url_names_is_compared() -> None:
    stream = CacheStability()
    for k, count in enumerate(TALK.boundaries):
        body = {key: value for key, value in TALK.upto(count).gemini().items() if key != "model"}
        stream.record(body, model="gemini-4" if k < 2 else "gemini-5")
    assert seen(stream) == [(3, "model", "$.model", "model")]


def test_the_last_message_may_grow_but_not_change_its_keys() -> None:
    first, second = bodies()[:2]
    second["messages"][0] = dict(reversed(second["messages"][0].items()))
    assert seen(streamed([first, second])) == [
        (2, "messages", "$.messages[0].content", "key order")
    ]


WINDOWS: dict[str, tuple[Callable[[list[Any]], list[Any]], str, str]] = {
    "drops the oldest": (lambda m: m[2:], "dropped", "2 messages"),
    "drops behind the first": (lambda m: [m[0], *m[3:]], "dropped", "2 messages"),
    "puts a reminder in": (
        *(lambda m: [*m[:2], {"role": "user", "content": "Be brief."}, *m[2:]], "inserted"),
        "1 message",
    ),
    "turns messages round": (lambda m: [m[1], m[0], *m[2:]], "message order", ""),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_messages_that_go_come_or_move_are_named(name: str) -> None:
    change, look, detail = WINDOWS[name]
    made = bodies()
    made[3] = made[3] | {"messages": change(made[3]["messages"])}
    [found] = streamed(made).breaks
    assert (found.request, found.change.look, found.change.detail) == (4, look, detail)


def test_what_grows_at_its_end_and_what_is_shorter_is_still_in_the_cache() -> None:
    first, *_, last = bodies()
    grown = copy.deepcopy(last)
    grown["messages"][-1]["content"] = [
        {"type": "text", "text": "Fix it."},
        {"type": "text", "text": "Please."},
    ]
    assert seen(streamed([first, last, grown, last])) == []
    assert seen(streamed([last, first])) == []


def marked(body: Any, index: int) -> Any:
    """A request with its one breakpoint on a message, whose content is a list for it."""
    made = copy.deepcopy(body)
    message = made["messages"][index]
    if isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}]
    message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return made


@pytest.mark.parametrize("way", ["values", "bytes"])
def test_breakpoints_that_move_are_no_break(way: str) -> None:
    stream = CacheStability()
    for body in bodies():
        made = marked(body, -1)
        made["system"] = [{"type": "text", "text": body["system"], "cache_control": {}}]
        stream.record(made if way == "values" else json.dumps(made).encode())
    stream.record(bodies()[-1] if way == "values" else json.dumps(bodies()[-1]))
    assert seen(stream) == []


def test_points_of_bedrock_are_no_break_and_shift_no_address() -> None:
    point = {"cachePoint": {"type": "default"}}
    made = [Conversation.bedrock(TALK.upto(count)) for count in TALK.boundaries]
    for body in made:
        body["messages"][-1] = body["messages"][-1] | {
            "content": [point, *body["messages"][-1]["content"]]
        }
    assert seen(streamed(made)) == []
    result = made[-1]["messages"][2]["content"]
    made[-1]["messages"][2] = {"role": "user", "content": [point, *copy.deepcopy(result)]}
    made[-1]["messages"][2]["content"][1]["toolResult"]["content"][0]["text"] = "short"
    [found] = streamed(made).breaks
    assert found.change.at[:5] == ("messages", 2, "content", 1, "toolResult")


SPELLINGS: dict[str, dict[str, Any]] = {
    "spaces": {"indent": 1},
    "escapes": {"ensure_ascii": False},
    "separators": {"separators": (",", ":")},
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_history_that_is_serialised_otherwise_shows_in_bytes_alone(name: str) -> None:
    made = changed(("messages", 0, "content"), "Wörum?", upto=0)
    text: list[Any] = [json.dumps(made[0]), json.dumps(made[1], **SPELLINGS[name])]
    assert looks(streamed(text)) == ["spelling"]
    assert seen(streamed(text, ignore=["spelling"])) == []
    assert seen(streamed(made[:2])) == []


def test_arguments_that_are_parsed_and_written_again_are_named() -> None:
    made = [Conversation.openai_chat(TALK.upto(count)) for count in TALK.boundaries]
    call = made[2]["messages"][2]["tool_calls"][0]["function"]
    call["arguments"] = json.dumps(json.loads(call["arguments"]), separators=(", ", " : "))
    assert seen(streamed(made[:3])) == [
        (3, "messages", "$.messages[2].tool_calls[0].function.arguments", "serialised")
    ]


def test_items_of_a_list_in_another_order_are_named() -> None:
    schema = {"type": "object", "required": ["command", "timeout"]}
    made = bodies()[:2]
    made[0]["tools"] = [TOOLS[0] | {"input_schema": schema}]
    made[1]["tools"] = [TOOLS[0] | {"input_schema": schema | {"required": ["timeout", "command"]}}]
    assert seen(streamed(made)) == [
        (2, "tools", "$.tools[0].input_schema.required[0]", "item order")
    ]


def test_of_several_differences_the_first_of_the_prompt_is_told() -> None:
    made = changed(CONTENT, "short", upto=2)
    made[2]["system"] += " Now."
    made[2]["tools"] = TOOLS[::-1]
    assert seen(streamed(made[:3])) == [(3, "tools", "$.tools[0].name", "tool order")]
    assert seen(streamed(made[:3], ignore=["tools"])) == [(3, "system prompt", "$.system", "grown")]


def test_what_is_recorded_does_not_change_with_the_list_of_the_harness() -> None:
    stream, history = CacheStability(), [{"role": "user", "content": "go"}]
    assert stream.record(history) is history
    history[0]["content"] = "stop"
    stream.record([*history, {"role": "assistant", "content": "so"}])
    assert looks(stream) == ["rewritten"]


# Passes


POLICY = Policy(window=900, counter="chars4", keep_recent=2, min_freed=1)


def long_talk() -> Conversation:
    talk = Conversation(system="s", model="claude-sonnet-4-5").user("go")
    for k in range(40):
        talk.call("bash", {"command": f"run {k}"}, result=f"line {k} of a log\n" * 20)
    return talk


def compacted(*, journal: bool) -> Iterator[compactor.Outcome]:
    talk, memory = long_talk(), None
    for count in talk.boundaries:
        outcome = compactor.compact(talk.upto(count).anthropic(), POLICY, memory)
        memory = outcome.journal if journal else None
        yield outcome


TELLING: dict[str, Callable[[compactor.Outcome], Any]] = {
    "outcome": lambda outcome: outcome,
    "journal": lambda outcome: outcome.journal,
    "report": lambda outcome: outcome.report,
    "report as JSON": lambda outcome: json.loads(outcome.report.to_json()),
}


@pytest.mark.parametrize("told", TELLING)
@pytest.mark.parametrize("journal", [True, False])
def test_passes_that_are_told_explain_their_breaks(told: str, journal: bool) -> None:
    stream = CacheStability()
    for outcome in compacted(journal=journal):
        stream.passed(TELLING[told](outcome))
        stream.record(outcome.request)
    stream.check()
    assert len(stream.breaks) == stream.passes > 1


def test_passes_may_all_be_told_at_the_end() -> None:
    stream, outcomes = CacheStability(), list(compacted(journal=True))
    for outcome in outcomes:
        stream.record(outcome.request)
    with pytest.raises(CacheBreakError, match="an elision that nobody told of"):
        stream.check()
    assert stream.passed(outcomes[-1].journal) == len(stream.breaks)
    stream.check()


def test_a_pass_that_was_told_for_another_request_explains_nothing() -> None:
    stream = CacheStability()
    requests = changed(CONTENT, "short", upto=2)
    for k, request in enumerate(requests):
        if k in (1, 3):
            stream.passed()
        stream.record(request)
    assert [one.expected for one in stream.breaks] == [False]


def test_a_pass_of_a_conversation_explains_no_break_of_another() -> None:
    stream = CacheStability()
    for k, request in enumerate(changed(CONTENT, "short", upto=2)):
        if k == 2:
            stream.passed(conversation="b")
        stream.record(request, conversation="a")
    assert [one.expected for one in stream.breaks] == [False]


def test_as_many_breaks_are_allowed_as_the_settings_say() -> None:
    made = changed(CONTENT, "short", upto=2)
    made[3]["system"] = "other"
    streamed(made, breaks=2).check()
    with pytest.raises(CacheBreakError, match=r"^request 4 of 4"):
        streamed(made, breaks=1).check()


def test_a_number_of_passes_is_counted_as_it_is() -> None:
    stream = CacheStability()
    assert (stream.passed(), stream.passed(2), stream.passed(0), stream.passes) == (1, 2, 0, 3)


# Errors


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (b"no json", "input.not_json"),
        ('{"messages": [}', "input.not_json"),
        (7, "input.shape"),
        ("7", "input.shape"),
        ({"model": "m"}, "input.shape"),
        (b"\xff\xfe", "input.not_json"),
    ],
)
def test_what_is_no_request_is_refused(given: Any, code: str) -> None:
    with pytest.raises(CompactorError) as caught:
        CacheStability().record(given)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "settings",
    [
        {"breaks": -1},
        {"breaks": True},
        {"breaks": "two"},
        {"conversations": 0},
        {"apart": "no"},
        {"ignore": ["tol_choice"]},
        {"ignore": 3},
        {"ignore": "model"},
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: Any) -> None:
    with pytest.raises(CompactorError):
        CacheStability(**settings)


@pytest.mark.parametrize("told", [None, "one", -1, True, {"passed": 1}])
def test_what_tells_of_no_pass_is_refused(told: Any) -> None:
    with pytest.raises(CompactorError):
        CacheStability().passed(told)


def test_a_stream_without_requests_fails() -> None:
    with pytest.raises(CacheBreakError, match="recorded no request"):
        CacheStability().check()


def test_the_first_difference_of_equal_values_is_none() -> None:
    assert first_difference(bodies()[0], bodies()[0]) is None
