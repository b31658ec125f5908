"""Cache stability: what is a break, where it is, what it looks like, and whose it is."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import compactor
from compactor import CompactorError, Policy
from compactor.core.model import Path as Address
from compactor.formats.edits import Edit, apply_edits
from compactor.stability import LOOKS, CacheBreakError, CacheStability
from compactor.stability.differences import first_difference
from compactor.testing import Conversation

TOOLS = [
    {"name": name, "description": f"Runs {name}.", "input_schema": {"type": "object"}}
    for name in ("bash", "grep", "read_file")
]
LONG = "src/parser.c:118: error: unknown type name\n" * 40
TALK = (
    Conversation(system="You fix builds. Be brief.", tools=(), model="claude-sonnet-4-5")
    .user("Why is the build red?")
    .call("bash", {"command": "make", "timeout": 10}, result=LONG, text="I will look.")
    .call("grep", {"pattern": "yylex"}, result="a.c\nb.c\nc.c", text="I see.")
    .assistant("It is the parser.")
    .user("Fix it.")
)


def bodies(write: Callable[[Conversation], Any] = Conversation.anthropic) -> list[Any]:
    """The requests of a harness that does everything right."""
    return [write(TALK.upto(count)) | {"tools": TOOLS} for count in TALK.boundaries]


def streamed(requests: list[Any], **settings: Any) -> CacheStability:
    stream = CacheStability(**settings)
    for request in requests:
        stream.record(request)
    return stream


def seen(stream: CacheStability) -> list[tuple[int, str, str, str]]:
    """Each break: request, part, path, look."""
    from compactor.formats.edits import dotted

    return [
        (one.request, one.change.part, dotted(one.change.at), one.change.look)
        for one in stream.breaks
    ]


def changed(at: Address, value: Any, upto: int = 1) -> list[Any]:
    """The requests of the harness, one value another in all but the first `upto`."""
    made = bodies()
    return [*made[:upto], *(apply_edits(one, [Edit(at, value)]) for one in made[upto:])]


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


def test_a_header_that_reaches_the_prompt_is_part_of_the_prefix_and_others_are_not() -> None:
    stream = CacheStability()
    for k, body in enumerate(bodies()):
        beta = "b" if k == 3 else "a"
        stream.record(body, headers={"anthropic-beta": beta, "x-request-id": str(k)})
    assert seen(stream) == [(4, "settings", '$.headers["anthropic-beta"]', "setting")]


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
    assert [look for *_, look in seen(streamed(text))] == ["spelling"]
    assert seen(streamed(text, spelling="ignore")) == []
    assert seen(streamed(made[:2])) == []


def test_arguments_that_are_parsed_and_written_again_are_named() -> None:
    made = [Conversation.openai_chat(TALK.upto(count)) for count in TALK.boundaries]
    call = made[2]["messages"][2]["tool_calls"][0]["function"]
    call["arguments"] = json.dumps(json.loads(call["arguments"]), separators=(", ", " : "))
    assert seen(streamed(made[:3])) == [
        (3, "messages", "$.messages[2].tool_calls[0].function.arguments", "serialised")
    ]


LOOKING: dict[str, tuple[str, str, str]] = {
    "an ISO time": ("now 2026-03-01T10:00:07Z.", "now 2026-03-01T10:00:19Z.", "clock"),
    "an ISO date": ("on 2026-03-01", "on 2026-04-11", "clock"),
    "a time of day": ("it is 9:59 AM here", "it is 10:00 AM here", "clock"),
    "a date in words": ("Sunday, March 1, 2026", "Monday, March 2, 2026", "clock"),
    "another date in words": ("today: 1 March 2026.", "today: 2 March 2026.", "clock"),
    "a date with slashes": ("3/1/2026", "3/2/2026", "clock"),
    "what ctime says": ("Sun Mar  1 10:00:07 2026", "Sun Mar  1 10:00:08 2026", "clock"),
    "seconds since 1970": ("t=1772359207", "t=1772359219", "clock"),
    "milliseconds": ("t=1772359207123", "t=1772359219456", "clock"),
    "seconds with a fraction": ("t=1772359207.12", "t=1772359209.4", "clock"),
    "a duration": ("took 1.2s", "took 1.4s", "duration"),
    "a long duration": ("ran for 12 minutes", "ran for 13 minutes", "duration"),
    "a uuid": (
        "run 9c7f1e5e-3f1d-4c7b-9a53-0a4f5f6ad111",
        "run 1b2f1e5e-3f1d-4c7b-9a53-0a4f5f6ad222",
        "uuid",
    ),
    "a uuid without dashes": (
        "9c7f1e5e3f1d4c7b9a530a4f5f6ad111",
        "1b2f1e5e3f1d4c7b9a530a4f5f6ad222",
        "uuid",
    ),
    "a random id": ("session k3J9fQ2xZ1", "session p0Lm4R7yW8", "random id"),
    "a counter": ("step 3 of 20", "step 4 of 20", "counter"),
    "lines in another order": ("a.c\nb.c\nc.c", "b.c\nc.c\na.c", "line order"),
    "a list in another order": ("tools: bash, grep", "tools: grep, bash", "line order"),
    "JSON spelled otherwise": ('{"a":1, "b":2}', '{"b":2,"a":1}', "serialised"),
    "another text": ("the parser", "the lexer", "rewritten"),
    "a version": ("compiler-1.2.3", "compiler-1.2.4", "counter"),
}


@pytest.mark.parametrize("name", LOOKING)
def test_a_difference_is_named_by_what_it_looks_like(name: str) -> None:
    old, new, look = LOOKING[name]
    made = bodies()[:2]
    for body, text in zip(made, (old, new), strict=True):
        body["system"] = f"You fix builds. {text}"
    if look != "serialised":
        assert [found for *_, found in seen(streamed(made))] == [look]
    made = bodies()[2:]
    for body, text in zip(made, (old, new), strict=True):
        body["messages"][4]["content"][0]["content"] = text
    assert [found for *_, found in seen(streamed(made))] == [look]


def test_every_look_is_found_by_a_test() -> None:
    named = {look for _, _, look in LOOKING.values()} | {row[4] for row in REWRITTEN.values()}
    named |= {look for _, look, _ in WINDOWS.values()} | {"setting", "spelling", "item order"}
    assert named == set(LOOKS)


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
    assert [look for *_, look in seen(stream)] == ["rewritten"]


# Conversations


def agent(system: str, task: str, *steps: str) -> Conversation:
    talk = Conversation(system=system, model="claude-sonnet-4-5").user(task)
    for step in steps:
        talk.call("bash", {"command": step}, result=f"did {step}", id=f"call_{task}_{step}")
    return talk


def interleaved(*talks: Conversation) -> Iterator[Any]:
    for count in range(1, max(len(talk.facts) for talk in talks) + 1, 2):
        yield from (talk.upto(count).anthropic() for talk in talks if count <= len(talk.facts))


PAIRS = {
    "other prompts and tasks": (agent("main", "a", "x", "y"), agent("helper", "b", "x", "y")),
    "the same task": (agent("main", "go", "x", "y"), agent("helper", "go", "z", "y")),
    "the same prompt": (agent("main", "look", "x", "y"), agent("main", "write", "x", "y")),
    "all the same": (agent("main", "go", "x", "y"), agent("main", "go", "z", "w")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_agents_in_one_stream_are_told_apart(name: str) -> None:
    first, second = PAIRS[name]
    if name == "all the same":  # other calls have other ids
        second.facts = [
            fact._replace(
                calls=tuple(call._replace(id=f"{call.id}_2") for call in fact.calls),
                call_id=fact.call_id and f"{fact.call_id}_2",
            )
            for fact in second.facts
        ]
    stream = streamed(list(interleaved(first, second)))
    stream.check()
    assert stream.conversations == ("1", "2")
    assert [one.conversation for one in stream.requests][-2:] == ["1", "2"]


def test_names_tell_conversations_apart_and_apart_can_be_turned_off() -> None:
    first, second = PAIRS["other prompts and tasks"]
    stream = CacheStability()
    for k, body in enumerate(interleaved(first, second)):
        stream.record(body, conversation="ab"[k % 2])
    assert (seen(stream), stream.conversations) == ([], ("a", "b"))
    one = streamed(list(interleaved(first, second)), apart=False)
    assert (len(one.breaks), one.conversations) == (5, ("1",))


def test_one_shot_requests_with_the_same_examples_are_conversations_each() -> None:
    shown = Conversation(system="Sort.").user("red").assistant("colour")
    asked = [shown.upto(2).user(word).anthropic() for word in ("dog", "blue", "cat")]
    stream = streamed(asked)
    assert (seen(stream), len(stream.conversations)) == ([], 3)


def test_tasks_that_differ_in_a_number_are_conversations_each() -> None:
    talks = [agent("main", f"Review file{k}.c", "x", "y") for k in range(3)]
    for requests in (interleaved(*talks), (one for talk in talks for one in interleaved(talk))):
        stream = streamed(list(requests))
        assert (seen(stream), stream.conversations) == ([], ("1", "2", "3"))


def test_a_clock_in_the_prompt_is_found_between_one_shot_requests_too() -> None:
    asked = [
        Conversation(system=f"It is 10:00:0{k}.").user(word).anthropic()
        for k, word in enumerate(("dog", "blue", "cat"))
    ]
    stream = streamed(asked)
    assert seen(stream) == [
        (2, "system prompt", "$.system", "clock"),
        (3, "system prompt", "$.system", "clock"),
    ]
    assert len(stream.conversations) == 3


def test_a_first_message_that_is_rewritten_begins_no_conversation() -> None:
    made = changed(("messages", 0, "content"), "Another thing.")
    assert seen(streamed(made[:2])) == [(2, "messages", "$.messages[0].content", "rewritten")]


def test_a_number_of_conversations_can_be_asked_for() -> None:
    stream = streamed(list(interleaved(*PAIRS["other prompts and tasks"])), conversations=1)
    with pytest.raises(CacheBreakError, match="2 conversations were recorded, not 1"):
        stream.check()


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
        {"spelling": "loose"},
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


def test_the_page_shows_what_is_said() -> None:
    page = (Path(__file__).parents[1] / "docs" / "pytest.md").read_text("utf-8")
    [shown] = re.findall(r"```text\n(request .*?\n)```", page, re.DOTALL)
    stream = CacheStability()
    for second, body in zip((7, 9, 14), bodies(), strict=False):
        del body["tools"]
        system = f"Today is 2026-03-01T10:00:{second:02}Z. You fix builds."
        stream.record(body | {"system": system})
    with pytest.raises(CacheBreakError) as caught:
        stream.check()
    assert shown == f"{caught.value}\n"
