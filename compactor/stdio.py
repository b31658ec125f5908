"""The JSON-lines protocol on standard input and output: a request a line, an answer a line.

Each line in gets one line out, in order and at once; only sessions are kept between lines, and no
line ends the loop. What a line means is `conformance.wire`'s. Specification: DESIGN section 11.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import IO

import click

from compactor.conformance.sessions import Sessions
from compactor.conformance.wire import answer


def serve(lines: Iterable[bytes], out: IO[bytes], store: str | None = None) -> None:
    """Answer every line, and show each answer before the next line is read.

    Args:
        store: file that keeps the sessions; None for one that goes at the end.
    """
    sessions = Sessions(store)
    try:
        for line in lines:
            out.write(answer(line, sessions) + b"\n")
            out.flush()
    finally:
        sessions.close()


@click.command("serve")
@click.option("--stdio", is_flag=True, help="Speak JSON lines on standard input and output.")
@click.option("--store", metavar="FILE", help="Keep the sessions in this file.")
def command(stdio: bool, store: str | None) -> None:
    """Answer requests of other programs: one JSON object a line in, one out.

    A request is {"id": …, "op": …, "given": {…}}; op is compact, render, read, write or count, or a
    step of a session (open, insert, prepare, recall, …) whose name is given.session. Without
    --store the sessions are gone when the input ends.
    """
    if not stdio:
        raise click.UsageError("say how to speak: --stdio")
    main(store)


def main(store: str | None = None) -> None:
    """Serve standard input until it ends, or until nobody reads the answers."""
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer, store)
    except BrokenPipeError:
        # Python flushes stdout once more on its way out, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
