"""Kimi CLI 1 (`~/.kimi/sessions/…`): a session's context (`context.jsonl`), or its `wire.jsonl`.

The context is what the next request carries: messages in the shape of Chat Completions, among lines
of the harness's own, as it begins a file anew for each compaction. A wire file is the events of the
same session, with usage and with what sub-agents did; `kimi_wire` tells those.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from compactor.core.errors import Finding
from compactor.core.model import Entry, Overhead, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.agents import agent_runs, run_findings
from compactor.formats.builder import Builder
from compactor.formats.harnesses import kimi_wire
from compactor.formats.harnesses.kimi_wire import STREAMED
from compactor.formats.lens_bases import RowLens, RunLens
from compactor.formats.messages import Carried, field, shape_error, text_field, value_at
from compactor.formats.placed import Listing, Placed, tell
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.raw.native import REMOVE, Edit
from compactor.formats.recorded import items, unanswered
from compactor.formats.runs import Run, chosen

_PROMPT: Final = "_system_prompt"
_OWN: Final = (_PROMPT, "_checkpoint", "_usage")
"""Roles of the harness's own lines."""
_CHAT: Final = OpenAIChat()


class KimiLegacy(RowLens, RunLens):
    """The lens of Kimi CLI's sessions before Kimi Code.

    Args:
        thread: of a wire file, the id of a sub-agent; "" is the main conversation.
    """

    name = "kimi-legacy"

    def recognises(self, root: Any) -> bool:
        return any(map(_is_own, items(root))) or kimi_wire.recognises(root)

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n).

        Raises:
            InputError: `input.shape` when it is neither file, or there is no such thread.
        """
        if any(map(_is_own, items(root))):
            return _context(items(root))
        if not kimi_wire.recognises(root):
            raise shape_error((), "no line of a session of Kimi CLI")
        runs = self.runs(root)
        run = chosen(runs, self.thread)
        reading = kimi_wire.read(root, run.native)
        reading.findings += run_findings(runs, run, self.thread)
        return reading

    def runs(self, root: Any) -> list[Run]:
        if not kimi_wire.recognises(root):
            return []
        events = kimi_wire.events(root)
        lines: dict[str, list[int]] = {}
        for index, event in enumerate(events):
            lines.setdefault(event.agent, []).append(index)
        found = agent_runs(lines, lambda index: events[index].kind in kimi_wire.SPOKEN)
        return [run._replace(native=[events[i] for i in lines[run.part]]) for run in found]

    def all_usage(self, root: Any) -> list[Usage]:
        """One a step, in order, those of sub-agents and before a compaction too. O(n)."""
        return kimi_wire.all_usage(root)

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        native, at = value_at(root, entry.at), entry.at
        if field(native, "role") is not None:
            return _CHAT.rewrite_body(root, entry, text)
        edits = blocks.rewrite_content(field(native, "output"), (*at, "output"), text, ())
        edits = edits or [Edit((*at, "output"), text)]
        return [*edits, Edit((*at, "message"), REMOVE)]

    def rewrite_argument(
        self, root: Any, entry: Entry, call: int, path: Path, text: str
    ) -> list[Edit]:
        """Nothing for arguments that came in pieces."""
        if entry.calls[call].at == STREAMED:
            return []
        return super().rewrite_argument(root, entry, call, path, text)


def _is_own(row: Any) -> bool:
    return text_field(row, "role") in _OWN


def _context(rows: Sequence[Any]) -> Reading:
    """What a context holds: its messages, and the system prompt, without the harness's tools."""
    builder = Builder()
    messages = [Placed((i,), row) for i, row in enumerate(rows) if not _is_own(row)]
    listing = Listing(_CHAT, {}, messages)
    tell(builder, listing)
    prompts = [text_field(row, "content") for row in rows if text_field(row, "role") == _PROMPT]
    texts = (*filter(None, prompts[-1:]), *listing.carried().system)
    return Reading(
        entries=builder.entries,
        overhead=Overhead(tuple(text for text in texts if isinstance(text, str))),
        carried=Carried(texts),
        findings=[*builder.findings, *unanswered(builder.entries), *_partial(texts)],
    )


def _partial(texts: Sequence[Any]) -> list[Finding]:
    message = "the system prompt is counted; the harness's tools are not in the file"
    return [Finding("overhead_partial", message)] if texts else []
