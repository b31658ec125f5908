"""Sorts the requests of a recording into conversations, and reads the last of one.

Each record is looked at once and one is held at a time; what is kept of a request is the digests of
its entries. A history of which a request carries only the end is put together from the requests and
answers before it. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain as joined
from typing import Any, NamedTuple, Protocol

import msgspec

from compactor.core.errors import Finding, InputError
from compactor.core.model import Entry, Path, Reading, Usage
from compactor.formats.answers import Answer
from compactor.formats.messages import Body, Dialect, read_messages, shape_error, text_field
from compactor.formats.raw.edits import dotted
from compactor.formats.recorded import compacted
from compactor.formats.runs import MAIN, Run, chosen, others
from compactor.formats.traces.chains import Chain, Chains
from compactor.formats.traces.request_history import Scattered, has_server_history


class Sent(NamedTuple):
    """One request.

    dialect: the format of its messages.
    fields: what it carried beside them.
    at: address of the list of messages.
    items: that list.
    model: the model that was asked.
    answer: what came back.
    after: id of the answer that its messages go on from; "" where it carried all.
    answer_at: address of the answer's output items, where they can be addressed.
    """

    dialect: Dialect
    fields: Mapping[str, Any]
    at: Path
    items: Sequence[Any]
    model: str
    answer: Answer
    after: str = ""
    answer_at: Path = ()


class Skipped(NamedTuple):
    """What is no request of a conversation.

    why: a key of `_SKIPPED`.
    answer: what came back, where it was a model's.
    sent: the request, where it was one that failed.
    before: of a compaction, id of the answer it goes on from; `makes` is what stands for it all.
    """

    why: str
    answer: Answer = Answer()
    sent: Sent | None = None
    before: str = ""
    makes: Sequence[str] = ()


FAILED, OTHER, ANSWER, COMPACTION = "failed", "other", "answer", "compaction"

_SKIPPED: Mapping[str, tuple[str, str]] = {
    FAILED: ("failed_requests", "requests failed and are not read"),
    OTHER: ("other_requests", "requests of other kinds hold no conversation that can be read"),
    ANSWER: ("answers_only", "answers are recorded without their requests"),
    COMPACTION: ("provider_compaction", "requests had the provider summarise the conversation"),
}
"""Why a record is not read → the finding's code and its message, behind a number."""


class Recording(Protocol):
    """Where the records of a recording are, and what each is."""

    def places(self, root: Any) -> Iterable[Path]: ...

    def record(self, root: Any, at: Path) -> Sent | Skipped | None: ...


class _Taken(NamedTuple):
    """What is kept of a request.

    number: of its record, from 1.
    after: index of the request that it goes on from.
    """

    number: int
    at: Path
    after: int | None
    usage: Usage | None
    model: str


