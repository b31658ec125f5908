"""The table of files read: what a pass hides of files, one row a file, under its last marker.

Rows come from the arguments of read calls, never from a result's text. A path is cut and cleaned,
because the model reads the table as trusted harness text. Specification: DESIGN section 5,
File-read table; the read tools are a table in `loop.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from compactor.core.facts import Facts
from compactor.core.model import Entry, plain_arguments
from compactor.core.policy import named
from compactor.core.texts import Loop, ReadTool

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class FileRead(NamedTuple):
    """A full read of a file.

    file: its identity: the path with `.`, `..` and `//` resolved.
    row: its line of the table.
    """

    file: str
    row: str


class TableWriter:
    """Writes rows and tables.

    Args:
        loop: texts, caps and the table of read tools.
    """

    def __init__(self, loop: Loop) -> None:
        self._texts = loop.table
        self._tools = loop.reads.tools
        self._marker = loop.marker
        self._context = loop.context
        self._id_digits = loop.recall.id_digits

    def read(
        self, entry: Entry, error: bool, seq: int, facts: Facts | None = None
    ) -> FileRead | None:
        """The row of a result that is a full read; None when it is none. O(arguments).

        Args:
            facts: of its insertion; they know better than the call.
        """
        if facts is not None and facts.kind == "read" and not facts.is_stub:
            return None if error else self.known(facts)
        if facts is not None and facts.kind != "result":
            return None
        call = entry.call
        if call is None or error:
            return None
        tools = [tool for tool in self._tools if named(call.name, tool.tools)]
        arguments = plain_arguments(call) if tools else {}
        for tool in tools:
            path = arguments.get(tool.path)
            if isinstance(path, str) and path and _applies(tool, arguments):
                row = self._texts.row.format(
                    path=self._cell(path),
                    lines=self._lines(tool, arguments),
                    sha="",
                    result=self._result(facts) or self._marker.ref_seq.format(seq=seq),
                )
                return FileRead(_identity(path), row)
        return None

    def known(self, facts: Facts) -> FileRead:
        """The row of a full read whose facts are known."""
        lines = f"{facts.first}-{facts.last} of {facts.total}" if facts.total else "empty"
        row = self._texts.row.format(
            path=self._cell(facts.path),
            lines=lines,
            sha=facts.sha[: self._context.sha_digits],
            result=self._result(facts),
        )
        return FileRead(facts.resolved or _identity(facts.path), row)

    def summary(self, reads: Iterable[Facts]) -> str:
        """What follows a summary: the newest full read of each file that it hides; "" without.

        Args:
            reads: oldest first.
        """
        newest: dict[str, str] = {}
        for read in map(self.known, reads):
            newest.pop(read.file, None)
            newest[read.file] = read.row
        if not newest:
            return ""
        texts, table = self._texts, self._context.compaction
        rows = list(newest.values())[-table.rows :]
        head = ["", "", table.heading, "", texts.sentence, "", texts.columns, texts.rule]
        return "\n".join([*head, *rows])

    def _result(self, facts: Facts | None) -> str:
        if facts is None:
            return ""
        return self._marker.ref_id.format(id=f"{facts.number:0{self._id_digits}x}")

    def table(self, reads: Iterable[FileRead], recallable: bool) -> str:
        """What follows the last marker of a pass; "" without reads.

        Args:
            reads: of the results that the pass elides, oldest first.
        """
        newest: dict[str, str] = {}
        for read in reads:
            newest.pop(read.file, None)
            newest[read.file] = read.row
        if not newest:
            return ""
        texts = self._texts
        rows = list(newest.values())[-texts.rows :]
        sentence = [texts.sentence, ""] if recallable else []
        lines = ["", "", texts.heading, "", *sentence, texts.columns, texts.rule, *rows]
        return "\n".join(lines)

    def _lines(self, tool: ReadTool, arguments: dict[str, Any]) -> str:
        """`10-29`, `1-` or `all`; "" when the arguments do not say it in whole numbers."""
        if any(arguments.get(name) not in (None, False, "") for name in tool.unclear):
            return ""
        first, last = _given(arguments, tool.first), _given(arguments, tool.last)
        count = _given(arguments, tool.count)
        pair = arguments.get(tool.range) if tool.range else None
        if pair is not None:
            first, last = pair if isinstance(pair, list) and len(pair) == 2 else ("", None)
        if first is last is count is None:
            return self._texts.all
        return _spelled(first, last, count, tool.base)

    def _cell(self, path: str) -> str:
        """A path as a table cell: one line, no bars, bounded, no half characters."""
        texts = self._texts
        clean = _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", path))
        if len(clean) > texts.path_chars:
            clean = texts.cut + clean[len(texts.cut) - texts.path_chars :]
        return clean.replace("|", "\\|")


def _given(arguments: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The first of these arguments that the call gives; None without any."""
    return next((arguments[name] for name in names if arguments.get(name) is not None), None)


def _spelled(first: Any, last: Any, count: Any, base: int) -> str:
    """Lines as people count them; a last line below the first possible one is the file's end.

    A first line before the file's is its first one: harnesses take 0 for "from the start".
    """
    if not all(value is None or _whole(value) for value in (first, last, count)):
        return ""
    if first is not None and first < 0:  # counted from the file's end
        return ""
    start = 1 if first is None else max(1, first + 1 - base)
    if last is not None:
        end = last + 1 - base
        return f"{start}-" if end < 1 else _closed(start, end)
    return f"{start}-" if count is None else _closed(start, start + count - 1)


def _closed(start: int, end: int) -> str:
    return f"{start}-{end}" if start <= end else ""


def _whole(value: Any) -> bool:
    """A number that a cell may carry: a plain integer of a bounded length."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**12


def _applies(tool: ReadTool, arguments: dict[str, Any]) -> bool:
    return all(arguments.get(key) == value for key, value in tool.when.items())


def _identity(path: str) -> str:
    """A path with `.`, `..` and `//` resolved, lexically; case kept."""
    kept: list[str] = []
    for step in path.split("/"):
        if step == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif step not in ("", ".") and not (step == ".." and path.startswith("/")):
            kept.append(step)
    return ("/" if path.startswith("/") else "") + "/".join(kept)
