"""What a replay did to each entry: passes, fates, and what stands for an entry in the end.

For pages that show a replay; sums need none of it. Fates are those of `core/report.py`; of a
strategy of others it is only known whether it left an entry as it was. Specification:
docs/replay.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from compactor.core.fold import Fold
from compactor.core.model import Entry, Kind, PartKind
from compactor.core.report import FATES, fates
from compactor.replay.prompt import Shown
from compactor.replay.recording import Recording
from compactor.replay.results import Step
from compactor.replay.sums import Replay

FATES_SHOWN: Final = FATES | {
    "kept": "sent as it was",
    "unsent": "came after the last request",
}
"""Fates of a trace: those of our policies, and what is known of others."""
_MEDIA: Final = {
    PartKind.SEALED: "[sealed reasoning]",
    PartKind.IMAGE: "[image]",
    PartKind.DOCUMENT: "[document]",
    PartKind.OTHER: "[another block]",
}


class Pass(NamedTuple):
    """What was changed for one request.

    seqs: of the entries, ascending; tools: how many results of each tool, most first.
    freed: tokens.
    """

    request: int
    tier: str
    seqs: tuple[int, ...]
    tools: Mapping[str, int]
    freed: int


class Now(NamedTuple):
    """What stands for an entry at the last request. request: that changed it first."""

    request: int
    tokens: int
    text: str


class Trace(NamedTuple):
    """A replay, and what it did.

    fates: of all entries; changed: seq → what stands for it.
    """

    replay: Replay
    passes: Sequence[Pass]
    fates: Sequence[str]
    changed: Mapping[int, Now]


class Kept:
    """Steps that are remembered as they go by."""

    def __init__(self, recording: Recording, steps: Iterable[Step]) -> None:
        self._recording = recording
        self._steps = steps
        self._passes: list[Pass] = []
        self._first: dict[int, int] = {}
        self._shown: dict[int, Shown] = {}

    def __iter__(self) -> Iterator[Step]:
        for request, step in enumerate(self._steps, 1):
            freed = sum(self._change(request, *change) for change in step.changes.items())
            if step.passes:
                self._passes.append(self._pass(request, step, freed))
            yield step

    def trace(self, replay: Replay, fold: Fold | None) -> Trace:
        """What was done, once all steps have gone by. fold: of a policy of ours."""
        recording = self._recording
        sent = recording.requests[-1].n if recording.requests else 0
        known = self._fates(sent) if fold is None else [each.fate for each in fates(fold)]
        after = [*known[:sent], *("unsent" for _ in recording.entries[sent:])]
        texts = self._text if fold is None else _Texts(fold)
        changed = {
            seq: Now(self._first[seq], shown.tokens, texts(seq))
            for seq, shown in sorted(self._shown.items())
        }
        return Trace(replay, self._passes, after, changed)

    def _change(self, request: int, seq: int, shown: Shown | None) -> int:
        """Note one; the tokens that it frees."""
        old, before = self._shown.get(seq), self._recording.tokens[seq]
        if shown is None:
            self._shown.pop(seq, None)
            self._first.pop(seq, None)
        else:
            self._shown[seq] = shown
            self._first.setdefault(seq, request)
        return (old.tokens if old else before) - (shown.tokens if shown else before)

    def _pass(self, request: int, step: Step, freed: int) -> Pass:
        entries, seqs = self._recording.entries, tuple(sorted(step.changes))
        names = Counter(entries[seq].name for seq in seqs if entries[seq].kind is Kind.TOOL)
        tools = dict(sorted(names.items(), key=lambda item: (-item[1], item[0])))
        return Pass(request, step.tier, seqs, tools, freed)

    def _fates(self, sent: int) -> list[str]:
        """Of a strategy of others."""
        return [self._fate(seq, entry) for seq, entry in enumerate(self._recording.entries[:sent])]

    def _fate(self, seq: int, entry: Entry) -> str:
        if seq in self._shown:
            return "elided" if self._shown[seq].text else "hidden"
        return "kept" if entry.kind is Kind.TOOL else "kept:not_result"

    def _text(self, seq: int) -> str:
        return self._shown[seq].text or ""


class _Texts:
    """What the view of a fold shows of an entry."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold

    def __call__(self, seq: int) -> str:
        view, entry = self._fold.view, self._fold.entries[seq]
        if seq in view.bodies:
            return view.bodies[seq]
        if seq in view.unreasoned:
            parts = tuple(part for part in entry.parts if not part.signed)
            entry = msgspec.structs.replace(entry, parts=parts)
        return text_of(view.turn(seq, entry))


def text_of(entry: Entry) -> str:
    """An entry as a person reads it: texts, what else it holds in brackets, calls. O(its text)."""
    pieces = [part.text or _MEDIA.get(part.kind, "") for part in entry.parts]
    calls = [f"{call.name}({call.arguments})" for call in entry.calls]
    return "\n\n".join(piece for piece in (entry.body, *pieces, *calls) if piece)
