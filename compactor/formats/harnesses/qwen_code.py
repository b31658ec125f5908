"""Qwen Code sessions (`~/.qwen/projects/…/chats/*.jsonl`).

A tree of lines as Claude Code writes it, whose messages are Gemini contents. The live branch leads
from the newest line up to the root; lines of one `uuid` are one message. The last
`chat_compression` holds the whole history that stands for what lies before it. `toolCallResult`, a
copy for the client, is never sent and never touched. Thoughts are sent again.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from compactor.core.errors import Finding
from compactor.core.model import Entry, Overhead, Path, Reading, Usage
from compactor.formats.agents import agent_runs, run_findings
from compactor.formats.builder import Builder
from compactor.formats.lens_bases import RowLens, RunLens
from compactor.formats.messages import field, text_field, value_at
from compactor.formats.providers.gemini import parts_facts, rewrite_response, say_user, turn_facts
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import (
    compacted,
    count_of,
    items,
    left_behind,
    time_ms,
    unanswered,
    unreadable,
)
from compactor.formats.runs import Run, chosen

_MESSAGES = ("user", "assistant", "tool_result")
_UNSENT = ("realtime_message", "code_mode_tool_result")
_ROLES = ("user", "model")


class QwenCode(RowLens, RunLens):
    """The lens of Qwen Code sessions.

    Args:
        thread: one of `threads(root)`: a subagent's, or the main one; "" is the first.
    """

    name = "qwen-code"

    def recognises(self, root: Any) -> bool:
        return any(_speaks(row) and bool(text_field(row, "uuid")) for row in items(root))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: what an old line means depends on new ones. O(n).

        Raises:
            InputError: `input.shape` when no line holds a message, or the thread does not exist.
        """
        rows = items(root)
        runs = _runs(rows)
        run = chosen(runs, self.thread)
        branch = _branch(rows, run.native)
        story = _Story(rows)
        story.tell(branch)
        odd = [(i,) for i, row in enumerate(rows) if _is_odd(row)]
        findings = [
            *story.builder.findings,
            *unanswered(story.builder.entries),
            *unreadable(odd, "lines"),
            *left_behind(branch.left),
            *compacted(branch.before, "messages"),
        ]
        if branch.broken:
            message = f"{len(branch.broken)} lines name a parent that is not above them in the file"
            findings.append(Finding("broken_link", message, dotted((branch.broken[0],))))
        findings += run_findings(runs, run, self.thread)
        return Reading(
            entries=story.builder.entries,
            overhead=Overhead(known=False),
            findings=findings,
            model=story.model,
            usage=tuple(story.usage),
        )

    def runs(self, root: Any) -> Sequence[Run]:
        return _runs(items(root))

    def all_usage(self, root: Any) -> list[Usage]:
        """One a line with usage, in order; subagents and branches that were left too. O(n)."""
        lines = [row for row in items(root) if _is_sent(row) and _has_usage(row)]
        return [_usage(row, 0) for row in lines]

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return rewrite_response(value_at(root, entry.at), entry, text)


class _Branch(NamedTuple):
    """The live branch of a thread.

    prompt: indexes of what is sent, in prompt order; a compression stands for its history.
    before: how many messages lie before the last compression.
    left: how many messages are on other branches.
    broken: indexes of live lines whose parent is not above them.
    """

    prompt: list[int]
    before: int
    left: int
    broken: list[int]


