"""Lenses of recordings that hold Anthropic's content blocks, at any address.

Results are `tool_result` blocks and reasoning is signed as it is in a request. A recording has no
place for what the next request says of its reasoning. Specification: DESIGN section 3.
"""

from __future__ import annotations

from typing import Any

from compactor.core.model import Entry
from compactor.formats.lens_bases import AddressedCalls
from compactor.formats.messages import value_at
from compactor.formats.providers.anthropic import remove_signed, rewrite_result
from compactor.formats.raw.native import Edit


class BlockResults(AddressedCalls):
    """A lens whose results are blocks."""

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return rewrite_result(value_at(root, entry.at), entry.at, text)


class SignedBlocks(BlockResults):
    """A lens whose results and signed reasoning are blocks."""

    def remove_reasoning(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return remove_signed(root, entry, [{"type": "text", "text": text}])

    def bind_reasoning(self, root: Any, binding: dict[str, str]) -> list[Edit] | None:  # noqa: ARG002
        """A recording has no place for what a request says."""
        return None
