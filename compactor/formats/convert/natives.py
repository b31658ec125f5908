"""What stands behind parts that entries only know by their digest: media, seals, opaque blocks.

Native data is walked once, and what has a digest that is asked for is kept. So nothing here knows
any format: media are found by the keys that their content stands under anywhere, and whoever reads
a medium by `formats.media` can have it converted. Linear in the data; nothing is hashed in vain.
"""

from __future__ import annotations

import binascii
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any, Final, NamedTuple

from compactor.core.model import Entry, Part, PartKind, Path
from compactor.formats.media import base64_of, data_of, digest_of
from compactor.formats.messages import field, text_field
from compactor.formats.raw.json_compact import compact_json
from compactor.formats.raw.objects import is_object, members
from compactor.formats.raw.within import within
from compactor.formats.talk import Medium, Reasoning
from compactor.formats.write.bedrock import FORMATS as CONVERSE

_DATA: Final = ("data", "bytes", "file_data", "result")
_PLACES: Final = (
    *("url", "uri", "image_url", "imageUrl", "file_url", "fileUri", "file_uri"),
    "file_data",
)
_IDS: Final = ("file_id", "fileId")
_MIMES: Final = ("mime_type", "mimeType", "media_type", "mime", "mediaType")
_NAMES: Final = ("filename", "file_name", "displayName", "display_name", "title", "name")
_SEALS: Final = (
    *("signature", "data", "encrypted_content", "thoughtSignature", "thought_signature"),
    "redactedContent",
)
_KEYED: Final = (
    *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
    *("executable_code", "code_execution_result", "tool_call", "tool_response"),
    *("searchResult", "toolUse", "toolResult", "toolAddition", "toolRemoval"),
)
"""Keys whose value is what a part is known by."""
_READ: Final = ("text", "tool_use", "tool_result", "message", "function_call")
"""Types of blocks that are never opaque."""
_MAGIC: Final = (
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBERi", "application/pdf"),
)
"""How the base64 of what providers take begins."""
_ENDINGS: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "pdf": "application/pdf",
}
_SCHEME_CHARS: Final = 32
"""How far into an address its `://` is looked for."""
FORMATS: Final = {name: mime for mime, name in CONVERSE.items()} | {
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
}
"""The formats that blocks name instead of types, of Converse and of sounds → the type."""


class Sealed(NamedTuple):
    """Sealed reasoning, and the address of the block that holds it."""

    reasoning: Reasoning
    at: Path
    block: Any


@dataclass(slots=True)
class Natives:
    """What was found, by digest.

    seals: in document order; several where a recorder wrote one word in the place of all of them.
    """

    media: dict[str, Medium] = member(default_factory=dict)
    seals: dict[str, list[Sealed]] = member(default_factory=dict)
    blocks: dict[str, Any] = member(default_factory=dict)


def find(root: Any, entries: Iterable[Entry], *, blocks: bool) -> Natives:
    """What is behind the parts of entries.

    Args:
        root: the native data that they were read from.
        blocks: look for opaque blocks too.
    """
    wanted: dict[PartKind, set[str]] = {kind: set() for kind in PartKind}
    for entry in entries:
        for part in entry.parts:
            wanted[part.kind].add(part.digest)
    media = wanted[PartKind.IMAGE] | wanted[PartKind.DOCUMENT]
    seals = wanted[PartKind.SEALED]
    opaque = wanted[PartKind.OTHER] if blocks else set[str]()
    found = Natives()
    for in_strings in (False, True):
        media, seals = media - found.media.keys(), seals - found.seals.keys()
        opaque = opaque - found.blocks.keys()
        if media or seals or opaque:
            for native, at in _objects(root, in_strings=in_strings):
                _look(found, native, at, media, seals)
                _look_at_block(found, native, opaque)
    return found


def seal_of(block: Any) -> Reasoning | None:
    """The reasoning of a block that holds a signature or is sealed; None where nobody knows it."""
    kind = field(block, "type")
    inner = field(block, "reasoningContent")
    if kind == "thinking":
        text = text_field(block, "thinking")
        return Reasoning(text, "anthropic", text_field(block, "signature"))
    if kind == "redacted_thinking":
        return Reasoning("", "anthropic", text_field(block, "data"), redacted=True)
    if kind == "reasoning" and text_field(block, "encrypted_content"):
        return Reasoning("", "openai", text_field(block, "encrypted_content"), native=block)
    for key in ("thoughtSignature", "thought_signature"):
        if field(block, key):
            return Reasoning("", "gemini", _base64(field(block, key)))
    return _of_converse(inner) if is_object(inner) else None


def _of_converse(inner: Any) -> Reasoning:
    text, redacted = field(inner, "reasoningText"), field(inner, "redactedContent")
    if redacted is not None:
        return Reasoning("", "anthropic", base64_of(redacted), redacted=True)
    return Reasoning(text_field(text, "text"), "anthropic", text_field(text, "signature"))


def _base64(value: Any) -> str:
    """A signature as it is written: a text as it stands, bytes as base64."""
    return value if isinstance(value, str) else base64_of(value)


