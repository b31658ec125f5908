"""Puts results behind their calls, as providers want them, and loses no text over it.

A result stands right behind the turn of its call, before whatever was said in between. One that
answers no call, or a call that has its result already, becomes a text of the person. Calls without
a result stay as they are, or get one that says so. Linear.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compactor.core.model import Kind
from compactor.formats.convert.notes import Frame
from compactor.formats.talk import Asked, Medium, Said, Text


@dataclass(slots=True)
class _Segment:
    """An entry, the results of its calls, and what stands behind those."""

    said: Said
    results: list[Said] = field(default_factory=list)
    beside: list[Said] = field(default_factory=list)
    open: dict[int, Asked] = field(default_factory=dict)


def paired(said: Iterable[Said], frame: Frame) -> list[Said]:
    """The conversation with every result behind its call."""
    segments: list[_Segment] = []
    turns: dict[int, _Segment] = {}
    for each in said:
        if each.kind is not Kind.TOOL:
            segment = _Segment(each, open={call.key: call for call in each.calls})
            turns |= dict.fromkeys(segment.open, segment)
            segments.append(segment)
            continue
        turn = turns.get(-1 if each.key is None else each.key)
        if turn is None or turn.open.pop(each.key or 0, None) is None:
            segments.append(_Segment(_as_text(each, frame)))
            continue
        if segments[-1] is not turn:
            message = "a result stands before what was said between it and its call"
            frame.notes.report("result_moved", message, each.seq)
        _answer(turn, each, frame)
    return [each for segment in segments for each in _flat(segment, frame)]


def _answer(turn: _Segment, result: Said, frame: Frame) -> None:
    """Put a result behind its turn; media that it may not hold go into a message behind it."""
    media = tuple(piece for piece in result.pieces if isinstance(piece, Medium))
    if not media or frame.same or Kind.TOOL in frame.rules.media:
        turn.results.append(result)
        return
    rest = tuple(piece for piece in result.pieces if not isinstance(piece, Medium))
    turn.results.append(result._replace(pieces=rest))
    lead = Text(frame.texts.media.format(name=frame.name(result.name)))
    turn.beside.append(Said(Kind.USER, (lead, *media), result.seq))
    message = f"{len(media)} media of a result stand in a message of the person behind it"
    frame.notes.report("media_moved", message, result.seq)


def _as_text(result: Said, frame: Frame) -> Said:
    """What a result says, as a text of the person."""
    message = "a result that answers no open call is a text of the person"
    frame.notes.report("result_as_text", message, result.seq)
    name, failed = frame.name(result.name), frame.words.failed if result.error else ""
    head = frame.texts.orphan.format(failed=failed, name=name)
    texts = "\n".join((head, *result.texts))
    media = (piece for piece in result.pieces if not isinstance(piece, Text))
    return Said(Kind.USER, (Text(texts), *media), result.seq)


def _flat(segment: _Segment, frame: Frame) -> list[Said]:
    """A segment's entries in order, with what is missing said or made good."""
    made: list[Said] = []
    for key, call in segment.open.items():
        seq = segment.said.seq
        if frame.complete:
            frame.notes.report("call_completed", f"call {call.id!r} had no result", seq)
            text = (Text(frame.texts.unanswered),)
            result = Said(Kind.TOOL, text, -1, call.id, call.name, error=True, key=key)
            made.append(result._replace(custom=call.custom))
        else:
            message = f"call {call.id!r} has no result, which providers refuse"
            frame.notes.report("unanswered_call", message, seq)
    return [segment.said, *segment.results, *made, *segment.beside]
