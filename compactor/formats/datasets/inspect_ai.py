"""inspect_ai logs: JSON (`.json`) and archives (`.eval`), a sample and epoch a conversation.

A sample is read as the next request would carry it: the messages that the run left, or, where the
run compacted them, those of its last request and what followed. References to attachments are read
as their texts and rewritten in place, so attachments and the events that share them stay as they
were. Usage stands beside the request whose answer is in the conversation; requests of scorers and
sub-agents are in `all_usage` only. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple

from compactor.core.errors import Finding
from compactor.core.model import Entry, Overhead, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.blocks import content_parts
from compactor.formats.builder import Builder
from compactor.formats.datasets.inspect_messages import (
    READERS,
    ROLES,
    error_of,
    model_of,
    say_result,
    usage_of,
)
from compactor.formats.datasets.inspect_samples import (
    Item,
    Sample,
    answer_of,
    sample_of,
    sample_runs,
)
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import SYSTEM_ROLES, Carried, field, listed, text_field, value_at
from compactor.formats.raw.members import Members
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import (
    cleared,
    compacted,
    items,
    unanswered,
    unreadable,
)
from compactor.formats.runs import Run, chosen, others

_HEADERS = ("header.json", "_journal/start.json")


class InspectAi(RunLens):
    """inspect_ai evaluation logs: JSON and `.eval` archives, each sample and epoch a thread.

    Args:
        thread: one of `threads(root)`, `<id>_epoch_<n>`; "" is the first.
    """

    name = "inspect-ai"

    def recognises(self, root: Any) -> bool:
        if isinstance(root, Members):
            return any(name in root and _is_header(root[name]) for name in _HEADERS)
        return _is_header(root) and ("samples" in root or "plan" in root)

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all of the sample anew. O(its size).

        Raises:
            InputError: `input.shape` when there is no sample, or none of this name.
        """
        runs = sample_runs(root)
        run = chosen(runs, self.thread)
        story = _Story(sample_of(root, run))
        carried = story.carried()
        return Reading(
            entries=story.builder.entries,
            overhead=_overhead(carried),
            carried=carried,
            findings=[*story.findings(), *([] if self.thread else others(runs))],
            model=story.model,
            usage=tuple(story.usage),
        )

    def runs(self, root: Any) -> Sequence[Run]:
        return sample_runs(root)

    def all_usage(self, root: Any) -> list[Usage]:
        """One a request, in order, sample by sample; those of scorers and sub-agents too."""
        samples = (sample_of(root, run) for run in sample_runs(root))
        found = (usage_of(request.native, 0) for s in samples for request in s.requests())
        return [usage for usage in found if usage is not None]

    def messages(self, root: Any) -> Sequence[Any]:
        sample = sample_of(root, chosen(sample_runs(root), self.thread))
        return [item.native for item in _prompt(sample).items]

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        message = value_at(root, entry.at)
        if error_of(message):
            return [Edit((*entry.at, "error", "message"), text)]
        return blocks.rewrite_content(field(message, "content"), (*entry.at, "content"), text, ())


def _is_header(native: Any) -> bool:
    """Whether an object says what was evaluated: a whole log, or its first member."""
    spec = field(native, "eval")
    return type(field(native, "version")) is int and isinstance(spec, dict) and "task" in spec


class _Prompt(NamedTuple):
    """What the next request of a sample would carry.

    items: its messages.
    last: the last request whose answer is in them.
    first: index of the first request that was made over its beginning.
    before: how many messages the run's own compaction took out.
    cleared: ids of the calls whose results it emptied.
    """

    items: list[Item]
    last: Item | None
    first: int = 0
    before: int = 0
    cleared: frozenset[str] = frozenset()


def _positions(sample: Sample, said: Sequence[Item]) -> dict[Any, list[int]]:
    """Where turns stand among messages: by message id, and by what they say and call."""
    found: dict[Any, list[int]] = {}
    for index, item in enumerate(said):
        if field(item.native, "role") == "assistant":
            for key in _keys(sample, item.native):
                found.setdefault(key, []).append(index)
    return found


def _keys(sample: Sample, message: Any) -> Iterator[Any]:
    """What a turn is known by, the surest first."""
    name = text_field(message, "id")
    if name:
        yield "id", name
    content = sample.resolved(field(message, "content"))
    texts = (
        [content] if isinstance(content, str) else [text_field(b, "text") for b in listed(content)]
    )
    calls = tuple(text_field(call, "id") for call in items(field(message, "tool_calls")))
    yield "says", "\n".join(filter(None, texts)), calls


def _placed(sample: Sample, request: Any, positions: dict[Any, list[int]], low: int) -> int:
    """Where the answer to a request stands among messages, at `low` or behind; -1: nowhere."""
    answer = answer_of(request)
    if not isinstance(answer, dict):
        return -1
    for key in _keys(sample, answer):
        known = positions.get(key, [])
        index = bisect_left(known, low)
        if index < len(known):
            return known[index]
    return -1


