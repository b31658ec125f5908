"""The files of `../shared/bugs` that are steps of a session: hygiene on insertion, and recall.

Each demand of the page beside those files is one assertion here; the conversation goes through a
`Session` over a real store.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compactor import Policy, Session
from compactor.core.diff import unified
from compactor.loop import loop
from tests.bug_files import data_of, module

POLICY = Policy(
    window=10**6, keep_recent=1, recent_tokens=10**6, evidence_budget_tokens=0, counter="chars4"
)
SIXTY_FIVE = [f"src/mod_{k:02}.py:{7 * k + 3}: orig hit number {k}" for k in range(65)]


class Talk:
    """A harness that inserts results and sends them, one turn for each."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]

    def insert(self, name: str, tool: str, given: dict[str, Any], text: str, **more: Any) -> str:
        call = {"type": "tool_use", "id": name, "name": tool, "input": given}
        shown = self.session.insert(call, text, **more)
        self.messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": name, "content": shown}
        self.messages.append({"role": "user", "content": [result]})
        return str(shown)

    def read(self, name: str, given: dict[str, Any], text: str, content: str) -> str:
        first = given.get("offset", 0) + 1
        count = len(text.splitlines())
        read = {"path": given["path"], "resolved": "/w/a.py", "content": content}
        read |= {"first": first, "last": first + count - 1, "total_lines": 30}
        return self.insert(name, "read_file", given, text, read=read)

    def shown(self, **more: Any) -> dict[str, str]:
        """The results as the provider would get them, by call."""
        sent = self.session.prepare({"model": "m", "messages": self.messages}, **more).request
        blocks = [
            b for m in sent["messages"] if isinstance(m["content"], list) for b in m["content"]
        ]
        return {b["tool_use_id"]: b["content"] for b in blocks if b["type"] == "tool_result"}


@pytest.fixture
def talk() -> Iterator[Talk]:
    with Session.open(policy=POLICY, format="anthropic") as session:
        yield Talk(session)


def steps(name: str) -> dict[str, tuple[str, dict[str, Any], str]]:
    """The insertions of a file, by call."""
    found = json.loads(data_of(name))["steps"]
    return {step[1]: (step[2], step[3], step[4]) for step in found if step[0] == "insert"}


def assert_stubs_have_targets(shown: dict[str, str]) -> None:
    """Every stub names a result that stands in full."""
    full = {
        m[1] for text in shown.values() if (m := re.match(r"\[#(\w+)[^\]]*\]\n(?!\[elided)", text))
    }
    for text in shown.values():
        stub = re.search(r"(?:since|as) #(\w+)", text.partition("\n")[0])
        assert stub is None or stub[1] in full


def test_b46_a_stub_never_points_at_what_is_not_in_view(talk: Talk) -> None:
    given = {name: (args, text) for name, (_, args, text) in steps("B46").items()}
    whole = given["t1"][1]
    talk.insert("t0", "bash", {"command": "make"}, "log\n" * 2000)
    first = talk.read("t1", *given["t1"], whole)
    second = talk.read("t2", *given["t2"], whole)
    assert first.startswith("[#0002 a.py lines 1-30 of 30 sha ")
    assert second.endswith("Unchanged since #0002, which already shows lines 1-30.")
    assert_stubs_have_targets(talk.shown())

    shown = talk.shown(overflowed=True)  # to elide the first would bring its text back below
    assert "[elided " in shown["t0"]
    assert (shown["t1"], shown["t2"]) == (first, second)
    third = talk.read("t3", *given["t3"], whole)
    assert third.endswith("Unchanged since #0002, which already shows lines 1-30.")

    talk.insert("u1", "bash", {"command": "true"}, "done")
    shown = talk.shown(overflowed=True)
    assert "[elided " in shown["t1"]
    assert shown["t2"].endswith(" [elided with #0002]")
    assert shown["t3"].endswith(" [elided with #0002]")
    again = talk.read("t4", *given["t3"], whole)
    assert again.endswith(whole)
    part = talk.read("t5", *given["t4"], whole)
    assert part.endswith("Unchanged since #0006, which already shows lines 1-30.")
    changed = talk.read("t6", *given["t5"], given["t5"][1])
    assert "Unchanged" not in changed
    assert_stubs_have_targets(talk.shown())


def test_b48_a_search_is_only_named_again_when_its_result_is_the_same(talk: Talk) -> None:
    given = steps("B48")
    talk.insert("t0", "bash", {"command": "make"}, "log\n" * 2000)
    shown = {name: talk.insert(name, *given[name]) for name in ("g1", "e1", "g2", "g3", "g4")}
    assert shown["g2"].endswith(given["g2"][2])
    assert "#0004" in shown["g3"]
    assert len(shown["g3"]) < 200
    assert "#0002" in shown["g4"]
    assert len(shown["g4"]) < 200
    assert_stubs_have_targets(talk.shown())

    talk.insert("u1", "bash", {"command": "true"}, "done")
    assert "[elided " in talk.shown(overflowed=True)["g1"]
    again = talk.insert("g5", *given["g4"])
    assert again.endswith(given["g4"][2])
    assert_stubs_have_targets(talk.shown())


