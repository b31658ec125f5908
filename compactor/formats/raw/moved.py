"""Where things are once edits have removed items of lists before them, and where they were.

Edits name addresses of the original, so what is found in an edited request has to be named by the
address that it had. Specification: DESIGN section 2.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from compactor.core.model import Path
from compactor.formats.raw.edits import REMOVE, Edit


class Moved:
    """Addresses before and after edits. O(edits log edits) to make."""

    def __init__(self, edits: Iterable[Edit] = ()) -> None:
        self._removed: dict[Path, list[int]] = {}
        self._gone: set[Path] = set()
        self._replaced: set[Path] = set()
        last = dict(edits)
        for path, value in last.items():
            if any(path[:depth] in last for depth in range(len(path))):
                continue
            if value is not REMOVE:
                self._replaced.add(path)
                continue
            self._gone.add(path)
            if isinstance(path[-1], int):
                insort(self._removed.setdefault(path[:-1], []), path[-1])

    def after(self, at: Path) -> Path | None:
        """Where a value is then; None where it is gone or what holds it was made anew."""
        steps: list[str | int] = []
        for depth, step in enumerate(at):
            if at[:depth] in self._replaced or at[: depth + 1] in self._gone:
                return None
            if isinstance(step, int):
                step -= bisect_left(self._removed.get(at[:depth], ()), step)
            steps.append(step)
        return tuple(steps)

    def before(self, at: Path) -> Path:
        """Where a value of the edited data was; where it is new, the address that it was set at."""
        steps: list[str | int] = []
        for step in at:
            gone = self._removed.get(tuple(steps), ())
            if isinstance(step, int):
                for index in gone:
                    step += index <= step
            steps.append(step)
        return tuple(steps)
