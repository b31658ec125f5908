"""The benchmarks run, on tiny sizes. What they measure is for people to read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import compactor
from benchmarks import priced
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.frameworks import __main__ as frameworks
from benchmarks.frameworks import ours
from benchmarks.frameworks.story import Message, Story, story_of
from benchmarks.talks import session


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_prints_its_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--tiny"])
    title, *rows = capsys.readouterr().out.rstrip().split("\n")
    assert title
    assert len(rows) >= 2
    assert all(row.startswith("  ") for row in rows)


def test_an_unknown_benchmark_is_refused() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["no-such-benchmark"])


# The frameworks: what does not need them.


def invented() -> Story:
    return story_of(compactor.load(frameworks.invented().entries(), "entries"), 20)


def test_a_story_is_the_conversation_that_a_loop_can_live_again() -> None:
    story = invented()
    assert [len(turn.steps) for turn in story.turns] == [12, 9]
    assert all(turn.steps[-1].calls == () for turn in story.turns)
    requests = ours.requests(story, "none")
    assert len(requests) == len(story.steps)
    assert requests[0] == [Message("user", "Find the slow query.")]
    call = story.steps[0].calls[0].id
    assert requests[1][1:] == [
        Message("assistant", "", calls=(call,)),
        Message("tool", story.results[call], call=call),
    ]


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_framework_that_sends_something_else_is_found_out(wrong: int) -> None:
    def sent(story: Story, _case: Any) -> list[list[Message]]:
        found = ours.requests(story, "mask:last=3")
        if wrong:
            found[9][0] = found[9][0]._replace(text="another task")
        return found

    case = SimpleNamespace(ours="mask:last=3")
    line = frameworks.Line().with_story("it", invented(), SimpleNamespace(requests=sent), case)  # type: ignore[arg-type]
    assert (line.requests, line.same) == (21, 21 - wrong)
    assert line.edited > 10
    assert line.note.startswith("it, request 10: theirs user" if wrong else "")
    assert bool(line.note) == bool(wrong)


# Priced passes, on a folder of one's own.


def test_priced_passes_are_measured_on_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "session.jsonl").write_bytes(session(400_000))
    (tmp_path / "short.jsonl").write_bytes(session(20_000))
    (tmp_path / "notes.txt").write_text("no recording")
    tariffs = ("--tariff", "100,1250", "--tariff", "250,1000")
    assert priced.main([str(tmp_path), "--window", "100000", *tariffs]) == 0
    title, head, *rows = capsys.readouterr().out.splitlines()[: 2 + len(priced.POLICIES)]
    assert title == "read 100, write 1250, 1 recordings"
    assert head.split()[:3] == ["policy", "of", "none"]
    assert [row.split()[0] for row in rows] == list(priced.POLICIES)
    assert all(float(row.split()[1]) < 1 <= float(row.split()[2]) for row in rows)


def test_a_folder_without_recordings_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert priced.main([str(tmp_path)]) == 1
    assert "--requests N" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        priced.main([str(tmp_path / "missing")])
    with pytest.raises(SystemExit, match="2"):
        priced.main([str(tmp_path), "--tariff", "1250,100"])
