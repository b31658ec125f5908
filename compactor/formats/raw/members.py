"""The members of an archive as native data: a mapping from name to value, read on demand.

The first step of every address is then a member's name. What an archive is made of is the
business of a shell; a lens sees names and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any


class Members(Mapping[str, Any]):
    """Members by name, in their order. Must not be changed.

    Args:
        names: of the members; of equal ones the last is meant.
        read: gives a member's parsed value, None for one that is no JSON; may raise `InputError`.
    """

    def __init__(self, names: Iterable[str], read: Callable[[str], Any]) -> None:
        self._names = dict.fromkeys(names)
        self._read = read

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def with_values(self, values: Mapping[str, Any]) -> Members:
        """The same members, some with other values."""

        def read(name: str) -> Any:
            return values[name] if name in values else self._read(name)

        return Members(self._names, read)
