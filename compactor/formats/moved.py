"""Where things are once edits have removed items of lists before them, and where they were.

Edits name addresses of the original, so what is found in an edited request has to be named by the
address that it had. Specification: DESIGN section 2.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from compactor.core.model import Path
from compactor.formats.edits import REMOVE, Edit


class Moved:
    """Addresses before and after edits. O(edits log edits) to make."""

    def __init__(self, edits: Iterable[Edit] = ()) -> None:
        self._removed: dict[Path, list[int]] = {}
        self._replaced: set[Path] = set()
        for path, value in edits:
            if value is not REMOVE:
                self._replaced.add(path)
            elif isinstance(path[-1], int):
                insort(self._removed.setdefault(path[:-1], []), path[-1])

    def after(self, at: Path) -> Path | None:
        """Where a value is then; None where it or what holds it is gone or made anew."""
        steps: list[str | int] = []
        for depth, step in enumerate(at):
            if at[:depth] in self._replaced:
                return None
            gone = self._removed.get(at[:depth], ())
            if isinstance(step, int) and gone:
                place = bisect_left(gone, step)
                if gone[place : place + 1] == [step]:
                    return None
                step -= place
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
