"""opencode sessions, as `opencode export` writes them.

Reads the transcript as the next request would carry it. A tool part holds a call and its result:
the call belongs to the turn, the result is an entry behind it, and is paired by its place, as ids
repeat where a recorder redacted them. A result that opencode has cleared is known and empty. The
words that opencode itself puts in (for a compaction, a subtask, a stopped call) are in no file and
are not counted. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Overhead, Part, Path, Reading, Usage
from compactor.formats.blocks import unknown_part
from compactor.formats.builder import Builder
from compactor.formats.harnesses.opencode_parts import (
    CLIENT_ONLY,
    TURN_PARTS,
    USER_PARTS,
    Readers,
    body_at,
    is_call,
    read_call,
    say_result,
)
from compactor.formats.harnesses.opencode_session import (
    PROMPT,
    TURN,
    Prompt,
    Session,
    is_dropped,
    live_prompt,
    role,
    session,
    steps,
)
from compactor.formats.lens_bases import AddressedCalls
from compactor.formats.messages import field, shape_error, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import REMOVE, Edit
from compactor.formats.recorded import cleared, compacted, left_behind, unanswered, unreadable


class OpenCode(AddressedCalls):
    """The lens of opencode exports. A subagent's session is a file of its own."""

    name = "opencode"

    def recognises(self, root: Any) -> bool:
        log = session(root)
        is_named = bool(text_field(log.info, "id")) and isinstance(field(log.info, "time"), dict)
        return any(map(role, log.messages)) or (is_named and not log.messages)

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: what an old message means depends on new ones. O(n).

        Raises:
            InputError: `input.shape` when it is no session.
        """
        if not self.recognises(root):
            raise shape_error((), "no message of an opencode session")
        log = session(root)
        prompt = live_prompt(log)
        story = _Story(log, prompt)
        entries = story.builder.entries
        odd = [(*log.base, i) for i, message in enumerate(log.messages) if not role(message)]
        return Reading(
            entries=entries,
            overhead=Overhead(known=False),
            findings=[
                *story.builder.findings,
                *unanswered(entries),
                *cleared(sum(entry.cleared for entry in entries)),
                *_prompt_findings(log, prompt),
                *unreadable(odd, "messages"),
            ],
            model=story.model,
            usage=tuple(story.usage),
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """One a request, in order, compacted and reverted ones too. O(n)."""
        turns = [message for message in session(root).messages if role(message) == TURN]
        return [step.usage for turn in turns for step in steps(turn) if step.usage is not None]

    def messages(self, root: Any) -> Sequence[Any]:
        return session(root).messages

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """The text where the state has it; attachments go."""
        state, at = field(value_at(root, entry.at), "state"), (*entry.at, "state")
        edits = [Edit((*at, *(body_at(state) or ("output",))), text)]
        if field(state, "attachments") is not None:
            edits.append(Edit((*at, "attachments"), REMOVE))
        return edits


class _Story:
    """Tells the messages of a prompt to a builder, in its order."""

    def __init__(self, log: Session, prompt: Prompt) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        for index in prompt.order:
            message, at = log.messages[index], (*log.base, index, "parts")
            end = prompt.parts if index == prompt.reverted else len(message["parts"])
            if role(message) == PROMPT:
                named = field(message["info"], "model")
                self._user(message["parts"][:end], at)
            else:
                named = message["info"]
                self._turn(message, end, at, is_outside=index in prompt.outside)
            if field(message["info"], "summary") is not True:
                self.model = text_field(named, "modelID") or self.model

    def _user(self, parts: Sequence[Any], at: Path) -> None:
        """A user's message, unless it has nothing that is sent."""
        said: list[Part] = []
        is_sent = False
        for index, part in enumerate(parts):
            found = self._part(part, (*at, index), USER_PARTS)
            is_sent |= found is not None
            said += found or ()
        if is_sent:
            self.builder.user(said, at[:-1])

    def _turn(self, message: Any, end: int, at: Path, *, is_outside: bool) -> None:
        """Each step is a turn with its results behind it."""
        is_gone = is_dropped(message)
        for step in steps(message):
            n = self.builder.size
            told = [] if is_gone else [i for i in step.parts if i < end]
            n = self._step(message["parts"], told, at) if told else n
            is_counted = not is_outside and step.parts.start < end
            if step.usage is not None and is_counted:
                self.usage.append(msgspec.structs.replace(step.usage, n=n))

    def _step(self, parts: Sequence[Any], told: Sequence[int], at: Path) -> int:
        """Say one step; the number of entries before it."""
        said: list[Part] = []
        calls: dict[int, Call] = {}
        for index in told:
            part, here = parts[index], (*at, index)
            if is_call(part):
                calls[index] = read_call(part, here)
            else:
                said += self._part(part, here, TURN_PARTS) or ()
        n = self.builder.size
        if said or calls:
            self.builder.turn(said, calls.values(), at[:-1])
            n = self.builder.size - 1
        for index, call in calls.items():
            say_result(self.builder, parts[index], call, (*at, index))
        return n

    def _part(self, part: Any, at: Path, table: Readers) -> list[Part] | None:
        """What a part counts as; None when it is not sent."""
        kind = text_field(part, "type")
        if kind in table:
            return table[kind](part)
        if kind not in CLIENT_ONLY:
            unknown_part(self.builder, part, at)
        return None


def _prompt_findings(log: Session, prompt: Prompt) -> Iterator[Finding]:
    """What of the session is not in the prompt."""
    yield from compacted(prompt.before, "messages")
    if prompt.missing:
        message = "the first message that the compaction kept is not in the file"
        yield Finding("preserved_missing", message)
    gone = len(log.messages) - prompt.reverted
    yield from left_behind(gone, dotted((*log.base, prompt.reverted)))
    turns = [log.messages[i] for i in prompt.order if role(log.messages[i]) == TURN]
    dropped = sum(map(is_dropped, turns))
    if dropped:
        message = f"{dropped} turns that failed are not in later requests"
        yield Finding("dropped_turns", message)
    if text_field(log.info, "parentID"):
        yield Finding("subagent_file", "the session of a subagent")
