"""What a request changes in the prefix of the one before: nothing, or the first thing that differs.

A request that goes on from another begins with all of it, byte for byte; the last message may have
grown by whole blocks, and a request that is shorter is still in the cache. Anything else is a
`Change`. Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.messages import field
from compactor.formats.raw.native import compact_json
from compactor.stability.differences import MISSING, common_prefix, first_difference
from compactor.stability.guesses import look_of, same_items, sorted_json
from compactor.stability.prefix import (
    MESSAGES,
    MODEL,
    PARTS,
    SETTINGS,
    SYSTEM,
    TOOLS,
    Segment,
    is_point,
    plain,
    tool_name,
)


class Change(NamedTuple):
    """The first difference of two prefixes.

    part: one of `prefix.PARTS`.
    look: one of `looks.LOOKS`.
    segment: index of the segment in the prefix before; as many as it has where something was added.
    at: address in the request after (in the one before, of what is gone).
    offset_bytes: of the first differing byte, in the prefix as compact JSON.
    old, new: what differs, as texts; of a string the string itself. "" where nothing stands.
    detail: names of what differs, e.g. of tools; "".
    others: how many more segments of the one before do not come back as they were.
    """

    part: str
    look: str
    segment: int
    at: Path
    offset_bytes: int
    old: str
    new: str
    detail: str = ""
    others: int = 0


def first_change(
    old: Sequence[Segment], new: Sequence[Segment], *, spelling: bool
) -> Change | None:
    """What a request changes; None where it goes on from the one before. O(both).

    Args:
        spelling: whether other spaces and escapes in bodies that came as text are a change, too.
    """
    done = 0
    for part in PARTS:
        mine = [one for one in old if one.part == part]
        found = _in_part(part, mine, [one for one in new if one.part == part])
        if found is not None:
            before = sum(one.size_bytes for one in old[: done + found.segment])
            offset = before + found.offset_bytes
            return found._replace(segment=done + found.segment, offset_bytes=offset)
        done += len(mine)
    return _respelled(old, new) if spelling else None


def _in_part(part: str, old: list[Segment], new: list[Segment]) -> Change | None:
    keys = [one.key for one in old], [one.key for one in new]
    index = common_prefix(*keys)
    if keys[0] == keys[1]:
        return None
    if part == MESSAGES and (index in map(len, keys) or _last_goes_on(old, new, index)):
        return None
    mine = old[index] if index < len(old) else None
    yours = new[index] if index < len(new) else None
    change = _changed(part, mine, yours)._replace(segment=index)
    look, detail = _look_of_part(change, old, new)
    if look == "rewritten" and part != MESSAGES:
        look = "reworded"
    if look in _OF_MESSAGES:
        was, is_now = old[index], new[index]
        seen = change._replace(look=look, detail=detail, at=is_now.at)
        return seen._replace(old=was.key, new=is_now.key)
    if look != change.look:
        return change._replace(look=look, detail=detail)
    rest = zip(old[index + 1 :], new[index + 1 :], strict=False)
    return change._replace(detail=detail, others=sum(a.key != b.key for a, b in rest))


def _changed(part: str, old: Segment | None, new: Segment | None) -> Change:
    """The change from one segment to another, either of which may be missing."""
    if part == SETTINGS:
        old, new = old or _NO_SETTINGS, new or _NO_SETTINGS
    keys = (old.key if old else "", new.key if new else "")
    offset = common_prefix(*keys)
    size = _size(keys[0][:offset])
    segment = new or old
    assert segment is not None, "one of them is there"
    if old is None or new is None:
        return Change(part, "rewritten", 0, segment.at, size, *keys)
    values = plain(old.value, part), plain(new.value, part)
    found = first_difference(*values)
    assert found is not None, "their keys differ"
    inner = ("text",) if isinstance(values[1], str) and isinstance(new.value, dict) else ()
    at = (*new.at, *inner, *_located(new.value, found.path))
    texts = tuple("" if one is MISSING else _text(one) for one in (found.old, found.new))
    return Change(part, look_of(found), 0, at, size, texts[0], texts[1])


_NO_SETTINGS: Final = Segment(SETTINGS, (), {}, "{}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _located(value: Any, path: Path) -> Path:
    """A path in a plain value as one in the value itself, which may have breakpoints in it."""
    located: Path = ()
    for step in path:
        if isinstance(step, int) and isinstance(value, list):
            real = [index for index, item in enumerate(value) if not is_point(item)]
            step = real[step] if step < len(real) else len(value)
        located = (*located, step)
        value = _into(value, step)
    if isinstance(value, list) and len(value) == 1 and field(value[0], "text") is not None:
        return (*located, 0, "text")  # a content that is one text counts as that text
    return located


def _into(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else None
    return field(value, step)


def _last_goes_on(old: list[Segment], new: list[Segment], index: int) -> bool:
    return index == len(old) - 1 and goes_on(old[index], new[index])


def goes_on(old: Segment, new: Segment) -> bool:
    """Whether the last message of a request is there again, or has its old blocks and new ones."""
    if old.key == new.key:
        return True
    for key in ("content", "parts"):
        before, after = _blocks(field(old.value, key)), _blocks(field(new.value, key))
        if before and after[: len(before)] == before:
            rest = [compact_json({**one.value, key: None}) for one in (old, new)]
            return rest[0] == rest[1]
    return False


def first_block(message: Segment) -> str:
    """What a message begins with: the same for one that went on from it."""
    blocks = _blocks(field(message.value, "content")) or _blocks(field(message.value, "parts"))
    return blocks[0] if blocks else message.key


def _blocks(content: Any) -> list[str]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    items = content if isinstance(content, list) else []
    return [compact_json(plain(item)) for item in items if not is_point(item)]


def _respelled(old: Sequence[Segment], new: Sequence[Segment]) -> Change | None:
    """The first of equal segments whose own texts, where both have one, are not the same."""
    offset = 0
    for index, (mine, yours) in enumerate(zip(old, new, strict=False)):
        texts = mine.written, yours.written
        if all(texts) and texts[0] != texts[1] and mine.key == yours.key:
            size = offset + _size(texts[0][: common_prefix(*texts)])
            return Change(mine.part, "spelling", index, yours.at, size, *texts)
        offset += _size(mine.written or mine.key)
    return None


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _look_of_part(change: Change, old: list[Segment], new: list[Segment]) -> tuple[str, str]:
    """What a part looks like as a whole, where that says more than its first difference."""
    if change.part == MODEL:
        return "model", ""
    if change.part == SETTINGS:
        named = ".".join(str(step) for step in change.at)
        return (change.look if change.look in _BY_ITSELF else "setting"), named
    if change.part == TOOLS:
        return _tools(change.look, old, new)
    if change.part == SYSTEM:
        reordered = same_items([one.key for one in old], [one.key for one in new])
        return ("item order" if reordered else change.look), ""
    return _messages(change.look, old[change.segment :], new[change.segment :])


_OF_MESSAGES: Final = ("dropped", "inserted", "message order")
"""Looks of whole messages, where the first difference inside one says nothing."""
_BY_ITSELF: Final = ("clock", "uuid", "key order", "item order", "random id")


def _tools(look: str, old: list[Segment], new: list[Segment]) -> tuple[str, str]:
    names = [tool_name(one.value) for one in old], [tool_name(one.value) for one in new]
    gone, come = _less(*names), _less(*reversed(names))
    if gone or come:
        said = (("without ", gone), ("with ", come))
        return "tools", ", ".join(word + ", ".join(which) for word, which in said if which)
    if names[0] != names[1] or same_items([one.key for one in old], [one.key for one in new]):
        return "tool order", f"{', '.join(names[0][:8])} → {', '.join(names[1][:8])}"
    return look, ""


def _less(some: list[str], others: list[str]) -> list[str]:
    return [name for name in some if name not in others]


def _messages(look: str, old: list[Segment], new: list[Segment]) -> tuple[str, str]:
    """Messages that went, came or moved, told by their values and not by their spelling."""
    mine = [sorted_json(plain(one.value)) for one in old]
    yours = [sorted_json(plain(one.value)) for one in new]
    if mine[0] == yours[0]:
        return look, ""
    went, came = _goes_on(mine, yours), _goes_on(yours, mine)
    if same_items(mine, yours[: len(mine)]) or (went and set(mine[:went]) <= set(yours)):
        return "message order", ""
    if len(mine) == 1 and came > 1:
        came = 0  # one text that is said again later tells nothing
    if went and (not came or went <= came):
        return "dropped", _count(went)
    if came:
        return "inserted", _count(came)
    return look, ""


def _goes_on(messages: list[str], others: list[str]) -> int:
    """Behind how many messages the others begin, by their first two; 0 where they do not."""
    for index in range(1, len(messages)):
        if messages[index : index + 2] == others[: min(2, len(messages) - index)]:
            return index
    return 0


def _count(number: int) -> str:
    return f"{number} message{'' if number == 1 else 's'}"
