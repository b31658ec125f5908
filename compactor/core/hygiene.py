"""What goes before the model when a result is inserted: its bracket, and the text or a stub.

Every measure acts here, once: a result gets its id, an unchanged read and the same search become
stubs, long output is capped, an edit answers with its diff. Nothing that was sent before changes.
What is kept is everything: `stored` is the text below the bracket in full, for a stub what it
stands for. Decisions rest on the harness's facts and on the table of what stands before the model,
never on a text. Specification: seed 000, DESIGN section 7, docs/sessions.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from compactor.core.asked import Asked, asked
from compactor.core.brackets import Brackets, parse_id, shown_id, shown_path
from compactor.core.edit_answers import edit_answer, parts
from compactor.core.errors import InputError
from compactor.core.facts import Facts
from compactor.core.insertion import Change, Content, Insertion, Read, change_of, read_of
from compactor.core.lines import cap, count_lines, lines_of
from compactor.core.model import Call, plain_arguments
from compactor.core.output import Output, output_of
from compactor.core.policy import named
from compactor.core.read_lines import lines_shown, rendered
from compactor.core.recalled import Recalled, recall
from compactor.core.sameness import same_key
from compactor.core.texts import Loop

__all__ = [
    "Change", "Content", "Inserted", "Insertion", "Read", "Recalled", "Table",
    "change_of", "identity", "insert", "lines_of", "output_of", "parse_id", "read_of", "recall",
    "shown_id",
]  # fmt: skip


class Table(Protocol):
    """The dedupe table: the results that stand verbatim before the model."""

    @property
    def facts(self) -> Mapping[int, Facts]:
        """Of every result of the session, by number."""

    def reads(self, resolved: str, sha: str) -> Iterable[Facts]:
        """Full reads of this content of this file that stand, newest first."""

    def same(self, key: str) -> Facts | None:
        """The newest full result with this `same_key` that stands."""


class Inserted(NamedTuple):
    """An inserted result.

    shown: what to put into the tool result: a text or blocks, as the output was.
    body: its text, as it comes back in a request.
    stored: what lies below the bracket, in full.
    """

    shown: Any
    body: str
    stored: str
    facts: Facts


def insert(given: Insertion, number: int, table: Table, loop: Loop) -> Inserted:
    """Decide what the model gets of a result. O(output + contents).

    Args:
        number: of the result, the next one of the session.
        table: what stubs may name.

    Raises:
        InputError: `input.shape` for an output that is no text and no list, or a read without path.
    """
    output = output_of(given.output)
    hand = _Hand(given, number, table, loop)
    if given.error:
        return hand.failed(output)
    if given.edits:
        return hand.edited(output)
    if given.read is not None:
        return hand.of_file(given.read, output)
    return hand.result(output)


def identity(path: str) -> str:
    """A resolved path as facts keep it: every character can be written to a journal."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


