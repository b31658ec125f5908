"""Which messages of an opencode session are in the next request, and what each request used.

The last compaction that was finished decides: the request begins at the message that asked for it,
then its summary, then the messages that it kept (`tail_start_id`), then what follows. Messages that
the user took back (`revert`) wait to be deleted and are not sent. Ids may be missing or all the
same (a recorder's `REDACTED`), so order decides where it can.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from compactor.core.model import Path, Usage
from compactor.formats.messages import field, text_field
from compactor.formats.recorded import count_of, has_tokens, items, time_ms

TURN, PROMPT = "assistant", "user"
COMPACTION, STEP, STEP_END = "compaction", "step-start", "step-finish"
_NO_CONTENT = (STEP, "reasoning")


class Session(NamedTuple):
    """The messages of a session, and where they are.

    info: what the session says of itself; {} for a bare list of messages.
    base: address of the list.
    """

    info: Any
    base: Path
    messages: Sequence[Any]


class Prompt(NamedTuple):
    """What the next request carries, as indexes of messages.

    order: in its order.
    outside: those of `order` that answered requests over other entries: the summary, and what the
        compaction kept.
    before: messages that the compaction took out.
    reverted: index of the first message that was taken back; the number of messages if none was.
    parts: how many parts of that message stay.
    missing: the compaction names a first message to keep that is not in the file.
    """

    order: list[int]
    outside: frozenset[int]
    before: int
    reverted: int
    parts: int
    missing: bool


class Step(NamedTuple):
    """One request's answer: a run of a message's parts, by index, and what it used (n 0)."""

    parts: range
    usage: Usage | None


def session(root: Any) -> Session:
    """The session in an export, or in a bare list of its messages; no messages when it is none."""
    if isinstance(root, list):
        return Session({}, (), root)
    info = field(root, "info")
    found = items(field(root, "messages")) if isinstance(info, dict) else []
    return Session(info, ("messages",), found)


def role(message: Any) -> str:
    """`user` or `assistant`; "" when it is no message of a session."""
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        return ""
    said = text_field(message.get("info"), "role")
    return said if said in (TURN, PROMPT) else ""


def is_dropped(message: Any) -> bool:
    """Whether a turn failed, and so is in no later request: one that was stopped stays."""
    error = field(message["info"], "error")
    if error is None:
        return False
    has_content = any(field(part, "type") not in _NO_CONTENT for part in message["parts"])
    return text_field(error, "name") != "MessageAbortedError" or not has_content


def live_prompt(log: Session) -> Prompt:
    """What the next request carries. O(messages)."""
    end, parts = _reverted(log)
    sent = [i for i, m in enumerate(log.messages[: end + (parts > 0)]) if role(m)]
    marker, summary = _compaction(log.messages, sent)
    if summary < 0:
        return Prompt(sent, frozenset(), 0, end, parts, missing=False)
    first = _first_kept(log.messages, marker)
    kept = [i for i in sent if 0 <= first <= i < marker]
    asked = [i for i in sent if marker <= i <= summary]
    order = [*asked, *kept, *(i for i in sent if i > summary)]
    before = len(sent) - len(order)
    return Prompt(order, frozenset((*kept, *asked)), before, end, parts, first == len(log.messages))


def steps(message: Any) -> Iterator[Step]:
    """The requests that a turn answers: one, in old sessions several. O(parts)."""
    parts, info = message["parts"], message["info"]
    kinds = [field(part, "type") for part in parts]
    starts = [i for i, kind in enumerate(kinds) if kind == STEP and i]
    bounds = [0, *starts, len(parts)]
    is_said = STEP_END in kinds
    for first, end in pairwise(bounds):
        said = [part for part in parts[first:end] if field(part, "type") == STEP_END]
        tokens = said[-1] if said else info if end == len(parts) and not is_said else None
        usage = _usage(field(tokens, "tokens"), text_field(info, "modelID"))
        if end == len(parts):  # when earlier steps ended is not in the file
            usage = msgspec.structs.replace(usage, time_ms=_ended_ms(info))
        yield Step(range(first, end), usage if has_tokens(usage) else None)


def _ended_ms(info: Any) -> int:
    times = field(info, "time")
    return time_ms(field(times, "completed")) or time_ms(field(times, "created"))


def _reverted(log: Session) -> tuple[int, int]:
    """Index of the first message that was taken back, and how many of its parts were not."""
    revert = field(log.info, "revert")
    goal, part_id = text_field(revert, "messageID"), text_field(revert, "partID")
    for index, message in enumerate(log.messages if goal else ()):
        if role(message) and text_field(message["info"], "id") == goal:
            ids = [text_field(part, "id") for part in message["parts"]]
            return index, ids.index(part_id) if part_id in ids else 0
    return len(log.messages), 0


def _compaction(messages: Sequence[Any], sent: Sequence[int]) -> tuple[int, int]:
    """Indexes of the message that asked for the last finished compaction, and of its summary.

    Old sessions have no such message: there the request begins at the summary. -1 without one.
    """
    marker, found = -1, (-1, -1)
    for index in sent:
        message = messages[index]
        info = message["info"]
        if role(message) == PROMPT:
            marker = index if _marker_part(message) is not None else marker
        elif field(info, "summary") is True and field(info, "finish") and not field(info, "error"):
            found = (marker if marker >= 0 else index, index)
    return found


def _marker_part(message: Any) -> Any:
    """The part of a user's message that asks for a compaction."""
    return next((p for p in message["parts"] if field(p, "type") == COMPACTION), None)


def _first_kept(messages: Sequence[Any], marker: int) -> int:
    """Index of the first message that a compaction kept; -1 for none, past the end if unknown."""
    goal = text_field(_marker_part(messages[marker]), "tail_start_id")
    for index in range(marker if goal else 0):
        if role(messages[index]) and text_field(messages[index]["info"], "id") == goal:
            return index
    return len(messages) if goal else -1


def _usage(native: Any, model: str) -> Usage:
    """opencode counts what was cached beside the input; the total says if reasoning is output."""
    cache = field(native, "cache")
    usage = Usage(
        n=0,
        input=count_of(native, "input"),
        cache_read=count_of(cache, "read"),
        cache_write=count_of(cache, "write"),
        output=count_of(native, "output"),
        model=model,
    )
    reasoning = count_of(native, "reasoning")
    counted = usage.input + usage.cache_read + usage.cache_write + usage.output
    if count_of(native, "total") != counted + reasoning:
        return usage
    return msgspec.structs.replace(usage, output=usage.output + reasoning)
