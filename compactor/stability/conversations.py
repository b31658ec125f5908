"""Which conversation a request belongs to, in a stream that holds several: sub-agents, threads.

A request whose answer no other has gone on from yet is an *end*. A harness that only appends sends
all of an end again and one answer of the model more: then there is no doubt. A request that was
sent twice is two ends, as it may be a retry or a task that two agents got; so is one with a
question appended, as it may be asked aside. What goes on from no end belongs, with a break in it,
to the conversation whose newest turn it still holds; failing that it begins one. A name given by
the caller settles it. Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from itertools import dropwhile, islice
from typing import NamedTuple

from compactor.stability.changes import first_block, goes_on
from compactor.stability.guesses import ID
from compactor.stability.requests import Request

_LOOKED_AT = 32
"""Ends that are compared at most where many are alike."""


class Conversations:
    """The conversations of a stream.

    Args:
        apart: tell conversations without a name apart; else all of them are one.

    Attributes:
        last: name → its newest request.
        of_agent: agent → its newest request.
    """

    def __init__(self, *, apart: bool = True) -> None:
        self.last: dict[str, Request] = {}
        self.of_agent: dict[str, Request] = {}
        self._apart = apart
        self._ends = _Ends()
        self._newest: _End | None = None
        self._named = 0
        self._gone_on: dict[str, int] = {}

    def add(self, request: Request, name: str | None) -> Request | None:
        """Put a request where it belongs. O(its messages), and those of 32 ends with a break.

        Returns:
            the request before it in its conversation; None for the first.
        """
        self.of_agent[request.agent] = request
        if name is None and self._apart:
            return self._add_to_an_end(request)
        request.conversation = name or "1"
        before = self.last.get(request.conversation)
        self.last[request.conversation] = request
        return before

    def _add_to_an_end(self, request: Request) -> Request | None:
        end = self._end_before(request)
        is_answered = end is None or request.is_tail or request.answers > end.request.answers
        name = self._new_name() if end is None or self._has_gone_on(end) else end.name
        if end is not None:
            end.name = end.request.conversation = name
        if end is not None and is_answered:
            self._ends.take(end)
        if is_answered:
            self._gone_on[name] = request.number
        self._newest = _End(request, name)
        self._ends.add(self._newest)
        self.last[name] = request
        request.conversation = name
        return end.request if end is not None else None

    def _has_gone_on(self, end: _End) -> bool:
        """Whether the conversation of an end has gone on from another one since."""
        return self._gone_on.get(end.name, 0) > end.request.number

    def _new_name(self) -> str:
        self._named += 1
        while str(self._named) in self.last:
            self._named += 1
        return str(self._named)

    def _end_before(self, request: Request) -> _End | None:
        if request.is_tail:
            return self._end_of_tail(request)
        clean = max(self._clean(request), default=None, key=lambda one: one.rank)
        if clean is not None and clean.is_next:
            return clean.end
        held = max(self._held(request), default=None, key=lambda one: one.rank)
        if held is not None and (clean is None or held.same + held.alike > 2 * clean.depth):
            return held.end
        return clean.end if clean is not None else self._right_before(request)

    def _clean(self, request: Request) -> Iterator[_Clean]:
        """The ends that a request holds as they were sent."""
        for depth, turn in enumerate(request.turns, 1):
            for end in self._ends.at(("turns", request.marks[depth - 1], first_block(turn))):
                if goes_on(end.request.turns[-1], turn):
                    clean = _clean(end, request, depth)
                    yield from [clean] if clean is not None else []

    def _held(self, request: Request) -> Iterator[_Held]:
        """The ends whose newest turn a request still holds. The first request holds none."""
        if not request.answers:
            return
        for text in request.times_said:
            for end in self._ends.at(("says", text)):
                held = _held(end, request)
                if _holds_newest(request, held):
                    yield held

    def _end_of_tail(self, request: Request) -> _End | None:
        """Of a history that the provider keeps: by its name, else the newest of the same agent."""
        if request.thread:
            return next(self._ends.at(("thread", request.thread)), None)
        end = next(self._ends.at(("agent", request.shape, request.agent)), None)
        newest = self._newest
        is_alike = newest is not None and newest.request.shape == request.shape
        return end or (newest if is_alike else None)

    def _right_before(self, request: Request) -> _End | None:
        """The request right before, of which all was rewritten, if this looks like its next."""
        end = self._newest
        if end is None or request.answers != end.request.answers + 1:
            return None
        heads = [[one.key for one in each.head] for each in (end.request, request)]
        is_alone = len(self.last) == 1
        return end if heads[0] == heads[1] and (is_alone or len(heads[0]) > 1) else None


class _End:
    """A request whose answer none has gone on from, and the name of its conversation."""

    def __init__(self, request: Request, name: str) -> None:
        self.request = request
        self.name = name


class _Clean(NamedTuple):
    """An end that a request holds as it was sent, in its first `depth` messages.

    is_next: at most one answer of the model is new.
    """

    end: _End
    depth: int
    is_next: bool
    same_head: bool
    same_agent: bool

    @property
    def rank(self) -> tuple[bool, bool, bool, int, int]:
        is_own = self.is_next, self.same_head, self.same_agent
        return (*is_own, self.depth, self.end.request.number)


def _clean(end: _End, request: Request, depth: int) -> _Clean | None:
    """None where it is the same task, and another agent's."""
    before = end.request
    same_agent = before.agent == request.agent and before.model == request.model
    new_answers = request.answers - before.answers
    if not new_answers and not same_agent:
        return None
    heads = [[one.key for one in each.head] for each in (before, request)]
    return _Clean(end, depth, new_answers <= 1, heads[0] == heads[1], same_agent)


