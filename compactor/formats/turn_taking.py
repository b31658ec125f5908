"""Who speaks after whom once runs of entries are texts of the user.

Where the user may not speak twice in a row, a text joins the messages of the user beside it: the
first of them holds all that is said, texts in order, each a block of its own. Only what an edit
brought together is joined, and nothing is put before a tool result. A system message stands behind
the user, so a text that would come behind one goes before it. Items are removed and added, and
what stays of a message stays as it is. Specification: DESIGN section 8; reference providers.md C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from compactor.formats.messages import SYSTEM_ROLES, field
from compactor.formats.raw.edits import REMOVE, Edit
from compactor.formats.raw.objects import alike
from compactor.formats.speech import Shape

_USER_ROLES = ("user", None, "")


class Place(NamedTuple):
    """A message, and a block of it."""

    message: int
    block: int


class _Cut:
    """A message that keeps some of its blocks. put: block → text in its place."""

    def __init__(self) -> None:
        self.put: dict[int, str] = {}
        self.gone: dict[int, None] = {}


class Plan:
    """What becomes of the messages.

    Args:
        items: the native messages.
        shape: of their format.
    """

    def __init__(self, items: Sequence[Any], shape: Shape) -> None:
        self._items = items
        self._shape = shape
        self._texts: dict[int, str] = {}
        self._gone: dict[int, None] = {}
        self._cuts: dict[int, _Cut] = {}
        self._reached: list[Place] = []

    def take(self, start: Place, stop: Place, text: str) -> None:
        """Put a text in the place of all from one place to another; later places come later."""
        (first, block), (last, end) = start, stop
        if block or first == last:
            cut = self._cut(first)
            cut.put[block] = text
            rest = end if first == last else self._size(first)
            cut.gone |= dict.fromkeys(range(block + 1, rest))
        else:
            self._texts[first] = text
        self._gone |= dict.fromkeys(range(first + 1, last))
        if first != last and end:
            self._cut(last).gone |= dict.fromkeys(range(end))
        if first != last:
            self._reached.append(Place(first, last))

    def edits(self) -> Iterator[Edit]:
        """Edits of the list of messages. O(what was taken)."""
        self._settle()
        joined: dict[int, None] = {}
        if self._shape.block is not None:
            for group in self._groups():
                joined |= dict.fromkeys(group)
                yield from self._join(group)
        yield from (Edit((index,), REMOVE) for index in self._gone)
        for index, text in self._texts.items():
            if index not in joined:
                yield Edit((index,), self._message(index, text))
        for index in self._cuts:
            if index not in joined:
                yield from self._cut_edits(index)

    def _settle(self) -> None:
        """Messages of which nothing is left are gone."""
        for index, cut in list(self._cuts.items()):
            if not cut.put and len(cut.gone) == self._size(index):
                del self._cuts[index]
                self._gone[index] = None

    def _groups(self) -> list[list[int]]:
        """Messages that are one message together, oldest first."""
        groups: dict[int, list[int]] = {}
        for first, last in self._reached:
            pairs = [(first, last)]
            if first in self._texts:
                pairs.insert(0, (self._before(first), first))
            for left, right in pairs:
                if right not in groups and self._joins(left, right):
                    groups[right] = groups.setdefault(left, [left])
                    groups[right].append(right)
        return list({id(group): group for group in groups.values()}.values())

    def _before(self, index: int) -> int:
        """The message that a text comes behind; the one before a system message, if the user's."""
        index -= 1
        while index in self._gone:
            index -= 1
        behind = index
        while behind >= 0 and (behind in self._gone or self._is_system(behind)):
            behind -= 1
        return behind if self._is_users(behind) else index

    def _joins(self, left: int, right: int) -> bool:
        """Whether two messages that came together must be one."""
        if not (self._is_users(left) and self._is_users(right)):
            return False
        is_result = self._shape.is_result
        return not any(is_result(block) for block in self._blocks(right))

    def _is_users(self, index: int) -> bool:
        if index in self._texts:
            return True
        if not 0 <= index < len(self._items) or index in self._gone:
            return False
        item = self._items[index]
        is_content = isinstance(field(item, self._shape.key), (str, list, tuple))
        return field(item, "role") in _USER_ROLES and is_content

    def _is_system(self, index: int) -> bool:
        return index not in self._texts and field(self._items[index], "role") in SYSTEM_ROLES

    def _join(self, group: list[int]) -> Iterator[Edit]:
        """Edits that make messages one: the first that was there, else the first text.

        One behind a system message would leave that in front of all that is said.
        """
        host = next((index for index in group if index not in self._texts), group[0])
        between = (i for i in range(group[0], host) if i not in self._gone)
        host = group[0] if any(map(self._is_system, between)) else host
        yield from (Edit((index,), REMOVE) for index in group if index != host)
        if host in self._texts:
            said = [block for index in group for block in self._blocks(index)]
            yield Edit((host,), self._message(host, said))
            return
        content, at = field(self._items[host], self._shape.key), (host, self._shape.key)
        if host != group[0] or isinstance(content, str):
            yield Edit(at, [block for index in group for block in self._blocks(index)])
            return
        yield from self._cut_edits(host)
        added = [block for index in group[1:] for block in self._blocks(index)]
        yield from (Edit((*at, number), b) for number, b in enumerate(added, len(content)))

    def _cut_edits(self, index: int) -> Iterator[Edit]:
        """Edits of a message's own blocks."""
        cut, at = self._cuts.get(index), (index, self._shape.key)
        if cut is not None:
            yield from (Edit((*at, n), self._block(index, text)) for n, text in cut.put.items())
            yield from (Edit((*at, n), REMOVE) for n in cut.gone)

    def _blocks(self, index: int) -> Iterator[Any]:
        """What a message says then, as blocks."""
        if index in self._texts:
            yield self._block(index, self._texts[index])
            return
        content = field(self._items[index], self._shape.key)
        if isinstance(content, str):
            yield from [self._block(index, content)] if content else []
            return
        cut = self._cuts.get(index) or _Cut()
        for number, block in enumerate(content):
            if number in cut.put:
                yield self._block(index, cut.put[number])
            elif number not in cut.gone:
                yield block

    def _block(self, index: int, text: str) -> Any:
        """A text as a block, of the kind that the blocks of a message are."""
        assert self._shape.block is not None
        content = field(self._items[index], self._shape.key)
        like = content[0] if isinstance(content, (list, tuple)) and content else None
        return alike(like, self._shape.block(text))

    def _message(self, index: int, content: Any) -> Any:
        """A message of the user, of the kind that a message is."""
        return alike(self._items[index], self._shape.message(content))

    def _cut(self, index: int) -> _Cut:
        return self._cuts.setdefault(index, _Cut())

    def _size(self, index: int) -> int:
        content = field(self._items[index], self._shape.key)
        return len(content) if isinstance(content, (list, tuple)) else 1
