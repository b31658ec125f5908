"""Stubs: results that say "unchanged since #0012", which must stay before the model.

A stub whose target is no longer verbatim in the view is resolved: in the old region it goes with
its target, from the cutoff on it gets its own text back, unless one resolved before it now shows
those lines of the same file. This module knows which stubs are in view and which have lost their
target; it does not decide when. Specification: DESIGN section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compactor.core.brackets import Brackets
from compactor.core.facts import Facts
from compactor.core.records import GONE, SHOWS, Resolution
from compactor.core.texts import ContextTexts

Stored = Callable[[int], str | None]
"""Number of a result → the full text that it stands for; None when nothing is stored."""


class Stubs:
    """The results in view that have an id, and those among them that are stubs. O(1) an event.

    Attributes:
        standing: number → seq of what stands verbatim in the view and is no stub.
        loose: seqs of stubs whose target does not stand.
    """

    def __init__(self, texts: ContextTexts) -> None:
        self._words = Brackets(texts)
        self.standing: dict[int, int] = {}
        self.loose: dict[int, None] = {}
        self._stubs: dict[int, Facts] = {}
        self._of: dict[int, dict[int, None]] = {}

    def arrive(self, seq: int, facts: Facts) -> None:
        """A result stands in the view."""
        if not facts.is_stub:
            self.standing[facts.number] = seq
            for stub in self._of.get(facts.number, ()):
                self.loose.pop(stub, None)
            return
        self._stubs[seq] = facts
        self._of.setdefault(facts.target, {})[seq] = None
        if facts.target not in self.standing:
            self.loose[seq] = None

    def leave(self, seq: int, facts: Facts) -> None:
        """A result does not stand in the view any more, or not as it was."""
        if seq in self._stubs:
            target = self._stubs.pop(seq).target
            del self._of[target][seq]
            self.loose.pop(seq, None)
        elif self.standing.get(facts.number) == seq:
            del self.standing[facts.number]
            self.loose |= self._of.get(facts.number, {})

    def of(self, number: int) -> list[int]:
        """Seqs of the stubs that name a result, ascending."""
        return sorted(self._of.get(number, ()))

    def resolve(
        self, seqs: Iterable[int], cutoff: int, stored: Stored, digest: Callable[[int], str]
    ) -> list[Resolution]:
        """What stubs become that have lost their target. Changes nothing.

        Args:
            seqs: of the stubs, in any order.
            cutoff: where the recent region begins.
            digest: seq → digest of the stub as it was inserted.

        Returns:
            oldest first; without those whose text is not stored, which stay as they are.
        """
        shown: dict[tuple[str, str], list[Facts]] = {}
        resolved = []
        for seq in sorted(seqs):
            stub = self._stubs[seq]
            key = (stub.resolved, stub.sha) if stub.sha else ("", stub.same_key)
            other = next((o for o in shown.get(key, ()) if _covers(o, stub)), None)
            text, target = None, GONE
            if seq < cutoff:
                text = self._words.gone(stub)
            elif other is not None:
                text, target = self._words.named(stub, other), other.number
            else:
                full, target = stored(stub.number), SHOWS
                text = None if full is None else self._words.shown(stub, full)
                shown.setdefault(key, []).append(stub)
            if text is not None:
                resolved.append(Resolution(seq, digest(seq), text, target))
        return resolved


def _covers(shown: Facts, asked: Facts) -> bool:
    """Whether a result shows all the lines of another, of the same content."""
    return not asked.sha or (shown.first <= asked.first and asked.last <= shown.last)
