"""Histories that no single request holds: parts of several, and what only the provider has.

What is known from the text of a stream alone has no address, so nothing in it is ever changed.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compactor.core.model import Path
from compactor.formats.builder import Builder
from compactor.formats.messages import SERVER_HISTORY, Body, Carried, Dialect, field


class Scattered:
    """A dialect for messages that lie in several places.

    Args:
        places: address of each message, by its index; () of what cannot be addressed.
    """

    def __init__(self, dialect: Dialect, places: Sequence[Path]) -> None:
        self._dialect = dialect
        self._places = places
        self.name = dialect.name
        self.leading = dialect.leading

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        place = self._places[int(at[-1])]
        if place:
            self._dialect.message(builder, message, place)
            return
        alone = Builder()
        self._dialect.message(alone, message, at)
        for entry in alone.entries:
            calls = [call._replace(at=()) for call in entry.calls]
            builder.turn([part._replace(at=()) for part in entry.parts], calls, at)

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        return self._dialect.carried(body, lead)

    def tool_texts(self, tool: Any) -> list[str]:
        return self._dialect.tool_texts(tool)


def has_server_history(fields: Mapping[str, Any]) -> bool:
    """Whether a request names a history that the provider keeps, but for an earlier answer."""
    for path in SERVER_HISTORY[1:]:
        value: Any = fields
        for key in path:
            value = field(value, key)
        if value is not None:
            return True
    return False
