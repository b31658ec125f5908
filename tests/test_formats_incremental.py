"""Going on from an earlier reading: the entries of a fresh one, for the price of what is new."""

import copy

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.formats import FORMATS, lens
from compactor.formats.builder import Builder

texts = st.text(max_size=3)
ids = st.sampled_from(["a", "b", "c", ""])


def said(words):
    return {"type": "text", "text": words}


def use(call_id):
    return {"type": "tool_use", "id": call_id, "name": f"t{call_id}", "input": {}}


def result(call_id):
    return {"type": "tool_result", "tool_use_id": call_id, "content": "r"}


anthropic_messages = st.one_of(
    st.builds(
        lambda blocks: {"role": "user", "content": blocks},
        st.lists(texts.map(said) | ids.map(result), max_size=4),
    ),
    st.builds(
        lambda blocks: {"role": "assistant", "content": blocks},
        st.lists(texts.map(said) | ids.map(use), max_size=4),
    ),
    st.builds(lambda words: {"role": "system", "content": words}, texts),
)


def chat_call(call_id):
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


chat_messages = st.one_of(
    st.builds(lambda words: {"role": "user", "content": words}, texts),
    st.builds(lambda words: {"role": "system", "content": words}, texts),
    st.builds(lambda i: {"role": "tool", "tool_call_id": i, "content": "r"}, ids),
    st.just({"role": "function", "name": "f", "content": "r"}).map(dict),
    st.builds(
        lambda calls: {"role": "assistant", "content": "x", "tool_calls": calls},
        st.lists(ids.map(chat_call), max_size=3),
    ),
    st.builds(lambda: {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}),
)

response_items = st.one_of(
    st.builds(lambda words: {"role": "user", "content": words}, texts),
    st.builds(lambda words: {"role": "assistant", "content": words}, texts),
    st.builds(lambda words: {"role": "system", "content": words}, texts),
    st.builds(lambda words: {"type": "compaction", "encrypted_content": words}, texts),
    ids.map(lambda i: {"type": "function_call", "call_id": i, "name": "f", "arguments": "{}"}),
    ids.map(lambda i: {"type": "function_call_output", "call_id": i, "output": "r"}),
    st.builds(
        lambda i, j: {"type": "local_shell_call", "id": i, "call_id": j, "action": {}}, ids, ids
    ),
    ids.map(lambda i: {"type": "local_shell_call_output", "id": i, "output": "r"}),
)

neutral_entries = st.one_of(
    st.builds(lambda words: {"kind": "user", "text": words}, texts),
    st.builds(lambda words: {"kind": "system", "text": words}, texts),
    st.builds(lambda i: {"kind": "tool", "call": i, "text": "r"}, ids),
    st.builds(
        lambda calls: {"kind": "assistant", "calls": calls},
        st.lists(ids.map(lambda i: {"id": i, "name": "f", "arguments": "{}"}), max_size=3),
    ),
)

MESSAGES = {
    "anthropic": anthropic_messages,
    "openai-chat": chat_messages,
    "entries": neutral_entries,
    "openai-responses": response_items,
}
formats = pytest.mark.parametrize("name", MESSAGES)


def facts(reading):
    return (
        [msgspec.structs.asdict(entry) for entry in reading.entries],
        reading.findings,
        reading.overhead,
        reading.model,
    )


@formats
@settings(deadline=None)
@given(data=st.data())
def test_every_prefix_and_every_turn_back_reads_like_a_fresh_input(name, data):
    messages = data.draw(st.lists(MESSAGES[name], max_size=12))
    other = data.draw(st.lists(MESSAGES[name], max_size=4))
    known = None
    for _ in range(data.draw(st.integers(1, 6))):
        keep = data.draw(st.integers(0, len(messages)))
        tail = other if data.draw(st.booleans()) else []
        root = messages[:keep] + tail
        known = lens(name).read(root, known)
        assert facts(known) == facts(lens(name).read(copy.deepcopy(root)))


