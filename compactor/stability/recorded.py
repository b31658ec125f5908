"""The requests of files: bodies as they are, and what recorders of HTTP write.

One file is a body, a list of bodies or of exchanges, JSON Lines of these, a HAR file, a cassette in
JSON (`formats.traces.http_records` says where bodies lie there). A body that stands there as text
is taken by its bytes. What is no request to a model is passed over. Specification: docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from compactor.containers import PackedInput
from compactor.core.errors import InputError
from compactor.core.model import Path
from compactor.formats.messages import value_at
from compactor.formats.raw.native import Document
from compactor.formats.raw.sources import Bytes
from compactor.formats.raw.within import Within
from compactor.formats.traces.http_records import Record, is_other, model_in, places, record_of
from compactor.stability.prefix import has_messages


class Recorded(NamedTuple):
    """A request of a file.

    body: its text, or its value.
    model: where the URL names it; else "".
    place: where it is.
    """

    body: Any
    model: str
    place: str


def requests_of(data: Bytes, name: str) -> Iterator[Recorded]:
    """The requests of a file, in its order. O(the file), holding one at a time where it is lines.

    Raises:
        InputError: as `load`; `input.format_unknown` when there is none.
    """
    document = PackedInput(data, name).document()
    is_empty = True
    for at in places(document.root):
        native = value_at(document.root, at)
        found = record_of(native, at) or Record(at, native, (), None)
        if isinstance(found.body, dict) and has_messages(found.body) and not is_other(found.url):
            is_empty = False
            body = _as_sent(found.at, found.body)
            yield Recorded(body, model_in(found.url), _place(document, found.at))
    if is_empty:
        raise InputError(
            "no request body is in it",
            code="input.format_unknown",
            path=name,
            hint="give request bodies or recorded HTTP exchanges, as JSON, JSON Lines or HAR",
        )


def _place(document: Document, at: Path) -> str:
    place = document.place(at)
    return place if document.is_lines else f"{document.name} {place}"


def _as_sent(at: Path, body: Any) -> Any:
    """The text of a body that stands in its file as a text."""
    step = at[-1] if at else ""
    return step.source if isinstance(step, Within) else body
