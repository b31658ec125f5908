"""Sessions: what goes in is stored, what is shown can be recalled, what stops can go on."""

from __future__ import annotations

import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import compactor
from compactor import AsyncSession, Policy, Session
from compactor.cli import cli
from compactor.core.errors import InputError, StoreError
from compactor.formats.lens import Revisions
from compactor.session import Mark

POLICY = Policy(window=1500, counter="chars4", counter_scale=1000, overhead_tokens=0, keep_recent=3)
FILE = "".join(f"line {number} of a file\n" for number in range(1, 60))
_STUB = re.compile(r"Unchanged since #([0-9a-f]{4})|Same result as #([0-9a-f]{4})")


class Talk:
    """A harness: its history, and a session that may be opened anew at any time."""

    def __init__(self, path: Path, *, reopens: random.Random | None) -> None:
        self.path = path
        self.reopens = reopens
        self.entries: list[dict[str, Any]] = [{"kind": "user", "text": "go"}]
        self.session = Session.open(path, "s", POLICY, format="entries")
        self.calls = 0
        self.originals: dict[str, str] = {}

    def maybe_reopen(self) -> None:
        if self.reopens is not None and self.reopens.random() < 0.3:
            self.session.close()
            self.session = Session.open(self.path, "s", POLICY, format="entries")

    def do(self, step: tuple[Any, ...]) -> Any:
        self.maybe_reopen()
        return getattr(self, step[0])(*step[1:])

    def insert(
        self, tool: str, arguments: dict[str, Any], output: str, more: dict[str, Any]
    ) -> str:
        self.calls += 1
        call = {"id": f"c{self.calls}", "name": tool, "arguments": json.dumps(arguments)}
        self.entries.append({"kind": "assistant", "text": "", "calls": [call]})
        text = self.session.insert(call, output, **more)
        self.entries.append({"kind": "tool", "call": call["id"], "text": text})
        self.originals[call["id"]] = text
        return str(text)

    def prepare(self) -> Any:
        return self.session.prepare(self.entries).request

    def say(self, text: str) -> None:
        self.entries.append({"kind": "user", "text": text})

    def rewind(self, back: int) -> None:
        self.session.observe(self.entries)
        seqs = self.session.kept.branch.seqs
        keep = max(1, len(seqs) - back)
        while keep > 1 and self.entries[keep - 1]["kind"] == "assistant":
            keep -= 1
        if keep < len(seqs):
            self.session.rewind(seqs[keep])
            del self.entries[keep:]

    def summarise(self) -> str:
        self.session.observe(self.entries)
        return self.session.summarised("what was done")

    def drop(self) -> None:
        """A sliding window: the oldest step goes for good."""
        if len(self.entries) > 6:
            del self.entries[1:3]


def steps_of(rng: random.Random) -> list[tuple[Any, ...]]:
    steps: list[tuple[Any, ...]] = []
    for _ in range(rng.randint(4, 25)):
        kind = rng.choice(["read", "read", "search", "bash", "prepare", "prepare", "odd"])
        if kind == "read":
            first = rng.randint(1, 20)
            content = FILE + ("changed\n" if rng.random() < 0.2 else "")
            last = first + rng.randint(0, 30)
            read = {"path": "a.py", "resolved": "/p/a.py", "first": first, "last": last,
                    "total_lines": content.count("\n"), "content": content}  # fmt: skip
            steps.append(("insert", "read", {"path": "a.py"}, "", {"read": read}))
        elif kind == "search":
            steps.append(("insert", "grep", {"q": rng.choice("ab")}, "found\n" * 40, {}))
        elif kind == "bash":
            error = {"error": rng.random() < 0.2}
            steps.append(("insert", "bash", {"c": "x"}, "out\n" * rng.randint(0, 300), error))
        elif kind == "prepare":
            steps.append(("prepare",))
        else:
            odd = rng.choice([("say", "more"), ("rewind", 3), ("summarise",), ("drop",)])
            steps.append(odd)
    return [*steps, ("prepare",)]


def stubs_are_answered(view: list[dict[str, Any]]) -> None:
    """Whatever a stub names stands before the model, in full."""
    shown = {}
    for entry in view:
        text = entry["text"]
        if entry["kind"] == "tool" and text.startswith("[#") and "[elided" not in text:
            shown[text[2:6]] = _STUB.search(text.split("\n")[0]) is None
    for entry in view:
        match = _STUB.search(entry["text"].split("\n")[0]) if entry["kind"] == "tool" else None
        if match is not None and "\n" not in entry["text"]:
            assert shown.get(match.group(1) or match.group(2)) is True, entry["text"]


@pytest.mark.parametrize("seed", range(40))
def test_a_session_that_is_taken_up_again_anywhere_goes_on_with_the_same_bytes(
    seed: int, tmp_path: Path
) -> None:
    steps = steps_of(random.Random(seed))
    stays = Talk(tmp_path / "a.db", reopens=None)
    comes_back = Talk(tmp_path / "b.db", reopens=random.Random(seed + 1))
    for step in steps:
        one, other = stays.do(step), comes_back.do(step)
        assert one == other, step
        if step[0] == "prepare":
            stubs_are_answered(one)
    store = comes_back.session._store
    assert store.verify() == []
    numbers = [facts.number for facts in comes_back.session.kept.book.facts.values()]
    assert numbers == list(range(1, len(numbers) + 1))
    seqs = comes_back.session.kept.branch.seqs
    assert len(set(seqs)) == len(seqs)
    for seq, entry in zip(seqs, stays.entries, strict=True):
        if entry["kind"] == "tool":
            assert comes_back.session.recall(seq=seq) == entry["text"]
    for talk in (stays, comes_back):
        talk.session.close()


