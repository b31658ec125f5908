"""Regret: how often the model used an identifier that it could no longer see.

An identifier is a word as programs have them: with a digit, an underscore or a capital inside. Of
those that a model turn uses and that stood anywhere before it, the share whose every occurrence was
elided at that request. What the model wrote itself counts as seen. A sign of what was lost, not a
proof: it may have been remembered from the reasoning, or guessed. Specification: DESIGN section 9.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from compactor.core.model import Entry, Kind
from compactor.replay.prompt import Shown
from compactor.replay.recording import Recording

_WORD: Final = re.compile(r"[A-Za-z0-9_]{6,64}", re.ASCII)
_NAMES: Final = re.compile(r"[0-9_]|[a-z][A-Z]", re.ASCII)


def identifiers(text: str) -> frozenset[str]:
    """The identifiers of a text. O(text)."""
    return frozenset(word for word in set(_WORD.findall(text)) if _NAMES.search(word))


def identifiers_of(entry: Entry) -> frozenset[str]:
    """The identifiers of everything that an entry says."""
    texts = [entry.body, *(part.text for part in entry.parts if not part.signed)]
    texts += [text for call in entry.calls for text in (call.name, call.arguments)]
    return identifiers("\n".join(texts))


class Named:
    """The identifiers of a recording, found once for all policies."""

    def __init__(self, recording: Recording) -> None:
        self.entries = [identifiers_of(entry) for entry in recording.entries]


class Regret:
    """Counts over one replay.

    used: identifiers that model turns used and that had been there before, each turn for itself.
    lost: those of them that were not to be seen any more.
    """

    def __init__(self, recording: Recording, named: Named) -> None:
        self._recording = recording
        self._named = named
        self._here: dict[int, frozenset[str]] = {}
        self._seen: Counter[str] = Counter()
        self._ever: set[str] = set()
        self._n = 0
        self.used = self.lost = 0

    def advance(self, n: int, changes: Mapping[int, Shown | None]) -> None:
        """A request over n entries, and the turn that answers it. O(new and changed text)."""
        for seq in range(self._n, n):
            self._show(seq, self._named.entries[seq])
        self._n = max(self._n, n)
        for seq, shown in changes.items():
            if shown is None:
                self._show(seq, self._named.entries[seq])
            elif shown.text is not None and not shown.text.startswith("\x00"):
                self._show(seq, identifiers(shown.text))
        entries = self._recording.entries
        if n < len(entries) and entries[n].kind is Kind.ASSISTANT:
            used = self._named.entries[n] & self._ever
            self.used += len(used)
            self.lost += sum(not self._seen[name] for name in used)

    def _show(self, seq: int, names: frozenset[str]) -> None:
        self._seen.subtract(self._here.get(seq, ()))
        self._seen.update(names)
        self._ever |= names
        self._here[seq] = names

    @property
    def share(self) -> float:
        """Lost of used; 0 where nothing was used."""
        return self.lost / self.used if self.used else 0.0
