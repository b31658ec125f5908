"""What a read call asks for: which file, which lines.

The arguments' names are a table in `loop.json` (`reads`); lines are told here as a window from 1,
as brackets show them. Specification: DESIGN sections 5 (File-read table) and 7.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from compactor.core.model import Call, plain_arguments
from compactor.core.policy import named
from compactor.core.texts import ReadTool


class Asked(NamedTuple):
    """What a read call asks for.

    path: as the call gives it.
    first, last: from 1; below 0 counted from the file's end, -1 the last line.
    clear: False when the arguments say the lines in a way that is not read here.
    """

    path: str
    first: int = 1
    last: int = -1
    clear: bool = True

    def window(self, total: int, most: int) -> tuple[int, int]:
        """The first and last line that are shown of a file; the last below the first: none."""
        first = self.first if self.first > 0 else max(1, total + self.first + 1)
        last = self.last if self.last > 0 else total + self.last + 1
        return first, min(last, total, first + most - 1)


def asked(tool: str, arguments: str, tools: tuple[ReadTool, ...]) -> Asked | None:
    """What a call asks for; None when it is no read. O(arguments), bounded.

    Args:
        arguments: JSON, as the call has them.
        tools: the table of read tools.
    """
    rows = [row for row in tools if named(tool, row.tools)]
    given = plain_arguments(Call("", tool, arguments)) if rows else {}
    for row in rows:
        path = given.get(row.path)
        fits = all(given.get(key) == value for key, value in row.when.items())
        if isinstance(path, str) and path and fits:
            return _lines(path, row, given)
    return None


def _lines(path: str, row: ReadTool, given: dict[str, Any]) -> Asked:
    first, last = _first_of(given, row.first), _first_of(given, row.last)
    count = _first_of(given, row.count)
    pair = given.get(row.range) if row.range else None
    if isinstance(pair, list) and len(pair) == 2:
        first, last = pair
    unread = any(given.get(name) not in (None, False, "") for name in row.unclear)
    numbers = all(value is None or _whole(value) for value in (first, last, count))
    if unread or not numbers or not isinstance(pair, list | None):
        return Asked(path, clear=False)
    start = 1 if first is None else first + 1 - row.base
    start = start if first is not None and first < 0 else max(1, start)
    end = -1 if last is None or last < row.base else last + 1 - row.base
    if last is None and count is not None and count > 0:
        end = start + count - 1
        end = -1 if start < 0 <= end else end
    clear = end == -1 or (start <= end and (start > 0) == (end > 0))
    return Asked(path, start, end, clear)


def _first_of(given: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The first of these arguments that the call gives; None without any."""
    return next((given[name] for name in names if given.get(name) is not None), None)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**12
