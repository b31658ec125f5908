"""Claude Code sessions (`~/.claude/projects/…/*.jsonl`, or `{"loglines": […]}` of a web export).

Reads the transcript as the next request would carry it: the live branch of one thread, from its
last compaction on, with the context that the harness put in (attachments) as far as the file holds
its text. `message` is an Anthropic message and is read and rewritten by that format's functions;
`toolUseResult`, a copy for the client, is never sent and never touched. A request boundary is a
new `message.id`. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from compactor.core.errors import Finding, InputError
from compactor.core.model import Call, Entry, Kind, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.anthropic import remove_signed, rewrite_result, say_user, turn_facts
from compactor.formats.builder import Builder
from compactor.formats.claude_attachments import attachment_texts
from compactor.formats.claude_lines import (
    ATTACHMENT,
    PROMPT,
    TURN,
    Row,
    Thread,
    is_sent,
    link,
    speaks,
    split_threads,
    turn_key,
)
from compactor.formats.claude_tree import Branch, Step, live_branch, steps
from compactor.formats.edits import dotted
from compactor.formats.messages import (
    field,
    open_calls,
    shape_error,
    text_field,
    value_at,
)
from compactor.formats.native import Edit

_LOGLINES = "loglines"


class ClaudeCode:
    """The lens of Claude Code sessions.

    Args:
        thread: a subagent's thread, one of `threads(root)`; "" is the main conversation.
    """

    name = "claude-code"

    def __init__(self, thread: str = "") -> None:
        self.thread = thread

    def recognises(self, root: Any) -> bool:
        return any(map(_is_native, _lines(root)[0]))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: what an old line means depends on new ones, so nothing is resumed. O(n).

        Raises:
            InputError: `input.shape` when no line holds a message, or the thread does not exist.
        """
        rows, base = _lines(root)
        spoken = _spoken_threads(rows)
        name = _chosen(self.thread, spoken)
        thread = link(rows, spoken[name])
        branch = live_branch(thread)
        story, earlier = (_Story(thread, branch, base) for _ in range(2))
        story.tell(branch.prompt)
        earlier.tell(branch.before)
        findings = [*story.findings(), *_branch_findings(thread, branch, base)]
        if branch.before:
            message = f"{len(earlier.builder.entries)} entries lie before the last compaction"
            findings.append(Finding("before_compaction", message))
        if name and not self.thread:
            findings.append(Finding("subagent_file", f"read as the subagent's thread {name!r}"))
        return Reading(
            entries=story.builder.entries,
            overhead=Overhead(known=False),
            findings=[*findings, *_unknown_lines(rows, base)],
            model=story.model or earlier.model,
            usage=tuple(story.usage),
        )

    def messages(self, root: Any) -> Sequence[Any]:
        return _lines(root)[0]

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return rewrite_result(value_at(root, entry.at), entry.at, text)

    def rewrite_argument(
        self, root: Any, entry: Entry, call: int, path: Path, text: str
    ) -> list[Edit]:
        return blocks.rewrite_argument(root, entry.calls[call], path, text)

    def remove_reasoning(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """A line that held nothing else stays, without blocks; a turn left empty keeps `text`."""
        instead = [{"type": "text", "text": text}]
        edits = remove_signed(root, entry, [])
        return [Edit(at, instead) if at in entry.hollow else Edit(at, v) for at, v in edits]

    def bind_reasoning(self, root: Any, binding: dict[str, str]) -> list[Edit] | None:  # noqa: ARG002
        """A recording has no place for what a request says."""
        return None


def threads(root: Any) -> list[str]:
    """Names of the subagents' threads in a session, for `ClaudeCode(thread)`. O(n)."""
    return [name for name in _spoken_threads(_lines(root)[0]) if name]


def all_usage(root: Any) -> list[Usage]:
    """Recorded usage of every API call of a session, subagents and dead branches included. O(n).

    Returns:
        one a call, in the order of their first lines; `n` is 0, as no entries are implied.
    """
    calls: dict[tuple[Any, ...], list[Row]] = {}
    for index, row in enumerate(_lines(root)[0]):
        if isinstance(row, dict) and row.get("type") == TURN and is_sent(row):
            calls.setdefault(turn_key(row, index), []).append(row)
    return [usage for lines in calls.values() for usage in _usage(lines, 0)]


class _Story:
    """Tells the lines of a branch to a builder, in prompt order."""

    def __init__(self, thread: Thread, branch: Branch, base: Path) -> None:
        self.thread = thread
        self.branch = branch
        self.base = base
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        self.untold: Counter[str] = Counter()
        self._attached: list[Part] = []
        self._attached_at: Path = ()

    def tell(self, positions: Iterable[int]) -> None:
        """Say everything that the lines at these positions hold."""
        rows = self.thread.rows
        told = [p for p in positions if is_sent(rows[p]) or rows[p].get("type") == ATTACHMENT]
        for step in steps(self.thread, told):
            if not step.turn and rows[step.rest[0]].get("type") == ATTACHMENT:
                self._attach(step.rest[0])
            else:
                self._flush()
                self._say(step)
        self._flush()

    def findings(self) -> Iterator[Finding]:
        """What was strange in what was told."""
        yield from self.builder.findings
        yield from _unanswered(self.builder.entries)
        cleared = sum(entry.cleared for entry in self.builder.entries)
        if cleared:
            yield Finding("cleared_by_harness", f"{cleared} results were cleared by the harness")
        if self.untold:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.untold.items()))
            message = f"{self.untold.total()} attachments whose text is not in the file: {kinds}"
            yield Finding("attachments_not_counted", message)

    def _at(self, position: int, key: str) -> Path:
        return (*self.base, self.thread.at[position], key)

    def _say(self, step: Step) -> None:
        """A turn and its results, or one user line."""
        rows = self.thread.rows
        if step.turn:
            self._say_turn(step.turn)
        for p in step.rest:
            first = len(self.builder.entries)
            say_user(self.builder, field(rows[p]["message"], "content"), self._at(p, "message"))
            self._clear(first, p)

    def _say_turn(self, lines: Sequence[int]) -> None:
        parts: list[Part] = []
        calls: list[Call] = []
        rows = [self.thread.rows[p] for p in lines]
        for p, row in zip(lines, rows, strict=True):
            content = field(row["message"], "content")
            facts = turn_facts(self.builder, content, (*self._at(p, "message"), "content"))
            parts += facts[0]
            calls += facts[1]
            self.model = text_field(row["message"], "model") or self.model
        self.builder.turn(parts, calls, self._at(lines[0], "message"))
        if lines[0] not in self.branch.kept:
            # What was kept was answered before the compaction, over entries that are gone.
            self.usage += _usage(rows, len(self.builder.entries) - 1)

    def _clear(self, first: int, position: int) -> None:
        """Empty the results of a line that a later microcompaction took out of the prompt."""
        entries = self.builder.entries
        for index in range(first, len(entries)):
            entry = entries[index]
            if entry.kind is Kind.TOOL and self.branch.cleared.get(entry.call_id, -1) > position:
                entries[index] = msgspec.structs.replace(entry, body="", parts=(), cleared=True)

    def _attach(self, position: int) -> None:
        """Context that the harness put in: a run of attachments is one user entry."""
        row = self.thread.rows[position]
        if text_field(row, "uuid") in self.branch.cleared_lines:
            return
        texts = attachment_texts(row.get(ATTACHMENT))
        if texts is None:
            self.untold[text_field(row.get(ATTACHMENT), "type") or "untyped"] += 1
        elif texts:
            self._attached += [Part(PartKind.TEXT, text) for text in texts]
            self._attached_at = self._attached_at or self._at(position, ATTACHMENT)

    def _flush(self) -> None:
        if self._attached:
            self.builder.user(self._attached, self._attached_at)
        self._attached, self._attached_at = [], ()