class Survey:
    """All records of a recording, each looked at once.

    runs: the conversations, the largest first.
    usage: of every record that has it, in order, with `n` 0.
    """

    def __init__(self, lens: Recording, root: Any, *, is_read: bool = True) -> None:
        self.lens = lens
        self.usage: list[Usage] = []
        self._chains = Chains()
        self._taken: list[_Taken] = []
        self._skipped: Counter[str] = Counter()
        self._odd: list[str] = []
        self._answers: dict[str, int] = {}
        self._summaries: dict[str, int] = {}
        self._fresh: set[int] = set()
        failed: list[tuple[int, Path]] = []
        is_one = False
        for number, at in enumerate(lens.places(root), 1):
            found = lens.record(root, at)
            is_one |= found is not None
            if isinstance(found, Skipped) and found.sent is not None:
                failed.append((number, at))
            self._look(found, number, at, root, is_read=is_read)
        if not is_one:
            raise shape_error((), "no recorded request is in it")
        for number, at in failed if not self._taken else ():
            self._take(self._sent(root, at), number, at, root, is_read=is_read)
        self.runs = [*map(self._run, self._chains.chains())]
        if self.runs:
            self.runs[0] = self.runs[0]._replace(name=MAIN)

    def chosen(self, name: str) -> Chain | None:
        """The conversation of this name, else the first; None when there is none at all."""
        if not self.runs and not name:
            return None
        chain: Chain = chosen(self.runs, name).native
        return chain

    def findings(self) -> list[Finding]:
        """What is not in the conversation that is read."""
        found = [
            Finding(code, f"{self._skipped[why]} {message}")
            for why, (code, message) in _SKIPPED.items()
            if self._skipped[why]
        ]
        if self._odd:
            message = f"{len(self._odd)} requests cannot be read"
            found.append(Finding("unknown_line", message, self._odd[0]))
        return [*found, *others(self.runs)]

    def whole(self, root: Any, chain: Chain) -> Reading:
        """What the last request of a conversation carried, with the usage of those before it."""
        last = chain.requests[-1]
        sent = self._sent(root, self._taken[last].at)
        dialect, body, before = self._body(root, last, sent)
        made = read_messages(dialect, body, None)
        kept = self._chains.kept(chain)
        usage = [
            msgspec.structs.replace(counts, n=n)
            for request, n in kept
            if 0 < n <= len(made.entries) and (counts := self._taken[request].usage) is not None
        ]
        return Reading(
            entries=made.entries,
            overhead=made.overhead,
            carried=made.carried,
            findings=[
                *(_placed(finding, sent.at[:-1]) for finding in made.findings),
                *self._lost(chain, frozenset(request for request, _ in kept)),
                *before,
            ],
            model=next(filter(None, (self._taken[r].model for r in reversed(chain.requests))), ""),
            usage=tuple(usage),
        )

    def _run(self, chain: Chain) -> Run:
        """A conversation by the number of the record in which it began."""
        first = self._taken[chain.requests[0]]
        return Run(f"request-{first.number}", first.at, chain)

    def _look(
        self, found: Sent | Skipped | None, number: int, at: Path, root: Any, *, is_read: bool
    ) -> None:
        if found is not None and found.answer.usage is not None:
            self.usage.append(found.answer.usage)
        if isinstance(found, Sent):
            self._take(found, number, at, root, is_read=is_read)
        elif found is not None:
            self._skip(found)

    def _take(self, sent: Sent, number: int, at: Path, root: Any, *, is_read: bool) -> None:
        """A request: which conversation it belongs to."""
        request = len(self._taken)
        after = self._answers.get(sent.after) if sent.after else None
        entries: Sequence[Entry] = ()
        if is_read:
            try:
                entries = self._own(sent, after, root)
            except InputError as error:
                self._odd.append(error.path)
                return
        joins = None if after is not None else self._summarised(sent)
        if joins is not None:
            self._fresh.add(request)
        self._chains.add(entries, after=after, joins=joins)
        usage = sent.answer.usage
        model = sent.model or (usage.model if usage is not None else "")
        self._taken.append(_Taken(number, at, after, usage, model))
        if sent.answer.id:
            self._answers[sent.answer.id] = request

    def _skip(self, found: Skipped) -> None:
        self._skipped[found.why] += 1
        request = self._answers.get(found.before) if found.before else None
        if request is not None:
            self._summaries.update(dict.fromkeys(found.makes, request))

    def _summarised(self, sent: Sent) -> int | None:
        """The request for whose history an item stands that the provider made."""
        for item in sent.items if self._summaries else ():
            request = self._summaries.get(text_field(item, "encrypted_content"))
            if request is not None:
                return request
        return None

    def _own(self, sent: Sent, after: int | None, root: Any) -> Sequence[Entry]:
        """Entries of what a request carries itself, and of the answer that it goes on from."""
        before: Sequence[Any] = ()
        if after is not None:
            before = self._sent(root, self._taken[after].at).answer.output
        body = Body({}, sent.at, [*before, *sent.items])
        return read_messages(sent.dialect, body, None).entries

    def _sent(self, root: Any, at: Path) -> Sent:
        """The request at an address where one was found before."""
        found = self.lens.record(root, at)
        sent = found.sent if isinstance(found, Skipped) else found
        if sent is None:
            raise shape_error(at, "the recording changed while it was read")
        return sent

    def _body(self, root: Any, last: int, sent: Sent) -> tuple[Dialect, Body, list[Finding]]:
        """The whole history of a request; what of it the file does not hold is said."""
        parts: list[tuple[Path, Sequence[Any]]] = [(sent.at, sent.items)]
        first, link = sent, self._taken[last].after
        while link is not None:
            first = self._sent(root, self._taken[link].at)
            parts += [(first.answer_at, first.answer.output), (first.at, first.items)]
            link = self._taken[link].after
        is_cut = bool(first.after) or has_server_history(sent.fields)
        found = [Finding("provider_history", _MISSING, dotted(sent.at[:-1]))] if is_cut else []
        if len(parts) == 1:
            return sent.dialect, Body(sent.fields, sent.at, sent.items), found
        parts.reverse()
        places = [(*at, i) if at else () for at, items in parts for i in range(len(items))]
        items = [*joined.from_iterable(items for _, items in parts)]
        return Scattered(sent.dialect, places), Body(sent.fields, (), items), found

    def _lost(self, chain: Chain, kept: frozenset[int]) -> Iterator[Finding]:
        """Requests of the conversation whose history the last one does not begin with."""
        lost = [request for request in chain.requests if request not in kept]
        start = max((r for r in chain.requests if r in self._fresh), default=-1)
        yield from compacted(sum(request < start for request in lost), "requests")
        left = sum(request >= start for request in lost)
        if left:
            message = f"{left} requests carried a history that was left or changed later"
            yield Finding("off_branch", message)


_MISSING = "the provider keeps a part of this history that is not in the file"


def _placed(finding: Finding, body: Path) -> Finding:
    """A finding about a request's own fields, with its place in the recording."""
    start = dotted(body)
    if not finding.path or finding.path.startswith(start):
        return finding
    return msgspec.structs.replace(finding, path=start + finding.path[1:])
