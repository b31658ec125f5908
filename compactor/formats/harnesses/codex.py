"""Codex CLI rollouts (`~/.codex/sessions/…/rollout-*.jsonl`), the oldest shape included.

Reads the transcript as the next request would carry it: the items since the last compaction, which
put a list of its own in the place of all before. Items are those of OpenAI's Responses API and are
read and rewritten by that format's functions; the few that only Codex has are in `OWN_ITEMS`. The
instructions are in the file, the tools are not, so the overhead is counted but not known.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any

import msgspec

from compactor.core.errors import Finding, InputError
from compactor.core.model import Entry, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.blocks import Readers, content_parts
from compactor.formats.builder import Builder
from compactor.formats.harnesses.codex_rollout import Item, Rollout, is_native, read_rollout
from compactor.formats.lens_bases import RowLens
from compactor.formats.media import digest_of
from compactor.formats.messages import (
    SYSTEM_ROLES,
    Carried,
    field,
    shape_error,
    text_field,
    value_at,
)
from compactor.formats.providers.openai_responses import OpenAIResponses
from compactor.formats.providers.responses_calls import READERS
from compactor.formats.providers.responses_items import ITEMS, Say, say_item
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import compacted, left_behind, unanswered, unreadable

_RESPONSES = OpenAIResponses()
_OUTPUT_TEXTS = ("content", "text")
"""Where an output that is an object has its text: a failed call's in old files, a block's own."""


class Codex(RowLens):
    """The lens of Codex CLI rollouts. A sub-agent's thread is a file of its own."""

    name = "codex"

    def recognises(self, root: Any) -> bool:
        return isinstance(root, list) and any(map(is_native, root))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: what an old row means depends on new ones, so nothing is resumed. O(n).

        Raises:
            InputError: `input.shape` when nothing is of a rollout; one just begun is empty.
        """
        rollout = read_rollout(root if isinstance(root, list) else ())
        if not rollout.history.prompt() and not self.recognises(root):
            raise shape_error((), "no row holds an item of a Codex rollout")
        story = _Story(root, rollout)
        return Reading(
            entries=story.builder.entries,
            overhead=Overhead(tuple(filter(None, story.overhead))),
            carried=Carried(tuple(filter(None, story.system)), tuple(rollout.tools)),
            findings=[
                *story.builder.findings,
                *unanswered(story.builder.entries),
                *_findings(rollout, story.odd),
            ],
            model=rollout.model,
            usage=tuple(story.usage),
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """One a request, in order, compacted and rolled back ones too. O(n)."""
        return read_rollout(root if isinstance(root, list) else ()).usage

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        key = _output_text(value_at(root, entry.at))
        if key:
            return [Edit((*entry.at, "output", key), text)]
        return _RESPONSES.rewrite_body(root, entry, text)


class _Story:
    """Tells the history of a rollout to a builder, and finds where in it requests were made."""

    def __init__(self, root: Any, rollout: Rollout) -> None:
        self.builder = Builder()
        self._root = root
        self.usage: list[Usage] = []
        self.odd: list[Path] = []
        items, requests = rollout.history.prompt(), iter(rollout.history.requests)
        lead = list(takewhile(_is_leading, items))
        self.system = [rollout.instructions, *self._texts(lead)]
        self.overhead = [*self.system]
        for tool in rollout.tools:
            self.overhead += blocks.tool_texts(tool, tool, "inputSchema")
        request = next(requests, None)
        for index, item in enumerate((*items, None)):
            n = self._n(item) if index >= len(lead) else 0
            while request is not None and request.item + rollout.history.kept == index:
                self.usage.append(msgspec.structs.replace(request.usage, n=n))
                request = next(requests, None)

    def _texts(self, lead: Sequence[Item]) -> Iterator[str]:
        """The texts of the leading developer messages, which are overhead."""
        for item in lead:
            content, at = field(item.native(self._root), "content"), (*item.at, "content")
            yield from (part.text for part in content_parts(self.builder, content, at, READERS))

    def _n(self, item: Item | None) -> int:
        """Say an item; the number of entries before the answer that it begins."""
        before = self.builder.size
        if item is None or not self._say(item):
            return before
        return self.builder.size - 1 if item.is_answer else before

    def _say(self, item: Item) -> bool:
        """Say an item; False when it cannot be read."""
        native = item.native(self._root)
        kind = field(native, "type")
        say = OWN_ITEMS.get(kind, say_item) if isinstance(kind, str) else say_item
        if _output_text(native):
            say = _say_object_output
        try:
            say(self.builder, native, item.at)
        except InputError:  # one strange item is no reason to refuse the file
            self.odd.append(item.at)
            return False
        return True


def _is_leading(item: Item) -> bool:
    return item.role in SYSTEM_ROLES


def _findings(rollout: Rollout, odd: Sequence[Path]) -> Iterator[Finding]:
    """What of the file is not in the prompt, and what is not in the file."""
    yield from compacted(rollout.history.before, "items")
    if rollout.history.base is not None:
        message = "the prompt after the last compaction is rebuilt from user messages and a summary"
        yield Finding("compaction_rebuilt", message)
    yield from left_behind(len(rollout.left), dotted(rollout.left[0]) if rollout.left else "")
    if rollout.is_subagent:
        yield Finding("subagent_file", "read as the thread of a sub-agent, which the file is of")
    if rollout.instructions:
        message = "the instructions are counted; Codex's own tools are not in the file"
        yield Finding("overhead_partial", message)
    yield from unreadable([*rollout.odd, *odd], "rows")


def _output_text(item: Any) -> str:
    """The key of the text of an output that is an object; "" for any other output."""
    output = field(item, "output")
    if not isinstance(output, dict):
        return ""
    return next((key for key in _OUTPUT_TEXTS if isinstance(output.get(key), str)), "")


def _say_object_output(builder: Builder, item: Any, at: Path) -> None:
    """An output with its text in an object, which may say that the call failed."""
    output = field(item, "output")
    builder.result(
        text_field(item, "call_id"),
        [output[_output_text(item)]],
        (),
        at,
        error=field(output, "success") is False,
        orphan_path=dotted(at),
    )


def _say_agent_message(builder: Builder, item: Any, at: Path) -> None:
    """What another agent says to this one: no turn of this model's."""
    parts = content_parts(builder, field(item, "content"), (*at, "content"), _AGENT_READERS)
    builder.user(parts, at)


def _say_nothing(builder: Builder, item: Any, at: Path) -> None:
    """An item that is never sent."""


def _sealed(block: Any) -> Part:
    text = text_field(block, "encrypted_content")
    return Part(PartKind.SEALED, size=len(text), digest=digest_of(text))


_AGENT_READERS: Readers = MappingProxyType({**READERS, "encrypted_content": _sealed})

OWN_ITEMS: Mapping[str, Say] = MappingProxyType(
    {
        "agent_message": _say_agent_message,
        "compaction_summary": ITEMS["compaction"],
        "context_compaction": ITEMS["compaction"],
        "ghost_snapshot": _say_nothing,
    }
)
"""Items that the Responses API does not have, or by another name."""
