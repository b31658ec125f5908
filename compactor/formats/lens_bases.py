"""Lenses to build on: what most formats change in the same way.

What a format holds and how it is read is each lens's own. Where the calls of an entry stand at the
addresses that reading found, a change to their arguments is the same everywhere: `AddressedCalls`.
`RowLens` is for recordings in lines, `RunLens` for files of several conversations, `MessageList`
for the shapes that providers take, in which summaries and edits can be shown.
Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from compactor.core import view
from compactor.core.model import Entry, Path, Reading
from compactor.formats import blocks, revisions
from compactor.formats.builder import Builder
from compactor.formats.messages import SYSTEM_ROLES, Body, Carried, locate, read_messages
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items
from compactor.formats.runs import Run
from compactor.formats.speech import Shape


class AddressedCalls:
    """A lens whose calls have the addresses of their arguments."""

    def rewrite_argument(
        self, root: Any, entry: Entry, call: int, path: Path, text: str
    ) -> list[Edit]:
        return blocks.rewrite_argument(root, entry.calls[call], path, text)


class RowLens(AddressedCalls):
    """A lens of a recording whose messages are its lines."""

    def messages(self, root: Any) -> Sequence[Any]:
        return items(root)


class RunLens(AddressedCalls):
    """A lens of files that may hold several conversations.

    Args:
        thread: one of `threads(root)`; "" is the first.
    """

    def __init__(self, thread: str = "") -> None:
        self.thread = thread

    def runs(self, root: Any) -> Sequence[Run]:
        """The conversations, the one that is read when none is asked for first."""
        raise NotImplementedError

    def threads(self, root: Any) -> Sequence[str]:
        return [run.name for run in self.runs(root)]

    def of_thread(self, name: str) -> Self:
        return type(self)(name)


class MessageList(AddressedCalls):
    """A lens of requests: a body with a list of messages, or the bare list. It is its own dialect.

    shape: what its messages look like, for what is shown in their place.
    leading: roles whose messages at the very start are overhead, not entries.
    """

    name: str
    shape: ClassVar[Shape]
    leading: tuple[str, ...] = SYSTEM_ROLES

    def located(self, root: Any) -> Body:
        """Where the messages are.

        Raises:
            InputError: as `locate`.
        """
        return locate(root)

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        raise NotImplementedError

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        raise NotImplementedError

    def tool_texts(self, tool: Any) -> list[str]:
        raise NotImplementedError

    def read(self, root: Any, known: Reading | None = None) -> Reading:
        return read_messages(self, self.located(root), known)

    def messages(self, root: Any) -> Sequence[Any]:
        return self.located(root).items

    def replace_runs(
        self, root: Any, entries: Sequence[Entry], runs: Sequence[view.Run]
    ) -> list[Edit]:
        return revisions.replace_runs(self.shape, self.located(root), entries, runs)

    def rewrite_text(self, root: Any, entry: Entry, part: int, text: str) -> list[Edit]:
        return revisions.rewrite_text(self.shape, self.located(root), entry, part, text)

    def block_of(self, root: Any, entry: Entry, part: int) -> Path:
        return revisions.block_of(self, self.shape, self.located(root), entry, part)
