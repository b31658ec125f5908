"""Which events of an OpenHands stream (V0) the model is shown, and which answer which.

Ids may begin anew within a stream (a session that was taken up again), so an observation answers
the last action of its `cause` before it. What a delegate does lies between its action and its
observation; it is a conversation of its own. Source: OpenHands' `view`, `state_tracker`.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.messages import field, text_field
from compactor.formats.recorded import items

ACTIONS: Final = frozenset(
    (
        *("browse", "browse_interactive", "call_tool_mcp", "change_agent_state", "condensation"),
        *("condensation_request", "delegate", "edit", "finish", "initialize", "loop_recovery"),
        *("message", "null", "pause", "push", "read", "recall", "reject", "resume", "run"),
        *("run_ipython", "send_pr", "start", "stop", "system", "task_tracking", "think", "write"),
    )
)
OBSERVATIONS: Final = frozenset(
    (
        *("agent_state_changed", "browse", "chat", "condense", "delegate", "download", "edit"),
        *("error", "loop_detection", "mcp", "message", "null", "read", "recall", "run"),
        *("run_ipython", "success", "task_tracking", "think", "user_rejected", "write"),
    )
)
_UNSEEN_ACTIONS: Final = frozenset(
    (
        *("change_agent_state", "initialize", "loop_recovery", "null", "pause", "resume"),
        *("start", "stop"),
    )
)
_UNSEEN_OBSERVATIONS: Final = frozenset(("agent_state_changed", "null"))
_IDS: Final = "forgotten_event_ids"
_MARKS: Final = ("condensation", "condensation_request")
_UNSAID: Final = frozenset(("loop_detection", "success"))
_SILENT: Final = frozenset(("recall", *_MARKS))
"""Actions that stand in the history but say nothing to the model."""

SPOKEN: Final = ("message", "finish", "reject")
"""Actions that are words and no call."""

SUMMARY: Final = -1
"""In the place of an index: the summary of what was taken out."""


class Event(NamedTuple):
    """An event and its address."""

    at: Path
    native: Any


def is_event(native: Any) -> bool:
    """Whether an object is an event: an action or an observation, not both, of a known kind."""
    action, observation = text_field(native, "action"), text_field(native, "observation")
    if not bool(action) ^ bool(observation):
        return False
    is_known = action in ACTIONS or observation in OBSERVATIONS
    return is_known and any(key in native for key in ("args", "source", "content", "thought"))


def is_seen(event: Any) -> bool:
    """Whether an event is in the agent's history."""
    action, observation = text_field(event, "action"), text_field(event, "observation")
    if not action and not observation:
        return False
    if action in _UNSEEN_ACTIONS or observation in _UNSEEN_OBSERVATIONS:
        return False
    return all(field(field(event, key), "hidden") is not True for key in ("args", "extras"))


