"""Entries: the canonical, immutable facts of a conversation.

An entry is the unit that `seq`, `keepRecent` and every rule count: one user message, one model
turn, one tool result, one system message in mid-conversation. It holds what the rules may look at
and an opaque address (`at`) into the native data, and nothing else: this file never sees a
provider's name. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from compactor.core.errors import Finding

Path = tuple[str | int, ...]
"""An address in native data: keys and indexes from the root (JSON Lines: the row first)."""


class Kind(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class PartKind(StrEnum):
    """What a counted part is. The first two are text; the rest have a size and a digest."""

    TEXT = "text"
    REASONING = "reasoning"
    SEALED = "sealed"
    """Opaque reasoning: signatures, encrypted or redacted blocks. Size in characters."""
    IMAGE = "image"
    DOCUMENT = "document"
    OTHER = "other"
    """A block we do not know. Size in characters of its compact JSON."""


MEDIA_KINDS = (PartKind.IMAGE, PartKind.DOCUMENT, PartKind.OTHER)


class Part(NamedTuple):
    """One counted piece of an entry.

    kind: what it is.
    text: the text of TEXT and REASONING; "" otherwise.
    size: 28-pixel patches of an IMAGE whose dimensions are known, else 0; characters of SEALED
        and OTHER.
    digest: identity of what has no text (sha256 hex of the native block's content).
    at: address of reasoning that the provider signed, which may be bound to everything before it;
        () otherwise.
    """

    kind: PartKind
    text: str = ""
    size: int = 0
    digest: str = ""
    at: Path = ()

    @property
    def signed(self) -> bool:
        return bool(self.at)


class Call(NamedTuple):
    """A tool call of a model turn.

    id: the provider's id; "" where the format has none. Never a key: ids repeat in real data.
    name: the tool's name.
    arguments: compact JSON (`compact_json`), or as written when it is no JSON.
    at: address of the native arguments value.
    """

    id: str
    name: str
    arguments: str
    at: Path = ()


class Entry(msgspec.Struct, frozen=True, eq=False):
    """One unit of the conversation. Immutable; `at` is only for the lens that made it.

    kind: user, assistant, tool or system.
    parts: counted parts in document order. For a tool entry: everything of the result that is
        not body text (media and unknown blocks).
    calls: an assistant entry's tool calls, in document order.
    call_id: a tool entry's call id; "" when the format has none.
    call: the call it answers, None when no call is known.
    body: a tool entry's text blocks joined with a newline; "" otherwise.
    error: the format's own error flag (never read from text).
    required: a result that must never change (tool references, computer screenshots, signed ones).
    cleared: the recording harness had cleared this body itself; it is not in the prompt.
    hollow: of an assistant entry, the contents that would be left empty without signed reasoning;
        of a native message with several contents, the first.
    at: address of the native result block (tool entries) or of the first native message.
    """

    kind: Kind
    parts: tuple[Part, ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    call: Call | None = None
    body: str = ""
    error: bool = False
    required: bool = False
    cleared: bool = False
    hollow: tuple[Path, ...] = ()
    at: Path = ()

    @property
    def name(self) -> str:
        """The tool's name found through the call; "" when the call is not known."""
        return self.call.name if self.call is not None else ""

    @property
    def empty(self) -> bool:
        """A tool result with no text, no media and no other part: never a candidate."""
        return not self.body and not self.parts


def entry_digest(entry: Entry) -> str:
    """Identity of an entry: 32 hex digits over its facts.

    Covers kind, call ids, names, compact arguments, texts, body and media digests; not
    `cache_control`, unknown keys, reasoning, error flag or formatting.
    """
    digest = hashlib.sha256()

    def put(label: str, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(f"{label}{len(data)}:".encode())
        digest.update(data)

    put("k", entry.kind)
    put("i", entry.call_id)
    for call in entry.calls:
        put("c", call.id)
        put("n", call.name)
        put("a", call.arguments)
    for part in entry.parts:
        if part.kind is PartKind.TEXT:
            put("t", part.text)
        elif part.kind in MEDIA_KINDS:
            put("m", part.digest)
    put("b", entry.body)
    return digest.hexdigest()[:32]


def digest_without(entry: Entry, text: str) -> str:
    """The digest of an entry as it was before `text` was put where its reasoning had been."""
    parts = tuple(part for part in entry.parts if part.text != text)
    return entry_digest(msgspec.structs.replace(entry, parts=parts))


_PLAIN_CHARS = 10_000
_PLAIN_DEPTH = 100


def plain_arguments(call: Call) -> dict[str, Any]:
    """The arguments of a call as an object, for rules that look at one of them.

    Returns:
        {} when they are no JSON object, or larger or deeper than any call these rules know; the
        bounds keep hostile arguments from costing time or meeting the interpreter's own limits.
    """
    text = call.arguments
    if len(text) > _PLAIN_CHARS or text.count("[") + text.count("{") > _PLAIN_DEPTH:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class Usage(msgspec.Struct, frozen=True):
    """Recorded provider usage of one request, in one meaning: `input` never includes cached tokens.

    n: the request was made over entries 0..n-1.
    cache_write_1h: the part of `cache_write` that was written to live an hour.
    time_ms: when the answer was recorded, milliseconds since 1970 UTC; 0 when not known.
    requests: how many requests these numbers are the sum of.
    """

    n: int
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    model: str = ""
    cache_write_1h: int = 0
    time_ms: int = 0
    requests: int = 1


class Overhead(msgspec.Struct, frozen=True):
    """What every request carries beside its entries: texts to be counted, each a part."""

    texts: tuple[str, ...] = ()
    known: bool = False
    """False when the recording does not carry system prompt and tools."""


class Reading(msgspec.Struct):
    """What a lens read out of native data. `entries` grows in place when a request is extended."""

    entries: list[Entry]
    overhead: Overhead
    findings: list[Finding]
    model: str = ""
    usage: tuple[Usage, ...] = ()
    carried: Any = None
    """What `overhead` counts, as it is in the native data (`formats.messages.Carried`); None where
    the file does not hold system prompt and tools as such."""
    resume: Any = None
    """The lens's own state for reading only what is new; None when it cannot."""
