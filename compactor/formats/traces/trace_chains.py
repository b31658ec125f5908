"""Conversations of a trace: which of its recorded requests belong together, and which is the main.

A request goes on with the conversation whose entries its own begin with, or with which it shares
more than that began with: then a harness changed what lies between. One that carries only what is
new, because the provider keeps the rest or the observer left it out, goes on with the answer before
it: its first result answers a call of that answer, or it says nothing and was made in the same;
what tools gave in between is then what was recorded of them. Every other request begins a
conversation. Linear in what the trace holds. Specification: DESIGN section 3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from compactor.core.errors import Finding
from compactor.core.model import Entry, Kind, Overhead, Part, Path, Reading, Usage, entry_digest
from compactor.formats.builder import Builder
from compactor.formats.messages import Carried, overhead_of
from compactor.formats.placed import Listing, tell
from compactor.formats.recorded import unanswered
from compactor.formats.runs import MAIN, Run, chosen, named, others
from compactor.formats.tool_texts import any_tool_texts


class Request(NamedTuple):
    """A request to a model, as it was recorded.

    name: its id.
    parent: what it was made in; "" when that is not known.
    asked: what it carried; None when that cannot be read.
    answered: what the model said; None when that cannot be read.
    carried: system texts and tools that are recorded beside the messages.
    usage: what the provider counted; its `n` is not used.
    """

    name: str
    parent: str
    asked: Listing | None
    answered: Listing | None = None
    carried: Carried = Carried()
    usage: Usage | None = None
    model: str = ""


class ToolRun(NamedTuple):
    """What a tool gave, recorded on its own. at: address of its text, or of what holds blocks."""

    parent: str
    call_id: str
    name: str
    texts: list[str]
    others: list[Part]
    at: Path
    error: bool = False


class Chain:
    """One conversation.

    first, last: the numbers of the steps with which it began and went on.
    open_keys: what a request may begin with that goes on with its last one, before any answer.
    """

    def __init__(self, number: int) -> None:
        self.first = self.last = number
        self.requests: list[Request] = []
        self.usage: list[Usage] = []
        self.builder = Builder()
        self.open_keys: tuple[str, ...] = ()
        self._begun_with = 0
        self._changed = 0

    def shares(self, size: int) -> bool:
        """Whether so many entries in common make a request one of this conversation."""
        return size >= self.builder.size or size > self._begun_with

    def becomes(self, builder: Builder, shared: int) -> None:
        """The conversation as another request has it, of which it shares the first entries."""
        kept = [usage for usage in self.usage if usage.n <= shared]
        self._changed += len(self.usage) - len(kept)
        self.builder, self.usage = builder, kept
        self._begun_with = self._begun_with or builder.size

    def add(self, request: Request, number: int) -> None:
        """A request over the entries so far."""
        self.requests.append(request)
        self.last = number
        if request.usage is not None and self.builder.size:
            self.usage.append(msgspec.structs.replace(request.usage, n=self.builder.size))

    def reading(self) -> Reading:
        """The conversation as its last request carried it."""
        entries = self.builder.entries
        models = filter(None, map(_model, reversed(self.requests)))
        carried, overhead = _carried(self.requests)
        return Reading(
            entries=entries,
            overhead=overhead,
            carried=carried,
            findings=[*self.builder.findings, *unanswered(entries), *self._changes()],
            model=next(models, ""),
            usage=tuple(self.usage),
        )

    def _changes(self) -> Iterator[Finding]:
        if self._changed:
            message = f"{self._changed} requests carried a history that was left or changed later"
            yield Finding("off_branch", message)


def chains_of(steps: Iterable[Request | ToolRun]) -> list[Chain]:
    """The conversations of a trace in the order of their beginnings.

    Args:
        steps: oldest first.
    """
    weaver = _Weaver()
    for number, step in enumerate(steps):
        if isinstance(step, ToolRun):
            weaver.runs.setdefault(step.parent, []).append(step)
        else:
            weaver.take(step, number)
    return [chain for chain in weaver.chains if chain.builder.size]


class _Weaver:
    """Puts requests into conversations.

    runs: what tools gave since the last request in the same parent.
    """

    def __init__(self) -> None:
        self.chains: list[Chain] = []
        self.runs: dict[str, list[ToolRun]] = {}
        self._by_key: dict[str, Chain] = {}
        self._by_call: dict[str, Chain] = {}
        self._by_parent: dict[str, Chain] = {}

    def take(self, request: Request, number: int) -> None:
        """The next request."""
        if request.asked is None:
            chain = self._by_parent.get(request.parent) or self._begun(number)
            self._go_on(chain, request)
        else:
            chain = self._with_messages(request, request.asked, number)
        chain.add(request, number)
        self._expect(chain, request)

    def _with_messages(self, request: Request, asked: Listing, number: int) -> Chain:
        builder = Builder()
        tell(builder, asked)
        first = builder.entries[0] if builder.size else None
        if first is not None and first.kind is Kind.TOOL and first.call is None:
            chain = self._by_call.get(first.call_id)
            if chain is not None:
                self._go_on(chain, request)
                return chain
        keys = _keys(builder.entries, request)
        chain, shared = self._extended(keys)
        if chain is None:
            chain = self._begun(number)
        chain.becomes(builder, shared)
        self._remember(chain, keys)
        return chain

    def _extended(self, keys: Sequence[tuple[str, ...]]) -> tuple[Chain | None, int]:
        """The conversation that has the most entries in common, and how many."""
        for size in range(len(keys), 0, -1):
            for key in keys[size - 1]:
                chain = self._by_key.get(key)
                if chain is not None and chain.shares(size):
                    return chain, size
        return None, 0

    def _remember(self, chain: Chain, keys: Sequence[tuple[str, ...]]) -> None:
        """What later requests may begin with that go on with this one."""
        self._forget(chain)
        self._by_key.update((each[0], chain) for each in keys if len(each) == 1)
        if keys and len(keys[-1]) > 1:
            chain.open_keys = keys[-1]
            self._by_key.update(dict.fromkeys(keys[-1], chain))

    def _forget(self, chain: Chain) -> None:
        """A conversation that went on is no longer one that nobody answered."""
        for key in chain.open_keys:
            if self._by_key.get(key) is chain:
                del self._by_key[key]
        chain.open_keys = ()

    def _go_on(self, chain: Chain, request: Request) -> None:
        """Say the last answer, what tools gave since, and what the request itself carries."""
        self._forget(chain)
        answered = chain.requests[-1].answered if chain.requests else None
        if answered is not None:
            tell(chain.builder, answered)
        if request.asked is not None:
            tell(chain.builder, request.asked)
            return
        for run in self.runs.get(request.parent, ()):
            _say_run(chain.builder, run)

    def _expect(self, chain: Chain, request: Request) -> None:
        """What a request that carries only what is new will answer, or be made in."""
        self.runs.pop(request.parent, None)
        self._by_parent[request.parent] = chain
        if request.answered is None:
            return
        builder = Builder()
        tell(builder, request.answered)
        for entry in builder.entries:
            self._by_call.update((call.id, chain) for call in entry.calls if call.id)

    def _begun(self, number: int) -> Chain:
        chain = Chain(number)
        self.chains.append(chain)
        return chain


def _model(request: Request) -> str:
    return request.model or (request.usage.model if request.usage is not None else "")


def _say_run(builder: Builder, run: ToolRun) -> None:
    builder.result(
        run.call_id,
        run.texts,
        run.others,
        run.at,
        error=run.error,
        name=run.name,
        in_order=True,
    )


def _keys(entries: Sequence[Entry], request: Request) -> list[tuple[str, ...]]:
    """For each entry the identities of all up to it.

    What only a person said, another agent may have been asked as well: then it is the same
    conversation if it was made in the same, or with the same system texts.
    """
    made_in = request.parent or request.name
    apart = [_hash("system", *_system(request)), _hash("parent", made_in)]
    keys: list[tuple[str, ...]] = []
    last, is_answered = "", False
    for entry in entries:
        last = _hash(last, entry_digest(entry))
        is_answered = is_answered or entry.kind is Kind.ASSISTANT
        keys.append((last,) if is_answered else tuple(_hash(last, each) for each in apart))
    return keys


def _hash(*pieces: str) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        data = piece.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def _system(request: Request) -> tuple[str, ...]:
    return _carried([request], with_tools=False)[1].texts


def _carried(requests: Sequence[Request], *, with_tools: bool = True) -> tuple[Carried, Overhead]:
    """What the last request that says so carries beside its entries, and its texts."""
    for request in reversed(requests):
        own = request.asked.carried() if request.asked is not None else Carried()
        dialect = request.asked.dialect if request.asked is not None else None
        beside = [text for text in request.carried.system if text not in own.system]
        tools = own.tools if with_tools else ()
        found = Carried((*beside, *own.system), tools, own.known or request.carried.known)
        texts = [*overhead_of(dialect, found).texts] if dialect else beside
        if with_tools and not own.tools:
            found = found._replace(tools=request.carried.tools)
            for tool in request.carried.tools:
                texts += any_tool_texts(tool)
        if found.known:
            return found, Overhead(tuple(filter(None, texts)), known=True)
    return Carried(), Overhead()


def runs_of(steps: Iterable[Request | ToolRun]) -> list[Run]:
    """The conversations of a trace by unique names, the main one first.

    The main one is not enclosed in the time of another, and of those it has the most requests, then
    the most entries, then began first.
    """
    chains = chains_of(steps)
    until, enclosed = -1, []
    for chain in chains:
        enclosed.append(until > chain.last)
        until = max(until, chain.last)

    def rank(index: int) -> tuple[bool, int, int, int]:
        chain = chains[index]
        return (enclosed[index], -len(chain.requests), -chain.builder.size, index)

    main = min(range(len(chains)), key=rank, default=-1)
    rest = [chain for index, chain in enumerate(chains) if index != main]
    first = [Run(MAIN, (), chains[main])] if chains else []
    return named([*first, *(Run(chain.requests[0].name, (), chain) for chain in rest)])


_NO_MESSAGES = "no request of the trace has messages that can be read"


def read_thread(steps: Iterable[Request | ToolRun], thread: str) -> Reading:
    """The reading of one conversation of a trace, "" for the main one.

    Requests without messages are one that says nothing: most observers record those only when they
    are told to.

    Raises:
        InputError: `input.shape` when there is no such conversation, or no request at all.
    """
    steps = list(steps)
    runs = runs_of(steps)
    if not (runs or thread) and any(isinstance(step, Request) for step in steps):
        return Reading([], Overhead(), [Finding("messages_not_recorded", _NO_MESSAGES)])
    chain: Chain = chosen(runs, thread).native
    reading = chain.reading()
    if not thread:
        reading.findings += others(runs)
    return reading
