"""Sessions of Kimi CLI 1: its context and its wire file, over lines of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading
from compactor.formats.harnesses.kimi_legacy import KimiLegacy
from compactor.formats.raw.native import Rows, apply_edits

LENS = KimiLegacy()


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def read(rows: list[Any]) -> Reading:
    return LENS.read(Rows(rows))


# The context.


def called(*names: str) -> dict[str, Any]:
    calls = [
        {"type": "function", "id": name, "function": {"name": "bash", "arguments": given(name)}}
        for name in names
    ]
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": "look"}],
        "tool_calls": calls,
    }


def given(name: str) -> str:
    return json.dumps({"command": name})


def tool(call_id: str, *texts: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {"role": "tool", "content": content, "tool_call_id": call_id}


PROMPT = {"role": "_system_prompt", "content": "be good"}
MARK = {"role": "_checkpoint", "id": 0}
CONTEXT = [
    *(PROMPT, MARK, {"role": "user", "content": "go"}, called("x", "y")),
    *({"role": "_usage", "token_count": 12}, tool("x", "one"), tool("y", "two"), MARK),
    {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
]


def test_a_context_is_what_the_next_request_carries() -> None:
    reading = read(CONTEXT)
    kit.check_same(reading)
    assert reading.overhead.texts == ("be good",)
    assert codes(reading) == ["overhead_partial"]
    assert LENS.threads(CONTEXT) == []


def test_a_context_is_told_by_the_harnesses_own_lines_and_written_back() -> None:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in CONTEXT)
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("kimi-legacy", data)
    assert not LENS.recognises([row for row in CONTEXT if not row["role"].startswith("_")])


def test_thoughts_and_media_of_a_context_are_known() -> None:
    think = {"type": "think", "think": "hm", "encrypted": None}
    film = {"type": "video_url", "video_url": {"url": "ms://1", "id": "1"}}
    said = {"role": "assistant", "content": [think]}
    reading = read([MARK, {"role": "user", "content": [film]}, said])
    kinds = [part.kind for entry in reading.entries for part in entry.parts]
    assert kinds == [PartKind.DOCUMENT, PartKind.REASONING]
    assert codes(reading) == []


def test_a_result_of_a_context_is_rewritten_in_place() -> None:
    root = Rows(CONTEXT)
    new = apply_edits(root, LENS.rewrite_body(root, kit.tools(LENS.read(root))[0], "gone"))
    assert new[5] == tool("x", "gone")


# The wire file.


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": 1774949785.25, "message": {"type": kind, "payload": payload}}


def call(name: str, arguments: str | None = None) -> dict[str, Any]:
    function = {"name": "bash", "arguments": given(name) if arguments is None else arguments}
    return event("ToolCall", type="function", id=name, function=function)


def text(said: str) -> dict[str, Any]:
    return event("ContentPart", type="text", text=said)


def result(call_id: str, output: Any, message: str = "", **more: Any) -> dict[str, Any]:
    value = {"is_error": False, "output": output, "message": message, **more}
    return event("ToolResult", tool_call_id=call_id, return_value=value)


def status(output: int) -> dict[str, Any]:
    counts = {"input_other": 10, "output": output, "input_cache_read": 5}
    return event("StatusUpdate", token_usage={**counts, "input_cache_creation": 2})


def inside(agent: str, inner: dict[str, Any]) -> dict[str, Any]:
    return event("SubagentEvent", agent_id=agent, event=inner["message"])


META = {"type": "metadata", "protocol_version": "1.8"}
STEP = event("StepBegin", n=1)
WIRE = [
    *(META, event("TurnBegin", user_input="go"), STEP, text("lo"), text("ok"), call("x")),
    *(result("x", "one"), call("y"), status(7), result("y", "two"), STEP, text("done")),
    *(status(3), event("TurnEnd")),
]


def test_a_step_is_one_turn_and_its_results_stand_behind_it() -> None:
    reading = read(WIRE)
    kit.check_same(reading)
    assert codes(reading) == []
    found = [(u.n, u.input, u.cache_read, u.cache_write, u.output) for u in reading.usage]
    assert found == [(1, 10, 5, 2, 7), (4, 10, 5, 2, 3)]
    assert {u.time_ms for u in reading.usage} == {1774949785250}


def test_a_wire_file_is_told_by_its_events_and_written_back() -> None:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in WIRE)
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("kimi-legacy", data)


def test_arguments_that_came_in_pieces_are_one_text_that_cannot_be_shortened() -> None:
    piece = event("ToolCallPart", arguments_part='mand": "x"}')
    root = Rows([event("TurnBegin", user_input="go"), call("x", '{"com'), piece])
    entry = LENS.read(root).entries[1]
    assert entry.calls[0].arguments == '{"command":"x"}'
    assert LENS.rewrite_argument(root, entry, 0, ("command",), "gone") == []


def test_what_the_harness_says_of_a_result_is_in_its_body_and_goes_with_it() -> None:
    failed = result("x", [{"type": "text", "text": "no a.py"}], "exit 1", is_error=True)
    root = Rows([event("TurnBegin", user_input="go"), call("x"), failed])
    [entry] = kit.tools(LENS.read(root))
    assert (entry.body, entry.error) == ("exit 1\nno a.py", True)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    [entry] = kit.tools(LENS.read(new))
    assert (entry.body, entry.error) == ("gone", True)


def test_a_sub_agent_is_a_conversation_of_its_own() -> None:
    own = [inside("a1", row) for row in (event("TurnBegin", user_input="look"), text("so"))]
    deep = inside("a1", inside("a2", text("deeper")))
    rows = [*WIRE, *own, inside("a1", status(1)), deep]
    assert LENS.threads(rows) == ["main", "a1", "a2"]
    assert codes(read(rows)) == ["other_threads"]
    assert len(LENS.of_thread("a1").read(Rows(rows)).entries) == 2
    assert [usage.output for usage in LENS.all_usage(rows)] == [7, 3, 1]


def test_what_a_compaction_left_is_in_another_file() -> None:
    reading = read([*WIRE, event("CompactionEnd"), event("TurnBegin", user_input="on")])
    assert [entry.parts[0].text for entry in reading.entries] == ["on"]
    assert codes(reading) == ["before_compaction", "preserved_missing"]
    assert reading.usage == ()


@pytest.mark.parametrize(
    "root",
    [
        None,
        {},
        [],
        [META],
        [{"role": "user", "content": "go"}],
        [{"timestamp": 1, "message": {"type": "TurnBegin"}}],
        [{"type": "user", "message": {"role": "user", "content": "go"}}],
    ],
)
def test_what_is_no_such_session_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_whatever_is_broken_in_a_session_it_is_read_or_refused() -> None:
    kit.check_damage(LENS, Rows(CONTEXT[:6]))
    kit.check_damage(LENS, Rows([*WIRE[:7], inside("a1", text("x"))]))
