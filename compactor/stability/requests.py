"""A request as it was recorded: its prefix, and what is asked of it to find its conversation.

What counts as the same there leaves out what changes by itself (`loose`), so that a clock in a
system prompt, or ids that are made anew, are found as breaks and make no new conversation.
Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from compactor.formats.messages import SYSTEM_ROLES, field
from compactor.stability.bodies import Body
from compactor.stability.costs import Costs, costs
from compactor.stability.guesses import loose
from compactor.stability.prefix import MESSAGES, MODEL, SYSTEM, TOOLS, Segment, plain, tool_name

_ANSWERS = ("assistant", "model", "ai")
_OTHERS = ("user", "human", "tool", "function", *SYSTEM_ROLES)


class Request:
    """A request of the stream.

    Attributes:
        number: in the stream, from 1.
        body, shape: as read, and its shape (`prefix.SHAPES`).
        segments: its prefix.
        format: what the caller says that it is; "" where it is looked for.
        conversation: the name of its conversation.
        before: the request before it there.
        place: where it is recorded; "" where it was sent.
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
        self.before: Request | None = None
        self.place = ""
        self._said: dict[int, str] = {}

    @cached_property
    def costs(self) -> Costs:
        """Its tokens. O(the request), once."""
        return costs(self.body.root, self.segments, self.format)

    @cached_property
    def turns(self) -> list[Segment]:
        """The messages as they were sent."""
        return self._of(MESSAGES)

    @cached_property
    def head(self) -> list[Segment]:
        """Everything else."""
        return [one for one in self.segments if one.part != MESSAGES]

    @cached_property
    def marks(self) -> list[int]:
        """A number for what stands before each message, and one for all of them.

        Equal for the same messages, in this process alone.
        """
        made = [0]
        for one in self.turns:
            made.append(hash((made[-1], one.key)))
        return made

    def says(self, index: int) -> str:
        """What a message says, spelling and what changes by itself aside. O(the message), once."""
        if index not in self._said:
            self._said[index] = loose(plain(self.turns[index].value))
        return self._said[index]

    @cached_property
    def times_said(self) -> Counter[str]:
        """How often it says what it says."""
        return Counter(map(self.says, range(len(self.turns))))

    @cached_property
    def is_spoken(self) -> list[bool]:
        """Whether each message is of the model."""
        return [_is_answer(one.value) for one in self.turns]

    @cached_property
    def answers(self) -> int:
        """How often the model has spoken: runs of its messages."""
        return sum(now and not before for before, now in pairwise([False, *self.is_spoken]))

    @cached_property
    def last_answer(self) -> int | None:
        """The index of the last message of the model."""
        return max((k for k, is_spoken in enumerate(self.is_spoken) if is_spoken), default=None)

    @cached_property
    def agent(self) -> str:
        """Whose it is, as far as one can tell: names of its tools, and what its prompt says."""
        tools = sorted(tool_name(one.value) for one in self._of(TOOLS))
        return loose([tools, [plain(one.value, SYSTEM) for one in self._of(SYSTEM)]])

    @cached_property
    def model(self) -> list[str]:
        return [one.key for one in self._of(MODEL)]

    @cached_property
    def thread(self) -> str:
        """The id of a conversation that the provider keeps; "" where none is named."""
        named = field(self.body.root, "conversation")
        found = named if isinstance(named, str) else field(named, "id")
        return found if isinstance(found, str) else ""

    @cached_property
    def is_tail(self) -> bool:
        """Whether the provider keeps the history, and the request holds what is new alone."""
        earlier = ("previous_response_id", "previous_interaction_id")
        return bool(self.thread) or any(field(self.body.root, key) for key in earlier)

    def _of(self, part: str) -> list[Segment]:
        return [one for one in self.segments if one.part == part]


def _speaker(message: Any) -> str:
    """Whose a message is; of an item of the Responses API that is no message, its type."""
    names = (field(message, key) for key in ("role", "kind", "type"))
    return next((name for name in names if isinstance(name, str)), "")


def _is_answer(message: Any) -> bool:
    """Whether a message, or an item of the Responses API, is of the model."""
    name = _speaker(message)
    return name in _ANSWERS or bool(name not in _OTHERS and name and not name.endswith("_output"))