class View:
    """A stream, condensed as it says.

    events: all of them.
    shown: indexes of what is shown, in order; `SUMMARY` where the summary stands.
    summary: address and text of it.
    forgotten: how many events were taken out.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.summary: tuple[Path, str] = ((), "")
        self._groups: dict[str, list[int]] = {}
        self._answers: dict[int, list[int]] = {}
        self._answered: dict[int, int] = {}
        self._pair()
        history = [i for i, event in enumerate(events) if is_seen(event.native)]
        gone, offset = self._condensed()
        kept = [i for i in history if i not in gone and not self._is_mark(i)]
        self.forgotten = sum(i in gone for i in history)
        if offset >= 0:
            kept.insert(offset, SUMMARY)
        self.shown = [i for i in kept if i < 0 or not self._is_silent(i)]
        self._kept = frozenset(kept)

    def group(self, index: int) -> list[int]:
        """The actions of the response that an action is of, itself included."""
        key = _response_id(self.events[index].native)
        return [i for i in self._groups[key] if i in self._kept] if key else [index]

    def answers(self, index: int) -> list[int]:
        """The observations of an action that are shown."""
        return [i for i in self._answers.get(index, ()) if i in self._kept]

    def is_answered(self, index: int) -> bool:
        """Whether an action is shown: not when its observation was taken out."""
        return bool(self.answers(index)) or not self._answers.get(index)

    def is_orphan(self, index: int) -> bool:
        """Whether an observation's action was taken out, so that it is not shown either."""
        return index in self._answered and self._answered[index] not in self._kept

    def _pair(self) -> None:
        """Observations with their actions, and actions by response."""
        by_id: dict[Any, int] = {}
        by_call: dict[str, int] = {}
        last = -1
        for index, (_, event) in enumerate(self.events):
            call_id = text_field(field(event, "tool_call_metadata"), "tool_call_id")
            if text_field(event, "action"):
                own = field(event, "id")
                if isinstance(own, (int, str)):
                    by_id[own] = index
                if call_id:
                    by_call[call_id] = index
                key = _response_id(event)
                if key and text_field(event, "action") not in SPOKEN:
                    self._groups.setdefault(key, []).append(index)
                last = index
            elif text_field(event, "observation") and is_seen(event):
                cause = field(event, "cause")
                known = by_id.get(cause) if isinstance(cause, (int, str)) else None
                known = by_call.get(call_id) if known is None else known
                if known is None and cause is None and "id" not in event:
                    known, last = last if last >= 0 else None, -1
                if known is not None:
                    self._answers.setdefault(known, []).append(index)
                    self._answered[index] = known

    def _condensed(self) -> tuple[frozenset[int], int]:
        """Indexes that condensations took out, and where the last summary goes; -1 without one."""
        places: dict[Any, list[int]] = {}
        for index, (_, event) in enumerate(self.events):
            own = field(event, "id")
            if isinstance(own, (int, str)):
                places.setdefault(own, []).append(index)
        taken: set[Any] = set()
        ranges: list[tuple[int, int]] = []
        offset = -1
        for at, event in self.events:
            if text_field(event, "action") != _MARKS[0]:
                continue
            args = field(event, "args")
            taken.update(i for i in items(field(args, _IDS)) if isinstance(i, (int, str)))
            first, last = (field(args, f"forgotten_events_{end}_id") for end in ("start", "end"))
            if type(first) is int and type(last) is int:
                ranges.append((first, last))
            where = field(args, "summary_offset")
            if isinstance(field(args, "summary"), str) and type(where) is int and where >= 0:
                offset, self.summary = where, ((*at, "args", "summary"), args["summary"])
        taken.update(_inside(ranges, [own for own in places if type(own) is int]))
        gone = {index for own in places if own in taken for index in places[own]}
        return frozenset(gone), offset

    def _is_mark(self, index: int) -> bool:
        return text_field(self.events[index].native, "action") in _MARKS

    def _is_silent(self, index: int) -> bool:
        event = self.events[index].native
        is_unsaid = text_field(event, "observation") in _UNSAID
        return is_unsaid or text_field(event, "action") in _SILENT


def _inside(ranges: Sequence[tuple[int, int]], numbers: Sequence[int]) -> Iterator[int]:
    """The numbers that lie in any of the ranges, ends included. O(n log n)."""
    ordered = sorted(numbers)
    done = 0
    for first, last in sorted(ranges):
        start = max(bisect_left(ordered, first), done)
        done = max(bisect_right(ordered, last), done)
        yield from ordered[start:done]


def _response_id(event: Any) -> str:
    return text_field(field(field(event, "tool_call_metadata"), "model_response"), "id")


def levels(events: Sequence[Event]) -> list[str]:
    """Whose each event is: "" of the agent itself, else the name of the delegate at work.

    A delegate that never ends is not told apart.
    """
    owners: list[str] = []
    stack: list[str] = []
    opened: dict[str, str] = {}
    for index, (_, event) in enumerate(events):
        if text_field(event, "observation") == "delegate" and stack:
            opened.pop(stack.pop())
        owners.append(stack[-1] if stack else "")
        if text_field(event, "action") == "delegate":
            name = f"delegate-{index + 1}"
            opened[name] = owners[-1]
            stack.append(name)
    still: dict[str, str] = {}
    for name, outer in opened.items():
        still[name] = still.get(outer, outer)
    return [still.get(owner, owner) for owner in owners]
