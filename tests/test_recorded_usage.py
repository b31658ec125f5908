"""What recordings count: every request of a file, with its time, against the raw file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import recorded_kit as kit

from compactor.core.errors import InputError
from compactor.core.model import Usage
from compactor.formats import FORMATS
from compactor.formats.lens import RecordedUsage, Threads
from compactor.formats.raw.native import read_document

Raw = tuple[int, int, int, int, int, int]
"""Input, cache read, cache write, of that for an hour, output, milliseconds since 1970."""


def ms(stamp: Any) -> int:
    """ISO 8601 as milliseconds, read with floats and rounded."""
    return round(datetime.fromisoformat(stamp).timestamp() * 1000)


def objects(path: Path) -> list[Any]:
    """Every whole object of a JSON Lines file; several may share a line with half of another."""
    found, decoder = [], json.JSONDecoder()
    for line in path.read_text("utf-8").split("\n"):
        at = 0
        while (at := line.find('{"', at)) >= 0:
            try:
                value, at = decoder.raw_decode(line, at)
                found.append(value)
            except ValueError:
                at += 1
    return found


def claude_code(path: Path) -> Iterator[Raw]:
    rows = json.loads(path.read_text("utf-8"))["loglines"] if path.suffix == ".json" else None
    last: dict[Any, Raw] = {}
    for row in rows or objects(path):
        message = row.get("message") if row.get("type") == "assistant" else None
        if message and message.get("usage") and message["model"] != "<synthetic>":
            used = message["usage"]
            hour = (used.get("cache_creation") or {}).get("ephemeral_1h_input_tokens", 0)
            last[message["id"]] = (
                *(used["input_tokens"], used.get("cache_read_input_tokens", 0)),
                *(used.get("cache_creation_input_tokens", 0), hour),
                *(used["output_tokens"], ms(row["timestamp"])),
            )
    yield from last.values()


def codex(path: Path) -> Iterator[Raw]:
    total = None
    for row in kit.rows_of(path):
        info = row["payload"].get("info") if row["type"] == "event_msg" else None
        if row.get("payload", {}).get("type") != "token_count" or not info:
            continue
        if info["total_token_usage"] != total and info["last_token_usage"]["total_tokens"]:
            used = info["last_token_usage"]
            cached = used["cached_input_tokens"]
            uncached = used["input_tokens"] - cached
            yield (uncached, cached, 0, 0, used["output_tokens"], ms(row["timestamp"]))
        total = info["total_token_usage"]


def pi(path: Path) -> Iterator[Raw]:
    for row in kit.rows_of(path):
        message = row.get("message", {})
        used = message.get("usage", {})
        counts = [used.get(key, 0) for key in ("input", "cacheRead", "cacheWrite", "output")]
        if message.get("role") == "assistant" and any(counts):
            yield (*counts[:3], 0, counts[3], ms(row["timestamp"]))


def opencode(path: Path) -> Iterator[Raw]:
    for message in json.loads(path.read_text("utf-8"))["messages"]:
        ends = [part for part in message["parts"] if part["type"] == "step-finish"]
        for end in ends:
            used, cache = end["tokens"], end["tokens"]["cache"]
            prompt = used["input"] + cache["read"] + cache["write"]
            said = used["total"] - prompt if used.get("total") else used["output"]
            when = message["info"]["time"]["completed"] if end is ends[-1] else 0
            if prompt or said:
                yield (used["input"], cache["read"], cache["write"], 0, said, when)


def gemini_cli(path: Path) -> Iterator[Raw]:
    for message in json.loads(path.read_text("utf-8"))["messages"]:
        used = message.get("tokens")
        if used:
            uncached, said = used["input"] - used["cached"], used["output"] + used["thoughts"]
            yield (uncached, used["cached"], 0, 0, said, ms(message["timestamp"]))


def cline(path: Path) -> Iterator[Raw]:
    for message in json.loads(path.read_text("utf-8"))["messages"]:
        used = message.get("metrics")
        if used:
            read, write = used["cacheReadTokens"], used["cacheWriteTokens"]
            uncached = used["inputTokens"] - read - write
            yield (uncached, read, write, 0, used["outputTokens"], message["ts"])


def copilot_cli(path: Path) -> Iterator[Raw]:
    last: dict[Any, Raw] = {}
    for row in kit.rows_of(path):
        if row["type"] == "assistant.message":
            data = row["data"]
            call = data.get("apiCallId") or row["id"]
            said = data.get("outputTokens") or last.get(call, (0,) * 6)[4]
            last[call] = (0, 0, 0, 0, said, ms(row["timestamp"]))
    yield from last.values()


def kimi_cli(path: Path) -> Iterator[Raw]:
    keys = ("inputOther", "inputCacheRead", "inputCacheCreation")
    for row in kit.rows_of(path):
        if row["type"] == "usage.record":
            used = row["usage"]
            yield (*(used[key] for key in keys), 0, used["output"], row["time"])


COUNTS: dict[str, Callable[[Path], Iterator[Raw]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "opencode": opencode,
    "gemini-cli": gemini_cli,
    "cline": cline,
    "copilot-cli": copilot_cli,
    "kimi-cli": kimi_cli,
}
FILES = [(name, path) for name in COUNTS for path in kit.files(name)]
each_file = pytest.mark.parametrize(
    ("name", "path"), FILES, ids=[f"{name}/{path.stem}" for name, path in FILES]
)


def raw(usage: Usage) -> Raw:
    return (
        *(usage.input, usage.cache_read, usage.cache_write),
        *(usage.cache_write_1h, usage.output, usage.time_ms),
    )


@each_file
def test_every_request_of_a_file_is_counted_once_with_its_time(name: str, path: Path) -> None:
    lens, root = FORMATS[name], read_document(path.read_bytes(), path.name).root
    assert isinstance(lens, RecordedUsage)
    assert [*map(raw, lens.all_usage(root))] == [*COUNTS[name](path)]


@each_file
def test_requests_of_the_prompt_are_among_all_of_them(name: str, path: Path) -> None:
    lens, root = FORMATS[name], read_document(path.read_bytes(), path.name).root
    assert isinstance(lens, RecordedUsage)
    reading = lens.read(root)
    assert {*map(raw, reading.usage)} <= {*map(raw, lens.all_usage(root))}
    times = [usage.time_ms for usage in reading.usage if usage.time_ms]
    assert all(a <= b for a, b in pairwise(times))


@pytest.mark.parametrize("path", kit.files("claude-code"), ids=lambda path: path.stem)
def test_threads_of_a_file_are_read_by_their_names_and_share_its_requests(path: Path) -> None:
    lens, root = FORMATS["claude-code"], read_document(path.read_bytes(), path.name).root
    assert isinstance(lens, Threads)
    assert isinstance(lens, RecordedUsage)
    names = lens.threads(root)
    assert len(set(names)) == len(names) > 0
    first = lens.read(root)
    readings = [lens.of_thread(name).read(root) for name in names]
    assert [entry.at for entry in readings[0].entries] == [entry.at for entry in first.entries]
    found = [raw(usage) for reading in readings for usage in reading.usage]
    assert set(found) <= {*map(raw, lens.all_usage(root))}
    with pytest.raises(InputError, match="no thread 'nobody'"):
        lens.of_thread("nobody").read(root)


# Small invented inputs: what no file of the collection shows.


def usages(name: str, root: Any) -> list[Raw]:
    lens = FORMATS[name]
    assert isinstance(lens, RecordedUsage)
    return [*map(raw, lens.all_usage(root))]


def test_a_gemini_message_that_is_written_again_or_taken_back_is_one_request() -> None:
    head = {"sessionId": "s", "projectHash": "p"}
    stamp = "2026-01-02T03:04:05.678Z"
    when = 1_767_323_045_678
    told = {"type": "gemini", "content": "x", "timestamp": stamp}
    first = {**told, "id": "a", "tokens": {"input": 9, "output": 1, "cached": 4}}
    again = {**told, "id": "a", "tokens": {"input": 9, "output": 3, "cached": 4}}
    other = {**told, "id": "b", "tokens": {"input": 20, "output": 1}}
    rows = [head, first, again, {**told, "id": "a"}, other, {"$rewindTo": "b"}]
    rows.append({"$set": {"messages": [again]}})
    assert usages("gemini-cli", rows) == [(5, 4, 0, 0, 3, when), (20, 0, 0, 0, 1, when)]
    whole = {**head, "messages": [first, first]}
    assert usages("gemini-cli", whole) == [(5, 4, 0, 0, 1, when)] * 2


def test_a_kimi_session_without_records_has_what_its_steps_ended_with() -> None:
    def event(**inner: Any) -> dict[str, Any]:
        return {"type": "context.append_loop_event", "event": inner, "time": 1_700_000_000_000}

    end = event(type="step.end", uuid="1", usage={"inputOther": 5, "output": 2})
    rows = [event(type="step.begin", uuid="1"), end, event(type="step.end", uuid="2"), 5]
    assert usages("kimi-cli", rows) == [(5, 0, 0, 0, 2, 1_700_000_000_000)]
    record = {"type": "usage.record", "usage": {"inputOther": 7, "output": 3}, "model": "k"}
    assert usages("kimi-cli", [*rows, record]) == [(7, 0, 0, 0, 3, 0)]


def test_a_copilot_response_in_several_messages_is_one_request_of_its_last_count() -> None:
    def turn(call: str, output: int, **more: Any) -> dict[str, Any]:
        data = {"apiCallId": call, "content": "x", "outputTokens": output, "model": "m"}
        stamp = "2026-01-02T03:04:05Z"
        return {"type": "assistant.message", "data": data, "timestamp": stamp, **more}

    rows = [turn("a", 0), turn("a", 7), turn("b", 2, agentId="ag"), {"type": "abort"}]
    assert usages("copilot-cli", rows) == [
        (0, 0, 0, 0, 7, 1_767_323_045_000),
        (0, 0, 0, 0, 2, 1_767_323_045_000),
    ]


def test_qwen_lines_of_every_thread_are_counted() -> None:
    def line(uuid: str, **more: Any) -> dict[str, Any]:
        counts = {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 3}
        message = {"role": "model", "parts": [{"text": "x"}]}
        row = {"type": "assistant", "uuid": uuid, "parentUuid": None, "message": message}
        return {**row, "usageMetadata": counts, "timestamp": "2026-01-02T03:04:05Z", **more}

    rows = [line("1"), line("2", isSidechain=True, agentId="ag"), line("3")]
    assert usages("qwen-code", rows) == [(6, 4, 0, 0, 3, 1_767_323_045_000)] * 3


def test_hidden_messages_of_cline_were_requests_too() -> None:
    metrics = {"inputTokens": 10, "cacheReadTokens": 4, "outputTokens": 2}
    turn = {"role": "assistant", "content": "x", "ts": 1_700_000_000_000, "metrics": metrics}
    mark = {"role": "user", "content": "sum", "ts": 1, "isSummary": True, "condenseId": "c"}
    rows = [{**turn, "condenseParent": "c"}, mark, turn]
    assert usages("cline", rows) == [(6, 4, 0, 0, 2, 1_700_000_000_000)] * 2
    assert len(FORMATS["cline"].read(rows).usage) == 1
