"""Where recorders of HTTP put the body of a request, its answer, and what lies around them.

`BODIES`, `ANSWERS` and the tables beside them are the documentation: addresses in one record, the
most particular first. A body or answer may be JSON in a string, as in HAR files and cassettes.
`ENDPOINTS` says by the end of a URL which format a request is in; where no URL says so, its shape
does. Specification: docs/formats.md.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.messages import Dialect, field, text_field
from compactor.formats.providers.anthropic import Anthropic
from compactor.formats.providers.bedrock import Bedrock
from compactor.formats.providers.gemini import Gemini
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.providers.openai_responses import OpenAIResponses
from compactor.formats.raw.within import within
from compactor.formats.recorded import time_ms

BODIES: Final[tuple[Path, ...]] = (
    ("request", "postData", "text"),
    ("request", "body", "string"),
    ("request", "body"),
    ("request_body",),
    ("requestBody",),
    ("request",),
    ("body",),
)
"""HAR, cassettes, traces of a client, gateways, the body itself, and rows of a batch."""

ANSWERS: Final[tuple[Path, ...]] = (
    ("response", "content", "text"),
    ("response", "body", "string"),
    ("response", "body_raw"),
    ("response", "body"),
    ("response_body",),
    ("responseBody",),
    ("response",),
)

_URLS: Final[tuple[Path, ...]] = (("url",), ("request", "url"), ("request", "uri"))
_STATUSES: Final[tuple[Path, ...]] = (
    *(("status",), ("status_code",), ("response", "status"), ("response", "status", "code")),
    ("response", "status_code"),
)
_TIMES: Final[tuple[Path, ...]] = (
    *(("response", "timestamp"), ("timestamp",), ("startedDateTime",), ("recorded_at",)),
    *(("created_at",), ("request", "timestamp"), ("logged_at",)),
)
_LISTS: Final[tuple[Path, ...]] = (("log", "entries"), ("interactions",), ("http_interactions",))
"""Where a file that is one object has its records."""

HISTORIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "anthropic": "messages",
        "bedrock": "messages",
        "gemini": "contents",
        "openai-chat": "messages",
        "openai-responses": "input",
    }
)
"""Format → the key of a request's messages."""

SHAPES: Final = (Gemini(), OpenAIResponses(), Bedrock(), OpenAIChat(), Anthropic())

ENDPOINTS: Final[tuple[tuple[str, Dialect], ...]] = (
    ("/chat/completions", OpenAIChat()),
    ("/messages", Anthropic()),
    (":rawPredict", Anthropic()),
    (":streamRawPredict", Anthropic()),
    ("/responses", OpenAIResponses()),
    ("/converse", Bedrock()),
    ("/converse-stream", Bedrock()),
    (":generateContent", Gemini()),
    (":streamGenerateContent", Gemini()),
)

_OTHERS: Final = frozenset(
    (
        *("assistants", "audio", "batches", "cachedContents", "compact", "conversations"),
        *("count_tokens", "embeddings", "files", "images", "input_tokens", "moderations"),
        *("rerank", "threads", "traces", "vector_stores"),
    )
)
"""Words in the path of a URL whose requests hold no conversation, or only a piece of one."""

_OTHER_ENDS: Final = (
    *(":countTokens", ":embedContent", ":batchEmbedContents", ":predict"),
    ":batchGenerateContent",
)


class Record(NamedTuple):
    """One exchange.

    at: address of the request's body; () where there is none.
    body: the body, parsed; None where there is none.
    answer_at: address of the answer.
    answer: the answer: parsed, chunks, or text.
    url: "" where it is not recorded.
    status: 0 where it is not recorded.
    """

    at: Path
    body: Any
    answer_at: Path
    answer: Any
    url: str = ""
    status: int = 0
    when_ms: int = 0


def places(root: Any) -> Iterator[Path]:
    """Addresses of what may be records."""
    if isinstance(root, list):
        yield from ((index,) for index in range(len(root)))
        return
    for at in _LISTS:
        found = _get(root, at)
        if isinstance(found, list):
            yield from ((*at, index) for index in range(len(found)))
            return
    if isinstance(root, dict):
        yield ()


def record_of(native: Any, at: Path) -> Record | None:
    """The exchange that lies at an address; None when it is none. O(its bodies)."""
    if not is_record(native):
        return None
    body_at, body = _body(native)
    answer_at, answer = _answer(native)
    return Record(
        (*at, *body_at) if body is not None else (),
        body,
        (*at, *answer_at) if answer is not None else (),
        answer,
        next(filter(None, (_text(native, path) for path in _URLS)), ""),
        next(filter(None, (_number(native, path) for path in _STATUSES)), 0),
        next(filter(None, (time_ms(_get(native, path)) for path in _TIMES)), 0),
    )


