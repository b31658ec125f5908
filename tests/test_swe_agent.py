"""SWE-agent: what was sent, what is a result, attempts and subroutines; runs of Nebius."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Kind, Reading, Usage
from compactor.formats.harnesses.swe_agent import SweAgent
from compactor.formats.harnesses.swe_agent_nebius import SweAgentNebius
from compactor.formats.raw.native import apply_edits

Json = dict[str, Any]
LENS, NEBIUS = SweAgent(), SweAgentNebius()
FILES = sorted((kit.RECORDED / "swe-agent").glob("*.traj"))
RUNS = kit.files("swe-agent-nebius")
paths = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
runs = pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)


def said(role: str, content: Any, **more: Any) -> Json:
    return {"role": role, "content": content, "agent": "main", **more}


def acted(text: str, action: str | None, **more: Any) -> Json:
    return said("assistant", text, thought=text, action=action, message_type="action", **more)


def seen(content: Any, **more: Any) -> Json:
    return said("user", content, message_type="observation", **more)


def called(text: str, *names: str) -> Json:
    functions = [{"name": "bash", "arguments": json.dumps({"command": name})} for name in names]
    calls = [
        {"id": call_id, "type": "function", "function": function}
        for call_id, function in zip(names, functions, strict=True)
    ]
    return acted(text, "x", tool_calls=calls, tool_call_ids=list(names))


def given(call_id: str, content: Any, **more: Any) -> Json:
    more = {"message_type": "observation", "tool_call_ids": [call_id], **more}
    return said("tool", content, **more)


def traj(*history: Json, steps: list[Json] | None = None, **more: Any) -> Json:
    return {"environment": "main", "trajectory": steps or [], "history": list(history), **more}


def step(action: str = "ls", observation: str = "o", **more: Any) -> Json:
    return {"action": action, "observation": observation, "response": "r", "state": {}, **more}


SYSTEM = said("system", "be good", message_type="system_prompt")
TASK = seen("the task")


def read(root: Json) -> Reading:
    assert LENS.recognises(root)
    return LENS.read(root)


def shown(reading: Reading) -> list[tuple[str, str, str]]:
    """Kind, the tool of a call or result, text."""
    rows = []
    for entry in reading.entries:
        text = entry.body or "".join(part.text for part in entry.parts)
        tool = entry.name or ",".join(call.name for call in entry.calls)
        rows.append((entry.kind.value, tool, text))
    return rows


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


# Recordings.


@paths
def test_a_recording_is_read_and_given_back_as_it_is(path: Path) -> None:
    kit.check_untouched(path, "swe-agent")


@paths
def test_one_result_is_one_change(path: Path) -> None:
    kit.check_one_change(path, "swe-agent")


@paths
def test_a_compacted_recording_reads_the_same_but_for_elided_bodies(path: Path) -> None:
    kit.check_compacts(path, "swe-agent")


@paths
def test_the_results_are_the_observations_that_the_model_saw(path: Path) -> None:
    root = json.loads(path.read_text("utf-8"))
    history = root["history"]
    wanted = [m["content"] for i, m in enumerate(history) if i and "action" in history[i - 1]]
    found = [entry for entry in kit.tools(LENS.read(root)) if not entry.cleared]
    assert [entry.body for entry in found] == wanted[-len(found) :]
    last: list[Json] = next((s["messages"] for s in root["trajectory"][-1:] if "messages" in s), [])
    elided = [m for m in last if m["content"].startswith("Old environment output: (")]
    assert len(wanted) == len(found) + len(elided)


@paths
def test_usage_is_the_sum_that_the_run_ends_with(path: Path) -> None:
    stats = json.loads(path.read_text("utf-8"))["info"]["model_stats"]
    wanted = (stats["tokens_sent"], stats["tokens_received"], stats["api_calls"])
    found = LENS.all_usage(json.loads(path.read_text("utf-8")))
    assert [(u.input, u.output, u.requests) for u in found] == ([wanted] if wanted[0] else [])


@paths
def test_the_copies_in_the_steps_stay_as_they_are(path: Path) -> None:
    before = compactor.load(path)
    out = compactor.compact(before, kit.policy(1500))
    old, new = json.loads(path.read_bytes()), json.loads(out.request.to_bytes())
    for was, now in zip(old["trajectory"], new["trajectory"], strict=True):
        assert was["observation"] == now["observation"]


if FILES:

    def test_at_a_small_window_something_is_elided_in_every_generation() -> None:
        small = {"ctf-forensics-flash"}
        for path in FILES:
            assert kit.check_compacts(path, "swe-agent") or path.stem in small


# What is a result.


def test_the_same_conversation_is_the_same_entries() -> None:
    root = traj(
        SYSTEM,
        said("user", "go"),
        called("look", "x", "y"),
        given("x", "one"),
        given("y", "two"),
        acted("done", None),
    )
    reading = read(root)
    kit.check_same(reading)
    assert (reading.overhead.texts, reading.overhead.known) == (("be good",), False)


def test_an_observation_answers_the_action_before_it_whatever_its_role() -> None:
    reading = read(
        traj(
            SYSTEM,
            TASK,
            acted("look", "open a.py 12\n"),
            seen("1: x\n(Open file: a.py)\nbash-$"),
            acted("run", "./run"),
            seen([{"type": "text", "text": "ok", "cache_control": {"type": "ephemeral"}}]),
            acted("stop", "submit\n"),
        )
    )
    assert shown(reading) == [
        ("user", "", "the task"),
        ("assistant", "open", "look"),
        ("tool", "open", "1: x\n(Open file: a.py)\nbash-$"),
        ("assistant", "action", "run"),
        ("tool", "action", "ok"),
        ("assistant", "submit", "stop"),
    ]
    assert codes(reading) == ["unanswered_call"]
    assert (reading.overhead.texts, reading.overhead.known) == (("be good",), True)


def test_the_first_files_say_no_message_type_and_the_task_is_no_result() -> None:
    old = [{k: v for k, v in m.items() if k != "message_type"} for m in (SYSTEM, TASK)]
    reading = read(traj(*old, said("assistant", "x", action="ls\n"), said("user", "a.py")))
    assert [row[:2] for row in shown(reading)] == [
        ("user", ""),
        ("assistant", "ls"),
        ("tool", "ls"),
    ]


def test_an_action_counts_once_as_its_text_stands_in_the_message() -> None:
    reading = read(traj(SYSTEM, TASK, acted("run\n```\nls\n```", "ls"), seen("a")))
    [call] = reading.entries[1].calls
    assert (call.name, call.arguments) == ("ls", "")


def test_a_demonstration_is_an_example_and_stays() -> None:
    demo = [
        seen("demo task", is_demo=True),
        acted("x", "ls", is_demo=True),
        seen("demo output", is_demo=True),
        called("y", "c") | {"is_demo": True},
        given("c", "demo result", is_demo=True),
    ]
    reading = read(traj(SYSTEM, *demo, TASK, acted("z", "ls"), seen("real")))
    assert [(e.kind, e.required) for e in reading.entries] == [
        (Kind.USER, False),
        (Kind.ASSISTANT, False),
        (Kind.USER, False),
        (Kind.ASSISTANT, False),
        (Kind.TOOL, True),
        (Kind.USER, False),
        (Kind.ASSISTANT, False),
        (Kind.TOOL, False),
    ]


def test_thinking_counts_and_is_of_the_turn() -> None:
    thinking = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    reading = read(traj(SYSTEM, TASK, acted("x", None, thinking_blocks=thinking)))
    assert [part.text for part in reading.entries[1].parts] == ["hm", "x"]


def test_pictures_of_an_observation_are_media() -> None:
    url = {"url": "data:image/png;base64,x"}
    picture = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": url}]
    root = traj(SYSTEM, TASK, acted("x", "view"), seen(picture))
    [entry] = kit.tools(read(root))
    assert (entry.body, len(entry.parts)) == ("see", 1)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new["history"][3]["content"] == [{"type": "text", "text": "gone"}]


# What was sent.


ELIDED = "Old environment output: (3 lines omitted)"


def recorded(*prompt: Json, key: str = "query") -> Json:
    history = [SYSTEM, TASK, acted("x", "ls"), seen("a\nb\nc"), acted("y", "cat f"), seen("long")]
    steps = [{**step(), key: [SYSTEM, TASK]}, {**step(), key: [*prompt]}]
    return traj(*history, steps=steps)


@pytest.mark.parametrize("key", ["query", "messages"])
def test_the_last_prompt_is_the_live_conversation_and_the_history_goes_on_behind_it(
    key: str,
) -> None:
    root = recorded(SYSTEM, TASK, acted("x", "ls"), seen(ELIDED), key=key)
    reading = read(root)
    assert [(e.at, e.cleared, e.body) for e in kit.tools(reading)] == [
        (("trajectory", 1, key, 3), True, ""),
        (("history", 5), False, "long"),
    ]
    assert codes(reading) == ["cleared_by_harness"]
    new = apply_edits(root, LENS.rewrite_body(root, kit.tools(reading)[1], "gone"))
    assert new["history"][5]["content"] == "gone"
    assert new["trajectory"] is root["trajectory"]


def test_python_objects_are_compacted_like_bytes_where_the_prompt_goes_on_in_the_history() -> None:
    history = [SYSTEM, TASK]
    for number in range(12):
        history += [acted("x", "ls"), seen(f"{number} " * 300)]
    root = traj(*history, steps=[step(query=history[:12])])
    data = json.dumps(root).encode()
    from_bytes = compactor.compact(compactor.load(data), kit.policy(900)).request.to_bytes()
    new = compactor.compact(root, kit.policy(900)).request
    assert new == json.loads(from_bytes)
    changed = [new["trajectory"] != root["trajectory"], new["history"] != root["history"]]
    assert changed == [True, True]


def test_what_a_tool_printed_is_not_cleared_though_it_reads_so() -> None:
    root = recorded(SYSTEM, TASK, acted("x", "ls"), seen(ELIDED))
    root["history"][3]["content"] = ELIDED
    assert [entry.cleared for entry in kit.tools(read(root))] == [False, False]


def test_what_a_processor_only_cut_is_read_as_it_was_sent() -> None:
    outdated = "Outdated window with 3 lines omitted...\n"
    root = recorded(SYSTEM, TASK, acted("x", "ls"), seen(outdated))
    assert [e.body for e in kit.tools(read(root))] == [outdated, "long"]


def test_the_prompt_of_a_requery_holds_messages_that_were_taken_back() -> None:
    bad = said("assistant", "no command", message_type="assistant")
    scolded = said("user", "format!", message_type="user")
    prompt = [SYSTEM, TASK, acted("x", "ls"), seen(ELIDED)]
    root = recorded(*prompt)
    root["trajectory"].append(step(query=[*prompt, bad, scolded]))
    assert [e.at for e in kit.tools(read(root))] == [("trajectory", 1, "query", 3), ("history", 5)]


@pytest.mark.parametrize("query", [[], [{}], None, "x", [SYSTEM] * 9])
def test_a_step_without_a_prompt_of_the_history_leaves_the_history(query: Any) -> None:
    root = recorded(SYSTEM)
    root["trajectory"] = [step(query=query)]
    assert [entry.at for entry in kit.tools(read(root))] == [("history", 3), ("history", 5)]


@pytest.mark.parametrize("as_text", [True, False])
def test_prompts_that_were_elided_and_are_not_in_the_file_are_said(*, as_text: bool) -> None:
    agent = {
        "model": {"name": "gpt-4o"},
        "history_processors": [{"type": "last_n_observations", "n": 5}],
    }
    config: Any = {"agent": agent}
    root = traj(SYSTEM, TASK, replay_config=json.dumps(config) if as_text else config)
    reading = read(root)
    assert (codes(reading), reading.model) == (["cleared_unseen"], "gpt-4o")
    root["trajectory"] = [step(query=[SYSTEM, TASK])]
    assert codes(read(root)) == []


@pytest.mark.parametrize("name", ["replay", "human", 5])
def test_a_run_without_a_model_has_none(name: Any) -> None:
    config = {"agent": {"model": {"name": name}}}
    assert read(traj(SYSTEM, TASK, replay_config=config)).model == ""
    assert read(traj(SYSTEM, TASK, replay_config="{no json")).model == ""


def test_a_run_of_which_only_the_steps_are_there_is_read_from_them() -> None:
    root = {"trajectory": [step("open f", "body"), step("submit", "")]}
    reading = read(root)
    assert shown(reading) == [
        ("assistant", "open", "r"),
        ("tool", "open", "body"),
        ("assistant", "submit", "r"),
        ("tool", "submit", ""),
    ]
    new = apply_edits(root, LENS.rewrite_body(root, kit.tools(reading)[0], "gone"))
    assert new["trajectory"][0] == step("open f", "gone")


# Several conversations.


def test_subroutines_and_other_attempts_are_threads() -> None:
    inner = {**acted("in", "cat"), "agent": "helper"}
    outer = traj(SYSTEM, TASK, acted("x", "helper go"), inner, seen("out"))
    other = traj(SYSTEM, seen("again"))
    root = {**outer, "attempts": [other, outer], "info": {"best_attempt_idx": 1}}
    assert LENS.threads(root) == ["main", "helper", "attempt_0"]
    reading = read(root)
    assert [row[:2] for row in shown(reading)] == [
        ("user", ""),
        ("assistant", "helper"),
        ("tool", "helper"),
    ]
    assert codes(reading) == ["other_threads"]
    assert [shown(LENS.of_thread(name).read(root))[0][2] for name in LENS.threads(root)] == [
        *("the task", "in", "again"),
    ]


def test_a_file_of_attempts_that_is_not_finished_begins_with_its_first() -> None:
    stats = {"model_stats": {"tokens_sent": 5, "tokens_received": 1, "api_calls": 2}}
    root = {"attempts": [traj(SYSTEM, TASK, info=stats), traj(SYSTEM, seen("b"), info=stats)]}
    assert LENS.threads(root) == ["attempt_0", "attempt_1"]
    assert shown(read(root))[0][2] == "the task"
    assert LENS.all_usage(root) == [Usage(0, input=5, output=1, requests=2)] * 2


def test_a_thread_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError) as refused:
        SweAgent("x").read(traj(SYSTEM, TASK))
    assert (refused.value.code, refused.value.hint) == ("input.shape", "threads: main")


# What is no trajectory, and what is a strange one.


@pytest.mark.parametrize(
    "root",
    [
        None,
        {},
        [],
        {"history": []},
        {"history": [{"user": {}}]},
        {"trajectory": [{"role": "ai", "text": "x"}]},
        {"history": [{"role": "user", "content": "x"}]},
        {"attempts": [{}]},
        {"messages": [], "trajectory_format": "mini-swe-agent-1.1", "history": [SYSTEM]},
    ],
)
def test_what_is_no_trajectory_is_not_claimed(root: Any) -> None:
    assert not LENS.recognises(root)


SMALL = {
    **traj(
        SYSTEM,
        called("x", "c"),
        given("c", "one"),
        acted("y", "ls"),
        seen([{"type": "text", "text": "two"}]),
        steps=[step(query=[SYSTEM, called("x", "c"), given("c", ELIDED)])],
        replay_config={"agent": {"history_processors": [{"type": "closed_window"}]}},
        info={"model_stats": {"tokens_sent": 1, "tokens_received": 1, "api_calls": 1}},
    ),
    "attempts": [traj(SYSTEM, TASK)],
}


def test_whatever_is_broken_in_a_trajectory_it_is_read_or_refused() -> None:
    kit.check_damage(LENS, SMALL)
    for broken in kit.damaged(SMALL):
        assert isinstance(LENS.all_usage(broken), list)
        assert len({*LENS.threads(broken)}) == len(LENS.threads(broken))


# Runs of Nebius.


def ai(text: str) -> Json:
    return {"role": "ai", "text": text, "system_prompt": None, "mask": False, "cutoff_date": None}


def env(text: str) -> Json:
    return {**ai(text), "role": "user"}


def run(*messages: Json, name: str = "a") -> Json:
    head = {**ai(""), "role": "system", "text": None, "system_prompt": "be good"}
    return {"instance_id": name, "model_name": "m", "trajectory": [head, *messages]}


LOOK = "look\n```\nls -F\n```\n"


@runs
def test_runs_are_read_and_given_back_as_they_are(path: Path) -> None:
    kit.check_untouched(path, "swe-agent-nebius")
    kit.check_one_change(path, "swe-agent-nebius")
    assert kit.check_compacts(path, "swe-agent-nebius")
    root = json.loads(path.read_text("utf-8"))
    names = NEBIUS.threads(root)
    assert names == [row["instance_id"] for row in root]
    for name, row in zip(names, root, strict=True):
        reading = NEBIUS.of_thread(name).read(root)
        wanted = [m["text"] for m in row["trajectory"][3:] if m["role"] == "user"]
        assert [entry.body for entry in kit.tools(reading)] == wanted


def test_an_observation_stands_behind_a_message_with_a_command() -> None:
    root = [run(env("task"), ai(LOOK), env("a.py"), ai("no command"), env("format!")), run()]
    reading = NEBIUS.read(root)
    assert shown(reading) == [
        ("user", "", "task"),
        ("assistant", "ls", LOOK),
        ("tool", "ls", "a.py"),
        ("assistant", "", "no command"),
        ("user", "", "format!"),
    ]
    assert (reading.overhead.texts, reading.overhead.known) == (("be good",), True)
    assert codes(reading) == []
    new = apply_edits(root, NEBIUS.rewrite_body(root, reading.entries[2], "gone"))
    assert new[0]["trajectory"][3] == env("gone")
    assert new[0]["trajectory"][:3] == root[0]["trajectory"][:3]


def test_the_command_is_in_the_last_fenced_block() -> None:
    text = "```\nfirst\n```\nthen\n```\nedit 1:2\nx\nend_of_edit\n```"
    assert NEBIUS.read([run(ai(text), env("ok"))]).entries[1].name == "edit"


def test_runs_of_one_name_are_numbered() -> None:
    root = [run(ai(LOOK), name=name) for name in ("a", "a", "", "a#2")]
    assert NEBIUS.threads(root) == ["a", "a#2", "run-3", "a#2#2"]
    assert codes(NEBIUS.read(root)) == ["unanswered_call", "other_threads"]
    assert NEBIUS.read(root[0]).entries[0].at == ("trajectory", 1)


def test_whatever_is_broken_in_runs_they_are_read_or_refused() -> None:
    kit.check_damage(NEBIUS, copy.deepcopy([run(env("t"), ai(LOOK), env("o")), run(ai(LOOK))]))
