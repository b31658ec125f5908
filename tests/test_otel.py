"""OpenTelemetry's GenAI data: every convention in every kind of export, and a rule a test."""

from __future__ import annotations

import json
from typing import Any

import otel_kit as ot
import pytest
import recorded_kit as kit
from claude_rows import codes, numbers, shown
from otel_kit import CONVENTIONS, EXPORTS, TALK, call, gave, message, otlp, span, text

import compactor
from compactor.core.errors import InputError
from compactor.core.model import PartKind, Reading
from compactor.formats import detect
from compactor.formats.raw.native import Rows, apply_edits, compact_json, read_document
from compactor.formats.traces.otel import Otel

LENS = Otel()
each_convention = pytest.mark.parametrize("made", CONVENTIONS.values(), ids=CONVENTIONS)
each_export = pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)


def read(*messages: Any) -> Reading:
    return LENS.read(list(messages))


def source(root: Any) -> bytes:
    """A root as a file has it."""
    if isinstance(root, Rows):
        return "\n".join(map(json.dumps, root)).encode()
    return json.dumps(root, indent=1).encode()


# What was sent, in every spelling.


@each_export
@each_convention
def test_a_conversation_is_the_same_in_every_convention_and_export(made: Any, export: Any) -> None:
    root = export(made)
    assert detect(root).name == "otel"
    reading = LENS.read(root)
    kit.check_same(reading)
    assert codes(reading) == []


@each_export
@each_convention
def test_a_body_is_rewritten_where_its_writer_has_it(made: Any, export: Any) -> None:
    data = source(export(made))
    document = read_document(data, "t")
    reading = LENS.read(document.root)
    edits = [e for r in kit.tools(reading) for e in LENS.rewrite_body(document.root, r, "gone")]
    new = document.edited(edits)
    again = LENS.read(read_document(new, "t").root)
    assert [entry.body for entry in kit.tools(again)] == ["gone", "gone"]
    assert shown(again)[:2] == shown(reading)[:2]
    assert LENS.read(apply_edits(document.root, edits)).entries[2].body == "gone"
    left = new.replace(b"gone", b"one", 1).replace(b"gone", b"two", 1)
    # Blocks become one block, spelled without spaces; all else is as it was.
    assert left.replace(b" ", b"") == data.replace(b" ", b"")


@each_export
@each_convention
def test_an_argument_is_rewritten_where_its_writer_has_it(made: Any, export: Any) -> None:
    root = export(made)
    [turn] = [entry for entry in LENS.read(root).entries if entry.calls]
    edits = [
        edit
        for index in range(2)
        for edit in LENS.rewrite_argument(root, turn, index, ("command",), f"new {index}")
    ]
    [again] = [entry for entry in LENS.read(apply_edits(root, edits)).entries if entry.calls]
    wanted = ['{"command":"new 0"}', '{"command":"new 1"}']
    assert [call.arguments for call in again.calls] == wanted


@each_convention
def test_whatever_is_broken_is_refused_or_can_be_rewritten(made: Any) -> None:
    kit.check_damage(LENS, [made])


@each_export
def test_an_export_may_be_broken_anywhere(export: Any) -> None:
    short = [message("assistant", call("x")), message("tool", gave("x", [text("one")]))]
    kit.check_damage(LENS, export(span({"gen_ai.input.messages": short})))


@pytest.mark.parametrize("with_span", [True, False])
def test_log_records_are_what_their_span_says(with_span: bool) -> None:
    root = ot.records() | (otlp(span(ot.attributes_of())) if with_span else {})
    assert detect(root).name == "otel"
    reading = LENS.read(root)
    kit.check_same(reading)
    assert reading.model == ("m" if with_span else "")
    [entry, *_] = kit.tools(reading)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert compact_json(new) == compact_json(root).replace('"one"', '"gone"')


def test_log_records_may_be_broken_anywhere() -> None:
    [scope] = ot.records()["resourceLogs"][0]["scopeLogs"]
    kit.check_damage(LENS, scope["logRecords"][1:3])


def test_a_result_that_is_spread_over_attributes_becomes_one_text() -> None:
    base = "llm.input_messages"
    parts = {
        f"{base}.1.message.role": "tool",
        f"{base}.1.message.tool_call_id": "x",
        f"{base}.1.message.contents.0.message_content.text": "one",
        f"{base}.1.message.contents.2.message_content.text": "two",
    }
    made = {
        f"{base}.0.message.tool_calls.0.tool_call.id": "x",
        f"{base}.0.message.role": "assistant",
    }
    root = [span(made | parts)]
    [entry] = kit.tools(LENS.read(root))
    assert entry.body == "one\ntwo"
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert kit.tools(LENS.read(new))[0].body == "gone"