class _Hand:
    """Inserts one result."""

    def __init__(self, given: Insertion, number: int, table: Table, loop: Loop) -> None:
        self._given = given
        self._number = number
        self._table = table
        self._loop = loop
        self._texts = loop.context
        self._brackets = Brackets(loop.context)

    def failed(self, output: Output) -> Inserted:
        """A failed call: an id and the cap; files that it changed all the same are said."""
        if self._given.edits:
            output = output.noted(parts(self._given.edits, self._texts))
        output = self._noted(output)
        return self._below(output, Facts(self._number, "result", 0, failed=True), capped=True)

    def edited(self, output: Output) -> Inserted:
        """The changes; the tool's own words are not shown."""
        changes, texts = self._given.edits, self._texts
        answer = edit_answer(changes, self._number, texts)
        stored = self._noted(Output(answer.text)).text
        body = answer.over(cap(stored, texts.cap, self._brackets.id(self._number)))
        facts = Facts(self._number, "edit", len(answer.bracket))
        if len(changes) > 1:
            files = tuple(dict.fromkeys(identity(change.resolved) for change in changes))
            facts = msgspec.structs.replace(facts, files=files)
        else:
            facts = msgspec.structs.replace(
                facts,
                path=shown_path(changes[0].path, texts),
                resolved=identity(changes[0].resolved),
                sha=changes[0].sha,
            )
        return Inserted(output.only(body).native(), body, stored, facts)

    def result(self, output: Output) -> Inserted:
        """Output of any other tool; a read or recall without facts has its own window."""
        given, output = self._given, self._noted(output)
        facts = Facts(self._number, "result", 0)
        if named(given.tool, self._loop.recall.tools):
            return self._below(output, self._recalled(facts), capped=False)
        if named(given.tool, self._texts.dedupe.by_result) and not output.media:
            key = same_key(given.tool, given.arguments, output.text)
            facts = msgspec.structs.replace(facts, same_key=key)
            other = self._table.same(key)
            if other is not None:
                return self._stub(output, facts, other)
        return self._below(output, facts, capped=not self._within_window(output))

    def of_file(self, read: Read, output: Output) -> Inserted:
        """A read whose file is known; the session renders it where the tool gave nothing."""
        call = asked(self._given.tool, self._given.arguments, self._loop.reads.tools)
        facts, texts = self._file_facts(read, call), self._texts.read
        content = None if output.text or output.media else read.content
        if content is not None and content.binary:
            text = self._texts.binary.format(bytes=len(content.raw))
            return self._without_lines(output.only(text), facts, inline=True)
        told = read.first is not None or read.content is None or not read.content.binary
        lines = None
        if told and not output.media:
            lines = lines_shown(read, call, output.text, texts)
        if lines is None or (lines.none and content is None):
            return self._without_lines(output, facts, inline=False)
        if lines.none:
            text = texts.past_end.format(first=lines.first, total=lines.total)
            return self._without_lines(output.only(text), facts, inline=True)
        if content is not None and lines.total:
            output = output.only(rendered(content, lines, texts))
        return self._read_lines(output, msgspec.structs.replace(facts, **lines._asdict()))

    def _file_facts(self, read: Read, call: Asked | None) -> Facts:
        path = read.path or (call.path if call else "") or read.resolved
        if not path:
            raise InputError("path must be given", code="input.shape", path="read.path")
        return Facts(
            self._number,
            "read",
            0,
            path=shown_path(path, self._texts),
            resolved=identity(read.resolved or path),
            sha=read.sha or (read.content.sha if read.content else ""),
        )

    def _read_lines(self, output: Output, facts: Facts) -> Inserted:
        """A read in full, or a stub where an earlier one shows its lines.

        Of several the newest is named: passes elide the oldest first. What a note says is not in
        the earlier one, so a read with a note is in full.
        """
        known = () if self._given.note else self._table.reads(facts.resolved, facts.sha)
        for other in known:
            if other.first <= facts.first and facts.last <= other.last:
                return self._stub(output, facts, other)
        return self._below(self._noted(output), facts, capped=False)

    def _without_lines(self, output: Output, facts: Facts, *, inline: bool) -> Inserted:
        """A read that shows no lines: of an image, of what is no text, past the end of a file."""
        bracket = self._brackets.file(self._number, facts.path, facts.sha)
        facts = msgspec.structs.replace(facts, kind="result", bracket=len(bracket))
        output = self._noted(output)
        shown = output.only(f"{bracket} {output.text}") if inline else output.under(bracket)
        return Inserted(shown.native(), shown.text, output.text, facts)

    def _stub(self, output: Output, facts: Facts, other: Facts) -> Inserted:
        kind = "stub" if facts.sha else "same"
        facts = msgspec.structs.replace(facts, kind=kind, target=other.number)
        facts = self._measured(facts)
        shown = output.only(self._brackets.named(facts, other))
        return Inserted(shown.native(), shown.text, output.text, facts)

    def _below(self, output: Output, facts: Facts, *, capped: bool) -> Inserted:
        """A text under its bracket, in full or capped."""
        stored, bracket = output.text, self._brackets.of(facts)
        if capped:
            text = cap(stored, self._texts.cap, self._brackets.id(self._number))
            output = output if text == stored else output.instead(text)
        shown = output.under(bracket)
        return Inserted(shown.native(), shown.text, stored, self._measured(facts))

    def _measured(self, facts: Facts) -> Facts:
        return msgspec.structs.replace(facts, bracket=len(self._brackets.of(facts)))

    def _noted(self, output: Output) -> Output:
        return output.noted(self._given.note) if self._given.note else output

    def _recalled(self, facts: Facts) -> Facts:
        """Facts of a recall that a harness's own tool answered: the original is followed."""
        given = plain_arguments(Call("", self._given.tool, self._given.arguments))
        seq, id = given.get("seq"), given.get("id")  # noqa: A001
        root, root_seq = 0, None
        if isinstance(seq, int) and not isinstance(seq, bool) and 0 <= seq < _SEQS:
            root_seq = seq
        elif isinstance(id, str):
            root = parse_id(id) or 0
            known = self._table.facts.get(root)
            root = 0 if known is None else known.root or (root if known.root_seq is None else 0)
            root_seq = None if known is None else known.root_seq
        return msgspec.structs.replace(facts, kind="recall", root=root, root_seq=root_seq)

    def _within_window(self, output: Output) -> bool:
        """Whether the output is that of a read with a window as ours: so many lines, and so many
        characters as the cap allows for as many lines."""
        numbers, lines = self._texts.cap, self._texts.read.lines
        if asked(self._given.tool, self._given.arguments, self._loop.reads.tools) is None:
            return False
        chars = numbers.max_chars * lines // numbers.max_lines
        return len(output.text) <= chars and count_lines(output.text) <= lines


_SEQS = 10**18
"""No seq is as large; a larger one is malformed."""
