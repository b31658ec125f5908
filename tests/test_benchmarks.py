"""The benchmarks run, on tiny sizes. What they measure is for people to read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import compactor
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.frameworks import __main__ as frameworks
from benchmarks.frameworks import ours
from benchmarks.frameworks.story import Message, Story, story_of


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
