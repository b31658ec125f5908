"""Times and tables. A time is the best of several runs: what the machine did beside it is noise."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One measurement.

    what: the size or the case.
    seconds: of one run.
    amount: how much of `unit` was done in it; 1 where the time itself is the result.
    """

    what: str
    seconds: float
    amount: float = 1


class Table(NamedTuple):
    """Rows that belong together.

    unit: what `amount` counts: "" shows times, anything else the time and the rate.
    ratio: "time", "rate" or "cost" (time for one of the unit), each over the first row's; "" for
        none.
    """

    title: str
    rows: Sequence[Row]
    unit: str = ""
    ratio: str = ""


def best(run: Callable[[], Any], times: int) -> float:
    """Seconds of the fastest of several runs. The collector is off while one runs."""
    seconds = []
    for _ in range(times):
        gc.disable()
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
        gc.enable()
    return min(seconds)


def lines(table: Table) -> Iterable[str]:
    """A table as text."""
    yield table.title
    first = table.rows[0]
    for row in table.rows:
        cells = [f"  {row.what:<34}", f"{_spelled(row.seconds):>10}"]
        if table.unit:
            cells.append(f"{_rate(row):>14,.1f} {table.unit}/s")
        if table.ratio:
            cells.append(f"{_value(row, table.ratio) / _value(first, table.ratio):>9.2f} x")
        yield "".join(cells)
    yield ""


def _rate(row: Row) -> float:
    return row.amount / row.seconds


def _value(row: Row, ratio: str) -> float:
    values = {"time": row.seconds, "rate": _rate(row), "cost": row.seconds / row.amount}
    return values[ratio]


def _spelled(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1_000, "ms"), (1_000_000, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:,.2f} {unit}"
    return f"{seconds * 1e9:,.0f} ns"
