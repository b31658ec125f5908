"""Claude Code sessions (`~/.claude/projects/…/*.jsonl`, or `{"loglines": […]}` of a web export).

Reads the transcript as the next request would carry it: the live branch of one thread, from its
last compaction on, with the context that the harness put in (attachments) as far as the file holds
its text. `message` is an Anthropic message and is read and rewritten by that format's functions;
`toolUseResult`, a copy for the client, is never sent and never touched. A request boundary is a
new `message.id`. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Kind, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats.agents import agent_runs, run_findings
from compactor.formats.block_lens import SignedBlocks
from compactor.formats.builder import Builder
from compactor.formats.harnesses.claude_attachments import attachment_texts
from compactor.formats.harnesses.claude_lines import (
    ATTACHMENT,
    PROMPT,
    TURN,
    Row,
    Survey,
    Thread,
    is_sent,
    link,
    speaks,
    survey,
    turn_key,
)
from compactor.formats.harnesses.claude_tree import Branch, Step, live_branch, steps
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import (
    field,
    open_calls,
    text_field,
)
from compactor.formats.providers.anthropic import remove_signed, say_user, turn_facts
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import count_of, time_ms
from compactor.formats.runs import Run, chosen

_LOGLINES = "loglines"


class ClaudeCode(SignedBlocks, RunLens):
    """The lens of Claude Code sessions.

    Args:
        thread: one of `threads(root)`: a subagent's, or the main one; "" is the first.
    """

    name = "claude-code"

    def recognises(self, root: Any) -> bool:
        return any(map(_is_native, _lines(root)[0]))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: what an old line means depends on new ones, so nothing is resumed. O(n).

        Raises:
            InputError: `input.shape` when no line holds a message, or the thread does not exist.
        """
        rows, base = _lines(root)
        looked = survey(rows)
        runs = _runs(rows, looked)
        run = chosen(runs, self.thread)
        thread = link(rows, run.native)
        branch = live_branch(thread)
        story = _Story(rows, thread, branch, base)
        story.tell()
        findings = [*story.findings(), *_branch_findings(thread, branch, base)]
        if branch.before:
            message = f"{_count(thread, branch)} entries lie before the last compaction"
            findings.append(Finding("before_compaction", message))
        findings += run_findings(runs, run, self.thread)
        return Reading(
            entries=story.builder.entries,
            overhead=Overhead(known=False),
            findings=[*findings, *_unknown_lines(looked.odd, base)],
            model=story.model or _model(rows, thread, branch.before),
            usage=tuple(story.usage),
        )

    def runs(self, root: Any) -> Sequence[Run]:
        rows = _lines(root)[0]
        return _runs(rows, survey(rows))

    def all_usage(self, root: Any) -> list[Usage]:
        """One an API call, in the order of their first lines; subagents and dead branches too."""
        calls: dict[tuple[Any, ...], list[Usage]] = {}
        for index, row in enumerate(_lines(root)[0]):
            if isinstance(row, dict) and row.get("type") == TURN and is_sent(row):
                key = turn_key(row, index)
                calls[key] = _usage([row], 0) or calls.get(key, [])
        return [usage for found in calls.values() for usage in found]

    def messages(self, root: Any) -> Sequence[Any]:
        return _lines(root)[0]

    def remove_reasoning(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """A line that held nothing else stays, without blocks; a turn left empty keeps `text`."""
        instead = [{"type": "text", "text": text}]
        edits = remove_signed(root, entry, [])
        return [Edit(at, instead) if at in entry.hollow else Edit(at, v) for at, v in edits]


class _Story:
    """Tells the lines of a branch to a builder, in prompt order."""

    def __init__(self, rows: Sequence[Any], thread: Thread, branch: Branch, base: Path) -> None:
        self.rows = rows
        self.thread = thread
        self.branch = branch
        self.base = base
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        self.untold: Counter[str] = Counter()
        self._attached: list[Part] = []
        self._attached_at: Path = ()

    def tell(self) -> None:
        """Say everything that the lines of the prompt hold."""
        for step in _told(self.thread, self.branch.prompt):
            if _is_attachment(self.thread, step):
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

    def _row(self, position: int) -> Row:
        row: Row = self.rows[self.thread.at[position]]
        return row

    def _at(self, position: int, key: str) -> Path:
        return (*self.base, self.thread.at[position], key)

    def _say(self, step: Step) -> None:
        """A turn and its results, or one user line."""
        if step.turn:
            self._say_turn(step.turn)
        for p in step.rest:
            first = len(self.builder.entries)
            content = field(self._row(p)["message"], "content")
            say_user(self.builder, content, self._at(p, "message"))
            self._clear(first, p)

    def _say_turn(self, lines: Sequence[int]) -> None:
        parts: list[Part] = []
        calls: list[Call] = []
        rows = [self._row(p) for p in lines]
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
        row = self._row(position)
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


def _told(thread: Thread, positions: Iterable[int]) -> Iterator[Step]:
    """The steps of those lines that are sent in one way or another."""
    lines = thread.lines
    return steps(thread, [p for p in positions if lines[p].is_sent or lines[p].kind == ATTACHMENT])


def _is_attachment(thread: Thread, step: Step) -> bool:
    return not step.turn and thread.lines[step.rest[0]].kind == ATTACHMENT


def _count(thread: Thread, branch: Branch) -> int:
    """How many entries lie before the compaction, as a builder would have it, without their texts.

    Adjacent turns are one entry, and so are the attachments between two other lines.
    """
    gone = {thread.place.get(uuid) for uuid in branch.cleared_lines}
    count, last = 0, ""
    for step in _told(thread, branch.before):
        p = step.rest[0] if step.rest else -1
        if _is_attachment(thread, step):
            if thread.lines[p].entries and p not in gone:
                count, last = count + (last != ATTACHMENT), ATTACHMENT
            continue
        if step.turn:
            count, last = count + (last != TURN), TURN
        for p in step.rest:
            count, last = count + thread.lines[p].entries, PROMPT
    return count


def _model(rows: Sequence[Any], thread: Thread, positions: Sequence[int]) -> str:
    """The last model that spoke in these lines."""
    turns = (p for p in reversed(positions) if thread.lines[p].kind == TURN)
    named = (text_field(rows[thread.at[p]]["message"], "model") for p in turns)
    return next(filter(None, named), "")


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


def _runs(rows: Sequence[Any], looked: Survey) -> list[Run]:
    """The threads in which anything is said."""
    return agent_runs(looked.threads, lambda index: speaks(rows[index]))


def _usage(lines: Sequence[Row], n: int) -> list[Usage]:
    """Usage of one API call: each of its lines repeats it, only the last has all output."""
    for row in reversed(lines):
        message = row["message"]
        usage = field(message, "usage")
        if isinstance(usage, dict):
            written = count_of(usage, "cache_creation_input_tokens")
            hour = count_of(usage.get("cache_creation"), "ephemeral_1h_input_tokens")
            return [
                Usage(
                    n=n,
                    input=count_of(usage, "input_tokens"),
                    cache_read=count_of(usage, "cache_read_input_tokens"),
                    cache_write=written,
                    output=count_of(usage, "output_tokens"),
                    model=text_field(message, "model"),
                    cache_write_1h=min(hour, written),
                    time_ms=time_ms(row.get("timestamp")),
                )
            ]
    return []


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
    off = [p for p, line in enumerate(thread.lines) if line.is_sent and p not in known]
    if off:
        message = f"{len(off)} messages are on branches that were left"
        yield Finding("off_branch", message, dotted((*base, thread.at[off[0]])))


def _unknown_lines(odd: Sequence[int], base: Path) -> Iterator[Finding]:
    """Lines that look like messages, or should be, and cannot be read."""
    if odd:
        message = f"{len(odd)} lines look like messages and cannot be read"
        yield Finding("unknown_line", message, dotted((*base, odd[0])))
