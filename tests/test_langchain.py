"""LangChain's messages in their three spellings, and the states that hold them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import codes, numbers, shown

import compactor
from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading, entry_digest
from compactor.formats import detect
from compactor.formats.frameworks.langchain import LangChain
from compactor.formats.raw.native import apply_edits

LENS = LangChain()
CLASSES = {
    "ai": "AIMessage",
    "chat": "ChatMessage",
    "function": "FunctionMessage",
    "human": "HumanMessage",
    "remove": "RemoveMessage",
    "system": "SystemMessage",
    "tool": "ToolMessage",
}


def human(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "human", "content": content, "additional_kwargs": {}, "id": None, **more}


def ai(content: Any, *calls: str, **more: Any) -> dict[str, Any]:
    made = [{"name": "bash", "args": {"command": c}, "id": c, "type": "tool_call"} for c in calls]
    return {"type": "ai", "content": content, "tool_calls": made, **more}


def tool(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool", "content": content, "tool_call_id": call_id, "artifact": {}, **more}


def to_dict(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": message["type"], "data": message}


def constructed(message: dict[str, Any]) -> dict[str, Any]:
    named = ["langchain_core", "messages", CLASSES[message["type"]]]
    fields = {key: value for key, value in message.items() if key != "type"}
    return {"lc": 1, "type": "constructor", "id": named, "kwargs": fields}


SPELLINGS = {"fields": dict, "to_dict": to_dict, "constructed": constructed}
TALK = [human("go"), ai("look", "x", "y"), tool("x", "one"), tool("y", "two"), ai("done")]
each_spelling = pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)


def read(*messages: Any) -> Reading:
    return LENS.read(list(messages))


@each_spelling
def test_a_conversation_is_the_same_in_every_spelling(spell: Any) -> None:
    messages = [spell(message) for message in TALK]
    assert detect(messages) is compactor.formats.FORMATS["langchain"]
    kit.check_same(LENS.read(messages))


PLACES: dict[str, Any] = {
    "a state": lambda messages: {"messages": messages, "jump_to": None},
    "a snapshot": lambda messages: {"values": {"messages": messages}, "next": [], "config": {}},
    "a checkpoint": lambda messages: {"v": 4, "channel_values": {"messages": messages}},
    "a saved checkpoint": lambda messages: {
        "checkpoint": {"channel_values": {"messages": messages}}
    },
    "a history, the newest first": lambda messages: [
        {"values": {"messages": messages}},
        {"values": {"messages": messages[:1]}},
    ],
    "a prompt": lambda messages: {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "prompts", "chat", "ChatPromptValue"],
        "kwargs": {"messages": messages},
    },
    "a batch of one": lambda messages: {"messages": [messages]},
}


@pytest.mark.parametrize("put", PLACES.values(), ids=PLACES)
def test_what_a_graph_holds_is_read_and_rewritten_where_it_is(put: Any) -> None:
    root = put([constructed(message) for message in TALK])
    assert detect(root).name == "langchain"
    reading = LENS.read(root)
    kit.check_same(reading)
    new = apply_edits(root, LENS.rewrite_body(root, reading.entries[2], "gone"))
    assert json.dumps(new) == json.dumps(root).replace('"one"', '"gone"')
    out = compactor.compact(root, kit.policy(20))
    assert out.report.format == "langchain"


@each_spelling
def test_a_result_keeps_its_shape_when_it_is_rewritten(spell: Any) -> None:
    blocks = [{"type": "text", "text": "a"}, "b", {"type": "image_url", "image_url": {"url": "u"}}]
    messages = [spell(m) for m in (ai("", "x", "y"), tool("x", "one"), tool("y", blocks))]
    reading = LENS.read(messages)
    assert [entry.body for entry in kit.tools(reading)] == ["one", "a\nb"]
    assert [[p.kind for p in e.parts] for e in kit.tools(reading)] == [[], [PartKind.IMAGE]]
    edits = [e for r in kit.tools(reading) for e in LENS.rewrite_body(messages, r, "gone")]
    again = LENS.read(apply_edits(messages, edits))
    assert [entry.body for entry in kit.tools(again)] == ["gone", "gone"]
    assert [entry.parts for entry in kit.tools(again)] == [(), ()]


def test_an_error_status_is_the_error_flag() -> None:
    reading = read(
        ai("", "x", "y"), tool("x", "a", status="error"), tool("y", "b", status="success")
    )
    assert [entry.error for entry in kit.tools(reading)] == [True, False]


def test_a_call_counts_once_though_the_content_has_it_too() -> None:
    block = {"type": "tool_use", "id": "x", "name": "bash", "input": {"command": "x"}}
    [entry] = read(human("go"), ai([{"type": "text", "text": "look"}, block], "x")).entries[1:]
    assert [call.id for call in entry.calls] == ["x"]
    assert [part.text for part in entry.parts] == ["look"]
    assert entry.calls[0].at == (1, "tool_calls", 0, "args")


def test_calls_are_found_in_the_content_or_beside_it_where_the_list_is_empty() -> None:
    block = {"type": "tool_use", "id": "x", "name": "bash", "input": {"command": "x"}}
    function = {"name": "bash", "arguments": '{"command": "y"}'}
    beside = {"tool_calls": [{"id": "y", "type": "function", "function": function}]}
    reading = read(human("go"), ai([block]), human("on"), ai("", additional_kwargs=beside))
    calls = [call for entry in reading.entries for call in entry.calls]
    assert [(c.id, c.name, c.arguments) for c in calls] == [
        ("x", "bash", '{"command":"x"}'),
        ("y", "bash", '{"command":"y"}'),
    ]
    assert codes(reading) == ["unanswered_call", "unanswered_call"]


def test_a_call_with_broken_arguments_is_a_call() -> None:
    broken = {"type": "invalid_tool_call", "id": "z", "name": "bash", "args": "{bad", "error": "e"}
    [entry] = read(human("go"), ai("", "x", invalid_tool_calls=[broken])).entries[1:]
    assert [(call.id, call.arguments) for call in entry.calls] == [
        ("x", '{"command":"x"}'),
        ("z", "{bad"),
    ]


def test_leading_system_messages_are_overhead_and_later_ones_entries() -> None:
    system = {"type": "system", "content": "be brief"}
    reading = read(system, human("go"), ai("x"), system)
    assert (reading.overhead.known, reading.overhead.texts) == (True, ("be brief",))
    assert shown(reading)[-1] == ("system", ["be brief"])


def test_chunks_functions_and_chats_are_messages_too() -> None:
    reading = read(
        {"type": "HumanMessageChunk", "content": "go"},
        {"type": "AIMessageChunk", "content": "ch", "tool_calls": [], "tool_call_chunks": []},
        {"type": "chat", "role": "developer", "content": "c"},
        {"type": "function", "name": "fn", "content": "f"},
    )
    assert [(entry.kind.value, entry.name) for entry in reading.entries] == [
        *(("user", ""), ("assistant", ""), ("system", "")),
        ("tool", "fn"),
    ]


def test_what_a_message_removes_is_not_in_the_prompt() -> None:
    gone = {"type": "remove", "content": "", "id": "b"}
    reading = read(human("a", id="a"), ai("b", id="b"), human("c", id="c"), gone, ai("d"))
    assert shown(reading) == [("user", ["a"]), ("user", ["c"]), ("assistant", ["d"], [])]
    assert [entry.at for entry in reading.entries] == [(0,), (2,), (4,)]
    assert codes(reading) == ["off_branch"]


def test_a_message_may_remove_all_before_it() -> None:
    gone = {"type": "remove", "content": "", "id": "__remove_all__"}
    reading = read(
        human("a", id="a"), ai("b"), gone, human("c"), ai("d", usage_metadata=used(9, 1))
    )
    assert shown(reading) == [("user", ["c"]), ("assistant", ["d"], [])]
    assert [usage.n for usage in reading.usage] == [1]


def used(prompt: int, output: int, **details: int) -> dict[str, Any]:
    counts = {"input_tokens": prompt, "output_tokens": output, "total_tokens": prompt + output}
    return {**counts, "input_token_details": details}


@each_spelling
def test_input_holds_what_was_cached(spell: Any) -> None:
    named = {"response_metadata": {"model_name": "m"}}
    first = ai("look", "x", usage_metadata=used(100, 5, cache_read=60, cache_creation=30), **named)
    last = ai("done", usage_metadata=used(120, 7, cache_read=90))
    root = [spell(message) for message in (human("go"), first, tool("x", "one"), last)]
    reading = LENS.read(root)
    assert [(usage.n, *numbers(usage)) for usage in reading.usage] == [
        (1, 10, 60, 30, 5),
        (3, 30, 90, 0, 7),
    ]
    assert (reading.model, [usage.model for usage in reading.usage]) == ("m", ["m", ""])
    assert [numbers(usage) for usage in LENS.all_usage(root)] == [(10, 60, 30, 5), (30, 90, 0, 7)]


PROVIDERS = {
    "openai": (
        {"token_usage": {"prompt_tokens": 9, "completion_tokens": 2}},
        (9, 0, 0, 2),
    ),
    "openai, cached": (
        {
            "token_usage": {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4},
            }
        },
        (5, 4, 0, 2),
    ),
    "openai, from JavaScript": (
        {"tokenUsage": {"promptTokens": 9, "completionTokens": 2}},
        (9, 0, 0, 2),
    ),
    "anthropic": (
        {
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 1,
                "output_tokens": 2,
            }
        },
        (3, 5, 1, 2),
    ),
}


@pytest.mark.parametrize(("metadata", "wanted"), PROVIDERS.values(), ids=PROVIDERS)
def test_a_providers_own_counts_are_read_where_there_are_no_others(
    metadata: dict[str, Any], wanted: tuple[int, ...]
) -> None:
    [usage] = read(human("go"), ai("x", response_metadata=metadata)).usage
    assert numbers(usage) == wanted


def test_what_lives_an_hour_is_a_part_of_what_was_written() -> None:
    details = {"cache_read": 50, "ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}
    [usage] = read(human("go"), ai("x", usage_metadata=used(100, 5, **details))).usage
    assert (*numbers(usage), usage.cache_write_1h) == (20, 50, 30, 5, 20)


def test_a_longer_list_is_read_from_where_the_last_one_ended() -> None:
    messages = [human("go"), ai("look", "x"), tool("x", "one")]
    reading = LENS.read(messages)
    longer = LENS.read([*messages, ai("done")], reading)
    assert longer.entries is reading.entries
    assert [*map(entry_digest, longer.entries)] == [
        *map(entry_digest, LENS.read([*messages, ai("done")]).entries)
    ]


def test_a_state_is_compacted_in_place() -> None:
    turns = [m for i in range(20) for m in (ai("look", f"c{i}"), tool(f"c{i}", "out " * 200))]
    root = {"values": {"messages": [human("go"), *turns]}}
    out = compactor.compact(copy.deepcopy(root), kit.policy(3000), explain=True)
    elided = [fate.seq for fate in out.fates if fate.fate == "elided"]
    assert elided
    new = LENS.read(out.request).entries
    assert all(new[seq].body.startswith("[elided 800 chars") for seq in elided)
    assert [e.calls for e in new] == [e.calls for e in LENS.read(root).entries]


@pytest.mark.parametrize(
    "root",
    [
        [],
        [human("go") | {"type": "x"}],
        [{"type": "system", "content": "x"}],
        [{"type": "user", "content": "x"}],
        {"messages": [{"role": "user", "content": "x"}]},
        {"values": {"messages": 5}},
    ],
)
def test_what_does_not_say_that_it_is_langchains_is_not(root: Any) -> None:
    assert not LENS.recognises(root)


def test_a_root_without_messages_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        LENS.read({"values": {}})
    assert caught.value.code == "input.shape"


@each_spelling
def test_whatever_is_broken_is_refused_or_can_be_rewritten(spell: Any) -> None:
    block = {"type": "tool_use", "id": "x", "name": "bash", "input": {"command": "x"}}
    made = ai(
        [{"type": "text", "text": "look"}, block], "x", usage_metadata=used(5, 1, cache_read=1)
    )
    gone = {"type": "remove", "content": "", "id": "z"}
    messages = [
        human("go"),
        made,
        tool("x", [{"type": "text", "text": "a"}, "b"]),
        ai("", id="z"),
        gone,
    ]
    kit.check_damage(LENS, [spell(message) for message in messages])
