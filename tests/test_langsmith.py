"""LangSmith runs: lists, lines and trees of them, and a rule a test."""

from __future__ import annotations

from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import codes, numbers, shown
from otel_kit import CHAT
from test_langchain import TALK, constructed, used

import compactor
from compactor.core.errors import InputError
from compactor.formats import detect
from compactor.formats.raw.native import Rows, apply_edits
from compactor.formats.traces.langsmith import LangSmith

LENS = LangSmith()
MESSAGES = [constructed(message) for message in TALK]


def run(
    at: int, kind: str, inputs: Any, outputs: Any = None, parent: str = "r", **more: Any
) -> Any:
    times = {"start_time": f"2025-01-01T00:00:{at:02}", "end_time": f"2025-01-01T00:00:{at:02}.5"}
    fields = {"inputs": inputs, "outputs": outputs, **times}
    return {"id": f"o{at}", "run_type": kind, "parent_run_id": parent, **fields, **more}


def asked(at: int, messages: Any, answer: Any = None, **more: Any) -> Any:
    outputs = None if answer is None else {"generations": [[{"text": "", "message": answer}]]}
    return run(at, "llm", {"messages": [messages]}, outputs, **more)


def test_a_conversation_is_read_in_the_shape_of_langchain_or_of_a_provider() -> None:
    for root in ([asked(1, MESSAGES)], [run(1, "llm", {"messages": CHAT, "model": "m"})]):
        assert detect(root).name == "langsmith"
        reading = LENS.read(root)
        kit.check_same(reading)
        new = apply_edits(root, LENS.rewrite_body(root, kit.tools(reading)[0], "gone"))
        assert kit.tools(LENS.read(new))[0].body == "gone"


def test_runs_are_found_in_lists_lines_and_trees() -> None:
    runs = [asked(1, MESSAGES[:1]), asked(2, MESSAGES)]
    tree = run(0, "chain", {}, parent="") | {"child_runs": runs}
    for root in (runs, Rows(runs), {"runs": runs}, tree, [tree]):
        assert detect(root).name == "langsmith"
        kit.check_same(LENS.read(root))
        assert LENS.threads(root) == ["main"]


def test_usage_is_that_of_the_answer_the_outputs_or_the_run() -> None:
    answer = constructed(TALK[4] | {"usage_metadata": used(10, 2, cache_read=4)})
    counts = {"prompt_tokens": 7, "completion_tokens": 1}
    root = [
        asked(1, MESSAGES[:1], answer, extra={"metadata": {"ls_model_name": "m"}}),
        run(2, "llm", {"messages": MESSAGES}, {"llm_output": {"token_usage": counts}}),
        run(3, "llm", {"messages": MESSAGES}, {"usage_metadata": used(5, 1)}),
        asked(4, MESSAGES, total_tokens=8, **counts),
    ]
    reading = LENS.read(root)
    assert [(usage.n, *numbers(usage)) for usage in reading.usage] == [
        *((1, 6, 4, 0, 2), (5, 7, 0, 0, 1)),
        *((5, 5, 0, 0, 1), (5, 7, 0, 0, 1)),
    ]
    assert [numbers(usage) for usage in LENS.all_usage(root)] == [
        numbers(usage) for usage in reading.usage
    ]
    assert reading.usage[0].time_ms == 1735689601500
    assert reading.model == "m"


def test_what_tools_gave_is_found_in_their_own_runs_where_requests_say_nothing() -> None:
    result = {"output": {"type": "tool", "tool_call_id": "x", "content": "one", "status": "error"}}
    root = [
        asked(1, MESSAGES[:1], MESSAGES[1]),
        run(2, "tool", {"command": "x"}, result, name="bash"),
        run(3, "tool", {"command": "y"}, {"output": "two"}, name="bash"),
        run(4, "llm", {}),
    ]
    reading = LENS.read(root)
    assert shown(reading)[2:] == [("tool", "x", "one"), ("tool", "", "two")]
    assert [(entry.name, entry.error) for entry in kit.tools(reading)] == [
        ("bash", True),
        ("bash", False),
    ]
    edits = [e for r in kit.tools(reading) for e in LENS.rewrite_body(root, r, "gone")]
    new = apply_edits(root, edits)
    assert new[1]["outputs"]["output"]["content"] == "gone"
    assert new[2]["outputs"]["output"] == "gone"


def test_a_subagents_conversation_is_a_thread_of_its_own() -> None:
    other = [constructed({"type": "human", "content": "look it up"})]
    root = [asked(1, MESSAGES[:1]), asked(2, other, parent="tool"), asked(3, MESSAGES)]
    assert codes(LENS.read(root)) == ["other_threads"]
    assert LENS.threads(root) == ["main", "o2"]
    assert shown(LENS.of_thread("o2").read(root)) == [("user", ["look it up"])]


def test_system_texts_and_tools_are_overhead() -> None:
    tool = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}
    extra = {"extra": {"invocation_params": {"tools": [tool], "model": "m"}}}
    system = constructed({"type": "system", "content": "be brief"})
    reading = LENS.read([asked(1, [system, *MESSAGES], **extra)])
    assert reading.overhead.texts == ("be brief", "f", "d", "{}")
    assert reading.model == "m"


@pytest.mark.parametrize(
    "root",
    [
        [],
        [run(1, "x", {})],
        [{"run_type": "llm"}],
        {"runs": []},
        5,
    ],
)
def test_what_is_no_run_is_not_claimed(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError):
        LENS.read(root)


def test_whatever_is_broken_is_refused_or_can_be_rewritten() -> None:
    root = [
        asked(1, MESSAGES[:1], MESSAGES[1], extra={"metadata": {}}),
        run(2, "tool", {}, {"output": MESSAGES[2]}, name="bash"),
        run(3, "llm", {"messages": CHAT[:3]}) | {"child_runs": [run(4, "llm", {})]},
    ]
    kit.check_damage(LENS, root)


def test_a_tree_is_compacted_in_place() -> None:
    calls = [constructed(m) for i in range(12) for m in _step(f"c{i}")]
    root = run(0, "chain", {}) | {"child_runs": [asked(1, [MESSAGES[0], *calls])]}
    out = compactor.compact(root, kit.policy(2500), explain=True)
    elided = [fate.seq for fate in out.fates if fate.fate == "elided"]
    new = LENS.read(out.request).entries
    assert elided
    assert all(new[seq].body.startswith("[elided 800 chars") for seq in elided)


def _step(name: str) -> list[dict[str, Any]]:
    made = {"name": "bash", "args": {"command": name}, "id": name}
    result = {"type": "tool", "content": "out " * 200, "tool_call_id": name}
    return [{"type": "ai", "content": "", "tool_calls": [made]}, result]
