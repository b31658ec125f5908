"""The operations of cases and protocol: one table, from a name to a function of what is given.

The in-process runner and `compactor serve --stdio` use this table and nothing else, so that what
passes the cases is what is served. A field that an operation does not know is an error, never
skipped: a case that asks for more than we do must fail. Specification: CONFORMANCE, the ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from compactor import api, counters, transcript
from compactor.conformance.sessions import FIELDS, Sessions, check
from compactor.core.count import Chars4, Measure
from compactor.core.errors import CompactorError, Finding, InputError, PolicyError
from compactor.core.journal import Journal, decode_record, encode_record
from compactor.core.policy import Policy, policy_from
from compactor.formats.entries import to_neutral
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.json_text import read_value
from compactor.formats.raw.native import compact_json
from compactor.loop import loop

Given = Mapping[str, Any]
Result = dict[str, Any]

GIVEN = "$.given"


class Op(NamedTuple):
    """One operation.

    run: from what is given, checked, to the result. Raises `CompactorError`.
    fields: what may be given, and the type it has.
    required: those that must be.
    """

    run: Callable[[Given], Result]
    fields: Mapping[str, type]
    required: tuple[str, ...] = ()


def perform(name: str, given: Given, sessions: Sessions | None = None) -> Result:
    """The result of an operation.

    Args:
        name: a key of `OPS`, or a step of a session that `given` names.
        given: parsed JSON, text values already expanded. Never changed.
        sessions: that stay from one operation to the next; None for a run of this one only.

    Raises:
        CompactorError: what the operation refuses; `input.shape` with the `$.path` of a name or
            field that is not known, is missing or has the wrong type.
    """
    if name == "session" or name in FIELDS:
        return _in_session(name, given, sessions)
    op = OPS.get(name)
    if op is None:
        known = ", ".join([*OPS, "session", *FIELDS])
        raise _shape("$.op", f"no operation {name[:40]!r}; known: {known}")
    for key, value in given.items():
        if key not in op.fields:
            raise _shape(dotted(("given", key)), f"{name} knows only {', '.join(op.fields)}")
        if value is not None and not _is(value, op.fields[key]):
            raise _shape(f"{GIVEN}.{key}", f"{op.fields[key].__name__} was expected")
    for key in op.required:
        if given.get(key) is None:
            raise _shape(f"{GIVEN}.{key}", f"{name} needs it")
    return op.run(given)


def _in_session(name: str, given: Given, sessions: Sessions | None) -> Result:
    """A whole session, or one step of a session that stays."""
    if name == "session":
        return _session(given, sessions)
    if sessions is None:
        raise _shape("$.op", f"{name} is a step of a session, and no session stays here")
    own = given.get("session")
    if not isinstance(own, str):
        raise _shape(f"{GIVEN}.session", f"{name} needs the name of a session")
    step = {key: value for key, value in given.items() if key != "session"}
    check(name, step, "")
    return sessions.step(own, name, step)


def _session(given: Given, sessions: Sessions | None) -> Result:
    for key in given:
        if key not in ("policy", "steps"):
            raise _shape(f"{GIVEN}.{key}", "session knows only policy and steps")
    steps, policy = given.get("steps"), given.get("policy")
    if not isinstance(steps, list):
        raise _shape(f"{GIVEN}.steps", "a list was expected")
    if not isinstance(policy, dict | None):
        raise _shape(f"{GIVEN}.policy", "dict was expected")
    own = sessions or Sessions()
    try:
        return {"answers": own.run(policy, steps)}
    finally:
        if sessions is None:
            own.close()


def _compact(given: Given) -> Result:
    key, request = _conversation(given)
    journal = _journal(given)
    with _within(f"{GIVEN}.{key}"):
        outcome = api.compact(
            request,
            _policy(given),
            journal,
            format=_format(given),
            recallable=given.get("recallable"),
            failed=_items(given, "failed", str),
            pins=_items(given, "pins", int),
            overflowed=bool(given.get("overflowed")),
            cold=bool(given.get("cold")),
        )
    added = outcome.journal.records[len(journal.records) :]
    return {
        _SHOWN[key]: outcome.request,
        "journal": [read_value(encode_record(record), 0)[0] for record in added],
        "report": msgspec.to_builtins(outcome.report),
    }


def _render(given: Given) -> Result:
    key, request = _conversation(given)
    journal = _journal(given)
    with _within(f"{GIVEN}.{key}"):
        return {_SHOWN[key]: api.render(request, journal, format=_format(given))}


def _read(given: Given) -> Result:
    transcript = _loaded(given)
    findings, overhead = transcript.findings, transcript.reading.overhead
    if not overhead.known:
        findings += (Finding("overhead_unknown", "it carries no system prompt and no tools"),)
    return {
        "entries": to_neutral(transcript.entries),
        "overhead": Measure(Chars4(), 1000, loop().tokens).texts(overhead.texts),
        "findings": msgspec.to_builtins(findings),
    }


def _write(given: Given) -> Result:
    journal = _journal(given)
    shown = api.render(_loaded(given), journal)
    return {"text": shown.to_bytes().decode("utf-8", "surrogateescape")}


def _count(given: Given) -> Result:
    scale = given.get("scale", 1000)
    policy = policy_from({"counter": given["counter"], "counterScale": scale}, GIVEN)
    counter = counters.get(policy.counter or "")
    return {"tokens": Measure(counter, scale, loop().tokens).text(given["text"])}


OPS: Mapping[str, Op] = MappingProxyType(
    {
        "compact": Op(
            _compact,
            {
                "policy": dict,
                "entries": list,
                "request": object,
                "format": str,
                "journal": list,
                "overhead": int,
                "recallable": bool,
                "overflowed": bool,
                "cold": bool,
                "failed": list,
                "pins": list,
            },
        ),
        "render": Op(_render, {"entries": list, "request": object, "format": str, "journal": list}),
        "read": Op(_read, {"format": str, "text": str}, ("text",)),
        "write": Op(_write, {"format": str, "text": str, "journal": list}, ("text",)),
        "count": Op(_count, {"counter": str, "scale": int, "text": str}, ("counter", "text")),
    }
)
"""Operation name → what it does."""


_SHOWN = {"entries": "view", "request": "request"}
"""What an answer calls the conversation that was given."""


def _conversation(given: Given) -> tuple[str, Any]:
    """`entries` or `request`, and its native data."""
    entries, request = given.get("entries"), given.get("request")
    if (entries is None) == (request is None):
        raise _shape(f"{GIVEN}.entries", "either entries or request is needed")
    if entries is not None and given.get("format") is not None:
        raise _shape(f"{GIVEN}.format", "entries have no other format")
    return ("entries", entries) if entries is not None else ("request", request)


def _format(given: Given) -> str | None:
    return "entries" if given.get("entries") is not None else given.get("format")


def _policy(given: Given) -> Policy:
    """The policy, with the given overhead; without one, entries have none."""
    try:
        policy = policy_from(given.get("policy") or {}, f"{GIVEN}.policy")
    except PolicyError as error:
        raise _moved(error, error.path.replace(": ", ".", 1)) from error
    overhead = given.get("overhead")
    if overhead is None and given.get("entries") is not None:
        overhead = policy.overhead_tokens or 0
    if overhead is None:
        return policy
    if overhead < 0:
        raise PolicyError("is negative", code="policy.range", path=f"{GIVEN}.overhead")
    return msgspec.structs.replace(policy, overhead_tokens=overhead)


def _journal(given: Given) -> Journal:
    """The records, as the answers that appended them gave them."""
    records = enumerate(given.get("journal") or ())
    return Journal(
        decode_record(_line(record), f"{GIVEN}.journal[{index}]") for index, record in records
    )


def _line(record: Any) -> bytes:
    return compact_json(record).encode("utf-8")


def _items(given: Given, key: str, kind: type) -> list[Any]:
    items: list[Any] = given.get(key) or []
    for index, item in enumerate(items):
        if not _is(item, kind):
            raise _shape(f"{GIVEN}.{key}[{index}]", f"{kind.__name__} was expected")
    return items


def _loaded(given: Given) -> transcript.Transcript:
    """A transcript from the text of its file. Bytes that were no UTF-8 are lone surrogates."""
    try:
        data = given["text"].encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InputError(
            "no file has this text: a lone surrogate that stands for no byte",
            code="input.not_json",
            path=f"{GIVEN}.text",
        ) from error
    return transcript.load(data, given.get("format"), name="text")


def _is(value: Any, kind: type) -> bool:
    """Whether a parsed value has a type; true and false are no numbers."""
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


@contextmanager
def _within(place: str) -> Iterator[None]:
    """Errors that point into the conversation point into what was given."""
    try:
        yield
    except CompactorError as error:
        if not error.path.startswith("$") or error.path.startswith(GIVEN):
            raise
        raise _moved(error, place + error.path[1:]) from error


def _moved(error: CompactorError, path: str) -> CompactorError:
    return type(error)(error.message, code=error.code, path=path, hint=error.hint)


def _shape(path: str, message: str) -> InputError:
    return InputError(message, code="input.shape", path=path)
