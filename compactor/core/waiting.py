"""What waiting for a priced pass has cost, so that the fold derives it from the boundaries alone.

A request counts once a turn shows that it was made; calls that led to nothing leave no trace.
Specification: DESIGN section 5, Priced.
"""

from __future__ import annotations


class Waiting:
    """The carry of the ski-rental rule. O(1) a boundary.

    carry: read price per mille times the tokens that could have gone, over the requests so far.
    """

    def __init__(self) -> None:
        self.carry = 0
        self._due: tuple[int, int] | None = None
        self._before: list[tuple[int, int]] = []

    def ask(self, n: int, cost: int) -> int:
        """A request at n costs so much more; what it is in all if it is made."""
        self._due = (n, self.carry + cost)
        return self._due[1]

    def turn(self, seq: int) -> None:
        """The model's turn at seq: the request before it was made."""
        if self._due is not None and self._due[0] == seq:
            self._before.append((seq, self.carry))
            self.carry = self._due[1]
        self._due = None

    def back_to(self, n: int) -> None:
        """Turns from n on are gone."""
        self._due = None
        while self._before and self._before[-1][0] >= n:
            self.carry = self._before.pop()[1]

    def end(self) -> None:
        """A pass was made."""
        self.carry, self._due, self._before = 0, None, []
