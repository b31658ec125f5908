"""Calls that fail, processes that are killed, and several at work in one store."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from benchmarks import soak
from compactor import AsyncSession, Session
from compactor.core.errors import StoreError
from compactor.session import requests
from compactor.store import SqliteStore
from tests.session_kit import KINDS, Pair
from tests.session_workers import POLICY, Failing, Filling, Patient, Stubborn
from tests.store_kit import finished, run, start


def call(number: int) -> dict[str, Any]:
    return {"id": f"c{number}", "name": "bash", "arguments": "{}"}


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    made = Failing()
    monkeypatch.setattr(sqlite3, "connect", made.connect)
    return made


@pytest.mark.parametrize("name", ["entries", "anthropic"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_failed_at_any_step_is_made_again_as_if_it_had_not_been(
    kind: str, name: str, tmp_path: Path, failing: Failing
) -> None:
    rng = random.Random(kind)
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        Pair(folder, name, KINDS[kind], seed, lambda s: Stubborn(s, failing, rng)).run()
    assert failing.stopped > 3


@pytest.mark.parametrize("kind", ["plain", "told, edits"])
def test_a_call_that_found_the_disk_full_is_made_again_as_if_it_had_not_been(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, rng = Filling(), random.Random(kind)
    monkeypatch.setattr(sqlite3, "connect", disk.connect)
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        Pair(folder, "entries", KINDS[kind], seed, lambda s: Patient(s, disk, rng)).run()
    assert disk.filled > 3


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_a_request_that_others_outrun_is_decided_on_what_they_left(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once too often they have to wait; else it is decided anew."""
    entries = [{"kind": "user", "text": "go"}]
    with (
        Session.open(tmp_path / "s", "s", POLICY, format="entries") as session,
        SqliteStore.open(tmp_path / "s", wait_ms=0) as hasty,
    ):
        other = Session(hasty, "s", POLICY, format="entries", create=False)
        decide, left, texts = requests.decide_over, [times], list[str]()

        def outrun(*args: Any) -> Any:
            if left[0]:
                left[0] -= 1
                try:
                    texts.append(other.insert(call(left[0]), f"out {left[0]}"))
                except StoreError as error:
                    texts.append(error.code)
            return decide(*args)

        monkeypatch.setattr(requests, "decide_over", outrun)
        assert session.prepare(entries).request == entries
        waits = times > 3
        assert [text[:7] for text in texts] == ["[#0001]", "[#0002]", "[#0003]"][:times] + (
            ["store.l"] * waits
        )
        assert session.kept.state.prepared == min(times, 3) + 1
        assert session.insert(call(9), "mine")[:7] == f"[#{min(times, 3) + 1:04x}]"
        assert other.insert(call(10), "last")[:7] == f"[#{min(times, 3) + 2:04x}]"
        assert session._store.verify() == []  # type: ignore[attr-defined]


def test_a_failed_insert_and_a_failed_request_change_nothing(
    tmp_path: Path, failing: Failing
) -> None:
    entries = [{"kind": "user", "text": "go"}]
    with Session.open(tmp_path / "s", "s", POLICY, format="entries") as session:
        session.prepare(entries)
        before = session._store.session("s").load()
        steps = 0
        for work in (
            lambda: session.insert(call(1), "x"),
            lambda: session.prepare([*entries, {"kind": "user", "text": "more"}]),
            lambda: session.summarised("done"),
            lambda: session.rewind(0),
            lambda: session.pin(0),
            lambda: session.record_usage({"input_tokens": 1}),
        ):
            for step in range(1, 40):
                failing.left = step
                try:
                    work()
                    break
                except StoreError:
                    steps += 1
                finally:
                    failing.left = None
                assert session._store.session("s").load() == before
            before = session._store.session("s").load()
        assert steps > 30


KILLED = """
    import json, sys
    from pathlib import Path
    from tests import session_workers as workers
    print(json.dumps(workers.killed_again_and_again(Path(sys.argv[1]))))
"""

