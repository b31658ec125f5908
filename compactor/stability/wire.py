"""Recording what goes over HTTP: a transport, and which requests are to a model.

Needs neither `httpx` nor `httpx2`: both take any object with these methods. A body is recorded with
its bytes before it is sent. Requests that fill no cache (token counts, embeddings, batches) are
left out. Specification: docs/pytest.md.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from compactor.core.errors import InputError

Record = Callable[..., Any]
"""`CacheStability.record`."""

_OTHERS = re.compile(
    r"(count_tokens|:countTokens|/input_tokens|/embeddings|:(batchE|e)mbedContents?|/moderations"
    r"|/batches|:batchGenerateContent|/images(/\w+)?|/audio/\w+|/files|/rerank)/?$"
)


class Transport:
    """Records requests and hands them on; see `CacheStability.transport`."""

    def __init__(self, record: Record, inner: Any, conversation: str | None) -> None:
        self._record = record
        self._inner = inner
        self._conversation = conversation

    def handle_request(self, request: Any) -> Any:
        """As of `httpx.BaseTransport`."""
        content = request.read()
        record_http(self._record, request, content, self._conversation)
        return self._sending(request, "HTTPTransport").handle_request(request)

    async def handle_async_request(self, request: Any) -> Any:
        """As of `httpx.AsyncBaseTransport`."""
        content = await request.aread()
        record_http(self._record, request, content, self._conversation)
        return await self._sending(request, "AsyncHTTPTransport").handle_async_request(request)

    def _sending(self, request: Any, kind: str) -> Any:
        """The transport that sends; where none was given, that of the library of the request."""
        if self._inner is None:
            library = importlib.import_module(type(request).__module__.partition(".")[0])
            self._inner = getattr(library, kind)()
        return self._inner

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()

    def __enter__(self) -> Transport:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Transport:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()


def record_http(record: Record, request: Any, content: bytes, conversation: str | None) -> None:
    """Record an HTTP request if it is one to a model."""
    path = request.url.path if hasattr(request.url, "path") else str(request.url).partition("?")[0]
    record_bytes(record, path, content, dict(request.headers), conversation)


def record_bytes(
    record: Record,
    path: str,
    content: bytes,
    headers: Mapping[str, str],
    conversation: str | None,
) -> None:
    """Record a body if it is one to a model: neither of another purpose nor without messages."""
    if _OTHERS.search(path) or not content:
        return
    try:
        record(content, conversation=conversation, headers=headers)
    except InputError:
        return  # a form, a file, a request without messages
