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
from compactor.stability.breaks import Break, Credit, expected
from compactor.stability.changes import first_change
from compactor.stability.conversations import Conversations, Request
from compactor.stability.passes import Told
from compactor.stability.prefix import MESSAGES, SHAPES, has_messages, segments, shape_of
from compactor.stability.says import CacheBreakError

_HEADERS = ("anthropic-beta",)
"""Headers of a request that change how its prompt is read."""
_SHARED_HEADS = ("clock", "uuid", "tool order", "item order", "key order", "line order")
"""What is a break between conversations as well: they could share what stands before."""


class CacheStability:
    """Records requests and says where they break the prompt cache.

    Args:
        breaks: how many may break it beside those that passes are told for.
        conversations: how many there must be; None for any number.
        apart: whether conversations that are not named are told apart.
        ignore: parts (`model`, `tools`, `system prompt`, `settings`) and names of settings that may
            change.
        spelling: `strict`, or `ignore` where other spaces and escapes in bodies that came as bytes
            are no break.

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
        spelling: str = "strict",
    ) -> None:
        _check_number("breaks", breaks, 0)
        _check_number("conversations", 1 if conversations is None else conversations, 1)
        if spelling not in ("strict", "ignore"):
            _refuse(f"spelling={spelling!r} is neither strict nor ignore")
        if isinstance(ignore, str):
            _refuse(f"ignore={ignore!r} is no list of names")
        self.allowed = breaks
        self._wanted = conversations
        self._ignored = frozenset(ignore)
        self._strict = spelling == "strict"
        self._lock = threading.RLock()
        self._conversations = Conversations(apart=apart)
        self._told = Told()
        self._requests: list[Request] = []
        self._breaks: list[Break] = []
        self._credits: list[Credit] = []
        self._checked = -1

    def __repr__(self) -> str:
        numbers = len(self._requests), len(self._breaks), self.passes
        return "<CacheStability: {} requests, {} breaks, {} passes>".format(*numbers)

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
    ) -> Any:
        """Record a request as it is sent. O(the body).

        Args:
            body: bytes or text as they go out, or a body or list of messages as Python values;
                those may change afterwards.
            conversation: the one it belongs to; None looks for it.
            format: name of its format, where its shape does not say it.
            headers: of the HTTP request; those that reach the prompt are compared.

        Returns:
            `body`, so that a call can be made of it.

        Raises:
            InputError: `input.not_json`, `input.shape`.
        """
        read = read_body(body)
        if not has_messages(read.root):
            _refuse("a body has messages, contents or input; this one has not")
        shape = format if format in SHAPES else shape_of(read.root)
        sent = {name: value for name, value in (headers or {}).items() if name.lower() in _HEADERS}
        prefix = segments(read, shape, sent, self._ignored)
        with self._lock:
            request = Request(len(self._requests) + 1, read, shape, prefix, format)
            before = self._conversations.add(request, conversation)
            found = self._compared(request, before)
            self._requests.append(request)
            self._breaks += [found] if found is not None else []
        return body

    def _compared(self, request: Request, before: Request | None) -> Break | None:
        if before is None:
            return self._shared_head(request)
        change = first_change(before.segments, request.segments, spelling=self._strict)
        if change is None:
            return None
        return Break(request.number, before.number, request.conversation, change)

    def _shared_head(self, request: Request) -> Break | None:
        """What keeps a new conversation from what stands before the messages of another.

        Only what changes by itself: agents may have other prompts and tools.
        """
        mine = [one for one in request.segments if one.part != MESSAGES]
        for name, last in reversed(self._conversations.last.items()):
            if name == request.conversation or last.system != request.system:
                continue
            head = [one for one in last.segments if one.part != MESSAGES]
            change = first_change(head, mine, spelling=False)
            if change is not None and change.look in _SHARED_HEADS:
                return Break(request.number, last.number, request.conversation, change)
        return None

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
        return tuple(one for one in self.breaks if not one.expected)

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
            problem = says.problem(self, self._wanted)
        if problem:
            raise CacheBreakError(problem)

    def transport(self, inner: Any = None, *, conversation: str | None = None) -> Any:
        """A transport for `httpx` (and `httpx2`) clients, sync and async, that records.

        Args:
            inner: the transport that sends; None makes the library's own.
            conversation: the one that its requests belong to; None looks for it.
        """
        from compactor.stability.wire import Transport

        return Transport(self.record, inner, conversation)

    def wrap(self, client: Any, *, conversation: str | None = None) -> Any:
        """A provider's client whose requests are recorded.

        Args:
            client: of the SDKs of Anthropic, OpenAI or Google, an `httpx` client, a Bedrock client
                of `boto3`, or any object with methods of theirs (`messages.create`, …).
            conversation: the one that its requests belong to; None looks for it.

        Returns:
            the client itself, which records from now on, or an object that stands for it.

        Raises:
            InputError: `input.shape` when it has nothing that sends requests.
        """
        from compactor.stability.clients import wrapped

        return wrapped(self.record, client, conversation)

    def summary(self) -> dict[str, Any]:
        """What was recorded, in numbers, as the report file has it."""
        return says.summary(self)


def _check_number(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        _refuse(f"{name}={value!r} is no number from {least} on")


def _refuse(problem: str) -> None:
    raise InputError(problem, code="input.shape")
