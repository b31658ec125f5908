"""The JSON-lines protocol on standard input and output: a request a line, an answer a line.

Each line in gets one line out, in order and at once; nothing is kept between lines, and no line
ends the loop. What a line means is `conformance.wire`'s. Specification: DESIGN section 11.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import IO

import click

from compactor.conformance.wire import answer


def serve(lines: Iterable[bytes], out: IO[bytes]) -> None:
    """Answer every line, and show each answer before the next line is read."""
    for line in lines:
        out.write(answer(line) + b"\n")
        out.flush()


@click.command("serve")
@click.option("--stdio", is_flag=True, help="Speak JSON lines on standard input and output.")
def command(stdio: bool) -> None:
    """Answer requests of other programs: one JSON object a line in, one out.

    A request is {"id": …, "op": "compact" | "render" | "read" | "write" | "count", "given": {…}}.
    """
    if not stdio:
        raise click.UsageError("say how to speak: --stdio")
    main()


def main() -> None:
    """Serve standard input until it ends, or until nobody reads the answers."""
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        # Python flushes stdout once more on its way out, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