def order_of(at: Path) -> tuple[tuple[int, int, str], ...]:
    """What addresses of one document are ordered by."""
    return tuple((1, 0, step) if isinstance(step, str) else (0, step, "") for step in at)


def _objects(root: Any, *, in_strings: bool) -> Iterator[tuple[Any, Path]]:
    """Every object in native data with its address, an outer one before its inner ones. O(size).

    Args:
        in_strings: those in JSON that strings hold too, as some recorders write it.
    """
    yield from [(root, ())] if is_object(root) else ()
    levels: list[tuple[Iterator[tuple[Any, Any]], Path]] = [(_members(root), ())]
    while levels:
        inner, at = levels[-1]
        for step, value in inner:
            entered = within(str(step), value) if in_strings else None
            value = value if entered is None else entered.value
            if is_object(value):
                yield value, (*at, step)
            elif not isinstance(value, (list, tuple)):
                continue
            levels.append((_members(value), (*at, step)))
            break
        else:
            levels.pop()


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, (list, tuple)):
        return iter(enumerate(value))
    return members(value) if is_object(value) else iter(())


def _look(
    found: Natives, native: Any, at: Path, media: Collection[str], seals: Collection[str]
) -> None:
    """Keep the media and seals that stand in an object."""
    for holder in _holders(native) if media else ():
        for key, value in members(holder):
            if isinstance(value, (str, bytes, bytearray)) and _is_content(key, value):
                _keep_medium(found, (holder, native), key, value, media)
    for key in _SEALS if seals else ():
        value = field(native, key)
        for digest in _digests(value) if isinstance(value, (str, bytes)) and value else ():
            reasoning = seal_of(native) if digest in seals else None
            if reasoning is not None:
                found.seals.setdefault(digest, []).append(Sealed(reasoning, at, native))


def _is_content(key: str, value: Any) -> bool:
    """Whether a value may be a medium: by its key, or because it says so."""
    is_told = isinstance(value, str) and value.startswith("data:")
    return bool(value) and (is_told or key in _DATA or key in _PLACES or key in _IDS)


def _holders(native: Any) -> Iterator[Any]:
    """Where the content of a block may stand: in itself, or in its source, which names less."""
    yield native
    source = field(native, "source")
    store = field(source, "s3Location")
    yield from (holder for holder in (source, store) if is_object(holder))


def _digests(value: Any) -> Iterator[str]:
    """What a text or bytes may be known by: as it stands, and in the usual alphabet of base64."""
    data = base64_of(value)
    yield digest_of(data)
    if isinstance(value, str) and value != data:
        yield digest_of(value)


def _keep_medium(
    found: Natives, holders: tuple[Any, Any], key: str, value: Any, wanted: Collection[str]
) -> None:
    inside = data_of(value) if isinstance(value, str) else None
    for digest in _digests(value if inside is None else inside):
        if digest in wanted and digest not in found.media:
            medium = _medium(holders, key, value, inside)
            if medium is not None:
                found.media[digest] = medium


def _medium(holders: tuple[Any, Any], key: str, value: Any, inside: str | None) -> Medium | None:
    """A medium whose content stands under a key; None for data that nobody could say what it is."""
    name, said = _said(holders, _NAMES), _said(holders, _MIMES)
    said = said or FORMATS.get(_said(holders, ("format",)), "")
    if key in _IDS:
        return Medium(PartKind.OTHER, said, file_id=value, name=name)
    if inside is None and key in _PLACES and "://" in value[:_SCHEME_CHARS]:
        ending = value.partition("?")[0].rpartition(".")[2]
        return Medium(PartKind.OTHER, said or _ENDINGS.get(ending, ""), url=value, name=name)
    data = base64_of(value) if inside is None else inside
    if inside is not None:
        said = value[len("data:") : value.index(",")].partition(";")[0] or said
    mime = next((mime for start, mime in _MAGIC if data.startswith(start)), said)
    return Medium(PartKind.OTHER, mime, data=data, name=name) if mime and _is_whole(data) else None


def _is_whole(data: str) -> bool:
    """Whether data is base64 to its end; cut or damaged media are refused by providers."""
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return False
    return True


def _said(holders: tuple[Any, Any], keys: Iterable[str]) -> str:
    """The first text under one of some keys, the innermost holder first."""
    texts = (text_field(holder, key) for holder in holders for key in keys)
    return next(filter(None, texts), "")


def _look_at_block(found: Natives, native: Any, wanted: Collection[str]) -> None:
    """Keep an opaque block: one with a type as it is, one with a key by what the key holds."""
    if not wanted:
        return
    kind = field(native, "type")
    if isinstance(kind, str) and kind not in _READ:
        _keep(found.blocks, compact_json(native), native, wanted)
    for key in _KEYED:
        value = field(native, key)
        if is_object(value):
            _keep(found.blocks, compact_json(value), {key: value}, wanted)


def _keep(found: dict[str, Any], text: str, native: Any, wanted: Collection[str]) -> None:
    digest = digest_of(text)
    if digest in wanted:
        found.setdefault(digest, native)


def medium_of(part: Part, found: Mapping[str, Medium]) -> Medium | None:
    """The medium of a part, as the kind that it was read as."""
    medium = found.get(part.digest)
    return None if medium is None else medium._replace(kind=part.kind)
