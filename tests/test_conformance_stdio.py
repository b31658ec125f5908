"""The protocol: every line is answered, by itself and at once; and text values."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compactor import stdio
from compactor.conformance import wire
from compactor.conformance.ops import OPS, perform
from compactor.conformance.texts import CHARS_MAX, expand
from compactor.core.errors import CompactorError

ROOT = Path(__file__).resolve().parent.parent
COUNT = {"counter": "chars4", "text": "hello"}


def said(message: Any) -> dict[str, Any]:
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    answer: dict[str, Any] = json.loads(stdio.answer(line))
    return answer


def test_a_question_is_answered_with_its_id() -> None:
    assert said({"id": "a", "op": "count", "given": COUNT}) == {"id": "a", "result": {"tokens": 2}}


@pytest.mark.parametrize("name", ["a", 7, -1, "é", ""])
def test_an_id_comes_back_as_it_was(name: Any) -> None:
    assert said({"id": name, "op": "count", "given": COUNT})["id"] == name


@pytest.mark.parametrize("name", [None, {"a": 1}, [1], 1.5])
def test_an_id_that_is_none_comes_back_as_null(name: Any) -> None:
    assert said({"id": name, "op": "count", "given": COUNT}) == {
        "id": None,
        "result": {"tokens": 2},
    }


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"{", b"hello", b'{"id":1} {"id":2}', b"\xff\xfe", b'{"id":"\xff"}', b"{'id':1}"],
    ids=repr,
)
def test_a_line_that_is_no_json_is_answered(line: bytes) -> None:
    assert said(line) == {"id": None, "error": "input.not_json", "path": ""}


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ([], "$"),
        (5, "$"),
        ({"op": "count", "given": COUNT, "x": 1}, "$.x"),
        ({"given": COUNT}, "$.op"),
        ({"op": 5, "given": COUNT}, "$.op"),
        ({"op": "compress", "given": {}}, "$.op"),
        ({"op": "session", "given": {}}, "$.given.steps"),
        ({"op": "mark", "given": {}}, "$.op"),
        ({"op": "count"}, "$.given"),
        ({"op": "count", "given": []}, "$.given"),
        ({"op": "count", "given": {**COUNT, "x": 1}}, "$.given.x"),
        ({"op": "count", "given": {**COUNT, "x y": 1}}, '$.given["x y"]'),
        ({"op": "count", "given": {"counter": "chars4"}}, "$.given.text"),
        ({"op": "count", "given": {**COUNT, "scale": "1"}}, "$.given.scale"),
        ({"op": "count", "given": {**COUNT, "scale": True}}, "$.given.scale"),
        ({"op": "compact", "given": {"entries": [], "failed": [5]}}, "$.given.failed[0]"),
        ({"op": "compact", "given": {"entries": [], "pins": [1, "2"]}}, "$.given.pins[1]"),
        ({"op": "compact", "given": {"entries": [], "format": "entries"}}, "$.given.format"),
        ({"op": "compact", "given": {}}, "$.given.entries"),
        (
            {"op": "compact", "given": {"policy": {"window": 9}, "entries": [{"kind": "x"}]}},
            "$.given.entries[0].kind",
        ),
        (
            {"op": "render", "given": {"format": "anthropic", "request": {"messages": [1]}}},
            "$.given.request.messages[0]",
        ),
    ],
    ids=str,
)
def test_a_fault_of_shape_names_its_place(message: Any, path: str) -> None:
    answer = said(message)
    assert (answer["error"], answer["path"]) == ("input.shape", path)


@pytest.mark.parametrize(
    ("policy", "code", "path"),
    [
        ({"keepRecents": 1}, "policy.unknown_key", "$.given.policy"),
        ({"window": 5, "minGain": -1}, "policy.range", "$.given.policy.minGain"),
        ({"counter": "chars4"}, "policy.model_unknown", "window"),
    ],
)
def test_a_policy_that_cannot_be_names_its_setting(
    policy: dict[str, Any], code: str, path: str
) -> None:
    answer = said({"id": 1, "op": "compact", "given": {"policy": policy, "entries": []}})
    assert answer == {"id": 1, "error": code, "path": path}


@pytest.mark.parametrize("name", OPS)
def test_null_is_the_same_as_absent(name: str) -> None:
    bases: dict[str, dict[str, Any]] = {
        "compact": {"policy": {"window": 100, "counter": "chars4"}, "entries": []},
        "render": {"entries": []},
        "read": {"text": '{"messages":[{"role":"user","content":"hi"}]}'},
        "write": {"text": '{"messages":[{"role":"user","content":"hi"}]}'},
        "count": {**COUNT, "scale": 1000},
    }
    nulls = {**dict.fromkeys(OPS[name].fields), **bases[name]}
    assert perform(name, nulls) == perform(name, bases[name])


def test_what_we_did_not_foresee_is_answered_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(op: str, given: Any, _sessions: Any) -> Any:
        raise KeyError(op, given)

    monkeypatch.setattr(wire, "perform", fail)
    assert said({"id": 3, "op": "count", "given": COUNT}) == {
        "id": 3,
        "error": "internal.fault",
        "path": "",
    }
    assert "KeyError" in capsys.readouterr().err


def test_lone_surrogates_survive_the_way_through() -> None:
    request = b'{"messages":[{"role":"user","content":"\\ud83d \\udcff"}]}'
    line = b'{"id":1,"op":"render","given":{"format":"anthropic","request":' + request + b"}}"
    assert stdio.answer(line) == b'{"id":1,"result":{"request":' + request + b"}}"


def test_bytes_that_are_no_utf8_survive_as_lone_surrogates() -> None:
    text = '{"messages":[{"role":"user","content":"\udcff"}]}'
    assert said({"id": 1, "op": "write", "given": {"text": text}})["result"] == {"text": text}


def test_a_text_that_no_file_can_have_is_refused() -> None:
    answer = said({"id": 1, "op": "read", "given": {"text": '"\ud83d"'}})
    assert answer == {"id": 1, "error": "input.not_json", "path": "$.given.text"}


def test_numbers_and_duplicate_keys_survive_the_way_through() -> None:
    request = b'{"x":1.50e+2,"y":-0,"x":12345678901234567890123,"messages":[]}'
    line = b'{"id":1,"op":"render","given":{"format":"anthropic","request":' + request + b"}}"
    assert stdio.answer(line) == b'{"id":1,"result":{"request":' + request + b"}}"


def test_brackets_without_end_are_answered() -> None:
    deep = b"[" * 200_000
    assert said(deep)["error"] == "input.not_json"
    line = b'{"id":1,"op":"render","given":{"entries":' + deep + b"]" * 200_000 + b"}}"
    assert said(line)["error"] == "input.shape"


def test_lines_are_answered_one_by_one_as_they_come() -> None:
    out = BytesIO()
    seen: list[int] = []

    def lines() -> Iterator[bytes]:
        for number in range(3):
            yield json.dumps({"id": number, "op": "count", "given": COUNT}).encode() + b"\n"
            seen.append(out.getvalue().count(b"\n"))

    stdio.serve(lines(), out)
    assert seen == [1, 2, 3]


def test_a_program_gets_each_answer_before_it_asks_again() -> None:
    argv = [sys.executable, "-m", "compactor.stdio"]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for line in (b"{\n", json.dumps({"id": 1, "op": "count", "given": COUNT}).encode() + b"\n"):
            child.stdin.write(line)
            child.stdin.flush()
            answer = json.loads(child.stdout.readline())
        child.stdin.close()
        assert answer == {"id": 1, "result": {"tokens": 2}}
        assert child.stdout.read() == b""
        assert child.wait() == 0


def test_a_reader_that_goes_away_ends_the_service_quietly() -> None:
    argv = [sys.executable, "-m", "compactor.stdio"]
    lines = json.dumps({"id": 1, "op": "count", "given": COUNT}).encode() + b"\n"
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        child.stdin.write(lines)
        child.stdin.close()
        assert child.stderr.read() == b""
        assert child.wait() == 0


def test_the_command_serves_standard_input() -> None:
    line = json.dumps({"id": 1, "op": "count", "given": COUNT})
    result = CliRunner().invoke(stdio.command, ["--stdio"], input=line + "\n")
    assert (result.exit_code, json.loads(result.output)) == (0, {"id": 1, "result": {"tokens": 2}})


def test_the_command_asks_how_to_speak() -> None:
    result = CliRunner().invoke(stdio.command, [])
    assert result.exit_code == 2
    assert "--stdio" in result.output


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ({"chars": "ab", "times": 3}, "ababab"),
        ({"chars": "ab", "times": 0}, ""),
        ({"repeat": "line %d\n", "from": 9, "to": 11}, "line 9\nline 10\nline 11\n"),
        ({"repeat": "%d%d ", "from": -1, "to": 0}, "-1-1 00 "),
        ({"repeat": "50% ", "from": 1, "to": 2}, "50% 50% "),
        ({"repeat": "x", "from": 2, "to": 1}, ""),
        ({"cat": ["a", {"chars": "b", "times": 2}, {"cat": ["c"]}]}, "abbc"),
        ({"cat": []}, ""),
    ],
    ids=str,
)
def test_a_text_value_is_its_text(value: Any, text: str) -> None:
    given = {"entries": [{"text": value}]}
    expand(given, ("given",))
    assert given == {"entries": [{"text": text}]}


@pytest.mark.parametrize(
    "value",
    [
        {"chars": "x"},
        {"chars": "x", "times": "3"},
        {"chars": "x", "times": -1},
        {"chars": "x", "times": 1, "more": 1},
        {"repeat": "x", "from": 1},
        {"cat": "x"},
        {"cat": [5]},
        {"text": "x"},
    ],
    ids=str,
)
def test_what_is_no_text_value_stays(value: Any) -> None:
    given = {"text": value}
    expand(given, ())
    assert given == {"text": value}


@pytest.mark.parametrize("key", ["input", "args", "arguments", "parameters", "input_schema"])
def test_the_objects_of_tools_stay(key: str) -> None:
    own = {"cat": ["a"], "x": {"chars": "x", "times": 2}}
    given: Any = {"content": [{key: own, "text": {"cat": ["a"]}}]}
    expand(given, ())
    assert given == {"content": [{key: own, "text": "a"}]}


def test_the_input_of_a_request_is_a_list_and_is_looked_into() -> None:
    given: Any = {"input": [{"output": {"chars": "x", "times": 2}}]}
    expand(given, ())
    assert given == {"input": [{"output": "xx"}]}


@pytest.mark.parametrize(
    "value",
    [
        {"chars": "x", "times": CHARS_MAX + 1},
        {"chars": "x" * 1000, "times": 10**30},
        {"repeat": "x", "from": 0, "to": 10**15},
        {"cat": [{"chars": "x", "times": CHARS_MAX}, "x"]},
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_text_value_that_asks_for_too_much_is_refused(value: Any) -> None:
    with pytest.raises(CompactorError) as caught:
        expand({"text": value}, ("given",))
    assert (caught.value.code, caught.value.path) == ("input.shape", "$.given.text")


def test_text_values_are_bounded_together() -> None:
    half = {"chars": "x", "times": CHARS_MAX // 2 + 1}
    with pytest.raises(CompactorError, match="together"):
        expand({"text": half, "entries": [{"text": dict(half)}]}, ())
