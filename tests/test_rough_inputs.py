"""Rough input from end to end: read, compacted and written with every odd byte where it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import compactor
from compactor import Policy
from compactor.cli import cli
from compactor.core.errors import InputError

DEEP = 3_000
ROUGH: dict[str, bytes] = {
    "not a number": b"NaN",
    "infinite": b"-Infinity",
    "larger than any float": b"1e400",
    "5000 digits": b"9" * 5001,
    "odd spelling": b"[-0, 1E2, 4.10]",
    "equal keys": b'{"k":1,"k":{"k":2,"k":"3"}}',
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"null" + b"}" * DEEP,
    "half a pair": rb'"\ud83d \udc4d \ud83d\ude00"',
    "a pair of half pairs": rb'{"\ud800":"\udfff"}',
    "NUL": rb'"\u0000"',
    "a control character": b'"\x00\x1f\x7f"',
    "no UTF-8": b'"\xff\xc3\x28\xed\xa0\x80"',
    "escapes": rb'"\/\u00e9\u00E9\t"',
}
each_rough = pytest.mark.parametrize("rough", ROUGH.values(), ids=ROUGH)

BODIES = [f"result {n} " + "word " * 200 for n in range(6)]


def chat(rough: bytes) -> bytes:
    """A request body of OpenAI's with the rough value in every place that may hold one."""
    messages = [b'{"role":"user","content":"go","x":%s}' % rough]
    for n, body in enumerate(BODIES):
        call = b'{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"},"x":%s}'
        messages.append(
            b'{"role":"assistant","x":%s,"tool_calls":[%s]}' % (rough, call % (n, rough))
        )
        result = b'{"x":%s,"role":"tool","tool_call_id":"c%d","content":%s}'
        messages.append(result % (rough, n, json.dumps(body).encode()))
    return b'{"x":%s,"messages":[%s],"y":%s}' % (rough, b",\n".join(messages), rough)


def session(rough: bytes, end: bytes = b"\n") -> bytes:
    """The same as lines of Claude Code."""
    row = b'{"x":%s,"type":"%s","uuid":"u%d","parentUuid":%s,"message":{"role":"%s","content":%s}}'
    contents = [(b"user", b'"go"')]
    for n, body in enumerate(BODIES):
        call = b'[{"type":"tool_use","id":"c%d","name":"f","input":{"x":%s},"y":%s}]'
        contents.append((b"assistant", call % (n, rough, rough)))
        result = b'[{"type":"tool_result","tool_use_id":"c%d","content":%s,"y":%s}]'
        contents.append((b"user", result % (n, json.dumps(body).encode(), rough)))
    lines = []
    for n, (role, content) in enumerate(contents):
        above = b'"u%d"' % (n - 1) if n else b"null"
        lines.append(row % (rough, role, n, above, role, content))
    return end.join(lines)


SMALL = Policy(window=1500, counter="chars4", counter_scale=1000, keep_recent=2, min_freed=0)


def check(data: bytes) -> compactor.Outcome:
    """Compacted, only elided bodies differ, and the result reads the same."""
    transcript = compactor.load(data)
    assert transcript.to_bytes() == data
    out = compactor.compact(transcript, SMALL, explain=True)
    elided = [fate.seq for fate in out.fates if fate.fate == "elided"]
    assert len(elided) >= 3
    written = expected = out.request.to_bytes()
    for seq in elided:
        body, marker = transcript.entries[seq].body, f"[elided {len(transcript.entries[seq].body)}"
        at = written.index(marker.encode())
        new = written[at : written.index(b'"', at)]
        expected = expected.replace(b'"' + new + b'"', json.dumps(body).encode(), 1)
    assert expected == data
    again = compactor.load(written)
    pairs = zip(transcript.entries, again.entries, strict=True)
    assert [seq for seq, (old, new) in enumerate(pairs) if old.body != new.body] == elided
    return out


@each_rough
def test_a_request_with_rough_values_everywhere_is_compacted_around_them(rough: bytes) -> None:
    assert check(chat(rough)).report.findings == check(chat(b"1")).report.findings


@each_rough
def test_a_session_with_rough_values_everywhere_is_compacted_around_them(rough: bytes) -> None:
    assert check(session(rough)).report.findings == check(session(b"1")).report.findings


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n \r\n"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\r\n\r\n"])
def test_line_ends_blank_lines_and_a_byte_order_mark_stay(
    head: bytes, end: bytes, last: bytes
) -> None:
    check(head + session(b"1", end) + last)


def test_a_value_of_a_hundred_thousand_levels_is_compacted_around() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    for data in (chat(b"1"), session(b"1")):
        check(data.replace(b'"x":1', b'"x":%s' % deep, 1))


DAMAGE: dict[str, tuple[bytes, list[str]]] = {
    "torn at its end": (b'\n{"type":"user","message":{"role":"us', ["<bytes>:14"]),
    "garbage": (b"\n\x00\x00\xff not JSON", ["<bytes>:14"]),
    "two on one line": (b'\n{"type":"summary"}{"type":"summary"}', ["<bytes>:14"]),
    "glued to half a record": (
        b'\n{"type":"us{"type":"summary","leafUuid":"u1"}\n',
        ["<bytes>:14"],
    ),
}


@pytest.mark.parametrize(("behind", "places"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_said_with_its_line_kept_and_refused_when_strict(
    behind: bytes, places: list[str]
) -> None:
    data = session(b"1") + behind
    out = check(data)
    damaged = [finding for finding in out.report.findings if finding.code == "damaged_line"]
    assert [finding.path for finding in damaged] == places
    with pytest.raises(InputError) as caught:
        compactor.load(data, strict=True)
    assert (caught.value.code, caught.value.path) == ("input.not_json", places[0])


def test_equal_keys_mean_their_last_value_and_all_stay() -> None:
    data = chat(b"1").replace(b'"content":"go"', b'"content":"first","content":"go"')
    transcript = compactor.load(data)
    assert transcript.entries[0].parts[0].text == "go"
    check(data)


def test_the_command_takes_them_all_at_once() -> None:
    every = b"[%s]" % b",".join(ROUGH.values())
    options = ["--window", "900_000", "--counter", "chars4", "--counter-scale", "1000"]
    for data in (chat(every), session(every)):
        done = CliRunner().invoke(cli, ["compact", *options], input=data)
        assert (done.exit_code, done.stdout_bytes) == (0, data)


@pytest.mark.parametrize("value", [5, True, None, "x", {}, [5], {"a": 1}, 1.5, [[]], [None]])
def test_json_that_is_no_conversation_is_refused_in_words(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        compactor.load(json.dumps(value).encode())
    assert caught.value.code in ("input.format_unknown", "input.shape")
