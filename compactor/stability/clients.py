"""Recording what is sent: a transport for `httpx`, and the clients of providers' SDKs.

Where a client has an HTTP client inside, what that one sends is recorded, byte for byte, before it
is sent; a Bedrock client tells before it sends. Anything else that has the methods of `_METHODS`, a
fake in a test for instance, is stood for by an object that records what they are called with.
Nothing is imported for it: libraries are told by name. Specification: docs/pytest.md.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from compactor.core.errors import InputError
from compactor.formats.traces.http_records import is_other, model_in

Record = Callable[..., Any]
"""`CacheStability.record`."""
Undo = Callable[[], None]

_INSIDE = (
    (),
    ("_client",),
    *(("_api_client", "_httpx_client"), ("_api_client", "_async_httpx_client")),
    *(("_client", "_client"), ("_async_client", "_client")),
    *(("root_client", "_client"), ("root_async_client", "_client")),
    *(("client", "_api_client", "_httpx_client"), ("client", "_api_client", "_async_httpx_client")),
)
"""Where clients keep their HTTP client: itself; OpenAI, Anthropic; Google; models of LangChain, of
Anthropic, OpenAI and Google."""
_BEDROCK_INSIDE = ((), ("client",))
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


class Tap:
    """Records what goes through a client, for one conversation or any, until it is closed."""

    def __init__(self, record: Record, conversation: str | None) -> None:
        self.conversation = conversation
        self._record = record
        self._tapped: list[tuple[Any, Undo]] = []

    def wrap(self, client: Any, earlier: Sequence[Tap] = ()) -> Any:
        """See `CacheStability.wrap`.

        Args:
            earlier: other taps of the stream: what goes through two is recorded once.
        """
        if isinstance(client, Recorded):
            client = client._inner
        inside = getattr(client, "bound", client)  # a model of LangChain with tools
        https = [one for one in _inside(inside, _INSIDE) if _is_of(one, "httpx", "httpx2")]
        bedrocks = [one for one in _inside(inside, _BEDROCK_INSIDE) if _is_bedrock(one)]
        for one in (*https, *bedrocks):
            if not any(tap._has(one, self.conversation) for tap in earlier):
                tapped = _tap_http if one in https else _tap_bedrock
                self._tapped.append((one, tapped(one, self)))
        if https or bedrocks:
            return client
        if not any(callable(found) for name in _METHODS for found in _at(client, name.split("."))):
            raise InputError(
                f"{type(client).__name__} has nothing that sends requests",
                code="input.shape",
                hint=f"hand over a client with one of {', '.join(_METHODS[:4])}, …, "
                "or give its HTTP client our transport()",
            )
        return Recorded(client, "", self)

    def close(self) -> None:
        """Leave the clients as they were."""
        while self._tapped:
            self._tapped.pop()[1]()

    def _has(self, client: Any, conversation: str | None) -> bool:
        """Whether this records a client already, for the same conversation."""
        if not any(one is client for one, _ in self._tapped):
            return False
        if self.conversation != conversation:
            raise InputError(
                f"this client records for conversation {self.conversation!r} already",
                code="input.shape",
                hint="a client for each conversation, or record(body, conversation=…)",
            )
        return True

    def sent(self, request: Any, content: bytes) -> None:
        """Record an HTTP request if it is one to a model."""
        self.sent_to(str(request.url), content, dict(request.headers))

    def sent_to(self, url: str, content: bytes, headers: Mapping[str, str]) -> None:
        """Record a body if it is one to a model: no other purpose, and with messages."""
        if is_other(url) or not content:
            return
        try:
            self.record(content, headers=headers, model=model_in(url))
        except InputError:
            return  # a form, a file, a request without messages

    def record(self, body: Any, **about: Any) -> None:
        self._record(body, conversation=self.conversation, **about)


def _inside(client: Any, places: Sequence[Sequence[str]]) -> Iterator[Any]:
    """What stands at places in a client, each thing once."""
    found = {id(one): one for steps in places for one in _at(client, steps)}
    yield from found.values()


def _at(client: Any, steps: Sequence[str]) -> Iterator[Any]:
    """What stands at a place, if it is there."""
    for step in steps:
        if not hasattr(client, step):
            return
        client = getattr(client, step)
    yield client


def _is_of(value: Any, *packages: str) -> bool:
    """Whether a value is of a class of a package, or of one derived from it.

    Told by name, so that nothing is imported, and not by what it can do: a mock can do anything.
    """
    return any(kind.__module__.partition(".")[0] in packages for kind in type(value).__mro__)


def _is_bedrock(client: Any) -> bool:
    return any(_is_of(events, "botocore") for events in _at(client, ["meta", "events"]))


def _tap_http(http: Any, tap: Tap) -> Undo:
    """Have an HTTP client record first what it sends.

    Not an event hook: those do not reach the clients that Google's keeps for each event loop.
    """
    send, own = http.send, "send" in vars(http)
    is_open = True

    def sending(request: Any, **more: Any) -> Any:
        if is_open:
            tap.sent(request, request.read())
        return send(request, **more)

    async def sending_async(request: Any, **more: Any) -> Any:
        if is_open:
            tap.sent(request, await request.aread())
        return await send(request, **more)

    tapped: Any = sending_async if hasattr(http, "aclose") else sending
    http.send = tapped

    def undo() -> None:
        nonlocal is_open
        is_open = False
        if http.send is not tapped:
            return  # somebody has put theirs over ours
        if own:
            http.send = send
        else:
            del http.send

    return undo


def _tap_bedrock(client: Any, tap: Tap) -> Undo:
    """Have a client of boto3 or botocore tell what it is about to send."""

    def before(request: Any, **_more: Any) -> None:  # what it gives back would be the answer
        body = request.body
        content = body if isinstance(body, bytes) else str(body or "").encode()
        tap.sent_to(str(request.url), content, {})

    names = [f"before-send.bedrock-runtime.{name}" for name in _BEDROCK]
    for name in names:
        client.meta.events.register(name, before)

    def undo() -> None:
        for name in names:
            client.meta.events.unregister(name, before)

    return undo


class Recorded:
    """Stands for an object, or for what is at a name inside it."""

    def __init__(self, inner: Any, name: str, tap: Tap) -> None:
        self._inner = inner
        self._name = name
        self._tap = tap

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        whole = f"{self._name}.{name}".lstrip(".")
        if whole in _METHODS and callable(found):
            return _recording(found, self._tap)
        inside = any(method.startswith(f"{whole}.") for method in _METHODS)
        return Recorded(found, whole, self._tap) if inside else found


def _recording(method: Callable[..., Any], tap: Tap) -> Callable[..., Any]:
    """The method, which records what it is called with before it runs."""

    def recorded(*args: Any, **kwargs: Any) -> Any:
        said = _named(method, args, kwargs)
        headers = said.pop("extra_headers", None) or {}
        tap.record(said | (said.pop("extra_body", None) or {}), headers=headers)
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


class Transport:
    """Records requests and hands them on; see `CacheStability.transport`."""

    def __init__(self, tap: Tap, inner: Any) -> None:
        self._tap = tap
        self._inner = inner

    def handle_request(self, request: Any) -> Any:
        """As of `httpx.BaseTransport`."""
        self._tap.sent(request, request.read())
        return self._sending(request, "HTTPTransport").handle_request(request)

    async def handle_async_request(self, request: Any) -> Any:
        """As of `httpx.AsyncBaseTransport`."""
        self._tap.sent(request, await request.aread())
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