def test_a_call_is_taken_from_any_provider_and_answered_in_its_shape() -> None:
    from anthropic.types import ToolUseBlock

    with Session.open(policy=POLICY) as session:
        block = ToolUseBlock(id="t1", name="bash", input={"a": 1}, type="tool_use")
        assert session.insert(block, "x") == "[#0001]\nx"
        chat = {"id": "t2", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        blocks = [{"type": "text", "text": "y"}]
        assert session.insert(chat, blocks)[0] == {"type": "text", "text": "[#0002]"}
        with pytest.raises(InputError):
            session.insert({"id": "t3"}, "z")


def test_recall_by_id_seq_and_words_and_what_it_refuses() -> None:
    with Session.open(policy=POLICY) as session:
        session.insert({"id": "a", "name": "bash", "arguments": "{}"}, "one needle\ntwo\n")
        assert (
            session.recall(id="#0001") == "[#0002 recall #0001 lines 1-2 of 2]\none needle\ntwo\n"
        )
        assert session.recall(id="0002", offset=2) == "[#0003 recall #0002 lines 2-2 of 2]\ntwo\n"
        assert session.recall(id="ffff") == "[#0004] No stored result #ffff in this session."
        assert "needle" in session.recall(query='needle AND "(')
        assert session.call("recall", {"seq": "7"}) == "no message has seq 7 in this session"
        for wrong in ({}, {"seq": 1, "id": "1"}):
            with pytest.raises(InputError):
                session.recall(**wrong)
        session.disable_recall()
        with pytest.raises(StoreError) as error:
            session.recall(id="1")
        assert error.value.code == "recall.off"


def test_was_read_knows_reads_and_edits_until_their_turns_are_taken_back() -> None:
    with Session.open(policy=POLICY, format="entries") as session:
        call = {"id": "a", "name": "read", "arguments": "{}"}
        read = {"path": "a", "resolved": "/a", "content": "x\n"}
        text = session.insert(call, "", read=read)
        assert session.was_read("/a")
        entries = [
            {"kind": "user", "text": "go"},
            {"kind": "assistant", "text": "", "calls": [call]},
            {"kind": "tool", "call": "a", "text": text},
        ]
        session.prepare(entries)
        session.rewind(1)
        assert not session.was_read("/a")


def test_usage_is_kept_and_decides_nothing() -> None:
    with Session.open(policy=POLICY, format="entries") as session:
        entries = [{"kind": "user", "text": "go"}]
        before = session.prepare(entries).report
        session.record_usage({"input_tokens": 12, "cache_read_input_tokens": 8, "output_tokens": 3})
        after = session.prepare(entries).report
        assert after == before
        assert session.context()["usage"]["prompt_tokens"] == 20


def test_a_mark_takes_back_what_came_behind_it_and_a_strange_one_is_refused() -> None:
    with Session.open(policy=POLICY, format="entries") as session:
        entries = [{"kind": "user", "text": "go"}, {"kind": "assistant", "text": "a", "calls": []}]
        session.prepare(entries)
        mark = session.mark()
        session.prepare([*entries, {"kind": "user", "text": "more"}])
        session.rewind(mark)
        assert len(session.kept.branch) == 2
        with pytest.raises(InputError):
            session.rewind(Mark(99, 0))


def test_the_same_session_in_asyncio(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with await AsyncSession.open(tmp_path / "s.db", "s", POLICY) as session:
            calls = ({"id": f"c{n}", "name": "bash", "arguments": "{}"} for n in range(20))
            return await asyncio.gather(*(session.insert(call, "x") for call in calls))

    texts = asyncio.run(work())
    assert sorted(texts) == [f"[#{n:04x}]\nx" for n in range(1, 21)]


def test_two_sessions_of_one_name_see_what_the_other_wrote(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Session.open(path, "s", POLICY) as one, Session.open(path, "s", POLICY) as other:
        for number in range(1, 9):
            call = {"id": f"c{number}", "name": "bash", "arguments": "{}"}
            text = (one if number % 2 else other).insert(call, "x")
            assert text == f"[#{number:04x}]\nx"


def test_the_command_line_over_a_store(tmp_path: Path) -> None:
    store, source = str(tmp_path / "s.db"), tmp_path / "t.jsonl"
    source.write_text('{"kind": "user", "text": "find the needle"}\n' * 2)
    at = ["--store", store, "--session", "a"]
    run = CliRunner().invoke
    assert run(cli, ["import", str(source), "-f", "entries", *at]).exit_code == 0
    done = run(cli, ["insert", *at, "--tool", "bash", "--call", "x"], input="out")
    assert done.stdout == "[#0001]\nout"
    assert run(cli, ["recall", *at, "--seq", "0"]).stdout == "find the needle\n"
    assert run(cli, ["recall", *at, "--seq", "7"]).exit_code == 1
    assert (
        json.loads(run(cli, ["sessions", "--store", store, "--json"]).stdout)["sessions"][0][
            "entries"
        ]
        == 2
    )
    assert "S0 user" in run(cli, ["edit", "sections", *at]).stdout
    assert len(run(cli, ["export", *at]).stdout.splitlines()) == 2
    assert run(cli, ["verify", "--store", store]).stdout == "nothing is wrong\n"
    assert run(cli, ["prune", "--store", store, "--older-than", "0m", "--yes"]).exit_code == 0
    assert run(cli, ["recall", *at, "--seq", "0"]).exit_code == 1


def test_every_shape_of_a_request_can_show_a_summary() -> None:
    names = ("anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "entries")
    assert all(isinstance(compactor.formats.lens(name), Revisions) for name in names)
