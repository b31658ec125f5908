"""The one error tree: what went wrong, where, and what to do next.

Every error a caller can meet is a `CompactorError` with a stable `code` (the list in
`CONFORMANCE`), the `path` of the fault (`$.messages[7].content[0]` or `file:line`) and a `hint`
that names the next step. Children say who is to blame. Anything that does not stop us is a
`Finding` in the report instead.
"""

from __future__ import annotations

import msgspec


class CompactorError(Exception):
    """A refused call. Nothing was written and nothing was changed.

    Args:
        message: the problem, one sentence, without the place.
        code: stable machine-readable name, e.g. `input.shape`.
        path: the place, `$.path` into the input or `file:line`; "" when there is none.
        hint: the next step for the person who reads it; "" when the message says it.
    """

    def __init__(self, message: str, *, code: str, path: str = "", hint: str = "") -> None:
        self.message = message
        self.code = code
        self.path = path
        self.hint = hint
        super().__init__(self._text())

    def _text(self) -> str:
        where = f"{self.path}: " if self.path else ""
        then = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.message}{then}"


class InputError(CompactorError):
    """The transcript cannot be used: `input.*`, `counter_changed`."""


class PolicyError(CompactorError):
    """The settings contradict themselves or name something unknown: `policy.*`."""


class JournalError(CompactorError):
    """The journal is damaged, locked or of another conversation: `journal.*`, `store.*`."""


class StoreError(CompactorError):
    """The store of originals is locked, damaged, of another kind, or lacks what was asked for."""


class EditError(CompactorError):
    """An edit of the context that was refused: `edit.*`. The view is as it was."""


class InternalError(CompactorError):
    """Our fault: a law did not hold. Please report it; the input was not changed."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something strange that was carried through untouched.

    Args:
        code: stable name, e.g. `orphan_result`.
        message: one sentence for a person.
        path: `$.path` or `file:line` of the place; "" when it concerns the whole input.
        seq: the entry concerned, or None.
    """

    code: str
    message: str
    path: str = ""
    seq: int | None = None
