"""What of a request makes up the prefix that a provider's prompt cache goes by, in its order.

Model, tools, system prompt, settings that reach the prompt, messages: a `Segment` each. Breakpoints
are no part of it, nor is the shape of a content that is one text (a text or a list with one block):
people move the one and change the other to place it. Where a body's parts are is a table, `SHAPES`.
Source: providers.md A1-A4. Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.messages import SYSTEM_ROLES, field
from compactor.formats.native import compact_json
from compactor.stability.bodies import Body

MODEL, TOOLS, SYSTEM, SETTINGS, MESSAGES = PARTS = (
    *("model", "tools", "system prompt", "settings", "messages"),
)
"""In the order in which they stand in the prompt."""


class Segment(NamedTuple):
    """One piece of a prefix.

    part: one of `PARTS`.
    at: its address in the body.
    value: as it was sent.
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


class Shape(NamedTuple):
    """Where a kind of body has its parts: addresses, of which a body may have any.

    settings: those that reach the prompt, so that another value is another prefix.
    """

    messages: Path
    model: tuple[Path, ...] = (("model",),)
    tools: tuple[Path, ...] = (("tools",),)
    system: tuple[Path, ...] = ()
    settings: tuple[Path, ...] = ()


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "anthropic": Shape(
            messages=("messages",),
            tools=(("tools",), ("mcp_servers",)),
            system=(("system",),),
            settings=tuple(
                (key,)
                for key in (
                    *("tool_choice", "thinking", "output_config", "output_format"),
                    *("context_management", "speed"),
                )
            ),
        ),
        "bedrock": Shape(
            messages=("messages",),
            model=(("modelId",),),
            tools=(("toolConfig", "tools"),),
            system=(("system",),),
            settings=(("toolConfig", "toolChoice"), ("additionalModelRequestFields",)),
        ),
        "gemini": Shape(
            messages=("contents",),
            tools=(("tools",), ("config", "tools")),
            system=(
                *(("systemInstruction",), ("system_instruction",)),
                *(("config", "system_instruction"), ("config", "systemInstruction")),
            ),
            settings=(
                *(("toolConfig",), ("tool_config",), ("config", "tool_config")),
                *(("cachedContent",), ("config", "cached_content")),
            ),
        ),
        "openai-responses": Shape(
            messages=("input",),
            system=(("instructions",),),
            settings=(
                *(("parallel_tool_calls",), ("text",), ("reasoning", "effort")),
                *(("context_management",), ("prompt",)),
            ),
        ),
        "openai-chat": Shape(
            messages=("messages",),
            tools=(("tools",), ("functions",)),
            settings=tuple(
                (key,)
                for key in (
                    *("parallel_tool_calls", "response_format", "reasoning_effort", "verbosity"),
                )
            ),
        ),
        "messages": Shape(messages=()),
    }
)
"""Shape → its parts. The last is a bare list of messages."""

MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
_POINTS: Final = ("cachePoint", "cache_point")
_CONTENTS: Final = ("content", "output", "parts")
_TEXT_KEYS: Final = frozenset(("type", "text", *MARKS))
_BEDROCK_KEYS: Final = ("toolConfig", "modelId", "inferenceConfig", "guardrailConfig")
_ANTHROPIC_KEYS: Final = ("system", "anthropic_version", "stop_sequences", "thinking")
_ANTHROPIC_BLOCKS: Final = ("tool_use", "tool_result", "thinking", "redacted_thinking")


def has_messages(root: Any) -> bool:
    """Whether a value is a request with messages at all."""
    if isinstance(root, list):
        return True
    return any(
        isinstance(field(root, key), (list, str)) for key in ("messages", "contents", "input")
    )


def shape_of(root: Any) -> str:
    """The name of a body's shape, one of `SHAPES`."""
    if isinstance(root, list):
        return "messages"
    if "contents" in root:
        return "gemini"
    if "input" in root and "messages" not in root:
        return "openai-responses"
    if any(key in root for key in _BEDROCK_KEYS) or _has_bedrock_blocks(root):
        return "bedrock"
    return "anthropic" if _is_anthropic(root) else "openai-chat"


def _has_bedrock_blocks(root: Any) -> bool:
    blocks = [block for block in _blocks(root) if isinstance(block, dict)]
    return bool(blocks) and all("type" not in block for block in blocks)


def _is_anthropic(root: Any) -> bool:
    if any(key in root for key in _ANTHROPIC_KEYS) or "claude" in str(root.get("model", "")):
        return True
    schemas = (field(tool, "input_schema") for tool in _list(root.get("tools")))
    kinds = (field(block, "type") for block in _blocks(root))
    return any(schemas) or any(kind in _ANTHROPIC_BLOCKS for kind in kinds)


def _blocks(root: Any) -> Iterator[Any]:
    for message in _list(root.get("messages")):
        yield from _list(field(message, "content"))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def segments(
    body: Body, shape: str, headers: Mapping[str, str], ignored: Collection[str] = ()
) -> list[Segment]:
    """The prefix of a request, first to last. O(the body).

    Args:
        headers: of the HTTP request that reach the prompt, by name.
        ignored: names of parts, and of settings, that are left out.
    """
    where = SHAPES[shape]
    messages = list(_pieces(body, MESSAGES, (where.messages,)))
    lead = next((k for k, one in enumerate(messages) if not _is_system(one.value)), len(messages))
    made = [
        *_pieces(body, MODEL, where.model),
        *_pieces(body, TOOLS, where.tools),
        *_pieces(body, SYSTEM, where.system),
        *(one._replace(part=SYSTEM) for one in messages[:lead]),
        *_settings(body, where.settings, headers, ignored),
        *messages[lead:],
    ]
    return [one for one in made if one.part not in ignored]


def _settings(
    body: Body, places: Sequence[Path], headers: Mapping[str, str], ignored: Collection[str]
) -> Iterator[Segment]:
    """All settings as one object, each at its address."""
    found: dict[str, Any] = {}
    if headers and "headers" not in ignored:
        found["headers"] = dict(sorted(headers.items()))
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
            if not is_point(item):
                yield _segment(body, part, (*at, index), item)


def _found(root: Any, at: Path) -> Any:
    for step in at:
        root = field(root, str(step))
    return root


def _segment(body: Body, part: str, at: Path, value: Any) -> Segment:
    if part == MESSAGES and isinstance(value, str):  # what it is short for
        value = {"role": "user", "content": value}
    written = body.written.get(at, "")
    marked = any(mark in written for mark in (*MARKS, *_POINTS))
    return Segment(part, at, value, compact_json(plain(value, part)), "" if marked else written)


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


def _plain_content(items: list[Any]) -> Any:
    kept = [plain(item) for item in items if not is_point(item)]
    return kept[0]["text"] if len(kept) == 1 and _is_text(kept[0]) else kept


def _is_text(block: Any) -> bool:
    """Whether a block holds a text and nothing beside but a breakpoint."""
    if not isinstance(block, dict) or not isinstance(block.get("text"), str):
        return False
    return block.keys() <= _TEXT_KEYS
