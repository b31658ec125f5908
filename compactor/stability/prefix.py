"""What of a request makes up the prefix that a provider's prompt cache goes by, in its order.

Model, tools, system prompt, settings that reach the prompt, messages: a `Segment` each. Breakpoints
are no part of it, nor is the shape of a content that is one text (a text or a list with one block):
people move the one and change the other to place it. Nor are tools that load when the model asks
for them (`defer_loading`), and what lets a provider into a server of tools. Which settings count is
a table, `SHAPES`.
Source: providers.md A1-A4. Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.dialects import (
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    dialect,
)
from compactor.formats.messages import SYSTEM_ROLES, field
from compactor.formats.raw.native import compact_json
from compactor.stability.bodies import Body

MODEL, TOOLS, SYSTEM, SETTINGS, MESSAGES = PARTS = (
    *("model", "tools", "system prompt", "settings", "messages"),
)
"""In the order in which they stand in the prompt."""


class Segment(NamedTuple):
    """One piece of a prefix.

    part: one of `PARTS`.
    at: its address in the body.
    value: as it was sent, secrets aside.
    key: compact JSON, breakpoints and the shape of a single text aside: what is compared.
    written: its own text, where the body came as text and holds no breakpoint there; else "".
    """

    part: str
    at: Path
    value: Any
    key: str
    written: str = ""

    @property
    def size_bytes(self) -> int:
        return len(self.key.encode("utf-8", "surrogatepass"))


def _places(*dotted: str) -> tuple[Path, ...]:
    return tuple(tuple(place.split(".")) for place in dotted)


_MODELS: Final = _places("model", "modelId")
_TOOLS: Final = _places("tools", "functions", "mcp_servers", "toolConfig.tools", "config.tools")
_SYSTEMS: Final = _places(
    *("system", "instructions", "systemInstruction", "system_instruction"),
    *("config.system_instruction", "config.systemInstruction"),
)
_HISTORIES: Final = _places("messages", "contents", "input")
"""Where bodies of any shape have their parts."""

SHAPES: Final[Mapping[str, tuple[Path, ...]]] = MappingProxyType(
    {
        ANTHROPIC: _places(
            *("tool_choice", "thinking", "output_config", "output_format"),
            *("context_management", "speed"),
        ),
        BEDROCK: _places("toolConfig.toolChoice", "additionalModelRequestFields"),
        GEMINI: _places(
            *("toolConfig", "tool_config", "config.tool_config"),
            *("cachedContent", "config.cached_content"),
        ),
        OPENAI_RESPONSES: _places(
            *("parallel_tool_calls", "text", "reasoning.effort", "context_management", "prompt"),
        ),
        OPENAI_CHAT: _places(
            *("parallel_tool_calls", "response_format", "reasoning_effort", "verbosity"),
        ),
        MESSAGES: (),
    }
)
"""Shape of a body → the settings that reach the prompt: another value is another prefix.

The last is a bare list of messages.
"""

HEADERS, SPELLING = "headers", "spelling"
IGNORABLE: Final = (
    *PARTS[:-1],
    *(SPELLING, HEADERS),
    *dict.fromkeys(str(place[-1]) for places in SHAPES.values() for place in places),
)
"""What a comparison may leave out: parts, how bodies are spelled, settings by their names."""

MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
_POINTS: Final = ("cachePoint", "cache_point")
_CONTENTS: Final = ("content", "output", "parts")
_TEXT_KEYS: Final = frozenset(("type", "text", *MARKS))
_SECRETS: Final = ("authorization_token", "authorization", "headers")
"""Of servers of tools: kept nowhere, and no part of a prompt."""
_DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
_HEADERS: Final = ("anthropic-beta",)
"""Headers of a request that change how its prompt is read: names, whose order says nothing."""


def has_messages(root: Any) -> bool:
    """Whether a value is a request with messages at all."""
    if isinstance(root, list):
        return True
    return any(isinstance(field(root, str(key)), (list, str)) for (key,) in _HISTORIES)


def shape_of(root: Any) -> str:
    """The name of a body's shape, one of `SHAPES`; of a body of no dialect the nearest."""
    if isinstance(root, list):
        return MESSAGES
    if "messages" not in root:
        return GEMINI if "contents" in root else OPENAI_RESPONSES
    return dialect(root) or OPENAI_CHAT


