"""Recorded HTTP bodies: every recorded file against its raw records, and a rule a test."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, numbers, shown

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Reading, Usage
from compactor.formats.raw.native import Rows, apply_edits, read_document
from compactor.formats.traces.http_bodies import Http

LENS = Http()
FOLDERS = ("anthropic-http", "gemini-http", "openai-chat-http", "openai-responses-http")
FILES = [path for folder in FOLDERS for path in kit.files(folder)]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")


# Recorded files against counts that know nothing of the lens.


def raw_counts(response: Any) -> tuple[int, int] | None:
    """Tokens in and out of one answer, whatever was cached; a stream's last words count."""
    if isinstance(response, str):
        lines = (line for line in response.split("\n") if line.startswith("data: {"))
        response = [json.loads(line[6:]) for line in lines]
    total: Json = {}
    for event in response if isinstance(response, list) else [response]:
        inner = event.get("message") or event.get("response") or event
        for key in ("usage", "usageMetadata"):
            total |= inner.get(key) or {}
    if not total:
        return None
    names = {"promptTokenCount", "prompt_tokens", "input_tokens"}
    asked = sum(total.get(name, 0) for name in names)
    if "promptTokenCount" in total:
        return asked, total.get("totalTokenCount", asked) - asked
    asked += total.get("cache_read_input_tokens", 0)
    asked += total.get("cache_creation_input_tokens", 0)
    return asked, total.get("completion_tokens", total.get("output_tokens", 0))


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "http")


@each_file
def test_every_request_with_counts_is_counted_once(path: Path) -> None:
    rows = kit.rows_of(path)
    wanted = [counts for row in rows if (counts := raw_counts(row["response"])) is not None]
    found = [(u.input + u.cache_read + u.cache_write, u.output) for u in LENS.all_usage(rows)]
    assert found == wanted


@each_file
def test_each_request_is_over_the_start_of_one_conversation(path: Path) -> None:
    """Compactions by the provider cut what lies before them off; then only the last is left."""
    rows = kit.rows_of(path)
    bodies = [row.get("request") or {} for row in rows]
    keys = ("messages", "contents", "input")
    asked = sum(any(isinstance(body.get(key), list) for key in keys) for body in bodies)
    readings = [LENS.of_thread(name).read(rows) for name in LENS.threads(rows)]
    placed = sum(len(reading.usage) for reading in readings)
    assert placed == (1 if "compact" in path.stem else asked)


@each_file
def test_results_of_every_conversation_can_be_rewritten_alone(path: Path) -> None:
    root = read_document(path.read_bytes(), path.name).root
    for name in LENS.threads(root):
        lens = LENS.of_thread(name)
        entries = lens.read(root).entries
        for entry in entries:
            if entry.kind != "tool" or entry.empty or entry.required:
                continue
            changed = apply_edits(root, lens.rewrite_body(root, entry, "gone"))
            again = lens.read(changed).entries
            assert [e.body for e in again] == ["gone" if e is entry else e.body for e in entries]
            assert sum(old is not new for old, new in zip(root, changed, strict=True)) == 1


@each_file
def test_a_recording_is_compacted_at_three_windows(path: Path) -> None:
    kit.check_compacts(path, "http")


def test_recordings_have_something_to_elide() -> None:
    """So that the test above compares something; they are short."""
    assert not FILES or sum(kit.check_compacts(path, "http") for path in FILES) > 0


# Records, as small as they can be.

