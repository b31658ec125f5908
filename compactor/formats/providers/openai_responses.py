"""OpenAI Responses: request bodies with an `input`, and bare lists of items.

Adjacent items of the model are one turn; every output that the client gave is an entry. Leading
system and developer messages, `instructions` and tools are overhead. A history that the provider
keeps is refused. What an item says is in `responses_items`.
Specification: DESIGN section 3; reference providers.md B3, C3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactor.core.model import Entry, Kind, Path
from compactor.core.view import Run
from compactor.formats import blocks
from compactor.formats.builder import Builder
from compactor.formats.dialects import OPENAI_RESPONSES, is_responses
from compactor.formats.lens_bases import MessageList
from compactor.formats.messages import (
    Body,
    Carried,
    field,
    listed,
    locate,
    refuse_server_history,
    text_field,
    value_at,
)
from compactor.formats.providers import prompt_cache
from compactor.formats.providers.responses_calls import STREAMS
from compactor.formats.providers.responses_items import ITEMS, say_item
from compactor.formats.raw.native import Edit
from compactor.formats.speech import SHAPES

_BREAKPOINTS = ("cache_control", prompt_cache.KEY)
_MARKED = {
    "message": "content",
    "function_call_output": "output",
    "custom_tool_call_output": "output",
}
"""Items whose content may have cache breakpoints → the key of the content."""


class OpenAIResponses(MessageList):
    """The lens of the Responses API."""

    name = OPENAI_RESPONSES
    shape = SHAPES[OPENAI_RESPONSES]
    breakpoint_limit = prompt_cache.LIMIT
    cache_rules = prompt_cache.RULES

    def recognises(self, root: Any) -> bool:
        return is_responses(root, ITEMS)

    def located(self, root: Any) -> Body:
        """The items of an input; one that is a text is the message of a user."""
        text = field(root, "input")
        if not isinstance(root, dict) or not isinstance(text, str):
            return locate(root, "input")
        refuse_server_history(root)
        return Body(root, ("input",), [{"role": "user", "content": text}])

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        item, at = value_at(root, entry.at), (*entry.at, "output")
        output = field(item, "output")
        if field(item, "type") == "shell_call_output" and isinstance(output, list):
            return _rewrite_streams(output, at, text)
        return blocks.rewrite_content(output, at, text, _BREAKPOINTS, "input_text")

    def replace_runs(self, root: Any, entries: Sequence[Entry], runs: Sequence[Run]) -> list[Edit]:
        if isinstance(field(root, "input"), str):
            return [Edit(("input",), run.text) for run in runs]
        return super().replace_runs(root, entries, runs)

    def rewrite_text(self, root: Any, entry: Entry, part: int, text: str) -> list[Edit]:
        if isinstance(field(root, "input"), str):
            return [Edit(("input",), text)]
        return super().rewrite_text(root, entry, part, text)

    def block_at_end(self, root: Any, entry: Entry) -> Path | None:
        if isinstance(field(root, "input"), str):
            return None
        item = value_at(root, entry.at)
        kind = text_field(item, "type") or "message"
        key = _MARKED.get(kind) if entry.kind is not Kind.ASSISTANT else None
        return prompt_cache.part_at_end(field(item, key), (*entry.at, key)) if key else None

    def breakpoints(self, root: Any) -> int:
        return prompt_cache.count(self.messages(root), ("content", "output"))

    def place_breakpoint(self, root: Any, at: Path) -> list[Edit]:
        return prompt_cache.place(root, at, "input_text")

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        say_item(builder, message, at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        """A stored `prompt` may hold more than the request shows, so its overhead is unknown."""
        instructions, tools = body.fields.get("instructions"), body.fields.get("tools")
        texts, offered = [*listed(instructions)], [*listed(tools)]
        for item in lead:
            texts += listed(field(item, "content"))
            offered += listed(field(item, "tools"))
        is_said = instructions is not None or tools is not None or bool(lead)
        return Carried(tuple(texts), tuple(offered), is_said and body.fields.get("prompt") is None)

    def tool_texts(self, tool: Any) -> list[str]:
        """A function without parameters takes none; a namespace is a list of tools with a name."""
        kind = field(tool, "type")
        if kind == "namespace":
            texts = [text_field(tool, "name"), text_field(tool, "description")]
            for inner in listed(field(tool, "tools")):
                texts += self.tool_texts(inner)
            return texts
        if kind == "function" and field(tool, "parameters") is None:
            return [text_field(tool, "name"), text_field(tool, "description")]
        return blocks.tool_texts(tool, tool, "parameters")


def _rewrite_streams(chunks: Sequence[Any], at: Path, text: str) -> list[Edit]:
    """The first `stdout` becomes the text, all other streams empty; outcomes stay."""
    edits = [Edit((*at, 0, STREAMS[0]), text)]
    for index, chunk in enumerate(chunks):
        for key in STREAMS:
            is_first = (index, key) == (0, STREAMS[0])
            if field(chunk, key) and not is_first:
                edits.append(Edit((*at, index, key), ""))
    return edits
