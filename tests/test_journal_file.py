"""The journal on disk: what is appended comes back, damage is noticed, nothing is lost."""

import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import portalocker
import pytest
from cli_kit import environment, request

from compactor import Journal, Policy, compact
from compactor.core.errors import JournalError
from compactor.core.records import AnyRecord, RewindRecord
from compactor.journal_file import JournalFile, read_lines, write_lines

POLICY = Policy(window=2000, counter="chars4")
REWIND = RewindRecord(3, 0, "a test")


def records(turns: int = 20) -> tuple[AnyRecord, ...]:
    """A header and some passes, as a conversation makes them."""
    return compact(request(turns), POLICY).journal.records


def journal_at(path: Path, made: tuple[AnyRecord, ...]) -> bytes:
    """A journal file of these records, and its bytes."""
    with JournalFile.open(path) as file:
        file.append(made)
    return path.read_bytes()


def refusal(path: Path, **options: bool) -> JournalError:
    with pytest.raises(JournalError) as caught, JournalFile.open(path, wait_s=0, **options):
        pass
    return caught.value


def test_what_is_appended_in_several_calls_is_read_back(tmp_path: Path) -> None:
    made = records()
    path = tmp_path / "journal"
    for record in made:
        with JournalFile.open(path) as file:
            file.append([record])
    with JournalFile.open(path) as file:
        assert (file.journal, file.findings) == (Journal(made), ())
    assert len(made) > 2


def test_one_call_and_many_give_the_same_bytes(tmp_path: Path) -> None:
    made = records()
    whole = journal_at(tmp_path / "whole", made)
    with JournalFile.open(tmp_path / "pieces") as file:
        for record in made:
            file.append([record])
        assert file.journal == Journal(made)
    assert (tmp_path / "pieces").read_bytes() == whole == write_lines(made, "")[0]


def test_a_line_is_json_with_sum_and_record(tmp_path: Path) -> None:
    lines = journal_at(tmp_path / "journal", records()).splitlines()
    parsed = [json.loads(line) for line in lines]
    assert {tuple(line) for line in parsed} == {("sum", "record")}
    assert [line["record"]["kind"] for line in parsed][:2] == ["header", "pass"]
    assert all(len(line["sum"]) == 16 for line in parsed)


def test_half_a_surrogate_pair_in_a_call_id_comes_back(tmp_path: Path) -> None:
    made = compact(request(2), POLICY, failed=["\ud83d", "é"]).journal.records
    journal_at(tmp_path / "journal", made)
    with JournalFile.open(tmp_path / "journal") as file:
        assert file.journal == Journal(made)


def test_a_cut_at_any_byte_gives_the_records_before_it() -> None:
    made = records(12)
    data = write_lines(made, "")[0]
    for cut in range(len(data) + 1):
        lines = read_lines(data[:cut], "journal")
        whole = data[:cut].count(b"\n")
        assert lines.records == made[:whole]
        assert lines.end + lines.torn == cut
        assert lines.end == data[:cut].rfind(b"\n") + 1


def test_an_append_after_any_cut_in_the_last_line_is_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    made = (*records(12), REWIND)
    whole = journal_at(tmp_path / "whole", made)
    start = whole[:-1].rfind(b"\n") + 1
    path = tmp_path / "journal"
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        with JournalFile.open(path) as file:
            codes = [finding.code for finding in file.findings]
            assert codes == ([] if cut == start else ["journal_torn"])
            file.append(made[-1:])
        assert path.read_bytes() == whole


