"""OpenHands' event streams, old (V0) and new (V1): a rule a test, and what writers leave behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, numbers, shown

from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading, Usage
from compactor.formats.harnesses.openhands_events import OpenHandsEvents
from compactor.formats.harnesses.openhands_view import Event, levels
from compactor.formats.raw.native import Rows, apply_edits

LENS = OpenHandsEvents()


def read(*events: Any) -> Reading:
    return LENS.read([*events])


# V0: actions and observations.


def action(key: int, kind: str, source: str = "agent", made: Any = None, **args: Any) -> Json:
    about = {"id": key, "source": source, "message": "", "action": kind, "args": args}
    return about if made is None else {**about, "tool_call_metadata": made}


def observation(key: int, kind: str, content: Any, cause: Any = None, **more: Any) -> Json:
    about = {"id": key, "source": "agent", "observation": kind, "content": content}
    return {**about, **({} if cause is None else {"cause": cause}), "extras": {}, **more}


def made(call_id: str, rid: str = "", content: Any = "", ids: Any = (), **usage: Any) -> Json:
    """What an action says of the response that it comes from."""
    calls = [
        {
            "id": i,
            "type": "function",
            "function": {"name": "bash", "arguments": f'{{"command":"{i}"}}'},
        }
        for i in ids or (call_id,)
    ]
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    counts = {"prompt_tokens": 10, "completion_tokens": 2, **usage}
    response = {"id": rid or f"r-{call_id}", "model": "m", "choices": [{"message": message}]}
    return {
        "function_name": "bash",
        "tool_call_id": call_id,
        "model_response": response | {"usage": counts},
        "total_calls_in_response": len(calls),
    }


GO = action(1, "message", "user", content="go")


def ran(key: int, call_id: str, output: str = "ok", said: str = "") -> list[Json]:
    """An action and its observation."""
    about = made(call_id, content=said)
    return [
        action(key, "run", made=about, command=call_id, thought="t"),
        observation(key + 1, "run", output, key, tool_call_metadata=about),
    ]


def test_an_action_is_the_call_that_the_model_made() -> None:
    root = [GO, *ran(2, "x", "one", "look")]
    reading = LENS.read(root)
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["look"], ["x"]),
        ("tool", "x", "one"),
    ]
    (call,) = reading.entries[1].calls
    assert (call.name, call.arguments) == ("bash", '{"command":"x"}')
    assert ([(u.n, *numbers(u)) for u in reading.usage], reading.model) == (
        [(1, 10, 0, 0, 2)],
        "m",
    )
    edits = LENS.rewrite_argument(root, reading.entries[1], 0, ("command",), "cut")
    assert LENS.read(apply_edits(root, edits)).entries[1].calls[0].arguments == '{"command":"cut"}'


def test_actions_of_one_response_are_one_turn_and_counted_once() -> None:
    first, second = (made(key, "r", "both", ids=("x", "y")) for key in ("x", "y"))
    reading = read(
        GO,
        action(2, "run", made=first),
        observation(3, "run", "1", 2),
        action(4, "run", made=second),
        observation(5, "run", "2", 4),
    )
    assert shown(reading)[1:] == [
        ("assistant", ["both"], ["x", "y"]),
        ("tool", "x", "1"),
        ("tool", "y", "2"),
    ]
    assert len(reading.usage) == 1
    assert len(LENS.all_usage([GO, *(action(n, "run", made=first) for n in (2, 3))])) == 1


def test_a_result_may_name_its_call_alone() -> None:
    answer = observation(3, "run", "one", tool_call_metadata=made("x"))
    reading = read(GO, action(2, "run", made=made("x")), answer)
    assert [(e.call_id, e.body) for e in kit.tools(reading)] == [("x", "one")]
    assert codes(reading) == []


def test_an_action_without_its_response_is_a_call_by_its_kind() -> None:
    ask = action(2, "run", command="ls", thought="look", hidden=False, blocking=True, cwd=None)
    root = [GO, ask, observation(3, "run", "a.py", 2)]
    reading = LENS.read(root)
    assert shown(reading)[1:] == [("assistant", ["look"], [""]), ("tool", "", "a.py")]
    (call,) = reading.entries[1].calls
    assert (call.name, call.arguments, reading.entries[2].name) == (
        "run",
        '{"command":"ls"}',
        "run",
    )
    edits = LENS.rewrite_argument(root, reading.entries[1], 0, ("command",), "cut")
    assert apply_edits(root, edits)[1]["args"]["command"] == "cut"


def test_system_prompt_and_tools_are_overhead() -> None:
    tool = {"type": "function", "function": {"name": "bash", "description": "runs"}}
    reading = read(action(0, "system", content="be brief", tools=[tool]), GO)
    assert reading.overhead.texts == ("be brief", "bash", "runs")
    assert reading.overhead.known
    assert read(GO).overhead.known is False
    assert len(reading.entries) == 1


def test_what_only_tells_of_states_is_not_shown() -> None:
    reading = read(
        action(0, "initialize", "environment", LLM_MODEL="m"),
        {"status": "ok", "source": "environment"},
        observation(1, "agent_state_changed", ""),
        GO,
        observation(3, "null", "", 1),
        action(4, "recall", "user", query="go"),
        action(5, "run", command="secret", hidden=True),
        observation(6, "run", "x", 5, extras={"hidden": True}),
        action(7, "change_agent_state", agent_state="finished"),
    )
    assert (shown(reading), codes(reading)) == ([("user", ["go"])], [])


def test_words_of_the_agent_are_turns_and_its_last_call_is_words() -> None:
    reading = read(
        GO,
        action(2, "message", content="hello"),
        action(3, "message", "user", content="more", image_urls=["https://x/p.png"]),
        action(4, "finish", made=made("f", content="done"), thought="so"),
    )
    assert shown(reading)[1:] == [
        ("assistant", ["hello"], []),
        ("user", ["more"]),
        ("assistant", ["so", "done"], []),
    ]
    assert [part.kind for part in reading.entries[2].parts] == [PartKind.TEXT, PartKind.IMAGE]
    assert ([usage.n for usage in reading.usage], codes(reading)) == ([3], [])


def test_running_totals_count_what_has_no_response() -> None:
    def total(prompt: int, output: int, read: int = 0) -> Json:
        counts = {"prompt_tokens": prompt, "completion_tokens": output, "cache_read_tokens": read}
        return {"llm_metrics": {"accumulated_token_usage": {"model": "m", **counts}}}

    events = [
        GO,
        action(2, "message", content="a") | total(10, 1),
        action(3, "message", "user", content="b"),
        action(4, "message", content="c") | total(40, 5, 20),
        action(5, "message", content="d") | total(40, 5, 20),
    ]
    assert [(u.n, *numbers(u)) for u in LENS.read(events).usage] == [
        (1, 10, 0, 0, 1),
        (3, 10, 20, 0, 4),
    ]
    assert [u.n for u in LENS.all_usage(events)] == [0, 0]


def test_what_was_recalled_is_shown_to_the_model() -> None:
    known = [{"name": "git", "content": "use git"}, {"name": "odd"}]
    extras = {"repo_instructions": "be careful", "microagent_knowledge": known}
    reading = read(GO, observation(3, "recall", "Added context", extras=extras))
    assert shown(reading)[1:] == [("user", ["be careful", "use git"])]
    assert shown(read(GO, observation(3, "recall", "nothing"))) == [("user", ["go"])]


def test_what_a_person_ran_is_theirs_and_its_output_a_result() -> None:
    reading = read(GO, action(2, "run", "user", command="ls"), observation(3, "run", "a.py", 2))
    assert shown(reading)[1:] == [("user", ["ls"]), ("tool", "", "a.py")]
    assert (reading.entries[2].name, codes(reading)) == ("run", [])


def test_errors_are_flagged_or_said_to_the_model() -> None:
    reading = read(
        GO,
        action(2, "run", made=made("x")),
        observation(3, "error", "no", 2),
        observation(4, "error", "no such tool"),
    )
    assert shown(reading)[2:] == [("tool", "x", "no"), ("user", ["no such tool"])]
    assert reading.entries[2].error


def test_pictures_of_a_result_go_with_its_text() -> None:
    extras = {"image_urls": ["https://x/p.png", "", 5]}
    root = [GO, action(2, "run_ipython", made=made("x"))]
    root.append(observation(3, "run_ipython", "plot", 2, extras=extras))
    entry = LENS.read(root).entries[2]
    assert [part.kind for part in entry.parts] == [PartKind.IMAGE]
    changed = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert (changed[2]["content"], changed[2]["extras"]["image_urls"]) == ("gone", [])


def test_ids_that_begin_anew_answer_the_action_before_them() -> None:
    reading = read(GO, *ran(2, "x", "one"), action(1, "message", "user", content="again"),
                   *ran(2, "y", "two"))  # fmt: skip
    assert [(e.call_id, e.body) for e in kit.tools(reading)] == [("x", "one"), ("y", "two")]


def test_the_oldest_streams_have_neither_ids_nor_sources() -> None:
    history = [
        {"content": "go", "wait_for_response": False, "action": "message"},
        {"command": "ls", "thought": "look", "action": "run", "is_confirmed": "confirmed"},
        {"content": "a.py", "command": "ls", "exit_code": 0, "observation": "run"},
        {"content": "what now?", "action": "message"},
        {"content": "go on", "action": "message"},
        {"thought": "done", "outputs": {}, "action": "finish"},
    ]
    for root in ({"history": history}, [{"history": [[history[0]], history[1:3], history[3:]]}]):
        assert LENS.recognises(root)
        reading = LENS.read(root)
        assert shown(reading) == [
            ("user", ["go"]),
            ("assistant", ["look"], [""]),
            ("tool", "", "a.py"),
            ("assistant", ["what now?"], []),
            ("user", ["go on"]),
            ("assistant", ["done"], []),
        ]
        assert reading.entries[1].calls[0].arguments == '{"command":"ls"}'
        changed = apply_edits(root, LENS.rewrite_body(root, reading.entries[2], "gone"))
        assert LENS.read(changed).entries[2].body == "gone"


def test_a_condensation_takes_out_events_and_puts_a_summary_in_their_place() -> None:
    lead = action(0, "system", content="be brief")
    start = [lead, GO, *ran(2, "x"), *ran(4, "y"), *ran(6, "z", "kept")]
    ids = {"forgotten_event_ids": [2, 3, 4, 5]}
    ranged = {"forgotten_events_start_id": 2, "forgotten_events_end_id": 5}
    for forgotten in (ids, ranged):
        mark = action(9, "condensation", summary="was done", summary_offset=2, **forgotten)
        reading = read(*start, mark)
        assert shown(reading) == [
            ("user", ["go"]),
            ("user", ["was done"]),
            ("assistant", [], ["z"]),
            ("tool", "z", "kept"),
        ]
        assert [usage.n for usage in reading.usage] == [2]
        (finding,) = reading.findings
        assert finding.message == "4 events lie before the last compaction"


def test_of_an_action_and_its_result_neither_is_shown_without_the_other() -> None:
    start = [GO, *ran(2, "x"), *ran(4, "y", "two")]
    for gone in (2, 3):
        mark = action(9, "condensation", forgotten_event_ids=[gone])
        assert shown(read(*start, mark))[1:] == [("assistant", [], ["y"]), ("tool", "y", "two")]


def test_a_call_without_a_result_yet_is_said() -> None:
    reading = read(GO, action(2, "run", made=made("x")))
    assert (len(reading.entries), codes(reading)) == (2, ["unanswered_call"])


def test_what_a_delegate_did_is_a_conversation_of_its_own() -> None:
    root = [
        GO,
        action(2, "delegate", made=made("d"), agent="B"),
        action(3, "message", content="inner"),
        *ran(4, "x", "inner result"),
        observation(6, "delegate", "", 2, extras={"outputs": {"content": "found"}}),
        action(7, "message", content="thanks"),
    ]
    assert LENS.threads(root) == ["main", "delegate-2"]
    assert shown(LENS.read(root))[1:] == [
        ("assistant", [], ["d"]),
        ("tool", "d", "found"),
        ("assistant", ["thanks"], []),
    ]
    inner = LENS.of_thread("delegate-2").read(root)
    assert shown(inner) == [("assistant", ["inner"], ["x"]), ("tool", "x", "inner result")]
    entry = LENS.read(root).entries[2]
    changed = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert LENS.read(changed).entries[2].body == "gone"
    assert len(LENS.all_usage(root)) == 2


def test_a_delegate_that_never_ends_is_not_told_apart() -> None:
    events = [Event((), action(0, "delegate")), Event((), action(1, "run"))]
    assert levels(events) == ["", ""]
    assert levels([*events, Event((), observation(2, "delegate", ""))]) == ["", "delegate-1", ""]


def test_streams_of_a_file_are_threads() -> None:
    rows = Rows([{"instance_id": "a", "history": [GO]}, {"instance_id": "b", "history": [GO]}])
    assert LENS.threads(rows) == ["a", "b"]
    assert codes(LENS.read(rows)) == ["other_threads"]
    kept = {"version": "1.0", "feedback": "positive", "trajectory": [GO]}
    assert LENS.threads(kept) == ["main"]
    assert LENS.threads([kept, kept]) == ["run-1", "run-2"]
    with pytest.raises(InputError, match="no thread 'c'"):
        LENS.of_thread("c").read(rows)


# V1: events of the agent SDK.


def event(kind: str, key: str, source: str = "agent", **more: Any) -> Json:
    return {"id": key, "timestamp": "1970-01-01T00:00:01", "source": source, "kind": kind, **more}


def text(words: str) -> Json:
    return {"cache_prompt": False, "type": "text", "text": words}


def said(key: str, words: str, source: str = "user", **more: Any) -> Json:
    role = "user" if source == "user" else "assistant"
    message = {"role": role, "content": [text(words)]}
    return event("MessageEvent", key, source, llm_message=message, **more)


def did(key: str, call_id: str, thought: str = "", **more: Any) -> Json:
    written = {"id": call_id, "name": "bash", "arguments": json.dumps({"command": call_id})}
    about = {"thought": [text(thought)] if thought else [], "tool_call": written}
    about |= {"tool_name": "bash", "tool_call_id": call_id, "llm_response_id": "r"}
    return event("ActionEvent", key, **about, action={"command": call_id}, **more)


def saw(key: str, call_id: str, *content: Any, **more: Any) -> Json:
    observed = {"content": [text(c) if isinstance(c, str) else c for c in content], **more}
    about = {"tool_name": "bash", "tool_call_id": call_id, "observation": observed}
    return event("ObservationEvent", key, "environment", **about)


def test_events_of_the_sdk_are_calls_and_results() -> None:
    root = Rows([said("u", "go"), did("a", "x", "look"), did("b", "y"), saw("c", "x", "one"),
                 saw("d", "y", "two", is_error=True)])  # fmt: skip
    reading = LENS.read(root)
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["look"], ["x", "y"]),
        ("tool", "x", "one"),
        ("tool", "y", "two"),
    ]
    assert [entry.error for entry in reading.entries] == [False, False, False, True]
    changed = apply_edits(root, LENS.rewrite_body(root, reading.entries[2], "gone"))
    assert changed[3]["observation"]["content"] == [
        {"type": "text", "text": "gone", "cache_prompt": False}
    ]
    edits = LENS.rewrite_argument(root, reading.entries[1], 0, ("command",), "cut")
    assert apply_edits(root, edits)[1]["tool_call"]["arguments"] == '{"command": "cut"}'


def test_errors_and_refusals_answer_their_calls() -> None:
    about = {"tool_name": "bash", "tool_call_id": "x"}
    error = event("AgentErrorEvent", "e", error="no", **about)
    refusal = event("UserRejectObservation", "e", rejection_reason="stop", **about)
    for answer, words in ((error, "no"), (refusal, "stop")):
        reading = read(said("u", "go"), did("a", "x"), answer)
        assert shown(reading)[2] == ("tool", "x", words)
        assert reading.entries[2].error


def test_older_tools_have_an_output_in_the_place_of_content() -> None:
    observed = event("ObservationEvent", "c", "environment", tool_name="bash", tool_call_id="x")
    root = [said("u", "go"), did("a", "x"), observed | {"observation": {"output": "one"}}]
    entry = LENS.read(root).entries[2]
    assert entry.body == "one"
    changed = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert changed[2]["observation"] == {"output": "gone"}


def test_what_the_agents_context_adds_is_sent_with_it() -> None:
    more = {"extended_content": [text("skill")]}
    root = [said("u", "go", **more), did("a", "x"), saw("c", "x", "one") | more]
    reading = LENS.read(root)
    assert shown(reading)[0] == ("user", ["go", "skill"])
    assert reading.entries[2].body == "one\nskill"
    changed = apply_edits(root, LENS.rewrite_body(root, reading.entries[2], "gone"))
    assert LENS.read(changed).entries[2].body == "gone"


def test_the_system_prompt_of_the_sdk_is_overhead() -> None:
    tool = {"type": "function", "function": {"name": "bash", "description": "runs"}}
    lead = event("SystemPromptEvent", "s", system_prompt=text("be brief"), tools=[tool])
    reading = read(lead | {"dynamic_context": text("today")}, said("u", "go"))
    assert reading.overhead.texts == ("be brief", "today", "bash", "runs")
    assert reading.overhead.known


def test_condensations_follow_one_another() -> None:
    events = [said("u", "go"), did("a", "x"), saw("b", "x", "1"), did("c", "y"), saw("d", "y", "2")]
    first = event("Condensation", "k", "environment", forgotten_event_ids=["a", "b"])
    second = event("Condensation", "l", "environment", forgotten_event_ids=["k-summary", "c", "d"])
    first |= {"summary": "did x", "summary_offset": 1}
    assert shown(read(*events, first)) == [
        ("user", ["go"]),
        ("user", ["did x"]),
        ("assistant", [], ["y"]),
        ("tool", "y", "2"),
    ]
    second |= {"summary": "did both", "summary_offset": 1}
    reading = read(*events, first, second, said("v", "on"))
    assert shown(reading) == [("user", ["go"]), ("user", ["did both"]), ("user", ["on"])]
    assert codes(reading) == ["before_compaction"]


def test_running_totals_by_purpose_count_requests() -> None:
    def state(agent: int, condenser: int, key: str = "stats") -> Json:
        metrics = {
            purpose: {"accumulated_token_usage": {"model": "m", "prompt_tokens": count}}
            for purpose, count in (("agent", agent), ("condenser", condenser))
        }
        stats = {"usage_to_metrics": metrics}
        value = stats if key == "stats" else {"stats": stats}
        about = event("ConversationStateUpdateEvent", "", "environment", value=value)
        return {**about, "key": key}

    events = [state(5, 0, "full_state"), said("u", "go"), state(15, 0), did("a", "x")]
    events += [saw("b", "x", "1"), state(15, 7), state(35, 7), said("c", "done", "agent")]
    reading = LENS.read(events)
    assert [(usage.n, usage.input, usage.time_ms) for usage in reading.usage] == [
        (1, 10, 1000),
        (3, 20, 1000),
    ]
    assert [usage.input for usage in LENS.all_usage(events)] == [10, 7, 20]
    assert LENS.all_usage(events)[0] == Usage(0, 10, model="m", time_ms=1000)


def test_reasoning_is_counted_once() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    block = did("a", "x", thinking_blocks=[thinking], reasoning_content="hm")
    plain = did("b", "y", reasoning_content="so", responses_reasoning_item={"summary": ["so"]})
    sealed = did("c", "z", responses_reasoning_item={"encrypted_content": "zz", "summary": []})
    entry = read(said("u", "go"), block, plain, sealed).entries[1]
    assert [(part.kind, part.text) for part in entry.parts] == [
        (PartKind.REASONING, "hm"),
        (PartKind.REASONING, "so"),
        (PartKind.SEALED, ""),
    ]


def test_the_same_conversation_has_the_same_entries() -> None:
    talk = [said("u", "go"), did("a", "x", "look"), did("b", "y"), saw("c", "x", "one")]
    kit.check_same(read(*talk, saw("d", "y", "two"), said("e", "done", "agent")))
    first = made("x", "r", "look", ids=("x", "y"))
    kit.check_same(
        read(
            GO,
            action(2, "run", made=first),
            observation(3, "run", "one", 2),
            action(4, "run", made=made("y", "r", "look", ids=("x", "y"))),
            observation(5, "run", "two", 4),
            action(6, "message", content="done"),
        )
    )


@pytest.mark.parametrize("new", [False, True])
def test_a_long_stream_is_compacted_at_three_windows(tmp_path: Path, *, new: bool) -> None:
    old = [GO, *(e for n in range(9) for e in ran(10 * n, f"c{n}", "word " * 300))]
    sdk = [said("u", "go")]
    for n in range(9):
        sdk += [did(f"a{n}", f"c{n}"), saw(f"o{n}", f"c{n}", "word " * 300)]
    path = tmp_path / "events.json"
    path.write_text(json.dumps(sdk if new else old, indent=1), "utf-8")
    kit.check_untouched(path, LENS.name)
    kit.check_one_change(path, LENS.name)
    assert kit.check_compacts(path, LENS.name) > 6


def test_what_is_no_stream_is_not_read() -> None:
    step = {"action": "ls", "observation": "a.py", "thought": "t", "response": "r"}
    roots = ([], {}, None, [5], {"trajectory": [step]}, [{"kind": "user", "text": "hi"}])
    for root in (*roots, {"history": []}, [{"action": "ls", "source": "x"}]):
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    mark = action(9, "condensation", summary="s", summary_offset=1, forgotten_event_ids=[1])
    kit.check_damage(LENS, [GO, *ran(2, "x"), mark])
    kit.check_damage(LENS, Rows([said("u", "go"), did("a", "x", "t"), saw("c", "x", "one")]))
