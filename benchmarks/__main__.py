"""`python -m benchmarks [--tiny] [NAME…]`: runs the benchmarks and prints their tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benchmarks import calls, counting, files, stores
from benchmarks.measure import Table, lines


class Sizes(NamedTuple):
    """How large the benchmarks are. Bytes and entries."""

    histories: Sequence[int]
    session_bytes: int
    explained: int
    counted_bytes: int
    inserts: int
    stored: Sequence[int]


FULL = Sizes(
    (100, 1_000, 10_000, 100_000), 12_000_000, 5_000, 12_000_000, 1_000, (100, 10_000, 1_000_000)
)
TINY = Sizes((20, 40), 60_000, 20, 30_000, 20, (20, 200))

BENCHMARKS: Mapping[str, Callable[[Sizes], Table]] = {
    "one-more": lambda sizes: calls.one_more(sizes.histories),
    "one-more-elided": lambda sizes: calls.one_more_elided(sizes.histories),
    "whole": lambda sizes: calls.whole(sizes.histories),
    "session": lambda sizes: files.large(sizes.session_bytes),
    "command": lambda sizes: files.command_line(sizes.explained),
    "insert": lambda sizes: stores.inserts(sizes.inserts),
    "recall-seq": lambda sizes: stores.by_seq(sizes.stored),
    "recall-words": lambda sizes: stores.by_words(sizes.stored[-1]),
    "write-lock": lambda sizes: stores.write_lock(sizes.histories[-2], 80),
    "count": lambda sizes: counting.speed(sizes.counted_bytes),
}
"""Name → a benchmark of these sizes."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks that were named, or all, and print each table once it is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, to see that all run")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; known: {', '.join(BENCHMARKS)}")
    for name in given.names or BENCHMARKS:
        table = BENCHMARKS[name](TINY if given.tiny else FULL)
        sys.stdout.write("\n".join(lines(table)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
