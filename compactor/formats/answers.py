"""What a provider answered, as recordings of requests hold it: parsed, or as text of a stream.

A stream's text is events (`data: {…}` lines) or plain JSON; only what may hold counts or output is
parsed. Here usage gets its one meaning, by the provider's own word for it: `input_tokens` beside
`cache_…_input_tokens` (Anthropic) and Converse's counts exclude what was cached, all others include
it. Sources: the providers' API references; reference providers.md. Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from compactor.core.model import Usage
from compactor.formats.messages import field, text_field
from compactor.formats.raw.json_text import NotJsonError, after_space, read_value
from compactor.formats.recorded import count_of, items, time_ms

_DATA: Final = "data:"
_TELLING: Final = ('"usage', '"response.completed"', '"response.incomplete"', '"error"')
"""Without one of these an event of a stream says nothing that is looked for here."""


class Answer(NamedTuple):
    """What an answer says beside its text.

    usage: with `n` 0; None when it has no counts.
    id: by which a later request may name it.
    output: items of a Responses answer.
    is_error: the provider refused or failed.
    is_whole: `output` can be addressed in the recording; of a stream it is only known.
    """

    usage: Usage | None = None
    id: str = ""
    output: Sequence[Any] = ()
    is_error: bool = False
    is_whole: bool = False


def answer_of(native: Any, model: str = "", when_ms: int = 0) -> Answer:
    """Reads an answer: an object, a list of chunks, or text. O(its size), once.

    Args:
        model: the model that was asked, where the answer does not name one.
        when_ms: when it was recorded, where the answer does not say so itself.
    """
    events = [native] if isinstance(native, dict) else items(native)
    if isinstance(native, str):
        events = list(_events(native))
    counts: dict[str, Any] = {}
    named, said, failed = "", Answer(is_whole=isinstance(native, dict)), False
    for event in events:
        inner = _inner(event)
        found = field(inner, "usage") or field(inner, "usageMetadata")
        if isinstance(found, dict):
            counts |= {key: value for key, value in found.items() if value is not None}
        named = text_field(inner, "model") or text_field(inner, "modelVersion") or named
        when_ms = time_ms(_created(inner)) or when_ms
        failed |= _failed(event) or _failed(inner)
        output = items(field(inner, "output"))
        said = said._replace(id=text_field(inner, "id") or said.id, output=output or said.output)
    usage = usage_of(counts, 0, named or model, when_ms) if counts else None
    return said._replace(usage=usage, is_error=failed and not counts)


def usage_of(counts: Mapping[str, Any], n: int, model: str = "", when_ms: int = 0) -> Usage:
    """A provider's counts of one request in their one meaning."""
    inner = field(counts, "tokens")  # Cohere's, beside what it bills
    counts = {**counts, **inner} if isinstance(inner, dict) else counts
    read, write, hour = _cached(counts)
    prompt = _first(counts, "prompt_tokens", "promptTokenCount", "input_tokens", "inputTokens")
    is_beside = "prompt_tokens" not in counts and any(key in counts for key in _BESIDE)
    output = _first(counts, "completion_tokens", "output_tokens", "outputTokens")
    if "promptTokenCount" in counts or "candidatesTokenCount" in counts:
        output = _gemini_output(counts, prompt)
        prompt += count_of(counts, "toolUsePromptTokenCount")
    if not is_beside and max(read, write) <= prompt:  # else a gateway counts them beside it
        if read + write > prompt:  # what was written was read in the same request
            write = max(write - read, 0)
        prompt -= read + write
    return Usage(n, prompt, read, write, output, model, hour, when_ms)


_BESIDE: Final = (
    *("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"),
    *("cacheReadInputTokens", "cacheWriteInputTokens", "inputTokens"),
)
"""Keys of providers that count what was cached beside the input."""


def _cached(counts: Mapping[str, Any]) -> tuple[int, int, int]:
    """Tokens read from a cache, written to it, and those of the latter that live an hour."""
    details = field(counts, "prompt_tokens_details") or field(counts, "input_tokens_details")
    read = (
        _first(details, "cached_tokens")
        or _first(counts, "cache_read_input_tokens", "cacheReadInputTokens", "cached_tokens")
        or _first(counts, "prompt_cache_hit_tokens", "cachedContentTokenCount")
    )
    written = field(counts, "cache_creation")
    hour = count_of(written, "ephemeral_1h_input_tokens")
    write = (
        _first(counts, "cache_creation_input_tokens", "cacheWriteInputTokens")
        or _first(details, "cache_creation_tokens", "cache_write_tokens")
        or hour + count_of(written, "ephemeral_5m_input_tokens")
    )
    return read, write, min(hour, write)


def _gemini_output(counts: Mapping[str, Any], prompt: int) -> int:
    """Thoughts are in the total, or beside the candidates where no total is given."""
    said, thought = (count_of(counts, f"{key}TokenCount") for key in ("candidates", "thoughts"))
    total = count_of(counts, "totalTokenCount") - count_of(counts, "toolUsePromptTokenCount")
    return total - prompt if total >= prompt + said else said + thought


def _first(native: Any, *keys: str) -> int:
    """The first of these counts that is there."""
    return next(filter(None, (count_of(native, key) for key in keys)), 0)


def _inner(event: Any) -> Any:
    """What an event of a stream is about: Anthropic's begins with a message, OpenAI's has the
    response in it; anything else is itself."""
    for key in ("message", "response"):
        inner = field(event, key)
        if isinstance(inner, dict) and (key == "response" or "type" in event):
            return inner
    return event


def _created(native: Any) -> Any:
    created = field(native, "created")
    return field(native, "created_at") if created is None else created


def _failed(event: Any) -> bool:
    return field(event, "type") == "error" or isinstance(field(event, "error"), dict)


def _events(text: str) -> Iterator[Any]:
    """The JSON values of a stream's text that may say something; of other text the one value."""
    if not text.lstrip().startswith(("event:", _DATA, ":", "id:")):
        yield from items(value) if isinstance(value := _value(text), list) else [value]
        return
    for line in text.split("\n"):
        if line.startswith(_DATA) and any(sign in line for sign in _TELLING):
            yield _value(line.removeprefix(_DATA).strip())


def _value(text: str) -> Any:
    """The JSON value that a text is; None when it is none."""
    start = after_space(text, 0)
    try:
        value, end = read_value(text, start) if start < len(text) else (None, start)
    except NotJsonError:
        return None
    return value if after_space(text, end) == len(text) else None
