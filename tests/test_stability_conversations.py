"""Whose a request is, where several conversations go through one client.

What harnesses do right is no break, however they are interleaved; what one of them does wrong is
found, and found in it.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.stability import CacheBreakError, CacheStability
from compactor.testing import Conversation
from tests.stability_kit import bodies, changed, seen, streamed


def agent(system: str, task: str, *steps: str, ids: str = "") -> Conversation:
    talk = Conversation(system=system, model="claude-sonnet-4-5").user(task)
    for step in steps:
        talk.call("bash", {"command": step}, result=f"did {step}", id=f"call_{ids or task}_{step}")
    return talk


def requests(talk: Conversation) -> list[Any]:
    return [talk.upto(count).anthropic() for count in range(1, len(talk.facts) + 1, 2)]


def interleaved(*talks: Conversation) -> Iterator[Any]:
    """A request of each in turn."""
    each = [requests(talk) for talk in talks]
    for k in range(max(map(len, each))):
        yield from (one[k] for one in each if k < len(one))


def owners(stream: CacheStability) -> list[str]:
    return [one.conversation for one in stream.requests]


MAIN, HELPER = "You are main.", "You help."
PAIRS = {
    "other prompts and tasks": (agent(MAIN, "a", "x", "y"), agent(HELPER, "b", "x", "y")),
    "other prompts, the same task": (agent(MAIN, "go", "x", "y"), agent(HELPER, "go", "x", "y")),
    "the same prompt": (agent(MAIN, "look", "x", "y"), agent(MAIN, "write", "x", "y")),
    "all the same, other steps": (
        *(agent(MAIN, "go", "x", "y", ids="a"), agent(MAIN, "go", "z", "w", ids="b")),
    ),
    "all the same but the ids": (
        *(agent(MAIN, "go", "x", "y", ids="a"), agent(MAIN, "go", "x", "y", ids="b")),
    ),
    "the same ids, other steps": (*(agent(MAIN, "go", "x", "y"), agent(MAIN, "go", "z", "w")),),
}


@pytest.mark.parametrize("name", PAIRS)
def test_agents_in_one_stream_are_told_apart(name: str) -> None:
    stream = streamed(interleaved(*PAIRS[name]))
    assert (seen(stream), stream.conversations) == ([], ("1", "2"))
    assert owners(stream)[-2:] in (["1", "2"], ["2", "1"])


@pytest.mark.parametrize("name", PAIRS)
def test_one_conversation_after_the_other_breaks_nothing(name: str) -> None:
    first, second = PAIRS[name]
    stream = streamed([*requests(first), *requests(second), *requests(first)])
    assert (seen(stream), stream.conversations) == ([], ("1", "2", "3"))


def test_names_tell_conversations_apart_and_apart_can_be_turned_off() -> None:
    first, second = PAIRS["other prompts and tasks"]
    stream = CacheStability()
    for k, body in enumerate(interleaved(first, second)):
        stream.record(body, conversation="ab"[k % 2])
    assert (seen(stream), stream.conversations) == ([], ("a", "b"))
    one = streamed(interleaved(first, second), apart=False)
    assert (len(one.breaks), one.conversations) == (5, ("1",))


def test_a_request_that_is_sent_again_is_one_conversation_until_both_go_on() -> None:
    first, second = requests(agent(MAIN, "go", "x"))
    again = streamed([first, first, second, second])
    assert (seen(again), again.conversations) == ([], ("1",))
    other = requests(agent(MAIN, "go", "z"))[1]
    both = streamed([first, first, second, other])
    assert (seen(both), both.conversations) == ([], ("1", "2"))
    assert owners(both) in (["1", "2", "1", "2"], ["2", "1", "1", "2"])


def test_a_side_question_breaks_nothing() -> None:
    """The same beginning, asked for a title; then the conversation goes on."""
    start, *_, last = requests(agent(MAIN, "go", "x", "y"))
    middle = requests(agent(MAIN, "go", "x", "y"))[1]
    aside = copy.deepcopy(middle)
    aside["messages"][-1]["content"].append({"type": "text", "text": "A title, please."})
    assert seen(streamed([start, middle, aside, last])) == []
    aside["messages"].append({"role": "user", "content": "A title, please."})
    assert seen(streamed([start, middle, aside, last])) == []


def test_an_edited_last_message_and_a_step_back_break_nothing() -> None:
    start, middle, last = requests(agent(MAIN, "go", "x", "y"))
    edited = copy.deepcopy(middle)
    edited["messages"][-1]["content"][0]["content"] = "did something else"
    assert seen(streamed([start, middle, edited, start, middle, last])) == []


def test_one_shot_requests_with_the_same_examples_are_conversations_each() -> None:
    shown = Conversation(system="Sort.").user("red").assistant("colour")
    for words in (("dog", "blue", "cat"), ("item 1", "item 2", "item 3")):
        stream = streamed([shown.upto(2).user(word).anthropic() for word in words])
        assert (seen(stream), len(stream.conversations)) == ([], 3)


def test_examples_that_change_with_the_task_are_no_break() -> None:
    first = Conversation(system="Sort.").user("red").assistant("colour").user("item 1")
    second = Conversation(system="Sort.").user("dog").assistant("animal").user("item 1")
    assert seen(streamed([first.anthropic(), second.anthropic()])) == []


@pytest.mark.parametrize("key", ["model", "system", "tools"])
def test_the_same_task_for_another_model_or_agent_is_another_conversation(key: str) -> None:
    body = requests(agent(MAIN, "go"))[0]
    other = body | {key: [{"name": "look", "input_schema": {}}] if key == "tools" else "other"}
    stream = streamed([body, other])
    assert (seen(stream), stream.conversations) == ([], ("1", "2"))


def test_tasks_that_differ_in_a_number_are_conversations_each() -> None:
    talks = [agent(MAIN, f"Review file{k}.c", "x", "y") for k in range(3)]
    for made in (interleaved(*talks), (one for talk in talks for one in requests(talk))):
        stream = streamed(made)
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


def test_a_hand_over_to_another_agent_is_a_break_of_the_conversation() -> None:
    first, second = requests(agent(MAIN, "go", "x"))
    stream = streamed([first, second | {"system": HELPER}])
    assert seen(stream) == [(2, "system prompt", "$.system", "reworded")]


def test_a_summary_that_keeps_the_newest_turn_is_a_break() -> None:
    made = bodies()
    cut = made[3] | {
        "messages": [{"role": "user", "content": "So far: x."}, *made[3]["messages"][3:]]
    }
    assert [one.request for one in streamed([*made[:3], cut]).breaks] == [4]


def test_a_number_of_conversations_can_be_asked_for() -> None:
    stream = streamed(interleaved(*PAIRS["other prompts and tasks"]), conversations=1)
    with pytest.raises(CacheBreakError, match="2 conversations were recorded, not 1"):
        stream.check()


# Histories that the provider keeps


def tail(previous: str, text: str, **more: Any) -> dict[str, Any]:
    body = {"model": "gpt-5.4", "instructions": MAIN, "input": [{"role": "user", "content": text}]}
    return body | ({"previous_response_id": previous} if previous else {}) | more


def test_requests_that_go_on_from_an_answer_are_one_conversation_and_break_nothing() -> None:
    made = [tail("", "a"), tail("resp_1", "on"), tail("resp_2", "on"), tail("resp_3", "b")]
    stream = streamed(made)
    assert (seen(stream), stream.conversations) == ([], ("1",))


def test_what_stands_before_a_kept_history_is_compared() -> None:
    made = [tail("", "a"), tail("resp_1", "on"), tail("resp_2", "on", instructions="It is 10:00.")]
    assert seen(streamed(made)) == [(3, "system prompt", "$.instructions", "reworded")]
    tools = [{"type": "function", "name": name, "parameters": {}} for name in ("a", "b")]
    made = [tail("", "a", tools=tools), tail("resp_1", "on", tools=tools[::-1])]
    assert seen(streamed(made)) == [(2, "tools", "$.tools[0].name", "tool order")]


def test_conversations_that_the_provider_keeps_are_told_apart_by_their_ids() -> None:
    made = [tail("", "a", conversation=name) for name in ("conv_1", "conv_2", "conv_1", "conv_2")]
    stream = streamed(made)
    assert (seen(stream), owners(stream)) == ([], ["1", "2", "1", "2"])


# Any harnesses, interleaved in any way


class Harnesses:
    """Agents at work, whose requests come in any order.

    Few words, so that agents often say the same; ids are random, or count from 1 in each.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.systems = [MAIN, HELPER][: self.rng.randint(1, 2)]
        self.tasks = ["Look.", "Write."][: self.rng.randint(1, 2)]
        self.counts_ids = self.rng.random() < 0.5
        self.repeats = self.rng.choice((0, 0.3))

    def requests(self) -> list[Any]:
        """Of one agent."""
        body = {"model": "claude", "system": self.rng.choice(self.systems)}
        history: list[Any] = [{"role": "user", "content": self.rng.choice(self.tasks)}]
        made = [body | {"messages": list(history)}]
        for step in range(self.rng.randint(0, 5)):
            history += self.turn(step)
            copies = 1 + (self.rng.random() < self.repeats)
            made += [body | {"messages": list(history)}] * copies
        return made

    def turn(self, step: int) -> list[Any]:
        calls: list[Any] = []
        results: list[Any] = []
        for k in range(self.rng.choice((0, 1, 1, 2))):
            name = f"call_{step}_{k}" if self.counts_ids else f"toolu_{self.rng.getrandbits(48):x}"
            command = self.rng.choice(("ls", "make", f"cat {step}"))
            call = {"type": "tool_use", "id": name, "name": "bash", "input": {"command": command}}
            calls.append(call)
            said = self.rng.choice(("ok", "no rule", "a.c\nb.c"))
            results.append({"type": "tool_result", "tool_use_id": name, "content": said})
        text = {"type": "text", "text": self.rng.choice(("I look.", "So."))}
        answer = {"role": "assistant", "content": [text, *calls]}
        return [answer, {"role": "user", "content": results or self.rng.choice(("on", "and?"))}]

    def in_any_order(self, agents: Iterable[list[Any]]) -> Iterator[Any]:
        left = [list(agent) for agent in agents]
        while any(left):
            yield self.rng.choice([agent for agent in left if agent]).pop(0)


