"""`serve --stdio --store`: sessions that stay, killed services, several at once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from compactor.conformance.ops import perform
from compactor.conformance.sessions import FIELDS, REQUIRED, Sessions
from compactor.core.errors import CompactorError
from compactor.store import SqliteStore
from tests.cli_kit import ROOT, environment

OPEN = {"policy": {"window": 1500, "counter": "chars4"}}


class Service:
    """A process that serves a store."""

    def __init__(self, store: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "compactor", "serve", "--stdio", "--store", str(store)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )

    def ask(self, op: str, session: str = "s", **given: Any) -> Any:
        return self.asked([(op, session, given)])[0]

    def asked(self, steps: list[tuple[str, str, dict[str, Any]]]) -> list[Any]:
        """Several steps at once, and their answers."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        lines = [
            {"id": number, "op": op, "given": {"session": session, **given}}
            for number, (op, session, given) in enumerate(steps)
        ]
        self.process.stdin.writelines(json.dumps(line).encode() + b"\n" for line in lines)
        self.process.stdin.flush()
        answers = [json.loads(self.process.stdout.readline()) for _ in lines]
        assert [answer.pop("id") for answer in answers] == list(range(len(lines)))
        return [answer.get("result", answer) for answer in answers]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def serving(store: Path) -> Iterator[Service]:
    service = Service(store)
    try:
        yield service
    finally:
        service.process.communicate(timeout=60)
    assert service.process.returncode == 0


def inserted(number: int, **more: Any) -> dict[str, Any]:
    output = f"row {number} of what a tool said\n" * 40
    return {"tool": "bash", "arguments": {"n": number}, "output": output, **more}


def talk(first: int, count: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Turns of an agent."""
    steps: list[tuple[str, str, dict[str, Any]]] = []
    for number in range(first, first + count):
        steps.append(("insert", "s", inserted(number, error=number % 4 == 0)))
        steps.append(("append", "s", {"entry": {"kind": "user", "text": f"go on {number}"}}))
    return steps


def test_a_session_goes_on_in_another_service_as_if_there_had_been_one(tmp_path: Path) -> None:
    with serving(tmp_path / "one") as service:
        service.ask("open", **OPEN)
        answers = service.asked([*talk(1, 6), ("prepare", "s", {}), *talk(7, 2)])
        alone = [*answers, service.ask("prepare"), service.ask("recall", seq=1)]
    again = []
    for part in ([*talk(1, 6), ("prepare", "s", {})], talk(7, 2), [("prepare", "s", {})]):
        with serving(tmp_path / "other") as service:
            service.ask("open", **OPEN)
            again += service.asked(part)
            again += [service.ask("recall", seq=1)] if len(part) == 1 else []
            assert service.ask("verify") == {"findings": []}
    for answer in (alone[12], again[12], alone[-2], again[-2]):
        for entry in answer["view"]:  # calls that a step brings itself are named by the service
            entry.pop("call", None)
            for call in entry.get("calls", ()):
                del call["id"]
    assert again == alone
    assert any("[elided " in entry["text"] for entry in alone[-2]["view"])


def test_calls_that_a_service_names_have_names_of_their_own(tmp_path: Path) -> None:
    for _ in range(2):
        with serving(tmp_path / "s") as service:
            service.asked(talk(1, 3))
            service.ask("rewind", seq=2)
            service.asked(talk(4, 2))
            log = service.ask("log")["entries"]
    names = [call["id"] for entry in log for call in entry.get("calls", ())]
    assert len(names) == len(set(names))
    assert [entry["call"] for entry in log if entry["kind"] == "tool"] == names


def test_what_was_answered_is_there_when_the_service_is_killed(tmp_path: Path) -> None:
    seen = []
    for number in range(4):
        service = Service(tmp_path / "s")
        seen += service.asked(talk(number, 1))[:1]
        service.kill()
    with serving(tmp_path / "s") as service:
        log = service.ask("log")["entries"]
        assert service.ask("verify") == {"findings": []}
    assert [entry["text"] for entry in log if entry["kind"] == "tool"] == [
        answer["text"] for answer in seen
    ]
    assert [answer["hygiene_id"] for answer in seen] == [f"#{n:04x}" for n in range(1, 5)]
    assert [entry["text"] for entry in log if entry["kind"] == "user"] == [
        f"go on {number}" for number in range(4)
    ]


def test_several_services_serve_one_file(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as one, serving(tmp_path / "s") as other:
        for number in range(5):
            for service, name in ((one, "a"), (other, "b")):
                answer = service.ask("insert", name, **inserted(number))
                assert answer["hygiene_id"] == f"#{number + 1:04x}"
        assert one.ask("verify", "b") == {"findings": []}
    with SqliteStore.open(tmp_path / "s") as store:
        assert {info.id: info.entries for info in store.sessions()} == {"a": 10, "b": 10}


def test_a_session_that_is_a_case_is_none_of_those_that_stay(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path / "s"))
    sessions.step("case-0", "insert", inserted(1))
    steps = [{"op": "insert", **inserted(2)}, {"op": "log"}]
    first, second = perform("session", {"steps": steps}, sessions)["answers"]
    assert (first["hygiene_id"], len(second["entries"])) == ("#0001", 2)
    sessions.close()
    with SqliteStore.open(tmp_path / "s") as store:
        assert [(info.id, info.entries) for info in store.sessions()] == [("case-0", 2)]


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("parallel", [False, True])
def test_an_insert_that_is_refused_leaves_no_call_without_a_result(
    tmp_path: Path, stays: bool, parallel: bool
) -> None:
    sessions = Sessions(str(tmp_path / "s") if stays else None)
    sessions.step("s", "append", {"entry": {"kind": "user", "text": "go"}})
    sessions.step("s", "insert", inserted(1))
    before = sessions.step("s", "log", {})
    with pytest.raises(CompactorError):
        sessions.step("s", "insert", inserted(2, parallel=parallel, read={"path": 1}))
    assert sessions.step("s", "log", {}) == before
    assert sessions.step("s", "insert", inserted(2))["hygiene_id"] == "#0002"
    sessions.close()


def test_the_page_names_every_step_and_its_fields() -> None:
    text = (ROOT / "docs" / "conformance.md").read_text("utf-8")
    section = text.partition("\n## Sessions\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    told = {}
    for names, fields, _ in rows:
        for name in names.strip("| ").split(", "):
            told[name.strip("`")] = set(re.split(", | or ", fields)) - {""}
    wanted = {}
    for step, fields in FIELDS.items():
        required = REQUIRED.get(step, ())
        known = fields or ("carries", "overflowed", "cold") if fields != () else ()
        wanted[step] = {f"**`{f}`**" if f in required else f"`{f}`" for f in known}
    assert told == wanted