def test_b48_what_is_no_search_is_never_named_again(talk: Talk) -> None:
    given = steps("B48")
    assert [talk.insert(name, *given[name])[8:] for name in ("t1", "t2")] == [given["t1"][2]] * 2


@pytest.mark.parametrize("name", ["A", "B"])
def test_b51_a_giant_line_is_cut_and_can_be_had_in_full(talk: Talk, name: str) -> None:
    text = getattr(module("B51"), name)
    cap = loop().context.cap
    shown = talk.insert("t1", "bash", {"command": "x"}, text)
    head, line = shown.split("\n")[:2]
    assert head == "[#0001]"
    assert line.startswith("X" * 1000)
    assert len(shown) < cap.head_chars + cap.tail_chars + 300
    assert "#0001" in shown.split("\n", 1)[1]
    assert recalled(talk.session, "#0001") == text.rstrip("\n")
    without = talk.insert("t2", "bash", {"command": "y"}, text.rstrip("\n"))
    assert re.sub("#[0-9a-f]{4}", "#", without) == re.sub("#[0-9a-f]{4}", "#", shown)


def test_b51_short_lines_around_a_giant_one_stay(talk: Talk) -> None:
    text = module("B51").C
    shown = talk.insert("t1", "bash", {"command": "x"}, text)
    for k in range(20):
        assert f"\npre {k}\n" in shown
        assert f"post {k}" in shown
    assert "Y" * 30_000 not in shown
    assert recalled(talk.session, "#0001") == text.rstrip("\n")


def recalled(session: Session, name: str, limit: int = 2000) -> str:
    """All lines that are stored under an id, asked for in parts."""
    lines: list[str] = []
    while True:
        first = len(lines) + 1
        said, _, text = session.recall(id=name, offset=first, limit=limit).partition("\n")
        found = re.search(rf"recall {name} lines {first}-(\d+) of (\d+)\]", said)
        assert found, said
        count = int(found[1]) - first + 1
        lines += text.split("\n")[:count]
        if found[1] == found[2]:
            return "\n".join(lines)


@pytest.mark.parametrize("pair", range(7))
def test_b54_a_diff_gives_exactly_the_new_text(tmp_path: Path, pair: int) -> None:
    old, new = json.loads(data_of("B54"))["cases"][pair]
    file = tmp_path / "f"
    file.write_bytes(old.encode())
    diff = unified(old, new, loop().context.edit)
    assert diff
    lacks = sum(bool(text) and not text.endswith("\n") for text in (old, new))
    assert diff.count("\\ No newline at end of file") in {lacks, min(lacks, 1)}
    header = "--- f\n+++ f\n" if not diff.startswith("---") else ""
    asked = ["git", "apply", "-p0", "-"]
    subprocess.run(asked, input=(header + diff).encode(), cwd=tmp_path, check=True)
    assert (file.read_bytes() if file.exists() else b"") == new.encode()


def test_b56_what_is_asked_for_is_text_and_no_query_language(talk: Talk) -> None:
    data = json.loads(data_of("B56"))
    for number, body in data["bodies"]:
        talk.insert(f"t{number}", "bash", {"command": str(number)}, body)
    talk.shown()
    answers, again = (
        {query: talk.session.recall(query=query).split("\n", 1)[1] for query in data["queries"]}
        for _ in range(2)
    )
    assert answers == again
    bodies = dict(data["bodies"])

    def found(query: str) -> list[int]:
        return [number for number, body in bodies.items() if body in answers[query]]

    assert found("wrong-book") == [1]
    assert found("src/auth.rs") == [2]
    assert found("don't AND panic") == [3]
    assert len(found("a OR mistakes")) < 4
    for query in ("fts5: x", "body:zzz", "{x}: b", "^start", "pre*", "-foo", "NOT x", '"', "("):
        assert found(query) == []


def test_b59_a_recalled_text_comes_in_parts_is_stored_once_and_found_once(talk: Talk) -> None:
    text = "\n".join(line * 20 for line in SIXTY_FIVE * 60) + "\n"
    talk.insert("t1", "grep", {"pattern": "x"}, text)
    talk.shown()
    assert recalled(talk.session, "#0001", limit=500) == text.rstrip("\n")

    answer = talk.session.call("recall", {"id": "#0001", "offset": 3, "limit": 2}, call_id="r1")
    number = answer[2:6]
    talk.insert("r1", "recall", {"id": "#0001", "offset": 3, "limit": 2}, answer)
    hits = talk.session.recall(query="mod_02")
    assert "#0001" in hits
    assert f"#{number}" not in hits
