"""Cache breakpoints: frontier, anchor and end; placing them; what a cache reads for it."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import compactor
from compactor import Outcome, Policy
from compactor.core.model import Entry
from compactor.formats.providers.anthropic import Anthropic
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.providers.openai_responses import OpenAIResponses
from compactor.formats.raw.edits import apply_edits
from compactor.testing import Conversation
from tests.fakes.agents import Memory, Ran, run_anthropic
from tests.fakes.anthropic_api import check_breakpoints, positions
from tests.fakes.script import SYSTEM, Asked, Turn, turns
from tests.harness import WAYS, Harness, messages, passes, without
from tests.strategies import Case, cases

SMALL = Policy(window=1000, counter="chars4", keep_recent=1)
MARK = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}
EXPLICIT = {"mode": "explicit"}
GIF = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.gif"}}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said} | more


def result(content: Any = "x", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "a", "content": content} | more


# Where an entry ends: Anthropic


def ends(content: Any, role: str = "user") -> list[Any]:
    """The address of the last block of each entry of a message, from the message's own on."""
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    root = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": role, "content": content},
    ]
    lens = Anthropic()
    entries = lens.read(root).entries
    found = [lens.block_at_end(root, entry) for entry in entries[2:]]
    return [at and at[1:] for at in found]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hi", [("content",)]),
        ("", [None]),
        (" \n", [None]),
        ([text("a"), text("b")], [("content", 1)]),
        ([text("a"), text("")], [("content", 0)]),
        ([text("a"), text("  ")], [("content", 0)]),
        ([text("")], [None]),
        ([], [None]),
        ([text("a"), GIF], [("content", 1)]),
        ([GIF, text("")], [("content", 0)]),
        ([{"type": "x_new"}], [None]),
        ([text("a"), {"type": "x_new"}], [("content", 0)]),
        ([result()], [("content", 0)]),
        ([result([])], [("content", 0)]),
        ([result(), result()], [("content", 0), ("content", 1)]),
        ([result(), text("then")], [("content", 0), ("content", 1)]),
        ([result(), text("a"), text("b"), GIF], [("content", 0), ("content", 3)]),
        ([text("a"), result()], [("content", 0), ("content", 1)]),
        ([text("a"), result(), text("b")], [None, ("content", 1), None]),
    ],
)
def test_an_entry_ends_in_its_last_block_that_may_have_a_breakpoint(
    content: Any, expected: list[Any]
) -> None:
    assert ends(content) == expected


def test_a_model_turn_has_no_place_and_a_system_message_has_one() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    root = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [text("a"), thinking]},
        {"role": "user", "content": "on"},
        {"role": "system", "content": "a note"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "on"},
        {"role": "system", "content": [text("another")]},
    ]
    lens = Anthropic()
    found = [lens.block_at_end(root, entry) for entry in lens.read(root).entries]
    assert found == [
        (0, "content"),
        None,
        (2, "content"),
        (3, "content"),
        None,
        (5, "content"),
        (6, "content", 0),
    ]


# Where an entry ends: OpenAI


def test_chat_messages_end_in_their_last_part() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.gif"}}
    root = [
        {"role": "user", "content": [text("a"), picture]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "assistant", "content": "b", "function_call": {"name": "f", "arguments": ""}},
        {"role": "function", "name": "f", "content": "y"},
        {"role": "user", "content": [text("a"), text("")]},
        {"role": "developer", "content": "c"},
        {"role": "user", "content": ""},
    ]
    lens = OpenAIChat()
    found = [lens.block_at_end(root, entry) for entry in lens.read(root).entries]
    assert found == [
        (0, "content", 1),
        None,
        (2, "content"),
        None,
        None,
        (5, "content", 0),
        (6, "content"),
        None,
    ]


