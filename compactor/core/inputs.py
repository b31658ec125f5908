"""Long strings in the arguments of old calls: what could go, and what stands in their places.

In real sessions arguments are a fifth of all tokens, most of it file contents that a call wrote. A
string becomes a marker inside the same valid JSON. Specification: DESIGN section 4 (`elideInputs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from compactor.core.arguments import replaced
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
