"""What lenses of traces share: a trace is steps, and one of its conversations is read.

A lens says what the requests and tool runs of a trace are; `trace_chains` puts them together.
Which spans are no requests of their own, as they are around others, is said here too.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from compactor.core.model import Entry, Reading, Usage
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import shape_error
from compactor.formats.raw.native import Edit
from compactor.formats.runs import Run
from compactor.formats.traces.recorded_messages import rewrite
from compactor.formats.traces.trace_chains import Request, ToolRun, read_thread, runs_of


class TraceLens(RunLens):
    """A lens of traces.

    Args:
        thread: one of `threads(root)`; "" is the main conversation.
    """

    name: str

    def recognises(self, root: Any) -> bool:
        raise NotImplementedError

    def messages(self, root: Any) -> Sequence[Any]:
        raise NotImplementedError

    def steps(self, root: Any) -> Iterable[Request | ToolRun]:
        """Requests, and what tools gave, oldest first. O(n)."""
        raise NotImplementedError

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: which request is the last depends on all. O(n).

        Raises:
            InputError: `input.shape` when it is no such trace, no request is in it, or the thread
                does not exist.
        """
        if not self.recognises(root):
            raise shape_error((), f"no request of a trace as {self.name} has them")
        return read_thread(self.steps(root), self.thread)

    def runs(self, root: Any) -> Sequence[Run]:
        return runs_of(self.steps(root))

    def all_usage(self, root: Any) -> list[Usage]:
        steps = (step for step in self.steps(root) if isinstance(step, Request))
        return [step.usage for step in steps if step.usage is not None]

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return rewrite(root, entry, text)


class Link(NamedTuple):
    """A span, run or observation: its id, what it was made in, and whether it is a request."""

    id: str
    parent: str
    is_request: bool


def around(links: Sequence[Link]) -> frozenset[str]:
    """Ids of those that have a request inside them: they repeat it. Amortised O(1) a link."""
    parents = {link.id: link.parent for link in links if link.id}
    outer: set[str] = set()
    for link in links:
        above = link.parent if link.is_request else ""
        while above and above not in outer:
            outer.add(above)
            above = parents.get(above, "")
    return frozenset(outer)
