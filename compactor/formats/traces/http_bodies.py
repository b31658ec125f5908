"""Recorded HTTP exchanges with a provider: requests, and answers parsed or as text of a stream.

One record is an exchange (`http_records` says where its parts are). The request is a body of one of
our request formats and is read by that format's functions; the answer gives usage, and the output
that a later request goes on from (`previous_response_id`). Which requests belong together is in
`chains`. Specification: docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compactor.core.model import Path
from compactor.formats.answers import Answer, answer_of
from compactor.formats.messages import text_field, value_at
from compactor.formats.recorded import items
from compactor.formats.traces import http_records
from compactor.formats.traces.http_records import Record, dialect_of, is_record, items_of, model_in
from compactor.formats.traces.request_log import RequestLog
from compactor.formats.traces.request_survey import ANSWER, COMPACTION, FAILED, OTHER, Sent, Skipped

_REFUSED = 400
_COMPACT = "/responses/compact"


class Http(RequestLog):
    """Recorded HTTP bodies: JSON Lines, lists, HAR files, cassettes in JSON, a gateway's logs.

    Records are `{url, status, request, response}` and shapes like it. Conversations are found by
    what requests share; each is read as its last request carried it.
    """

    name = "http"

    def recognises(self, root: Any) -> bool:
        return any(is_record(value_at(root, at)) for at in http_records.places(root))

    def places(self, root: Any) -> Iterable[Path]:
        return http_records.places(root)

    def messages(self, root: Any) -> Sequence[Any]:
        """The records."""
        return [value_at(root, at) for at in self.places(root)]

    def record(self, root: Any, at: Path) -> Sent | Skipped | None:
        found = http_records.record_of(value_at(root, at), at)
        if found is None:
            return None
        if found.body is None:
            return Skipped(ANSWER, _answer(found)) if found.answer is not None else Skipped(OTHER)
        dialect = dialect_of(found)
        history = items_of(dialect, found.body) if dialect is not None else None
        if dialect is None or history is None:
            return _other(found)
        answer = _answer(found)
        is_whole = answer.is_whole and bool(answer.output)
        sent = Sent(
            dialect=dialect,
            fields=found.body,
            at=(*found.at, http_records.HISTORIES[dialect.name]),
            items=history,
            model=_model(found),
            answer=answer,
            after=text_field(found.body, "previous_response_id"),
            answer_at=(*found.answer_at, "output") if is_whole else (),
        )
        is_failed = found.status >= _REFUSED or answer.is_error
        return Skipped(FAILED, answer, sent) if is_failed else sent


def _answer(found: Record) -> Answer:
    return answer_of(found.answer, _model(found), found.when_ms)


def _model(found: Record) -> str:
    named = text_field(found.body, "model") or text_field(found.body, "modelId")
    return named or model_in(found.url)


def _other(found: Record) -> Skipped:
    """What is no request of a conversation; a compaction's answer stands for one.

    Where a model said something, as completions of a text do, its tokens count all the same.
    """
    answer = _answer(found)
    if not found.url.partition("?")[0].endswith(_COMPACT) or found.status >= _REFUSED:
        is_said = answer.usage is not None and answer.usage.output > 0
        return Skipped(OTHER, answer) if is_said else Skipped(OTHER)
    sealed = [text_field(item, "encrypted_content") for item in items(answer.output)]
    before = text_field(found.body, "previous_response_id")
    return Skipped(COMPACTION, answer, before=before, makes=[*filter(None, sealed)])
