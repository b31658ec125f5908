"""The neutral shape, read and shown; and the same conversation in three formats (law L6)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.core.model import Call, Kind, Overhead, Part, PartKind, entry_digest
from compactor.formats import lens
from compactor.formats.entries import Entries, to_neutral
from compactor.formats.media import digest_of
from compactor.formats.raw.native import apply_edits, read_document

LENS = Entries()

USER = {"kind": "user", "text": "go"}
TURN = {
    "kind": "assistant",
    "text": "look",
    "calls": [{"id": "a", "name": "bash", "arguments": '{ "c": 1 }'}],
}
RESULT = {"kind": "tool", "call": "a", "text": "alpha", "error": True, "images": 2}
SYSTEM = {"kind": "system", "text": "mind"}


def test_entries_are_read_as_they_stand():
    reading = LENS.read([SYSTEM, USER, TURN, RESULT])
    call = Call("a", "bash", '{"c":1}', (2, "calls", 0, "arguments"))
    kinds = [Kind.SYSTEM, Kind.USER, Kind.ASSISTANT, Kind.TOOL]
    assert [e.kind for e in reading.entries] == kinds
    assert [e.at for e in reading.entries] == [(0,), (1,), (2,), (3,)]
    result = reading.entries[3]
    assert (result.call_id, result.call, result.body, result.error) == ("a", call, "alpha", True)
    assert result.parts == (
        Part(PartKind.IMAGE, digest=digest_of("0")),
        Part(PartKind.IMAGE, digest=digest_of("1")),
    )
    assert (reading.findings, reading.overhead) == ([], Overhead((), known=False))


def test_an_object_of_entries_is_addressed_from_its_root():
    reading = LENS.read({"entries": [TURN, RESULT], "name": "x"})
    assert [e.at for e in reading.entries] == [("entries", 0), ("entries", 1)]


def test_entries_shown_again_have_all_keys():
    bare = [{"kind": "user"}, {"kind": "assistant"}, {"kind": "tool"}, {"kind": "system"}]
    assert to_neutral(LENS.read(bare).entries) == [
        {"kind": "user", "text": ""},
        {"kind": "assistant", "text": "", "calls": []},
        {"kind": "tool", "call": "", "text": "", "error": False, "images": 0},
        {"kind": "system", "text": ""},
    ]
    full = [SYSTEM, USER, {**TURN, "calls": [{**TURN["calls"][0], "arguments": '{"c":1}'}]}, RESULT]
    assert to_neutral(LENS.read(full).entries) == full


def test_adjacent_assistant_entries_are_shown_as_one():
    assert to_neutral(LENS.read([TURN, {"kind": "assistant", "text": "more"}]).entries) == [
        {
            "kind": "assistant",
            "text": "look\nmore",
            "calls": [{"id": "a", "name": "bash", "arguments": '{"c":1}'}],
        }
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"kind":"tool", "text": "old","x":[1.0]}', '{"kind":"tool", "text": "M","x":[1.0]}'),
        ('{"text":"","images": 3 ,"kind":"tool"}', '{"text":"M","images": 0 ,"kind":"tool"}'),
    ],
)
def test_a_rewritten_entry_keeps_every_other_key(before, after):
    document = read_document(f"[ {before} ]".encode(), "t")
    (target,) = LENS.read(document.root).entries
    edits = LENS.rewrite_body(document.root, target, "M")
    assert document.edited(edits).decode() == f"[ {after} ]"


def test_a_string_in_arguments_is_replaced_inside_their_text():
    root = [{**TURN, "calls": [{"id": "a", "name": "w", "arguments": '{ "c": "long" }'}]}]
    edits = LENS.rewrite_argument(root, LENS.read(root).entries[0], 0, ("c",), "M")
    assert apply_edits(root, edits)[0]["calls"][0]["arguments"] == '{ "c": "M" }'


WRONG = {
    "an unknown kind": ({"kind": "robot"}, ".kind"),
    "no kind": ({"text": "x"}, ".kind"),
    "a text that is a number": ({"kind": "user", "text": 5}, ".text"),
    "calls that are no list": ({"kind": "assistant", "calls": {}}, ".calls"),
    "a call that is no object": ({"kind": "assistant", "calls": [1]}, ".calls[0]"),
    "a name that is a list": ({"kind": "assistant", "calls": [{"name": []}]}, ".calls[0].name"),
    "an id that is a number": ({"kind": "tool", "call": 1}, ".call"),
    "an error that is a word": ({"kind": "tool", "error": "yes"}, ".error"),
    "a negative number of images": ({"kind": "tool", "images": -1}, ".images"),
    "a truth as a number of images": ({"kind": "tool", "images": True}, ".images"),
    "a billion images": ({"kind": "tool", "images": 10**9}, ".images"),
}


@pytest.mark.parametrize(("entry", "path"), WRONG.values(), ids=WRONG)
def test_what_is_not_of_the_shape_is_refused_with_its_place(entry, path):
    with pytest.raises(InputError) as caught:
        LENS.read({"entries": [USER, entry]})
    assert (caught.value.code, caught.value.path) == ("input.shape", f"$.entries[1]{path}")


def test_an_unanswered_call_and_an_orphan_are_said():
    reading = LENS.read([{**RESULT, "call": "gone"}, TURN, USER])
    assert [(f.code, f.path) for f in reading.findings] == [
        ("orphan_result", "$[0]"),
        ("unanswered_call", "$[1].calls[0]"),
    ]


# --- one conversation in three formats ---

texts = st.text(max_size=12)
arguments = st.dictionaries(st.text(max_size=4), st.integers() | texts, max_size=3)


@st.composite
def conversations(draw):
    """Neutral entries with facts that all three formats can express: valid pairing, no images."""
    entries = []
    for turn in range(draw(st.integers(1, 5))):
        if draw(st.booleans()) or not entries:
            entries.append({"kind": "user", "text": draw(texts)})
        calls = [
            {"id": f"c{turn}.{i}", "name": f"t{i % 2}", "arguments": json.dumps(draw(arguments))}
            for i in range(draw(st.integers(0, 3)))
        ]
        entries.append({"kind": "assistant", "text": draw(texts), "calls": calls})
        entries += [{"kind": "tool", "call": c["id"], "text": draw(texts)} for c in calls]
    return entries


def as_anthropic(entries):
    messages = []
    for entry in entries:
        match entry["kind"]:
            case "user":
                messages.append({"role": "user", "content": entry["text"]})
            case "assistant":
                uses = [
                    {
                        "type": "tool_use",
                        "id": call["id"],
                        "name": call["name"],
                        "input": json.loads(call["arguments"]),
                    }
                    for call in entry["calls"]
                ]
                content = [{"type": "text", "text": entry["text"]}, *uses]
                messages.append({"role": "assistant", "content": content})
            case "tool":
                block = {"type": "tool_result", "tool_use_id": entry["call"]}
                block["content"] = entry["text"]
                if isinstance(messages[-1]["content"], str) or messages[-1]["role"] != "user":
                    messages.append({"role": "user", "content": []})
                messages[-1]["content"].append(block)
    return {"messages": messages}


def as_openai_chat(entries):
    messages = []
    for entry in entries:
        match entry["kind"]:
            case "user":
                messages.append({"role": "user", "content": entry["text"]})
            case "assistant":
                calls = [
                    {
                        "id": call["id"],
                        "type": "function",
                        "function": {"name": call["name"], "arguments": call["arguments"]},
                    }
                    for call in entry["calls"]
                ]
                message = {"role": "assistant", "content": entry["text"] or None}
                messages.append(message | ({"tool_calls": calls} if calls else {}))
            case "tool":
                content = entry["text"]
                messages.append({"role": "tool", "tool_call_id": entry["call"], "content": content})
    return {"messages": messages}


@settings(deadline=None)
@given(conversations())
def test_l6_a_conversation_has_the_same_entries_in_every_format(entries):
    neutral = LENS.read(entries).entries
    others = (
        lens("anthropic").read(as_anthropic(entries)).entries,
        lens("openai-chat").read(as_openai_chat(entries)).entries,
    )
    for other in others:
        assert to_neutral(other) == to_neutral(neutral)
        assert [entry_digest(e) for e in other] == [entry_digest(e) for e in neutral]
        assert [e.name for e in other] == [e.name for e in neutral]
