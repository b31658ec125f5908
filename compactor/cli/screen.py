"""What a terminal shows: text of transcripts made harmless, notes, numbers.

A transcript is written by strangers. Nothing of it reaches a terminal as a control sequence, turns
the line around, or breaks it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click
import msgspec

from compactor.core.errors import CompactorError, Finding

NOTES_MAX = 10
"""Findings shown on stderr; the report has all of them."""

_HARMFUL = re.compile(
    # controls, delete and C1; what turns text around or hides in it; line ends; half a pair
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def plain(text: str) -> str:
    """The text in one line that a terminal can only print."""
    return _HARMFUL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def clipped(text: str, chars: int) -> str:
    """At most so many characters, the end given up for `...`."""
    return text if len(text) <= chars else text[: chars - 3] + "..."


def to_json(value: Any) -> str:
    """Any of our values as JSON text. ASCII, so that half a surrogate pair is no error."""
    return json.dumps(msgspec.to_builtins(value), indent=2)


def show(text: str) -> None:
    """Text for stdout, colours only on a terminal.

    Raises:
        CompactorError: `output.unwritable`.
    """
    _write(lambda: click.echo(text, file=sys.stdout))


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Bytes for stdout, as they are, one piece after the other.

    Raises:
        CompactorError: `output.unwritable`.
    """

    def write() -> None:
        for piece in pieces:
            click.echo(piece, file=sys.stdout, nl=False)

    _write(write)


def note(text: str) -> None:
    """A line of talk. Where nobody can hear it, the work goes on."""
    with contextlib.suppress(OSError):
        click.echo(text, file=sys.stderr, err=True)


def note_findings(findings: Iterable[Finding]) -> None:
    """The first findings as `note:` lines."""
    findings = tuple(findings)
    for finding in findings[:NOTES_MAX]:
        where = f"{finding.path}: " if finding.path else ""
        note(f"note: {plain(where + finding.message)} [{finding.code}]")
    if len(findings) > NOTES_MAX:
        note(f"note: and {len(findings) - NOTES_MAX} more (the report has all)")


def hush() -> None:
    """Nobody reads stdout: Python flushes it once more on its way out, and must not complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _write(write: Callable[[], None]) -> None:
    try:
        if sys.stdout is None:
            raise OSError("it is closed")
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        hush()
        raise CompactorError(
            f"standard output cannot be written: {error.strerror or error}",
            code="output.unwritable",
        ) from error
