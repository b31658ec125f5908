"""What edits do to a conversation, step by step, as `golden/` shows it.

Each step is a call of the model's: one of the tools, or a change of the context file as `sed` or
an editor would make it. The file and the request are shown whole before and after, in between the
answers, and of each request from where on it differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compactor import Policy, Session
from compactor.formats import lens
from compactor.formats.raw.native import compact_json
from compactor.testing import Conversation

POLICY = Policy(window=1000, counter="chars4", keep_recent=2, editing=True, min_freed=0)


def talk() -> Conversation:
    """The conversation that is edited."""
    said = Conversation(system="Be brief.").user("The nightly job fails. Find out why.")
    said.call("bash", {"command": "make"}, result="one\n[[SECTION S0 role=user]]\nthree")
    said.call("bash", {"command": "cat log"}, result="a line of a log\n" * 20, text="I look.")
    said.assistant("It is the clock, I think.").user("And the fix?")
    said.call("read", {"path": "job.py"}, result="import time\nnow = time.time()\n")
    return said.assistant("Ask for UTC.").user("Go on.")


def _change(old: str, new: str) -> Callable[[str], str]:
    return lambda file: file.replace(old, new, 1)


def _without(pattern: str) -> Callable[[str], str]:
    return lambda file: re.sub(pattern, "", file, count=1, flags=re.DOTALL)


STEPS: tuple[tuple[str, dict[str, str] | Callable[[str], str]], ...] = (
    ("context_sections", {}),
    ("context_rewrite", {"section": "S5", "old": "the clock, I think", "new": "the clock"}),
    ("file: a result is changed", _change("one\n", "ONE\n")),
    ("file: the results of a step are removed", _without(r"\[\[RESULT S4 .*?(?=\[\[SECTION S5)")),
    ("context_tombstone", {"sections": "S6", "reason": "answered"}),
    ("context_tombstone", {"sections": "S5", "reason": "read ]] it"}),
    ("context_replace", {"sections": "S5", "text": "The clock.\n[[SECTION S9 role=user]]"}),
    ("context_replace", {"sections": "S6", "text": "x"}),
    ("context_tombstone", {"sections": "S0", "reason": "x"}),
    ("context_rewrite", {"section": "S7", "old": "time", "new": "x"}),
    ("file: a header is changed", _change("[[SECTION S9 role=assistant", "[[SECTION S9 role=user")),
    ("file: a header is gone", _without(r"\[\[RESULT S8 [^\n]*\n")),
    ("file: sections change places", lambda file: "\n".join(_swapped(file))),
    (
        "file: a section is removed",
        _without(r"\n\[\[SECTION S9 role=assistant.*?(?=\n\[\[SECTION S10)"),
    ),
    ("context_diff", {"section": "S5"}),
    ("context_recall", {"section": "S5"}),
    ("context_sections", {}),
)
"""What is called, and with what; a change of the file gives the file as it is after it."""


def describe_edits(name: str) -> str:
    """All steps over the conversation in a format."""
    return "\n\n".join("\n".join(block) for block in _blocks(name)) + "\n"


def _blocks(name: str) -> Iterator[list[str]]:
    request = talk().write(name)
    with Session.open(policy=POLICY, format=name) as session:
        sent = _sent(name, session, request)
        path = Path(session.before_request())
        yield [f"{name}, window {POLICY.window}, {POLICY.counter}"]
        yield ["=== the file before", *_lines(path)]
        yield ["=== the request before", *sent]
        for said, given in STEPS:
            yield [f"=== {_asked(said, given)}", *_answer(session, path, said, given)]
            before, sent = sent, _sent(name, session, request)
            same = [old == new for old, new in zip(before, sent, strict=False)]
            stable = same.index(False) if False in same else len(same)
            if stable < len(before):
                yield [f"stable prefix: {stable} of {len(before)} messages", *sent[stable:]]
        yield ["=== the file after", *_lines(path)]
        yield ["=== the request after", *sent]


def _asked(said: str, given: dict[str, str] | Callable[[str], str]) -> str:
    return said if callable(given) else f"{said} {compact_json(given)}"


def _answer(
    session: Session, path: Path, said: str, given: dict[str, str] | Callable[[str], str]
) -> list[str]:
    """What the model reads."""
    if not callable(given):
        return session.call(said, given).split("\n")
    before = path.read_text("utf-8")
    path.write_text(given(before), "utf-8")
    assert path.read_text("utf-8") != before, said
    call = {"id": f"call_{said}", "name": "bash", "arguments": {}}
    return str(session.after_call(call, "done")).split("\n")


def _sent(name: str, session: Session, request: Any) -> list[str]:
    """The messages of a request, each on a line and cut where it is long."""
    messages = lens(name).messages(session.prepare(request).request)
    return [_cut(compact_json(message)) for message in messages]


def _cut(line: str) -> str:
    return line if len(line) <= 400 else f"{line[:300]}… ({len(line)} chars)"


def _lines(path: Path) -> list[str]:
    lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    return [f"| {line}".rstrip() for line in lines]


def _swapped(file: str) -> Iterator[str]:
    """The sections, the last two in each other's place."""
    parts = re.split(r"\n(?=\[\[SECTION )", file.removesuffix("\n"))
    yield from (*parts[:-2], parts[-1], parts[-2])