if hasattr(os, "fork"):

    def test_a_conversation_that_is_killed_again_and_again_comes_to_its_end(
        tmp_path: Path,
    ) -> None:
        told = run(KILLED, tmp_path)
        assert told.pop("kills") > 12
        assert told.pop("markers") > 5
        assert told == {"findings": [], "numbers": True, "lost": 0, "seqs": True, "wrong": []}


if hasattr(signal, "SIGKILL"):

    def test_processes_that_are_killed_at_any_step_leave_what_they_were_answered() -> None:
        done = soak.run(soak.Size(processes=2, inserts=30, looks=900, seconds=0))
        assert (done.answered, done.wrong) == (60, [])
        assert done.kills > 1


INSERTS = """
    import json, sys
    from compactor import Session
    from tests.session_workers import POLICY
    path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    texts, entries = [], [{"kind": "user", "text": name}]
    with Session.open(path, "shared", POLICY) as shared:
        with Session.open(path, name, POLICY, format="entries") as own:
            for number in range(count):
                call = {"id": f"{name}{number}", "name": "bash", "arguments": "{}"}
                texts.append(shared.insert(call, "out of " + name))
                text = own.insert(call, "a row\\n" * 90)
                entries += [{"kind": "assistant", "text": "", "calls": [call]},
                            {"kind": "tool", "call": call["id"], "text": text}]
                sent = own.prepare(entries).request
    print(json.dumps([texts, sent]))
"""


def test_processes_share_a_session_and_have_others_of_their_own(tmp_path: Path) -> None:
    path, names = tmp_path / "store", ["a", "b", "c"]
    children = [start(INSERTS, path, name, "15") for name in names]
    told = [finished(child) for child in children]
    ids = sorted(text.split("]")[0] for texts, _ in told for text in texts)
    assert ids == [f"[#{number:04x}" for number in range(1, 46)]
    alone = [finished(start(INSERTS, tmp_path / "alone", name, "15"))[1] for name in names]
    assert [sent for _, sent in told] == alone
    with SqliteStore.open(path) as store:
        assert store.verify() == []


def test_threads_share_a_session(tmp_path: Path) -> None:
    texts: list[str] = []
    entries = [{"kind": "user", "text": "go"}]
    with Session.open(tmp_path / "s", "s", POLICY, format="entries") as session:

        def work(first: int) -> None:
            for number in range(first, first + 10):
                text = session.insert(call(number), f"out {number}")
                texts.append(text)
                session.prepare(entries)
                assert f"out {number}" in session.recall(id=text[2:6])

        threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        numbers = list(session.kept.book.facts)
        assert numbers == list(range(1, 81))
        assert len({text.split("\n")[0] for text in texts}) == 40
        assert session._store.verify() == []


def test_calls_that_are_awaited_together_are_made_in_their_order(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with await AsyncSession.open(tmp_path / "s", "s", POLICY) as session:
            made = (session.insert(call(number), f"out {number}") for number in range(1, 41))
            return await asyncio.gather(*made)

    assert asyncio.run(work()) == [f"[#{number:04x}]\nout {number}" for number in range(1, 41)]


def test_a_call_that_asyncio_cancels_is_finished_all_the_same(tmp_path: Path) -> None:
    async def work() -> str:
        async with await AsyncSession.open(tmp_path / "s", "s", POLICY) as session:
            first = asyncio.ensure_future(session.insert(call(1), "x"))
            await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            return str(await session.insert(call(2), "y"))

    assert asyncio.run(work()) == "[#0002]\ny"


def test_every_call_of_a_session_is_there_for_asyncio() -> None:
    own = {name for name in dir(Session) if not name.startswith("_")}
    there = {name for name in dir(AsyncSession) if not name.startswith("_")}
    assert own - there == {"journal", "kept", "editor", "index_of", "policy"}
    assert there - own == set()
