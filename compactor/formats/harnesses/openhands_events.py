"""OpenHands' event streams, old and new, alone or wrapped, one or many in a file.

A stream is a list of events, JSON Lines of them, or the `trajectory`, `history` or `events` of an
object; several such objects are several conversations, and so is each delegate of an old stream.
What events say is in `openhands_v0` and `openhands_v1`. Specification: docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compactor.core.model import Entry, Overhead, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.harnesses import openhands_v0, openhands_v1
from compactor.formats.harnesses.openhands_v0 import StoryV0
from compactor.formats.harnesses.openhands_v1 import StoryV1
from compactor.formats.harnesses.openhands_view import Event, is_event, levels
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import Carried, value_at
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import compacted, items, unanswered
from compactor.formats.runs import Run, chosen, id_of, named, others
from compactor.formats.tool_texts import any_tool_texts

_KEYS = ("trajectory", "history", "events", "items")
_IDS = ("instance_id", "conversation_id", "session_id", "id", "run_id")


class OpenHandsEvents(RunLens):
    """OpenHands' event streams: trajectories of V0, events of the agent SDK (V1).

    Args:
        thread: one of `threads(root)`: another stream of the file, or a delegate; "" is the first.
    """

    name = "openhands-events"

    def recognises(self, root: Any) -> bool:
        return any(_is_stream(run.native) for run in _streams(root))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: a new event can take back old ones. O(n).

        Raises:
            InputError: `input.shape` when it holds no stream, or there is no such thread.
        """
        runs = _runs(root)
        run = chosen(runs, self.thread, root)
        events = _of_level(_events(run), run.part)
        story = StoryV1(events) if _is_new(run.native) else StoryV0(events)
        return Reading(
            entries=story.builder.entries,
            overhead=_overhead(story),
            carried=Carried(tuple(story.system), tuple(story.tools or ()), story.tools is not None),
            findings=[
                *story.builder.findings,
                *unanswered(story.builder.entries),
                *compacted(story.view.forgotten, "events"),
                *others(runs),
            ],
            model=story.model,
            usage=tuple(story.usage),
        )

    def messages(self, root: Any) -> Sequence[Any]:
        """The events of the stream."""
        return items(chosen(_runs(root), self.thread, root).native)

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        event = value_at(root, entry.at)
        if openhands_v1.is_event(event):
            return openhands_v1.rewrite_body(event, entry.at, text)
        return openhands_v0.rewrite_body(event, entry.at, text)

    def rewrite_argument(
        self, root: Any, entry: Entry, call: int, path: Path, text: str
    ) -> list[Edit]:
        found = entry.calls[call]
        return blocks.rewrite_argument(root, found, path, text) if found.at else []

    def runs(self, root: Any) -> Sequence[Run]:
        return _runs(root)

    def all_usage(self, root: Any) -> list[Usage]:
        """Of every stream of the file, delegates and what was taken out included."""
        found: list[Usage] = []
        for run in _streams(root):
            if _is_new(run.native):
                found += openhands_v1.all_usage(_events(run))
            elif _is_stream(run.native):
                found += openhands_v0.all_usage(_events(run))
        return found


def _streams(root: Any) -> Iterator[Run]:
    """What may be streams: the root, or a list in it, or in each object of it."""
    if isinstance(root, list) and _is_stream(root):
        yield Run("main", (), root)
        return
    tops = enumerate(root) if isinstance(root, list) else [(-1, root)]
    for index, top in tops:
        at: Path = (index,) if index >= 0 else ()
        if isinstance(top, list):
            yield Run("", at, top)
        for key in _KEYS if isinstance(top, dict) else ():
            if isinstance(top.get(key), list):
                yield Run(id_of(top, _IDS) if at else "main", (*at, key), top[key])
                break


def _runs(root: Any) -> list[Run]:
    return named(_conversations(root), root)


def _conversations(root: Any) -> Iterator[Run]:
    """Each stream, and behind it its delegates."""
    for run in _streams(root):
        if not _is_stream(run.native):
            continue
        yield run
        if not _is_new(run.native):
            parts = dict.fromkeys(filter(None, levels(_events(run))))
            prefix = f"{run.name}/" if run.name and run.name != "main" else ""
            yield from (run._replace(name=prefix + part, part=part) for part in parts)


def _events(run: Run) -> list[Event]:
    """The events of a stream; the oldest logs have them as pairs of action and observation."""
    found: list[Event] = []
    for index, native in enumerate(run.native):
        at = (*run.at, index)
        if isinstance(native, list):
            found += [Event((*at, number), inner) for number, inner in enumerate(native)]
        else:
            found.append(Event(at, native))
    return found


def _of_level(events: Sequence[Event], part: str) -> list[Event]:
    """The events of the agent itself, or of one of its delegates."""
    owners = levels(events)
    return [event for event, owner in zip(events, owners, strict=True) if owner == part]


def _is_stream(native: Any) -> bool:
    return any(map(_is_any_event, items(native)))


def _is_any_event(native: Any) -> bool:
    if isinstance(native, list):
        return any(map(is_event, native))
    return is_event(native) or openhands_v1.is_event(native)


def _is_new(native: Any) -> bool:
    return any(map(openhands_v1.is_event, items(native)))


def _overhead(story: StoryV0 | StoryV1) -> Overhead:
    texts = [*story.system, *(text for tool in story.tools or () for text in any_tool_texts(tool))]
    return Overhead(tuple(filter(None, texts)), known=story.tools is not None)
