"""The records of a JSON Lines input as a list; of a large one each is read when it is asked for.

A large input is not held in memory as values: `LazyRows` reads a row anew each time, but for those
read last. So rows of it have no identity to rely on, and whoever keeps one keeps all its texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, SupportsIndex, overload


class Rows(list[Any]):
    """The records of a JSON Lines document, in order."""


class _Unread:
    """What stands in a list whose rows are read on demand; code that goes around us trips on it."""


_UNREAD: Final = _Unread()

RECENT_BYTES: Final = 8 << 20
"""Source bytes of the rows read last that are kept as values."""


class LazyRows(Rows):
    """Rows that are read when they are asked for. A list to look at, never to be changed.

    Args:
        count: how many there are.
        read: reads a row: the value and the size of its source in bytes.
    """

    def __init__(self, count: int, read: Callable[[int], tuple[Any, int]]) -> None:
        super().__init__([_UNREAD])
        super().__imul__(count)
        self._read = read
        self._recent: dict[int, tuple[Any, int]] = {}
        self._recent_bytes = 0

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Any:
        if isinstance(index, slice):
            return [self._row(i) for i in range(*index.indices(len(self)))]
        return self._row(range(len(self))[index])

    def __iter__(self) -> Iterator[Any]:
        return map(self._row, range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return map(self._row, reversed(range(len(self))))

    def __contains__(self, item: object) -> bool:
        return any(row == item for row in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list):
            return NotImplemented
        return len(self) == len(other) and all(map(_equal, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def with_items(self, items: Mapping[int, Any], gone: Collection[int]) -> LazyRows:
        """The same rows with others in the place of some, and without some. O(rows)."""
        kept: Sequence[int] = range(len(self))
        if gone:
            kept = [index for index in kept if index not in gone]

        def read(index: int) -> tuple[Any, int]:
            old = kept[index]
            return (items[old], 0) if old in items else self._sized(old)

        return LazyRows(len(kept), read)

    def _row(self, index: int) -> Any:
        return self._sized(index)[0]

    def _sized(self, index: int) -> tuple[Any, int]:
        """A row and the size of its source, which is kept until newer ones need its room."""
        known = self._recent.get(index)
        if known is not None:
            return known
        row = self._recent[index] = self._read(index)
        self._recent_bytes += row[1]
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= self._recent.pop(next(iter(self._recent)))[1]
        return row


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other)
