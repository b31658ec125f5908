"""What a format must offer: a lens between native data and entries.

A lens reads entries out of native data, each with an address into it, and says which edits put
another text in the place of a result's body or of a string inside a call's arguments. It never
decides anything. Adding a format is one file here plus one row in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from compactor.core.model import Entry, Path, Reading, Usage
from compactor.core.view import Run
from compactor.formats.raw.native import Edit


class Lens(Protocol):
    """One format. Stateless; every method is pure.

    name: the word after `-f`.
    """

    name: str

    def recognises(self, root: Any) -> bool:
        """Whether the parsed native data is of this format. Looks at shape, never at length."""
        ...

    def read(self, root: Any, known: Reading | None = None) -> Reading:
        """Entries, overhead and findings of native data.

        Args:
            root: parsed JSON, or the list of rows of a JSON Lines document.
            known: an earlier reading by this lens; what it shares with `root` by object identity is
                not read again, and its lists grow in place.

        Raises:
            InputError: `input.shape` with the `$.path` of the fault.
        """
        ...

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """Edits that make `text` the body of a tool entry in its native shape, media gone."""
        ...

    def rewrite_argument(
        self, root: Any, entry: Entry, call: int, path: Path, text: str
    ) -> list[Edit]:
        """Edits that replace the string at `path` inside the arguments of `entry.calls[call]`."""
        ...

    def messages(self, root: Any) -> Sequence[Any]:
        """The native messages or rows, oldest first."""
        ...


@runtime_checkable
class CacheBreakpoints(Protocol):
    """A format in which a request marks where the provider's prompt cache may be read.

    breakpoint_limit: how many a request may have.
    cache_rules: rules of models that know them (`cache_rule` of the model table).
    """

    breakpoint_limit: int
    cache_rules: tuple[str, ...]

    def block_at_end(self, root: Any, entry: Entry) -> Path | None:
        """Address of the block that ends an entry, or of the last in it that can have a breakpoint.

        Args:
            root: the request as shown; entries are where they were.
        """
        ...

    def breakpoints(self, root: Any) -> int:
        """How many breakpoints a request has already."""
        ...

    def place_breakpoint(self, root: Any, at: Path) -> list[Edit]:
        """Edits that set a breakpoint on the block at an address; none where one stands."""
        ...


@runtime_checkable
class SignedReasoning(Protocol):
    """A format whose provider signs reasoning and may bind it to the prefix before it."""

    def remove_reasoning(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        """Edits that remove an entry's signed reasoning; a message left empty keeps `text`."""
        ...

    def bind_reasoning(self, root: Any, binding: dict[str, str]) -> list[Edit] | None:
        """Edits that let the provider drop reasoning whose prefix changed; none where it may.

        Returns:
            None when the request cannot say so: a bare list, thinking that is turned off or of a
            kind that takes no binding.
        """
        ...


@runtime_checkable
class Revisions(Protocol):
    """A format in which summaries and edits can be shown: all shapes of requests."""

    def replace_runs(self, root: Any, entries: Sequence[Entry], runs: Sequence[Run]) -> list[Edit]:
        """Edits that show each run of entries as one text of the user.

        What the entries hold goes, and what is left of a message that holds other entries too
        stays. The provider's rules on who speaks after whom hold in what comes out: a text is a
        message of its own, or a block of the message of the user beside it.

        Args:
            entries: all of the request, oldest first. Entries that a run of ours stood for when
                the request came in have the address of what stands for them.
            runs: to show, oldest first; no call in one has a result outside of it.
        """
        ...

    def rewrite_text(self, root: Any, entry: Entry, part: int, text: str) -> list[Edit]:
        """Edits that put `text` in the place of the text `entry.parts[part]`."""
        ...

    def block_of(self, root: Any, entry: Entry, part: int) -> Path:
        """The address of the block that `entry.parts[part]` of a user entry comes from.

        That of the message where its content is a text.
        """
        ...


@runtime_checkable
class Threads(Protocol):
    """A format whose files may hold several conversations: sub-agents, runs, recorded requests."""

    def threads(self, root: Any) -> Sequence[str]:
        """Names of the conversations, unique and in document order; the first is what `read` reads.

        A file's one main conversation is named "main"; others by an id that the file gives them.
        """
        ...

    def of_thread(self, name: str) -> Lens:
        """The same lens for another conversation. Addresses are of the same native data.

        `read` of it raises `InputError` (`input.shape`) when there is no such conversation.
        """
        ...


@runtime_checkable
class RecordedUsage(Protocol):
    """A recording that holds what providers counted."""

    def all_usage(self, root: Any) -> list[Usage]:
        """Usage of every request of a file, once each, in order.

        Those of every conversation and of branches that were left too; `n` is 0, as no entries are
        implied. A format that has sums only gives one `Usage` with their number of `requests`.
        """
        ...
