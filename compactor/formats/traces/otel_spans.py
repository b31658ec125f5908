"""Finds the spans, and the log records, in what exporters and tracing systems write.

OTLP as JSON (traces and logs, one batch a line or one object), what SDKs print of a span, Jaeger's
and Tempo's answers, rows of observability stores whose attributes are objects, and objects that are
nothing but attributes. Times are compared as they are spelled, as spans begin within a millisecond.
Specification: docs/formats.md; opentelemetry-proto; `ReadableSpan.to_json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from compactor.core.model import Path
from compactor.formats.messages import field, text_field
from compactor.formats.recorded import items, time_ms
from compactor.formats.traces.otel_values import Attribute, Attributes, attribute_at, attributes_of

_CONTAINERS: Final = (
    *("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "batches"),
    *("instrumentationLibrarySpans", "resourceLogs", "resource_logs", "scopeLogs", "scope_logs"),
    *("logRecords", "log_records", "data", "trace", "traces", "records"),
)
_DEPTH: Final = 9
"""Containers around a span."""
ATTRIBUTES: Final = ("attributes", "tags", "span_attributes", "SpanAttributes")
EVENTS: Final = ("events", "otel_events", "logs")
_IDS: Final = ("spanId", "span_id", "spanID", "id")
_PARENTS: Final = ("parentSpanId", "parent_span_id", "parent_id", "parentId", "parentSpanID")
_STARTS: Final = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
_STARTS_MORE: Final = ("start_timestamp", "timeUnixNano", "time_unix_nano", "timestamp")
_ENDS: Final = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "end_timestamp")
_FLAT: Final = ("gen_ai.", "llm.", "ai.prompt.")


class Event(NamedTuple):
    """What was recorded within a span, or as a log record of it."""

    name: str
    attributes: Attributes
    body: Attribute | None = None


class Span(NamedTuple):
    """A span, whoever wrote it.

    at: its address.
    start: when it began, as something to sort by.
    end_ms: when it ended, milliseconds since 1970; 0 when that is not known.
    """

    at: Path
    name: str
    id: str
    parent: str
    start: tuple[int, str]
    end_ms: int
    attributes: Attributes
    events: tuple[Event, ...]


def spans_of(root: Any) -> list[Span]:
    """All spans, oldest first, with the log records that belong to them. O(n)."""
    spans: dict[str | Path, Span] = {}
    records: dict[str, list[Span]] = {}
    for native, at in _found(root, (), _DEPTH):
        if _is_record(native):
            record = _record(native, at)
            records.setdefault(record.id, []).append(record)
        else:
            span = _span(native, at)
            spans[span.id if span.id and span.id not in spans else at] = span
    for key, own in records.items():
        span = spans.get(key, own[0]._replace(events=()))
        more = [event for record in own for event in record.events]
        spans[key] = span._replace(events=(*span.events, *more))
    return sorted(spans.values(), key=lambda span: span.start)


def natives_of(root: Any) -> list[Any]:
    """The native spans and log records, in document order."""
    return [native for native, _ in _found(root, (), _DEPTH)]


def _found(native: Any, at: Path, depth: int) -> Iterator[tuple[Any, Path]]:
    """Spans and log records with their addresses."""
    if isinstance(native, list):
        for index, item in enumerate(native):
            yield from _found(item, (*at, index), depth - 1) if depth else ()
    elif isinstance(native, dict) and _is_span(native):
        yield native, at
    elif isinstance(native, dict):
        for key in _CONTAINERS if depth else ():
            if isinstance(native.get(key), (list, dict)):
                yield from _found(native[key], (*at, key), depth - 1)


def _is_span(native: dict[str, Any]) -> bool:
    attributes = native.get(_key(native, ATTRIBUTES))
    is_named = any(native.get(key) is not None for key in (*_IDS, *EVENTS, "name", "context"))
    if isinstance(attributes, (list, dict)) and (is_named or _is_record(native)):
        return True
    return any(isinstance(key, str) and key.startswith(_FLAT) for key in native)


def _is_record(native: Any) -> bool:
    """Whether it is a log record, which has a body where a span has a name."""
    return field(native, "name") is None and field(native, "body") is not None


def _key(native: Any, keys: tuple[str, ...]) -> str:
    """The first of these keys that an object has."""
    return next((key for key in keys if field(native, key) is not None), keys[0])


def _first(native: Any, keys: tuple[str, ...]) -> Any:
    return field(native, _key(native, keys))


def _span(native: Any, at: Path) -> Span:
    key = _key(native, ATTRIBUTES)
    is_flat = not isinstance(field(native, key), (list, dict))
    attributes = attributes_of(native, at) if is_flat else attributes_of(native[key], (*at, key))
    start = _first(native, (*_STARTS, *_STARTS_MORE))
    return Span(
        at=at,
        name=str(_first(native, ("name", "operationName", "span_name")) or ""),
        id=_id_of(native),
        parent=_parent_of(native),
        start=(_ms(start), str(start)),
        end_ms=_ms(_first(native, _ENDS)) or _ms(start) + _ms_of_duration(native),
        attributes=attributes,
        events=tuple(_events(native, at)),
    )


def _record(native: Any, at: Path) -> Span:
    """A log record, as the only event of the span that it names."""
    key = _key(native, ATTRIBUTES)
    attributes = attributes_of(field(native, key), (*at, key))
    named = text_field(native, "eventName") or text_field(native, "event_name")
    if not named and "event.name" in attributes:
        named = str(attributes["event.name"].value)
    event = Event(named, attributes, attribute_at(field(native, "body"), (*at, "body")))
    start = _first(native, (*_STARTS, *_STARTS_MORE))
    return Span(at, "", _id_of(native), "", (_ms(start), str(start)), _ms(start), {}, (event,))


def _events(native: Any, at: Path) -> Iterator[Event]:
    key = _key(native, EVENTS)
    for index, event in enumerate(items(field(native, key))):
        here = (*at, key, index)
        inner = "fields" if isinstance(field(event, "fields"), list) else "attributes"
        attributes = attributes_of(field(event, inner), (*here, inner))
        name = text_field(event, "name") or text_field(event, "event_name")
        if not name:
            named = next((attributes[k] for k in ("event.name", "event") if k in attributes), None)
            name = "" if named is None else str(named.value)
        yield Event(name, attributes)


def _id_of(native: Any) -> str:
    found = _first(native, _IDS)
    found = _first(field(native, "context"), _IDS) if found is None else found
    return found if isinstance(found, str) else ""


def _parent_of(native: Any) -> str:
    found = _first(native, _PARENTS)
    if found is None:
        above = [r for r in items(field(native, "references")) if field(r, "spanID") is not None]
        found = field(above[0], "spanID") if above else None
    return found if isinstance(found, str) else ""


_DIGITS: Final = re.compile("[0-9]{1,20}")
_UNITS: Final = ((10**17, 10**6), (10**14, 10**3))
"""A number of a time above the first is of nanoseconds, above the second of microseconds."""


def _ms(value: Any) -> int:
    """A time in milliseconds since 1970; 0 for anything that is none."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if type(value) is int:
        for least, unit in _UNITS:
            if value > least:
                return value // unit
    return time_ms(value)


def _ms_of_duration(native: Any) -> int:
    """Jaeger says how many microseconds a span took."""
    duration = field(native, "duration")
    is_jaeger = field(native, "spanID") is not None and type(duration) is int
    return duration // 1000 if is_jaeger and duration > 0 else 0
