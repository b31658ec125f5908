"""Large sessions: read row by row they say the same, and what is compacted away is not held."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactor
from compactor import Transcript
from compactor.core.errors import InputError
from compactor.formats import FORMATS
from compactor.formats.harnesses.claude_code import ClaudeCode
from compactor.formats.raw import lazy_rows, sources
from compactor.formats.raw.native import LazyRows, Rows, read_document
from tests import claude_rows as lines
from tests import recorded_kit as kit

SAMPLES = Path(__file__).resolve().parents[1] / "docs" / "sample"
FILES = sorted(
    [*SAMPLES.rglob("*.jsonl"), *kit.RECORDED.glob("*/*.jsonl")], key=lambda path: path.name
)


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.name}" for path in FILES])
def test_a_recording_read_row_by_row_is_the_same_recording(path: Path) -> None:
    data = path.read_bytes()
    held, lazy = read_document(data, "r"), read_document(data, "r", eager_bytes=0)
    if not isinstance(lazy.root, LazyRows):
        return
    for name, lens in FORMATS.items():
        try:
            known = lens.recognises(held.root)
        except InputError:
            continue
        assert lens.recognises(lazy.root) == known, name
        if not known:
            continue
        readings = [lens.read(document.root) for document in (held, lazy)]
        for key in ("overhead", "findings", "model", "usage"):
            assert getattr(readings[1], key) == getattr(readings[0], key)
        facts = [
            [(e.kind, e.parts, e.calls, e.body, e.error, e.at) for e in reading.entries]
            for reading in readings
        ]
        assert facts[1] == facts[0]
        outs = [
            compactor.compact(Transcript(lens, document.root, reading, document), kit.policy(9000))
            for document, reading in zip((held, lazy), readings, strict=True)
        ]
        assert outs[1].request.to_bytes() == outs[0].request.to_bytes()
        return


WORDS = "some words of a result " * 100


def claude(count: int) -> Iterator[Any]:
    above = None
    for n in range(count):
        made = lines.call(f"a{n}", above, f"c{n}")
        yield made
        yield lines.result(f"r{n}", f"a{n}", f"c{n}", f"{n} {WORDS}")
        above = f"r{n}"
    yield lines.compacted("b", above)
    yield lines.summary("s", "b")
    yield lines.said("last", "s", "done")


def codex(count: int) -> Iterator[Any]:
    for n in range(count):
        at = {"call_id": f"c{n}"}
        yield _item(type="function_call", name="shell", arguments="{}", **at)
        yield _item(type="function_call_output", output=f"{n} {WORDS}", **at)
    summary = {"type": "message", "role": "user", "content": "so far"}
    yield {"type": "compacted", "payload": {"message": "", "replacement_history": [summary]}}
    yield _item(type="message", role="assistant", content=[{"type": "output_text", "text": "x"}])


def _item(**payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


def pi(count: int) -> Iterator[Any]:
    yield {"type": "session", "id": "s", "cwd": "/", "version": 3}
    above = None
    for n in range(count):
        call = {"type": "toolCall", "id": f"c{n}", "name": "bash", "arguments": {}}
        made = {"role": "assistant", "content": [call], "stopReason": "toolUse"}
        yield {"type": "message", "id": f"a{n}", "parentId": above, "message": made}
        content = [{"type": "text", "text": f"{n} {WORDS}"}]
        result = {"role": "toolResult", "toolCallId": f"c{n}", "content": content}
        yield {"type": "message", "id": f"r{n}", "parentId": f"a{n}", "message": result}
        above = f"r{n}"
    yield {"type": "compaction", "id": "z", "parentId": above, "summary": "so far"}


def chat(count: int) -> Iterator[Any]:
    """A list of messages that is all in the prompt: its entries are held, and nothing else."""
    yield {"role": "user", "content": "go"}
    for n in range(count):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        yield {"role": "assistant", "content": None, "tool_calls": [call], "junk": WORDS}
        yield {"role": "tool", "tool_call_id": f"c{n}", "content": "ok"}


def kimi(count: int) -> Iterator[Any]:
    """A wire file: what a compaction takes away is held until then."""
    for n in range(count):
        function = {"name": "bash", "arguments": "{}"}
        yield _event("ToolCall", id=f"c{n}", function=function)
        value = {"is_error": False, "output": f"{n} {WORDS}"}
        yield _event("ToolResult", tool_call_id=f"c{n}", return_value=value)
        if n % 100 == 99:
            yield _event("CompactionEnd")
    yield _event("TurnBegin", user_input="on")


def _event(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": 1.5, "message": {"type": kind, "payload": payload}}


MESSAGES = [{"role": "user", "content": "go"}, {"role": "assistant", "content": WORDS}]
ROWS: dict[str, dict[str, Any]] = {
    "openai-fine-tuning": {"messages": MESSAGES},
    "openhands-messages": {"trajectory": MESSAGES},
    "tau-bench": {"task_id": 1, "trial": 0, "traj": MESSAGES},
    "sharegpt": {
        "conversations": [{"from": "human", "value": "go"}, {"from": "gpt", "value": WORDS}]
    },
    "swe-agent-nebius": {"trajectory": [{"role": "ai", "text": WORDS}]},
    "adp-standard": {
        "id": "a",
        "content": [{"class_": "message_action", "content": WORDS}],
        "details": {},
    },
    "openhands-events": {
        "instance_id": "i",
        "history": [{"id": 1, "source": "user", "action": "message", "args": {"content": WORDS}}],
    },
}
"""Format → a row that is a conversation."""


def runs(name: str) -> Any:
    """Lines of a file of conversations, of which one is read."""
    return lambda count: (ROWS[name] for _ in range(count))


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        *(("claude-code", claude), ("codex", codex), ("pi", pi), ("openai-chat", chat)),
        ("kimi-legacy", kimi),
        *((name, runs(name)) for name in ROWS),
    ],
)
def test_memory_depends_on_what_the_entries_hold_and_not_on_the_file(
    monkeypatch: pytest.MonkeyPatch, name: str, rows: Any
) -> None:
    monkeypatch.setattr(lazy_rows, "RECENT_BYTES", 1 << 14)
    monkeypatch.setattr(sources, "CHUNK", 1 << 14)
    data = b"\n".join(json.dumps(row).encode() for row in rows(2000))
    lens = FORMATS[name]
    tracemalloc.start()
    try:
        document = read_document(data, "big", eager_bytes=0)
        assert isinstance(document.root, LazyRows)
        reading = lens.read(document.root)
        held, _ = tracemalloc.get_traced_memory()
        transcript = Transcript(lens, document.root, reading, document)
        written = sum(map(len, transcript.pieces()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert written == len(data)
    assert held < 5 * len(data) // 10
    assert peak < 5 * len(data) // 10


STEPS = st.lists(
    st.sampled_from(["turn", "same turn", "result", "prompt", "mixed", "file", "reminder"]),
    max_size=12,
)


def told(steps: Sequence[str]) -> list[Any]:
    """Lines of a conversation, each hanging on the one before."""
    rows: list[Any] = []
    of = ""
    for n, step in enumerate(steps):
        above = f"u{n - 1}" if n else None
        if step == "turn":
            of = f"m{n}"
        block = {"type": "tool_result", "tool_use_id": f"c{n}", "content": "ok"}
        text = {"type": "text", "text": "and"}
        rows.append(
            lines.call(f"u{n}", above, f"c{n}", of or "m")
            if "turn" in step
            else lines.result(f"u{n}", above, f"c{n - 1}")
            if step == "result"
            else lines.prompt(f"u{n}", above, [text, block, text, text, block, block])
            if step == "mixed"
            else lines.attachment(f"u{n}", str(above), "file", content={"file": {"content": "x"}})
            if step == "file"
            else lines.attachment(f"u{n}", str(above), "todo_reminder")
            if step == "reminder"
            else lines.prompt(f"u{n}", above, "on")
        )
    return rows


@given(STEPS)
def test_what_lies_before_a_compaction_is_counted_as_it_would_be_read(steps: list[str]) -> None:
    rows = [*told([*steps, "prompt"])]
    alone = ClaudeCode().read(Rows(rows))
    end = f"u{len(rows) - 1}"
    after = [lines.compacted("b", end), lines.summary("s", "b"), lines.said("t", "s", "x")]
    messages = [
        finding.message
        for finding in ClaudeCode().read(Rows([*rows, *after])).findings
        if finding.code == "before_compaction"
    ]
    assert messages == [f"{len(alone.entries)} entries lie before the last compaction"]
