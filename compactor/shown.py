"""Puts what a view changes into native data.

Recordings are shown as edits, spliced into their text. Requests are message lists that grow by a
few messages a call, so the messages that show a change are remembered and used again, as long as
the native message is the same object and holds the same values: a harness may move a cache
breakpoint in place, and then the message is made anew. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from compactor.core.errors import InputError
from compactor.core.model import Entry, Path
from compactor.core.view import View
from compactor.formats.lens import Lens, Revisions, SignedReasoning
from compactor.formats.messages import value_at
from compactor.formats.raw.edits import Edit, apply_edits
from compactor.formats.raw.moved import Moved


def edits_of(
    lens: Lens,
    root: Any,
    entries: Sequence[Entry],
    view: View,
    removed: str,
    seqs: Iterable[int] | None = None,
    carried: frozenset[int] = frozenset(),
) -> list[Edit]:
    """The edits that show entries as a view has them. O(what differs).

    Args:
        removed: what a message keeps that would be left empty without its reasoning.
        seqs: of the results and turns to show; None for all, revisions included.
        carried: first seqs of the runs that the request shows already.
    """
    edits: list[Edit] = []
    for seq in view.changed if seqs is None else seqs:
        entry = entries[seq]
        text = view.bodies.get(seq)
        if not view.shows(seq):
            continue
        if text is not None and (entry.body != text or entry.parts):
            edits += lens.rewrite_body(root, entry, text)
        elif seq in view.unreasoned and isinstance(lens, SignedReasoning):
            edits += lens.remove_reasoning(root, entry, removed)
        for call, path, text in view.inputs.get(seq, ()):
            edits += lens.rewrite_argument(root, entry, call, tuple(path), text)
    return edits + revisions_of(lens, root, entries, view, carried) if seqs is None else edits


def revisions_of(
    lens: Lens,
    root: Any,
    entries: Sequence[Entry],
    view: View,
    carried: frozenset[int] = frozenset(),
) -> list[Edit]:
    """The edits that show runs of entries as one text, and rewritten texts. O(what differs).

    Args:
        carried: first seqs of the runs that the request shows already.

    Raises:
        InputError: `input.no_revisions` where a format has no place for them.
    """
    rewritten = _rewritten(lens, root, entries, view)
    if rewritten and view.runs:
        root = apply_edits(root, rewritten)  # a text of the user's may move with a run beside it
    return rewritten + _replaced(lens, root, entries, view, carried)


def _rewritten(lens: Lens, root: Any, entries: Sequence[Entry], view: View) -> list[Edit]:
    """The edits that show rewritten texts."""
    edits: list[Edit] = []
    for seq, texts in sorted(view.replies.items()):
        for part, text in sorted(texts.items()) if view.shows(seq) else ():
            edits += _reviser(lens).rewrite_text(root, entries[seq], part, text)
    return edits


def _replaced(
    lens: Lens, root: Any, entries: Sequence[Entry], view: View, carried: frozenset[int]
) -> list[Edit]:
    """The edits that show runs of entries as one text."""
    runs = [run for first, run in sorted(view.runs.items()) if first not in carried]
    return _reviser(lens).replace_runs(root, entries, runs) if runs else []


def _reviser(lens: Lens) -> Revisions:
    if isinstance(lens, Revisions):
        return lens
    raise InputError(
        f"format {lens.name!r} has no place for revised text",
        code="input.no_revisions",
        hint="convert the recording to a request format first",
    )


class _Made(NamedTuple):
    """A message that shows changes.

    native: the message as handed in; held, so that its identity stays its own.
    snapshot: what it held then.
    """

    native: Any
    snapshot: Any
    shown: Any


class ShownMessages:
    """The messages of one growing request that show a change.

    A call costs O(those messages), a comparison each; a message is made only when it is new or was
    changed in place. moved: where messages are in the request that was shown last.
    """

    def __init__(self, lens: Lens, removed: str) -> None:
        self._lens = lens
        self._removed = removed
        self.moved = Moved()
        self._clear()

    def show(
        self,
        root: Any,
        entries: Sequence[Entry],
        view: View,
        carried: frozenset[int] = frozenset(),
    ) -> Any:
        """The request with the view's changes; untouched messages are the same objects.

        Args:
            carried: first seqs of the runs that the request shows already.
        """
        rewritten = _rewritten(self._lens, root, entries, view)
        if rewritten:  # before reasoning goes, as then addresses move
            root = apply_edits(root, rewritten)
        replaced = _replaced(self._lens, root, entries, view, carried)
        self.moved = Moved(replaced)
        shown = self._bodies(root, entries, view)
        return apply_edits(shown, replaced) if replaced else shown

    def _bodies(self, root: Any, entries: Sequence[Entry], view: View) -> Any:
        """The request with results and reasoning as the view has them."""
        for seq, (entry, change) in self._changed.items():
            if view.change(seq) != change or entries[seq] is not entry:
                self._clear()
                break
        for seq in (*view.bodies, *view.unreasoned, *view.inputs):
            if seq not in self._changed and view.shows(seq):
                self._add(entries, view, seq)
        if not self._seqs:
            return root
        made = (
            Edit(at, self._message(root, at, entries, view, seqs))
            for at, seqs in self._seqs.items()
        )
        return apply_edits(root, made)

    def _clear(self) -> None:
        self._changed: dict[int, tuple[Entry, object]] = {}
        self._seqs: dict[Path, list[int]] = {}
        self._made: dict[Path, _Made] = {}

    def _add(self, entries: Sequence[Entry], view: View, seq: int) -> None:
        """A changed entry that was not shown before; it may lie in several messages."""
        entry = entries[seq]
        self._changed[seq] = entry, view.change(seq)
        places = [entry.at, *(part.at for part in entry.parts if part.signed)]
        places += [entry.calls[call].at for call, _, _ in view.inputs.get(seq, ())]
        for at in dict.fromkeys(map(_message_at, places)):
            self._seqs.setdefault(at, []).append(seq)
            self._made.pop(at, None)

    def _message(
        self,
        root: Any,
        at: Path,
        entries: Sequence[Entry],
        view: View,
        seqs: list[int],
    ) -> Any:
        native, made = value_at(root, at), self._made.get(at)
        if made is not None and native is made.native and native == made.snapshot:
            return made.shown
        edits = edits_of(self._lens, root, entries, view, self._removed, seqs)
        inner = [Edit(e.path[len(at) :], e.value) for e in edits if e.path[: len(at)] == at]
        shown = apply_edits(native, inner)
        if isinstance(native, dict):  # what a model holds cannot be compared to what it held
            self._made[at] = _Made(native, _snapshot(native, _DEPTH), shown)
        return shown


def _message_at(path: Path) -> Path:
    """The address of the message that an address lies in: it ends at the first list.

    Of a recording, whose messages may lie in several lists, or in none: then it is all of it.
    """
    ends = (depth for depth, step in enumerate(path, 1) if isinstance(step, int))
    return path[: next(ends, 0)]


_DEPTH = 50
_TOO_DEEP = object()
"""Equal to nothing that a message holds, so a message of that depth is made anew each time."""


def _snapshot(native: Any, depth: int) -> Any:
    """The containers of a message copied, its leaves shared. O(its shape)."""
    if depth == 0 and isinstance(native, (dict, list)):
        return _TOO_DEEP
    if isinstance(native, dict):
        return {key: _snapshot(value, depth - 1) for key, value in native.items()}
    if isinstance(native, list):
        return [_snapshot(value, depth - 1) for value in native]
    return native
