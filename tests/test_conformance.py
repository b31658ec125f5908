"""The cases: that they are well formed, and that our own implementation passes every one."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from compactor import stdio
from compactor.conformance.cases import Case, load_cases
from compactor.conformance.ops import OPS
from compactor.conformance.runner import Verdict, run
from compactor.loop import shipped

FOLDER = shipped("conformance")
FILES = [FOLDER / f"{name}.json" for name in ("compaction", "context", "editing", "formats")]
CASES = load_cases([FOLDER])
SCHEMA = json.loads((FOLDER / "case.schema.json").read_text(encoding="utf-8"))


def natives(file: Path) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["cases"]
    return cases


def rule(case: Case) -> str:
    return case.id.partition("/")[0]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_folder_holds_these_case_files() -> None:
    found = sorted(file.name for file in FOLDER.glob("*.json"))
    assert found == sorted(["case.schema.json", *(file.name for file in FILES)])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_case_has_the_shape_of_the_schema(file: Path) -> None:
    whole = jsonschema.Draft202012Validator(SCHEMA)
    one = jsonschema.Draft202012Validator({"$ref": "#/$defs/case", "$defs": SCHEMA["$defs"]})
    faults = [
        f"{case.get('id')} {error.json_path}: {error.message[:200]}"
        for case in natives(file)
        for error in one.iter_errors(case)
    ]
    assert faults == []
    assert whole.is_valid(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "fault",
    [
        {"id": "Rule/case"},
        {"id": "case"},
        {"why": "It ends with a full stop."},
        {"expect": {}},
        {"expect": {"result": {"tokens": 1}, "unchanged": True}},
        {"expect": {"result": {}}},
        {"expect": {"result": {"token": 1}}},
        {"given": {"counter": "chars4", "text": {"chars": "x"}}},
        {"given": {"counter": "chars4", "text": "x", "round": "down"}},
        {"op": "compress"},
        {"note": "x"},
    ],
    ids=str,
)
def test_the_schema_refuses_a_fault(fault: dict[str, Any]) -> None:
    case = {
        "id": "rule/case",
        "why": "a part counts whole tokens",
        "op": "count",
        "given": {"counter": "chars4", "text": "x"},
        "expect": {"result": {"tokens": 1}},
    }
    whole = jsonschema.Draft202012Validator(SCHEMA)
    assert whole.is_valid({"spec": "1", "cases": [case]})
    assert not whole.is_valid({"spec": "1", "cases": [case | fault]})


def test_ids_are_unique_over_all_files() -> None:
    times = Counter(case["id"] for file in FILES for case in natives(file))
    assert [name for name, count in times.items() if count > 1] == []


def test_cases_of_one_rule_stand_together() -> None:
    runs = Counter(name for name, _ in groupby(map(rule, CASES)))
    assert [name for name, count in runs.items() if count > 1] == []


def test_no_why_is_said_twice_within_a_rule_nor_says_what_should_be() -> None:
    whys = Counter((rule(case), case.why) for case in CASES)
    assert [why for why, count in whys.items() if count > 1] == []
    assert [case.id for case in CASES if "should" in case.why.lower()] == []


def test_every_rule_of_the_pass_has_at_least_four_cases() -> None:
    """One that applies, one that does not, one at the boundary, one interaction."""
    rules = Counter(map(rule, (case for case in CASES if case.file == "compaction.json")))
    assert {name: count for name, count in rules.items() if count < 4} == {}


def test_every_operation_has_cases_that_answer_and_cases_that_refuse() -> None:
    answers = {(case.op, "error" in case.expect) for case in CASES if case.op in OPS}
    assert answers >= {(op, False) for op in OPS} | {(op, True) for op in OPS if op != "write"}


def test_only_cases_about_counting_use_another_counter() -> None:
    counters = {
        case.id: case.given["policy"].get("counter")
        for case in CASES
        if case.op == "compact" and "policy" in case.given
    }
    others = [name for name, counter in counters.items() if counter != "chars4"]
    assert others == ["policy/counter-unknown", "journal/counter-changed"]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_our_implementation_answers_as_the_case_expects(case: Case) -> None:
    assert list(run([case], stdio.answer)) == [Verdict(case)]
