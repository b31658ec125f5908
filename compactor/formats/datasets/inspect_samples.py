"""The samples of an inspect_ai log, in every shape that it stores one.

A sample holds its last conversation, the events of its run (each request a `model` event), a pool
of messages that events refer to by ranges, and attachments: texts that others refer to as
`attachment://ID`. A JSON log has samples in a list; an archive (`.eval`) has a member for each, or
a folder for each whose sequences lie in chunks. Knows where things are, never what a message says.
Sources: inspect_ai's `log/_log.py`, `event/_pool.py`, `log/_recorders/chunked/format.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.messages import field
from compactor.formats.raw.members import Members
from compactor.formats.recorded import items
from compactor.formats.runs import Run, named

_PROTOCOLS: Final = ("attachment://", "tc://")
_MEMBER: Final = re.compile(r"samples/([^/]+)\.json")
_FOLDER: Final = re.compile(r"samples/([^/]+)/sample\.json")
_CHUNK: Final = re.compile(r"(samples/[^/]+/(?:messages|events|attachments)/)([0-9]{1,15})\.json")
_POOLS: Final = (("events_data", "messages"), ("message_pool",))
_EVENTS: Final = (("events",), ("transcript", "events"))
_ATTACHMENTS: Final = (("attachments",), ("transcript", "content"))
_INPUT_MAX: Final = 1_000_000
"""Messages of one request; ranges could say any number."""
_CALL_DEPTH: Final = 50
"""Events inside events; real ones stay below 10."""


class Item(NamedTuple):
    """A native value and its address."""

    native: Any
    at: Path


class Sample(NamedTuple):
    """A sample, its parts found.

    messages: the conversation as the run left it.
    events: of the run, in order; those of its tools and subtasks are inside them.
    pool: messages that events refer to.
    attachments: texts by id.
    """

    messages: list[Item]
    events: list[Item]
    pool: list[Item]
    attachments: Mapping[str, Any]

    def resolved(self, value: Any) -> Any:
        """A value with texts in the place of references; the very same where it has none."""
        if isinstance(value, str):
            for protocol in _PROTOCOLS:
                if value.startswith(protocol):
                    text = self.attachments.get(value[len(protocol) :])
                    return text if isinstance(text, str) else value
            return value
        if isinstance(value, list):
            made = [self.resolved(item) for item in value]
            return (
                made if any(new is not old for new, old in zip(made, value, strict=True)) else value
            )
        if isinstance(value, dict):
            pairs = {key: self.resolved(item) for key, item in value.items()}
            return pairs if any(pairs[key] is not value[key] for key in pairs) else value
        return value

    def requests(self) -> Iterator[Item]:
        """The `model` events of the run, in order."""
        yield from _requests(self.events, 0)

    def input_of(self, request: Item) -> list[Item]:
        """The messages that a request was made with."""
        own = items(field(request.native, "input"))
        if own:
            return [Item(item, (*request.at, "input", i)) for i, item in enumerate(own)]
        return ranges(field(request.native, "input_refs"), self.pool)


def ranges(refs: Any, pool: list[Item]) -> list[Item]:
    """What `[start, end)` pairs refer to."""
    found: list[Item] = []
    for ref in items(refs):
        start, end = ref if isinstance(ref, list) and len(ref) == 2 else (0, 0)
        if type(start) is int and type(end) is int and start >= 0:
            found += pool[start : min(end, start + _INPUT_MAX - len(found))]
    return found


def _requests(events: list[Item], depth: int) -> Iterator[Item]:
    for event in events:
        if field(event.native, "event") == "model":
            yield event
        inner = field(event.native, "events")
        if isinstance(inner, list) and depth < _CALL_DEPTH:
            yield from _requests(_listed(event.native, event.at, ("events",)), depth + 1)


def sample_runs(root: Any) -> list[Run]:
    """The samples of a log by `<id>_epoch_<n>`, in its order; of an archive none is read yet."""
    if isinstance(root, Members):
        found = ((name, _MEMBER.fullmatch(name) or _FOLDER.fullmatch(name)) for name in root)
        return named(Run(match[1], (name,), None) for name, match in found if match)
    samples = enumerate(items(field(root, "samples")))
    return named(
        Run(f"{field(native, 'id')}_epoch_{field(native, 'epoch')}", ("samples", index), native)
        for index, native in samples
        if isinstance(native, dict)
    )


def sample_of(root: Any, run: Run) -> Sample:
    """A sample of a log, read. One without messages has those of its last request."""
    sample = _found(root, run)
    requests = [] if sample.messages else list(sample.requests())
    if not requests:
        return sample
    last = requests[-1]
    answer = answer_of(last.native)
    at = (*last.at, "output", "choices", 0, "message")
    answered = [] if answer is None else [Item(answer, at)]
    return sample._replace(messages=[*sample.input_of(last), *answered])


def _found(root: Any, run: Run) -> Sample:
    if not isinstance(root, Members):
        return _whole(run.native, run.at)
    native = root[str(run.at[0])]
    folder = _FOLDER.fullmatch(str(run.at[0]))
    return _chunked(root, native, folder[1]) if folder else _whole(native, run.at)


def answer_of(request: Any) -> Any:
    """The message that a request was answered with; None without one."""
    choices = items(field(field(request, "output"), "choices"))
    return field(choices[0], "message") if choices else None


def _whole(native: Any, at: Path) -> Sample:
    """A sample that is one JSON object."""
    return Sample(
        messages=_listed(native, at, ("messages",)),
        events=_first(native, at, _EVENTS),
        pool=_first(native, at, _POOLS),
        attachments=next((found for keys in _ATTACHMENTS if (found := _texts(native, keys))), {}),
    )


def _first(native: Any, at: Path, places: tuple[tuple[str, ...], ...]) -> list[Item]:
    return next((found for keys in places if (found := _listed(native, at, keys))), [])


def _listed(native: Any, at: Path, keys: tuple[str, ...]) -> list[Item]:
    """The items of a list in an object."""
    for key in keys:
        native = field(native, key)
    return [Item(item, (*at, *keys, index)) for index, item in enumerate(items(native))]


def _texts(native: Any, keys: tuple[str, ...]) -> Mapping[str, Any]:
    for key in keys:
        native = field(native, key)
    return native if isinstance(native, dict) else {}


def _chunked(root: Members, shell: Any, name: str) -> Sample:
    """A sample whose sequences lie in members of their own, each named by its first index."""
    chunks: dict[str, list[tuple[int, str]]] = {}
    for member in root:
        match = _CHUNK.fullmatch(member)
        if match:
            chunks.setdefault(match[1], []).append((int(match[2]), member))

    def sequence(kind: str) -> list[Item]:
        members = [member for _, member in sorted(chunks.get(f"samples/{name}/{kind}/", []))]
        return [
            Item(item, (member, index))
            for member in members
            for index, item in enumerate(items(root[member]))
        ]

    pool = sequence("messages")
    texts = {str(index): item.native for index, item in enumerate(sequence("attachments"))}
    return Sample(ranges(field(shell, "message_refs"), pool), sequence("events"), pool, texts)