class _Story:
    """Tells the lines of a branch to a builder."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""

    def tell(self, branch: _Branch) -> None:
        """Say everything that the lines of a branch hold."""
        for index in branch.prompt:
            row = self.rows[index]
            if row["type"] == "system":
                at: Path = (index, "systemPayload", "compressedHistory")
                for number, content in enumerate(value_at(row, at[1:])):
                    self._content(content, (*at, number))
                continue
            self._content(row["message"], (index, "message"))
            self.model = text_field(row, "model") or self.model
            if _has_usage(row):
                self.usage.append(_usage(row, self.builder.size - 1))

    def _content(self, content: Any, at: Path) -> None:
        if text_field(content, "role") not in _ROLES:
            self.builder.report("unknown_line", "not a content of a session", dotted(at))
            return
        parts, inner = field(content, "parts"), (*at, "parts")
        if content["role"] == "model":
            self.builder.turn(*turn_facts(self.builder, parts, inner), at)
        elif isinstance(parts, list):
            say_user(self.builder, parts, inner)
        else:
            self.builder.user(parts_facts(self.builder, parts, inner), at)


def _has_usage(row: Any) -> bool:
    return isinstance(field(row, "usageMetadata"), dict)


def _usage(row: Any, n: int) -> Usage:
    """Usage of one response: prompts hold what was cached; thoughts are in the total or beside."""
    counts = row["usageMetadata"]
    cached = count_of(counts, "cachedContentTokenCount")
    prompt, tool = count_of(counts, "promptTokenCount"), count_of(counts, "toolUsePromptTokenCount")
    said, thought = (count_of(counts, f"{key}TokenCount") for key in ("candidates", "thoughts"))
    total = count_of(counts, "totalTokenCount")
    output = total - prompt - tool if total >= prompt + tool + said else said + thought
    return Usage(
        n=n,
        input=max(prompt - cached, 0) + tool,
        cache_read=cached,
        output=output,
        model=text_field(row, "model"),
        time_ms=time_ms(row.get("timestamp")),
    )


def _branch(rows: Sequence[Any], indexes: Sequence[int]) -> _Branch:
    """The branch of the newest line. Every link leads up the file, so that the walk ends. O(n)."""
    chain, broken = _chain(rows, indexes)
    prompt: list[int] = []
    before = 0
    for index in chain:
        row = rows[index]
        if _is_sent(row):
            prompt.append(index)
        elif _compresses(row):
            before += sum(_speaks(rows[i]) for i in prompt)
            prompt = [index]
        elif prompt and _takes_back(row, rows[prompt[-1]]):
            prompt.pop()
    live = frozenset(chain)
    left = sum(_is_sent(rows[index]) and index not in live for index in indexes)
    return _Branch(prompt, before, left, broken)


def _chain(rows: Sequence[Any], indexes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Lines from the root to the newest, in file order, and those whose link is broken."""
    place: dict[str, int] = {}
    same: dict[int, list[int]] = {}
    above: dict[int, int] = {}
    broken: list[int] = []
    last = -1
    for index in indexes:
        own, parent = text_field(rows[index], "uuid"), rows[index].get("parentUuid")
        first = place.setdefault(own, index) if own else index
        same.setdefault(first, []).append(index)
        if first == index:
            known = place.get(parent, -1) if isinstance(parent, str) and parent else -1
            if parent and known < 0:
                broken.append(index)
            is_root = own and not parent and "parentUuid" in rows[index]
            above[index] = known if known >= 0 or is_root else last
        last = first
    chain: list[int] = []
    while last >= 0:
        chain.append(last)
        last = above[last]
    live = frozenset(chain)
    found = [index for first in reversed(chain) for index in same[first]]
    return found, [index for index in broken if index in live]


def _takes_back(row: Any, previous: Any) -> bool:
    """Whether a line says that the prompt before it was a command for the client alone."""
    payload = field(row, "systemPayload")
    if field(row, "subtype") != "slash_command" or field(payload, "phase") != "result":
        return False
    parts = items(field(field(previous, "message"), "parts"))
    typed = [text_field(part, "text") for part in parts]
    is_plain = field(previous, "type") == "user" and field(previous, "subtype") is None
    return (
        is_plain
        and field(payload, "sentToModel") is not True
        and typed == [text_field(payload, "rawCommand")]
    )


def _runs(rows: Sequence[Any]) -> list[Run]:
    """The lines by thread; the threads in which anything is said."""
    found: dict[str, list[int]] = {"": []}
    for index, row in enumerate(rows):
        if isinstance(row, dict) and text_field(row, "type"):
            agent = text_field(row, "agentId") or "sidechain"
            name = agent if row.get("isSidechain") is True else ""
            found.setdefault(name, []).append(index)
    return agent_runs(found, lambda index: _speaks(rows[index]))


def _speaks(row: Any) -> bool:
    """Whether a line holds a content."""
    message = field(row, "message")
    has_role = text_field(message, "role") in _ROLES and isinstance(field(message, "parts"), list)
    return text_field(row, "type") in _MESSAGES and has_role


def _is_sent(row: Any) -> bool:
    return _speaks(row) and text_field(row, "subtype") not in _UNSENT


def _is_odd(row: Any) -> bool:
    return text_field(row, "type") in _MESSAGES and not _speaks(row)


def _compresses(row: Any) -> bool:
    """Whether a line holds the history that stands for all before it."""
    is_mark = field(row, "type") == "system" and field(row, "subtype") == "chat_compression"
    return is_mark and isinstance(field(field(row, "systemPayload"), "compressedHistory"), list)