def _prompt(sample: Sample) -> _Prompt:
    """The messages as the run left them; behind a compaction of its own the last request's."""
    requests, positions = list(sample.requests()), _positions(sample, sample.messages)
    places = [_placed(sample, request.native, positions, 0) for request in requests]
    index = max((i for i, at in enumerate(places) if at >= 0), default=-1)
    if index < 0:
        return _Prompt(sample.messages, None)
    last, cut = requests[index], places[index]
    first = _first_after_compaction(sample, requests)
    if not 0 < first <= index:
        return _Prompt(sample.messages, last)
    sent = sample.input_of(last)
    before, emptied = _taken_out(sample, sent, sample.messages[:cut])
    return _Prompt([*sent, *sample.messages[cut:]], last, first, before, emptied)


def _taken_out(
    sample: Sample, sent: Sequence[Item], said: Sequence[Item]
) -> tuple[int, frozenset[str]]:
    """How many of the messages are not in a request, and of which calls it has results, emptied."""
    kept = {key for item in sent for key in _any_key(sample, item.native)}
    answered = {text_field(item.native, "tool_call_id") for item in sent}
    before, emptied = 0, list[str]()
    for item in said:
        if _is_leading(item) or not kept.isdisjoint(_any_key(sample, item.native)):
            continue
        call = text_field(item.native, "tool_call_id")
        if call and call in answered:
            emptied.append(call)
        else:
            before += 1
    return before, frozenset(emptied)


def _any_key(sample: Sample, message: Any) -> list[Any]:
    role, call = field(message, "role"), text_field(message, "tool_call_id")
    return [(str(role), call, *key) for key in _keys(sample, message)]


def _first_after_compaction(sample: Sample, requests: Sequence[Item]) -> int:
    """Index of the first request behind the last compaction of the run; 0 without one."""
    compactions = [item.at for item in sample.events if field(item.native, "event") == "compaction"]
    if not compactions:
        return 0
    place = {item.at: index for index, item in enumerate(sample.events)}
    last = place[compactions[-1]]
    size = len(compactions[-1])
    return next((i for i, r in enumerate(requests) if place[r.at[:size]] > last), len(requests))


class _Story:
    """Tells the prompt of a sample to a builder, and finds where in it requests were made."""

    def __init__(self, sample: Sample) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.odd: list[Path] = []
        self.model = ""
        self._sample = sample
        self._prompt = _prompt(sample)
        self._lead = list(takewhile(_is_leading, self._prompt.items))
        shared = Counter(item.at for item in self._prompt.items)
        self._shared = {at for at, count in shared.items() if count > 1}
        starts = [0] * len(self._lead)
        starts += [self._say(item) for item in self._prompt.items[len(self._lead) :]]
        self._find_requests(starts)

    def _find_requests(self, starts: Sequence[int]) -> None:
        """Requests beside the entries that their answers began."""
        positions, low = _positions(self._sample, self._prompt.items), 0
        for request in islice(self._sample.requests(), self._prompt.first, None):
            place = _placed(self._sample, request.native, positions, low)
            if place < 0:
                continue
            low = place + 1
            n = starts[place]
            usage = usage_of(request.native, n)
            self.model = model_of(request.native) or self.model
            if usage is not None and n > 0:
                self.usage.append(usage)

    def carried(self) -> Carried:
        """System prompt and tools of the last request; only the prompt where none is in the log."""
        last = self._prompt.last
        lead, tools = self._lead, list[Any]()
        if last is not None:
            sent = list(takewhile(_is_leading, self._sample.input_of(last)))
            lead, tools = sent or lead, items(field(last.native, "tools"))
        texts: list[str] = []
        for item in lead:
            content = self._sample.resolved(field(item.native, "content"))
            parts = content_parts(Builder(), content, (*item.at, "content"), READERS)
            texts += [part.text for part in parts]
        resolved = tuple(self._sample.resolved(tool) for tool in tools)
        return Carried(tuple(filter(None, texts)), resolved, last is not None)

    def findings(self) -> Iterator[Finding]:
        yield from self.builder.findings
        yield from unanswered(self.builder.entries)
        yield from compacted(self._prompt.before, "messages")
        yield from cleared(len(self._prompt.cleared))
        yield from unreadable(self.odd, "messages")

    def _say(self, item: Item) -> int:
        """Say a message; the index of the entry that it began or became a part of."""
        role = field(item.native, "role")
        say = ROLES.get(role) if isinstance(role, str) else None
        if say is None:
            self.odd.append(item.at)
            return self.builder.size
        before = self.builder.size
        native = self._sample.resolved(item.native)
        if say is say_result:
            is_shared = item.at in self._shared  # changed here, it would change there too
            is_cleared = text_field(native, "tool_call_id") in self._prompt.cleared
            say_result(self.builder, native, item.at, required=is_shared, cleared=is_cleared)
        else:
            say(self.builder, native, item.at)
        return before if self.builder.size > before else max(before - 1, 0)


def _overhead(carried: Carried) -> Overhead:
    texts = (t for tool in carried.tools for t in blocks.tool_texts(tool, tool, "parameters"))
    return Overhead(tuple(filter(None, (*carried.system, *texts))), carried.known)


def _is_leading(item: Item) -> bool:
    return field(item.native, "role") in SYSTEM_ROLES