def test_items_of_responses_end_in_their_last_part() -> None:
    root = [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "id": "fc_a"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
        {"type": "custom_tool_call", "call_id": "b", "name": "g", "input": "x"},
        {
            "type": "custom_tool_call_output",
            "call_id": "b",
            "output": [{"type": "input_text", "text": "x"}, {"type": "input_image"}],
        },
        {"type": "local_shell_call", "id": "c", "call_id": "c", "action": {}},
        {"type": "local_shell_call_output", "id": "c", "output": "{}"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
    ]
    lens = OpenAIResponses()
    found = [lens.block_at_end(root, entry) for entry in lens.read(root).entries]
    assert found == [
        (0, "content"),
        None,
        (2, "output"),
        None,
        (4, "output", 1),
        None,
        None,
        (7, "content", 0),
    ]


# Setting one: Anthropic


def body(*more: Any, **fields: Any) -> dict[str, Any]:
    """A request of a call, its result and more of the person's."""
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    return {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result(), *more]},
        ]
    } | fields


FIRST, LAST = ("messages", 0, "content"), ("messages", 2, "content", 0)


def placed(root: Any, at: Any) -> Any:
    return apply_edits(root, Anthropic().place_breakpoint(root, at))


def test_a_text_becomes_a_block_and_a_block_gets_a_key() -> None:
    assert placed(body(), FIRST)["messages"][0]["content"] == [text("go", cache_control=MARK)]
    assert placed(body(), LAST)["messages"][2]["content"] == [result(cache_control=MARK)]


def test_where_one_stands_nothing_is_done() -> None:
    root = body()
    root["messages"][2]["content"][0]["cache_control"] = LONG
    assert Anthropic().place_breakpoint(root, LAST) == []
    assert Anthropic().place_breakpoint(body(cache_control=LONG), LAST) == []


@pytest.mark.parametrize(
    ("fields", "at", "expected"),
    [
        ({}, FIRST, MARK),
        ({"system": [text("s", cache_control=LONG)]}, FIRST, MARK),
        ({"tools": [{"name": "f", "cache_control": LONG}]}, LAST, MARK),
        ({"cache_control": MARK}, FIRST, MARK),
        ({"cache_control": LONG}, FIRST, LONG),
    ],
)
def test_a_breakpoint_lives_as_long_as_those_behind_it_and_no_longer(
    fields: Any, at: Any, expected: Any
) -> None:
    root = placed(body(**fields), at)
    block = root["messages"][at[1]]["content"]
    assert block[0]["cache_control"] == expected
    check_breakpoints(root | {"system": fields.get("system", "")})


def test_a_long_breakpoint_in_a_later_message_or_inside_a_later_result_is_behind() -> None:
    later = body(text("b", cache_control=LONG))
    inside = body()
    inside["messages"][2]["content"][0]["content"] = [text("x", cache_control=LONG)]
    for root in (later, inside):
        assert placed(root, FIRST)["messages"][0]["content"][0]["cache_control"] == LONG
        assert placed(root, LAST)["messages"][2]["content"][0]["cache_control"] == LONG


def test_breakpoints_are_counted_where_they_are_breakpoints() -> None:
    root = body(
        text("b", cache_control=MARK),
        tools=[
            {
                "name": "f",
                "cache_control": MARK,
                "input_schema": {"properties": {"cache_control": {"type": "object"}}},
            }
        ],
        system=[text("s", cache_control=MARK), text("t", cache_control=None)],
        cache_control=MARK,
    )
    root["messages"][1]["content"][0]["input"] = {"cache_control": MARK}
    root["messages"][2]["content"][0]["content"] = [text("x", cache_control=MARK)]
    assert Anthropic().breakpoints(root) == 5
    assert Anthropic().breakpoints(root["messages"]) == 2
    assert Anthropic().breakpoints(body(system="s")) == 0


# Whole requests


def talk(**more: Any) -> Conversation:
    """Two results that go, and one behind them."""
    return (
        Conversation(**more)
        .user("go")
        .call("bash", result="w" * 40)
        .call("bash", result="x" * 1600)
        .call("bash", result="y" * 400)
        .assistant("ok")
        .user("u" * 1600)
    )


def place(request: Any, policy: Policy = SMALL, **settings: Any) -> Outcome:
    return compactor.compact(request, policy, place_breakpoints=True, **settings)


