"""What Gemini CLI prints with `--output-format stream-json`: events, one a line.

What the model says comes in pieces, which are one text again here. Of a result the file has what
was shown to a person, which may be less than the model got; where nothing was shown there is no
body. Usage is in the file as a sum over the run. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Kind, Overhead, Part, PartKind, Reading, Usage
from compactor.formats import blocks
from compactor.formats.builder import Builder
from compactor.formats.lens_bases import RowLens
from compactor.formats.messages import field, shape_error, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import count_of, items, time_ms, unanswered

_INIT, _MESSAGE, _CALL, _RESULT, _END = "init", "message", "tool_use", "tool_result", "result"
_SIGNS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        _INIT: ("session_id", "model"),
        _CALL: ("tool_name", "tool_id"),
        _RESULT: ("tool_id", "status"),
    }
)
"""Type of an event → texts that tell it from other programs' events of that name."""


class GeminiStream(RowLens):
    """What Gemini CLI prints with `--output-format stream-json`"""

    name = "gemini-cli-stream"

    def recognises(self, root: Any) -> bool:
        return any(map(_is_event, items(root)))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n).

        Raises:
            InputError: `input.shape` when no line is such an event.
        """
        if not self.recognises(root):
            raise shape_error((), "no event of Gemini CLI's output")
        story = _Story()
        for index, row in enumerate(items(root)):
            story.tell(row, index)
        story.end_message()
        entries = story.builder.entries
        return Reading(
            entries=entries,
            overhead=Overhead(known=False),
            findings=[*story.builder.findings, *unanswered(entries), *_not_shown(entries)],
            model=story.model,
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """The sums that a run ends with, one a run. O(n)."""
        found: list[Usage] = []
        model, turns, in_turn = "", 0, False
        for row in items(root):
            kind, stats = text_field(row, "type"), field(row, "stats")
            model = text_field(row, "model") if kind == _INIT else model
            of_model = kind == _CALL or text_field(row, "role") == "assistant"
            turns += of_model and not in_turn
            in_turn = of_model or (in_turn and kind not in (_MESSAGE, _RESULT, _END))
            if kind == _END and isinstance(stats, dict):
                found.append(_usage(stats, row, turns, model))
                turns = 0
        return found

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        is_shown = text_field(value_at(root, entry.at), "output")
        return [Edit((*entry.at, *(("output",) if is_shown else ("error", "message"))), text)]


class _Story:
    """Tells events to a builder."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.model = ""
        self._pieces: list[str] = []
        self._at = 0

    def tell(self, row: Any, index: int) -> None:
        """Say one event."""
        kind = text_field(row, "type")
        content, is_piece = field(row, "content"), field(row, "delta") is True
        of_model = kind == _MESSAGE and text_field(row, "role") == "assistant"
        if not (of_model and is_piece):
            self.end_message()
        if kind == _MESSAGE and isinstance(content, str):
            self._at = self._at if self._pieces else index
            self._message(content, row, index)
        elif kind == _CALL:
            arguments = blocks.arguments_text(field(row, "parameters"))
            at = (index, "parameters")
            call = Call(text_field(row, "tool_id"), text_field(row, "tool_name"), arguments, at)
            self.builder.turn((), [call], (index,))
        elif kind == _RESULT:
            self._result(row, index)
        elif kind == _INIT:
            self.model = text_field(row, "model") or self.model

    def _message(self, content: str, row: Any, index: int) -> None:
        if text_field(row, "role") == "assistant":
            self._pieces.append(content)
        elif text_field(row, "role") == "user":
            self.builder.user([Part(PartKind.TEXT, content)], (index,))
        else:
            self.builder.report("unknown_line", "nobody's message", dotted((index,)))

    def end_message(self) -> None:
        """Say the pieces so far as one text."""
        if self._pieces:
            self.builder.turn([Part(PartKind.TEXT, "".join(self._pieces))], (), (self._at,))
        self._pieces = []

    def _result(self, row: Any, index: int) -> None:
        said = text_field(row, "output") or text_field(field(row, "error"), "message")
        self.builder.result(
            text_field(row, "tool_id"),
            [said] if said else [],
            (),
            (index,),
            error=text_field(row, "status") == "error",
            orphan_path=dotted((index,)),
        )


def _is_event(row: Any) -> bool:
    keys = _SIGNS.get(text_field(row, "type"))
    return keys is not None and all(text_field(row, key) for key in keys)


def _usage(stats: Any, row: Any, requests: int, model: str) -> Usage:
    """The sums of a run: `input_tokens` holds what was cached."""
    cached = count_of(stats, "cached")
    return Usage(
        n=0,
        requests=max(requests, 1),
        input=max(count_of(stats, "input_tokens") - cached, 0),
        cache_read=cached,
        output=count_of(stats, "output_tokens"),
        model=model,
        time_ms=time_ms(field(row, "timestamp")),
    )


def _not_shown(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Results of which nothing was shown."""
    count = sum(entry.kind is Kind.TOOL and not entry.body for entry in entries)
    if count:
        message = f"of {count} results nothing was shown, so the file does not hold them"
        yield Finding("results_not_recorded", message)
