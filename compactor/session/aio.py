"""`AsyncSession`: a session for asyncio, the same calls each in a worker thread.

One implementation: every method is `Session`'s own. Calls are answered in the order in which they
take the session's lock; a call that is cancelled is still finished. Specification: DESIGN
section 7.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
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
        return await asyncio.to_thread(method, self.session, *args, **kwargs)

    return call


class AsyncSession:
    """A `Session` whose calls are awaited. Its methods are those of `Session`.

    Attributes:
        session: the session itself.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

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
