"""What a request costs, in nano-dollars. Integers only, rounded once a request, halves up.

Prices are those of the model that answered it; the row is that of the whole prompt's length, so
price cliffs hold for all of it. The answer's tokens are left out: no policy changes them.
Specification: DESIGN section 9; the shape of the rows: `compactor/data/models.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from compactor.core.errors import Finding, PolicyError
from compactor.models import Model, Prices
from compactor.replay.serving import Served

USUAL: Final = Prices(
    input=1_000_000, output=5_000_000, cache_read=100_000, cache_write=1_250_000,
    cache_write_long=2_000_000,
)  # fmt: skip
"""Where no price is known: a dollar per million tokens, and the usual shares of it."""
_MICRO_PER_NANO_TOKEN: Final = 1000
"""A price of 1000 micro-dollars per million tokens is one nano-dollar a token."""


class Tariff(msgspec.Struct, frozen=True):
    """Prices by the length of the prompt, cheapest first."""

    rows: tuple[Prices, ...]

    def of(self, _model: str) -> Tariff:
        """This one, whatever the model."""
        return self

    def at(self, tokens: int) -> Prices:
        """The row for a prompt of this length."""
        fitting = [row for row in self.rows if row.above < tokens or not row.above]
        return fitting[-1]

    def cost_nano(self, served: Served, *, long: bool = False) -> int:
        """What a prompt costs, in nano-dollars.

        Args:
            long: what is written has the price of the long lifetime.
        """
        row = self.at(sum(served))
        total = served.uncached * row.input
        total += served.cached * read_price(row) + served.written * write_price(row, long=long)
        return (2 * total + _MICRO_PER_NANO_TOKEN) // (2 * _MICRO_PER_NANO_TOKEN)


class Tariffs(msgspec.Struct, frozen=True):
    """Tariffs by the model's name as it was recorded."""

    models: Mapping[str, Tariff]

    def of(self, model: str) -> Tariff:
        """The tariff of a model."""
        return self.models.get(model, Tariff((USUAL,)))


def read_price(row: Prices) -> int:
    return row.input if row.cache_read is None else row.cache_read


def write_price(row: Prices, *, long: bool = False) -> int:
    """The price of a written token; that of an uncached one where writing has none of its own.

    A long lifetime whose price is not known is paid twice the input, as everywhere it is known.
    """
    if long and row.cache_write is not None:
        return 2 * row.input if row.cache_write_long is None else row.cache_write_long
    return row.input if row.cache_write is None else row.cache_write


def tariffs_of(models: Mapping[str, Model | None]) -> tuple[Tariffs, tuple[Finding, ...]]:
    """The tariffs of the models of a recording, and what is to be said where one is not known.

    Args:
        models: by name as recorded; None is one that the table lacks.
    """
    rows = {name: model.prices if model else () for name, model in models.items()}
    known = {name: Tariff(found or (USUAL,)) for name, found in rows.items()}
    unknown = [name for name, found in rows.items() if not found]
    return Tariffs(known), tuple(map(_unknown, unknown))


def _unknown(name: str) -> Finding:
    of = f"of {name[:80]!r} " if name else ""
    text = f"prices {of}are not known: 1 USD per million tokens, 0.1 for reads, 1.25 for writes"
    return Finding("prices_unknown", text)


_EXAMPLE: Final = '{"prices": [{"input": 3000000, "output": 15000000, "cache_read": 300000}]}'


class _File(msgspec.Struct, forbid_unknown_fields=True):
    prices: list[Prices]


def load_prices(path: str | Path) -> Tariff:
    """The tariff of a JSON file: `{"prices": [row, …]}`, rows as in `data/models.json`.

    Raises:
        PolicyError: `policy.unreadable`, `policy.range`.
    """
    try:
        rows = msgspec.json.decode(Path(path).read_bytes(), type=_File).prices
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise PolicyError(
            problem, code="policy.unreadable", path=str(path), hint=f"a JSON file: {_EXAMPLE}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PolicyError(
            str(error), code="policy.range", path=str(path),
            hint=_EXAMPLE,
        ) from error  # fmt: skip
    return tariff_from(rows, str(path))


def tariff_from(rows: Sequence[Prices], place: str = "prices") -> Tariff:
    """The tariff of some rows.

    Raises:
        PolicyError: `policy.range`.
    """
    steps = [row.above for row in rows]
    if not rows or steps[0] != 0 or steps != sorted(set(steps)):
        raise PolicyError(
            "the rows of prices must begin at `above` 0 and rise", code="policy.range", path=place
        )
    return Tariff(tuple(rows))