def _lines(root: Any) -> tuple[Sequence[Any], Path]:
    """The lines of a session and their address; none when it is no session."""
    if isinstance(root, list):
        return root, ()
    lines = field(root, _LOGLINES)
    return (lines, (_LOGLINES,)) if isinstance(lines, list) else ((), ())


def _is_native(row: Any) -> bool:
    """Whether a line is of this format: it says twice who speaks."""
    kind = field(row, "type")
    return kind in (PROMPT, TURN) and field(field(row, "message"), "role") == kind


def _spoken_threads(rows: Sequence[Any]) -> dict[str, list[int]]:
    """The threads in which anything is said, by first appearance; the main one first."""
    found = split_threads(rows)
    return {name: lines for name, lines in found.items() if any(speaks(rows[i]) for i in lines)}


def _chosen(wanted: str, spoken: Mapping[str, Sequence[int]]) -> str:
    """The thread to read. A subagent's own file has no main one: then its newest."""
    if wanted and wanted not in spoken:
        names = ", ".join(name for name in spoken if name) or "there is none"
        raise InputError(f"no thread {wanted!r}", code="input.shape", hint=f"threads: {names}")
    if not spoken:
        raise shape_error((), "no line holds a message of a Claude Code session")
    if wanted or "" in spoken:
        return wanted
    return max(spoken, key=lambda name: spoken[name][-1])


