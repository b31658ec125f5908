"""Sections: the view cut where no tool call is outstanding, so that an edit never splits a step.

A section is one message of the user, one reply, or one turn with every result that it asked for. It
is named by the seq of its first entry and keeps the name; a run of sections that an edit or a
summary replaced is one section under the first name, and the other names are retired.
Specification: DESIGN section 8, seed 004.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from compactor.core.errors import EditError
from compactor.core.fold import Fold
from compactor.core.model import Entry, Kind
from compactor.core.view import Run

_NAME = re.compile(r"S(0|[1-9][0-9]{0,17})")
_SPAN = re.compile(r"(S[0-9]{1,18})\s*\.\.\s*(S[0-9]{1,18})")


class Section(NamedTuple):
    """One section of the view.

    id: `S412`, of the seq of its first entry.
    kind: of its first entry; `user` for a substitution.
    first, end: entries, as indexes of the fold.
    tokens: as shown; after: of all that is shown behind it.
    stands_for: the span of original names that it replaced, `S5..S9`; "" for an original.
    protected: no edit may touch it, and why; "" when one may.
    run: what is shown in its place.
    """

    id: str
    kind: str
    first: int
    end: int
    tokens: int
    after: int
    stands_for: str = ""
    protected: str = ""
    run: Run | None = None


class Sections:
    """The sections of a fold, oldest first. O(entries) to make.

    Args:
        fold: not changed.
        protect_first_user: as in the policy.
        last: seq of the last entry that is looked at; None for all.
    """

    def __init__(self, fold: Fold, *, protect_first_user: bool, last: int | None = None) -> None:
        self._fold = fold
        self._protects = protect_first_user
        self._n = fold.n if last is None else bisect_right(fold.labels, last)
        self._originals = boundaries(fold.entries[: self._n])
        self.all = self._cut()
        self._by_id = {section.id: index for index, section in enumerate(self.all)}

    def span(self, named: str) -> list[Section]:
        """The sections of a name (`S3`), of a span of names (`S3..S6`) or of a list (`S3, S4`).

        Raises:
            EditError: `edit.unknown_section`, `edit.retired_section` with what stands for it,
                `edit.not_contiguous` for a span that runs backwards or a list with a gap.
        """
        low, high = self._ends(named)
        return self.all[low : high + 1]

    def _ends(self, named: str) -> tuple[int, int]:
        spans = [self._span(one.strip()) for one in named.split(",")]
        for (_, before), (behind, _) in pairwise(spans):
            if behind != before + 1:
                raise _not_contiguous(
                    f"{self.all[behind].id} does not follow {self.all[before].id}; name sections "
                    "that stand in a row, in their order"
                )
        return spans[0][0], spans[-1][1]

    def _span(self, named: str) -> tuple[int, int]:
        match = _SPAN.fullmatch(named)
        first, last = match.groups() if match else (named, named)
        low, high = self._index(first), self._index(last)
        if low > high:
            raise _not_contiguous(
                f"{first} lies behind {last}; a span goes from the older to the newer section"
            )
        return low, high

    def editable(self, named: str) -> list[Section]:
        """The same, none of them protected.

        Raises:
            EditError: `edit.protected` too.
        """
        found = self.span(named)
        for section in found:
            if section.protected:
                raise EditError(
                    f"{section.id} cannot be edited: {section.protected}",
                    code="edit.protected",
                    path="sections",
                )
        return found

    def original_names(self, first: int, end: int) -> str:
        """The names that sections of entries first..end-1 had at first, as a span."""
        starts = [start for start in self._originals if first <= start < end]
        names = [f"S{self._fold.labels[start]}" for start in starts]
        return names[0] if len(names) == 1 else f"{names[0]}..{names[-1]}"

    def index(self, section: Section) -> int:
        """Where a section stands."""
        return self._by_id[section.id]

    def one(self, named: str) -> Section:
        """The section of a name.

        Raises:
            EditError: as `span`, and `edit.not_contiguous` for several.
        """
        found = self.span(named)
        if len(found) > 1:
            raise _not_contiguous(f"{named[:80]} are {len(found)} sections; name one of them")
        return found[0]

    def _index(self, name: str) -> int:
        index = self._by_id.get(name)
        if index is not None:
            return index
        run = self._fold.view.runs[self._fold.view.hidden[self._start(name)]]
        stands = f"S{self._fold.labels[run.first]}"
        raise EditError(
            f"{name} was replaced; {stands} stands for it",
            code="edit.retired_section",
            path="sections",
        )

    def _start(self, name: str) -> int:
        """The first entry of an original section."""
        match = _NAME.fullmatch(name)
        seq = int(match.group(1)) if match else -1
        starts = {self._fold.labels[start]: start for start in self._originals}
        if seq not in starts:
            raise EditError(
                f"there is no section {name[:40]!r}",
                code="edit.unknown_section",
                path="sections",
            )
        return starts[seq]

    def _cut(self) -> list[Section]:
        fold, view = self._fold, self._fold.view
        spans: list[tuple[int, int, Run | None]] = []
        bounds = [*self._originals, self._n]
        for start, end in pairwise(bounds):
            run = view.runs.get(start)
            if run is not None:
                spans.append((start, run.end, run))
            elif view.shows(start):
                spans.append((start, end, None))
        users = (i for i in range(self._n) if fold.entries[i].kind is Kind.USER)
        first_user = next(users, None) if self._protects else None
        sections: list[Section] = []
        after = 0
        for start, end, run in reversed(spans):
            tokens = sum(fold.tokens[start:end])
            section = Section(
                id=f"S{fold.labels[start]}",
                kind="user" if run else fold.entries[start].kind.value,
                first=start,
                end=end,
                tokens=tokens,
                after=after,
                stands_for=self.original_names(start, end) if run else "",
                protected=self._protected(start, end, run, first_user),
                run=run,
            )
            sections.append(section)
            after += tokens
        return sections[::-1]

    def _protected(self, start: int, end: int, run: Run | None, first_user: int | None) -> str:
        if run is not None and run.op == "summary":
            return "it is a summary"
        if run is None and any(entry.required for entry in self._fold.entries[start:end]):
            return "the provider needs it as it is"
        if end == self._n and outstanding(self._fold.entries[start:end]):
            return "it is in flight: not all its calls have results"
        if first_user is not None and start <= first_user < end and run is None:
            return "it is the first message of the user"
        return ""


def _not_contiguous(text: str) -> EditError:
    return EditError(text, code="edit.not_contiguous", path="sections")


def boundaries(entries: Sequence[Entry]) -> list[int]:
    """Where sections begin: indexes, ascending. O(entries).

    A turn's section reaches to the last result of its calls, and to the end while one may still
    come. A call that was never answered holds nothing back once the model has gone on.
    """
    ends = list(range(1, len(entries) + 1))
    turn, waiting = 0, Waiting()
    for index, entry in enumerate(entries):
        if entry.kind is Kind.ASSISTANT:
            turn, waiting = index, Waiting()
        if waiting.take(entry):
            ends[turn] = index + 1
    if waiting:
        ends[turn] = len(entries)
    starts, at = [], 0
    while at < len(entries):
        starts.append(at)
        at = ends[at]
    return starts


class Waiting:
    """Calls that wait for their results. Ids repeat in real data, so they are counted."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def take(self, entry: Entry) -> bool:
        """The next entry; whether it is a result that was waited for."""
        for call in entry.calls:
            key = call.id or f" {call.name}"
            self._counts[key] = self._counts.get(key, 0) + 1
        if entry.kind is not Kind.TOOL:
            return False
        key = entry.call_id or f" {entry.name}"
        if key not in self._counts:
            return False
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
        return True


def outstanding(entries: Sequence[Entry]) -> bool:
    """Whether a call of these entries waits for its result."""
    waiting = Waiting()
    for entry in entries:
        waiting.take(entry)
    return bool(waiting)
