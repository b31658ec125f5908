"""A conversation ready to be written: what was said, in pieces that writers put into words.

It stands between those who tell a conversation (`formats.convert` out of entries,
`compactor.testing` out of facts) and those who write it (`formats.write`). It knows no format:
what a format has no words for is taken out before it is written. Specification: DESIGN section 3;
docs/convert.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from compactor.core.model import Kind, PartKind

Native = dict[str, Any]
"""An object of a native format."""


class Text(NamedTuple):
    """A text.

    signature: Gemini's, which stands beside what it signs.
    """

    text: str
    signature: str = ""


class Reasoning(NamedTuple):
    """What a model thought.

    text: as far as it can be read.
    family: whose it is; only this family takes it back. "" is reasoning that nobody takes back.
    seal: its signature, or all of it where it is sealed.
    redacted: there is nothing but the seal.
    native: the provider's own item, where it must come back as it was.
    """

    text: str
    family: str = ""
    seal: str = ""
    redacted: bool = False
    native: Any = None


class Medium(NamedTuple):
    """An image or a document whose content is at hand.

    mime: its IANA type; "" when it is not known.
    data, url, file_id: its base64, where it is, or what its provider knows it by; one of them.
    name: of its file; "" when it is not known.
    """

    kind: PartKind
    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""


class Opaque(NamedTuple):
    """What cannot be put into words.

    native: the block itself, where it is written in the very format it comes from.
    """

    kind: PartKind
    native: Any = None


class Asked(NamedTuple):
    """A tool call.

    arguments: JSON as it shall be written, or a text of the tool's own when `custom`.
    key: what results know it by, unique in its conversation.
    """

    id: str
    name: str
    arguments: str
    custom: bool = False
    signature: str = ""
    key: int = -1


Piece = Text | Reasoning | Medium | Opaque | Asked


class Said(NamedTuple):
    """One entry.

    pieces: in order. Of a result: its body as one text, and its media.
    seq: of the entry; -1 where there is none.
    call_id, name, error: of a result: the call's id, the tool's name, whether it failed.
    key: of a result, the call it answers; None when no call is known.
    custom: the result of a custom call.
    """

    kind: Kind
    pieces: tuple[Piece, ...] = ()
    seq: int = -1
    call_id: str = ""
    name: str = ""
    error: bool = False
    key: int | None = None
    custom: bool = False

    @property
    def calls(self) -> list[Asked]:
        """The tool calls, in order."""
        return [piece for piece in self.pieces if isinstance(piece, Asked)]

    @property
    def texts(self) -> list[str]:
        """The texts, in order; reasoning is none."""
        return [piece.text for piece in self.pieces if isinstance(piece, Text)]

    @property
    def is_text(self) -> bool:
        """Whether there is nothing but texts."""
        return all(isinstance(piece, Text) for piece in self.pieces)


class Tool(NamedTuple):
    """A tool that the model may call.

    parameters: a JSON schema.
    native: the definition itself, where it is written in the very format it comes from.
    """

    name: str
    description: str = ""
    parameters: Any = None
    native: Any = None


class Talk(NamedTuple):
    """A conversation.

    system: the texts of the system prompt.
    model: its name in the format that is written; "" leaves it out.
    """

    said: tuple[Said, ...] = ()
    system: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    model: str = ""
