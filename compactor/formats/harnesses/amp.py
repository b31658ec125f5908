"""Amp threads (`~/.local/share/amp/threads/T-*.json`), as the file or as `amp threads export`.

Messages hold Anthropic's content blocks, but a result names its call by `toolUseID` and is what its
`run` gave: a text, or an object of which one key has the text. How that is put to the model is in
no file. `inputTokens` are those that no cache held.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from compactor.core.model import Entry, Overhead, Path, Reading, Usage
from compactor.formats.block_lens import SignedBlocks
from compactor.formats.blocks import block_part, content_parts
from compactor.formats.builder import Builder
from compactor.formats.keyed import runs
from compactor.formats.messages import field, shape_error, text_field, value_at
from compactor.formats.providers.anthropic import READERS, turn_facts
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.recorded import (
    count_of,
    has_tokens,
    items,
    time_ms,
    unanswered,
    unreadable,
)

_TURN, _PROMPT = "assistant", "user"
_TEXTS: Final = ("output", "content", "diff", "text")
"""Keys that hold the text of a result, the first that is one."""


class Amp(SignedBlocks):
    """The lens of Amp's threads."""

    name = "amp"

    def recognises(self, root: Any) -> bool:
        messages = items(field(root, "messages"))
        is_named = text_field(root, "id").startswith("T-") and any(map(_speaks, messages))
        return is_named or any(
            _is_result(block) and isinstance(field(block, "run"), dict)
            for message in messages
            for block in items(field(message, "content"))
        )

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n).

        Raises:
            InputError: `input.shape` when it is no thread.
        """
        if not self.recognises(root):
            raise shape_error((), "no message of an Amp thread")
        builder, usage, odd = Builder(), list[Usage](), list[Path]()
        model = ""
        for index, message in enumerate(root["messages"]):
            at: Path = ("messages", index)
            n = builder.size
            if not _speaks(message):
                odd.append(at)
            elif message["role"] == _TURN:
                content, inner = message["content"], (*at, "content")
                builder.turn(*turn_facts(builder, content, inner), at)
                model = text_field(field(message, "usage"), "model") or model
                usage += _usage(message, n if builder.size > n else n - 1)
            else:
                _say_user(builder, message["content"], at)
        return Reading(
            entries=builder.entries,
            overhead=Overhead(known=False),
            findings=[
                *builder.findings,
                *unanswered(builder.entries),
                *unreadable(odd, "messages"),
            ],
            model=model,
            usage=tuple(usage),
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """One a turn, in order. O(n)."""
        return [usage for message in items(field(root, "messages")) for usage in _usage(message, 0)]

    def messages(self, root: Any) -> Sequence[Any]:
        return items(field(root, "messages"))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        keys = _text_at(field(value_at(root, entry.at), "run"))
        if keys is not None:
            return [Edit((*entry.at, "run", *keys), text)]
        return [Edit((*entry.at, "run", "result"), {"output": text})]


def _speaks(message: Any) -> bool:
    is_known = text_field(message, "role") in (_TURN, _PROMPT)
    return is_known and isinstance(field(message, "content"), (str, list))


def _is_result(block: Any) -> bool:
    return field(block, "type") == "tool_result" and bool(text_field(block, "toolUseID"))


def _say_user(builder: Builder, content: Any, at: Path) -> None:
    """Each result is an entry, each run of other blocks between them is one."""
    inner = (*at, "content")
    if isinstance(content, str):
        builder.user(content_parts(builder, content, inner, READERS), at)
        return
    for is_result, indexes in runs(_is_result(block) for block in content):
        if is_result:
            _say_result(builder, content[indexes[0]], (*inner, indexes[0]))
        else:
            parts = [block_part(builder, content[i], (*inner, i), READERS) for i in indexes]
            builder.user(parts, at)


def _say_result(builder: Builder, block: Any, at: Path) -> None:
    run = field(block, "run")
    keys = _text_at(run)
    result = field(run, "result")
    body = "" if result is None else compact_json(result)
    body = body if keys is None else value_at(run, keys)
    builder.result(
        text_field(block, "toolUseID"),
        [body] if body else [],
        (),
        at,
        error=text_field(run, "status") == "error",
        required=not isinstance(run, dict),
        orphan_path=dotted(at),
    )


def _text_at(run: Any) -> Path | None:
    """Where in a run the text of its result is; None where no key has it."""
    result = field(run, "result")
    if isinstance(result, str):
        return ("result",)
    if result is None and text_field(field(run, "error"), "message"):
        return ("error", "message")
    return next((("result", key) for key in _TEXTS if isinstance(field(result, key), str)), None)


def _usage(message: Any, n: int) -> list[Usage]:
    counts = field(message, "usage") if text_field(message, "role") == _TURN else None
    usage = Usage(
        n=n,
        input=count_of(counts, "inputTokens"),
        cache_read=count_of(counts, "cacheReadInputTokens"),
        cache_write=count_of(counts, "cacheCreationInputTokens"),
        output=count_of(counts, "outputTokens"),
        model=text_field(counts, "model"),
        time_ms=time_ms(field(counts, "timestamp")),
    )
    return [usage] if has_tokens(usage) else []
