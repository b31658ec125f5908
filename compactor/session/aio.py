"""`AsyncSession`: a session for asyncio, the same calls in a worker thread of its own.

One implementation: every method is `Session`'s own. Specification: DESIGN section 7.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from compactor.session.session import Session

_BLOCKING = (
    "insert", "prepare", "observe", "compact_now", "recall", "call", "summarised", "mark",
    "rewind", "pin", "was_read", "disable_recall", "record_usage", "context", "prompt",
    "before_request", "after_call", "apply_file", "delete", "close",
)  # fmt: skip


def _awaited(name: str) -> Callable[..., Awaitable[Any]]:
    method = getattr(Session, name)

    @functools.wraps(method)
    async def call(self: AsyncSession, *args: Any, **kwargs: Any) -> Any:
        made = contextvars.copy_context().run
        done = self._worker.submit(made, method, self.session, *args, **kwargs)
        return await asyncio.shield(asyncio.wrap_future(done))

    return call


class AsyncSession:
    """A `Session` whose calls are awaited. Its methods are those of `Session`.

    Calls are made one after the other, in the order in which they were begun, so that results of
    parallel tools get their ids in the order of their `insert`s. One that is cancelled is finished
    all the same.

    Attributes:
        session: the session itself.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="compactor")

    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> AsyncSession:
        """As `Session.open`."""
        return cls(await asyncio.to_thread(Session.open, *args, **kwargs))

    def tools(self, format: str | None = None) -> list[dict[str, Any]]:  # noqa: A002
        """As `Session.tools`; waits for nothing."""
        return self.session.tools(format)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    def __getattr__(self, name: str) -> Any:
        """`id`, `policy`, `journal`: what needs no waiting."""
        return getattr(self.session, name)


for _name in _BLOCKING:
    setattr(AsyncSession, _name, _awaited(_name))
