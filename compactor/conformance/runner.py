"""Asks an implementation every case and says where it first answers otherwise.

An implementation is a function from a line of the protocol to a line: ours in this process, or a
program behind `child`. Both get the same bytes, so that what passes in here passes over a pipe.
Where a case's journal is `{"after": given}` the implementation is first asked that, and its own
records are handed on: no case spells another implementation's records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from compactor.conformance.cases import Case
from compactor.conformance.compare import Difference, compare_result, first_difference
from compactor.formats.raw.json_text import NotJsonError, read_value
from compactor.formats.raw.native import compact_json

Ask = Callable[[bytes], bytes]
"""A line in, the line that answers it out; `NoAnswer` when there is none."""

_BACK = {"view": "entries", "request": "request", "text": "text"}
"""Key of an answer → the key of what was given that it is about."""


class NoAnswerError(Exception):
    """An implementation gave no answer; the text says what it did instead."""


class Verdict(NamedTuple):
    """What became of a case.

    case: the case.
    problem: "" when it passed, else one sentence.
    difference: where the answer differs, for people; None when that is not the problem.
    """

    case: Case
    problem: str = ""
    difference: Difference | None = None

    @property
    def passed(self) -> bool:
        return not self.problem


def run(cases: Iterable[Case], ask: Ask) -> Iterator[Verdict]:
    """The verdict on each case, as it is reached."""
    for case in cases:
        try:
            yield _judge(case, ask)
        except NoAnswerError as error:
            yield Verdict(case, str(error))


def _judge(case: Case, ask: Ask) -> Verdict:
    given = _with_journal(case, case.given, ask)
    said = _asked(case.id, case.op, given, ask)
    if "error" in case.expect:
        return _judge_error(case, said)
    if "error" in said:
        return Verdict(case, f"refused with {_code(said)} at {said.get('path') or 'no path'}")
    result = said["result"]
    if "unchanged" in case.expect:
        found = _change(given, result)
    else:
        found = compare_result(case.expect["result"], result)
    return Verdict(case, "another answer", found) if found else Verdict(case)


def _judge_error(case: Case, said: dict[str, Any]) -> Verdict:
    wanted = case.expect["error"]
    if "error" not in said:
        return Verdict(case, f"not refused, where {wanted} was expected")
    found = first_difference(wanted, said["error"], ("error",))
    return Verdict(case, "refused with another code", found) if found else Verdict(case)


def _with_journal(case: Case, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """What is given, with the records of the call before where the case asks for them."""
    journal = given.get("journal")
    if not isinstance(journal, dict):
        return given
    before = _with_journal(case, journal["after"], ask)
    said = _asked(f"{case.id} (the call before)", "compact", before, ask)
    if "error" in said:
        raise NoAnswerError(f"refused the call before with {_code(said)}")
    records = said["result"].get("journal")
    if not isinstance(records, list):
        raise NoAnswerError("the call before gave no list of records")
    return {**given, "journal": [*(before.get("journal") or ()), *records]}


def _asked(name: str, op: str, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """An answer, checked to be one: `{"id", "result"}` or `{"id", "error", "path"}`."""
    line = ask(compact_json({"id": name, "op": op, "given": given}).encode("utf-8"))
    try:
        said = read_value(line.decode("utf-8"), 0)[0]
    except (NotJsonError, ValueError) as error:
        raise NoAnswerError(f"answered with no JSON: {error}") from error
    if not isinstance(said, dict) or said.get("id") != name:
        raise NoAnswerError("answered another question: the id is not the one asked")
    if ("error" in said) == isinstance(said.get("result"), dict):
        raise NoAnswerError("answered with neither a result nor an error")
    return said


def _code(said: dict[str, Any]) -> str:
    return str(said["error"])[:80]


def _change(given: dict[str, Any], result: dict[str, Any]) -> Difference | None:
    """The first difference between the answer and what was given, where nothing may change."""
    key = next((key for key in _BACK if given.get(_BACK[key]) is not None), "text")
    return compare_result({key: given[_BACK[key]]}, result)
