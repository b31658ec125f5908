"""One message of the JSON-lines protocol: from the bytes of a line to the bytes of its answer.

In: `{"id", "op", "given"}`. Out: `{"id", "result"}` or `{"id", "error": code, "path"}`. The runner
asks our own implementation through the same function that `serve` answers with. Numbers keep their
spelling on the way through. Specification: DESIGN section 11, CONFORMANCE.
"""

from __future__ import annotations

import traceback
from typing import Any

from compactor.conformance.ops import perform
from compactor.conformance.sessions import Sessions, refusal
from compactor.conformance.texts import expand
from compactor.core.errors import CompactorError, EditError, InputError
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.json_text import NotJsonError, after_space, read_value
from compactor.formats.raw.native import compact_json

FAULT = "internal.fault"
"""The code of an answer to what we did not foresee: always our fault."""
_ENVELOPE = ("id", "op", "given")


def answer(line: bytes, sessions: Sessions | None = None) -> bytes:
    """The answer to one line, without its newline. Never raises.

    Args:
        line: a request, with or without its newline.
        sessions: that stay from line to line.
    """
    message: Any = None
    try:
        message = _parsed(line)
        op, given = _checked(message)
        expand(given, ("given",))
        said = {"result": perform(op, given, sessions)}
        return _spelled(message, said)
    except EditError as error:
        return _spelled(message, refusal(error))
    except CompactorError as error:
        return _spelled(message, {"error": error.code, "path": error.path})
    except Exception:  # the last line of defence: one bad line must not end the service
        traceback.print_exc()
        return _spelled(message, {"error": FAULT, "path": ""})


def _parsed(line: bytes) -> Any:
    """The message of a line.

    Raises:
        InputError: `input.not_json`.
    """
    try:
        text = line.decode("utf-8")
        start = after_space(text, 0)
        message, end = read_value(text, start)
        if after_space(text, end) < len(text):
            raise NotJsonError("something follows the value", end, wants_value=False)
    except ValueError as error:  # no UTF-8, no JSON
        raise InputError(f"a line of JSON was expected: {error}", code="input.not_json") from error
    return message


def _checked(message: Any) -> tuple[str, dict[str, Any]]:
    """Operation and given of a message.

    Raises:
        InputError: `input.shape`.
    """
    if not isinstance(message, dict):
        raise InputError("a message is an object", code="input.shape", path="$")
    for key in message:
        if key not in _ENVELOPE:
            known = ", ".join(_ENVELOPE)
            raise InputError(f"a message has only {known}", code="input.shape", path=dotted((key,)))
    op, given = message.get("op"), message.get("given")
    if not isinstance(op, str):
        raise InputError("a name was expected", code="input.shape", path="$.op")
    if not isinstance(given, dict):
        raise InputError("an object was expected", code="input.shape", path="$.given")
    return op, given


def _spelled(message: Any, said: dict[str, Any]) -> bytes:
    """An answer as bytes; the id is given back where it is a name or a number."""
    asked = message.get("id") if isinstance(message, dict) else None
    known = asked if isinstance(asked, (str, int)) else None
    return compact_json({"id": known, **said}).encode("utf-8")
