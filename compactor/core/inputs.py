"""Long strings in the arguments of old calls: what could go, and what stands in their places.

In real sessions arguments are a fifth of all tokens, most of it file contents that a call wrote. A
string becomes a marker inside the same valid JSON. Specification: DESIGN section 4 (`elideInputs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from compactor.core.arguments import replaced
from compactor.core.count import Measure
from compactor.core.model import Entry, Path

Text = tuple[int, Path, str]
"""Call, path in its arguments, text."""


class Inputs(NamedTuple):
    """The strings of one turn that could go.

    plain, recallable: their markers in both forms.
    gain: tokens saved with the longer form.
    """

    plain: tuple[Text, ...]
    recallable: tuple[Text, ...]
    gain: int

    def form(self, recallable: bool) -> tuple[Text, ...]:
        return self.recallable if recallable else self.plain


def with_texts(entry: Entry, texts: Sequence[Text]) -> Entry:
    """A turn with texts in the places of strings of its calls."""
    of_call: dict[int, dict[Path, str]] = {}
    for call, path, text in texts:
        of_call.setdefault(call, {})[tuple(path)] = text
    calls = tuple(
        call._replace(arguments=replaced(call.arguments, of_call[index]))
        if index in of_call
        else call
        for index, call in enumerate(entry.calls)
    )
    return msgspec.structs.replace(entry, calls=calls)


def saved(before: Entry, texts: Sequence[Text], measure: Measure) -> int:
    """Tokens that a turn loses with texts in the places of strings of its calls."""
    pairs = zip(before.calls, with_texts(before, texts).calls, strict=True)
    return sum(measure.text(old.arguments) - measure.text(new.arguments) for old, new in pairs)


class TurnInputs:
    """The turns whose calls hold strings that could go, and which of their calls are answered.

    by_seq: seq → its strings.
    """

    def __init__(self) -> None:
        self.by_seq: dict[int, Inputs] = {}
        self._answers: dict[int, int] = {}

    def put(self, seq: int, found: Inputs | None) -> None:
        """What could go of a turn now."""
        self.by_seq.pop(seq, None)
        if found is not None:
            self.by_seq[seq] = found

    def drop(self, seq: int) -> None:
        """Nothing of a turn may go."""
        self.by_seq.pop(seq, None)

    def forget(self, seq: int) -> None:
        """The last turn is gone."""
        self.by_seq.pop(seq, None)
        self._answers.pop(seq, None)

    def answer(
        self, result: Entry, turns: Sequence[int], entries: Sequence[Entry], by: int
    ) -> None:
        """A result came, or went.

        Args:
            turns: seqs of all turns; the result is of one of the last.
        """
        for seq in turns[-1:-_TURNS:-1]:
            if result.call is not None and result.call in entries[seq].calls:
                self._answers[seq] = self._answers.get(seq, 0) + by
                return

    def going(self, end: int, entries: Sequence[Entry]) -> list[int]:
        """Turns below an end whose calls are all answered, ascending."""
        known = self._answers
        return sorted(
            seq for seq in self.by_seq if seq < end and known.get(seq, 0) >= len(entries[seq].calls)
        )


_TURNS = 5
"""How far back a result looks for the turn of its call."""
