"""Edits by address: what all kinds of native data have in common.

Addresses are those of the original, in all edits alike; of two edits at one address the later
counts, and an edit of a container counts before edits inside it. `edits` makes them in Python
objects, `splice` in text. Specification: DESIGN section 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from compactor.core.errors import InternalError
from compactor.core.model import Path
from compactor.formats.raw.json_compact import quoted


class _Remove:
    """The type of `REMOVE`."""

    def __repr__(self) -> str:
        return "REMOVE"


REMOVE: Final = _Remove()
"""As the value of an edit: delete the object key or the list element."""


class Edit(NamedTuple):
    """Set the value at `path`.

    path: keys and indexes from the root; a new key is added at the end of its object, and the
        index behind the last item, and those that follow it, at the end of their list.
    value: str, int, bool, None, list or dict; `REMOVE` deletes (a key that is not there: nothing).
    """

    path: Path
    value: Any


KEEP: Final = _Remove()
"""As the value of a node: nothing to do with the value itself."""


class EditNode:
    """Edits at one address: its new value, or edits of what lies in it."""

    __slots__ = ("inner", "value")

    def __init__(self) -> None:
        self.value: Any = KEEP
        self.inner: dict[str | int, EditNode] = {}


def edit_tree(edits: Iterable[Edit]) -> EditNode:
    """Edits by address, from the root down."""
    root = EditNode()
    for path, value in edits:
        node = root
        for step in path:
            node = node.inner.setdefault(step, EditNode())
        node.value = value
    return root


def appended(node: EditNode, size: int) -> list[int]:
    """Indexes of the items that edits add to a list of this size, in order; none with a gap."""
    new = sorted(
        step
        for step, inner in node.inner.items()
        if isinstance(step, int)
        and step >= size
        and not (inner.value is KEEP or inner.value is REMOVE)
    )
    return new if new == [*range(size, size + len(new))] else []


def no_place(at: Path, step: str | int) -> InternalError:
    """The error of an edit whose address does not exist: `step` is not in the value at `at`."""
    return InternalError(f"no {step!r} to edit here", code="internal.edit", path=dotted(at))


def dotted(path: Path) -> str:
    """A path for people: `$.messages[7].content[0]`; odd keys are quoted in brackets."""
    steps = (f".{s}" if isinstance(s, str) and _WORD.fullmatch(s) else _bracketed(s) for s in path)
    return "$" + "".join(steps)


_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _bracketed(step: str | int) -> str:
    return f"[{step if isinstance(step, int) else quoted(step)}]"
