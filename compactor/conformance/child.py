"""An implementation in another process, spoken to in lines on its standard input and output.

Each question has a time limit, and a program that dies, hangs or falls out of step fails that
question alone: it is ended and started again for the next. Its standard error is left as it is.
"""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import IO, Any

from compactor.conformance.runner import NoAnswerError
from compactor.formats.raw.json_text import read_value

TIME_LIMIT_S = 30
_END_LIMIT_S = 5
"""Seconds that a program has to end by itself once its input has ended."""


class Child:
    """A program that speaks the protocol. Use it as a context manager and as an `Ask`.

    Args:
        argv: the command, split.
        time_limit_s: seconds that one answer may take.
    """

    def __init__(self, argv: Sequence[str], time_limit_s: float = TIME_LIMIT_S) -> None:
        self._argv = list(argv)
        self._limit_s = time_limit_s
        self._running: _Running | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._running is not None:
            self._running.hang_up()
            self._end(_END_LIMIT_S)

    def __call__(self, line: bytes) -> bytes:
        """The line that answers a line.

        Raises:
            NoAnswerError: it died or took too long; the next question starts it again.
        """
        if self._running is not None and not self._running.said.empty():
            self._end(0)  # it said more than it was asked, or ended: start afresh, in step
        if self._running is None:
            try:
                self._running = _Running(self._argv)
            except OSError as error:
                raise NoAnswerError(f"cannot be started: {error.strerror}") from error
        self._running.ask(line)
        try:
            said = self._running.said.get(timeout=self._limit_s)
        except queue.Empty:
            self._end(0)
            raise NoAnswerError(f"gave no answer within {self._limit_s} s") from None
        if not said.endswith(b"\n"):
            code = self._end(_END_LIMIT_S)
            raise NoAnswerError(f"ended without an answer, with exit code {code}")
        if _id(said) != _id(line):
            self._end(0)
            raise NoAnswerError(f"answered another question, or none: {said[:80]!r}")
        return said

    def _end(self, grace_s: float) -> int | None:
        running, self._running = self._running, None
        return running.end(grace_s) if running is not None else None


class _Running:
    """A started program. `said`: its lines as they come, b"" behind the last."""

    def __init__(self, argv: list[str]) -> None:
        self.said: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._threads: list[threading.Thread] = []
        self._start(_read, self._pipe(self._process.stdout), self.said)

    def ask(self, line: bytes) -> None:
        """Write a line. In a thread: a program that does not read blocks once the pipe is full."""
        self._start(_write, self._pipe(self._process.stdin), line + b"\n")

    def hang_up(self) -> None:
        """End its input."""
        self._start(_write, self._pipe(self._process.stdin), b"")

    def end(self, grace_s: float) -> int:
        """Wait, then kill; its exit code."""
        try:
            code = self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self.hang_up()
        for thread in self._threads:
            thread.join(_END_LIMIT_S)
        self._pipe(self._process.stdout).close()
        return code

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # both were asked for
        return pipe


def _id(line: bytes) -> Any:
    """The id of a question or an answer; the line itself where it has none."""
    try:
        message = read_value(line.decode("utf-8"), 0)[0]
    except ValueError:
        return line
    return message.get("id") if isinstance(message, dict) else line


def _write(pipe: IO[bytes], data: bytes) -> None:
    """A line, or b"" to close. That the program is gone is said by its missing answer."""
    try:
        if data:
            pipe.write(data)
            pipe.flush()
        else:
            pipe.close()
    except (OSError, ValueError):
        pass


def _read(pipe: IO[bytes], said: queue.SimpleQueue[bytes]) -> None:
    for line in pipe:
        said.put(line)
    said.put(b"")