def marked(request: Any, key: str = "cache_control") -> list[Any]:
    """Messages that have breakpoints, with what lies at them."""
    return [
        (index, block.get("text", block.get("content", block.get("output"))))
        for index, message in enumerate(messages(request))
        for name in ("content", "output")
        if isinstance(message.get(name), list)
        for block in message[name]
        if isinstance(block, dict) and block.get(key)
    ]


def codes(outcome: Outcome) -> list[str]:
    return [f.code for f in outcome.report.findings if f.code.startswith("breakpoints")]


def test_a_pass_has_its_frontier_anchor_and_end_in_the_report_and_in_the_request() -> None:
    out = place(talk(system="s").anthropic())
    report = out.report
    assert (report.passes[0]["elided"], report.cutoff) == ([4, 6], 8)
    assert report.frontier == {"seq": 2, "path": "$.messages[2].content[0]"}
    assert report.anchor == {"seq": 6, "path": "$.messages[6].content[0]"}
    assert marked(out.request) == [
        (2, "w" * 40),
        (6, "[elided 400 chars of bash output]"),
        (8, "u" * 1600),
    ]
    assert codes(out) == []


def test_without_a_pass_the_frontier_is_the_end_of_the_request_before() -> None:
    request = talk(system="s").upto(5).anthropic()
    out = place(request)
    assert out.report.frontier == {"seq": 2, "path": "$.messages[2].content[0]"}
    assert out.report.anchor is None
    assert [index for index, _ in marked(out.request)] == [2, 4]


def test_a_first_request_has_no_frontier() -> None:
    out = place(Conversation(system="s").user("go").anthropic())
    assert (out.report.frontier, out.report.anchor) == (None, None)
    assert marked(out.request) == [(0, "go")]


def test_an_empty_conversation_has_no_places() -> None:
    out = place({"messages": []}, format="anthropic")
    assert (out.report.frontier, out.report.anchor, codes(out)) == (None, None, [])


@pytest.mark.parametrize(
    ("used", "expected", "finding"),
    [
        (0, [2, 6, 8], []),
        (1, [2, 6, 8], []),
        (2, [2, 6], ["breakpoints_not_placed"]),
        (3, [2], ["breakpoints_not_placed"]),
        (4, [], ["breakpoints_not_placed"]),
    ],
)
def test_the_limit_holds_and_the_frontier_comes_first(
    used: int, expected: list[int], finding: list[str]
) -> None:
    tools = [{"name": f"t{n}", "description": "d", "parameters": {}} for n in range(4)]
    request = talk(system="s", tools=tools).anthropic()
    for tool in request["tools"][:used]:
        tool["cache_control"] = MARK
    out = place(request)
    assert [index for index, _ in marked(out.request)] == expected
    assert codes(out) == finding
    check_breakpoints(out.request)


def test_a_harness_that_marks_the_end_itself_leaves_room_for_the_others() -> None:
    request = talk(system="s").anthropic()
    request["messages"][-1]["content"] = [text("u" * 1600, cache_control=MARK)]
    request["system"] = [text("s", cache_control=MARK)]
    out = place(request)
    assert ([index for index, _ in marked(out.request)], codes(out)) == ([2, 6, 8], [])
    assert out.request["messages"][-1] is request["messages"][-1]


def test_a_bare_list_is_marked_and_what_is_elsewhere_is_said() -> None:
    out = place(talk().anthropic()["messages"])
    assert [index for index, _ in marked(out.request)] == [2, 6, 8]
    assert codes(out) == ["breakpoints_elsewhere"]


def test_formats_and_models_without_breakpoints_are_said() -> None:
    entries = place(talk().entries())
    assert codes(entries) == ["breakpoints_not_placed"]
    for model in ("deepseek-v4-pro", "gpt-5.4", "claude-opus-4-6"):
        request = talk(model=model).openai_chat()
        out = place(request)
        assert codes(out) == ["breakpoints_not_placed"]
        assert marked(out.request, "prompt_cache_breakpoint") == []
    unknown = place(talk(model="my-model").openai_chat())
    assert len(marked(unknown.request, "prompt_cache_breakpoint")) == 3