def test_an_object_of_attributes_is_a_span_alone() -> None:
    root = {"gen_ai.input.messages": json.dumps(TALK), "gen_ai.usage.input_tokens": 5}
    assert detect(root).name == "otel"
    kit.check_same(LENS.read(root))
    out = compactor.compact(root, kit.policy(10))
    assert out.report.format == "otel"


# Messages alone.


def test_a_list_of_messages_is_a_conversation() -> None:
    assert detect(TALK).name == "otel"
    kit.check_same(LENS.read(TALK))
    assert (LENS.threads(TALK), LENS.all_usage(TALK)) == (["main"], [])
    kit.check_same(LENS.of_thread("main").read(TALK))
    with pytest.raises(InputError):
        Otel("other").read(TALK)


def test_a_longer_list_is_read_from_where_the_last_one_ended() -> None:
    reading = LENS.read(TALK[:3])
    longer = LENS.read(TALK, reading)
    assert longer.entries is reading.entries
    kit.check_same(longer)


def test_what_is_beside_the_responses_of_a_message_is_an_entry_of_its_own() -> None:
    reading = read(TALK[0], TALK[1], message("user", gave("x", "one"), "and", gave("y", "two")))
    assert shown(reading)[2:] == [("tool", "x", "one"), ("user", ["and"]), ("tool", "y", "two")]


RESPONSES: dict[str, tuple[Any, str, Any]] = {
    "a text": ("one", "one", "gone"),
    "an object": ({"a": 1}, '{"a":1}', "gone"),
    "a number": (5, "5", "gone"),
    "any list": ([1, {"type": "x", "y": 2}], '[1,{"type":"x","y":2}]', "gone"),
    "parts": ([text("a"), text("b")], "a\nb", [text("gone")]),
    "blocks": (
        [{"type": "text", "text": "a"}, {"type": "image", "source": {"data": "AAAA"}}],
        "a",
        [{"type": "text", "text": "gone"}],
    ),
    "keyed blocks": ([{"text": "a"}, {"json": {"b": 1}}], 'a\n{"b":1}', [{"text": "gone"}]),
}


@pytest.mark.parametrize(("response", "body", "wanted"), RESPONSES.values(), ids=RESPONSES)
def test_a_response_is_any_value(response: Any, body: str, wanted: Any) -> None:
    root = [TALK[0], TALK[1], message("tool", gave("x", response), gave("y", ""))]
    entry = LENS.read(root).entries[2]
    assert entry.body == body
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new[2]["parts"][0]["response"] == wanted
    assert LENS.read(new).entries[2].body == "gone"
    assert LENS.read(new).entries[2].parts == ()


def test_what_a_server_ran_itself_stays_in_the_turn() -> None:
    hosted = (call("w") | {"builtin": True}, gave("w", "found") | {"builtin": True})
    server = {"type": "server_tool_call", "name": "s", "server_tool_call": {"type": "s"}}
    reading = read(TALK[0], message("assistant", *hosted, server, "found"))
    assert shown(reading) == [("user", ["go"]), ("assistant", ["found"], [])]
    assert [part.kind for part in reading.entries[1].parts][:3] == [PartKind.OTHER] * 3
    assert codes(reading) == []


def test_reasoning_and_media_are_read_in_the_words_of_all_writers() -> None:
    blob = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"}
    reading = read(
        message(
            "user",
            blob,
            {"type": "uri", "modality": "image", "uri": "http://x"},
            {"type": "file", "modality": "document", "file_id": "f"},
            {"type": "binary", "media_type": "image/png", "content": "AAAA"},
            {"type": "image-url", "url": "http://x"},
        ),
        message(
            "assistant", {"type": "reasoning", "content": "a"}, {"type": "thinking", "content": "b"}
        ),
    )
    kinds = [[part.kind.value for part in entry.parts] for entry in reading.entries]
    assert kinds == [["image", "image", "document", "image", "image"], ["reasoning", "reasoning"]]
    assert codes(reading) == []


# Requests and conversations.


def request(at: int, messages: Any, name: str = "", parent: str = "r", **more: Any) -> Any:
    attributes = ot.attributes_of() | {"gen_ai.input.messages": json.dumps(messages)}
    return span(attributes | more, name or f"s{at}", parent, at)


def used(prompt: Any, output: Any, **more: Any) -> dict[str, Any]:
    counts = {"gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": output}
    return counts | {f"gen_ai.usage.{key.replace('__', '.')}": v for key, v in more.items()}


