"""Whole sessions over one store, step by step, as `golden/` shows them.

A story is a harness's day: results that come in, requests, recalls, a rewind, a summary. Shown are
what each call gave, of each request the messages from where on it differs from the last one, and
the records that it added to the journal. A story may be told with the session opened anew before
every step: it must read the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compactor import Policy, Session
from compactor.core.errors import CompactorError
from compactor.formats.raw.native import compact_json

POLICY = Policy(window=1500, counter="chars4", keep_recent=4, evidence_budget_tokens=0, min_freed=0)
CART = "".join(f"{number}: total += price * {number}\n" for number in range(1, 41))
FIXED = CART.replace("total += price * 7\n", "total += round(price * 7, 2)\n")
_SHOWN, _LINES = 300, 24


class Story:
    """A harness around one session in OpenAI's chat messages, which writes down what happens."""

    def __init__(self, folder: Path, *, reopens: bool) -> None:
        self._store, self._reopens = folder / "store.db", reopens
        self.messages: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self._sent: list[str] = []
        self._records = self._calls = 0
        self.session = self._opened()

    def _opened(self) -> Session:
        return Session.open(self._store, "story", POLICY, format="openai-chat")

    def _step(self, name: str) -> None:
        if self._reopens:
            self.session.close()
            self.session = self._opened()
        self.lines += ["", f"## {name}"]

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def says(self, text: str) -> None:
        self.messages.append({"role": "assistant", "content": text})

    def tool(self, tool: str, arguments: dict[str, Any], output: str, **facts: Any) -> None:
        """The model calls a tool, and its result comes in."""
        self._calls += 1
        name = f"c{self._calls}"
        self._step(f"insert: {tool} {compact_json(arguments)}")
        function = {"name": tool, "arguments": compact_json(arguments)}
        call = {"id": name, "type": "function", "function": function}
        text = self.session.insert(call, output, **facts)
        self.lines += _body(str(text))
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": name, "content": text})

    def read(self, content: str, name: str = "cart.py") -> None:
        place = {"path": name, "resolved": f"/shop/{name}", "content": content}
        self.tool("read", {"path": name}, content, read=place)

    def request(self) -> None:
        self._step("prepare")
        out = self.session.prepare(self.messages)
        report = out.report
        self.lines.append(f"{report.why}, {report.tokens_before} -> {report.tokens_after} tokens")
        sent = [compact_json(message) for message in out.request]
        pairs = zip(sent, self._sent, strict=False)
        same = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
        same = min(len(sent), len(self._sent)) if same is None else same
        self.lines.append(f"{len(sent)} messages, the first {same} as before")
        self.lines += [f"  {at} {_short(text)}" for at, text in enumerate(sent) if at >= same]
        self._sent = sent
        self._tell_records()

    def _tell_records(self) -> None:
        records = self.session.journal.records
        kinds = [record.__struct_config__.tag for record in records[self._records :]]
        self.lines += [f"records: {', '.join(map(str, kinds))}"] if kinds else []
        self._records = len(records)

    def asks(self, name: str, made: Callable[[Session], Any]) -> None:
        """Any other call of the session's; a refusal is an answer."""
        self._step(name)
        try:
            answer = made(self.session)
        except CompactorError as error:
            answer = f"{error.code}: {error}"
        self.lines += _body(str(answer)) if answer is not None else []


def _body(text: str) -> list[str]:
    """The lines of an answer, of a long one the beginning and the end."""
    lines = [f"| {line}".rstrip() for line in text.split("\n")]
    if len(lines) <= _LINES:
        return lines
    left = len(lines) - 6
    return [*lines[:4], f"  … {left} lines more …", *lines[-2:]]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]}… {len(text)} …{text[-80:]}"


def reads_and_a_pass(story: Story) -> None:
    """Reads, a stub, an edit's diff, searches, a cap, a pass, and a re-read behind it."""
    story.user("Totals are a cent too high. Find out why.")
    story.request()
    story.read(CART)
    story.request()
    story.read(CART)
    story.tool("grep", {"pattern": "round"}, "cart.py:7: nothing")
    story.tool("grep", {"pattern": "round"}, "cart.py:7: nothing")
    story.request()
    edit = {"path": "cart.py", "resolved": "/shop/cart.py", "old": CART, "new": FIXED}
    story.tool("edit", {"path": "cart.py"}, "done", edits=[edit])
    story.read(FIXED)
    story.request()
    story.tool("bash", {"command": "make test"}, "ok\n" * 500 + "1 failed, art_0001\n")
    story.request()
    for number in range(3):
        story.tool("bash", {"command": f"make part {number}"}, f"part {number} is right\n" * 40)
        story.request()
    story.read(FIXED)
    story.request()
    story.says("It was the rounding in line 7.")
    story.user("Thanks.")
    story.request()


def turns_taken_back(story: Story) -> None:
    """A rewind to a mark, a summary, and every way to ask for an original."""
    story.user("Which lines of the log are errors?")
    story.tool("bash", {"command": "cat log"}, "a line of the log\n" * 60 + "ERROR disk_full\n")
    story.request()
    marked: list[Any] = []
    story.asks("mark", lambda session: marked.append(session.mark()))
    kept = len(story.messages)
    story.tool("bash", {"command": "rm log"}, "gone", error=True)
    story.request()
    story.asks("rewind to the mark", lambda session: session.rewind(marked[0]))
    del story.messages[kept:]
    story.tool("bash", {"command": "df"}, "/dev/sda1 100%")
    story.request()
    story.asks("recall id #0001, its end", lambda s: s.recall(id="#0001", offset=60, limit=3))
    story.asks("recall of the words disk_full", lambda session: session.recall(query="disk_full"))
    story.asks("recall of what was taken back", lambda session: session.recall(id="#0002"))
    story.asks("recall of an id that nobody got", lambda session: session.recall(id="#0999"))
    story.asks("recall of seq 99", lambda session: session.recall(seq=99))
    story.asks(
        "call recall, as a model does", lambda s: s.call("recall", {"id": "0001", "limit": 2})
    )
    story.asks("summarised", lambda session: session.summarised("The disk is full."))
    story.user("What now?")
    story.request()
    story.asks("recall seq 2, behind the summary", lambda session: session.recall(seq=2, limit=1))
    story.asks("disable_recall", lambda session: session.disable_recall())
    story.asks("recall seq 2, now off", lambda session: session.recall(seq=2))
    story.says("Make room.")
    story.user("How?")
    story.request()


STORIES: dict[str, Callable[[Story], None]] = {
    "reads and a pass": reads_and_a_pass,
    "turns taken back": turns_taken_back,
}


def describe_session(name: str, folder: Path, *, reopens: bool = False) -> str:
    """A story as text; `reopens`: the session is opened anew before every step."""
    return "\n".join(_told(name, folder, reopens)) + "\n"


def _told(name: str, folder: Path, reopens: bool) -> Iterator[str]:
    yield f"{name}: openai-chat, window {POLICY.window}, {POLICY.counter}"
    folder.mkdir()
    story = Story(folder, reopens=reopens)
    STORIES[name](story)
    story.session.close()
    yield from story.lines
