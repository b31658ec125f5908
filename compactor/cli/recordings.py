"""Recordings in the files and folders that a person names, one conversation after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from compactor.cli.progress import each_file
from compactor.cli.screen import note, plain
from compactor.core.errors import InputError
from compactor.inspection import NO_TRANSCRIPT
from compactor.transcript import Transcript, load
from compactor.walk import Found, files


class Reading(NamedTuple):
    """How to read the files."""

    format: str | None
    thread: str
    all_threads: bool
    strict: bool
    quiet: bool


class Read(NamedTuple):
    """A conversation, and what to call it; named: a person named its file."""

    name: str
    transcript: Transcript
    named: bool


def recordings(paths: tuple[str, ...], reading: Reading) -> Iterator[Read]:
    """The conversations of files, and of the files of folders, with a bar.

    Raises:
        InputError: a file that was named cannot be read; in folders others are passed over.
    """
    for found in each_file(list(files(paths)), quiet=reading.quiet):
        yield from _of_file(found, reading)


def _of_file(found: Found, reading: Reading) -> Iterator[Read]:
    name = str(found.path)
    try:
        first = load(found.path, reading.format, thread=reading.thread, strict=reading.strict)
        yield Read(name, first, found.named)
        for thread in first.threads[1:] if reading.all_threads else ():
            yield Read(f"{name} ({thread})", first.of_thread(thread), found.named)
    except InputError as error:
        if found.named:
            raise
        if error.code not in NO_TRANSCRIPT and not reading.quiet:
            note(f"note: passed over: {plain(str(error))} [{error.code}]")
