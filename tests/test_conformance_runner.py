"""The runner: what it compares, what it calls wrong, and the programs it has to live with."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from compactor import stdio
from compactor.conformance.cases import Case, load_cases
from compactor.conformance.child import Child
from compactor.conformance.command import command
from compactor.conformance.compare import Difference, compare_result
from compactor.conformance.runner import NoAnswerError, Verdict, run
from compactor.core.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
ONE = {
    "id": "count/one",
    "why": "four characters are one token",
    "op": "count",
    "given": {"counter": "chars4", "text": "abcd"},
    "expect": {"result": {"tokens": 1}},
}
TWO = ONE | {"id": "count/two", "expect": {"result": {"tokens": 2}}}


def case(**changes: Any) -> Case:
    return Case(**(ONE | changes), file="cases.json")


def verdict(answer: Callable[[dict[str, Any]], Any], **changes: Any) -> Verdict:
    """What the runner makes of an implementation that answers so."""

    def ask(line: bytes) -> bytes:
        said = answer(json.loads(line))
        return said if isinstance(said, bytes) else json.dumps(said).encode()

    [found] = run([case(**changes)], ask)
    return found


def answering(**said: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda asked: {"id": asked["id"], **said}


# -- comparing

USER = {"kind": "user", "text": ""}


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ({"tokens": 2}, {"tokens": 2, "more": 1}),
        ({"tokens": 2}, {"tokens": 2.0}),
        ({"request": {"a": 1, "b": 2}}, {"request": {"b": 2, "a": 1}}),
        ({"report": {"why": "passed"}}, {"report": {"why": "passed", "tier": "elide"}}),
        ({"report": {"passes": [{"n": 1}]}}, {"report": {"passes": [{"n": 1, "m": 2}]}}),
        ({"journal": [{"kind": "pass"}]}, {"journal": [{"kind": "pass", "n": 5}]}),
        ({"findings": [{}]}, {"findings": [{"code": "orphan_result"}]}),
        (
            {"view": [{"kind": "tool", "call": "a", "text": "x"}]},
            {"view": [{"kind": "tool", "call": "a", "text": "x", "error": False, "images": 0}]},
        ),
        ({"view": [{"kind": "assistant"}]}, {"view": [{"kind": "assistant", "calls": []}]}),
        ({"answers": [{}, {"text": "a"}]}, {"answers": [{"text": "x"}, {"text": "a", "b": 1}]}),
        ({"answers": [{"view": [{"kind": "user"}]}]}, {"answers": [{"view": [USER], "n": 1}]}),
    ],
    ids=str,
)
def test_these_answers_are_as_expected(expected: Any, got: Any) -> None:
    assert compare_result(expected, got) is None


@pytest.mark.parametrize(
    ("expected", "got", "difference"),
    [
        ({"tokens": 2}, {}, Difference("$.result.tokens", "2", "nothing")),
        ({"tokens": 2}, {"tokens": 3}, Difference("$.result.tokens", "2", "3")),
        ({"tokens": 1}, {"tokens": True}, Difference("$.result.tokens", "1", "true")),
        ({"tokens": 0}, {"tokens": False}, Difference("$.result.tokens", "0", "false")),
        ({"tokens": 0}, {"tokens": None}, Difference("$.result.tokens", "0", "null")),
        ({"tokens": 2}, {"tokens": "2"}, Difference("$.result.tokens", "2", '"2"')),
        ({"text": "a"}, {"text": "a\n"}, Difference("$.result.text", '"a"', '"a\\n"')),
        ({"text": "e\u0301"}, {"text": "é"}, Difference("$.result.text", '"e\u0301"', '"é"')),
        ({"request": [1]}, {"request": [1, 2]}, Difference("$.result.request[1]", "nothing", "2")),
        ({"request": [1, 2]}, {"request": [2, 1]}, Difference("$.result.request[0]", "1", "2")),
        ({"request": {}}, {"request": []}, Difference("$.result.request", "{}", "[]")),
        (
            {"request": {"a": {"b": 1}}},
            {"request": {"a": {"b": 1, "c": 2}}},
            Difference("$.result.request.a.c", "nothing", "2"),
        ),
        (
            {"report": {"passes": []}},
            {"report": {"passes": [{}]}},
            Difference("$.result.report.passes[0]", "nothing", "{}"),
        ),
        (
            {"report": {"floor": None}},
            {"report": {}},
            Difference("$.result.report.floor", "null", "nothing"),
        ),
        (
            {"view": [{"kind": "tool", "error": False}]},
            {"view": [{"kind": "tool", "error": True}]},
            Difference("$.result.view[0].error", "false", "true"),
        ),
        (
            {"view": [{"kind": "user", "text": ""}]},
            {"view": [{"kind": "user", "text": "", "x": 1}]},
            Difference("$.result.view[0].x", "nothing", "1"),
        ),
        (
            {"answers": [{}]},
            {"answers": [{"error": "edit.stale", "path": "file"}]},
            Difference("$.result.answers[0].error", "nothing", '"edit.stale"'),
        ),
        (
            {"answers": [{}]},
            {"answers": [{}, {}]},
            Difference("$.result.answers[1]", "nothing", "{}"),
        ),
        (
            {"answers": [{"error": "edit.stale"}]},
            {"answers": [{"text": "a"}]},
            Difference("$.result.answers[0].error", '"edit.stale"', "nothing"),
        ),
        (
            {"answers": [{"receipt": {"freed": 1}}]},
            {"answers": [{"receipt": {"freed": 1, "reread": 2}}]},
            Difference("$.result.answers[0].receipt.reread", "nothing", "2"),
        ),
    ],
    ids=str,
)
def test_the_first_difference_is_named(expected: Any, got: Any, difference: Difference) -> None:
    assert compare_result(expected, got) == difference


def test_long_texts_are_shown_around_the_place_where_they_differ() -> None:
    found = compare_result({"text": "x" * 10**6 + "a"}, {"text": "x" * 10**6 + "b" + "y" * 999})
    assert found == Difference(
        "$.result.text",
        '"' + "x" * 40 + 'a" (characters 999960-1000001 of 1000001)',
        '"' + "x" * 40 + "b" + "y" * 119 + '" (characters 999960-1000120 of 1001000)',
    )


def test_long_values_are_cut() -> None:
    found = compare_result({"request": 1}, {"request": list(range(1000))})
    assert found is not None
    assert found.expected == "1"
    assert found.got.startswith("[0,1,2")
    assert len(found.got) < 200


# -- judging


def test_the_right_answer_passes() -> None:
    assert verdict(answering(result={"tokens": 1})) == Verdict(case())


def test_another_answer_fails_with_its_difference() -> None:
    difference = Difference("$.result.tokens", "1", "2")
    assert verdict(answering(result={"tokens": 2})) == Verdict(case(), "another answer", difference)


def test_a_refusal_where_an_answer_was_expected_fails() -> None:
    found = verdict(answering(error="input.shape", path="$.given.x"))
    assert found == Verdict(case(), "refused with input.shape at $.given.x")


def test_an_answer_where_a_refusal_was_expected_fails() -> None:
    expect = {"error": "policy.range"}
    found = verdict(answering(result={"tokens": 1}), expect=expect)
    assert found == Verdict(case(expect=expect), "not refused, where policy.range was expected")


def test_a_refusal_with_the_expected_code_passes() -> None:
    expect = {"error": "policy.range"}
    assert verdict(answering(error="policy.range", path=""), expect=expect).passed


def test_a_refusal_with_another_code_fails() -> None:
    expect = {"error": "policy.range"}
    found = verdict(answering(error="input.shape", path=""), expect=expect)
    difference = Difference("$.error", '"policy.range"', '"input.shape"')
    assert found == Verdict(case(expect=expect), "refused with another code", difference)


@pytest.mark.parametrize(
    "said",
    [
        b"hello",
        b"\xff",
        b"[]",
        {"id": "count/two", "result": {"tokens": 1}},
        {"result": {"tokens": 1}},
        {"id": "count/one"},
        {"id": "count/one", "result": 1},
        {"id": "count/one", "result": {"tokens": 1}, "error": "input.shape"},
        {"id": "count/one", "unsupported": True},
    ],
    ids=repr,
)
def test_what_is_no_answer_fails(said: Any) -> None:
    assert not verdict(lambda _: said).passed


@pytest.mark.parametrize(
    ("op", "key", "back"),
    [("compact", "entries", "view"), ("compact", "request", "request"), ("write", "text", "text")],
)
def test_unchanged_means_that_what_was_given_comes_back(op: str, key: str, back: str) -> None:
    value: Any = "x" if key == "text" else [{"kind": "user", "text": "x"}]
    given, expect = {key: value}, {"unchanged": True}
    changed: Any = "y" if key == "text" else []
    same = verdict(answering(result={back: value}), op=op, given=given, expect=expect)
    other = verdict(answering(result={back: changed}), op=op, given=given, expect=expect)
    none = verdict(answering(result={}), op=op, given=given, expect=expect)
    assert (same.passed, other.passed, none.passed) == (True, False, False)


def test_the_journal_of_an_earlier_call_is_handed_on() -> None:
    asked: list[dict[str, Any]] = []

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        asked.append(question["given"])
        return {"id": question["id"], "result": {"view": [], "journal": [{"n": len(asked)}]}}

    first = {"entries": [1]}
    second = {"entries": [2], "journal": {"after": first}}
    third = {"entries": [3], "journal": {"after": second}}
    expect = {"result": {"journal": [{"n": 3}]}}
    assert verdict(answer, op="compact", given=third, expect=expect).passed
    assert asked == [
        {"entries": [1]},
        {"entries": [2], "journal": [{"n": 1}]},
        {"entries": [3], "journal": [{"n": 1}, {"n": 2}]},
    ]


@pytest.mark.parametrize("said", [{"error": "policy.range"}, {"result": {}}], ids=str)
def test_a_call_before_that_gives_no_journal_fails_the_case(said: dict[str, Any]) -> None:
    given = {"entries": [], "journal": {"after": {"entries": []}}}
    expect = {"error": "policy.range"}
    assert not verdict(answering(**said), op="compact", given=given, expect=expect).passed


# -- case files


@pytest.mark.parametrize(
    "content",
    [
        "hello",
        "[]",
        {"cases": []},
        {"spec": "2", "cases": []},
        {"spec": "1"},
        {"spec": "1", "cases": [5]},
        {"spec": "1", "cases": [ONE, ONE]},
        {"spec": "1", "cases": [{**ONE, "note": ""}]},
        {"spec": "1", "cases": [{key: ONE[key] for key in ONE if key != "why"}]},
        {"spec": "1", "cases": [ONE | {"id": 5}]},
        {"spec": "1", "cases": [ONE | {"given": []}]},
        {"spec": "1", "cases": [ONE | {"expect": {}}]},
        {"spec": "1", "cases": [ONE | {"expect": {"result": {}}}]},
        {"spec": "1", "cases": [ONE | {"expect": {"results": {"tokens": 1}}}]},
        {"spec": "1", "cases": [ONE | {"expect": {"unchanged": False}}]},
        {"spec": "1", "cases": [ONE | {"expect": {"error": ""}}]},
        {"spec": "1", "cases": [ONE | {"expect": {"error": "a", "unchanged": True}}]},
        {"spec": "1", "cases": [ONE | {"given": {"text": {"chars": "x", "times": 10**9}}}]},
    ],
    ids=lambda content: str(content)[:90],
)
def test_a_file_that_is_no_suite_is_the_suites_fault(content: Any, tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError, match="the suite is wrong"):
        load_cases([file])


def test_an_id_is_unique_over_files(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps({"spec": "1", "cases": [ONE]}))
    with pytest.raises(InputError, match=r"b.json.*taken in a.json"):
        load_cases([tmp_path])


def test_a_folder_is_read_in_the_order_of_its_names_without_schemas(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(json.dumps({"spec": "1", "cases": [ONE]}))
    (tmp_path / "a.json").write_text(json.dumps({"spec": "1", "cases": [TWO]}))
    (tmp_path / "case.schema.json").write_text("{}")
    assert [case.id for case in load_cases([tmp_path])] == ["count/two", "count/one"]


def test_text_values_are_expanded_in_given_and_expect(tmp_path: Path) -> None:
    value = {"chars": "x", "times": 3}
    native = ONE | {"given": {"text": value}, "expect": {"result": {"text": value}}}
    (tmp_path / "a.json").write_text(json.dumps({"spec": "1", "cases": [native]}))
    [found] = load_cases([tmp_path])
    assert (found.given, found.expect) == ({"text": "xxx"}, {"result": {"text": "xxx"}})


# -- programs


def program(body: str) -> Child:
    """A program of these statements: `line` is a question, `say` answers it."""
    source = f"""
