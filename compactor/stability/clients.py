"""Recording through the client of a provider's SDK.

Where a client has an HTTP client inside, what that one sends is recorded; a Bedrock client tells
before it sends. Anything else that has the methods of `_METHODS`, a fake in a test for instance, is
wrapped in an object that records what they are called with. Specification: docs/pytest.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from compactor.core.errors import InputError
from compactor.stability.wire import Record, record_bytes, record_http

_INSIDE = (
    (),
    ("_client",),
    ("_api_client", "_httpx_client"),
    ("_api_client", "_async_httpx_client"),
)
"""Where clients keep their HTTP client: itself; OpenAI, Anthropic; Google, sync and async."""
_BEDROCK = ("Converse", "ConverseStream", "InvokeModel", "InvokeModelWithResponseStream")
_METHODS = (
    *("messages.create", "messages.stream", "messages.parse"),
    *("beta.messages.create", "beta.messages.stream", "beta.messages.parse"),
    *("chat.completions.create", "chat.completions.stream", "chat.completions.parse"),
    *("responses.create", "responses.stream", "responses.parse"),
    *("models.generate_content", "models.generate_content_stream"),
    *("aio.models.generate_content", "aio.models.generate_content_stream"),
    *("converse", "converse_stream"),
)


def wrapped(record: Record, client: Any, conversation: str | None) -> Any:
    """See `CacheStability.wrap`."""
    found = list(_http_clients(client))
    for http in found:
        http.send = _sending(record, http, conversation)
    if found:
        return client
    events: Any = getattr(getattr(client, "meta", None), "events", None)
    if _is_of(events, "botocore"):
        before_send = _before_send(record, conversation)
        for name in _BEDROCK:
            events.register(f"before-send.bedrock-runtime.{name}", before_send)
        return client
    if not any(_leads_somewhere(client, name) for name in _METHODS):
        raise InputError(
            f"{type(client).__name__} has nothing that sends requests",
            code="input.shape",
            hint=f"hand over a client with one of {', '.join(_METHODS[:4])}, …, or use transport()",
        )
    return Recorded(client, "", _Recorder(record, conversation))


def _http_clients(client: Any) -> Iterator[Any]:
    for steps in _INSIDE:
        found = client
        for step in steps:
            found = getattr(found, step, None)
        if _is_of(found, "httpx", "httpx2"):
            yield found


def _is_of(value: Any, *packages: str) -> bool:
    """Whether a value is of a class of a package, or of one derived from it.

    Told by name, so that nothing is imported, and not by what it can do: a mock can do anything.
    """
    return any(kind.__module__.partition(".")[0] in packages for kind in type(value).__mro__)


def _sending(record: Record, http: Any, conversation: str | None) -> Callable[..., Any]:
    """The method by which an HTTP client sends, which records first.

    Not an event hook: those do not reach the clients that Google's keeps for each event loop.
    """
    send = http.send
    if not hasattr(http, "aclose"):

        def sending(request: Any, **more: Any) -> Any:
            record_http(record, request, request.read(), conversation)
            return send(request, **more)

        return sending

    async def sending_async(request: Any, **more: Any) -> Any:
        record_http(record, request, await request.aread(), conversation)
        return await send(request, **more)

    return sending_async


def _before_send(record: Record, conversation: str | None) -> Callable[..., None]:
    """A handler of botocore's event; what it gives back would be taken for the answer."""

    def before(request: Any, **_more: Any) -> None:
        body = request.body
        content = body if isinstance(body, bytes) else str(body or "").encode()
        path = str(request.url).partition("?")[0]
        record_bytes(record, path, content, {}, conversation)

    return before


def _leads_somewhere(client: Any, name: str) -> bool:
    for step in name.split("."):
        client = getattr(client, step, None)
    return callable(client)


class _Recorder:
    """Records the arguments of a call."""

    def __init__(self, record: Record, conversation: str | None) -> None:
        self._record = record
        self._conversation = conversation

    def __call__(self, arguments: dict[str, Any]) -> None:
        headers = arguments.pop("extra_headers", None) or {}
        extra = arguments.pop("extra_body", None) or {}
        self._record(arguments | extra, conversation=self._conversation, headers=headers)


class Recorded:
    """Stands for an object, or for what is at a name inside it."""

    def __init__(self, inner: Any, name: str, recorder: _Recorder) -> None:
        self._inner = inner
        self._name = name
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        whole = f"{self._name}.{name}".lstrip(".")
        if whole in _METHODS and callable(found):
            return _recording(found, self._recorder)
        inside = any(method.startswith(f"{whole}.") for method in _METHODS)
        return Recorded(found, whole, self._recorder) if inside else found


def _recording(method: Callable[..., Any], recorder: _Recorder) -> Callable[..., Any]:
    """The method, which records what it is called with before it runs."""

    def recorded(*args: Any, **kwargs: Any) -> Any:
        recorder(_named(method, args, kwargs))
        return method(*args, **kwargs)

    return recorded


def _named(
    method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by name."""
    if not args:
        return dict(kwargs)
    signature = inspect.signature(method)
    bound = dict(signature.bind(*args, **kwargs).arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            bound.update(bound.pop(name, {}))
        elif parameter.kind is parameter.VAR_POSITIONAL:
            bound.pop(name, None)
    return bound
