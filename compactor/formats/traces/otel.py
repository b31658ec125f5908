"""OpenTelemetry recordings of requests to models: spans and log records, or their messages alone.

A list of messages is one conversation. What the spans of a trace say of requests is in
`otel_requests`, which of those belong together in `trace_chains`; an address leads into whatever
spelling the exporter has (`otel_values`). Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from compactor.core.model import Entry, Path, Reading
from compactor.formats.messages import field, locate, read_messages
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items
from compactor.formats.runs import MAIN, Run, chosen
from compactor.formats.traces.otel_messages import OtelMessages
from compactor.formats.traces.otel_requests import steps_of
from compactor.formats.traces.otel_spans import ATTRIBUTES, EVENTS, natives_of
from compactor.formats.traces.otel_values import native_edits, typed
from compactor.formats.traces.trace_chains import Request, ToolRun
from compactor.formats.traces.trace_lens import TraceLens

_SIGNS: Final = ("gen_ai.", "llm.", "ai.prompt", "ai.operationId", "openinference.", "traceloop.")
"""What names of attributes and events begin with that are about models."""
_MESSAGES: Final = OtelMessages()


class Otel(TraceLens):
    """The lens of OpenTelemetry's GenAI data: OTLP JSON of traces and logs, printed spans, rows of
    span stores and of Jaeger, and bare lists of its messages."""

    name = "otel"

    def recognises(self, root: Any) -> bool:
        return _MESSAGES.recognises(root) or any(map(_is_told, natives_of(root)))

    def read(self, root: Any, known: Reading | None = None) -> Reading:
        """A list of messages goes on from an earlier reading; spans are read anew. O(n).

        Raises:
            InputError: as of every trace.
        """
        if _MESSAGES.recognises(root):
            chosen(self.runs(root), self.thread)
            return read_messages(_MESSAGES, locate(root), known)
        return super().read(root)

    def messages(self, root: Any) -> Sequence[Any]:
        return locate(root).items if _MESSAGES.recognises(root) else natives_of(root)

    def steps(self, root: Any) -> list[Request | ToolRun]:
        return steps_of(root)

    def runs(self, root: Any) -> Sequence[Run]:
        return [Run(MAIN, (), root)] if _MESSAGES.recognises(root) else super().runs(root)

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return native_edits(super().rewrite_body(root, entry, text))

    def rewrite_argument(
        self, root: Any, entry: Entry, call: int, path: Path, text: str
    ) -> list[Edit]:
        return native_edits(super().rewrite_argument(root, entry, call, path, text))


def _is_told(native: Any) -> bool:
    """Whether a span or a log record is about a model. O(its attributes)."""
    if any(map(_is_sign, native)):
        return True
    for key in (*ATTRIBUTES, "body"):
        value = field(native, key)
        found = value.items() if isinstance(value, dict) else map(_member, items(value))
        if any(_is_sign(name) or (name == "event.name" and _is_sign(v)) for name, v in found):
            return True
    names = [field(event, "name") for key in EVENTS for event in items(field(native, key))]
    return any(map(_is_sign, [*names, field(native, "eventName"), field(native, "event_name")]))


def _member(native: Any) -> tuple[Any, Any]:
    """Name and value of an attribute in a list."""
    value = field(native, "value")
    return field(native, "key"), typed(value)[2] if isinstance(value, dict) else value


def _is_sign(name: Any) -> bool:
    return isinstance(name, str) and name.startswith(_SIGNS)