ASKED = [{"role": "user", "content": "go"}]
CALL = {"id": "x", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
TURN = {"role": "assistant", "content": "look", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "x", "content": "one"}
CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"


def answer(prompt: int = 10, output: int = 2, **more: Any) -> Json:
    counts = {"prompt_tokens": prompt, "completion_tokens": output}
    return {"object": "chat.completion", "model": "gpt-6-1", "usage": counts, **more}


def record(messages: Any, response: Any = None, url: str = CHAT, **more: Any) -> Json:
    request = {"model": "gpt-6", "messages": messages}
    found = {"method": "POST", "url": url, "request": request, "status": 200}
    return {**found, "response": answer() if response is None else response, **more}


def read(*records: Any, thread: str = "") -> Reading:
    return Http(thread).read(Rows(records))


def test_a_conversation_is_what_its_last_request_carried() -> None:
    reading = read(record(ASKED, answer(10)), record([*ASKED, TURN, RESULT], answer(30, 5)))
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["look"], ["x"]),
        ("tool", "x", "one"),
    ]
    assert [numbers(usage) for usage in reading.usage] == [(10, 0, 0, 2), (30, 0, 0, 5)]
    assert [usage.n for usage in reading.usage] == [1, 3]
    assert (reading.model, codes(reading)) == ("gpt-6", [])


def test_other_conversations_are_named_by_the_record_they_began_in() -> None:
    records = [record([{"role": "user", "content": "other"}]), record(ASKED), {"no": "record"}]
    records += [record([*ASKED, TURN, RESULT]), record([{"role": "user", "content": "third"}])]
    assert LENS.threads(records) == ["main", "request-1", "request-5"]
    assert shown(read(*records, thread="request-5")) == [("user", ["third"])]
    finding = next(f for f in read(*records).findings if f.code == "other_threads")
    assert finding.message == "2 more conversations; choose one with --thread"
    with pytest.raises(InputError, match="no thread 'request-2'"):
        read(*records, thread="request-2")


def test_system_prompt_and_tools_are_the_last_requests() -> None:
    body = {"system": "be brief", "tools": [{"name": "t", "input_schema": {}}], "messages": ASKED}
    reading = read({"url": "https://x/v1/messages", "request": body, "response": {}})
    assert (reading.overhead.texts, reading.overhead.known) == (("be brief", "t", "{}"), True)


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("https://api.openai.com/v1/embeddings", {"model": "e", "input": "text"}),
        ("https://api.anthropic.com/v1/messages/count_tokens", {"messages": ASKED}),
        ("https://api.anthropic.com/v1/messages/batches", {"requests": []}),
        ("https://api.openai.com/v1/threads", {"messages": ASKED}),
        ("https://api.openai.com/v1/threads/t/messages", {"role": "user", "content": "x"}),
        ("https://x/v1beta/models/g:countTokens", {"contents": [{"parts": []}]}),
        ("https://api.openai.com/v1/chat/completions", {"model": "m"}),
        ("https://api.openai.com/v1/traces/ingest", {"data": []}),
    ],
)
def test_requests_of_other_kinds_are_passed_over_and_said(url: str, body: Json) -> None:
    other = {"url": url, "request": body, "response": {"usage": {"prompt_tokens": 5}}}
    reading = read(record(ASKED), other)
    assert (shown(reading), codes(reading)) == ([("user", ["go"])], ["other_requests"])
    assert len(LENS.all_usage([record(ASKED), other])) == 1


def test_a_completion_of_a_text_is_no_conversation_but_counts() -> None:
    url, body = "https://api.openai.com/v1/completions", {"model": "m", "prompt": "go"}
    other = {"url": url, "request": body, "response": answer(5, 3), "status": 200}
    assert codes(read(record(ASKED), other)) == ["other_requests"]
    assert [numbers(u) for u in LENS.all_usage([other, record(ASKED)])] == [
        (5, 0, 0, 3),
        (10, 0, 0, 2),
    ]


def test_an_embedding_is_known_by_its_answer_where_no_url_says_so() -> None:
    pair = {"request": {"model": "e", "input": "text"}, "response": {"data": [{"embedding": []}]}}
    assert codes(read(record(ASKED), pair)) == ["other_requests"]


