"""`python -m benchmarks.priced PATH…`: what priced passes cost on your own recordings.

Of each recording of enough requests, the cost in an ideal prefix cache over doing nothing and over
the hindsight optimum, and the regret; means over recordings. Exits 1 where there is none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.exact import files_below
from compactor import Policy, Transcript, load
from compactor.core.errors import InputError
from compactor.models import Prices
from compactor.replay import Bench
from compactor.replay.prices import Tariff
from compactor.replay.sums import Replay

POLICIES = ("priced", "priced:patience=500", "priced:patience=1000", "priced:keepRecent=16")
"""With the look-ahead rule, the ski-rental rule, and more that is kept."""


class Tried(NamedTuple):
    """A tariff: prices of cached input and of a cache write, per mille of the input price."""

    read: int
    write: int

    @property
    def tariff(self) -> Tariff:
        """A dollar per million tokens of input."""
        prices = Prices(
            input=1_000_000,
            output=0,
            cache_read=1000 * self.read,
            cache_write=1000 * self.write,
        )
        return Tariff((prices,))


def tariff(text: str) -> Tried:
    """`READ,WRITE`."""
    read, write = map(int, text.split(","))
    if not 0 < read < write:
        raise ValueError
    return Tried(read, write)


def recordings(paths: Sequence[str], least: int) -> Iterator[Transcript]:
    """The recordings below some paths that have enough requests."""
    for path in files_below(paths):
        try:
            read = load(path)
            if len(Bench(read, Policy(), cache="prefix").recording.requests) >= least:
                yield read
        except InputError:  # not a recording
            continue


def replays(read: Transcript, tried: Tried, window: int) -> list[Replay]:
    """A recording under each policy."""
    base = Policy(window=window, read=tried.read, write=tried.write)
    bench = Bench(read, base, cache="prefix", prices=tried.tariff)
    return [bench.replay(policy) for policy in POLICIES]


def lines(tried: Tried, rows: Sequence[Sequence[Replay]]) -> Iterator[str]:
    """Means of some recordings under a tariff."""
    yield f"read {tried.read}, write {tried.write}, {len(rows)} recordings"
    yield f"  {'policy':<22}{'of none':>9}{'of optimum':>12}{'worst':>8}{'regret':>9}{'passes':>8}"
    for made in zip(*rows, strict=True):
        best = [replay.cost_to_optimum or 1.0 for replay in made]
        none, regret = (_mean(made, name) for name in ("cost_to_none", "regret"))
        passes = sum(replay.passes for replay in made)
        yield (
            f"  {made[0].policy:<22}{none:>9.3f}{sum(best) / len(best):>12.3f}{max(best):>8.3f}"
            f"{100 * regret:>7.1f} %{passes:>8}"
        )


def _mean(made: Sequence[Replay], name: str) -> float:
    return sum(getattr(replay, name) for replay in made) / len(made)


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay every recording below some paths and print a table a tariff."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.priced", description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--requests", type=int, default=40, help="at least so many; default 40")
    parser.add_argument("--window", type=int, default=200_000, help="tokens; default 200000")
    text = "per mille of the input price, repeatable; default 100,1250"
    parser.add_argument("--tariff", type=tariff, action="append", metavar="READ,WRITE", help=text)
    given = parser.parse_args(arguments)
    missing = [path for path in given.paths if not Path(path).exists()]
    if missing:
        parser.error(f"{missing[0]}: no such file or folder")
    found = list(recordings(given.paths, given.requests))
    if not found:
        sys.stderr.write(
            f"no recording of {given.requests} requests or more below {', '.join(given.paths)}; "
            "give another folder or --requests N\n"
        )
        return 1
    for tried in given.tariff or (Tried(100, 1250),):
        rows = [replays(read, tried, given.window) for read in found]
        sys.stdout.write("\n".join(lines(tried, rows)) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