def headers_of_prompt(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that reach the prompt, however they are spelled."""
    said = {name.lower(): value for name, value in headers.items()}
    return {
        name: ",".join(sorted({word.strip() for word in said[name].split(",")}))
        for name in _HEADERS
        if name in said
    }


def segments(
    body: Body,
    shape: str,
    headers: Mapping[str, str],
    model: str = "",
    ignored: Collection[str] = (),
) -> list[Segment]:
    """The prefix of a request, first to last. O(the body).

    Args:
        headers: of the HTTP request.
        model: where the body does not name it.
        ignored: names of parts, and of settings, that are left out.
    """
    named = Segment(MODEL, ("model",), model, compact_json(model))
    messages = list(_pieces(body, MESSAGES, ((),) if isinstance(body.root, list) else _HISTORIES))
    lead = next((k for k, one in enumerate(messages) if not _is_system(one.value)), len(messages))
    made = [
        *(list(_pieces(body, MODEL, _MODELS)) or [named] * bool(model)),
        *_pieces(body, TOOLS, _TOOLS),
        *_pieces(body, SYSTEM, _SYSTEMS),
        *(one._replace(part=SYSTEM) for one in messages[:lead]),
        *_settings(body, SHAPES[shape], headers, ignored),
        *messages[lead:],
    ]
    return [one for one in made if one.part not in ignored]


def _settings(
    body: Body, places: Sequence[Path], headers: Mapping[str, str], ignored: Collection[str]
) -> Iterator[Segment]:
    """All settings as one object, each at its address."""
    found: dict[str, Any] = {}
    kept = headers_of_prompt(headers)
    if kept and HEADERS not in ignored:
        found[HEADERS] = kept
    for *outer, key in (map(str, place) for place in places):
        value = _found(body.root, (*outer, key))
        if value is None or key in ignored:
            continue
        inner = found
        for step in outer:
            inner = inner.setdefault(step, {})
        inner[key] = value
    if found:
        yield Segment(SETTINGS, (), found, compact_json(found))


def _is_system(message: Any) -> bool:
    return field(message, "role") in SYSTEM_ROLES


def _pieces(body: Body, part: str, places: Sequence[Path]) -> Iterator[Segment]:
    """The segments at some addresses: an item of a list each, else the value as a whole."""
    for at in places:
        value = _found(body.root, at)
        if value is None:
            continue
        if not isinstance(value, list):
            yield _segment(body, part, at, value)
            continue
        for index, item in enumerate(value):
            if part == TOOLS and any(field(item, key) for key in _DECLARATIONS):
                yield from _declared(body, (*at, index), item)
            elif not is_point(item) and not (part == TOOLS and field(item, "defer_loading")):
                yield _segment(body, part, (*at, index), item)


def _declared(body: Body, at: Path, tool: Any) -> Iterator[Segment]:
    """Functions that are declared as one tool, and what else stands there."""
    rest = {key: item for key, item in tool.items() if key not in _DECLARATIONS}
    for key in _DECLARATIONS:
        yield from _pieces(body, TOOLS, ((*at, key),))
    if rest:
        yield _segment(body, TOOLS, at, rest)


def _found(root: Any, at: Path) -> Any:
    for step in at:
        root = root[step] if isinstance(step, int) else field(root, step)
    return root


def _segment(body: Body, part: str, at: Path, value: Any) -> Segment:
    if part == MESSAGES and isinstance(value, str):  # what it is short for
        value = {"role": "user", "content": value}
    written = body.written.get(at, "")
    hidden = any(mark in written for mark in (*MARKS, *_POINTS))
    if part == TOOLS and _is_server(value):
        value = {key: item for key, item in value.items() if key not in _SECRETS}
        hidden = True
    return Segment(part, at, value, compact_json(plain(value, part)), "" if hidden else written)


def _is_server(tool: Any) -> bool:
    """Whether a tool is a server of tools, and how the provider gets in there."""
    return isinstance(tool, dict) and any(key in tool for key in ("url", "server_url"))


def is_point(item: Any) -> bool:
    """Whether an item of a list is a breakpoint and nothing else."""
    return isinstance(item, dict) and any(point in item for point in _POINTS)


def plain(value: Any, part: str = MESSAGES) -> Any:
    """A message, tool or block without breakpoints; a content that is one text is that text."""
    if part == SYSTEM and _is_text(value):
        return value["text"]
    if type(value) is not dict:
        return value
    kept = {key: item for key, item in value.items() if key not in MARKS}
    for key in _CONTENTS:
        if isinstance(kept.get(key), list):
            kept[key] = _plain_content(kept[key])
    return kept


def tool_name(tool: Any) -> str:
    """What a tool is called; the kind of a provider's own."""
    for holder in (tool, field(tool, "function"), field(tool, "toolSpec")):
        name = field(holder, "name")
        if isinstance(name, str):
            return name
    kind = field(tool, "type")
    return kind if isinstance(kind, str) else _clipped(compact_json(tool))


def _clipped(text: str) -> str:
    return text if len(text) <= _NAME_CHARS else f"{text[:_NAME_CHARS]}…"


_NAME_CHARS: Final = 60


def _plain_content(items: list[Any]) -> Any:
    kept = [plain(item) for item in items if not is_point(item)]
    return kept[0]["text"] if len(kept) == 1 and _is_text(kept[0]) else kept


def _is_text(block: Any) -> bool:
    """Whether a block holds a text and nothing beside but a breakpoint."""
    if not isinstance(block, dict) or not isinstance(block.get("text"), str):
        return False
    return block.keys() <= _TEXT_KEYS
