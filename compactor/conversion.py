"""`convert`: a transcript written in another format, and what that cost.

The shell around `formats.convert` and `formats.write`: it reads what is handed over, finds system
prompt and tools, and says what was left out around the messages. Specification: docs/convert.md.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from compactor.core.errors import Finding, InputError
from compactor.core.model import Reading
from compactor.formats import detect as detect_lens
from compactor.formats import lens as lens_named
from compactor.formats.convert.fit import fit
from compactor.formats.convert.notes import Frame, Notes
from compactor.formats.convert.rules import RULES
from compactor.formats.convert.tell import Source, tell
from compactor.formats.convert.tools import tools_of
from compactor.formats.lens import CacheBreakpoints, Lens
from compactor.formats.messages import Carried, text_field
from compactor.formats.raw.json_compact import compact_json
from compactor.formats.talk import Talk, Tool
from compactor.formats.write import WRITERS
from compactor.loop import loop
from compactor.transcript import Transcript

TARGETS = tuple(WRITERS)
"""What a transcript can be converted to."""
_SAID_ANEW = ("orphan_result", "unanswered_call")
"""Findings of a reading that a conversion says with what became of them."""
_CONTENT = (
    *("messages", "system", "tools", "model"),
    *("input", "instructions", "functions"),
    *("contents", "systemInstruction", "system_instruction"),
    *("toolConfig", "modelId"),
)
"""Keys of a request body that are its conversation; all others are settings of the call."""


class Converted(msgspec.Struct, frozen=True):
    """What `convert` gives back.

    native: Python values in the shape of the target: a request body, a list of entries, an object
        of attributes.
    format: the target.
    findings: those of the input, then what was changed or left out, with the seq of its entry.
    """

    native: Any
    format: str
    findings: tuple[Finding, ...] = ()

    def to_bytes(self) -> bytes:
        """Compact JSON in UTF-8. Numbers and duplicate keys of arguments as they were spelled."""
        return compact_json(self.native).encode("utf-8")


def convert(
    source: Any,
    to: str,
    *,
    format: str | None = None,  # noqa: A002  (the word users know)
    model: str = "",
    failed: Iterable[str] = (),
    complete: bool = False,
    drop_reasoning: bool = False,
) -> Converted:
    """A conversation in the shape that a provider takes.

    Args:
        source: a `Transcript` (its changes are shown), a request body, or a list of messages.
        to: one of `TARGETS`.
        format: name of the source's format; None looks at the content.
        model: the name for the request; "" keeps the source's where the target has such models.
        failed: ids of calls that failed, beside the format's own error flags.
        complete: give calls without a result one that says so.
        drop_reasoning: leave out signed reasoning even where it is taken back.

    Raises:
        InputError: `input.format_unknown`: no such target, or the source is of no format we know;
            `input.shape`.
    """
    if to not in RULES:
        raise _no_target(to)
    lens, root, reading, findings = _read(source, format)
    words, notes = loop(), Notes()
    frame = Frame(
        rules=RULES[to],
        texts=words.conversion,
        words=words.marker,
        notes=notes,
        same=lens.name == to,
        complete=complete,
        reasoning=not drop_reasoning,
    )
    said = tell(reading.entries, Source(lens.name, root, _ids(failed), frame.same))
    system, tools = _overhead(reading, frame)
    talk = Talk(tuple(said), system, tools, model or _model(reading, frame))
    native = WRITERS[to](fit(talk, frame))
    if isinstance(root, dict) and lens.name in RULES and RULES[lens.name].pairs:
        native = _with_settings(native, root, lens, frame)
    kept = (found for found in findings if found.code not in _SAID_ANEW)
    return Converted(native, to, (*kept, *notes.all()))


def _no_target(name: str) -> InputError:
    near = difflib.get_close_matches(name, TARGETS, 1, 0.4)
    meant = f"did you mean {near[0]}? " if near else ""
    return InputError(
        f"nothing is converted to {name[:40]!r}",
        code="input.format_unknown",
        hint=f"{meant}known: {', '.join(TARGETS)}",
    )


def _ids(failed: Iterable[str]) -> Collection[str]:
    return frozenset((failed,) if isinstance(failed, str) else failed)


def _read(source: Any, name: str | None) -> tuple[Lens, Any, Reading, tuple[Finding, ...]]:
    """The lens, the native data as shown, and what it reads there."""
    if not isinstance(source, Transcript):
        lens = lens_named(name) if name else detect_lens(source)
        reading = lens.read(source)
        return lens, source, reading, tuple(reading.findings)
    if not source.edits:
        return source.lens, source.root, source.reading, source.findings
    shown = source.view()
    return source.lens, shown, source.lens.read(shown), source.findings


def _overhead(reading: Reading, frame: Frame) -> tuple[tuple[str, ...], tuple[Tool, ...]]:
    """System prompt and tools, as far as the file holds them as such."""
    carried, notes = reading.carried, frame.notes
    if not isinstance(carried, Carried):
        if reading.overhead.texts:
            message = "system prompt and tools are in the file, but cannot be told apart there"
            notes.report("overhead_left_out", message)
        carried = Carried()
    if not reading.overhead.known:
        notes.report("overhead_unknown", "the file does not hold system prompt and tools")
    system = [
        native if isinstance(native, str) else text_field(native, "text")
        for native in carried.system
    ]
    texts = tuple(filter(None, system))
    if len(texts) < len(system):
        notes.report("overhead_left_out", "a part of the system prompt is no text")
    tools, left = tools_of(carried.tools, same=frame.same)
    for name in left:
        notes.report("tool_left_out", f"the tool {name!r} has no words in another format")
    if not frame.rules.overhead and (texts or tools):
        notes.report("overhead_left_out", "system prompt and tools have no place in this shape")
    return texts, tuple(tools)


def _model(reading: Reading, frame: Frame) -> str:
    """The source's model, where the target has models of that name."""
    name = reading.model
    if not name or frame.same or name.rpartition("/")[2].startswith(frame.rules.models or ("\0",)):
        return name
    frame.notes.report("model_left_out", f"{name[:80]} is no model of the target; name one")
    return ""


def _with_settings(native: Any, root: dict[str, Any], lens: Lens, frame: Frame) -> Any:
    """What a body says beside its conversation: kept in its own format, said in others."""
    settings = [key for key in root if key not in _CONTENT]
    if frame.same:
        own = {key: value for key, value in native.items() if key not in settings}
        return {key: root[key] for key in settings} | own
    if isinstance(lens, CacheBreakpoints) and lens.breakpoints(root):
        message = "cache breakpoints belong to a provider; set them anew"
        frame.notes.report("breakpoints_left_out", message)
    if settings:
        names = ", ".join(settings)[:200]
        frame.notes.report("settings_left_out", f"settings of the call are left out: {names}")
    return native