def test_failed_requests_are_passed_over_unless_there_is_nothing_else() -> None:
    refused = record([*ASKED, TURN, RESULT], {"error": {"message": "too long"}}, status=400)
    reading = read(record(ASKED), refused)
    assert (shown(reading), codes(reading)) == ([("user", ["go"])], ["failed_requests"])
    alone = read(refused)
    assert (len(alone.entries), codes(alone)) == (3, ["failed_requests"])
    unsaid = record(ASKED, {"type": "error", "error": {}})
    unsaid.pop("status")
    assert codes(read(unsaid, record(ASKED))) == ["failed_requests"]


def test_answers_without_requests_hold_no_entries_but_their_usage() -> None:
    chunks = [{"usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 12}}]
    rows = Rows([{"method": "generateContentStream", "response": chunks}])
    assert LENS.recognises(rows)
    reading = LENS.read(rows)
    assert (reading.entries, codes(reading)) == ([], ["answers_only"])
    assert LENS.all_usage(rows) == [Usage(0, 9, output=3)]
    assert LENS.threads(rows) == []


def test_a_request_whose_messages_cannot_be_read_is_said() -> None:
    reading = read(record(ASKED), record([{"role": "nobody"}]))
    (finding,) = reading.findings
    assert (finding.code, finding.path) == ("unknown_line", "$[1].request.messages[0].role")


def test_what_a_harness_cleared_leaves_the_requests_before_it_without_a_place() -> None:
    early, late = [*ASKED, TURN, RESULT], [*ASKED, TURN, {**RESULT, "content": "cleared"}]
    reading = read(record(ASKED), record(early), record([*late, *ASKED]))
    assert [usage.n for usage in reading.usage] == [1, 4]
    assert codes(reading) == ["off_branch"]


# Histories of which a request carries only the end.


def response(key: str, *output: Json) -> Json:
    usage = {"input_tokens": 9, "output_tokens": 1}
    return {"id": key, "object": "response", "output": [*output], "usage": usage}


def item(words: str, role: str = "user") -> Json:
    return {"type": "message", "role": role, "content": words}


WANT = {"type": "function_call", "call_id": "x", "name": "bash", "arguments": '{"command": "ls"}'}
GIVEN = {"type": "function_call_output", "call_id": "x", "output": "one"}


def asked(items: Any, answer: Any, before: str = "", url: str = RESPONSES) -> Json:
    body: Json = {"model": "gpt-6", "input": items}
    body |= {"previous_response_id": before} if before else {}
    return {"url": url, "request": body, "status": 200, "response": answer}


def chained(first: Any) -> Rows:
    later = asked([GIVEN], response("r2", item("done", "assistant")), "r1")
    last = asked([item("more")], response("r3"), "r2")
    return Rows([asked([item("go")], first), later, last])


def test_what_lies_before_an_answer_is_put_together_from_the_file() -> None:
    rows = chained(response("r1", WANT))
    reading = LENS.read(rows)
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", [], ["x"]),
        ("tool", "x", "one"),
        ("assistant", ["done"], []),
        ("user", ["more"]),
    ]
    assert ([usage.n for usage in reading.usage], codes(reading)) == ([1, 3, 5], [])
    changed = apply_edits(rows, LENS.rewrite_body(rows, reading.entries[2], "gone"))
    assert changed[1]["request"]["input"][0]["output"] == "gone"
    edits = LENS.rewrite_argument(rows, reading.entries[1], 0, ("command",), "cut")
    assert apply_edits(rows, edits)[0]["response"]["output"][0]["arguments"] == (
        '{"command": "cut"}'
    )


def test_an_answer_that_is_the_text_of_a_stream_is_known_but_never_changed() -> None:
    done = {"type": "response.completed", "response": response("r1", WANT)}
    rows = chained(f"event: response.completed\ndata: {json.dumps(done)}\n\n")
    reading = LENS.read(rows)
    assert [entry.name for entry in reading.entries] == ["", "", "bash", "", ""]
    assert LENS.rewrite_argument(rows, reading.entries[1], 0, ("command",), "cut") == []
    changed = apply_edits(rows, LENS.rewrite_body(rows, reading.entries[2], "gone"))
    assert LENS.read(changed).entries[2].body == "gone"


def test_a_request_whose_turn_grew_later_has_no_place() -> None:
    """The answer goes on with the words that the request ended with, so they are one turn."""
    first = asked([item("go"), item("so", "assistant")], response("r1", item("far", "assistant")))
    rows = Rows([first, asked([item("on")], response("r2"), "r1")])
    reading = LENS.read(rows)
    assert shown(reading)[1] == ("assistant", ["so", "far"], [])
    assert [usage.n for usage in reading.usage if usage.n > len(reading.entries)] == []


def test_a_history_that_is_not_in_the_file_is_said() -> None:
    rows = Rows([asked([item("more")], response("r9"), "r8")])
    reading = LENS.read(rows)
    assert (shown(reading), codes(reading)) == ([("user", ["more"])], ["provider_history"])
    kept = Rows([asked([item("x")], response("r9"))])
    kept[0]["request"]["conversation"] = "c"
    assert codes(LENS.read(kept)) == ["provider_history"]


def test_what_the_provider_summarised_lies_before_the_conversation() -> None:
    sealed = {"type": "compaction", "encrypted_content": "abc"}
    compact = asked([], response("r5", sealed), "r1", RESPONSES + "/compact")
    rows = Rows([asked([item("go")], response("r1", WANT)), compact])
    rows.append(asked([sealed, item("on")], response("r6")))
    reading = LENS.read(rows)
    assert LENS.threads(rows) == ["main"]
    assert [entry.kind for entry in reading.entries] == ["assistant", "user"]
    assert [usage.n for usage in reading.usage] == [2]
    wanted = ["provider_compaction", "before_compaction", "provider_compaction"]
    assert codes(reading) == wanted
    assert len(LENS.all_usage(rows)) == 3


def test_an_input_that_is_a_text_is_a_users_message() -> None:
    assert shown(LENS.read(Rows([asked("hi", response("r"))]))) == [("user", ["hi"])]


# Where recorders put things.


def placed(request: Json, response: Any) -> dict[str, Any]:
    """The same exchange as different recorders write it."""
    text, said = json.dumps(request), json.dumps(response)
    har = {
        "startedDateTime": "1970-01-01T00:00:01Z",
        "request": {"method": "POST", "url": CHAT, "postData": {"text": text}},
        "response": {"status": 200, "content": {"text": said}},
    }
    packed = base64.b64encode(said.encode()).decode()
    cassette = {
        "request": {"uri": CHAT, "body": {"string": text}},
        "response": {"status": {"code": 200}, "body": {"string": said}},
    }
    trace = {
        "request": {"timestamp": 1, "url": CHAT, "body": request},
        "response": {"status_code": 200, "body": response},
    }
    return {
        "one record": {"url": CHAT, "request": request, "response": response},
        "a pair": [{"request": request, "response": response}],
        "a har file": {"log": {"entries": [har]}},
        "a har file with base64": {
            "log": {
                "entries": [
                    har
                    | {
                        "response": {
                            "status": 200,
                            "content": {"text": packed, "encoding": "base64"},
                        }
                    }
                ]
            }
        },
        "a cassette": {"interactions": [cassette]},
        "a client's trace": [trace],
        "a batch": [{"custom_id": "1", "method": "POST", "url": CHAT, "body": request}],
        "a gateway's log": [{"request_body": text, "response_body": said, "url": CHAT}],
    }


BODY = {"model": "gpt-6", "messages": [*ASKED, TURN, RESULT]}


@pytest.mark.parametrize("root", placed(BODY, answer(30, 5)).values(), ids=placed(BODY, {}))
def test_an_exchange_is_found_where_recorders_put_it(root: Any) -> None:
    assert LENS.recognises(root)
    reading = LENS.read(root)
    assert [entry.body for entry in reading.entries] == ["", "", "one"]
    is_answered = root != placed(BODY, {})["a batch"]
    assert [numbers(usage) for usage in reading.usage] == [(30, 0, 0, 5)] * is_answered
    changed = apply_edits(root, LENS.rewrite_body(root, reading.entries[2], 'a "b"'))
    assert LENS.read(changed).entries[2].body == 'a "b"'


def test_bodies_in_strings_are_changed_in_place_and_nothing_else_is() -> None:
    root = placed(BODY, answer())["a har file"]
    data = json.dumps(root, indent=1).encode()
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("http", data)
    edits = LENS.rewrite_body(transcript.root, transcript.entries[2], "gone")
    shown_bytes = transcript.with_edits(edits).to_bytes()
    assert shown_bytes == data.replace(rb"\"content\": \"one\"", rb"\"content\": \"gone\"")


def test_times_come_from_the_answer_or_from_the_record() -> None:
    timed = record(ASKED, answer(created=5))
    assert read(timed).usage[0].time_ms == 5000
    assert LENS.read(placed(BODY, answer())["a har file"]).usage[0].time_ms == 1000


def test_the_model_of_a_url_stands_in_for_the_bodys() -> None:
    url = "https://x/v1beta/models/gemini-9:generateContent?key=1"
    body = {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}
    counts = {"usageMetadata": {"promptTokenCount": 3}}
    reading = read({"url": url, "request": body, "response": counts})
    assert (reading.model, reading.usage[0].model) == ("gemini-9", "gemini-9")


@pytest.mark.parametrize(
    ("url", "body", "kind"),
    [
        ("https://x/v1/messages", {"messages": kit.TALK}, "tool_result"),
        ("https://x/proxy", {"messages": [*ASKED, TURN, RESULT]}, "tool"),
        (
            "https://x/model/m/converse",
            {
                "messages": [
                    {"role": "user", "content": [{"text": "go"}]},
                    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "x"}}]},
                    {
                        "role": "user",
                        "content": [
                            {"toolResult": {"toolUseId": "x", "content": [{"text": "one"}]}}
                        ],
                    },
                ]
            },
            "toolResult",
        ),
    ],
)
def test_a_result_is_rewritten_as_its_own_format_has_it(url: str, body: Json, kind: str) -> None:
    rows = Rows([{"url": url, "request": body, "response": {}}])
    entry = next(e for e in LENS.read(rows).entries if e.kind == "tool")
    changed = apply_edits(rows, LENS.rewrite_body(rows, entry, "gone"))
    assert kind in json.dumps(changed)
    assert next(e for e in LENS.read(changed).entries if e.kind == "tool").body == "gone"