@each_export
def test_requests_that_go_on_are_one_conversation_with_their_usage(export: Any) -> None:
    written = {"cache_creation__input_tokens": 2}
    spans = [
        request(3, TALK, **used(30, 3, cache_read__input_tokens=20)),
        request(1, TALK[:1], **used(10, 1)),
        request(2, TALK[:3], **used(20, 2, cache_read__input_tokens=8, **written)),
    ]
    root = export(*spans)
    reading = LENS.read(root)
    kit.check_same(reading)
    assert [(usage.n, *numbers(usage)) for usage in reading.usage] == [
        (1, 10, 0, 0, 1),
        (4, 10, 8, 2, 2),
        (5, 10, 20, 0, 3),
    ]
    assert [numbers(usage) for usage in LENS.all_usage(root)] == [
        numbers(usage) for usage in reading.usage
    ]
    assert (LENS.threads(root), reading.model) == (["main"], "m")


COUNTS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "digits": (used("10", "1"), (10, 0, 0, 1)),
    "earlier names": (
        {"gen_ai.usage.prompt_tokens": 10, "gen_ai.usage.completion_tokens": 1},
        (10, 0, 0, 1),
    ),
    "OpenLLMetry's cache": (used(10, 1, cache_read_input_tokens=4), (6, 4, 0, 1)),
    "pydantic-ai's details": (
        used(10, 1, details__cache_read_tokens=4, details__cache_write_tokens=3),
        (3, 4, 3, 1),
    ),
    "OpenInference": (
        {
            "llm.token_count.prompt": 10,
            "llm.token_count.completion": 1,
            "llm.token_count.prompt_details.cache_read": 4,
        },
        (6, 4, 0, 1),
    ),
    "Vercel's": (
        {"ai.usage.inputTokens": 10, "ai.usage.outputTokens": 1, "ai.usage.cachedInputTokens": 4},
        (6, 4, 0, 1),
    ),
    "more cached than sent": (used(10, 1, cache_read__input_tokens=90), (10, 90, 0, 1)),
}


@pytest.mark.parametrize(("counts", "wanted"), COUNTS.values(), ids=COUNTS)
def test_counts_have_one_meaning_whoever_wrote_them(counts: Any, wanted: Any) -> None:
    [usage] = LENS.read([request(1, TALK, **counts)]).usage
    assert numbers(usage) == wanted


def test_system_texts_and_tools_stand_beside_the_messages() -> None:
    tool = {"type": "function", "name": "bash", "description": "runs", "parameters": {"a": 1}}
    beside = {
        "gen_ai.system_instructions": json.dumps([text("be brief")]),
        "gen_ai.tool.definitions": json.dumps([tool]),
    }
    wanted = ("be brief", "bash", "runs", '{"a":1}')
    assert LENS.read([request(1, TALK, **beside)]).overhead.texts == wanted
    assert LENS.read([request(1, [message("system", "be brief"), *TALK])]).overhead.texts == (
        "be brief",
    )
    assert not LENS.read([request(1, TALK)]).overhead.known


@pytest.mark.parametrize(
    "tools",
    [
        {
            "llm.request.functions.0.name": "bash",
            "llm.request.functions.0.description": "runs",
            "llm.request.functions.0.parameters": '{"a": 1}',
        },
        {
            "llm.tools.0.tool.json_schema": json.dumps(
                {
                    "type": "function",
                    "function": {"name": "bash", "description": "runs", "parameters": {"a": 1}},
                }
            )
        },
        {
            "ai.prompt.tools": [
                json.dumps({"name": "bash", "description": "runs", "inputSchema": {"a": 1}})
            ]
        },
        {
            "model_request_parameters": json.dumps(
                {
                    "function_tools": [
                        {"name": "bash", "description": "runs", "parameters_json_schema": {"a": 1}}
                    ],
                    "output_tools": [],
                }
            )
        },
    ],
    ids=["OpenLLMetry", "OpenInference", "Vercel", "pydantic-ai"],
)
def test_tools_are_found_in_the_words_of_every_writer(tools: Any) -> None:
    assert LENS.read([request(1, TALK, **tools)]).overhead.texts == ("bash", "runs", '{"a":1}')


def test_a_span_around_requests_is_none() -> None:
    around = request(1, TALK, "out", "r", **used(99, 9)) | {"name": "ai.generateText"}
    inner = request(2, TALK, "in", "out", **used(10, 1))
    assert [usage.input for usage in LENS.all_usage([around, inner])] == [10]


