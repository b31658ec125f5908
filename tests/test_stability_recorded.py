"""`compactor stability`: what breaks the prompt cache in requests that were recorded elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_kit import compactor as process
from click.testing import CliRunner, Result

import compactor
from compactor import Policy
from compactor.cli import cli
from compactor.journal_file import JournalFile
from compactor.testing import Conversation
from tests.stability_kit import bodies

ASKED = [{"role": "user", "content": "Why is the build red?"}]


def run(*args: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["stability", *args], input=given)


def clocked() -> list[Any]:
    """Requests with a clock in their system prompt."""
    made = bodies()
    for k, body in enumerate(made):
        body["system"] = f"It is 10:00:0{k}. {body['system']}"
    return made


def lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def har(made: list[Any]) -> bytes:
    """As a browser or a proxy writes it, with what else went over the wire."""
    exchanges = [
        {
            "request": {
                "method": "POST",
                "url": "https://api.example/v1/messages",
                "headers": [{"name": "x-api-key", "value": "s3cret"}],
                "postData": {"mimeType": "application/json", "text": json.dumps(body)},
            },
            "response": {"status": 200, "content": {"text": "{}"}},
        }
        for body in made
    ]
    page = {
        "request": {"method": "GET", "url": "https://api.example/"},
        "response": {"status": 200},
    }
    counting = json.loads(json.dumps(exchanges[0]))
    counting["request"]["url"] += "/count_tokens"
    return json.dumps({"log": {"entries": [page, counting, *exchanges]}}).encode()


def logged(made: list[Any]) -> bytes:
    """A line an exchange, as a logging client writes it."""
    return lines([{"url": "https://x/v1/messages", "request": one, "response": {}} for one in made])


RECORDERS: dict[str, tuple[Callable[[list[Any]], bytes], str]] = {
    "bodies as lines": (lines, ":2"),
    "a list of bodies": (lambda made: json.dumps(made).encode(), " $[1]"),
    "exchanges as lines": (logged, ":2 $.request"),
    "a HAR file": (har, " $.log.entries[3].request.postData.text"),
}


@pytest.mark.parametrize("name", RECORDERS)
def test_what_recorders_write_is_read_and_a_break_is_told_with_its_place(
    name: str, tmp_path: Path
) -> None:
    write, place = RECORDERS[name]
    path = tmp_path / "requests"
    path.write_bytes(write(bodies()))
    fine = run(str(path))
    assert (
        fine.stdout
        == "0 breaks in 4 requests, 0 tokens read anew; 0 passes told, 0 breaks allowed\n"
    )
    path.write_bytes(write(clocked()))
    found = run(str(path))
    assert found.exit_code == 1
    first, _, _, second, where, *_ = found.stdout.split("\n")
    assert first == "request 2 of 4 breaks the prompt cache in its system prompt: a clock"
    assert second == f"  request 2 is {path}{place}"
    assert where.endswith("of the prefix on, in $.system")
    assert "s3cret" not in found.stdout


def test_breaks_may_be_allowed_and_parts_ignored(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(lines(clocked()))
    codes = [
        run(str(path), *more).exit_code
        for more in ((), ("--breaks", "2"), ("--breaks", "3"), ("--ignore", "system prompt"))
    ]
    assert codes == [1, 1, 0, 0]


def test_passes_of_a_journal_are_expected(tmp_path: Path) -> None:
    talk = Conversation(system="s", model="claude-sonnet-4-5").user("go")
    for k in range(40):
        talk.call("bash", {"command": f"run {k}"}, result=f"line {k} of a log\n" * 20)
    policy = Policy(window=900, counter="chars4", keep_recent=2, min_freed=1)
    sent, where = [], tmp_path / "session.journal"
    with JournalFile.open(where) as file:
        for count in talk.boundaries:
            out = compactor.compact(talk.upto(count).anthropic(), policy, file.journal)
            file.append(out.journal.records[len(file.journal.records) :])
            sent.append(out.request)
    path = tmp_path / "requests.jsonl"
    path.write_bytes(lines(sent))
    alone = run(str(path))
    assert (alone.exit_code, "an elision that nobody told of" in alone.stdout) == (1, True)
    told = json.loads(run(str(path), "--journal", str(where), "--json").stdout)
    assert (told["requests"], told["passes"]) == (41, len(told["breaks"]))
    assert all(one["expected"] for one in told["breaks"])


def test_the_files_of_a_folder_are_one_stream_by_name(tmp_path: Path) -> None:
    for k, body in enumerate(bodies()):
        (tmp_path / f"request-{k}.json").write_text(json.dumps(body), "utf-8")
    (tmp_path / "notes.json").write_text('{"a": 1}', "utf-8")
    (tmp_path / "notes.txt").write_text("nothing", "utf-8")
    done = run(str(tmp_path))
    assert (done.exit_code, done.stdout[:23]) == (0, "0 breaks in 4 requests,")


def test_standard_input_is_read() -> None:
    done = process("stability", "-", stdin=lines(clocked()))
    assert (done.returncode, b"request 2 is -:2\n" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1}', "no request body is in it"),
        (b'[{"role": "user", "content": "a"}]', "no request body is in it"),
        (b'{"messages": [', "no JSON"),
        (b"", "the input is empty"),
    ],
)
def test_a_file_without_requests_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    done = run(str(path))
    assert (done.exit_code, said in done.stderr, done.stdout) == (1, True, "")
    folder = run(str(tmp_path))
    assert (folder.exit_code, "no request body is there" in folder.stderr) == (1, True)


def test_hostile_texts_and_names_stay_in_their_lines(tmp_path: Path) -> None:
    bad = "\x1b[2J\n\u202erequest 9 of 9\r"
    made = [
        {"model": "m", "system": f"{bad}{k}", "messages": ASKED, "tools": [{"name": f"{bad}{k}"}]}
        for k in range(2)
    ]
    path = tmp_path / "requests.jsonl"
    path.write_bytes(lines(made))
    done = run(str(path))
    assert not {"\x1b", "\u202e", "\r"} & set(done.stdout)
    assert [line for line in done.stdout.split("\n") if line.startswith("request")] == [
        "request 2 of 2 breaks the prompt cache in its tools: another set of tools"
    ]
