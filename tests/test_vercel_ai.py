"""Messages of the Vercel AI SDK: model messages and UI messages of versions 4 to 7."""

from __future__ import annotations

from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import codes, shown

import compactor
from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading, entry_digest
from compactor.formats import detect
from compactor.formats.frameworks.vercel_ai import VercelAI
from compactor.formats.raw.native import apply_edits

LENS = VercelAI()


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [text(c) if isinstance(c, str) else c for c in content]}


def said(*content: Any) -> dict[str, Any]:
    blocks = [text(c) if isinstance(c, str) else c for c in content]
    return {"role": "assistant", "content": blocks}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def call(call_id: str, key: str = "input", **more: Any) -> dict[str, Any]:
    arguments = {key: {"command": call_id}}
    return {"type": "tool-call", "toolCallId": call_id, "toolName": "bash", **arguments, **more}


def gave(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": "bash", **more}


def output(call_id: str, kind: str, value: Any) -> dict[str, Any]:
    return gave(call_id, output={"type": kind, "value": value})


def tools(*content: Any) -> dict[str, Any]:
    return {"role": "tool", "content": list(content)}


def ui(role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    made = [text(part) if isinstance(part, str) else part for part in parts]
    return {"id": "m", "role": role, "parts": made, **more}


def part(call_id: str, state: str, **more: Any) -> dict[str, Any]:
    fields = {"toolCallId": call_id, "state": state, "input": {"command": call_id}}
    return {"type": "tool-bash", **fields, **more}


def invoked(call_id: str, result: Any, step: int = 0) -> dict[str, Any]:
    fields = {"toolCallId": call_id, "toolName": "bash", "args": {"command": call_id}}
    native = {"state": "result", "step": step, **fields, "result": result}
    return {"type": "tool-invocation", "toolInvocation": native}


STEP = {"type": "step-start"}
UI5 = (
    ui("user", "go"),
    ui(
        "assistant",
        *(STEP, "look", part("x", "output-available", output="one")),
        *(part("y", "output-available", output="two"), STEP, "done"),
    ),
)
TALKS = {
    "model messages": (
        user("go"),
        said("look", call("x"), call("y")),
        tools(output("x", "text", "one"), output("y", "text", "two")),
        said("done"),
    ),
    "core messages": (
        {"role": "user", "content": "go"},
        said("look", call("x", "args"), call("y", "args")),
        tools(gave("x", result="one"), gave("y", result="two")),
        {"role": "assistant", "content": "done"},
    ),
    "UI messages": UI5,
    "UI messages of version 4": (
        ui("user", "go", content="go"),
        ui("assistant", STEP, "look", invoked("x", "one"), invoked("y", "two"), STEP, "done"),
    ),
    "UI messages of version 4 without steps": (
        ui("user", "go"),
        ui("assistant", "look", invoked("x", "one"), invoked("y", "two"), "done"),
    ),
}


def read(*messages: Any) -> Reading:
    return LENS.read(list(messages))


@pytest.mark.parametrize("messages", TALKS.values(), ids=TALKS)
def test_a_conversation_is_the_same_in_every_kind_of_message(messages: Any) -> None:
    assert detect(list(messages)).name == "vercel-ai"
    reading = read(*messages)
    kit.check_same(reading)
    assert codes(reading) == []


@pytest.mark.parametrize("messages", TALKS.values(), ids=TALKS)
def test_whatever_is_broken_is_refused_or_can_be_rewritten(messages: Any) -> None:
    kit.check_damage(LENS, list(messages))


def test_a_message_of_an_older_chat_has_its_steps_beside_its_text() -> None:
    natives = [invoked("x", "one")["toolInvocation"], invoked("y", "two", 1)["toolInvocation"]]
    old = {"id": "m", "role": "assistant", "content": "done", "toolInvocations": natives}
    reading = read({"id": "u", "role": "user", "content": "go"}, old)
    assert shown(reading) == [
        *(("user", ["go"]), ("assistant", [], ["x"]), ("tool", "x", "one")),
        *(("assistant", [], ["y"]), ("tool", "y", "two"), ("assistant", ["done"], [])),
    ]
    kit.check_damage(LENS, [old])


def test_a_call_of_another_step_begins_one_though_nothing_marks_it() -> None:
    reading = read(ui("assistant", invoked("x", "one", 0), invoked("y", "two", 1)))
    assert [entry.kind.value for entry in reading.entries] == ["assistant", "tool"] * 2


BLOCKS = [text("a"), {"type": "media", "data": "AAAA", "mediaType": "image/png"}, text("b")]
OUTPUTS: dict[str, tuple[dict[str, Any], str, bool, Any]] = {
    "a text": (output("x", "text", "one"), "one", False, {"type": "text", "value": "gone"}),
    "JSON": (
        output("x", "json", {"a": [1]}),
        '{"a":[1]}',
        False,
        {"type": "text", "value": "gone"},
    ),
    "an error": (
        output("x", "error-text", "no"),
        "no",
        True,
        {"type": "error-text", "value": "gone"},
    ),
    "an error in JSON": (
        *(output("x", "error-json", {"e": 1}), '{"e":1}', True),
        {"type": "error-text", "value": "gone"},
    ),
    "blocks": (
        *(output("x", "content", BLOCKS), "a\nb", False),
        {"type": "content", "value": [text("gone")]},
    ),
    "a denial": (
        *(gave("x", output={"type": "execution-denied", "reason": "no"}), "no", True),
        {"type": "execution-denied", "reason": "gone"},
    ),
}


@pytest.mark.parametrize(("block", "body", "error", "wanted"), OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_keeps_its_type_when_it_is_rewritten(
    block: Any, body: str, error: bool, wanted: Any
) -> None:
    root = [said(call("x")), tools(block)]
    [entry] = kit.tools(LENS.read(root))
    assert (entry.body, entry.error, entry.required) == (body, error, False)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new[1]["content"][0] == {**block, "output": wanted}
    assert kit.tools(LENS.read(new))[0].body == "gone"


RESULTS: dict[str, tuple[dict[str, Any], str, bool, dict[str, Any]]] = {
    "a text": ({"result": "one"}, "one", False, {"result": "gone"}),
    "an object": ({"result": {"a": 1}}, '{"a":1}', False, {"result": "gone"}),
    "an error": ({"result": "no", "isError": True}, "no", True, {"result": "gone"}),
    "content that is sent for it": (
        {"result": {"a": 1}, "content": [text("sent")]},
        "sent",
        False,
        {"content": [text("gone")]},
    ),
}


@pytest.mark.parametrize(("fields", "body", "error", "changed"), RESULTS.values(), ids=RESULTS)
def test_a_result_of_version_4_is_any_value(
    fields: Any, body: str, error: bool, changed: Any
) -> None:
    root = [said(call("x", "args")), tools(gave("x", **fields))]
    [entry] = kit.tools(LENS.read(root))
    assert (entry.body, entry.error) == (body, error)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new[1]["content"][0] == gave("x", **fields) | changed


def test_what_a_provider_ran_itself_stays_in_the_turn() -> None:
    hosted = (call("w", providerExecuted=True), output("w", "json", {"found": 1}))
    reading = read(user("go"), said(*hosted, "found", call("x")), tools(output("x", "text", "one")))
    assert shown(reading)[1:] == [("assistant", ["found"], ["x"]), ("tool", "x", "one")]
    assert [p.kind for p in reading.entries[1].parts] == [PartKind.OTHER, PartKind.OTHER, "text"]
    shown_part = part("w", "output-available", output={"found": 1}, providerExecuted=True)
    assert shown(read(ui("assistant", shown_part, "found"))) == [("assistant", ["found"], [])]


def test_reasoning_files_and_images_count_as_such() -> None:
    png = "data:image/png;base64,AAAA"
    reading = read(
        user(
            "go",
            {"type": "image", "image": "AAAA"},
            {"type": "file", "data": "AA", "mediaType": "a/b"},
        ),
        said(
            {"type": "reasoning", "text": "hm"},
            {"type": "redacted-reasoning", "data": "QUJD"},
            call("x"),
        ),
        ui("user", {"type": "file", "mediaType": "image/png", "url": png}),
        ui(
            "assistant",
            {"type": "reasoning", "text": "hm"},
            "x",
            {"type": "source-url", "url": "u"},
        ),
    )
    kinds = [[part.kind.value for part in entry.parts] for entry in reading.entries]
    assert kinds == [
        ["text", "image", "document"],
        ["reasoning", "sealed"],
        ["image"],
        ["reasoning", "text"],
    ]
    assert reading.entries[0].parts[1].digest == reading.entries[2].parts[0].digest


def test_what_a_client_shows_is_not_sent() -> None:
    reading = read(
        ui("user", "go", {"type": "data-weather", "data": {"a": 1}}),
        ui("assistant", STEP, {"type": "source", "source": {}}, STEP, "x"),
    )
    assert shown(reading) == [("user", ["go"]), ("assistant", ["x"], [])]
    assert codes(reading) == []


def test_the_states_of_a_tool_say_what_is_known_of_it() -> None:
    reading = read(
        ui(
            "assistant",
            part("a", "input-streaming"),
            part("b", "input-available"),
            part("c", "output-error", errorText="no", input=None, rawInput="{bad"),
            part("d", "output-denied", approval={"id": "p", "approved": False, "reason": "never"}),
            part("e", "output-denied", approval={"id": "p", "approved": False}),
        )
    )
    [turn, *results] = reading.entries
    assert [(c.id, c.arguments) for c in turn.calls][1] == ("c", "{bad")
    assert [call.id for call in turn.calls] == ["b", "c", "d", "e"]
    assert [(e.body, e.error, e.required) for e in results] == [
        ("no", True, False),
        ("never", True, True),
        ("Tool call execution denied.", True, True),
    ]
    assert codes(reading) == ["unanswered_call"]


def test_content_that_a_tool_of_mcp_gave_becomes_one_text_block() -> None:
    value = {"content": [text("a"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
    made = {"type": "dynamic-tool", "toolName": "f", "toolCallId": "x", "input": {}}
    root = [
        ui(
            "assistant",
            {**made, "state": "output-available", "output": {**value, "isError": False}},
        )
    ]
    [entry] = kit.tools(LENS.read(root))
    assert (entry.name, entry.body, [p.kind for p in entry.parts]) == ("f", "a", [PartKind.IMAGE])
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new[0]["parts"][0]["output"] == {"content": [text("gone")], "isError": False}


def test_a_body_says_system_and_tools() -> None:
    tool_set = {"bash": {"description": "runs", "inputSchema": {"type": "object"}}}
    root = {"messages": list(TALKS["model messages"]), "system": "be brief", "tools": tool_set}
    reading = LENS.read(root)
    assert reading.overhead.texts == ("be brief", "bash", "runs", '{"type":"object"}')
    assert detect(root).name == "vercel-ai"


def test_leading_system_messages_are_overhead_in_both_kinds() -> None:
    for system in ({"role": "system", "content": "be brief"}, ui("system", "be brief")):
        reading = read(system, user("go"), said(call("x")))
        assert (reading.overhead.texts, shown(reading)[0]) == (("be brief",), ("user", ["go"]))


def test_a_longer_list_is_read_from_where_the_last_one_ended() -> None:
    messages = [*TALKS["model messages"]]
    reading = LENS.read(messages[:3])
    longer = LENS.read(messages, reading)
    assert longer.entries is reading.entries
    kit.check_same(longer)


@pytest.mark.parametrize("kind", ["model messages", "UI messages"])
def test_a_chat_is_compacted_in_place(kind: str) -> None:
    turns: list[Any] = []
    for index in range(20):
        name, body = f"c{index}", "out " * 200
        if kind == "UI messages":
            turns.append(ui("assistant", STEP, part(name, "output-available", output=body)))
            turns.append(ui("user", "on"))
        else:
            turns += [said(call(name)), tools(output(name, "text", body))]
    root = {"id": "chat", "messages": [ui("user", "go"), *turns]}
    out = compactor.compact(root, kit.policy(3000), explain=True)
    elided = [fate.seq for fate in out.fates if fate.fate == "elided"]
    new = LENS.read(out.request).entries
    assert elided
    assert all(new[seq].body.startswith("[elided 800 chars") for seq in elided)
    same = [e is n for e, n in zip(root["messages"], out.request["messages"], strict=True)]
    assert same.count(False) == len(elided)


@pytest.mark.parametrize(
    "root",
    [
        [],
        [user("go"), said("done")],
        [{"role": "user", "parts": [text("hi")]}],
        [{"id": "m", "role": "user", "parts": []}],
        [{"id": "m", "role": "user", "parts": [{"type": "text", "content": "hi"}]}],
        [{"info": {"id": "m"}, "parts": [STEP]}],
        {"messages": 5},
        5,
    ],
)
def test_what_says_nothing_of_its_own_is_not_claimed(root: Any) -> None:
    assert not LENS.recognises(root)


def test_a_message_without_a_role_is_refused_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        read(user("go"), {"content": "x"})
    assert (caught.value.code, caught.value.path) == ("input.shape", "$[1].role")


def test_entries_of_ui_messages_are_those_of_the_model_messages_made_of_them() -> None:
    digests = [[*map(entry_digest, read(*TALKS[kind]).entries)] for kind in TALKS]
    assert all(each == digests[0] for each in digests)
