"""Langfuse traces: every recorded file, every framework's shape, and a rule a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import codes, numbers, shown
from otel_kit import CHAT, TALK, call, gave, message

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Kind, Reading
from compactor.formats import detect
from compactor.formats.raw.native import Rows, apply_edits, read_document
from compactor.formats.traces.langfuse import Langfuse

LENS = Langfuse()
each_file = pytest.mark.parametrize("path", kit.files("otel-langfuse"), ids=lambda path: path.stem)


# Recorded files against counts that know nothing of the lens.


def generations(path: Path) -> list[dict[str, Any]]:
    """The generations of a file without those around another, oldest first."""
    observations = json.loads(path.read_text("utf-8"))["observations"]
    made = [each for each in observations if each["type"] == "GENERATION"]
    parents = {each["parentObservationId"] for each in made}
    made = [each for each in made if each["id"] not in parents]
    return sorted(made, key=lambda each: str(each["startTime"]))


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "langfuse")


@each_file
def test_requests_and_usage_are_those_that_the_recording_counts(path: Path) -> None:
    root = json.loads(path.read_text("utf-8"))
    counts = [each["usageDetails"] for each in generations(path)]
    usage = LENS.all_usage(root)
    assert [each.input + each.cache_read for each in usage] == [c["input"] for c in counts]
    sums = [each.input + each.cache_read + each.output for each in usage]
    assert sums == [count["total"] for count in counts]
    assert [each.model for each in usage] == [each["model"] for each in generations(path)]
    threads = LENS.threads(root)
    found = [use for name in threads for use in LENS.of_thread(name).read(root).usage]
    assert sorted(map(numbers, found)) == sorted(map(numbers, usage))


@each_file
def test_rewriting_one_result_changes_one_observation(path: Path) -> None:
    kit.check_one_change(path, "langfuse")


@each_file
def test_a_recording_is_compacted_at_three_windows(path: Path) -> None:
    assert kit.check_compacts(path, "langfuse") >= 0


WANTED: Mapping[str, tuple[int, int, int]] = {
    "claude-agent-2025-12-22": (1, 2, 1),
    "langgraph-js-2025-10-30": (1, 1, 1),
    "langgraph-python-2025-08-22": (2, 1, 1),
    "openai-agents-2025-09-30": (1, 1, 1),
    "pydantic-ai-tools-2025-12-04": (2, 3, 2),
    "vercel-aisdk-2025-11-17": (1, 0, 1),
}
"""File → messages of a person, results, and conversations."""


@each_file
def test_every_framework_is_read(path: Path) -> None:
    root = json.loads(path.read_text("utf-8"))
    reading = LENS.read(root)
    people = sum(entry.kind is Kind.USER for entry in reading.entries)
    found = (people, len(kit.tools(reading)), len(LENS.threads(root)))
    assert found == WANTED[path.stem]
    assert codes(reading) == (["other_threads"] if found[2] > 1 else [])


# Rules.


def observation(at: int, kind: str = "GENERATION", parent: str = "r", **more: Any) -> Any:
    start = f"2025-01-01T00:00:{at:02}.000Z"
    ids = {"id": f"o{at}", "traceId": "t", "parentObservationId": parent}
    return {**ids, "type": kind, "startTime": start, "endTime": start, **more}


def asked(at: int, value: Any, parent: str = "r", **more: Any) -> Any:
    return observation(at, parent=parent, input=value, **more)


def trace(*observations: Any) -> Any:
    return {"trace": {"id": "t"}, "observations": list(observations)}


def read(*observations: Any) -> Reading:
    return LENS.read(trace(*observations))


BLOCKS = [
    CHAT[0],
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "look"},
            *(
                {"type": "tool_use", "id": each, "name": "bash", "input": {"command": each}}
                for each in ("x", "y")
            ),
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": each, "content": body}
            for each, body in (("x", "one"), ("y", "two"))
        ],
    },
    CHAT[4],
]
CALLS = CHAT[1]["tool_calls"]
SHAPES: dict[str, Any] = {
    "OpenTelemetry": TALK,
    "Chat Completions": CHAT,
    "a body of Chat Completions": {"model": "m", "messages": CHAT},
    "Anthropic": BLOCKS,
    "a body of Anthropic": {"messages": BLOCKS, "system": "s"},
    "LangChain": [
        {"type": "human", "content": "go"},
        {
            "type": "ai",
            "content": "look",
            "tool_calls": [{"id": e, "name": "bash", "args": {"command": e}} for e in ("x", "y")],
        },
        {"type": "tool", "tool_call_id": "x", "content": "one"},
        {"type": "tool", "tool_call_id": "y", "content": "two"},
        {"type": "ai", "content": "done"},
    ],
    "LangChain's handler": [
        CHAT[0],
        {"role": "assistant", "content": "look", "additional_kwargs": {"tool_calls": CALLS}},
        *CHAT[2:],
    ],
    "Responses": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "look"}]},
        *(
            {
                "type": "function_call",
                "call_id": e,
                "name": "bash",
                "arguments": f'{{"command":"{e}"}}',
            }
            for e in ("x", "y")
        ),
        {"type": "function_call_output", "call_id": "x", "output": "one"},
        {"type": "function_call_output", "call_id": "y", "output": "two"},
        {"role": "assistant", "content": "done"},
    ],
    "what a function was called with": {"args": [], "kwargs": {"messages": CHAT}},
    "a batch of one": {"messages": [CHAT]},
}
SPELLINGS: dict[str, Any] = {
    "structured": lambda value: value,
    "a text": json.dumps,
    "a text, indented": lambda value: json.dumps(value, indent=2),
    "a text in a text": lambda value: json.dumps(json.dumps(value)),
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_conversation_is_the_same_in_every_shape_and_spelling(shape: Any, spell: Any) -> None:
    root = trace(asked(1, spell(shape)))
    assert detect(root).name == "langfuse"
    reading = LENS.read(root)
    kit.check_same(reading)
    data = json.dumps(root).encode()
    document = read_document(data, "t")
    results = kit.tools(LENS.read(document.root))
    edits = [edit for r in results for edit in LENS.rewrite_body(document.root, r, "gone")]
    new = document.edited(edits)
    assert new.replace(b"gone", b"one", 1).replace(b"gone", b"two", 1) == data
    [turn] = [entry for entry in LENS.read(document.root).entries if entry.calls]
    edits = LENS.rewrite_argument(document.root, turn, 1, ("command",), "z")
    again = LENS.read(json.loads(document.edited(edits)))
    assert [c.arguments for e in again.entries for c in e.calls] == [
        '{"command":"x"}',
        '{"command":"z"}',
    ]


def test_observations_are_found_wherever_an_export_has_them() -> None:
    one = asked(1, json.dumps(TALK))
    snake = {"startTime": "start_time", "traceId": "trace_id", "usageDetails": "usage_details"}
    names = {**snake, "parentObservationId": "parent_observation_id", "endTime": "end_time"}
    row = {names.get(key, key): value for key, value in one.items()}
    roots = ({"id": "t", "observations": [one]}, [one], Rows([one]), Rows([row]), {"data": [one]})
    for root in roots:
        assert detect(root).name == "langfuse"
        kit.check_same(LENS.read(root))


def test_a_message_alone_and_a_text_alone_are_a_persons() -> None:
    for value in (
        CHAT[0],
        "go",
        {"prompt": "go"},
        json.dumps({"prompt": "go"}),
        {"contents": "go"},
    ):
        assert shown(read(asked(1, value))) == [("user", ["go"])]


def test_a_result_may_have_its_tools_name_as_its_role() -> None:
    result = {"role": "bash", "content": "one", "additional_kwargs": {}}
    reading = read(asked(1, [CHAT[0], CHAT[1] | {"tool_calls": CALLS[:1]}, result]))
    assert [(entry.name, entry.body) for entry in kit.tools(reading)] == [("bash", "one")]
    assert codes(reading) == []


def test_a_result_that_names_nothing_answers_the_first_open_call() -> None:
    told = [{"role": "tool", "content": json.dumps([each])} for each in CALLS]
    one, two = ({"role": "tool", "content": body} for body in ("one", "two"))
    root = trace(asked(1, [CHAT[0], told[0], one, told[1], two]))
    reading = LENS.read(root)
    assert [(entry.name, entry.body) for entry in kit.tools(reading)] == [
        ("bash", "one"),
        ("bash", "two"),
    ]
    assert [c.id for entry in reading.entries for c in entry.calls] == ["x", "y"]
    assert codes(reading) == []
    together = read(asked(1, [CHAT[0], CHAT[1], one, two]))
    assert [entry.call and entry.call.id for entry in kit.tools(together)] == ["x", "y"]


def test_a_message_that_defines_a_tool_is_none() -> None:
    tool = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}
    reading = read(asked(1, [*CHAT, {"role": "tool", "content": tool}]))
    kit.check_same(reading)
    assert reading.overhead.texts == ("f", "d", "{}")


def test_a_generation_around_another_is_the_same_request() -> None:
    outer = asked(1, {"prompt": "go"}, usageDetails={"input": 9, "output": 9})
    inner = asked(2, json.dumps(CHAT[:1]), parent="o1", usageDetails={"input": 5, "output": 1})
    root = trace(outer, inner)
    assert [numbers(usage) for usage in LENS.all_usage(root)] == [(5, 0, 0, 1)]
    assert [usage.n for usage in LENS.read(root).usage] == [1]


def counted(prompt: int, output: int) -> dict[str, Any]:
    return {"usageDetails": {"input": prompt, "output": output, "total": prompt + output}}


def test_requests_that_go_on_are_one_conversation_and_the_last_is_read() -> None:
    root = trace(
        asked(3, json.dumps(TALK), **counted(30, 3)),
        asked(1, json.dumps(TALK[:1]), **counted(10, 1)),
        asked(2, TALK[:3], **counted(20, 2)),
    )
    reading = LENS.read(root)
    kit.check_same(reading)
    assert [(usage.n, usage.input) for usage in reading.usage] == [(1, 10), (4, 20), (5, 30)]
    assert {entry.at[1] for entry in reading.entries} == {0}
    assert (LENS.threads(root), codes(reading)) == (["main"], [])
    assert [usage.time_ms for usage in reading.usage] == [
        1735689601000 + 1000 * i for i in range(3)
    ]


def test_a_request_with_a_changed_history_is_of_the_same_conversation() -> None:
    changed = [*TALK[:2], message("tool", gave("x", "cleared"), gave("y", "two")), TALK[3]]
    root = trace(
        asked(1, TALK[:1], **counted(10, 1)),
        asked(2, TALK[:3], **counted(20, 2)),
        asked(3, [*changed, message("user", "on")], **counted(30, 3)),
    )
    reading = LENS.read(root)
    assert LENS.threads(root) == ["main"]
    assert [usage.n for usage in reading.usage] == [1, 6]
    assert codes(reading) == ["off_branch"]


def test_another_agent_that_is_asked_the_same_has_a_conversation_of_its_own() -> None:
    one, other = message("system", "plan"), message("system", "code")
    root = trace(
        asked(1, [one, *TALK[:1]], "planner"),
        asked(2, [other, *TALK[:1]], "coder"),
        asked(3, [one, *TALK[:3]], "planner"),
        asked(4, [other, *TALK[:1], message("assistant", "code")], "coder"),
    )
    assert LENS.threads(root) == ["main", "o2"]
    assert LENS.read(root).overhead.texts == ("plan",)
    assert LENS.of_thread("o2").read(root).overhead.texts == ("code",)


def test_the_main_conversation_is_not_one_that_another_encloses() -> None:
    deep = [message("user", "deep"), message("assistant", "a"), message("user", "b")]
    root = trace(
        asked(1, [message("user", "a title?")]),
        asked(2, TALK[:1]),
        *(asked(3 + i, deep[: i + 1], "sub") for i in range(3)),
        asked(6, TALK[:3]),
    )
    assert shown(LENS.read(root))[0] == ("user", ["go"])
    assert LENS.threads(root) == ["main", "o1", "o3"]


def test_the_same_question_asked_anew_is_another_conversation() -> None:
    again = [TALK[0], message("assistant", "else", call("z")), message("tool", gave("z", "three"))]
    root = trace(asked(1, TALK[:1]), asked(2, TALK[:3]), asked(3, TALK[:1]), asked(4, again))
    assert LENS.threads(root) == ["main", "o3"]


def test_a_request_without_messages_goes_on_with_the_last_of_its_parent() -> None:
    content = {"content": [{"type": "text", "text": "one"}]}
    root = trace(
        asked(1, {"role": "user", "content": "go"}, output=json.dumps(BLOCKS[1]), **counted(10, 1)),
        observation(2, "TOOL", name="bash", output=json.dumps(content)),
        observation(3, "TOOL", name="bash", output="two"),
        asked(4, {"content": "role"}, output="done", **counted(20, 2)),
        observation(5, "TOOL", "elsewhere", name="bash", output="three"),
    )
    reading = LENS.read(root)
    assert [row[0] for row in shown(reading)] == ["user", "assistant", "tool", "tool"]
    assert [(entry.name, entry.body) for entry in kit.tools(reading)] == [
        ("bash", "one"),
        ("bash", "two"),
    ]
    assert [usage.n for usage in reading.usage] == [1, 4]
    edits = [e for r in kit.tools(reading) for e in LENS.rewrite_body(root, r, "gone")]
    new = apply_edits(root, edits)["observations"]
    assert json.loads(new[1]["output"]) == {"content": [{"type": "text", "text": "gone"}]}
    assert new[2]["output"] == "gone"


def test_a_request_of_what_is_new_goes_on_with_the_answer_that_it_answers() -> None:
    root = trace(
        asked(1, TALK[:1], output=json.dumps([TALK[1]]), **counted(10, 1)),
        asked(2, TALK[2:3], "elsewhere", **counted(20, 2)),
    )
    assert shown(LENS.read(root)) == shown(read(asked(1, TALK[:3])))
    assert [usage.n for usage in LENS.read(root).usage] == [1, 4]


COUNTS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "plain": ({"input": 10, "output": 2, "total": 12}, (10, 0, 0, 2)),
    "cached within": (
        {"input": 10, "output": 2, "total": 12, "prompt_details.cache_read": 4},
        (6, 4, 0, 2),
    ),
    "cached beside": (
        {"input": 6, "output": 2, "total": 12, "input_cache_read": 4},
        (6, 4, 0, 2),
    ),
    "thought beside": (
        {"input": 10, "output": 2, "total": 17, "output_reasoning": 5},
        (10, 0, 0, 7),
    ),
    "thought within": (
        {"input": 10, "output": 7, "total": 17, "completion_details.reasoning": 5},
        (10, 0, 0, 7),
    ),
    "thought and not named": ({"input": 10, "output": 2, "total": 20}, (10, 0, 0, 10)),
    "heard beside": (
        {"input": 6, "input_audio": 4, "output": 2, "total": 12},
        (10, 0, 0, 2),
    ),
    "Anthropic's": (
        {
            "input": 3,
            "output": 2,
            "total": 5,
            "cache_read_input_tokens": 40,
            "cache_creation_input_tokens": 7,
        },
        (3, 40, 7, 2),
    ),
    "without a total": ({"input": 10, "output": 2}, (10, 0, 0, 2)),
}


@pytest.mark.parametrize(("details", "wanted"), COUNTS.values(), ids=COUNTS)
def test_counts_have_one_meaning_whoever_wrote_them(details: Any, wanted: Any) -> None:
    for key in ("usageDetails", "usage"):
        [usage] = read(asked(1, CHAT, **{key: details})).usage
        assert numbers(usage) == wanted


def test_system_texts_and_tools_are_found_beside_the_messages() -> None:
    tool = {"name": "bash", "description": "runs", "inputSchema": {"a": 1}}
    texts = ("be brief", "bash", "runs", '{"a":1}')
    instructions = {"gen_ai.system_instructions": [{"type": "text", "content": "be brief"}]}
    metadata = {"tools": [json.dumps(tool)], "attributes": instructions}
    for spelled in (metadata, json.dumps(metadata)):
        assert read(asked(1, CHAT, metadata=spelled)).overhead.texts == texts
    tools = [{"type": "function", "name": "bash", "description": "runs", "parameters": {"a": 1}}]
    answer = {"object": "response", "instructions": "be brief", "tools": tools, "output": []}
    assert read(asked(1, CHAT, output=json.dumps(answer))).overhead.texts == texts


def test_a_trace_without_a_request_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read(observation(1, "SPAN", input="go"))
    assert caught.value.code == "input.shape"
    with pytest.raises(InputError, match="there is no thread 'x'"):
        LENS.of_thread("x").read(trace(asked(1, CHAT)))


def test_whatever_is_broken_is_refused_or_can_be_rewritten() -> None:
    content = json.dumps({"content": [{"type": "text", "text": "one"}]})
    root = trace(
        asked(1, json.dumps(TALK[:1]), output=json.dumps(TALK[1]), metadata={"tools": []}),
        observation(2, "TOOL", name="bash", output=content),
        asked(3, None, model="m", **counted(5, 1)),
        asked(4, [TALK[1], TALK[2]], "p"),
    )
    kit.check_damage(LENS, root)


def test_a_long_trace_is_compacted_inside_its_texts() -> None:
    messages = [message("user", "go é ’")]
    observations = []
    for index in range(12):
        observations.append(asked(index + 1, json.dumps(messages)))
        name = f"c{index}"
        turn = [message("assistant", call(name)), message("tool", gave(name, "out é " * 150))]
        messages = [*messages, *turn]
    data = json.dumps(trace(*observations)).encode()
    before = compactor.load(data)
    out = compactor.compact(before, kit.policy(2500), explain=True)
    elided = [fate.seq for fate in out.fates if fate.fate == "elided"]
    new = out.request.to_bytes()
    after = compactor.load(new)
    assert elided
    assert all(after.entries[seq].body.startswith("[elided 900 chars") for seq in elided)
    old_inputs = [o["input"] for o in json.loads(data)["observations"]]
    new_inputs = [o["input"] for o in json.loads(new)["observations"]]
    assert [a == b for a, b in zip(old_inputs, new_inputs, strict=True)].count(False) == 1
