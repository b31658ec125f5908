"""The command line: shells around `compactor.api`, one file a command.

Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 input refused, 2 usage, 3 internal fault,
4 overflow with `--fail-on-overflow`, 130 interrupted, 141 nobody reads. Commands are imported when
they are called, so that `--help` starts fast and a missing optional part breaks nothing else.
Specification: DESIGN sections 4 and 11, docs/cli.md.
"""

from __future__ import annotations

from compactor.cli.app import cli

__all__ = ["cli", "main"]

PROGRAM = "compactor"


def main() -> None:
    """Run the command line of this process and exit."""
    cli(prog_name=PROGRAM)
