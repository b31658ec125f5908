"""OpenAI's cache breakpoints (GPT-5.6 and later), for Chat Completions and Responses alike.

A breakpoint stands on a part of a content; a content that is a text becomes one part for it. Of
more than four in a request only the newest write, so four is the limit here. Source: providers.md
A2; the SDK's parameter types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactor.core.model import Path
from compactor.formats.messages import field, text_field, value_at
from compactor.formats.raw.edits import Edit

KEY = "prompt_cache_breakpoint"
LIMIT = 4
RULES = ("openai_breakpoints_5_6",)
_MARKABLE = (
    *("text", "image_url", "input_audio", "file"),
    *("input_text", "input_image", "input_file"),
)
_TEXTS = ("text", "input_text")


def part_at_end(content: Any, at: Path) -> Path | None:
    """The last part of a content that may have a breakpoint; the content itself if it is a text."""
    if isinstance(content, str):
        return at if content else None
    if not isinstance(content, (list, tuple)):
        return None
    ends = [index for index, part in enumerate(content) if _may_have(part)]
    return (*at, ends[-1]) if ends else None


def _may_have(part: Any) -> bool:
    kind = field(part, "type")
    return kind in _MARKABLE and (kind not in _TEXTS or bool(text_field(part, "text")))


def count(items: Sequence[Any], keys: Sequence[str]) -> int:
    """How many breakpoints messages have in the contents under these keys. O(parts)."""
    contents = [field(item, key) for item in items for key in keys]
    lists = [content for content in contents if isinstance(content, (list, tuple))]
    return sum(field(part, KEY) is not None for content in lists for part in content)


def place(root: Any, at: Path, text_type: str) -> list[Edit]:
    """Edits that set a breakpoint at an address that `part_at_end` gave; none where one stands."""
    part, mark = value_at(root, at), {"mode": "explicit"}
    if isinstance(part, str):
        return [Edit(at, [{"type": text_type, "text": part, KEY: mark}])]
    return [] if field(part, KEY) is not None else [Edit((*at, KEY), mark)]
