"""What an error becomes on the command line: one line on stderr and an exit code."""

from __future__ import annotations

import os
import traceback

import click

from compactor.cli.screen import hush, note, plain
from compactor.core.errors import CompactorError, InternalError

REFUSED, FAULT, OVERFLOW, INTERRUPTED, UNREAD = 1, 3, 4, 130, 141
"""Exit codes; 0 is done and 2 is click's, for usage. 141 is what a shell shows for SIGPIPE."""

DEBUG = "COMPACTOR_DEBUG"
"""Set in the environment, it shows the traceback of an internal fault."""


def exit_code(error: BaseException) -> int:
    """Say what went wrong, and the exit code for it."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        hush()
        return UNREAD
    if isinstance(error, CompactorError) and not isinstance(error, InternalError):
        _say(f"{error} [{error.code}]")
        return REFUSED
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    _say(_fault(error))
    return FAULT


def _fault(error: BaseException) -> str:
    """An error that is ours. Its message may quote the input: that is for the user to judge."""
    if isinstance(error, InternalError):
        return f"{error} [{error.code}]"
    return (
        f"internal fault: {type(error).__name__}: {error} (please report this; "
        f"{DEBUG}=1 shows where; nothing more was written) [internal.fault]"
    )


def _say(message: str) -> None:
    note(click.style("error", fg="red") + f": {plain(message)}")