def _usage(lines: Sequence[Row], n: int) -> list[Usage]:
    """Usage of one API call: each of its lines repeats it, only the last has all output."""
    for row in reversed(lines):
        message = row["message"]
        usage = field(message, "usage")
        if isinstance(usage, dict):
            return [
                Usage(
                    n=n,
                    input=_count(usage, "input_tokens"),
                    cache_read=_count(usage, "cache_read_input_tokens"),
                    cache_write=_count(usage, "cache_creation_input_tokens"),
                    output=_count(usage, "output_tokens"),
                    model=text_field(message, "model"),
                )
            ]
    return []


def _count(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if type(value) is int and value > 0 else 0


def _unanswered(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Calls that no result answers before the next turn or the end."""
    ends = [i for i, entry in enumerate(entries) if i and entry.kind is Kind.ASSISTANT]
    for end in (*ends, len(entries)):
        for call in open_calls(entries, end):
            said = (call.id or call.name)[:80]
            message = f"call {said!r} has no result before the next turn or the end"
            yield Finding("unanswered_call", message, dotted(call.at[:-1]))


def _branch_findings(thread: Thread, branch: Branch, base: Path) -> Iterator[Finding]:
    """What the links of a thread say about what is and is not in the prompt."""
    inside = frozenset(branch.prompt)
    broken = [p for p in thread.broken if p in inside]
    if broken:
        message = f"{len(broken)} lines name a parent that is not above them in the file"
        yield Finding("broken_link", message, dotted((*base, thread.at[broken[0]])))
    if thread.copies:
        yield Finding("repeated_line", f"{thread.copies} lines repeat the `uuid` of an earlier one")
    if branch.missing:
        message = f"{branch.missing} messages that a compaction kept are not in the file"
        yield Finding("preserved_missing", message)
    known = inside.union(branch.before)
    off = [p for p, row in enumerate(thread.rows) if is_sent(row) and p not in known]
    if off:
        message = f"{len(off)} messages are on branches that were left"
        yield Finding("off_branch", message, dotted((*base, thread.at[off[0]])))


def _unknown_lines(rows: Sequence[Any], base: Path) -> Iterator[Finding]:
    """Lines that look like messages, or should be, and cannot be read."""
    odd = [
        index
        for index, row in enumerate(rows)
        if (isinstance(field(row, "message"), dict) or field(row, "type") in (PROMPT, TURN))
        and not speaks(row)
    ]
    if odd:
        message = f"{len(odd)} lines look like messages and cannot be read"
        yield Finding("unknown_line", message, dotted((*base, odd[0])))
