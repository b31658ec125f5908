"""Keyed blocks: objects of which one key says what they are, as Gemini and Bedrock have them.

A format brings a table from key to a reader of the value under it. Also here: how a user message
is split where its results stand among other blocks. Specification: DESIGN section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from compactor.core.model import Part, PartKind
from compactor.formats.media import (
    base64_of,
    digest_of,
    document_part,
    image_part,
    image_url_part,
)
from compactor.formats.raw.native import compact_json

KeyReaders = Mapping[str, Callable[[Any], Part]]
"""Key → what its value counts as."""


def runs(marks: Iterable[bool | None]) -> Iterator[tuple[bool, list[int]]]:
    """What a user message is split into: each result, and each maximal run of other blocks.

    Args:
        marks: a block each: True for a result, False for another, None for one that is nothing (a
            cache breakpoint).

    Yields:
        whether it is a result, and the indexes of its blocks; of a message that says nothing, one
        run without any.
    """
    run: list[int] = []
    has_results = False
    for index, mark in enumerate(marks):
        if mark:
            if run:
                yield False, run
            yield True, [index]
            run, has_results = [], True
        elif mark is not None:
            run.append(index)
    if run or not has_results:
        yield False, run


def sealed_part(data: Any) -> Part:
    """Opaque reasoning: base64, or the bytes themselves."""
    text = base64_of(data)
    return Part(PartKind.SEALED, size=len(text), digest=digest_of(text))


def medium_part(data: Any, reference: str, native: Any, *, is_image: bool) -> Part:
    """An image, or any other medium, which has a document's allowance.

    Args:
        data: its base64 or bytes.
        reference: what it is known by where it is not in the request.
        native: what it is known by otherwise.
    """
    content = base64_of(data)
    identity = reference or compact_json(native)
    if not is_image:
        return document_part(content or identity)
    return image_part(content) if content else image_url_part(identity)
