"""The requests of a test, as they were sent, and where they break the prompt cache.

`CacheStability` is what the fixture `cache_stability` gives. Each request is compared, when it is
recorded, with the one before in its conversation; a break is expected where a pass was told since
that one. `check` fails on what is not. Thread-safe. Specification: docs/pytest.md.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Any

from compactor.core.errors import InputError
from compactor.stability import says
from compactor.stability.bodies import read_body
from compactor.stability.breaks import Break, Credit, Found, Told, expected
from compactor.stability.changes import first_change
from compactor.stability.clients import Tap, Transport
from compactor.stability.conversations import Conversations
from compactor.stability.prefix import (
    IGNORABLE,
    SHAPES,
    SPELLING,
    has_messages,
    segments,
    shape_of,
)
from compactor.stability.requests import Request
from compactor.stability.says import CacheBreakError

_SHARED_HEADS = ("clock", "uuid", "tool order", "item order", "key order", "line order")
"""What is a break between conversations of one agent as well: they could share what stands before
their messages. Other changes are made on purpose."""


class CacheStability:
    """Records requests and says where they break the prompt cache.

    Args:
        breaks: how many may break it beside those that passes are told for.
        conversations: how many there must be; None for any number.
        apart: whether conversations that are not named are told apart.
        ignore: what may change (`prefix.IGNORABLE`): parts (`model`, `tools`, `system prompt`,
            `settings`), a setting by its name, or the `spelling` of bodies that came as bytes.

    Raises:
        InputError: `input.shape` for what none of these can be.
    """

    def __init__(
        self,
        *,
        breaks: int = 0,
        conversations: int | None = None,
        apart: bool = True,
        ignore: Collection[str] = (),
    ) -> None:
        _check_number("breaks", breaks, 0)
        _check_number("conversations", 1 if conversations is None else conversations, 1)
        if not isinstance(apart, bool):
            _refuse(f"apart={apart!r} is neither True nor False")
        _check_ignored(ignore)
        self.allowed = breaks
        self._wanted = conversations
        self._ignored = frozenset(ignore)
        self._lock = threading.RLock()
        self._conversations = Conversations(apart=apart)
        self._told = Told()
        self._requests: list[Request] = []
        self._breaks: list[Break] = []
        self._credits: list[Credit] = []
        self._checked = -1
        self._taps: list[Tap] = []

    def __repr__(self) -> str:
        numbers = len(self._requests), len(self._breaks), self.passes
        return "<CacheStability: {} requests, {} breaks, {} passes>".format(*numbers)

    def __str__(self) -> str:
        """How many of each there are, in a line."""
        return says.sums(self._found())

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests, oldest first."""
        return tuple(self._requests)

    @property
    def conversations(self) -> tuple[str, ...]:
        """Names of the conversations, oldest first."""
        return tuple(self._conversations.last)

    @property
    def passes(self) -> int:
        """How many passes were told."""
        return sum(credit.passes for credit in self._credits)

    def record(
        self,
        body: Any,
        *,
        conversation: str | None = None,
        format: str = "",  # noqa: A002
        headers: Mapping[str, str] | None = None,
        model: str = "",
        place: str = "",
    ) -> Any:
        """Record a request as it is sent. O(the body).

        Args:
            body: bytes or text as they go out, or a body or list of messages as Python values;
                those may change afterwards.
            conversation: the one it belongs to; None looks for it.
            format: name of its format, where its shape does not say it.
            headers: of the HTTP request; those that reach the prompt are compared.
            model: where the URL names it and the body does not.
            place: where it is recorded, for a person who looks for it.

        Returns:
            `body`, so that a call can be made of it.

        Raises:
            InputError: `input.not_json`, `input.shape`.
        """
        read = read_body(body)
        if not has_messages(read.root):
            _refuse("a body has messages, contents or input; this one has not")
        shape = format if format in SHAPES else shape_of(read.root)
        prefix = segments(read, shape, headers or {}, model, self._ignored)
        with self._lock:
            request = Request(len(self._requests) + 1, read, shape, prefix, format)
            request.place = place
            found = self._placed(request, conversation)
            self._requests.append(request)
            self._breaks += [found] if found is not None else []
        return body

    def _placed(self, request: Request, conversation: str | None) -> Break | None:
        """Put a request into its conversation; the break there, if it makes one."""
        peer = self._conversations.of_agent.get(request.agent)
        before = request.before = self._conversations.add(request, conversation)
        last = before or peer
        if last is None:
            return None
        is_whole = before is not None and not (before.is_tail or request.is_tail)
        change = first_change(
            last.segments if is_whole else last.head,
            request.segments if is_whole else request.head,
            spelling=SPELLING not in self._ignored and before is not None,
        )
        if change is None or (before is None and change.look not in _SHARED_HEADS):
            return None
        return Break(request.number, last.number, request.conversation, change)

    def passed(self, what: Any = 1, *, conversation: str | None = None) -> int:
        """Tell of passes: changes of the prefix that are made on purpose.

        Tell them before the request that shows them, each time anew if you like, or all at the end.

        Args:
            what: an `Outcome`, a `Session`, a `Journal` or an open journal file, a `Report` or its
                JSON as a dict, or a number. Passes that were told before count once.
            conversation: the one that they are of; None for any.

        Returns:
            how many of them were new.

        Raises:
            InputError: `input.shape` when it tells of none.
        """
        with self._lock:
            count = self._told.count(what, conversation or "")
            if count:
                self._credits.append(Credit(len(self._requests), count, conversation))
            return count

    @property
    def breaks(self) -> tuple[Break, ...]:
        """All breaks, oldest first, and which of them were expected."""
        with self._lock:
            return tuple(expected(self._breaks, self._credits, len(self._requests)))

    @property
    def unexpected(self) -> tuple[Break, ...]:
        """The breaks for which no pass was told."""
        return tuple(self._found().unexpected)

    @property
    def is_checked(self) -> bool:
        """Whether nothing was recorded since the last `check`."""
        return self._checked == len(self._requests)

    def check(self) -> None:
        """Fail if requests break the cache for which no pass was told.

        The fixture calls it when the test has ended, where the test has not.

        Raises:
            CacheBreakError: an `AssertionError` that says which request, where, and why.
        """
        __tracebackhide__ = True
        with self._lock:
            self._checked = len(self._requests)
            problem = says.problem(self._found(), self._wanted)
        if problem:
            raise CacheBreakError(problem)

    def transport(self, inner: Any = None, *, conversation: str | None = None) -> Any:
        """A transport for `httpx` (and `httpx2`) clients, sync and async, that records.

        Args:
            inner: the transport that sends; None makes the library's own.
            conversation: the one that its requests belong to; None looks for it.
        """
        return Transport(Tap(self.record, conversation), inner)

    def wrap(self, client: Any, *, conversation: str | None = None) -> Any:
        """A provider's client whose requests are recorded until `close`.

        Args:
            client: of the SDKs of Anthropic, OpenAI or Google, an `httpx` client, a Bedrock client
                of `boto3`, a model of LangChain with one of these inside, or any object with
                methods of theirs (`messages.create`, …). One that is given again is recorded once.
            conversation: the one that its requests belong to; None looks for it.

        Returns:
            the client itself, which records from now on, or an object that stands for it.

        Raises:
            InputError: `input.shape` when it has nothing that sends requests.
        """
        tap = Tap(self.record, conversation)
        earlier = tuple(self._taps)
        self._taps.append(tap)
        return tap.wrap(client, earlier)

    def close(self) -> None:
        """Leave all clients as they were before `wrap`. The fixture calls it after the test."""
        while self._taps:
            self._taps.pop().close()

    def summary(self) -> dict[str, Any]:
        """What was recorded, in numbers, as the report file has it."""
        return says.summary(self._found())

    def _found(self) -> Found:
        with self._lock:
            breaks = self.breaks
            return Found(self.requests, self.conversations, breaks, self.passes, self.allowed)


def _check_number(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        _refuse(f"{name}={value!r} is no number from {least} on")


def _check_ignored(ignore: Any) -> None:
    if isinstance(ignore, str) or not isinstance(ignore, Collection):
        _refuse(f"ignore={ignore!r} is no list of names")
    for name in ignore:
        if name not in IGNORABLE:
            _refuse(f"ignore has no {name!r}: {', '.join(IGNORABLE)}")


def _refuse(problem: str) -> None:
    raise InputError(problem, code="input.shape")
