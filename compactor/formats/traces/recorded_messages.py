"""Finds the messages in what an observer recorded of a request or an answer.

A recorded value is a list of messages of some dialect, one message, a request body, a text, or an
object around any of these, and often a JSON text of it; `listing_of` says which. `rewrite` edits a
result of any dialect: what lies at its address says which.
Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from compactor.core.model import Entry, Path
from compactor.formats.frameworks.langchain import LangChain
from compactor.formats.frameworks.langchain_messages import is_own
from compactor.formats.frameworks.vercel_ai import VercelAI
from compactor.formats.frameworks.vercel_results import RESULT
from compactor.formats.messages import Dialect, field, text_field, value_at
from compactor.formats.placed import Listing, Placed, placed
from compactor.formats.providers.anthropic import Anthropic
from compactor.formats.providers.bedrock import Bedrock
from compactor.formats.providers.gemini import Gemini
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.providers.openai_responses import OpenAIResponses
from compactor.formats.providers.responses_items import ITEMS
from compactor.formats.raw.native import Edit
from compactor.formats.raw.within import within
from compactor.formats.traces.any_chat import AnyChat
from compactor.formats.traces.otel_messages import RESPONSE, OtelMessages


class Recorded(Dialect, Protocol):
    """A dialect that a recorded list may be in."""

    def recognises(self, root: Any) -> bool: ...

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]: ...


DIALECTS: Final[tuple[Recorded, ...]] = (
    *(LangChain(), VercelAI(), OtelMessages()),
    *(Gemini(), OpenAIResponses(), Bedrock(), OpenAIChat(), Anthropic(), AnyChat()),
)
"""The most particular first; the last takes what is mixed."""
_ANY: Final = DIALECTS[-1]
_LISTS: Final = ("messages", "contents", "input")
_INSIDE: Final = ("kwargs", "inputs", "outputs", "input", "output", "request", "body", "data")
_PROMPTS: Final = ("prompt", "prompts", "contents", "query", "question", "text", "args")
_DEPTH: Final = 3
"""Objects around a list of messages that are looked into."""


class Value(NamedTuple):
    """A recorded value and its address."""

    native: Any
    at: Path


def entered(native: Any, at: Path) -> Value:
    """A value; of a string the JSON object or list that it holds, entered by the last step."""
    key = at[-1] if at else ""
    step = within(key, native) if isinstance(key, str) else None
    return Value(native, at) if step is None else Value(step.value, (*at[:-1], step))


def listing_of(native: Any, at: Path) -> Listing | None:
    """The messages of a recorded value that lies at `at`; None when it holds none."""
    return _listing(entered(native, at), _DEPTH)


def _listing(value: Value, depth: int) -> Listing | None:
    native, at = value
    if isinstance(native, list):
        return _listed(native, at, {})
    if not isinstance(native, dict):
        return None
    if field(native, "role") is not None and _speaks(native):
        return _of_dialect([Placed(at, native)], {})
    for key in _LISTS:
        items = field(native, key)
        found = _listed(items, (*at, key), native) if isinstance(items, list) else None
        if found is not None:
            return found
    for key in _INSIDE if depth else ():
        if field(native, key) is not None:
            found = _listing(entered(native[key], (*at, key)), depth - 1)
            if found is not None:
                return found
    return None


def _listed(items: list[Any], at: Path, fields: dict[str, Any]) -> Listing | None:
    """A list of messages; a batch of one list is that list."""
    if len(items) == 1 and isinstance(items[0], list):
        items, at = items[0], (*at, 0)
    return _of_dialect(placed(items, at), fields)


def _of_dialect(messages: Sequence[Placed], fields: dict[str, Any]) -> Listing | None:
    """A listing in the first dialect that takes all the messages, else as a mixture."""
    natives = [message.native for message in messages]
    if not any(isinstance(native, dict) for native in natives):
        return None
    root = _as_root(natives, fields)
    dialect = next((each for each in DIALECTS if each.recognises(root)), None)
    if dialect is None:
        return None
    if _is_mixed(dialect, natives):
        dialect = _ANY
    return Listing(dialect, fields, messages)


def _as_root(natives: list[Any], fields: dict[str, Any]) -> Any:
    """What a lens would be given: hints of a body count where it has one."""
    key = next((key for key in _LISTS if isinstance(fields.get(key), list)), None)
    return natives if key is None else {**fields, key: natives}


_CHAT_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_MIXED_KEYS: Final = ("additional_kwargs", "event.name")


def _is_mixed(dialect: Recorded, natives: list[Any]) -> bool:
    """Whether a list that looks like a provider's has what only observers write."""
    if dialect.name not in ("openai-chat", "anthropic", "bedrock"):
        return False
    return any(
        field(native, "role") not in _CHAT_ROLES
        or any(field(native, key) is not None for key in _MIXED_KEYS)
        or isinstance(field(native, "content"), dict)
        or (field(native, "role") == "tool" and not text_field(native, "tool_call_id"))
        for native in natives
    )