def test_chat_has_breakpoints_on_parts_and_an_elided_result_stays_elided() -> None:
    request = talk(model="gpt-5.6-sol").openai_chat()
    out = place(request)
    part = text("[elided 400 chars of bash output]", prompt_cache_breakpoint=EXPLICIT)
    assert out.request["messages"][6]["content"] == [part]
    assert out.report.anchor == {"seq": 6, "path": "$.messages[6].content"}
    assert [index for index, _ in marked(out.request, "prompt_cache_breakpoint")] == [2, 6, 8]
    again = place(out.request, journal=out.journal)
    assert (again.request, again.journal) == (out.request, out.journal)


def test_responses_have_breakpoints_on_outputs_and_messages() -> None:
    request = talk(model="gpt-5.6-sol").write("openai-responses")
    out = place(request)
    kinds = [
        (out.request["input"][index].get("type", "message"), said)
        for index, said in marked(out.request, "prompt_cache_breakpoint")
    ]
    assert kinds == [
        ("function_call_output", "w" * 40),
        ("function_call_output", "[elided 400 chars of bash output]"),
        ("message", "u" * 1600),
    ]
    part = {"type": "input_text", "text": "w" * 40, "prompt_cache_breakpoint": EXPLICIT}
    outputs = [item["output"] for item in out.request["input"] if "output" in item]
    assert outputs[0] == [part]


@pytest.mark.parametrize("format_name", ["anthropic", "openai-chat", "openai-responses"])
def test_a_file_is_marked_as_a_request_is_and_keeps_its_spelling(format_name: str) -> None:
    request = talk(model="gpt-5.6-sol" if "openai" in format_name else "").write(format_name)
    data = json.dumps(request, indent=3).encode() + b"\n"
    out = place(compactor.load(data, format_name))
    as_request = place(request, format=format_name)
    assert json.loads(out.request.to_bytes()) == as_request.request
    assert out.request.view() == as_request.request
    plain = compactor.compact(compactor.load(data, format_name), SMALL).request.to_bytes()
    lines = out.request.to_bytes().splitlines()
    assert len([line for line in plain.splitlines() if line not in lines]) <= 9


def test_nothing_is_marked_unless_asked_for() -> None:
    out = compactor.compact(talk(system="s").anthropic(), SMALL)
    assert "cache_control" not in json.dumps(out.request)


# What holds for all conversations


@given(cases("anthropic"), st.sampled_from(WAYS))
def test_placing_changes_nothing_but_breakpoints_and_never_exceeds_the_limit(
    case: Case, way: str
) -> None:
    plain, with_marks = Harness(case, way), Harness(case, way, place_breakpoints=True)
    for count in case.talk.boundaries:
        sent, other = plain.send(count), with_marks.send(count)
        assert other.outcome.journal == sent.outcome.journal
        assert other.outcome.report.frontier == sent.outcome.report.frontier
        assert unmarked(other.shown) == unmarked(sent.shown)
        check_breakpoints(other.shown)
        event(f"{json.dumps(other.shown).count('cache_control')} breakpoints")


def unmarked(native: Any) -> Any:
    """Without breakpoints, and texts as blocks, which is what a text becomes for one."""
    native = without(native, "cache_control")
    return [
        {**message, "content": [text(content)] if isinstance(content, str) else content}
        for message in messages(native)
        for content in [message["content"]]
    ]


@given(cases("anthropic"))
def test_the_frontier_ends_what_an_earlier_request_wrote_and_the_anchor_what_passes_leave(
    case: Case,
) -> None:
    """Prefixes by what was sent up to each place that had a breakpoint then."""
    harness = Harness(case)
    written: set[str] = set()
    last: tuple[str, int, str] | None = None
    for count in case.talk.boundaries:
        sent = harness.send(count)
        report, entries = sent.outcome.report, Anthropic().read(sent.shown).entries
        if report.frontier is not None and case.talk.boundaries[0] == 1:
            event("a frontier after a pass" if report.passes else "a frontier")
            assert _prefix(entries, report.frontier["seq"]) in written
        if last is not None and last[2] == report.tier:
            assert _prefix(entries, last[1]) == last[0]
        last = None
        if report.anchor is not None:
            seq = report.anchor["seq"]
            last = (_prefix(entries, seq), seq, report.tier)
            written.add(_prefix(entries, seq))
        ends = [seq for seq in range(len(entries)) if _ends_here(sent.shown, entries, seq)]
        written |= {_prefix(entries, seq) for seq in ends[-1:]}


