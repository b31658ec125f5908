"""Native data: read so that what is not changed can be given back byte for byte.

A `Document` keeps the text of one input beside its parsed value; changes are `Edit`s, an address
and a new value, and `Document.edited` splices only those. The same edits applied to Python objects
(`apply_edits`) copy only the containers on the way, so untouched messages are the very same
objects. Lenses make edits and know nothing of text; this file knows nothing of messages.
"""
# First, simple version: the API is final, the hardening (damage, spelling, depth) is in work.

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from compactor.core.errors import Finding, InputError, InternalError
from compactor.core.model import Path


class _Remove:
    def __repr__(self) -> str:
        return "REMOVE"


REMOVE: Final = _Remove()
"""As an edit's value: delete the object key or list element."""


class Edit(NamedTuple):
    """Set the value at `path`; `REMOVE` deletes it; a new last key in an object is added at the end."""

    path: Path
    value: Any


class Rows(list[Any]):
    """The parsed records of a JSON Lines document, in order."""


def _tree(edits: Iterable[Edit]) -> dict[Any, Any]:
    """{key: subtree | (value,)}"""
    tree: dict[Any, Any] = {}
    for path, value in edits:
        at: Any = {"": tree} if not path else tree
        steps: tuple[str | int, ...] = path or ("",)
        for key in steps[:-1]:
            at = at.setdefault(key, {})
            if isinstance(at, tuple):
                break
        else:
            at[steps[-1]] = (value,)
            if not path:
                return {"": (value,)}
    return tree


def apply_edits(root: Any, edits: Iterable[Edit]) -> Any:
    """The root with the edits made; everything off the edited paths is the very same object."""
    edits = list(edits)
    for edit in edits:
        if not edit.path:
            return edit.value
    return _applied(root, _tree(edits)) if edits else root


def _applied(node: Any, tree: dict[Any, Any]) -> Any:
    if isinstance(node, dict):
        new: Any = node.copy() if type(node) is dict else dict(node)
        for key, sub in tree.items():
            if isinstance(sub, tuple):
                if sub[0] is REMOVE:
                    new.pop(key, None)
                else:
                    new[key] = sub[0]
            elif key in node:
                new[key] = _applied(node[key], sub)
            else:
                raise InternalError(f"no {key!r} to edit", code="internal.edit")
        return new
    if not isinstance(node, (list, tuple)):
        raise InternalError("no container to edit", code="internal.edit")
    items = list(node)
    for index, sub in tree.items():
        items[index] = sub[0] if isinstance(sub, tuple) else _applied(node[index], sub)
    kept = [item for item in items if item is not REMOVE]
    return tuple(kept) if isinstance(node, tuple) else type(node)(kept)


