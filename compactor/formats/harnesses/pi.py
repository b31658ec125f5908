"""pi sessions (`~/.pi/agent/sessions/…/*.jsonl`), from the oldest version on.

Reads the transcript as the next request would carry it: the live branch from its last compaction
on, with what the compaction kept, and without turns that failed or were stopped, which pi leaves
out of later requests. Everything that is no turn and no tool result is a user message: commands
that the user ran, messages of extensions, summaries. The few words that pi puts around them are in
no file and are not counted. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compactor.core.errors import Finding
from compactor.core.model import Entry, Overhead, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.builder import Builder
from compactor.formats.harnesses.pi_rows import (
    OF_PI,
    ROLES,
    ROWS,
    TURN,
    is_dropped,
    role_of,
    speaks,
    turn_facts,
    usage_of,
)
from compactor.formats.harnesses.pi_tree import MESSAGE, SESSION, Branch, Row, link, live_branch
from compactor.formats.lens_bases import RowLens
from compactor.formats.messages import field, shape_error, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import (
    compacted,
    has_tokens,
    left_behind,
    unanswered,
    unreadable,
)


class Pi(RowLens):
    """The lens of pi sessions."""

    name = "pi"

    def recognises(self, root: Any) -> bool:
        return isinstance(root, list) and any(map(_is_native, root))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: what an old row means depends on new ones, so nothing is resumed. O(n).

        Raises:
            InputError: `input.shape` when no row holds a message.
        """
        rows = root if isinstance(root, list) else ()
        if not any(map(speaks, rows)):
            raise shape_error((), "no row holds a message of a pi session")
        tree = link(rows)
        branch = live_branch(rows, tree)
        story = _Story(rows, branch)
        entries = story.builder.entries
        findings = [*story.builder.findings, *unanswered(entries)]
        spoken, odd = _survey(rows)
        findings += _branch_findings(spoken, branch, tree.up)
        if story.dropped:
            message = f"{story.dropped} turns that failed or were stopped are not in later requests"
            findings.append(Finding("dropped_turns", message))
        if tree.broken:
            message = f"{len(tree.broken)} rows name a parent that is not above them in the file"
            findings.append(Finding("broken_link", message, dotted((tree.broken[0],))))
        if tree.copies:
            message = f"{len(tree.copies)} rows repeat the `id` of an earlier one"
            findings.append(Finding("repeated_line", message, dotted((tree.copies[0],))))
        return Reading(
            entries=entries,
            overhead=Overhead(known=False),
            findings=[*findings, *unreadable(odd, "rows")],
            model=_model(rows, branch.path),
            usage=tuple(story.usage),
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """One a request, in the order of the file; dead branches and dropped turns too. O(n)."""
        rows = root if isinstance(root, list) else ()
        turns = (row for row in rows if role_of(row) == TURN)
        return list(filter(has_tokens, (usage_of(turn, 0) for turn in turns)))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        content = field(value_at(root, entry.at), "content")
        return blocks.rewrite_content(content, (*entry.at, "content"), text, ())


class _Story:
    """Tells the rows of a branch to a builder, in prompt order."""

    def __init__(self, rows: Sequence[Any], branch: Branch) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.dropped = 0
        for index in branch.prompt:
            row = rows[index]
            if role_of(row) == TURN:
                self._turn(row, (index, MESSAGE), is_kept=index in branch.kept)
            elif speaks(row):
                ROLES[role_of(row)](self.builder, row["message"], (index, MESSAGE))
            elif row["type"] in ROWS:
                ROWS[row["type"]](self.builder, row, (index,))

    def _turn(self, row: Row, at: Path, *, is_kept: bool) -> None:
        """What a compaction kept was answered before it, over entries that are gone."""
        message, n = row["message"], self.builder.size
        if not is_dropped(message):
            self.builder.turn(*turn_facts(self.builder, message.get("content"), at), at)
            n = self.builder.size - 1
        else:
            self.dropped += 1
        usage = usage_of(row, n)
        if has_tokens(usage) and not is_kept:
            self.usage.append(usage)


def _is_native(row: Any) -> bool:
    """Whether a row is of this format: its first row, or a message that only pi writes."""
    if text_field(row, "type") == SESSION:
        return bool(text_field(row, "id") and text_field(row, "cwd"))
    role = role_of(row)
    return role in OF_PI or (role == TURN and "stopReason" in row["message"])


def _survey(rows: Sequence[Any]) -> tuple[bytearray, list[Path]]:
    """Of each row whether it speaks; and rows that should hold a message and hold none."""
    spoken, odd = bytearray(), list[Path]()
    for index, row in enumerate(rows):
        spoken.append(speaks(row))
        if text_field(row, "type") == MESSAGE and not spoken[index]:
            odd.append((index,))
    return spoken, odd


def _branch_findings(
    spoken: bytearray, branch: Branch, linked: Mapping[int, int]
) -> Iterator[Finding]:
    """What of the tree is not in the prompt."""
    before = sum(spoken[index] for index in branch.before)
    yield from compacted(before, "messages")
    if branch.missing:
        message = "the first message that the compaction kept is not in the file"
        yield Finding("preserved_missing", message)
    inside = frozenset(branch.path)
    off = [index for index in linked if index not in inside and spoken[index]]
    yield from left_behind(len(off), dotted((off[0],)) if off else "")


def _model(rows: Sequence[Any], path: Sequence[int]) -> str:
    """The last model that was chosen or spoke; the first row of an old file names one too."""
    for index in reversed(path):
        row = rows[index]
        named = row["message"] if role_of(row) == TURN else row
        name = text_field(named, "model") or text_field(named, "modelId")
        if name:
            return name
    return next((text_field(row, "modelId") for row in rows if _is_native(row)), "")
