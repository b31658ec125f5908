"""A dedupe table and a hand that inserts into it, for tests of hygiene on insertion."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from compactor.core import hygiene
from compactor.core.facts import Facts
from compactor.loop import loop

TEXTS = loop().context
ABC = "alpha\nbeta\ngamma\n"


class Known:
    """A dedupe table in which everything stands but what was taken out of it."""

    def __init__(self) -> None:
        self.facts: dict[int, Facts] = {}
        self.gone: set[int] = set()

    def reads(self, resolved: str, sha: str) -> Iterator[Facts]:
        for facts in self._standing():
            if facts.kind == "read" and (facts.resolved, facts.sha) == (resolved, sha):
                yield facts

    def same(self, key: str) -> Facts | None:
        return next((facts for facts in self._standing() if facts.same_key == key), None)

    def _standing(self) -> Iterator[Facts]:
        for facts in reversed(self.facts.values()):
            if facts.number not in self.gone and not facts.is_stub:
                yield facts


class Hand:
    """Inserts results one after the other."""

    def __init__(self, number: int = 1) -> None:
        self.known = Known()
        self._next = number

    def insert(
        self,
        tool: str = "bash",
        arguments: Mapping[str, Any] | str = "{}",
        output: Any = "",
        **given: Any,
    ) -> hygiene.Inserted:
        insertion = hygiene.Insertion(
            tool=tool,
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
            output=output,
            error=given.get("error", False),
            read=hygiene.read_of(given.get("read")),
            edits=tuple(map(hygiene.change_of, given.get("edits", ()))),
            note=given.get("note"),
        )
        inserted = hygiene.insert(insertion, self._next, self.known, loop())
        assert inserted.facts.number == self._next
        self.known.facts[self._next] = inserted.facts
        self._next += 1
        return inserted

    def read(self, path: str, content: str | bytes, **given: Any) -> hygiene.Inserted:
        """A read that the session renders: of the whole file, or of `offset` and `limit`."""
        arguments = {"path": path} | {k: given.pop(k) for k in ("offset", "limit") if k in given}
        facts = {"path": path, "resolved": f"/p/{path}", "content": content}
        return self.insert("read", arguments, read=facts | given.pop("read", {}), **given)

    def edit(self, *changes: tuple[str, Any, Any], **given: Any) -> hygiene.Inserted:
        edits = [{"path": path, "old": old, "new": new} for path, old, new in changes]
        return self.insert("edit", "{}", edits=edits, **given)


def sha_of(content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    return hashlib.sha256(data).hexdigest()


def numbered(first: int, last: int, text: str = "line {}") -> str:
    return "".join(text.format(number) + "\n" for number in range(first, last + 1))


_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def applied(diff: str, old: str) -> str:
    """A text with a diff applied, by the letter: every hunk must say what stands there."""
    olds, lines = _lines(old), _lines(diff)
    made: list[str] = []
    at = index = 0
    while index < len(lines):
        match = _HUNK.fullmatch(lines[index])
        assert match is not None, lines[index]
        start, olds_left, new_start, news_left = _numbers(match)
        index += 1
        assert start >= at
        made += olds[at:start]
        at = start
        assert len(made) == new_start
        while olds_left or news_left:
            sign, line = lines[index][0], lines[index][1:]
            index += 1
            if index < len(lines) and lines[index] == "\\ No newline at end of file\n":
                line = line.removesuffix("\n")
                index += 1
            if sign in " -":
                assert olds[at] == line
                at += 1
                olds_left -= 1
            if sign in " +":
                made.append(line)
                news_left -= 1
            assert sign in " -+"
    return "".join(made + olds[at:])


def _numbers(match: re.Match[str]) -> tuple[int, int, int, int]:
    """Where a hunk begins in both texts, from 0, and how many lines it has of each."""
    numbers = [int(group) if group is not None else 1 for group in match.groups()]
    old, old_count, new, new_count = numbers
    return old - (old_count > 0), old_count, new - (new_count > 0), new_count


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)
