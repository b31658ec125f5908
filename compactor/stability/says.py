"""What a failed check says: which request, where, both texts, what it costs, what to do.

Written for a person who has not seen the harness for a while. Specification: docs/pytest.md.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from compactor.formats.raw.edits import dotted
from compactor.stability.breaks import Break, Found
from compactor.stability.differences import common_prefix

_BEFORE: Final = 36
_BEHIND: Final = 44
_LISTED: Final = 20
_WIDTH: Final = 100


class CacheBreakError(AssertionError):
    """Requests broke the prompt cache, and no pass was told for it."""


def problem(found: Found, wanted: int | None) -> str:
    """Why a stream is not as it should be; "" where it is."""
    if not found.requests:
        return (
            "cache_stability recorded no request\n"
            "  what to do  hand its transport to the client, wrap the client, or call record(body)"
        )
    names = found.conversations
    if wanted is not None and len(names) != wanted:
        return "\n".join(map(printable, _other_conversations(found, wanted)))
    unexpected = found.unexpected
    if len(unexpected) <= found.allowed:
        return ""
    return "\n".join(map(printable, _told(found, unexpected[found.allowed :])))


def _other_conversations(found: Found, wanted: int) -> Iterator[str]:
    names = found.conversations
    yield f"{len(names)} conversations were recorded, not {wanted}"
    firsts = {one.conversation: one.number for one in reversed(found.requests)}
    for name in names:
        yield f"  conversation {name} begins with request {firsts[name]}"
    yield "  A request that goes on from no earlier one begins a conversation."


def _told(found: Found, breaks: Sequence[Break]) -> Iterator[str]:
    first, *more = breaks
    yield _headline(found, first)
    yield ""
    yield from _places(found, first)
    yield from _difference(first)
    yield from _consequences(found, first)
    if more:
        yield ""
        yield f"{_counted(len(more), 'more break')}:"
        for one in more[:_LISTED]:
            place = dotted(one.change.at)
            yield f"  request {one.request}, in {place}: {one.look.name}"
        if len(more) > _LISTED:
            yield f"  … and {len(more) - _LISTED} more"
    yield ""
    yield sums(found)


def sums(found: Found) -> str:
    """How many of each there are, in a line."""
    lost = sum(_lost(found, one) for one in found.breaks)
    return (
        f"{_counted(len(found.breaks), 'break')} in {_counted(len(found.requests), 'request')}, "
        f"{lost:,} tokens read anew; "
        f"{_counted(found.passes, 'pass')} told, {_counted(found.allowed, 'break')} allowed"
    )


def _counted(number: int, word: str) -> str:
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{number} {word if number == 1 else plural}"


def _headline(found: Found, one: Break) -> str:
    many = f" (conversation {one.conversation})" if len(found.conversations) > 1 else ""
    return (
        f"request {one.request} of {len(found.requests)}{many} breaks the prompt cache in its "
        f"{one.change.part}: {one.look.name}"
    )


def _places(found: Found, one: Break) -> Iterator[str]:
    for number in (one.before, one.request):
        place = found.requests[number - 1].place
        if place:
            yield f"  request {number} is {place}"


def _difference(one: Break) -> Iterator[str]:
    change = one.change
    yield (
        f"  It differs from request {one.before} from byte {change.offset_bytes} of the prefix on, "
        f"in {dotted(change.at)}"
    )
    old, new, caret = excerpts(change.old, change.new)
    names = [f"    request {number}: " for number in (one.before, one.request)]
    width = max(map(len, names))
    yield f"{names[0]:<{width}}{old}"
    yield f"{names[1]:<{width}}{new}"
    yield f"{'':<{width + caret}}^"


def _consequences(found: Found, one: Break) -> Iterator[str]:
    change, look = one.change, one.look
    detail = f" ({change.detail})" if change.detail else ""
    said = f"{look.name}: {look.said}{detail}"
    if change.others:
        said += f"; so do {change.others} more behind it"
    yield from _filled("looks like", said)
    yield from _filled("it costs", _cost(found, one))
    yield from _filled("what to do", look.advice)


def _filled(label: str, text: str) -> list[str]:
    lead, room = f"  {label:<12}", " " * 14
    return textwrap.wrap(text, _WIDTH, initial_indent=lead, subsequent_indent=room)


def _cost(found: Found, one: Break) -> str:
    before = found.requests[one.before - 1].costs
    if one.change.look == "spelling":
        return "nothing at a provider; everything at a cache of your own that goes by bytes"
    return (
        f"{_lost(found, one):,} of the {before.total:,} tokens of request {one.before} are read "
        f"anew, at the full price ({before.counter})"
    )


def excerpts(old: str, new: str) -> tuple[str, str, int]:
    """Two texts around their first difference, on a line each, and the column where it is."""
    at = common_prefix(old, new)
    start = max(0, at - _BEFORE)
    lead = ("…" if start else "") + printable(old[start:at])
    return _excerpt(lead, old, at), _excerpt(lead, new, at), len(lead) + 1


def _excerpt(lead: str, text: str, at: int) -> str:
    if not text:
        return "(nothing)"
    rest = text[at : at + _BEHIND]
    more = "…" if len(text) > at + _BEHIND else ""
    return f"'{lead}{printable(rest)}{more}'"


def printable(text: str) -> str:
    """A text in one line, with what breaks it or cannot be printed escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def summary(found: Found) -> dict[str, Any]:
    """What was recorded, in numbers. O(the requests)."""
    return {
        "requests": len(found.requests),
        "conversations": list(found.conversations),
        "passes": found.passes,
        "allowed": found.allowed,
        "tokens": sum(one.costs.total for one in found.requests),
        "tokens_reread": sum(_lost(found, one) for one in found.breaks),
        "breaks": [_break(one, _lost(found, one)) for one in found.breaks],
    }


def _lost(found: Found, one: Break) -> int:
    """The tokens that are read anew. No provider minds how a value is spelled."""
    if one.change.look == "spelling":
        return 0
    return sum(found.requests[one.before - 1].costs.tokens[one.change.segment :])


def _break(one: Break, lost: int) -> dict[str, Any]:
    old, new, _ = excerpts(one.change.old, one.change.new)
    return {
        "request": one.request,
        "before": one.before,
        "conversation": one.conversation,
        "expected": one.expected,
        "part": one.change.part,
        "path": dotted(one.change.at),
        "offset_bytes": one.change.offset_bytes,
        "looks_like": one.change.look,
        "old": old,
        "new": new,
        "tokens_reread": lost,
    }