import json, sys
def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    right = json.dumps({{"id": asked["id"], "result": {{"tokens": 1}}}})
    {body}
"""
    return Child([sys.executable, "-c", source], time_limit_s=20)


def problems(child: Child, times: int = 3) -> list[str]:
    with child:
        return [each.problem for each in run([case(id=f"c/{n}") for n in range(times)], child)]


def test_a_program_that_answers_is_asked_again() -> None:
    assert problems(program("say(right)")) == ["", "", ""]


def test_a_program_that_dies_is_started_again() -> None:
    died = "ended without an answer, with exit code 3"
    child = program("say(right) if asked['id'] != 'c/1' else sys.exit(3)")
    assert problems(child) == ["", died, ""]


def test_a_program_that_dies_every_time_fails_every_case() -> None:
    died = "ended without an answer, with exit code 3"
    assert problems(program("sys.exit(3)")) == [died, died, died]


def test_a_program_that_hangs_is_ended_and_started_again() -> None:
    child = program("say(right) if asked['id'] != 'c/1' else sys.stdin.readline()")
    child._limit_s = 1
    assert problems(child) == ["", "gave no answer within 1 s", ""]


def test_a_program_that_never_reads_cannot_block_us() -> None:
    source = "import sys, threading; threading.Event().wait()"
    late = pytest.raises(NoAnswerError, match="no answer within 1 s")
    with Child([sys.executable, "-c", source], time_limit_s=1) as child, late:
        child(b"x" * 1_000_000)


def test_a_program_that_says_half_a_line_gives_no_answer() -> None:
    child = program("sys.stdout.write('{'); sys.exit(0)")
    assert problems(child, 1) == ["ended without an answer, with exit code 0"]


def test_a_program_that_says_too_much_falls_out_of_step_for_one_case_at_most() -> None:
    child = program("say(right); asked['id'] == 'c/0' and say(right)")
    found = problems(child, 4)
    assert found[0] == ""
    assert found[2:] == ["", ""]


def test_a_program_that_cannot_be_started_fails_the_case(tmp_path: Path) -> None:
    assert problems(Child([str(tmp_path / "none")]), 1)[0].startswith("cannot be started")


def test_a_program_that_ignores_the_end_of_its_input_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("compactor.conformance.child._END_LIMIT_S", 0.2)
    child = program("say(right)\nimport threading\nthreading.Event().wait()")
    assert problems(child, 1) == [""]


# -- the command


def invoke(*args: str | Path) -> Result:
    return CliRunner().invoke(command, [str(arg) for arg in args])


def suite(folder: Path, *cases: dict[str, Any]) -> Path:
    file = folder / "cases.json"
    file.write_text(json.dumps({"spec": "1", "cases": list(cases)}))
    return file


def test_the_command_runs_the_shipped_cases() -> None:
    result = invoke("-k", "threshold/")
    count = sum("threshold/" in case.id for case in load_cases([ROOT / "conformance"]))
    assert (result.exit_code, result.output) == (0, f"{count} of {count} cases pass\n")


def test_the_command_says_what_differs(tmp_path: Path) -> None:
    result = invoke(suite(tmp_path, ONE, TWO))
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "FAIL count/two (cases.json): another answer",
        "  because   four characters are one token",
        "  at        $.result.tokens",
        "  expected  2",
        "  got       1",
        "the implementation is wrong: 1 of 2 cases pass",
    ]


def test_the_command_blames_the_suite_for_its_own_faults(tmp_path: Path) -> None:
    result = invoke(suite(tmp_path, ONE, ONE))
    assert result.exit_code == 2
    assert "the suite is wrong" in result.output


@pytest.mark.parametrize(
    "args",
    [
        ["no-such-file.json"],
        ["-k", "no-such-case"],
        ["--command", ""],
        ["--command", "'"],
        ["--command", "no-such-program-here"],
    ],
    ids=" ".join,
)
def test_a_run_that_asks_nothing_is_no_pass(args: list[str]) -> None:
    assert invoke(*args).exit_code == 2


@pytest.mark.parametrize(
    ("pattern", "count"), [("one", 1), ("count/", 2), ("*/t?o", 1), ("[c]ount/*", 2), ("o", 2)]
)
def test_cases_are_chosen_by_text_or_pattern(pattern: str, count: int, tmp_path: Path) -> None:
    output = invoke(suite(tmp_path, ONE, TWO), "-k", pattern, "--json").output
    assert len(json.loads(output)["cases"]) == count


def test_the_command_asks_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    right = f'"{sys.executable}" -m compactor.stdio'
    wrong = f'"{sys.executable}" "{ROOT / "tests" / "wrong" / "echo.py"}"'
    file = suite(tmp_path, ONE)
    assert invoke(file, "--command", right).exit_code == 0
    assert invoke(file, "--command", wrong).exit_code == 1


def test_the_command_speaks_json(tmp_path: Path) -> None:
    result = invoke(suite(tmp_path, ONE, TWO), "--json")
    assert result.exit_code == 1
    assert json.loads(result.output) == {
        "passed": 1,
        "failed": 1,
        "cases": [
            {"id": "count/one", "file": "cases.json", "passed": True},
            {
                "id": "count/two",
                "file": "cases.json",
                "passed": False,
                "problem": "another answer",
                "difference": {"path": "$.result.tokens", "expected": "2", "got": "1"},
            },
        ],
    }


def test_a_track_says_only_what_changed(tmp_path: Path) -> None:
    track = tmp_path / "track"
    first = invoke(suite(tmp_path, ONE, TWO), "--track", track)
    again = invoke(suite(tmp_path, ONE, TWO), "--track", track)
    fixed = invoke(suite(tmp_path, TWO | {"expect": ONE["expect"]}), "--track", track)
    broken = invoke(suite(tmp_path, ONE | {"expect": TWO["expect"]}), "--track", track)
    wrong = "the implementation is wrong: "
    assert [result.output.splitlines() for result in (first, again, fixed, broken)] == [
        ["count/one: new -> pass", "count/two: new -> fail", wrong + "1 of 2 cases pass"],
        [wrong + "1 of 2 cases pass"],
        ["count/two: fail -> pass", "1 of 1 cases pass"],
        ["count/one: pass -> fail", wrong + "0 of 1 cases pass"],
    ]
    assert [result.exit_code for result in (first, again, fixed, broken)] == [1, 1, 0, 1]
    assert json.loads(track.read_text()) == {"count/one": "fail", "count/two": "pass"}


def test_a_file_that_is_no_track_is_left_alone(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    for content in ("my notes", '{"a": 1}', "[]"):
        notes.write_text(content)
        assert invoke(suite(tmp_path, ONE), "--track", notes).exit_code == 2
        assert notes.read_text() == content


def test_a_track_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    result = invoke(suite(tmp_path, ONE), "--track", tmp_path / "none" / "track")
    assert result.exit_code == 2
    assert "none" in result.output


def test_the_right_implementation_is_the_one_that_is_served() -> None:
    line = json.dumps({key: ONE[key] for key in ("id", "op", "given")}).encode()
    assert json.loads(stdio.answer(line)) == {"id": "count/one", "result": {"tokens": 1}}
