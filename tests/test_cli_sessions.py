"""The commands over a store, as somebody uses them who has never seen one; and what they refuse."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compactor import Session
from compactor.cli.app import cli
from compactor.session import context_file
from compactor.store import SqliteStore, StoredEntry, StoredResult
from tests.cli_kit import as_bytes, compactor, request, result
from tests.store_kit import files, run

AT = ("--store", "s.db", "--session", "a")
COMMANDS: dict[str, tuple[str, ...]] = {
    "recall by seq": ("recall", *AT, "--seq", "2"),
    "recall by id": ("recall", *AT, "--id", "1"),
    "recall by words": ("recall", *AT, "--query", "characters long"),
    "sessions": ("sessions", "--store", "s.db"),
    "import": ("import", "in.json", *AT),
    "export": ("export", *AT),
    "verify": ("verify", "--store", "s.db"),
    "prune": ("prune", "--store", "s.db", "--older-than", "0m", "--yes"),
    "insert": ("insert", "in.json", *AT, "--tool", "bash"),
    "prepare": ("prepare", "in.json", *AT, "--window", "2000", "-q"),
    "edit": ("edit", "sections", *AT),
}
"""One call of each."""
MAKING = ("import", "insert", "prepare")
"""Those that make a store where there is none."""


def call(*args: str, stdin: str | bytes = b"") -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


def refusal(done: Result) -> str:
    """The code of the one line that a refusal is; it names a place, a problem and a next step."""
    assert done.exit_code == 1, done.output
    line = re.fullmatch(r"(?:.*\n)*error: \S+: .+ \(.+\) \[([a-z_.]+)\]\n", done.stderr)
    assert line is not None, done.stderr
    return line.group(1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a request and nothing else, which the commands are called in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.json").write_bytes(as_bytes(request(12)))
    return tmp_path


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one session, which has been inserted to and prepared."""
    path = tmp_path_factory.mktemp("prepared") / "s.db"
    (path.parent / "in.json").write_bytes(as_bytes(request(12)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)
        assert call(*COMMANDS["insert"]).exit_code == 0
        assert call(*COMMANDS["prepare"]).exit_code == 0
    return path


@pytest.fixture
def store(folder: Path, prepared: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(prepared, folder))


def test_a_request_goes_in_and_every_marker_leads_to_what_it_stands_for(folder: Path) -> None:
    done = call("prepare", "in.json", *AT, "--window", "2000", "--counter", "chars4")
    markers = re.findall(r"elided (\d+) chars of bash output — recall seq=(\d+)", done.stdout)
    assert len(markers) > 3
    for chars, seq in markers:
        shown = call("recall", *AT, "--seq", seq)
        assert shown.stdout.rstrip("\n") == result(int(seq) // 2 - 1, int(chars)).rstrip("\n")
    assert sorted(path.name for path in folder.iterdir() if path.name[:4] != "s.db") == ["in.json"]


def test_a_transcript_comes_from_a_file_or_from_a_pipe(folder: Path) -> None:
    piped = call("import", "-", *AT, stdin=(folder / "in.json").read_bytes())
    assert piped.stderr == "25 entries added, 25 in the session's conversation\n"
    again = call("import", "in.json", *AT)
    assert again.stderr == "0 entries added, 25 in the session's conversation\n"


def test_an_exported_session_is_a_transcript_again(store: Path) -> None:
    (store.parent / "out.jsonl").write_text(call("export", *AT).stdout)
    done = call("import", "out.jsonl", "--store", "s.db", "--session", "b")
    assert done.stderr == "25 entries added, 25 in the session's conversation\n"
    assert call("export", "--store", "s.db", "--session", "b").stdout == (
        store.parent / "out.jsonl"
    ).read_text().replace('"error": null', '"error": false')


def test_bytes_that_are_no_text_come_back_as_they_were(folder: Path) -> None:
    output = b"a\xff\x80b\nc\r\n"
    shown = compactor("insert", *AT, "--tool", "bash", stdin=output, cwd=folder)
    assert shown.stdout == b"[#0001]\n" + output
    again = compactor("recall", *AT, "--id", "1", cwd=folder)
    assert again.stdout == b"[#0002 recall #0001 lines 1-2 of 2]\n" + output


@pytest.mark.usefixtures("folder")
def test_half_a_character_comes_back_too() -> None:
    with Session.open("s.db", "a", format="entries") as session:
        session.observe([{"kind": "user", "text": "a\ud83db"}])
    assert call("recall", *AT, "--seq", "0").stdout_bytes == b"a\xed\xa0\xbdb\n"


@pytest.mark.usefixtures("store")
def test_a_list_of_sessions_says_what_they_hold() -> None:
    head, line = call("sessions", "--store", "s.db").stdout.splitlines()
    assert head.split() == [
        *("session", "entries", "results", "records"),
        *("size", "updated", "format", "model"),
    ]
    assert line.split()[:4] == ["a", "25", "1", "4"]
    assert line.split()[-2:] == ["anthropic", "claude-sonnet-4-5"]
    [as_json] = json.loads(call("sessions", "--store", "s.db", "--json").stdout)["sessions"]
    assert (as_json["id"], as_json["entries"]) == ("a", 25)


@pytest.mark.usefixtures("folder")
def test_what_strangers_named_reaches_no_terminal_as_it_is() -> None:
    with SqliteStore.open("s.db") as made, made.session("a\u202e", create=True).write(0) as write:
        write.put_about(model="m\x1b[2J\n")
    shown = [
        call("sessions", "--store", "s.db").stdout,
        call("prune", "--store", "s.db", "--older-than", "0m", "--yes").stderr,
    ]
    assert all("\u202e" not in text and "\x1b" not in text for text in shown)
    assert r"a\u202e" in shown[0]
    assert r"m\x1b[2J\n" in shown[0]
    assert r"a\u202e" in shown[1]


@pytest.mark.usefixtures("store")
def test_pruning_asks_first_and_removes_what_is_old_with_its_folder(tmp_path: Path) -> None:
    with Session.open("s.db", "a", context_dir=str(tmp_path)) as session:
        folder = Path(session.before_request()).parent
    prune = ("prune", "--store", "s.db", "--older-than")
    assert call(*prune, "90d").stderr == "no session is that old\n"
    no = call(*prune, "0m", stdin="n\n")
    assert (no.exit_code, folder.exists()) == (1, True)
    assert re.match(r"a \(last written to [-0-9: ]+\)\nRemove these 1 sessions", no.stderr)
    yes = call(*prune, "0m", stdin="y\n")
    assert (yes.exit_code, folder.exists()) == (0, False)
    assert yes.stderr.endswith("1 sessions removed\n")
    assert json.loads(call("sessions", "--store", "s.db", "--json").stdout) == {"sessions": []}


def test_pruning_leaves_no_trace_where_that_is_wanted(store: Path) -> None:
    prune = ("prune", "--store", "s.db", "--older-than", "0m", "--yes")
    size = store.stat().st_size
    assert call(*prune).exit_code == 0
    assert store.stat().st_size == size
    done = call(*prune, "--shrink")
    assert (done.exit_code, done.stderr) == (0, "no session is that old\n")
    assert b"characters" not in store.read_bytes()
    assert store.stat().st_size < size


@pytest.mark.usefixtures("store")
def test_what_was_written_to_while_we_asked_is_not_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session.open("s.db", "a", context_dir=str(tmp_path)) as session:
        folder = Path(session.before_request()).parent
    monkeypatch.setattr(SqliteStore, "prune", lambda _store, _before: [])
    done = call("prune", "--store", "s.db", "--older-than", "0m", "--yes")
    assert (done.stderr.splitlines()[-1], folder.exists()) == ("0 sessions removed", True)
    context_file.remove(str(folder))


USAGE = {
    "nothing to recall": ("recall", *AT),
    "two things to recall": ("recall", *AT, "--seq", "1", "--query", "x"),
    "no number": ("recall", *AT, "--seq", "one"),
    "lines from 0": ("recall", *AT, "--seq", "1", "--offset", "0"),
    "no lines": ("recall", *AT, "--seq", "1", "--limit", "0"),
    "lines of a search": ("recall", *AT, "--query", "x", "--offset", "3"),
    "no session": ("recall", "--store", "s.db", "--seq", "1"),
    "no store": ("sessions",),
    "nothing to verify": ("verify",),
    "two things to verify": ("verify", "--store", "s.db", "--journal", "j"),
    "no age": ("prune", "--store", "s.db"),
    "an age without a unit": ("prune", "--store", "s.db", "--older-than", "9"),
    "a journal beside the session's": ("prepare", "in.json", *AT, "--journal", "j"),
    "a service without a way to speak": ("serve",),
}


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage_says_so_and_makes_nothing(folder: Path, case: str) -> None:
    done = call(*USAGE[case])
    assert done.exit_code == 2
    assert "Error: " in done.stderr
    assert [name for name, _ in files(folder)] == ["in.json"]


REFUSED = {
    "a file that is not there": ("import", "none.json", *AT),
    "a request that is not there": ("prepare", "none.json", *AT, "--window", "2000"),
    "an output that is not there": ("insert", "none", *AT, "--tool", "b"),
    "an output that is a folder": ("insert", ".", *AT, "--tool", "b"),
    "a read that is no JSON": ("insert", *AT, "--tool", "b", "--read", "{"),
    "a read of nothing": ("insert", *AT, "--tool", "b", "--read", '{"path": 1}'),
    "edits that are no list": ("insert", *AT, "--tool", "b", "--edits", "{}"),
    "edits of nothing": ("insert", *AT, "--tool", "b", "--edits", "[1]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_input_makes_no_store(folder: Path, case: str) -> None:
    done = call(*REFUSED[case], stdin=b"x")
    assert (done.exit_code, done.stderr[:7]) == (1, "error: ")
    assert [name for name, _ in files(folder)] == ["in.json"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_store_that_is_not_there_is_made_by_what_writes_and_else_refused(
    folder: Path, name: str
) -> None:
    done = call(*COMMANDS[name])
    if name in MAKING:
        assert done.exit_code == 0
    else:
        assert refusal(done) == "store.missing"
    assert (folder / "s.db").exists() == (name in MAKING)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("recall", "--store", "s.db", "--session", "b", "--seq", "0"), "store.unknown_session"),
        (("export", "--store", "s.db", "--session", "b"), "store.unknown_session"),
        (("verify", "--store", "s.db", "--session", "b"), "store.unknown_session"),
        (("recall", *AT, "--seq", "99"), "recall.unknown"),
        (("recall", *AT, "--seq", "-1"), "recall.unknown"),
        (("insert", "in.json", "--store", "s.db", "--session", "a\nb", "--tool", "b"),
         "store.session_id"),
        (("insert", "in.json", "--store", "none/s.db", "--session", "a", "--tool", "b"),
         "store.unwritable"),
        (("serve", "--stdio", "--store", "none/s.db"), "store.unwritable"),
        (("serve", "--stdio", "--store", "in.json"), "store.foreign_file"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("store")
def test_what_there_is_not_is_named_with_the_next_step(args: tuple[str, ...], code: str) -> None:
    assert refusal(call(*args)) == code


def of(version: int) -> Callable[[Path], None]:
    """Give a store another schema version."""

    def make(path: Path) -> None:
        db = sqlite3.connect(path)
        db.execute(f"PRAGMA user_version = {version}")
        db.close()

    return make


def foreign(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE session (id)")
    db.commit()
    db.close()


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "random bytes": (
        lambda path: path.write_bytes(random.Random(1).randbytes(9_000)),
        "store.foreign_file",
    ),
    "a text": (lambda path: path.write_text("hello\n" * 999), "store.foreign_file"),
    "other SQLite file": (foreign, "store.foreign_file"),
    "header alone": (
        lambda path: path.write_bytes(path.read_bytes()[:100]), "store.foreign_file",
    ),
    "half": (
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        "store.damaged",
    ),
    "first page": (lambda path: path.write_bytes(path.read_bytes()[:4096]), "store.damaged"),
    "zeros": (
        lambda path: path.write_bytes(path.read_bytes()[:4096] + bytes(90_000)), "store.damaged",
    ),
    "newer version": (of(99), "store.unsupported"),
    "no version": (of(0), "store.damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_file_that_is_no_whole_store_is_refused_by_every_command(
    store: Path, kind: str, name: str
) -> None:
    damage, code = DAMAGE[kind]
    damage(store)
    before = store.read_bytes()
    done = call(*COMMANDS[name])
    if name == "verify" and done.stdout:
        assert done.exit_code == 1
    else:
        assert refusal(done) == code
    assert store.read_bytes() == before


def test_damage_anywhere_gives_what_was_written_or_a_refusal(store: Path) -> None:
    """Whatever bytes are not what they were, no command fails otherwise, and none says too much."""
    whole, rng, refused = store.read_bytes(), random.Random(6), 0
    right = {name: call(*COMMANDS[name]).stdout for name in ("recall by seq", "export")}
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 3, 20])):
            at, size = rng.randrange(100, len(data) - 200), rng.choice([1, 9, 200])
            data[at : at + size] = rng.randbytes(size)
        for name in rng.sample(sorted(COMMANDS), 3):
            for path in store.parent.glob("s.db*"):
                path.unlink()
            store.write_bytes(data)
            done = call(*COMMANDS[name])
            if done.exit_code == 0:
                assert done.stdout == right.get(name, done.stdout)
            elif name != "verify" or not done.stdout:
                assert refusal(done) == "store.damaged", done.stderr
            refused += done.exit_code
    assert refused > 20


@pytest.mark.parametrize("name", ["recall by id", "import", "insert", "prepare", "prune"])
def test_a_store_that_another_process_writes_to_is_waited_for_and_then_said_to_be(
    store: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SqliteStore.open.__func__.__kwdefaults__, "wait_ms", 30)  # type: ignore[attr-defined]
    (store.parent / "in.json").write_bytes(as_bytes(request(13)))
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = call(*COMMANDS[name])
    assert refusal(done) == "store.locked"
    assert "(0.03 s)" in done.stderr
    other.execute("ROLLBACK")
    other.close()
    assert call(*COMMANDS[name]).exit_code == 0


@pytest.mark.parametrize("name", ["recall by seq", "export", "sessions", "verify"])
def test_what_only_reads_waits_for_nobody(store: Path, name: str) -> None:
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert call(*COMMANDS[name]).exit_code == 0
    other.close()


READ_ONLY = """
    import json, os, sys
    from click.testing import CliRunner
    from compactor.cli.app import COMMANDS, cli
    for name in COMMANDS:
        cli.get_command(None, name)  # who may write nothing may not be able to import it either
    if os.geteuid() == 0:
        os.setresuid(65534, 65534, 65534)  # root may write anywhere
    said = {}
    for name, args in json.loads(sys.argv[1]).items():
        done = CliRunner().invoke(cli, args)
        said[name] = [done.exit_code, done.stderr, done.stdout]
    print(json.dumps(said))
"""

if os.name == "posix":

    @pytest.fixture
    def readonly(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        """A copy of the store that no other user may change, nor its folder."""
        with tempfile.TemporaryDirectory() as name:
            place = Path(name) / "folder"
            place.mkdir()
            Path(name).chmod(0o755)
            shutil.copy(store, place)
            shutil.copy("in.json", place)
            (place / "s.db").chmod(0o444)
            place.chmod(0o555)
            monkeypatch.chdir(place)
            yield place
            place.chmod(0o755)

    def test_a_store_that_may_not_be_written_can_be_read_and_nothing_else(readonly: Path) -> None:
        said = run(READ_ONLY, json.dumps(COMMANDS))
        reads = ("recall by seq", "sessions", "export", "verify")
        assert {name for name, (code, _, _) in said.items() if code == 0} == set(reads)
        for name in said.keys() - set(reads):
            code, err, _ = said[name]
            assert code == 1
            assert re.search(r"s\.db: .* \[store\.(readonly|unreadable)\]\n$", err), err
        assert said["verify"][2] == "nothing is wrong\n"
        assert sorted(os.listdir(readonly)) == ["in.json", "s.db"]


@pytest.mark.usefixtures("folder")
def test_an_older_store_is_brought_up_to_date_by_what_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from compactor.store import schema

    with SqliteStore.open("s.db") as made, made.session("a", create=True).write(0) as write:
        write.add_entries([StoredEntry(0, "user", "0", "hello")])
        write.add_result(StoredResult(1, text="out"))
    step = "ALTER TABLE session ADD COLUMN title TEXT;\n"
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, step))
    assert call("recall", *AT, "--seq", "0").stdout == "hello\n"
    db = sqlite3.connect("s.db")
    assert db.execute("PRAGMA user_version").fetchone() == (len(schema.STEPS),)
    db.close()
