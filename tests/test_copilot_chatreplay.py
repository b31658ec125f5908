"""VS Code chat replays: every recorded file against its raw requests, and a rule a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit
from claude_rows import Json, codes, numbers, shown

from compactor.core.errors import InputError
from compactor.core.model import PartKind
from compactor.formats.harnesses.copilot_chatreplay import CopilotChatReplay
from compactor.formats.raw.native import apply_edits

LENS = CopilotChatReplay()
FILES = kit.files("copilot-chatreplay")
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def requests(path: Path) -> list[Json]:
    root = json.loads(path.read_text("utf-8"))
    logs = [entry for prompt in root["prompts"] for entry in prompt["logs"]]
    return [entry for entry in logs if entry["kind"] == "request"]


@each_file
def test_a_recording_is_written_back_byte_for_byte(path: Path) -> None:
    kit.check_untouched(path, "copilot-chatreplay")


@each_file
def test_usage_is_that_of_every_request(path: Path) -> None:
    wanted = []
    for entry in requests(path):
        counts = entry["metadata"]["usage"]
        cached = counts["prompt_tokens_details"]["cached_tokens"]
        fresh = counts["prompt_tokens"] - cached
        wanted.append((fresh, cached, 0, counts["completion_tokens"]))
    root = json.loads(path.read_text("utf-8"))
    reading = LENS.read(root)
    assert [numbers(usage) for usage in LENS.all_usage(root)] == wanted
    assert [numbers(usage) for usage in reading.usage] == wanted
    sizes = [len(entry["requestMessages"]["messages"]) - 1 for entry in requests(path)]
    assert [usage.n for usage in reading.usage] == sizes
    assert len(reading.entries) == sizes[-1]


@each_file
def test_rewriting_one_result_changes_one_log(path: Path) -> None:
    kit.check_one_change(path, "copilot-chatreplay")


@each_file
def test_a_recording_is_compacted_at_three_windows(path: Path) -> None:
    kit.check_compacts(path, "copilot-chatreplay")


# Replays, as small as they can be. Roles are 0 system, 1 user, 2 assistant, 3 tool; parts are
# 0 image, 1 text, 2 opaque, 3 cache breakpoint.

MARK = {"type": 3, "cacheType": "ephemeral"}


def text(words: str) -> Json:
    return {"type": 1, "text": words}


def message(role: int, *parts: Any, **more: Any) -> Json:
    return {"role": role, "content": [text(p) if isinstance(p, str) else p for p in parts], **more}


def call(key: str, command: str = "") -> Json:
    written = json.dumps({"command": command or key})
    return {"id": key, "type": "function", "function": {"name": "bash", "arguments": written}}


def request(*messages: Any, tokens: Any = (10, 2), **more: Any) -> Json:
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]} if tokens else None
    about = {"model": "m", "endTime": "1970-01-01T00:00:01Z", "usage": usage, **more}
    said = {"type": "success", "message": ["ok"]}
    return {
        "id": "r",
        "kind": "request",
        "metadata": about,
        "requestMessages": {"messages": [*messages]},
        "response": said,
    }


def replay(*logs: Any) -> Json:
    return {"exportedAt": "", "prompts": [{"prompt": "go", "logs": [*logs]}]}


ASKED = (message(0, "be brief"), message(1, "go"))
TURN = message(2, "look", toolCalls=[call("x")])
RESULT = message(3, "one", MARK, toolCallId="x")


def test_a_conversation_is_what_its_last_request_carried() -> None:
    done = {"kind": "toolCall", "id": "x", "tool": "bash", "response": ["one"]}
    tool = {"type": "function", "function": {"name": "bash", "description": "d"}}
    root = replay(request(*ASKED), done, request(*ASKED, TURN, RESULT, tools=[tool]))
    reading = LENS.read(root)
    assert shown(reading) == [
        ("user", ["go"]),
        ("assistant", ["look"], ["x"]),
        ("tool", "x", "one"),
    ]
    assert (reading.overhead.texts, reading.overhead.known) == (("be brief", "bash", "d"), True)
    assert [(usage.n, usage.time_ms) for usage in reading.usage] == [(1, 1000), (3, 1000)]
    assert (reading.model, codes(reading)) == ("m", [])


def test_a_rewritten_result_keeps_its_cache_breakpoint() -> None:
    root = replay(request(*ASKED, TURN, RESULT))
    changed = apply_edits(root, LENS.rewrite_body(root, LENS.read(root).entries[2], "gone"))
    messages = changed["prompts"][0]["logs"][0]["requestMessages"]["messages"]
    assert messages[3]["content"] == [text("gone"), MARK]


def test_long_results_are_elided_in_the_last_request(tmp_path: Path) -> None:
    first = message(3, "one " * 500, toolCallId="x")
    turns = [message(2, f"next {n}") for n in range(3)]
    talk = [part for n, turn in enumerate(turns) for part in (turn, message(1, f"on {n}"))]
    root = replay(request(*ASKED, TURN, first), request(*ASKED, TURN, first, *talk))
    path = tmp_path / "long.json"
    path.write_text(json.dumps(root, indent=2), "utf-8")
    assert kit.check_compacts(path, "copilot-chatreplay") > 0


def test_prompts_of_other_conversations_are_threads() -> None:
    title = request(message(0, "name it"), message(1, "title please"))
    root = replay(title, request(*ASKED), request(*ASKED, TURN, RESULT))
    assert LENS.threads(root) == ["main", "request-1"]
    assert shown(LENS.of_thread("request-1").read(root)) == [("user", ["title please"])]


def test_one_prompts_part_is_read_alone() -> None:
    part = replay(request(*ASKED))["prompts"][0]
    assert LENS.recognises(part)
    assert shown(LENS.read(part)) == [("user", ["go"])]


def test_failed_requests_and_those_without_messages_are_said() -> None:
    failed = request(*ASKED, TURN, RESULT, tokens=None)
    failed["response"] = {"type": "failure", "reason": "x"}
    markdown = {"kind": "request", "id": "m", "content": "…"}
    reading = LENS.read(replay(request(*ASKED), failed, markdown))
    assert codes(reading) == ["failed_requests", "other_requests"]
    assert len(reading.entries) == 1


def test_pictures_documents_and_reasoning_are_counted_as_such() -> None:
    picture = {"type": 0, "imageUrl": {"url": "https://x/p.png"}}
    document = {"type": 4, "documentData": {"data": "AAAA", "mediaType": "application/pdf"}}
    thought = {"type": 2, "value": {"type": "thinking", "thinking": {"text": ["a", "b"]}}}
    sealed = {"type": 2, "value": {"type": "thinking", "thinking": {"encrypted": "zz"}}}
    marker = {"type": 2, "value": {"type": "stateful_marker", "value": {}}}
    other = {"type": 2, "value": {"type": "context_management", "compaction": {}}}
    talk = (message(1, picture, document, "go"), message(2, thought, sealed, marker, other))
    entries = LENS.read(replay(request(*talk))).entries
    assert [part.kind for part in entries[0].parts] == [
        PartKind.IMAGE,
        PartKind.DOCUMENT,
        PartKind.TEXT,
    ]
    assert [(part.kind, part.text) for part in entries[1].parts] == [
        (PartKind.REASONING, "a\nb"),
        (PartKind.SEALED, ""),
        (PartKind.OTHER, ""),
    ]


def test_a_part_of_an_unknown_type_is_said() -> None:
    reading = LENS.read(replay(request(message(1, "go", {"type": 9}))))
    (finding,) = reading.findings
    assert (finding.code, finding.path) == (
        "unknown_block",
        "$.prompts[0].logs[0].requestMessages.messages[0].content[1]",
    )


def test_the_same_conversation_has_the_same_entries() -> None:
    turn = message(2, "look", toolCalls=[call("x"), call("y")])
    results = (message(3, "one", toolCallId="x"), message(3, "two", toolCallId="y"))
    kit.check_same(LENS.read(replay(request(message(1, "go"), turn, *results, message(2, "done")))))


def test_what_is_no_replay_is_not_read() -> None:
    for root in ([], {}, None, {"prompts": []}, {"prompts": [{"prompt": "x"}]}, {"logs": []}):
        assert not LENS.recognises(root)
        with pytest.raises(InputError):
            LENS.read(root)


def test_damage_anywhere_is_refused_or_read() -> None:
    kit.check_damage(LENS, replay(request(*ASKED, TURN, RESULT, tools=[{"name": "t"}])))
