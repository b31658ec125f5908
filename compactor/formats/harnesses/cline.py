"""Cline sessions, and message lists of Cline and Roo Code (`api_conversation_history.json`).

Messages are Anthropic's with more kinds of blocks and what a client notes beside them. A result
that is a list of plain objects is sent as its JSON. Roo hides messages by naming a summary or a
truncation marker (`condenseParent`, `truncationParent`); Cline's compaction has taken them out.
Recorded `inputTokens` hold what was cached, the `tokens.prompt` of older lists does not.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

from compactor.core.errors import Finding
from compactor.core.model import Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats.block_lens import SignedBlocks
from compactor.formats.blocks import Readers, block_part, content_parts, other_part, result_facts
from compactor.formats.builder import Builder
from compactor.formats.keyed import runs, sealed_part
from compactor.formats.media import image_part
from compactor.formats.messages import (
    Carried,
    field,
    listed,
    locate,
    shape_error,
    text_field,
)
from compactor.formats.providers.anthropic import READERS as ANTHROPIC
from compactor.formats.providers.anthropic import is_sealed, turn_facts
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import compact_json
from compactor.formats.recorded import compacted, count_of, time_ms, unanswered

_TURN, _PROMPT = "assistant", "user"
_COMPACTIONS = ("compaction", "compaction_summary")
_PARENTS = (("condenseParent", "condenseId"), ("truncationParent", "truncationId"))
"""What hides a message → what the message that hides it has."""


class Cline(SignedBlocks):
    """The lens of Cline's sessions and of lists of messages of Cline and Roo Code."""

    name = "cline"

    def recognises(self, root: Any) -> bool:
        messages = root if isinstance(root, list) else field(root, "messages")
        if isinstance(root, dict):
            is_session = bool(text_field(root, "sessionId")) and type(root.get("version")) is int
            return is_session and isinstance(messages, list) and any(map(_speaks, messages))
        if not isinstance(messages, list) or not all(map(_speaks, messages)):
            return False
        return any(type(message.get("ts")) is int for message in messages)

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: a new message can hide old ones. O(n).

        Raises:
            InputError: `input.shape` when there is no message.
        """
        body = locate(root)
        hidden = _hidden(body.items)
        story = _Story()
        for index, message in enumerate(body.items):
            if index not in hidden:
                story.tell(message, (*body.base, index))
        if not story.builder.entries:
            raise shape_error(body.base, "no message of a Cline session")
        system = field(root, "system_prompt")
        return Reading(
            entries=story.builder.entries,
            overhead=Overhead((system,), known=True) if isinstance(system, str) else Overhead(),
            carried=Carried((system,), known=True) if isinstance(system, str) else None,
            findings=[
                *story.builder.findings,
                *unanswered(story.builder.entries),
                *compacted(len(hidden) + story.removed, "messages"),
                *_agent(root),
            ],
            model=story.model,
            usage=tuple(story.usage),
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """One a turn with metrics, in order; hidden ones too. O(n)."""
        turns = [m for m in locate(root).items if _speaks(m) and m["role"] == _TURN]
        return [usage for turn in turns for usage in _usage(turn, 0)]

    def messages(self, root: Any) -> Sequence[Any]:
        return locate(root).items


class _Story:
    """Tells messages to a builder.

    removed: how many messages compactions have taken out, as they say.
    """

    def __init__(self) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        self.removed = 0
        self._compacted_at = 0

    def tell(self, message: Any, at: Path) -> None:
        """Say one message."""
        if not _speaks(message):
            self.builder.report("unknown_line", "not a message of a session", dotted(at))
        elif message["role"] == _TURN:
            self._turn(message, at)
        else:
            self._note(message.get("metadata"))
            _say_user(self.builder, message.get("content"), (*at, "content"))

    def _turn(self, message: Any, at: Path) -> None:
        content = message.get("content")
        parts, calls = turn_facts(self.builder, content, (*at, "content"), READERS)
        if message.get("type") == "reasoning":
            parts.append(sealed_part(message.get("encrypted_content")))
        self.builder.turn(parts, calls, at)
        self.model = _model(message) or self.model
        if count_of(message, "ts") >= self._compacted_at:
            # What was kept was answered before the compaction, over entries that are gone.
            self.usage += _usage(message, self.builder.size - 1)

    def _note(self, metadata: Any) -> None:
        """What a message says of the compaction that made it."""
        if field(metadata, "kind") in _COMPACTIONS:
            self.removed += count_of(metadata, "messagesRemoved")
            self._compacted_at = count_of(metadata, "generatedAt")


def _say_user(builder: Builder, content: Any, at: Path) -> None:
    """Each result is an entry, each run of other blocks between them is one."""
    if not isinstance(content, list):
        builder.user(content_parts(builder, content, at, READERS), at[:-1])
        return
    for is_result, indexes in runs(field(block, "type") == "tool_result" for block in content):
        if is_result:
            _say_result(builder, content[indexes[0]], (*at, indexes[0]))
            continue
        run = [block_part(builder, content[i], (*at, i), READERS) for i in indexes]
        builder.user(run, at[:-1])


def _say_result(builder: Builder, block: Any, at: Path) -> None:
    content = field(block, "content")
    if isinstance(content, list) and content and not any(map(_is_block, content)):
        bare, others = _without_images(content)
        texts, is_odd = [compact_json(bare)], False
    else:
        texts, others, is_odd = result_facts(builder, content, (*at, "content"), READERS)
    builder.result(
        text_field(block, "tool_use_id"),
        texts,
        others,
        at,
        error=field(block, "is_error") is True,
        required=is_odd or is_sealed(block) or any(map(is_sealed, listed(content))),
        orphan_path=dotted(at),
    )


def _without_images(content: list[Any]) -> tuple[list[Any], list[Part]]:
    """What a tool gave without the images in its results, which are sent as such."""
    images: list[Part] = []
    bare: list[Any] = []
    for item in content:
        inner = field(item, "result")
        if isinstance(inner, list) and any(map(_is_image, inner)):
            images += [_image(block) for block in inner if _is_image(block)]
            item = {**item, "result": [block for block in inner if not _is_image(block)]}
        bare.append(item)
    return bare, images


def _hidden(messages: Sequence[Any]) -> frozenset[int]:
    """Indexes of what a summary or truncation marker that is there stands for."""
    hidden: set[int] = set()
    for parent, own in _PARENTS:
        markers = {text_field(message, own) for message in messages} - {""}
        hidden.update(i for i, m in enumerate(messages) if text_field(m, parent) in markers)
    bare = [
        index
        for index, message in enumerate(messages)
        if field(message, "isSummary") is True and not text_field(message, "condenseId")
    ]
    # An older summary has no id: it stands for all behind the first message.
    return frozenset(hidden.union(range(1, bare[-1] if bare else 1)))


def _usage(message: Any, n: int) -> list[Usage]:
    metrics, model = message.get("metrics"), _model(message)
    tokens, when_ms = field(metrics, "tokens"), time_ms(message.get("ts"))
    if isinstance(tokens, dict):
        counts = [count_of(tokens, key) for key in ("prompt", "cached", "completion")]
        return [Usage(n, counts[0], counts[1], 0, counts[2], model, time_ms=when_ms)]
    if not isinstance(metrics, dict):
        return []
    read, write = count_of(metrics, "cacheReadTokens"), count_of(metrics, "cacheWriteTokens")
    uncached = max(count_of(metrics, "inputTokens") - read - write, 0)
    output = count_of(metrics, "outputTokens")
    return [Usage(n, uncached, read, write, output, model, time_ms=when_ms)]


def _model(message: Any) -> str:
    info = field(message, "modelInfo")
    return text_field(info, "id") or text_field(info, "modelId")


def _agent(root: Any) -> Iterator[Finding]:
    agent = text_field(root, "agent")
    if agent and agent != "lead":
        yield Finding("subagent_file", f"the session of a {agent[:40]}")


def _speaks(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in (_TURN, _PROMPT)


def _is_block(item: Any) -> bool:
    return isinstance(field(item, "type"), str)


def _is_image(block: Any) -> bool:
    return text_field(block, "type") == "image"


def _file(block: Any) -> Part:
    """A file that is sent whole, under its path."""
    return Part(PartKind.TEXT, f"{text_field(block, 'path')}\n{text_field(block, 'content')}")


def _image(block: Any) -> Part:
    data = text_field(block, "data")
    return image_part(data) if data else ANTHROPIC["image"](block)


def _reasoning(block: Any) -> Part:
    return Part(PartKind.REASONING, text_field(block, "text"))


def _signature(block: Any) -> Part:
    return sealed_part(field(block, "thoughtSignature"))


READERS: Readers = MappingProxyType(
    {
        **ANTHROPIC,
        "file": _file,
        "image": _image,
        "media": other_part,
        "reasoning": _reasoning,
        "thoughtSignature": _signature,
    }
)
