"""The lines of a Claude Code session: what one is, the threads, and the links inside a thread.

A session file is an append-only tree: each line names the line before it (`parentUuid`). Links are
resolved here in one loop over the lines. A link that points at nothing, at a later line or at its
own falls back to the line before, so that every walk goes up the file and ends. Knows ids and
links, never texts: a session is far larger than the facts about its lines, so these are all that a
thread holds. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.formats.harnesses.claude_attachments import attachment_texts
from compactor.formats.messages import field, listed, text_field

Row = Mapping[str, Any]

TURN, PROMPT, ATTACHMENT = "assistant", "user", "attachment"
SYSTEM = "system"
_LINKED = (TURN, PROMPT, ATTACHMENT, SYSTEM, "progress")
_SYNTHETIC = "<synthetic>"


def speaks(row: Row) -> bool:
    """Whether a line holds a message of the conversation, sent or not."""
    return row.get("type") in (TURN, PROMPT) and isinstance(row.get("message"), dict)


def is_sent(row: Row) -> bool:
    """Whether a line's message goes to the model: the client's own notices do not."""
    if not speaks(row):
        return False
    if row.get("isVisibleInTranscriptOnly") is True and row.get("isCompactSummary") is not True:
        return False
    is_notice = text_field(row["message"], "model") == _SYNTHETIC
    return not is_notice and row.get("isApiErrorMessage") is not True


def call_ids(row: Row) -> list[str]:
    """Ids of the calls that a model line makes."""
    if row.get("type") != TURN:
        return []
    return [text_field(b, "id") for b in _blocks(row) if field(b, "type") == "tool_use"]


def result_ids(row: Row) -> list[str]:
    """Ids of the calls whose results a user line holds."""
    if row.get("type") != PROMPT:
        return []
    return [text_field(b, "tool_use_id") for b in _blocks(row) if _is_result(b)]


def turn_key(row: Row, position: int) -> tuple[Any, ...]:
    """What the lines of one API response have in common; the line itself where it has no id."""
    message_id = text_field(row.get("message"), "id")
    return (message_id, text_field(row, "requestId")) if message_id else (position,)


def _blocks(row: Row) -> list[Any]:
    content = field(row.get("message"), "content")
    return content if isinstance(content, list) else []


def _is_result(block: Any) -> bool:
    return text_field(block, "type") == "tool_result"


def answers_only(row: Row) -> bool:
    """Whether a user line holds results and nothing else."""
    blocks = _blocks(row)
    return bool(blocks) and all(map(_is_result, blocks))


def is_boundary(row: Row) -> bool:
    """Whether a line says that everything above it was compacted."""
    return row.get("type") == SYSTEM and row.get("subtype") == "compact_boundary"


def strings(native: Any) -> list[str]:
    """The texts of a list of texts, or of one."""
    return [item for item in listed(native) if isinstance(item, str)]


class Line(NamedTuple):
    """What a line is, without its texts.

    kind: its `type`, of those that matter here; "" for others.
    answers_only: it holds results and nothing else.
    is_summary: it stands for what was compacted.
    turn: what it has in common with the other lines of its API response; None when it is of none.
    entries: how many entries it makes by itself; of a turn all lines together make one.
    meta: `_META` of the few lines that have them.
    """

    kind: str
    speaks: bool
    is_sent: bool
    answers_only: bool
    is_boundary: bool
    is_summary: bool
    turn: tuple[Any, ...] | None
    entries: int
    meta: Mapping[str, Any]


_META = ("compactMetadata", "microcompactMetadata", "logicalParentUuid")
_NO_META: Mapping[str, Any] = MappingProxyType({})


def line_of(row: Row, position: int) -> Line:
    """The facts about a line."""
    kind = row.get("type")
    return Line(
        kind=next((known for known in _LINKED if kind == known), ""),
        speaks=speaks(row),
        is_sent=is_sent(row),
        answers_only=answers_only(row),
        is_boundary=is_boundary(row),
        is_summary=row.get("isCompactSummary") is True,
        turn=turn_key(row, position) if kind == TURN else None,
        entries=_entries(row),
        meta={key: row[key] for key in _META if key in row} or _NO_META,
    )


def _entries(row: Row) -> int:
    """How many entries a line makes by itself."""
    if row.get("type") == ATTACHMENT:
        return bool(attachment_texts(row.get(ATTACHMENT)))
    blocks = _blocks(row)
    count, was_result = 0, True
    for block in blocks:
        is_result = _is_result(block)
        count += is_result or was_result
        was_result = is_result
    return max(count, 1)


@dataclasses.dataclass(slots=True)
class Thread:
    """The linked lines of one thread in file order. A *position* is an index into these lists.

    lines: what each is.
    at: index of each line in the file.
    up: position of the line before it in the conversation; -1 at a root. Always smaller.
    owner: for a line with results, position of the nearest line above that makes one of their
        calls; -1 when none does.
    linked: whether the line has a `uuid` of its own.
    place: position of a line by its `uuid`.
    turns: the `turn` of lines, each once.
    broken: positions of lines whose parent is not above them in the file.
    copies: number of lines left out because an earlier one has the same `uuid`.
    """

    lines: list[Line] = dataclasses.field(default_factory=list)
    at: list[int] = dataclasses.field(default_factory=list)
    up: list[int] = dataclasses.field(default_factory=list)
    owner: list[int] = dataclasses.field(default_factory=list)
    linked: list[bool] = dataclasses.field(default_factory=list)
    place: dict[str, int] = dataclasses.field(default_factory=dict)
    turns: dict[tuple[Any, ...], tuple[Any, ...]] = dataclasses.field(default_factory=dict)
    broken: list[int] = dataclasses.field(default_factory=list)
    copies: int = 0

    def add(self, row: Row, at: int, up: int, owner: int) -> int:
        """Append a line; returns its position."""
        position = len(self.lines)
        uuid = text_field(row, "uuid")
        if uuid:
            self.place[uuid] = position
        line = line_of(row, position)
        if line.turn is not None:
            line = line._replace(turn=self.turns.setdefault(line.turn, line.turn))
        self.lines.append(line)
        self.at.append(at)
        self.up.append(up)
        self.owner.append(owner)
        self.linked.append(bool(uuid))
        return position


class Survey(NamedTuple):
    """What one look at all lines says.

    threads: line indexes by thread: the main one under "", others by agent id or first `uuid`.
    odd: lines that look like messages, or should be, and cannot be read.
    """

    threads: dict[str, list[int]]
    odd: list[int]


def survey(rows: Sequence[Any]) -> Survey:
    """The threads of a session, and what in it cannot be read. O(n)."""
    found = Survey({"": []}, [])
    thread_of: dict[str, str] = {}
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            continue
        looks = isinstance(row.get("message"), dict) or row.get("type") in (PROMPT, TURN)
        if looks and not speaks(row):
            found.odd.append(index)
        uuid = text_field(row, "uuid")
        if not uuid and text_field(row, "type") not in _LINKED:
            continue
        name = _thread_name(row, uuid or "sidechain", thread_of)
        found.threads.setdefault(name, []).append(index)
        if uuid:
            thread_of.setdefault(uuid, name)
    return found


def _thread_name(row: Row, own: str, thread_of: Mapping[str, str]) -> str:
    if row.get("isSidechain") is not True:
        return ""
    return text_field(row, "agentId") or thread_of.get(text_field(row, "parentUuid")) or own


def link(rows: Sequence[Any], indexes: Sequence[int]) -> Thread:
    """The thread of these lines, with its links resolved. O(lines)."""
    has_links = any(isinstance(rows[index].get("parentUuid"), str) for index in indexes)
    thread, calls = Thread(), dict[str, int]()
    for index in indexes:
        row = rows[index]
        if text_field(row, "uuid") in thread.place:
            thread.copies += 1
            continue
        owner = max((calls.get(call, -1) for call in result_ids(row)), default=-1)
        up = _above(thread, row) if has_links else len(thread.lines) - 1
        position = thread.add(row, index, up, owner)
        calls.update(dict.fromkeys(call_ids(row), position))
    return thread


def _above(thread: Thread, row: Row) -> int:
    """Position of a line's parent: the line before it where it names none that is above it."""
    parent = row.get("parentUuid")
    if parent is None and "parentUuid" in row and text_field(row, "uuid"):
        return -1
    if isinstance(parent, str) and parent:
        if parent in thread.place:
            return thread.place[parent]
        thread.broken.append(len(thread.lines))
    return len(thread.lines) - 1