def _ends_here(root: Any, entries: list[Entry], seq: int) -> bool:
    return Anthropic().block_at_end(root, entries[seq]) is not None


def _prefix(entries: list[Entry], seq: int) -> str:
    facts = [(e.kind, e.parts, [c[:3] for c in e.calls], e.body) for e in entries[: seq + 1]]
    return repr(facts)


# What a cache reads


def agent(**settings: Any) -> Ran:
    """The agent of forty turns with a prompt cache, without thinking."""
    request = {"system": SYSTEM * 5} | settings.pop("request", {})
    policy = Policy(window=9000, counter="chars4", keep_recent=4)
    memory = Memory(policy, keeps_journal=True, **settings)
    return run_anthropic(turns(), memory, model="claude-opus-4-6", binds=False, **request)


AUTOMATIC = {"cache_control": MARK}


def test_a_pass_reads_the_prefix_it_left_with_breakpoints_placed_and_nothing_without() -> None:
    alone = agent(request=AUTOMATIC)
    helped = agent(request=AUTOMATIC, place_breakpoints=True)
    assert helped.memory.passes == alone.memory.passes
    assert len(helped.memory.passes) == 4
    at = [made["request"] - 1 for made in helped.memory.passes]
    read = [helped.fake.usages[n]["cache_read_input_tokens"] for n in at]
    unchanged = [_unchanged(helped.fake.requests[n - 1], helped.fake.requests[n]) for n in at]
    assert [alone.fake.usages[n]["cache_read_input_tokens"] for n in at] == [0, 0, 0, 0]
    for tokens, prefix in zip(read, unchanged, strict=True):
        assert prefix * 0.85 <= tokens <= prefix
    sums = [
        sum(usage["cache_creation_input_tokens"] for usage in ran.fake.usages)
        for ran in (alone, helped)
    ]
    assert sums[1] < 0.7 * sums[0]


def _unchanged(before: Any, after: Any) -> int:
    """Tokens of what two requests have in common at their beginning, as the fake counts them."""
    keys, sizes, _ = positions(after)
    old = positions(before)[0]
    same = [size for key, other, size in zip(keys, old, sizes, strict=False) if key == other]
    return same[-1]


def test_all_other_requests_read_what_the_one_before_wrote() -> None:
    for ran in (agent(request=AUTOMATIC, place_breakpoints=True), agent(place_breakpoints=True)):
        passed = {made["request"] - 1 for made in ran.memory.passes}
        for n, (before, usage) in enumerate(pairwise(ran.fake.usages), 1):
            if n not in passed:
                whole = before["cache_read_input_tokens"] + before["cache_creation_input_tokens"]
                assert usage["cache_read_input_tokens"] == whole
        assert all(usage["input_tokens"] == 0 for usage in ran.fake.usages)


def test_a_step_of_more_blocks_than_the_provider_looks_back_is_read_over() -> None:
    """Twelve calls at once are 24 blocks: the end alone does not reach back."""
    read = []
    for settings in ({}, {"place_breakpoints": True}):
        many = tuple(Asked("bash", {"step": str(n)}, "r" * 40) for n in range(12))
        script = [Turn((), "a" * 3000, many[:1]), Turn((), "", many), Turn((), "done")]
        memory = Memory(Policy(window=10**5, counter="chars4"), keeps_journal=True, **settings)
        ran = run_anthropic(
            script, memory, model="claude-opus-4-6", binds=False, system=SYSTEM * 5, **AUTOMATIC
        )
        read.append(ran.fake.usages[-1]["cache_read_input_tokens"])
    assert read[0] == 0 < read[1]


def test_the_callers_own_objects_stay_as_they_are() -> None:
    request = talk(system="s").anthropic()
    before = copy.deepcopy(request)
    out = place(request)
    assert request == before
    assert len(passes(out)) == 1
