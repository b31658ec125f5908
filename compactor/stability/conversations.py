"""Which conversation a request belongs to, in a stream that holds several: sub-agents, threads.

A request goes on from the conversation whose last request it is nearest to: they begin with the
same messages, or else share the most. What counts as the same leaves out what changes by itself, so
that a clock in a system prompt or ids made anew make no new conversation and are found as breaks.
Nothing shared, another task where the model has not spoken yet, or the same beginning and then
other calls of the model: a new one. A name given by the caller settles it. Specification:
docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from compactor.formats.messages import field
from compactor.formats.native import compact_json
from compactor.stability.bodies import Body
from compactor.stability.differences import common_prefix
from compactor.stability.guesses import loose
from compactor.stability.prefix import MESSAGES, SYSTEM, Segment, plain


class Request:
    """A request of the stream.

    Attributes:
        number: in the stream, from 1.
        body, shape: as read, and its shape (`prefix.SHAPES`).
        segments: its prefix.
        format: what the caller says that it is; "" where it is looked for.
    """

    def __init__(
        self, number: int, body: Body, shape: str, segments: Sequence[Segment], format_name: str
    ) -> None:
        self.number = number
        self.body = body
        self.shape = shape
        self.segments = segments
        self.format = format_name
        self.conversation = ""

    @cached_property
    def messages(self) -> list[str]:
        """What each message says, spelling and what changes by itself aside."""
        return [loose(plain(one.value)) for one in self.turns]

    @cached_property
    def answers(self) -> int:
        """How often the model has spoken: runs of its messages."""
        spoken = [_is_answer(one.value) for one in self.turns]
        return sum(now and not before for before, now in pairwise([False, *spoken]))

    @cached_property
    def system(self) -> str:
        """The same of the system prompt."""
        return loose([plain(one.value, SYSTEM) for one in self.segments if one.part == SYSTEM])

    @cached_property
    def turns(self) -> list[Segment]:
        """The messages as they were sent."""
        return [one for one in self.segments if one.part == MESSAGES]


_ANSWERS = ("assistant", "model", "ai")
_OTHERS = ("user", "human", "system", "developer", "tool", "function")


def _speaker(message: Any) -> str:
    """Whose a message is; of an item of the Responses API that is no message, its type."""
    names = (field(message, key) for key in ("role", "kind", "type"))
    return next((name for name in names if isinstance(name, str)), "")


def _is_answer(message: Any) -> bool:
    """Whether a message, or an item of the Responses API, is of the model."""
    name = _speaker(message)
    return name in _ANSWERS or bool(name not in _OTHERS and name and not name.endswith("_output"))


def _is_result(message: Any) -> bool:
    """Whether a message holds results of tools."""
    name = _speaker(message)
    if name in ("tool", "function") or name.endswith("_output"):
        return True
    blocks = field(message, "content") or field(message, "parts")
    return isinstance(blocks, list) and any(
        field(block, "type") == "tool_result"
        or field(block, "toolResult") is not None
        or field(block, "functionResponse") is not None
        for block in blocks
    )


class Conversations:
    """The conversations of a stream.

    Args:
        apart: tell conversations without a name apart; else all of them are one.

    Attributes:
        last: name → its newest request.
    """

    def __init__(self, *, apart: bool = True) -> None:
        self._apart = apart
        self._unnamed: list[str] = []
        self.last: dict[str, Request] = {}

    def add(self, request: Request, name: str | None) -> Request | None:
        """Put a request where it belongs. O(its messages × conversations).

        Returns:
            the request before it in its conversation; None for the first.
        """
        if name is None:
            name = self._belongs_to(request)
        before = self.last.get(name)
        self.last[name] = request
        request.conversation = name
        return before

    def _belongs_to(self, request: Request) -> str:
        found = self._nearest(request)
        if found is not None:
            return found
        number, taken = len(self._unnamed) + 1, self.last.keys()
        name = next(str(k) for k in range(number, number + len(taken) + 1) if str(k) not in taken)
        self._unnamed.append(name)
        return name

    def _nearest(self, request: Request) -> str | None:
        if not self._apart:
            return self._unnamed[0] if self._unnamed else None
        best, nearest = _FAR, None
        for name in reversed(self._unnamed):
            found = _nearness(self.last[name], request)
            if found > best:
                best, nearest = found, name
        return nearest or self._first_rewritten(request)

    def _first_rewritten(self, request: Request) -> str | None:
        """The conversation of which only one request is known, if this looks like its second.

        Nothing is shared, but the model has spoken in it once, so it is no beginning.
        """
        if request.answers != 1:
            return None
        firsts = (
            name
            for name in reversed(self._unnamed)
            if not self.last[name].answers and self.last[name].system == request.system
        )
        return next(firsts, None)


class _Nearness(NamedTuple):
    """How near a request is to another, the surest sign first.

    begins_alike: the same system prompt and the same first message.
    same: messages that begin both, as they were sent; alike: the same by what they say.
    shared: messages that both have anywhere.
    """

    begins_alike: bool = False
    same: int = 0
    alike: int = 0
    shared: int = 0


_FAR = _Nearness()


def _nearness(before: Request, after: Request) -> _Nearness:
    known = set(before.messages)
    shared = sum(message in known for message in after.messages)
    same_system = before.system == after.system
    if not shared or (not same_system and len(after.messages) == 1) or _forked(before, after):
        return _FAR  # a task alone under another system prompt is given to another agent
    same = common_prefix([one.key for one in before.turns], [one.key for one in after.turns])
    alike = common_prefix(before.messages, after.messages)
    return _Nearness(same_system and same > 0, same, alike, shared)


def _forked(before: Request, after: Request) -> bool:
    """Whether both begin alike, if at all, and then go separate ways."""
    keys = [one.key for one in before.turns], [one.key for one in after.turns]
    at = common_prefix(*keys)
    if at in map(len, keys):
        return False
    if not after.answers:
        return True
    mine, yours = before.turns[at].value, after.turns[at].value
    if at + 1 == len(keys[1]) <= len(keys[0]):  # as examples that end in another task
        return not any(_is_result(one) or _is_answer(one) for one in (mine, yours))
    return not {*keys[0][at:]} & {*keys[1][at:]} and _other_calls(mine, yours)


def _other_calls(mine: Any, yours: Any) -> bool:
    """Whether the model made other calls, and not the same ones under ids that were made anew."""
    ids = {*_call_ids(mine)}, {*_call_ids(yours)}
    if not (ids[0] and ids[1]) or ids[0] & ids[1]:
        return False
    return _without(compact_json(mine), ids[0]) != _without(compact_json(yours), ids[1])


def _without(text: str, ids: set[str]) -> str:
    """A message with its own ids taken out: ids that were made anew are no other calls."""
    for each in sorted(ids):
        text = text.replace(each, "")
    return text


_ID_KEYS = ("id", "call_id", "toolUseId")
_CALL_KEYS = ("name", "function", "toolUseId")


def _call_ids(value: Any) -> Iterator[str]:
    """The ids of the calls that a message makes: of objects that name what they call."""
    if isinstance(value, list):
        for item in value:
            yield from _call_ids(item)
    if not isinstance(value, dict):
        return
    if any(field(value, key) is not None for key in _CALL_KEYS):
        for key in _ID_KEYS:
            found = field(value, key)
            if isinstance(found, str):
                yield found
    for key in ("content", "tool_calls", "parts", "toolUse", "functionCall"):
        yield from _call_ids(field(value, key))
