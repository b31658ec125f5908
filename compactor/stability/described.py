"""A stream of requests as one readable text: what each says that the ones before did not.

One block a request, one a piece of its prefix that is new or changed, with a digest of its bytes,
its tokens and its text. Long texts are cut; the digest stands for what is left out. The text is
what `RequestStreamExtension` keeps. Specification: docs/pytest.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from compactor.formats.messages import field
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import compact_json
from compactor.stability.breaks import Break
from compactor.stability.prefix import Segment
from compactor.stability.requests import Request
from compactor.stability.says import printable
from compactor.stability.stream import CacheStability

_LINES: Final = 12
_LINE_CHARS: Final = 100
_SHORT_CHARS: Final = 60


def describe(stream: CacheStability | Iterable[Any]) -> str:
    """The text of a stream.

    Args:
        stream: or the bodies of one, oldest first, as `CacheStability.record` takes them.
    """
    stream = stream if isinstance(stream, CacheStability) else _recorded(stream)
    breaks = {one.request: one for one in stream.breaks}
    requests = stream.requests
    blocks = (map(printable, _request(one, breaks.get(one.number))) for one in requests)
    return "\n\n".join(map("\n".join, blocks)) + "\n"


def _recorded(bodies: Iterable[Any]) -> CacheStability:
    stream = CacheStability()
    for body in bodies:
        stream.record(body)
    return stream


def _request(request: Request, found: Break | None) -> Iterator[str]:
    tokens = request.costs
    yield (
        f"=== request {request.number}, conversation {request.conversation}: {request.shape}, "
        f"{tokens.total} tokens ({tokens.counter})"
    )
    if found is not None:
        yield f"breaks request {found.before} in {dotted(found.change.at)}: {found.look.name}"
    elif request.before is not None:
        yield f"goes on from request {request.before.number}"
    before = request.before.segments if request.before is not None else ()
    known = {(one.at, one.key) for one in before}
    for one, count in zip(request.segments, tokens.tokens, strict=True):
        if (one.at, one.key) not in known:
            yield from _segment(one, count)


def _segment(one: Segment, tokens: int) -> Iterator[str]:
    digest = hashlib.sha256(one.key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    role = field(one.value, "role")
    said = f" {role}" if isinstance(role, str) else ""
    size = f", {tokens} tokens" if tokens else ""
    yield f"{dotted(one.at)}{said}{size}, {digest}"
    value = one.value
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != "role"}
    yield from (f"  {line}" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    """A value for a person: short things on one line, texts a line a line, the rest by its keys."""
    if isinstance(value, str):
        yield from _text(value)
    elif _is_short(value):
        yield compact_json(value)
    else:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            yield from _member(f"{key}:" if isinstance(value, dict) else f"[{key}]", item)


def _member(name: str, item: Any) -> Iterator[str]:
    if isinstance(item, str) and _is_short(item) and item.isprintable():
        yield f"{name} {item}"
    elif not isinstance(item, str) and _is_short(item):
        yield f"{name} {compact_json(item)}"
    else:
        yield name
        yield from (f"  {line}" for line in _lines(item))


def _is_short(value: Any) -> bool:
    return len(compact_json(value)) <= _SHORT_CHARS


def _text(text: str) -> Iterator[str]:
    lines = text.split("\n")
    for line in lines[:_LINES]:
        cut = line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}… ({len(line)} chars)"
        yield f"| {cut}"
    if len(lines) > _LINES:
        left = len(lines) - _LINES
        yield f"… {left} more lines ({len(text)} chars)"
