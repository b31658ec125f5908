"""ATIF trajectories: every recorded file against its raw steps, and a rule a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, numbers, shown

import compactor
from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading, Usage
from compactor.formats.datasets.atif import Atif
from compactor.formats.raw.native import Rows, apply_edits

LENS = Atif()
each_file = pytest.mark.parametrize("path", kit.files("atif"), ids=lambda path: path.stem)


def raw(path: Path) -> Json:
    root: Json = json.loads(path.read_text("utf-8"))
    return root


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("atif", data)


@each_file
def test_usage_is_that_of_every_step(path: Path) -> None:
    root = raw(path)
    metrics = [step["metrics"] for step in root["steps"] if step.get("metrics")]
    wanted = [(m["prompt_tokens"], 0, 0, m["completion_tokens"]) for m in metrics]
    assert [numbers(usage) for usage in LENS.all_usage(root)] == wanted
    assert [numbers(usage) for usage in LENS.read(root).usage] == wanted
    if not any(step.get("is_copied_context") for step in root["steps"]):
        totals = root["final_metrics"]
        assert sum(m["prompt_tokens"] for m in metrics) == totals["total_prompt_tokens"]


@each_file
def test_results_are_those_of_the_steps_in_order(path: Path) -> None:
    wanted = [
        (result.get("source_call_id") or "", result["content"])
        for step in raw(path)["steps"]
        for result in (step.get("observation") or {}).get("results", ())
        if result.get("content") is not None
    ]
    found = kit.tools(LENS.read(raw(path)))
    assert [(entry.call_id, entry.body) for entry in found] == wanted


@each_file
def test_rewriting_one_result_changes_one_step(path: Path) -> None:
    kit.check_one_change(path, "atif")


@each_file
def test_a_recording_is_compacted_at_three_windows(path: Path) -> None:
    kit.check_compacts(path, "atif")


def test_recordings_have_something_to_elide() -> None:
    """So that the test above compares something; they are short."""
    paths = kit.files("atif")
    assert not paths or sum(kit.check_compacts(path, "atif") for path in paths) > 0


# Trajectories, as small as they can be.


def step(source: str, message: Any, **more: Any) -> Json:
    return {"source": source, "message": message, **more}


def call(key: str, name: str = "bash") -> Json:
    return {"tool_call_id": key, "function_name": name, "arguments": {"command": key}}


def given(*results: Any) -> Json:
    return {"results": [r if isinstance(r, dict) else {"content": r} for r in results]}


def answered(key: str, content: Any, **more: Any) -> Json:
    return {"source_call_id": key, "content": content, **more}


def acted(message: Any, *calls: Json, results: Any = None, **more: Any) -> Json:
    about = {"tool_calls": [*calls]} if calls else {}
    about |= {} if results is None else {"observation": results}
    return step("agent", message, **about, **more)


def trajectory(*steps: Any, **more: Any) -> Json:
    numbered = [{"step_id": i, **each} for i, each in enumerate(steps, 1)]
    agent = {"name": "a", "version": "1", "model_name": "m"}
    return {"schema_version": "ATIF-v1.7", "agent": agent, "steps": numbered, **more}


def read(*steps: Any, **more: Any) -> Reading:
    return LENS.read(trajectory(*steps, **more))


REPLACED = {"context_management": {"type": "compaction", "boundary": "replace"}}


def test_leading_system_steps_and_tools_are_overhead() -> None:
    root = trajectory(step("system", "be brief"), step("user", "go"), step("system", "note"))
    assert LENS.read(root).overhead.known is False
    root["agent"]["tool_definitions"] = [{"type": "function", "function": {"name": "t"}}]
    reading = LENS.read(root)
    assert (reading.overhead.texts, reading.overhead.known) == (("be brief", "t"), True)
    assert shown(reading) == [("user", ["go"]), ("system", ["note"])]


def test_as_many_results_as_calls_answer_them_in_order() -> None:
    reading = read(step("user", "go"), acted("", call("x"), call("y"), results=given("1", "2")))
    assert shown(reading)[2:] == [("tool", "x", "1"), ("tool", "y", "2")]
    assert codes(reading) == []


def test_one_result_of_several_calls_stands_for_the_first_and_answers_all() -> None:
    calls = (call("x", "bash"), call("y", "bash"), call("z", "done"))
    reading = read(step("user", "go"), acted("", *calls, results=given("all")))
    (entry,) = kit.tools(reading)
    assert (entry.call_id, entry.name, entry.body) == ("x", "bash", "all")
    assert codes(reading) == []


def test_results_with_and_without_ids_find_their_calls() -> None:
    results = given(answered("y", "2"), "1")
    reading = read(step("user", "go"), acted("", call("x"), call("y"), results=results))
    assert shown(reading)[2:] == [("tool", "y", "2"), ("tool", "x", "1")]
    assert codes(reading) == []


def test_a_step_without_calls_may_have_a_result() -> None:
    reading = read(step("user", "go"), acted("```ls```", results=given("one")))
    (entry,) = kit.tools(reading)
    assert (entry.call, entry.body, codes(reading)) == (None, "one", [])


def test_calls_without_and_results_with_unknown_calls_are_said() -> None:
    reading = read(step("user", "go"), acted("", call("x"), results=given(answered("z", "2"))))
    assert codes(reading) == ["orphan_result", "unanswered_call"]
    assert [finding.path for finding in reading.findings] == [
        "$.steps[1].observation.results[0]",
        "$.steps[1].tool_calls[0]",
    ]


def test_contents_may_be_parts() -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    sound = {"type": "audio", "source": {"media_type": "audio/wav", "path": "1.wav"}}
    words = {"type": "text", "text": "one"}
    root = trajectory(
        step("user", [{"type": "text", "text": "go"}, picture]),
        acted("", call("x"), results=given(answered("x", [words, picture, sound]))),
    )
    user, _, tool = LENS.read(root).entries
    assert [part.kind for part in user.parts] == [PartKind.TEXT, PartKind.IMAGE]
    assert (tool.body, [part.kind for part in tool.parts]) == (
        "one",
        [PartKind.IMAGE, PartKind.DOCUMENT],
    )
    changed = apply_edits(root, LENS.rewrite_body(root, tool, "gone"))
    result = changed["steps"][1]["observation"]["results"][0]
    assert result == answered("x", [{"type": "text", "text": "gone"}])


def test_reasoning_is_a_part_of_the_turn_and_errors_are_flagged() -> None:
    result = answered("x", "no", extra={"is_error": True})
    reading = read(
        step("user", "go"), acted("", call("x"), reasoning_content="hm", results=given(result))
    )
    assert reading.entries[1].parts[0].kind is PartKind.REASONING
    assert reading.entries[2].error


def test_steps_of_one_response_are_one_turn() -> None:
    reading = read(step("user", "go"), acted("a"), acted("b", call("x"), results=given("1")))
    assert shown(reading)[1] == ("assistant", ["a", "b"], ["x"])


def test_a_replaced_context_hides_what_lies_before_it() -> None:
    summary = step("system", "Compacted.", extra=REPLACED, observation=given("what was done"))
    reading = read(
        step("system", "be brief"),
        step("user", "go"),
        acted("a", metrics={"prompt_tokens": 9}),
        summary,
        step("user", "on"),
        acted("b", metrics={"prompt_tokens": 5}),
    )
    assert reading.overhead.texts == ("be brief",)
    assert shown(reading) == [
        ("system", ["what was done"]),
        ("user", ["on"]),
        ("assistant", ["b"], []),
    ]
    assert ([(u.n, u.input) for u in reading.usage], codes(reading)) == (
        [(2, 5)],
        ["before_compaction"],
    )
    assert len(LENS.all_usage(trajectory(acted("a", metrics={"prompt_tokens": 9}), summary))) == 1


def test_a_trajectory_that_ends_with_it_goes_on_elsewhere() -> None:
    refs = [{"session_id": "s", "trajectory_path": "summary.json"}]
    handoff = step("system", "Handed over.", extra=REPLACED)
    handoff["observation"] = {"results": [{"subagent_trajectory_ref": refs}]}
    reading = read(step("user", "go"), handoff, continued_trajectory_ref="next.json")
    assert shown(reading) == [("user", ["go"])]
    assert codes(reading) == ["subagents_elsewhere", "continued_elsewhere"]


def test_copied_context_is_read_and_not_counted_again() -> None:
    metrics = {"prompt_tokens": 9, "completion_tokens": 1}
    root = trajectory(
        step("user", "go", is_copied_context=True),
        acted("a", is_copied_context=True, metrics=metrics),
        step("user", "on"),
        acted("b", metrics=metrics),
    )
    assert [usage.n for usage in LENS.read(root).usage] == [3]
    assert len(LENS.all_usage(root)) == 1


def test_prompts_hold_what_was_cached_and_steps_may_be_several_requests() -> None:
    metrics = {
        "prompt_tokens": 100,
        "cached_tokens": 60,
        "completion_tokens": 7,
        "extra": {"cache_creation_input_tokens": 30},
    }
    turn = acted("a", metrics=metrics, llm_call_count=3, timestamp="1970-01-01T00:00:02Z")
    (usage,) = read(step("user", "go"), turn).usage
    assert usage == Usage(1, 10, 60, 30, 7, "m", time_ms=2000, requests=3)
    beside = trajectory(step("user", "go"), turn)
    beside["agent"]["name"] = "opencode"
    assert LENS.read(beside).usage[0].input == 40


def test_sums_stand_in_where_no_step_is_counted() -> None:
    totals = {
        "total_prompt_tokens": 100,
        "total_cached_tokens": 60,
        "total_completion_tokens": 7,
    }
    root = trajectory(step("user", "go"), acted("a"), acted("b"), final_metrics=totals)
    assert LENS.all_usage(root) == [Usage(0, 40, 60, 0, 7, "m", requests=2)]


def test_embedded_subagents_are_threads() -> None:
    inner = trajectory(step("user", "inner"), trajectory_id="sub-2")
    outer = trajectory(step("user", "sub"), trajectory_id="sub-1", subagent_trajectories=[inner])
    root = trajectory(step("user", "go"), subagent_trajectories=[outer, {"odd": 1}])
    assert LENS.threads(root) == ["main", "sub-1", "sub-2"]
    assert shown(LENS.of_thread("sub-2").read(root)) == [("user", ["inner"])]
    assert codes(LENS.read(root)) == ["other_threads"]
    with pytest.raises(InputError, match="no thread"):
        LENS.of_thread("sub-3").read(root)


def test_several_trajectories_of_a_file_are_threads() -> None:
    natives = [trajectory(step("user", "a"), trajectory_id="196"), trajectory(step("user", "b"))]
    for root in (natives, Rows(natives)):
        assert LENS.threads(root) == ["196", "run-2"]
        assert shown(LENS.read(root)) == [("user", ["a"])]
        assert shown(LENS.of_thread("run-2").read(root)) == [("user", ["b"])]


def test_the_same_conversation_has_the_same_entries() -> None:
    results = given(answered("x", "one"), answered("y", "two"))
    turn = acted("look", call("x"), call("y"), results=results)
    kit.check_same(read(step("user", "go"), turn, acted("done")))


def test_what_is_no_trajectory_is_not_read() -> None:
    roots = ([], {}, None, {"schema_version": "ATIF-v1.7"}, {"steps": []}, [5])
    for root in (*roots, {"schema_version": "v2", "steps": []}):
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    results = given(answered("x", "one"), "two", {"subagent_trajectory_ref": [{}]})
    turn = acted("a", call("x"), call("y"), results=results, metrics={"prompt_tokens": 5})
    root = trajectory(step("system", "s"), step("user", "go"), turn, step("user", "on"))
    root["steps"][1]["extra"] = REPLACED
    kit.check_damage(LENS, root)
    kit.check_damage(LENS, trajectory(step("user", "go"), subagent_trajectories=[root]))