def test_a_torn_line_is_reported_with_its_place_and_left_until_the_next_append(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal"
    data = journal_at(path, records()[:2]) + b'{"sum":"01'
    path.write_bytes(data)
    with JournalFile.open(path) as file:
        (finding,) = file.findings
        file.append(())
    assert (finding.code, finding.path) == ("journal_torn", f"{path}:3")
    assert path.read_bytes() == data


def test_zeros_that_a_file_system_left_behind_are_a_torn_line(tmp_path: Path) -> None:
    made = records()[:2]
    data = journal_at(tmp_path / "journal", made)
    for tail in (b"\0" * 100, b'{"sum":"0123' + b"\0" * 100):
        assert read_lines(data + tail, "journal").records == made


def test_any_changed_byte_is_noticed() -> None:
    made = records(12)
    data = write_lines(made, "")[0]
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        if at == len(data) - 1:  # its newline is gone: torn
            assert read_lines(changed, "journal").records == made[:-1]
            continue
        with pytest.raises(JournalError) as caught:
            read_lines(changed, "journal")
        line = 1 + data[:at].count(b"\n")
        assert (caught.value.code, caught.value.path) == ("journal.damaged", f"journal:{line}")


@pytest.mark.parametrize(
    ("order", "line"),
    [
        ((1, 2, 3), 1),
        ((0, 2, 3), 2),
        ((0, 2, 1, 3), 2),
        ((0, 1, 1, 2), 3),
        ((0, 1, 0, 1), 3),
    ],
)
def test_lost_swapped_and_doubled_lines_are_noticed(order: tuple[int, ...], line: int) -> None:
    lines = write_lines(records()[:4], "")[0].splitlines(keepends=True)
    with pytest.raises(JournalError) as caught:
        read_lines(b"".join(lines[i] for i in order), "j")
    assert (caught.value.code, caught.value.path) == ("journal.damaged", f"j:{line}")


def test_a_line_of_another_journal_is_noticed() -> None:
    own = write_lines(records()[:2], "")[0]
    other = compact(request(30, topic="else"), POLICY).journal.records
    stranger = write_lines(other[:3], "")[0].splitlines(keepends=True)[2]
    with pytest.raises(JournalError) as caught:
        read_lines(own + stranger, "j")
    assert caught.value.path == "j:3"


@pytest.mark.parametrize(
    "content",
    [
        b"# Readme\n\nHello.\n",
        b"a note without a newline",
        b"{",  # could be torn; see the next test
        b'{"model": "claude-sonnet-4-5", "messages": []}',
        b'{"model": "claude-sonnet-4-5", "messages": []}\n',
        b'{"sum": 5}\n',
        b'{"sum":"0123456789abcdef","record":{}}\n',
        b"\n",
        b"\r\n",
        b"\0" * 64,
        b"\xff\xfe\x00",
        bytes(range(256)) * 4,
    ],
)
def test_a_file_of_the_users_is_refused_or_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    if content == b"{":
        with JournalFile.open(path) as file:
            assert (file.journal, len(file.findings)) == (Journal(), 1)
    else:
        error = refusal(path)
        assert (error.code, error.path) == ("journal.damaged", f"{path}:1")
        assert "--force" in error.hint
    assert path.read_bytes() == content


def test_an_empty_file_is_an_empty_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.touch()
    whole = journal_at(path, records())
    assert whole == write_lines(records(), "")[0]


def test_nothing_is_created_before_there_is_something_to_write(tmp_path: Path) -> None:
    with JournalFile.open(tmp_path / "journal") as file:
        file.append(())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_an_error_where_it_may_not_be_made(tmp_path: Path) -> None:
    assert refusal(tmp_path / "journal", create=False).code == "journal.missing"


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert (error.code, error.path) == ("journal.unreadable", str(tmp_path))


def test_a_journal_below_a_file_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file" / "journal").code == "journal.unreadable"


def test_a_journal_in_a_folder_that_is_not_there_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "no" / "journal"
    with JournalFile.open(path) as file, pytest.raises(JournalError) as caught:
        file.append(records())
    assert caught.value.code == "journal.unwritable"


if hasattr(os, "mkfifo"):

    def test_a_pipe_is_no_journal_and_is_not_waited_for(tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert refusal(tmp_path / "pipe").code == "journal.unreadable"


HOLDER = """
    import sys
    from compactor.journal_file import JournalFile
    with JournalFile.open(sys.argv[1], readonly=len(sys.argv) > 2):
        print("open", flush=True)
        sys.stdin.read()
"""


class Holder:
    """Another process that has the journal open until `let_go`."""

    def __init__(self, path: Path, *args: str) -> None:
        code = textwrap.dedent(HOLDER)
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, str(path), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"open\n"

    def let_go(self) -> None:
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


def test_a_journal_that_another_process_has_open_is_locked_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal_at(path, records())
    holder = Holder(path)
    try:
        for readonly in (False, True):
            error = refusal(path, readonly=readonly)
            assert (error.code, error.path) == ("store.locked", str(path))
    finally:
        holder.let_go()
    with JournalFile.open(path, wait_s=0) as file:
        assert file.journal == Journal(records())


def test_who_waits_gets_the_journal_when_the_other_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal_at(path, records())
    holder = Holder(path)
    letting_go = threading.Thread(target=holder.let_go)
    letting_go.start()
    with JournalFile.open(path, wait_s=60) as file:
        assert file.journal == Journal(records())
    letting_go.join()


if os.name == "posix":

    def test_readers_do_not_lock_each_other_out(tmp_path: Path) -> None:
        path = tmp_path / "journal"
        journal_at(path, records())
        holder = Holder(path, "readonly")
        with JournalFile.open(path, readonly=True, wait_s=0) as file:
            assert file.journal == Journal(records())
        assert refusal(path).code == "store.locked"
        holder.let_go()


def test_of_two_that_begin_a_journal_at_once_the_second_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with JournalFile.open(path) as first, JournalFile.open(path, wait_s=0) as second:
        first.append(records())
        with pytest.raises(JournalError) as while_open:
            second.append([REWIND])
        first.close()
        with pytest.raises(JournalError) as afterwards:
            second.append([REWIND])
    assert (while_open.value.code, afterwards.value.code) == ("store.locked", "store.locked")
    assert path.read_bytes() == write_lines(records(), "")[0]


def test_a_journal_that_was_moved_while_we_waited_is_not_the_journal_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    journal_at(path, records())
    found: list[Journal] = []
    lock, tried = portalocker.lock, threading.Event()

    def watched(*args: Any) -> None:
        tried.set()  # the file is open by now
        lock(*args)

    def wait() -> None:
        with JournalFile.open(path, wait_s=60) as file:
            found.append(file.journal)

    with JournalFile.open(path):
        monkeypatch.setattr(portalocker, "lock", watched)
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert tried.wait(60)
        path.rename(tmp_path / "moved")
    waiting.join()
    assert found == [Journal()]


def test_starting_afresh_keeps_the_old_file_under_the_first_free_name(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    old = journal_at(path, records())
    path.chmod(0o640)
    (tmp_path / "journal.old-1").write_text("taken")
    with JournalFile.open(path) as file:
        file.start_afresh("a test")
        assert (path.read_bytes(), file.journal) == (old, Journal())
        file.append(records(3)[:1])
        file.append([REWIND])
        codes = [finding.code for finding in file.findings]
    aside = tmp_path / "journal.old-2"
    assert codes == ["journal_restarted", "journal_kept"]
    assert aside.read_bytes() == old
    assert aside.stat().st_mode == path.stat().st_mode
    assert path.read_bytes() == write_lines((records(3)[0], REWIND), "")[0]
    assert (tmp_path / "journal.old-1").read_text() == "taken"


def test_a_damaged_file_is_set_aside_only_by_force_and_only_when_written(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"# Readme\n")
    with JournalFile.open(path, force=True) as file:
        assert [finding.code for finding in file.findings] == ["journal_restarted"]
        file.append(())
        assert path.read_bytes() == b"# Readme\n"
        file.append(records())
    assert (tmp_path / "journal.old-1").read_bytes() == b"# Readme\n"
    with JournalFile.open(path) as file:
        assert (file.journal, file.findings) == (Journal(records()), ())


FULL_DISK = """
    import resource, signal, sys
    from pathlib import Path
    from compactor.core.errors import JournalError
    from compactor.journal_file import JournalFile, read_lines

    folder, case = Path(sys.argv[1]), sys.argv[2]
    path, new = folder / "journal", (folder / "new").read_bytes()
    before = path.read_bytes() if path.exists() else None
    records = read_lines(new, "new").records
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    known = len(records) - 1 if case == "append" else 0
    limits = range(len(before) if case == "append" else 0, len(new), int(sys.argv[3]))
    for limit in limits:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        with JournalFile.open(path) as file:
            if case == "afresh":
                file.start_afresh("a test")
            try:
                file.append(records[known:])
                raise SystemExit(f"written at limit {limit}")
            except JournalError as error:
                assert error.code == "journal.unwritable", error.code
            assert len(file.journal.records) == known
        after = path.read_bytes() if path.exists() else None
        assert after == before, limit
        assert sorted(each.name for each in folder.iterdir()) == (
            ["new"] if before is None else ["journal", "new"]
        )
    print(len(limits))
"""

if sys.platform == "linux":

    @pytest.mark.parametrize(("case", "step"), [("first", 7), ("append", 1), ("afresh", 53)])
    def test_a_write_that_fails_at_any_byte_leaves_the_file_as_it_was(
        tmp_path: Path, case: str, step: int
    ) -> None:
        made = (*records(12), REWIND)
        (tmp_path / "new").write_bytes(write_lines(made, "")[0])
        if case == "append":
            journal_at(tmp_path / "journal", made[:-1])
        elif case == "afresh":
            journal_at(tmp_path / "journal", records(1))
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(FULL_DISK), str(tmp_path), case, str(step)],
            capture_output=True,
            env=environment(),
            timeout=120,
            check=False,
        )
        assert done.stderr == b""
        assert int(done.stdout) > 20