def is_record(native: Any) -> bool:
    """Whether an object is an exchange: a request that says so, or an answer to a named method."""
    if not isinstance(native, dict):
        return False
    if any(_text(native, path) for path in _URLS):
        return any(path[0] in native for path in (*BODIES, *ANSWERS))
    if _holds_history(_body(native)[1]):
        return any(_get(native, path) is not None for path in (*ANSWERS, *_STATUSES, *_TIMES))
    is_named = isinstance(native.get("method"), str)
    return is_named and isinstance(native.get("response"), (dict, list))


def dialect_of(record: Record) -> Dialect | None:
    """The format of a request; None when it holds no conversation."""
    if is_other(record.url):
        return None
    path = _path(record.url)
    for end, dialect in ENDPOINTS:
        if path.endswith(end):
            has_history = items_of(dialect, record.body) is not None
            return dialect if has_history else None
    if _is_embedding(record.answer):
        return None
    return next((shape for shape in SHAPES if shape.recognises(record.body)), None)


def is_other(url: str) -> bool:
    """Whether a URL is one of requests that hold no conversation, or only a piece of one."""
    path = _path(url)
    return path.endswith(_OTHER_ENDS) or not _OTHERS.isdisjoint(path.split("/"))


def _path(url: str) -> str:
    """A URL without what stands behind its path."""
    return url.partition("?")[0].partition("#")[0].rstrip("/")


def model_in(url: str) -> str:
    """The model that a URL names: `…/models/NAME:generateContent`, `…/model/NAME/converse`."""
    for mark, end in (("/models/", ":"), ("/model/", "/")):
        _, found, rest = url.partition(mark)
        if found:
            return rest.partition("?")[0].partition(end)[0]
    return ""


def items_of(dialect: Dialect, body: Any) -> Sequence[Any] | None:
    """The messages of a request body; None where there are none."""
    items = field(body, HISTORIES[dialect.name])
    if isinstance(items, str) and dialect.name == OpenAIResponses.name:
        return [{"role": "user", "content": items}]
    return items if isinstance(items, list) else None


def _body(native: Any) -> tuple[Path, Any]:
    """The first place that holds a body with a history, else the first with any object."""
    found: tuple[Path, Any] = ((), None)
    for path in BODIES:
        at, value = _parsed(native, path)
        if _holds_history(value):
            return at, value
        if found[1] is None and isinstance(value, dict):
            found = at, value
    return found


def _answer(native: Any) -> tuple[Path, Any]:
    """The first place that holds an answer; text of a stream as it is."""
    for path in ANSWERS:
        value = _get(native, path)
        if isinstance(value, str) and _get(native, (*path[:-1], "encoding")) == "base64":
            value = _decoded(value)
        elif isinstance(value, str):
            at, parsed = _parsed(native, path)
            if parsed is not None:
                return at, parsed
        if value is not None:
            return path, value
    return (), None


def _parsed(native: Any, path: Path) -> tuple[Path, Any]:
    """The value at a path; of a string the object or list whose JSON it is."""
    value = _get(native, path)
    if not isinstance(value, str):
        return path, value
    step = within(str(path[-1]), value)
    return ((*path[:-1], step), step.value) if step is not None else (path, None)


def _holds_history(body: Any) -> bool:
    if not isinstance(body, dict):
        return False
    if any(isinstance(body.get(key), list) for key in ("messages", "contents", "input")):
        return True
    return isinstance(body.get("input"), str) and isinstance(body.get("model"), str)


def _is_embedding(answer: Any) -> bool:
    data = field(answer, "data")
    return isinstance(data, list) and any(field(item, "embedding") is not None for item in data[:1])


def _get(native: Any, path: Path) -> Any:
    """The value at a path of keys; None when it is not there."""
    for key in path:
        native = native.get(key) if isinstance(native, dict) else None
    return native


def _text(native: Any, path: Path) -> str:
    return text_field(_get(native, path[:-1]), str(path[-1]))


def _number(native: Any, path: Path) -> int:
    value = _get(native, path)
    return value if type(value) is int else 0


def _decoded(data: str) -> str:
    """The text whose base64 this is; "" of anything else."""
    try:
        return binascii.a2b_base64(data).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
