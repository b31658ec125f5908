"""Trajectories in the Agent Data Protocol's standard form, `{id, content, details}`, often many.

An action is a call: code under the name of its language, an API's function with its `kwargs`; what
is said with it is its `description`. What the environment shows behind actions answers them: each
its own where there are as many, else the last. A text whose `source` is the user is what a person
said, although some data sets write results so. Of a web page only the tree is shown, where there is
one. Source: the protocol's `schema`. Specification: docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading
from compactor.formats import blocks
from compactor.formats.builder import Builder
from compactor.formats.lens_bases import RunLens
from compactor.formats.media import image_url_part
from compactor.formats.messages import field, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.recorded import items, unanswered
from compactor.formats.runs import Run, chosen, id_of, named, others

_CLASS = "class_"
_CODE, _API, _SAID = "code_action", "api_action", "message_action"
_TEXT, _WEB, _IMAGE = "text_observation", "web_observation", "image_observation"
_CLASSES = (_CODE, _API, _SAID, _TEXT, _WEB, _IMAGE)
_PAGE_KEYS = ("axtree", "html")


class AdpStandard(RunLens):
    """Trajectories in the Agent Data Protocol's standard form (`sample_std.json`).

    Args:
        thread: one of `threads(root)`; "" is the first.
    """

    name = "adp-standard"

    def recognises(self, root: Any) -> bool:
        return bool(_runs(root))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads one trajectory. O(the file).

        Raises:
            InputError: `input.shape` when it holds no trajectory, or there is no such thread.
        """
        runs = _runs(root)
        run = chosen(runs, self.thread, root)
        story = _Story(run.native["content"], (*run.at, "content"))
        entries = story.builder.entries
        findings = [*story.builder.findings, *unanswered(entries), *others(runs)]
        return Reading(entries, Overhead(known=False), findings)

    def messages(self, root: Any) -> Sequence[Any]:
        """The actions and observations of the trajectory."""
        return items(chosen(_runs(root), self.thread, root).native["content"])

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        event, at = value_at(root, entry.at), entry.at
        if text_field(event, _CLASS) != _WEB:
            return [Edit((*at, "content"), text)]
        edits = [Edit((*at, _page_key(event)), text)]
        if field(event, "image_observation") is not None:
            edits.append(Edit((*at, "image_observation"), None))
        return edits

    def runs(self, root: Any) -> Sequence[Run]:
        return _runs(root)


def _runs(root: Any) -> list[Run]:
    """The trajectories of a file."""
    tops = enumerate(root) if isinstance(root, list) else [(-1, root)]
    found = (
        Run(id_of(top, ("id",)) if index >= 0 else "main", (index,) if index >= 0 else (), top)
        for index, top in tops
        if any(_is_event(event) for event in items(field(top, "content")))
    )
    return named(found, root)


def _is_event(native: Any) -> bool:
    return text_field(native, _CLASS) in _CLASSES


class _Story:
    """Tells a trajectory to a builder."""

    def __init__(self, events: Sequence[Any], base: Path) -> None:
        self.builder = Builder()
        self._calls: list[Call] = []
        self._seen: list[tuple[Path, Any]] = []
        for index, event in enumerate(events):
            at = (*base, index)
            if not _is_event(event):
                self.builder.report("unknown_line", "no action and no observation", dotted(at))
            elif self._calls and _shows(event):
                self._seen.append((at, event))
            else:
                self._settle()
                self._tell(event, at)
        self._settle()

    def _settle(self) -> None:
        """What was shown behind actions, each with the one that it answers."""
        if not self._seen:
            return
        calls, seen = self._calls, self._seen
        self._calls, self._seen = [], []
        for number, (at, event) in enumerate(seen):
            index = number if len(seen) >= len(calls) else number + len(calls) - len(seen)
            self._result(event, at, calls[min(index, len(calls) - 1)])

    def _tell(self, event: Any, at: Path) -> None:
        kind = event[_CLASS]
        if kind in (_CODE, _API):
            call = _call(event, at)
            self.builder.turn([Part(PartKind.TEXT, text_field(event, "description"))], [call], at)
            self._calls.append(call)
            return
        self._calls = []
        parts = [Part(PartKind.TEXT, text_field(event, "description")), *_parts(event)]
        if kind == _SAID or field(event, "source") == "agent":
            self.builder.turn(parts, (), at)
        else:
            self.builder.user(parts, at)

    def _result(self, event: Any, at: Path, call: Call) -> None:
        parts = _parts(event)
        texts = [part.text for part in parts if part.kind is PartKind.TEXT and part.text]
        others = [part for part in parts if part.kind is not PartKind.TEXT]
        is_fixed = event[_CLASS] == _IMAGE  # it has no place for a text
        self.builder.result("", texts, others, at, required=is_fixed, call=call)


def _shows(event: Any) -> bool:
    """Whether an observation is the environment's; a page has no other source."""
    source = field(event, "source")
    return source == "environment" or (event[_CLASS] == _WEB and source is None)


def _call(event: Any, at: Path) -> Call:
    if event[_CLASS] == _API:
        arguments = blocks.arguments_text(field(event, "kwargs"))
        return Call("", text_field(event, "function"), arguments, (*at, "kwargs"))
    written = text_field(event, "content")
    return Call("", text_field(event, "language"), written, (*at, "content"))


def _page_key(event: Any) -> str:
    """Where the page is that is shown."""
    return next((key for key in _PAGE_KEYS if text_field(event, key)), _PAGE_KEYS[0])


def _parts(event: Any) -> list[Part]:
    """What an observation or a message shows."""
    kind = event[_CLASS]
    if kind == _IMAGE:
        return [_image(event)]
    if kind != _WEB:
        return [Part(PartKind.TEXT, text_field(event, "content"))]
    picture = field(event, "image_observation")
    page = [Part(PartKind.TEXT, text_field(event, _page_key(event)))]
    return page if picture is None else [*page, _image(picture)]


def _image(native: Any) -> Part:
    content = text_field(native, "content")
    return image_url_part(content or compact_json(native))
