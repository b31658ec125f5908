"""What a tool gave: a text, or a list of blocks among which some are texts.

A block is a text when it is a string, or has a string `text` and no type or one that ends in
`text`. All others pass as they are, in their order. Our own words stand in a block of the same
shape as the texts beside them. Specification: DESIGN sections 3 (Body) and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from compactor.core.brackets import under
from compactor.core.errors import InputError


class Output(NamedTuple):
    """What a tool gave, or what is shown instead.

    text: its texts that are not empty, joined with a newline: the body.
    blocks: None where it is a text.
    """

    text: str
    blocks: tuple[Any, ...] | None = None

    @property
    def media(self) -> bool:
        """Whether there is anything beside texts."""
        return any(text_of(block) is None for block in self.blocks or ())

    def native(self) -> Any:
        """As the tool gave it: a text or a list."""
        return self.text if self.blocks is None else list(self.blocks)

    def under(self, bracket: str) -> Output:
        """With a bracket in front: in a line or a block of its own."""
        body = under(bracket, self.text)
        if self.blocks is None:
            return Output(body)
        return Output(body, (self._block(bracket), *self.blocks))

    def instead(self, text: str) -> Output:
        """Another text in the place of all texts; other blocks stay. O(blocks)."""
        if self.blocks is None:
            return Output(text)
        texts = [block for block in self.blocks if text_of(block) is not None]
        first = next((i for i, block in enumerate(self.blocks) if text_of(block) is not None), 0)
        others = [block for block in self.blocks if text_of(block) is None]
        kept = {} if not texts or not isinstance(texts[0], Mapping) else dict(texts[0])
        for block in texts:
            if isinstance(block, Mapping) and _CACHE in block:
                kept[_CACHE] = block[_CACHE]
        made = self._block(text)
        whole = {**kept, **made} if isinstance(made, dict) else made
        return Output(text, (*others[:first], whole, *others[first:]))

    def only(self, text: str) -> Output:
        """A text and nothing else, in the same shape."""
        return Output(text, None if self.blocks is None else (self._block(text),))

    def noted(self, note: str) -> Output:
        """With a line behind it."""
        if self.blocks is not None:
            return Output(_joined((self.text, note)), (*self.blocks, self._block(note)))
        return Output(self.text + note if self.text.endswith("\n") else _joined((self.text, note)))

    def _block(self, text: str) -> Any:
        """A block of ours, of the kind that the texts are, or that fits what is there."""
        blocks = self.blocks or ()
        like = next((block for block in blocks if text_of(block) is not None), None)
        if isinstance(like, str):
            return text
        kinds = [_get(block, "type") for block in (like, *blocks) if block is not None]
        named = next((kind for kind in kinds if isinstance(kind, str)), "" if kinds else _TEXT)
        if like is not None or not named:
            return {"type": named, "text": text} if named else {"text": text}
        prefix = _INPUT if named.startswith(_INPUT) else ""
        return {"type": prefix + _TEXT, "text": text}


_TEXT = "text"
_INPUT = "input_"
_CACHE = "cache_control"


def output_of(native: Any) -> Output:
    """What a tool gave.

    Args:
        native: a text, None for nothing, or a sequence of blocks.

    Raises:
        InputError: `input.shape`.
    """
    if native is None or isinstance(native, str):
        return Output(native or "")
    if isinstance(native, Mapping | bytes) or not isinstance(native, Sequence):
        raise InputError(
            f"a tool's output is a text or a list of blocks, not {type(native).__name__}",
            code="input.shape",
            path="output",
            hint="put objects into words first, e.g. with json.dumps",
        )
    return Output(_joined(text_of(block) for block in native), tuple(native))


def text_of(block: Any) -> str | None:
    """The text of a block; None when it is something else."""
    if isinstance(block, str):
        return block
    kind, text = _get(block, "type"), _get(block, "text")
    plain = kind is None or (isinstance(kind, str) and kind.endswith(_TEXT))
    return text if plain and isinstance(text, str) else None


def _joined(texts: Iterable[str | None]) -> str:
    """Texts as a body has them: what is empty is not there."""
    return "\n".join(text for text in texts if text)


def _get(block: Any, name: str) -> Any:
    return block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)
