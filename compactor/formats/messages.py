"""What formats made of a message list share: finding the list and reading only what is new.

A dialect says what one native message is (`message`) and what every request carries beside its
messages (`carried`); this file walks the list. What a longer request shares with the last one by
object identity is not read again, but for the last message, which may have grown in place. Native
fields are looked up through `field` alone, which knows dicts and the models of SDKs (`objects`).
Specification: DESIGN section 3.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple, Protocol, runtime_checkable

from compactor.core.errors import Finding, InputError
from compactor.core.model import Call, Entry, Kind, Overhead, Path, Reading
from compactor.formats.builder import Builder
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import LazyRows, compact_json
from compactor.formats.raw.objects import field as field  # the one way in, for lenses too
from compactor.formats.raw.objects import is_object, step_into

SYSTEM_ROLES = ("system", "developer")
SERVER_HISTORY = (
    ("previous_response_id",),
    ("conversation",),
    ("cachedContent",),
    ("cached_content",),
    ("previous_interaction_id",),
    ("thread", "previous_message_id"),
)


def text_field(native: Any, key: str) -> str:
    """A field that is a text; "" when it is anything else."""
    value = field(native, key)
    return value if isinstance(value, str) else ""


def value_at(root: Any, path: Path) -> Any:
    """The native value at an address that a lens made."""
    for step in path:
        root = step_into(root, step)
    return root


class Body(NamedTuple):
    """Where the messages of a native root are.

    fields: the request body; {} for a bare list.
    base: address of the list.
    items: the native messages, oldest first.
    """

    fields: Mapping[str, Any]
    base: Path
    items: Sequence[Any]


class Carried(NamedTuple):
    """The native objects that every request carries beside its messages.

    system: system texts and text blocks, in order.
    tools: tool definitions, in order.
    known: whether the recording says so at all.
    """

    system: tuple[Any, ...] = ()
    tools: tuple[Any, ...] = ()
    known: bool = False


class Dialect(Protocol):
    """One format of message lists. Stateless.

    leading: roles whose messages at the very start are overhead, not entries.
    """

    @property
    def name(self) -> str: ...
    @property
    def leading(self) -> tuple[str, ...]: ...

    def message(self, builder: Builder, message: Any, at: Path) -> None:
        """Say to the builder what one message holds, or raise `input.shape`."""
        ...

    def carried(self, body: Body, lead: Sequence[Any]) -> Carried:
        """System texts, `lead` (the leading system messages) included, and tools."""
        ...

    def tool_texts(self, tool: Any) -> list[str]:
        """The counted texts of one tool definition."""
        ...


@runtime_checkable
class Leads(Protocol):
    """A dialect whose messages say in their own way that they are overhead at the very start."""

    def leads(self, message: Any) -> bool:
        """Whether a message, with all before it, is overhead and no entry."""
        ...


@dataclass(slots=True)
class _Resume:
    """How far a reading got. Holds the native objects, so that their identity stays theirs."""

    name: str
    base: Path
    builder: Builder
    items: list[Any]
    carried: Carried
    overhead: Overhead


def locate(root: Any, key: str = "messages") -> Body:
    """The list of messages in a request body or in a bare list.

    Raises:
        InputError: `input.shape`; `input.provider_history` when the history is not in the body.
    """
    if isinstance(root, list):
        return Body({}, (), root)
    if not isinstance(root, dict):
        raise shape_error((), f"a request body or a list of {key} was expected")
    refuse_server_history(root)
    items = root.get(key)
    if not isinstance(items, list):
        raise shape_error((key,), "a list was expected")
    return Body(root, (key,), items)


def refuse_server_history(native: Any, at: Path = ()) -> None:
    """Refuse a request whose history the provider keeps: we would compact only its tail."""
    for path in SERVER_HISTORY:
        value = native
        for key in path:
            value = field(value, key)
        if value is not None:
            raise InputError(
                "the history of this request is kept by the provider",
                code="input.provider_history",
                path=dotted((*at, *path)),
                hint="send the full history in the request instead",
            )


def shape_error(at: Path, message: str, hint: str = "") -> InputError:
    """What makes an input no conversation, with its place."""
    return InputError(message, code="input.shape", path=dotted(at), hint=hint)


def word_of(message: Any, key: str, known: Sequence[str], at: Path) -> str:
    """The `role` or `kind` of a message.

    Raises:
        InputError: `input.shape`, when the message is no object or the word is not a known one.
    """
    if not is_object(message):
        hint = "give dicts, or the models of the provider's SDK"
        raise shape_error(at, "a message must be an object", hint)
    word = field(message, key)
    if not isinstance(word, str) or word not in known:
        said = f"{key} {word[:40]!r} is unknown" if isinstance(word, str) else f"no {key}"
        raise shape_error((*at, key), said, f"one of {', '.join(known)}")
    return word


def read_messages(dialect: Dialect, body: Body, known: Reading | None) -> Reading:
    """Read a list of messages, going on from an earlier reading. O(new) and a C-speed comparison.

    Raises:
        InputError: `input.shape`. The earlier reading can still be gone on from.
    """
    state = _resumed(dialect, body, known)
    builder, items = state.builder, body.items
    lead = leading(dialect, items)
    start = builder.cut(max(_shared(state.items, items) - 1, 0))
    del state.items[start:]
    for index in range(start, len(items)):
        builder.at_item(index)
        if index >= len(lead):
            _read_one(dialect, builder, items[index], (*body.base, index))
        if not isinstance(items, LazyRows):  # which hold nothing, and are never gone on from
            state.items.append(items[index])
    carried = dialect.carried(body, lead)
    if not _same(state.carried, carried):
        state.carried, state.overhead = carried, overhead_of(dialect, carried)
    ending = (_unanswered(call) for call in open_calls(builder.entries, len(builder.entries)))
    return Reading(
        entries=builder.entries,
        overhead=state.overhead,
        findings=[*_body_findings(body), *builder.findings, *ending],
        model=text_field(body.fields, "model"),
        carried=carried,
        resume=state,
    )


def leading(dialect: Dialect, items: Sequence[Any]) -> list[Any]:
    """The messages at the very start that are overhead."""
    if isinstance(dialect, Leads):
        return list(takewhile(dialect.leads, items))
    return list(takewhile(lambda item: field(item, "role") in dialect.leading, items))


def open_calls(entries: Sequence[Entry], end: int) -> list[Call]:
    """Calls of the last turn below `end` that no result from there to `end` answers. O(turn)."""
    answered: Counter[str | tuple[str]] = Counter()
    for index in range(end - 1, -1, -1):
        entry = entries[index]
        if entry.kind is Kind.ASSISTANT:
            return [call for call in entry.calls if not _taken(answered, call)]
        if entry.kind is Kind.TOOL:
            answered[_asked(entry)] += 1
    return []


def _asked(result: Entry) -> str | tuple[str]:
    """What the call of a result is known by, as `_taken` looks for it."""
    call = result.call
    return result.call_id or ("",) if call is None else call.id or (call.name,)


def _taken(answered: Counter[str | tuple[str]], call: Call) -> bool:
    """Whether a result is left for this call; uses it up, as ids repeat within a turn."""
    key = call.id or (call.name,)
    found = answered[key] > 0
    answered[key] -= found
    return found


def _unanswered(call: Call) -> Finding:
    """The finding of a call without a result, at the innermost list item of its address."""
    last = max((i for i, step in enumerate(call.at) if isinstance(step, int)), default=-1)
    message = f"call {(call.id or call.name)[:80]!r} has no result before the next turn or the end"
    return Finding("unanswered_call", message, dotted(call.at[: last + 1]))


def _read_one(dialect: Dialect, builder: Builder, message: Any, at: Path) -> None:
    """One message; where it begins a turn, the calls that the turn before left open are said."""
    before = builder.size
    dialect.message(builder, message, at)
    if builder.size > before and builder.entries[before].kind is Kind.ASSISTANT:
        for call in open_calls(builder.entries, before):
            finding = _unanswered(call)
            builder.report(finding.code, finding.message, finding.path)


def _resumed(dialect: Dialect, body: Body, known: Reading | None) -> _Resume:
    """The state to go on from: the earlier reading's when it shares a first message with us."""
    state = known.resume if known is not None else None
    if (
        isinstance(state, _Resume)
        and (state.name, state.base) == (dialect.name, body.base)
        and _shared(state.items[:1], body.items)
    ):
        return state
    return _Resume(dialect.name, body.base, Builder(), [], Carried(), Overhead())