def _speaks(native: dict[str, Any]) -> bool:
    return any(native.get(key) is not None for key in ("content", "parts", "tool_calls"))


def text_of(native: Any, at: Path) -> Placed | None:
    """A prompt that was recorded as a text alone, as the message of a user."""
    native, at = entered(native, at)
    for _ in range(_DEPTH):
        key = next((k for k in (*_PROMPTS, *_INSIDE) if field(native, k)), None)
        if isinstance(native, list) and len(native) == 1:
            native, at = native[0], (*at, 0)
        elif key is not None:
            native, at = entered(native[key], (*at, key))
    if isinstance(native, str) and native.strip():
        return Placed(at, {"role": "user", "content": native})
    return None


def answer_of(native: Any, at: Path) -> Listing | None:
    """The messages of a recorded answer: they as such, or what a provider's response holds."""
    native, at = entered(native, at)
    for inner in _answers(native, at):
        found = _listing(inner, 0)
        if found is not None:
            return found
    return None


def _answers(native: Any, at: Path) -> Iterator[Value]:
    """Where an answer may be: in the first choice, in the output, in the content, as it is."""
    choices, output = field(native, "choices"), field(native, "output")
    candidates = field(native, "candidates")
    if isinstance(candidates, list) and candidates:
        yield Value(field(candidates[0], "content"), (*at, "candidates", 0, "content"))
    if isinstance(choices, list) and choices:
        yield Value(field(choices[0], "message"), (*at, "choices", 0, "message"))
    if isinstance(output, list):
        yield Value(output, (*at, "output"))
    if isinstance(field(native, "content"), dict):
        yield Value(native["content"], (*at, "content"))
    if isinstance(field(native, "message"), dict):
        yield Value(native["message"], (*at, "message"))
    yield Value(native, at)


def rewrite(root: Any, entry: Entry, text: str) -> list[Edit]:
    """Edits that make `text` the body of a result of any dialect."""
    native = value_at(root, entry.at)
    if not isinstance(native, dict) or not any(key in native for key in _HOLDERS):
        return [Edit(entry.at, text)]
    owner = next((dialect for tells, dialect in _OWNERS if tells(native)), _ANY)
    return owner.rewrite_body(root, entry, text)


_HOLDERS: Final = (
    *("content", "role", "type", "data", "kwargs", "toolResult"),
    *("functionResponse", "function_response"),
)
"""Keys of which a result has one that is a message or a block; any other is a value as such."""


def _is_vercel(native: Any) -> bool:
    return text_field(native, "type") == RESULT


def _is_otel(native: Any) -> bool:
    return text_field(native, "type") == RESPONSE


def _is_gemini(native: Any) -> bool:
    return any(field(native, key) is not None for key in ("functionResponse", "function_response"))


def _is_keyed(native: Any) -> bool:
    return isinstance(field(native, "toolResult"), dict)


def _is_responses(native: Any) -> bool:
    kind = text_field(native, "type")
    return kind in ITEMS and kind.endswith("_output")


_OWNERS: Final[tuple[tuple[Callable[[Any], bool], Recorded], ...]] = (
    (_is_vercel, DIALECTS[1]),
    (_is_otel, DIALECTS[2]),
    (_is_gemini, DIALECTS[3]),
    (_is_responses, DIALECTS[4]),
    (_is_keyed, DIALECTS[5]),
    (is_own, DIALECTS[0]),
)
"""What a native result says of its dialect."""