def compact_json(value: Any) -> str:
    """Compact JSON of a value (DESIGN section 3)."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_type_name)
    return _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _type_name(value: Any) -> str:
    return type(value).__name__


def compact_json_text(text: str) -> str | None:
    """Compact JSON of a JSON text; None when it is no valid JSON."""
    try:
        return compact_json(json.loads(text))
    except ValueError:
        return None


_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_WS = re.compile(r"[ \t\n\r]*+")
_SKIP = re.compile(rf'[^"\[\]{{}}]*+(?:{_STRING}[^"\[\]{{}}]*+)*+', re.DOTALL)
_SCALAR = re.compile(rf"{_STRING}|[^\s,\]}}]++", re.DOTALL)


def _value_end(text: str, pos: int) -> int:
    if text[pos] not in "[{":
        match = _SCALAR.match(text, pos)
        assert match
        return match.end()
    depth = 0
    while True:
        depth += 1 if text[pos] in "[{" else -1
        pos += 1
        if not depth:
            return pos
        match = _SKIP.match(text, pos)
        assert match
        pos = match.end()


def _ws(text: str, pos: int) -> int:
    match = _WS.match(text, pos)
    assert match
    return match.end()


def _members(text: str, pos: int) -> tuple[list[tuple[Any, int, int, int]], int]:
    """(key, member start, value start, value end) of the container at pos, and its end."""
    is_object = text[pos] == "{"
    found: list[tuple[Any, int, int, int]] = []
    pos = _ws(text, pos + 1)
    while text[pos] not in "]}":
        start = pos
        key: Any = len(found)
        if is_object:
            end = _value_end(text, pos)
            key = json.loads(text[pos:end])
            pos = _ws(text, _ws(text, end) + 1)
        end = _value_end(text, pos)
        found.append((key, start, pos, end))
        pos = _ws(text, end)
        if text[pos] == ",":
            pos = _ws(text, pos + 1)
    return found, pos + 1


def _splice(text: str, pos: int, tree: dict[Any, Any], out: list[tuple[int, int, str]]) -> None:
    members, _ = _members(text, pos)
    place = {key: i for i, (key, *_) in enumerate(members)}
    gone: set[Any] = set()
    added = []
    for key, sub in tree.items():
        if not isinstance(sub, tuple):
            _splice(text, members[place[key]][2], sub, out)
        elif sub[0] is REMOVE:
            gone.add(key)
        elif key in place:
            out.append((*members[place[key]][2:], compact_json(sub[0])))
        else:
            added.append(f"{compact_json(key)}:{compact_json(sub[0])}")
    kept = [i for i, (key, *_) in enumerate(members) if key not in gone]
    for i, (key, start, _, end) in enumerate(members):
        if key in gone:
            if not kept:
                out.append((members[0][1] if i == 0 else members[i - 1][3], end, ""))
            elif i < kept[0]:
                out.append((start, members[i + 1][1], ""))
            else:
                out.append((members[i - 1][3], end, ""))
    if added:
        at = members[-1][3] if members else pos + 1
        out.append((at, at, ("," if kept else "") + ",".join(added)))


def splice_text(text: str, edits: Iterable[Edit]) -> str:
    """Edits inside a JSON text; only the changed values are written anew."""
    edits = list(edits)
    start = _ws(text, 0)
    changes: list[tuple[int, int, str]] = []
    for edit in edits:
        if not edit.path:
            changes = [(start, _value_end(text, start), compact_json(edit.value))]
            break
    else:
        if edits:
            _splice(text, start, _tree(edits), changes)
    pieces, pos = [], 0
    for begin, end, new in sorted(changes, key=lambda c: c[:2]):
        pieces += [text[pos:begin], new]
        pos = end
    return "".join([*pieces, text[pos:]])


class Document:
    """One native input: its parsed value and its source, so that edits can be spliced in."""

    def __init__(
        self,
        name: str,
        root: Any,
        findings: list[Finding],
        text: str,
        rows: list[tuple[int, int, int]] | None,
    ) -> None:
        self.name = name
        self.root = root
        self.findings = findings
        self.is_lines = rows is not None
        self._text = text
        self._rows = rows or []

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The input with the edits spliced in; every other byte as it was."""
        if not self.is_lines:
            head = 1 if self._text.startswith("\ufeff") else 0
            text = self._text[:head] + splice_text(self._text[head:], edits)
            return text.encode("utf-8", "surrogateescape")
        by_row: dict[int, list[Edit]] = {}
        for path, value in edits:
            by_row.setdefault(int(path[0]), []).append(Edit(path[1:], value))
        pieces, pos = [], 0
        for row in sorted(by_row):
            _, start, end = self._rows[row]
            pieces += [self._text[pos:start], splice_text(self._text[start:end], by_row[row])]
            pos = end
        return "".join([*pieces, self._text[pos:]]).encode("utf-8", "surrogateescape")

    def place(self, path: Path) -> str:
        """Where a path is: `$.a[0]`, or `name:LINE $.a[0]` in JSON Lines."""
        steps = path[1:] if self.is_lines else path
        rest = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)
        if not self.is_lines:
            return f"${rest}"
        line = f"{self.name}:{self._rows[int(path[0])][0]}" if path else self.name
        return f"{line} ${rest}" if rest else line

    def raw(self, path: Path) -> str:
        """The source text of the value at path."""
        text, steps = self._text.removeprefix("\ufeff"), path
        if self.is_lines:
            _, start, end = self._rows[int(path[0])]
            text, steps = self._text[start:end], path[1:]
        pos = _ws(text, 0)
        for step in steps:
            members, _ = _members(text, pos)
            pos = next(m[2] for m in reversed(members) if m[0] == step)
        return text[pos : _value_end(text, pos)]


def read_document(data: bytes, name: str, *, strict: bool = False) -> Document:
    """Read JSON or JSON Lines.

    Raises:
        InputError: `input.not_json`.
    """
    text = data.decode("utf-8", "surrogateescape")
    head = 1 if text.startswith("\ufeff") else 0
    try:
        return Document(name, json.loads(text[head:]), [], text, None)
    except ValueError:
        pass
    rows, spans, findings = Rows(), [], []
    pos = head
    for number, line in enumerate(text[head:].split("\n"), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
                spans.append((number, pos, pos + len(line)))
            except ValueError as error:
                at = f"{name}:{number}"
                if strict:
                    raise InputError("no JSON", code="input.not_json", path=at) from error
                findings.append(Finding("damaged_line", "a line that is no JSON", at))
        pos += len(line) + 1
    if not rows:
        raise InputError("no JSON", code="input.not_json", path=name, hint="JSON or JSON Lines")
    return Document(name, rows, findings, text, spans)