def test_a_span_of_an_agent_is_read_only_where_there_is_no_other() -> None:
    kind = {"gen_ai.operation.name": "invoke_agent"}
    agent = span(kind | {"gen_ai.input.messages": json.dumps(TALK)}, "agent")
    kit.check_same(LENS.read([agent]))
    assert shown(LENS.read([agent, request(2, TALK[:1], parent="x")])) == [("user", ["go"])]
    whole = {"pydantic_ai.all_messages": json.dumps(TALK), "agent_name": "a"}
    kit.check_same(LENS.read([span(kind | whole)]))


def test_a_subagents_conversation_is_a_thread_of_its_own() -> None:
    other = [message("user", "look it up")]
    root = [request(1, TALK[:1]), request(2, other, "sub", "tool"), request(3, TALK[:3])]
    reading = LENS.read(root)
    assert codes(reading) == ["other_threads"]
    assert LENS.threads(root) == ["main", "sub"]
    assert shown(LENS.of_thread("sub").read(root)) == [("user", ["look it up"])]
    assert codes(LENS.of_thread("main").read(root)) == []
    with pytest.raises(InputError, match="there is no thread 'x'"):
        LENS.of_thread("x").read(root)


def test_a_request_of_what_is_new_goes_on_with_the_answer_that_it_answers() -> None:
    answer = {"gen_ai.output.messages": json.dumps([TALK[1]])}
    root = [
        request(1, TALK[:1], **answer, **used(10, 1)),
        request(2, TALK[2:3], **used(20, 2)),
    ]
    reading = LENS.read(root)
    assert shown(reading) == shown(LENS.read(TALK[:3]))
    assert [usage.n for usage in reading.usage] == [1, 4]
    new = apply_edits(root, LENS.rewrite_body(root, kit.tools(reading)[0], "gone"))
    assert kit.tools(LENS.read(new))[0].body == "gone"


@pytest.mark.parametrize("key", ["gen_ai.tool.call.result", "tool_response", "output.value"])
def test_what_tools_gave_is_found_in_their_own_spans_where_requests_say_nothing(key: str) -> None:
    answers = [{"gen_ai.output.messages": json.dumps([each])} for each in (TALK[1], TALK[3])]
    kinds = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}
    ran = [
        span(kinds | {"gen_ai.tool.call.id": each, key: body}, each, "r", at)
        for at, (each, body) in enumerate((("x", "one"), ("y", "two")), 2)
    ]
    root = [
        request(1, TALK[:1], **answers[0], **used(10, 1)),
        *ran,
        span(ot.attributes_of(**answers[1]) | used(20, 2), "s4", "r", 4),
    ]
    reading = LENS.read(root)
    assert shown(reading) == shown(LENS.read(TALK[:3]))
    assert [usage.n for usage in reading.usage] == [1, 4]
    new = apply_edits(root, LENS.rewrite_body(root, kit.tools(reading)[1], "gone"))
    assert new[2]["attributes"][key] == "gone"


def test_spans_without_messages_have_only_usage() -> None:
    root = otlp(span(ot.attributes_of(**used(10, 1))))
    assert detect(root).name == "otel"
    assert [numbers(usage) for usage in LENS.all_usage(root)] == [(10, 0, 0, 1)]
    reading = LENS.read(root)
    assert (reading.entries, codes(reading)) == ([], ["messages_not_recorded"])
    assert LENS.threads(root) == []


@pytest.mark.parametrize(
    "root",
    [
        otlp(span({"http.method": "GET"})),
        [span({"db.system": "x"})],
        Rows([{"attributes": {"a": 1}}]),
        {"spans": []},
        [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        [{"role": "user", "parts": [{"text": "hi"}]}],
        5,
    ],
)
def test_what_says_nothing_of_models_is_not_claimed(root: Any) -> None:
    assert not LENS.recognises(root)


@each_export
def test_a_trace_is_compacted_in_its_last_request_alone(export: Any) -> None:
    messages = [message("user", "go")]
    spans = []
    for index in range(12):
        spans.append(request(index + 1, messages))
        name = f"c{index}"
        turn = [message("assistant", call(name)), message("tool", gave(name, "out " * 200))]
        messages = [*messages, *turn]
    data = source(export(*spans))
    before = compactor.load(data)
    assert before.to_bytes() == data
    out = compactor.compact(before, kit.policy(2500), explain=True)
    elided = [fate.seq for fate in out.fates if fate.fate == "elided"]
    new = out.request.to_bytes()
    after = compactor.load(new)
    assert elided
    assert all(after.entries[seq].body.startswith("[elided 800 chars") for seq in elided)
    last = data.rindex(b'"out out', 0, data.rindex(b"out out"))
    assert new[: last // 2] == data[: last // 2]