def _shared(old: Sequence[Any], new: Sequence[Any]) -> int:
    """How many leading objects two lists share by identity."""
    return sum(takewhile(bool, map(operator.is_, old, new)))


def _same(old: Carried, new: Carried) -> bool:
    """Whether two requests carry the very same objects, so that their texts need no second look."""
    if (len(old.system), len(old.tools), old.known) != (len(new.system), len(new.tools), new.known):
        return False
    return all(map(operator.is_, (*old.system, *old.tools), (*new.system, *new.tools)))


def overhead_of(dialect: Dialect, carried: Carried) -> Overhead:
    """The counted texts of what every request carries."""
    texts = [*map(_system_text, carried.system)]
    for tool in carried.tools:
        texts += dialect.tool_texts(tool)
    return Overhead(tuple(filter(None, texts)), carried.known)


def _system_text(native: Any) -> str:
    if isinstance(native, str):
        return native
    text = field(native, "text")
    return text if isinstance(text, str) else compact_json(native)


def listed(native: Any) -> Iterator[Any]:
    """The items of a list; a value that is no list is its own only item, None is none."""
    if isinstance(native, list):
        yield from native
    elif native is not None:
        yield native


def _body_findings(body: Body) -> list[Finding]:
    found: list[Finding] = []
    if body.fields.get("context_management") is not None:
        message = "the provider edits this context as well; what it clears is not seen here"
        found.append(Finding("provider_context_management", message, "$.context_management"))
    if body.fields.get("compaction") is not None:
        message = "the provider is asked to summarise this conversation"
        found.append(Finding("provider_compaction", message, "$.compaction"))
    if body.fields.get("thread") is not None:
        message = "the provider keeps this history; a request that continues it there is refused"
        found.append(Finding("provider_thread", message, "$.thread"))
    if body.fields.get("truncation") == "auto":
        message = "the provider drops items from the beginning when the window is full, unseen here"
        found.append(Finding("provider_truncation", message, "$.truncation"))
    return found