def conversation(name, turns):
    messages = []
    for i in range(turns):
        match name:
            case "anthropic":
                messages.append({"role": "assistant", "content": [use(str(i))]})
                messages.append({"role": "user", "content": [result(str(i))]})
            case "openai-chat":
                messages.append({"role": "assistant", "tool_calls": [chat_call(str(i))]})
                messages.append({"role": "tool", "tool_call_id": str(i), "content": "r"})
            case "openai-responses":
                call = {"type": "local_shell_call", "id": f"i{i}", "call_id": f"c{i}", "action": {}}
                messages.append(call)
                output = {"type": "local_shell_call_output", "id": f"i{i}", "output": "r"}
                messages.append(output)
            case "entries":
                call = {"id": str(i), "name": "f", "arguments": "{}"}
                messages.append({"kind": "assistant", "calls": [call]})
                messages.append({"kind": "tool", "call": str(i), "text": "r"})
    return messages


@pytest.fixture
def pushed(monkeypatch):
    """Every entry that any builder makes."""
    made = []
    push = Builder._push

    def counted(self, entry):
        made.append(entry)
        push(self, entry)

    monkeypatch.setattr(Builder, "_push", counted)
    return made


@formats
def test_a_longer_request_builds_what_is_new_and_at_most_the_turn_before_it(name, pushed):
    messages = conversation(name, 200)
    known = lens(name).read(messages[:300])
    entries, before = known.entries, list(known.entries)
    pushed.clear()
    longer = lens(name).read(messages[:320], known)
    assert longer.entries is entries
    assert len(pushed) <= 20 + 2
    assert all(map(lambda old, new: old is new, before[:298], longer.entries))


@formats
def test_a_conversation_read_request_by_request_builds_a_bounded_number_of_entries(name, pushed):
    messages = conversation(name, 150)
    known = None
    for end in range(1, len(messages) + 1):
        known = lens(name).read(messages[:end], known)
    assert len(known.entries) == len(messages)
    assert len(pushed) <= 3 * len(messages)


def test_the_last_message_may_have_grown_in_place():
    messages = conversation("anthropic", 2)
    known = lens("anthropic").read(messages)
    messages[-1]["content"].append(said("and go on"))
    grown = lens("anthropic").read(messages, known)
    assert facts(grown) == facts(lens("anthropic").read(copy.deepcopy(messages)))


def test_tools_and_system_texts_that_are_the_same_objects_are_not_spelled_again():
    body = {
        "system": "s",
        "tools": [{"name": "f", "input_schema": {}}],
        "messages": conversation("anthropic", 1),
    }
    known = lens("anthropic").read(body)
    again = lens("anthropic").read({**body, "tools": list(body["tools"])}, known)
    assert again.overhead is known.overhead
    other = lens("anthropic").read({**body, "system": "t"}, known)
    assert other.overhead.texts == ("t", "f", "{}")


def test_a_reading_of_another_conversation_or_format_is_left_alone():
    messages = conversation("anthropic", 3)
    known = lens("anthropic").read(messages)
    before = list(known.entries)
    others = (
        lens("anthropic").read(copy.deepcopy(messages), known),
        lens("anthropic").read({"messages": messages}, known),
        lens("openai-chat").read([{"role": "user", "content": "x"}], known),
    )
    assert all(other.entries is not known.entries for other in others)
    assert known.entries == before


@formats
def test_a_refused_request_does_not_spoil_the_next_one(name):
    messages = conversation(name, 3)
    known = lens(name).read(messages[:4])
    with pytest.raises(InputError):
        lens(name).read([*messages[:4], "no message"], known)
    again = lens(name).read(messages, known)
    assert facts(again) == facts(lens(name).read(copy.deepcopy(messages)))


@pytest.mark.parametrize("name", [n for n in FORMATS if n in MESSAGES])
def test_a_long_run_of_model_messages_is_merged_once(name, monkeypatch):
    copied = []
    replace = msgspec.structs.replace

    def counted(struct, **changes):
        copied.append(len(changes.get("parts", ())))
        return replace(struct, **changes)

    monkeypatch.setattr(msgspec.structs, "replace", counted)
    who = {"kind": "assistant", "text": "x"}
    if name != "entries":
        who = {"role": "assistant", "content": "x"}
    (turn,) = lens(name).read([dict(who) for _ in range(2000)]).entries
    assert (len(turn.parts), copied) == (2000, [2000])
