"""Messages at any addresses, as recordings hold them: several lists, single ones, with gaps.

A dialect says what each message is; what is no message of it is a finding here and not an error,
as the rest of a recording can still be read. Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from compactor.core.errors import InputError
from compactor.core.model import Path, Reading
from compactor.formats.builder import Builder
from compactor.formats.messages import Body, Carried, Dialect, leading, overhead_of
from compactor.formats.raw.edits import dotted
from compactor.formats.recorded import unanswered


class Placed(NamedTuple):
    """A native message and its address."""

    at: Path
    native: Any


class Listing(NamedTuple):
    """Messages of one dialect, oldest first.

    fields: the request body that they stand in; {} for messages alone.
    """

    dialect: Dialect
    fields: Mapping[str, Any]
    messages: Sequence[Placed]

    def lead(self) -> list[Any]:
        """The messages at the very start that are overhead."""
        return leading(self.dialect, [message.native for message in self.messages])

    def carried(self) -> Carried:
        """What the request carries beside its entries."""
        items = [message.native for message in self.messages]
        return self.dialect.carried(Body(self.fields, (), items), self.lead())


def placed(items: Sequence[Any], base: Path) -> list[Placed]:
    """The messages of a list that lies at `base`."""
    return [Placed((*base, index), item) for index, item in enumerate(items)]


def tell(builder: Builder, listing: Listing) -> None:
    """Say the entries of a listing."""
    for at, native in listing.messages[len(listing.lead()) :]:
        try:
            listing.dialect.message(builder, native, at)
        except InputError as error:
            builder.report("unknown_line", str(error.message), error.path or dotted(at))


def read_placed(listing: Listing) -> Reading:
    """A reading of one listing."""
    builder = Builder()
    tell(builder, listing)
    carried = listing.carried()
    return Reading(
        entries=builder.entries,
        overhead=overhead_of(listing.dialect, carried),
        carried=carried,
        findings=[*builder.findings, *unanswered(builder.entries)],
    )