class _Held(NamedTuple):
    """An end whose newest turn a request holds, and how many messages both have."""

    end: _End
    same: int
    alike: int

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.same + self.alike, self.same, self.end.request.number


def _held(end: _End, request: Request) -> _Held:
    keys = [Counter(one.key for one in each.turns) for each in (end.request, request)]
    alike = end.request.times_said & request.times_said
    return _Held(end, (keys[0] & keys[1]).total(), alike.total())


def _holds_newest(request: Request, held: _Held) -> bool:
    """Whether the newest turn of an end is in a request, and an answer of the model behind it.

    Or it is sent again, and something before it changed. Another last message alone is another
    task behind the same examples.
    """
    end = held.end.request
    newest = (len(end.turns) - 1, end.last_answer)
    says_the_same = request.says(len(request.turns) - 1) == end.says(newest[0])
    if says_the_same and held.alike > 1 and request.marks[-2] != end.marks[-2]:
        return True
    return any(_is_answered(request, end, one) for one in newest if one is not None)


def _is_answered(request: Request, end: Request, index: int) -> bool:
    """Whether a message of an end is in a request, and an answer behind it.

    Where an end says the same more than once, as often as there; or with the very id it has there.
    """
    text, key = end.says(index), end.turns[index].key
    exact = [k for k, one in enumerate(request.turns) if one.key == key] if ID in text else []
    alike = [k for k in range(len(request.turns)) if request.says(k) == text]
    places = exact[:1] or alike[end.times_said[text] - 1 :]
    return any(dropwhile(bool, request.is_spoken[places[0] :])) if places else False


class _Ends:
    """Ends by what they are looked for by."""

    def __init__(self) -> None:
        self._by_key: defaultdict[Hashable, dict[int, _End]] = defaultdict(dict)

    def at(self, key: Hashable) -> Iterator[_End]:
        """The newest of a key, newest first."""
        found = self._by_key.get(key, {})
        return iter([*islice(reversed(found.values()), _LOOKED_AT)])

    def add(self, end: _End) -> None:
        for key in _keys(end.request):
            self._by_key[key][end.request.number] = end

    def take(self, end: _End) -> None:
        for key in _keys(end.request):
            del self._by_key[key][end.request.number]


def _keys(request: Request) -> Iterator[Hashable]:
    yield "agent", request.shape, request.agent
    if request.thread:
        yield "thread", request.thread
    if request.turns and not request.is_tail:
        yield "turns", request.marks[-2], first_block(request.turns[-1])
        ends = (len(request.turns) - 1, request.last_answer)
        yield from {("says", request.says(index)) for index in ends if index is not None}