def test_signed_reasoning_can_be_removed_in_the_last_request() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    turn = {"role": "assistant", "content": [thinking, {"type": "text", "text": "ok"}]}
    rows = Rows([{"url": "https://x/v1/messages", "request": {"messages": [*ASKED, turn, *ASKED]}}])
    rows[0]["response"] = {}
    entry = LENS.read(rows).entries[1]
    changed = apply_edits(rows, LENS.remove_reasoning(rows, entry, "removed"))
    assert changed[0]["request"]["messages"][1]["content"] == turn["content"][1:]
    assert LENS.remove_reasoning(rows, LENS.read(rows).entries[0], "removed") == []
    assert LENS.bind_reasoning(rows, {}) is None


def test_the_same_conversation_has_the_same_entries() -> None:
    rows = Rows([{"url": "https://x/v1/messages", "request": {"messages": kit.TALK}}])
    rows[0]["response"] = {}
    kit.check_same(LENS.read(rows))


def test_what_is_no_recording_is_not_read() -> None:
    requests = (BODY, {"messages": kit.TALK}, {"input": "x"}, [{"request": 5, "response": 6}])
    for root in ([], {}, None, [5], *requests, {"log": {}}, {"log": {"entries": [{}]}}):
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    kit.check_damage(LENS, Rows([record(ASKED), record([*ASKED, TURN, RESULT])]))
    kit.check_damage(LENS, chained(response("r1", WANT)))
    kit.check_damage(LENS, placed(BODY, answer())["a har file"])