SEEDS = st.integers(0, 10**9)


@given(SEEDS)
def test_harnesses_that_append_are_accused_of_nothing_in_any_order(seed: int) -> None:
    harnesses = Harnesses(seed)
    agents = [harnesses.requests() for _ in range(harnesses.rng.randint(1, 4))]
    assert seen(streamed(harnesses.in_any_order(agents))) == []


def masked(messages: list[Any]) -> None:
    for message in messages[:-1]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                block["content"] = "[cleared]"


def keys_turned_round(messages: list[Any]) -> None:
    messages[:] = [dict(reversed(message.items())) for message in messages]


WRONGS: dict[str, Callable[[list[Any]], None]] = {
    "masks results": masked,
    "turns keys round": keys_turned_round,
    "drops a turn": lambda messages: messages.__delitem__(slice(1, 3)),
    "rewrites the task": lambda messages: messages[0].update(content="Do it."),
}


@pytest.mark.parametrize("name", WRONGS)
@given(SEEDS)
def test_what_one_of_them_does_wrong_is_found_in_it(name: str, seed: int) -> None:
    """From the third step on: before, it may be another agent with the same task."""
    harnesses = Harnesses(seed)
    good = [harnesses.requests() for _ in range(harnesses.rng.randint(0, 2))]
    bad = [json.loads(json.dumps(one)) for one in harnesses.requests()]
    wrong = next((one for one in bad if len(one["messages"]) > 6), None)
    if wrong is None or wrong["messages"][1:3] == wrong["messages"][3:5]:
        return  # without one of two turns that are alike it is another agent's
    before = json.dumps(wrong)
    WRONGS[name](wrong["messages"])
    order = list(harnesses.in_any_order([*good, bad]))
    number = next(k for k, one in enumerate(order, 1) if one is wrong)
    broken = [one.request for one in streamed(order).breaks]
    assert (number in broken) == (json.dumps(wrong) != before)
