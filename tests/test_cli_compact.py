"""`compactor compact`: bytes, journal, files, report, exit codes."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from cli_kit import SMALL, as_bytes, compactor, environment, request
from click.testing import CliRunner, Result

import compactor as library
from compactor import journal_file
from compactor.cli import cli
from compactor.core.journal import decode_record
from compactor.core.report import WHYS
from compactor.journal_file import JournalFile

REPORT_KEYS = (
    "ruleset", "format", "entries", "counter", "counter_scale", "overhead", "window", "threshold",
    "tokens_before", "tokens_after", "tier", "cutoff", "pressed", "overflow", "why",
    "fixed_tokens", "elidable_tokens", "findings", "passes",
)  # fmt: skip
PASS_KEYS = [
    "request", "entries", "cutoff", "tier", "trigger", "tokens_before", "tokens_after", "elided",
    "protected_count", "floor", "first_changed", "reread_tokens",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*args: str, data: bytes = b"") -> Result:
    """`compactor compact ARGS` in this process."""
    return CliRunner().invoke(cli, ["compact", *args], input=data)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# -- bytes


def test_what_nothing_is_elided_from_comes_out_byte_for_byte() -> None:
    data = b'\n {"messages" : [ {"role":"user","content":"\\u00e9 \\ud83d\xc3\xa9"} ] }\r\n\n'
    done = compactor("compact", *SMALL, stdin=data)
    assert (done.returncode, done.stdout) == (0, data)


def test_only_the_elided_bodies_change() -> None:
    body = request(12)
    done = compactor("compact", *SMALL, stdin=as_bytes(body))
    policy = library.Policy(window=2000, counter="chars4")
    expected = library.compact(library.load(as_bytes(body)), policy)
    assert (done.returncode, done.stdout) == (0, expected.request.to_bytes())
    assert b"[elided 800 chars of bash output]" in done.stdout
    lines, before = done.stdout.splitlines(), as_bytes(body).splitlines()
    changed = [new for new, old in zip(lines, before, strict=True) if new != old]
    assert all(b"[elided 800 chars of bash output]" in line for line in changed)


def test_a_growing_conversation_has_the_same_bytes_with_and_without_its_journal(
    tmp_path: Path,
) -> None:
    grown = []
    for turns in range(1, 26):
        data = as_bytes(request(turns))
        kept = run(*SMALL, "--journal", "journal", data=data)
        anew = run(*SMALL, data=data)
        assert (kept.exit_code, kept.stdout_bytes) == (0, anew.stdout_bytes)
        grown.append((tmp_path / "journal").read_bytes())
    for before, after in itertools.pairwise(grown):
        assert after.startswith(before)
    assert grown[-1].count(b'"kind":"pass"') > 3


def test_the_result_stored_back_is_compacted_no_further(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_bytes(as_bytes(request(12)))
    args = (*SMALL, "--journal", "journal")
    first = compactor("compact", "request.json", *args, "-o", "once.json")
    second = compactor("compact", "once.json", *args, "-o", "twice.json")
    assert (first.returncode, second.returncode) == (0, 0)
    once = (tmp_path / "once.json").read_bytes()
    assert (tmp_path / "twice.json").read_bytes() == once != as_bytes(request(12))
    assert b"stay elided" in second.stderr


def test_the_summary_says_what_was_done() -> None:
    done = run(*SMALL, data=as_bytes(request(12)))
    report = json.loads(run(*SMALL, "--dry-run", data=as_bytes(request(12))).stdout)
    elided = sum(len(each["elided"]) for each in report["passes"])
    assert done.stderr.splitlines()[-1] == (
        f"compacted: {report['tokens_before']:,} -> {report['tokens_after']:,} tokens in 1 pass, "
        f"{elided} results elided (threshold 1,600 of 2,000)"
    )
    still = run(*SMALL, data=as_bytes(request(1)))
    assert still.stderr == (
        "unchanged: the estimate is not above the threshold (220 of 1,600 tokens)\n"
    )


# -- the report


def test_the_report_file_has_the_keys_that_were_promised(tmp_path: Path) -> None:
    done = run(*SMALL, "--report", "report.json", data=as_bytes(request(20)))
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert done.exit_code == 0
    assert [key for key in REPORT_KEYS if key not in report] == []
    assert [list(each) for each in report["passes"]] == [PASS_KEYS] * len(report["passes"])
    assert len(report["passes"]) > 1
    assert report["why"] in WHYS
    assert (report["format"], report["counter"], report["window"]) == ("anthropic", "chars4", 2000)


def test_half_a_surrogate_pair_in_a_name_is_no_trouble_for_the_report(tmp_path: Path) -> None:
    data = as_bytes(request(12, tool="b\ud83d"))
    done = run(*SMALL, "--report", "report.json", "--failed", "\ud83d", data=data)
    assert (done.exit_code, json.loads((tmp_path / "report.json").read_bytes())["entries"]) == (
        0,
        25,
    )


def test_dry_run_writes_nothing_but_the_report(tmp_path: Path) -> None:
    data = as_bytes(request(12))
    args = (*SMALL, "--dry-run", "--journal", "journal")
    on_stdout = run(*args, data=data)
    assert (on_stdout.exit_code, names(tmp_path)) == (0, [])
    assert len(json.loads(on_stdout.stdout)["passes"]) == 1
    in_file = run(*args, "--report", "report.json", data=data)
    assert (in_file.stdout, names(tmp_path)) == ("", ["report.json"])
    assert (tmp_path / "report.json").read_text() == on_stdout.stdout
    assert run(*args, "--report", "-", data=data).stdout == on_stdout.stdout


def test_dry_run_leaves_a_journal_as_it_is(tmp_path: Path) -> None:
    run(*SMALL, "--journal", "journal", data=as_bytes(request(12)))
    for content in ((tmp_path / "journal").read_bytes(), b"# Readme\n"):
        (tmp_path / "journal").write_bytes(content)
        done = run(
            *SMALL, "--journal", "journal", "--dry-run", "--force", data=as_bytes(request(20))
        )
        assert done.exit_code == 0
        assert (names(tmp_path), (tmp_path / "journal").read_bytes()) == (["journal"], content)


def test_overflow_is_exit_4_only_where_it_was_asked_for(tmp_path: Path) -> None:
    data = as_bytes(request(1, topic="x" * 9000))
    assert run(*SMALL, data=data).exit_code == 0
    done = run(*SMALL, "--fail-on-overflow", "-o", "out.json", data=data)
    assert done.exit_code == 4
    assert "over the window" in done.stderr
    assert (tmp_path / "out.json").read_bytes() == data
    assert run(*SMALL, "--fail-on-overflow", data=as_bytes(request(12))).exit_code == 0
    assert run(*SMALL, "--fail-on-overflow", "--dry-run", data=data).exit_code == 4


def test_no_compaction_changes_nothing_and_warns() -> None:
    data = as_bytes(request(12))
    done = run(*SMALL, "--no-compaction", data=data)
    assert (done.exit_code, done.stdout_bytes) == (0, data)
    assert done.stderr.startswith("warning: compaction is off")
    assert "unchanged: compaction is turned off" in done.stderr


def test_recall_puts_the_way_back_into_markers() -> None:
    done = run(*SMALL, "--recall", data=as_bytes(request(12)))
    assert "[elided 800 chars of bash output — recall seq=2]" in done.stdout


def test_overflowed_frees_what_may_go_below_the_threshold() -> None:
    data = as_bytes(request(12))
    args = ("--window", "9000", "--counter", "chars4")
    assert run(*args, data=data).stdout_bytes == data
    assert b"[elided " in run(*args, "--overflowed", data=data).stdout_bytes


def test_a_call_said_to_have_failed_is_evidence() -> None:
    data = as_bytes(request(12))
    args = (*SMALL, "--evidence-budget-tokens", "0")
    assert b"[elided 800 chars of failed bash output]" in (
        run(*args, "--failed", "t0", "--failed", "t1", data=data).stdout_bytes
    )
    assert b"of failed" not in run(*args, data=data).stdout_bytes


def test_many_findings_are_cut_off_on_the_screen_but_not_in_the_report(tmp_path: Path) -> None:
    row = json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": "hi"}})
    data = "\n".join([row, *['{"broken'] * 30]).encode()
    done = run("--window", "5000", "--report", "report.json", data=data)
    assert (done.exit_code, done.stdout_bytes) == (0, data)
    assert done.stderr.count("note: ") == 11
    findings = json.loads((tmp_path / "report.json").read_bytes())["findings"]
    assert f"note: and {len(findings) - 10} more" in done.stderr
    assert run("--window", "5000", "--strict", data=data).exit_code == 1


# -- the journal


def test_a_journal_is_made_with_its_header_even_where_nothing_was_elided(tmp_path: Path) -> None:
    run(*SMALL, "--journal", "journal", data=as_bytes(request(1)))
    (line,) = (tmp_path / "journal").read_bytes().splitlines()
    record = json.loads(line)["record"]
    assert (record["kind"], record["rules"]["window"]) == ("header", 2000)
    assert decode_record(json.dumps(record).encode(), "here") == (
        library.compact(
            request(1), library.Policy(window=2000, counter="chars4")
        ).journal.header
    )  # fmt: skip


def test_a_second_call_over_the_same_request_appends_nothing(tmp_path: Path) -> None:
    data = as_bytes(request(12))
    run(*SMALL, "--journal", "journal", data=data)
    before = (tmp_path / "journal").read_bytes()
    again = run(*SMALL, "--journal", "journal", data=data)
    assert (again.exit_code, (tmp_path / "journal").read_bytes()) == (0, before)


def test_a_foreign_journal_is_refused_and_left_alone(tmp_path: Path) -> None:
    run(*SMALL, "--journal", "journal", data=as_bytes(request(12)))
    before = (tmp_path / "journal").read_bytes()
    data = as_bytes(request(12, topic="another task"))
    done = compactor("compact", *SMALL, "--journal", "journal", "-o", "out.json", stdin=data)
    assert (done.returncode, done.stdout, names(tmp_path)) == (1, b"", ["journal"])
    assert done.stderr.startswith(b"error: journal: the journal belongs to another conversation")
    assert done.stderr.endswith(b"[journal.foreign]\n")
    assert (tmp_path / "journal").read_bytes() == before


@pytest.mark.parametrize("content", [None, b"# Readme\n", b"{}\n"])
def test_force_keeps_the_old_journal_aside_and_begins_anew(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is None:
        run(*SMALL, "--journal", "journal", data=as_bytes(request(12)))
    else:
        (tmp_path / "journal").write_bytes(content)
    before = (tmp_path / "journal").read_bytes()
    data = as_bytes(request(12, topic="another task"))
    done = run(*SMALL, "--journal", "journal", "--force", data=data)
    fresh = run(*SMALL, "--journal", "fresh", data=data)
    assert (done.exit_code, done.stdout_bytes) == (0, fresh.stdout_bytes)
    assert names(tmp_path) == ["fresh", "journal", "journal.old-1"]
    assert (tmp_path / "journal.old-1").read_bytes() == before
    assert (tmp_path / "journal").read_bytes() == (tmp_path / "fresh").read_bytes()
    assert "the old journal is kept as journal.old-1" in done.stderr


def test_force_changes_nothing_about_a_journal_that_is_right(tmp_path: Path) -> None:
    for turns in (12, 20):
        done = run(*SMALL, "--journal", "journal", "--force", data=as_bytes(request(turns)))
        assert (done.exit_code, names(tmp_path)) == (0, ["journal"])


def test_a_torn_journal_is_used_reported_and_mended(tmp_path: Path) -> None:
    run(*SMALL, "--journal", "journal", data=as_bytes(request(12)))
    whole = (tmp_path / "journal").read_bytes()
    (tmp_path / "journal").write_bytes(whole[:-20])
    done = run(*SMALL, "--journal", "journal", data=as_bytes(request(12)))
    assert done.exit_code == 0
    assert "[journal_torn]" in done.stderr
    assert (tmp_path / "journal").read_bytes() == whole


def test_another_counter_than_the_journals_is_refused(tmp_path: Path) -> None:
    run(*SMALL, "--journal", "journal", data=as_bytes(request(2)))
    before = (tmp_path / "journal").read_bytes()
    done = run("--window", "2000", "--counter", "cl100k_base", "--journal", "journal",
               data=as_bytes(request(2)))  # fmt: skip
    assert (done.exit_code, (tmp_path / "journal").read_bytes()) == (1, before)
    assert done.stderr.endswith("[counter_changed]\n")


def test_a_journal_in_use_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    run(*SMALL, "--journal", "journal", data=as_bytes(request(2)))
    monkeypatch.setattr(journal_file, "LOCK_WAIT_S", 0.0)
    with JournalFile.open("journal"):
        done = run(*SMALL, "--journal", "journal", data=as_bytes(request(2)))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: journal: another process has it locked")
    assert done.stderr.endswith("[store.locked]\n")


@pytest.mark.parametrize("option", ["-o", "--report"])
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no-such-folder/out", "No such file or directory"),
        ("folder", "Is a directory"),
        ("file/out", "Not a directory"),
    ],
)
def test_an_output_that_has_no_place_is_refused_before_anything_is_written(
    tmp_path: Path, option: str, path: str, reason: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    other = {"-o": "--report", "--report": "-o"}[option]
    args = (*SMALL, "--journal", "journal", option, path, other, "other")
    done = run(*args, data=as_bytes(request(12)))
    assert (done.exit_code, done.stdout, names(tmp_path)) == (1, "", ["file", "folder"])
    assert done.stderr == (
        f"error: {path}: cannot be written: {reason} (nothing was written) [output.unwritable]\n"
    )


def test_bad_input_leaves_journal_and_files_untouched(tmp_path: Path) -> None:
    run(*SMALL, "--journal", "journal", "-o", "out.json", data=as_bytes(request(12)))
    before = [each.read_bytes() for each in sorted(tmp_path.iterdir())]
    args = (*SMALL, "--journal", "journal", "-o", "out.json", "--report", "report.json")
    for data in (b"no json", b'{"messages": [{"role": "wizard", "content": ""}]}'):
        assert run(*args, data=data).exit_code == 1
    assert names(tmp_path) == ["journal", "out.json"]
    assert [each.read_bytes() for each in sorted(tmp_path.iterdir())] == before


def test_first_calls_at_once_agree_on_one_journal(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(as_bytes(request(200)))
    args = [sys.executable, "-m", "compactor", "compact", "in.json", *SMALL, "-q"]
    together = [
        subprocess.Popen(
            [*args, "--journal", "journal", "-o", f"out-{number}"],
            stderr=subprocess.PIPE,
            env=environment(),
        )
        for number in range(4)
    ]
    assert [(each.communicate()[1], each.returncode) for each in together] == [(b"", 0)] * 4
    alone = run("in.json", *SMALL, "--journal", "alone").stdout_bytes
    assert {(tmp_path / f"out-{number}").read_bytes() for number in range(4)} == {alone}
    assert (tmp_path / "journal").read_bytes() == (tmp_path / "alone").read_bytes()


# -- files


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-o", "journal", "--journal", "journal"), "--journal and -o are the same file"),
        (("-o", "./x/../journal", "--journal", "journal"), "--journal and -o are the same file"),
        (("-o", "out", "--report", "out"), "-o and --report are the same file"),
        (("in", "--report", "in"), "the input and --report are the same file"),
        (("in", "--journal", "in"), "the input and --journal are the same file"),
        (("--config", "c", "-o", "c"), "--config and -o are the same file"),
        (("in", "-o", "in"), "-o in is the input, and every original is kept: give another file"),
        (("in", "-o", "x/../in"), "-o x/../in is the input"),
        (("--dry-run", "-o", "out"), "--dry-run writes no output: leave -o out"),
        (("--report", "-"), "the output and the report cannot both go to standard output"),
        (("-o", "-", "--report", "-"), "cannot both go to standard output"),
        (("--journal", "-"), "a journal is a file, never a stream"),
        (("--force",), "--force needs --journal"),
    ],
)
def test_options_that_would_destroy_a_file_are_usage_errors(
    tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "in").write_bytes(as_bytes(request(1)))
    before = names(tmp_path)
    done = run(*args, data=as_bytes(request(1)))
    assert (done.exit_code, done.stdout, names(tmp_path)) == (2, "", before)
    assert message in done.stderr


def test_a_dash_is_standard_output_and_no_file(tmp_path: Path) -> None:
    data = as_bytes(request(12))
    plain = run(*SMALL, data=data)
    dashed = run(*SMALL, "-o", "-", "--report", "report.json", data=data)
    assert (dashed.exit_code, dashed.stdout_bytes) == (0, plain.stdout_bytes)
    reported = run(*SMALL, "-o", "out.json", "--report", "-", data=data)
    assert (reported.exit_code, names(tmp_path)) == (0, ["out.json", "report.json"])
    assert reported.stdout == (tmp_path / "report.json").read_text()
    assert (tmp_path / "out.json").read_bytes() == plain.stdout_bytes


if os.name == "posix":

    @pytest.mark.parametrize("output", ["link", "in"])
    def test_no_other_way_to_name_the_input_overwrites_it(tmp_path: Path, output: str) -> None:
        data = as_bytes(request(12))
        (tmp_path / "in").write_bytes(data)
        (tmp_path / "link").symlink_to("in")
        source = "in" if output == "link" else "link"
        linked = compactor("compact", source, *SMALL, "-o", output)
        with open("in", "rb") as stdin:
            piped = subprocess.run(
                [sys.executable, "-m", "compactor", "compact", "-", *SMALL, "-o", output],
                stdin=stdin,
                capture_output=True,
                env=environment(),
                timeout=60,
                check=False,
            )
        assert (linked.returncode, piped.returncode) == (2, 2)
        assert b"give another file" in linked.stderr
        assert b"give another file" in piped.stderr
        assert ((tmp_path / "in").read_bytes(), names(tmp_path)) == (data, ["in", "link"])

    def test_output_to_the_device_of_standard_output_is_written_to_it() -> None:
        data = as_bytes(request(1))
        done = compactor("compact", *SMALL, "-o", "/dev/stdout", stdin=data)
        assert (done.returncode, done.stdout) == (0, data)

    def test_a_closed_standard_input_is_one_line_and_exit_1() -> None:
        line = f"exec {shlex.quote(sys.executable)} -m compactor compact - --window 5000 <&-"
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, env=environment(), timeout=60, check=False
        )
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.decode() == (
            "error: <stdin>: cannot be read: it is closed (name a FILE, or pipe a transcript in) "
            "[input.unreadable]\n"
        )

    def test_output_keeps_mode_and_link_of_the_file_it_replaces(tmp_path: Path) -> None:
        target, link = tmp_path / "target.json", tmp_path / "link.json"
        target.write_bytes(b"old")
        target.chmod(0o604)
        link.symlink_to(target)
        data = as_bytes(request(1))
        assert run(*SMALL, "-o", "link.json", data=data).exit_code == 0
        assert (target.read_bytes(), target.stat().st_mode & 0o777) == (data, 0o604)
        assert (link.is_symlink(), names(tmp_path)) == (True, ["link.json", "target.json"])

    def test_output_to_a_device_is_written_to_it() -> None:
        data = as_bytes(request(1))
        assert run(*SMALL, "-o", "/dev/null", data=data).exit_code == 0
        assert Path("/dev/null").is_char_device()

    def test_standard_input_that_is_a_terminal_is_a_usage_error() -> None:
        leader, follower = os.openpty()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "compactor", "compact"],
                stdin=follower,
                capture_output=True,
                env=environment(),
                timeout=60,
                check=False,
            )
        finally:
            os.close(leader)
            os.close(follower)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"name a FILE, or pipe a transcript in" in done.stderr

    def test_an_interrupt_is_exit_130_without_a_traceback(tmp_path: Path) -> None:
        (tmp_path / "compactor.toml").write_text("window = 2000\n")
        process = subprocess.Popen(
            [sys.executable, "-m", "compactor", "compact", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert process.stderr is not None
        assert process.stderr.readline() == b"config: compactor.toml\n"  # now it reads
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 130

    @pytest.mark.parametrize("name", ["compact", "explain", "diff"])
    def test_a_reader_that_goes_away_is_no_error_on_the_screen(tmp_path: Path, name: str) -> None:
        (tmp_path / "in.json").write_bytes(as_bytes(request(400)))
        process = subprocess.Popen(
            [sys.executable, "-m", "compactor", name, "in.json", *SMALL, "-q"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 141)
        process.stderr.close()

    def test_a_closed_standard_output_is_one_line_and_exit_1(tmp_path: Path) -> None:
        (tmp_path / "in.json").write_bytes(as_bytes(request(1)))
        line = (
            f"exec {shlex.quote(sys.executable)} -m compactor compact in.json --window 5000 -q >&-"
        )
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, env=environment(), timeout=60, check=False
        )
        assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
        assert done.stderr.startswith(b"error: standard output cannot be written")

    def test_a_name_that_is_no_utf8_is_a_name(tmp_path: Path) -> None:
        name = os.fsdecode(b"caf\xe9.json")
        Path(name).write_bytes(as_bytes(request(12)))
        journal = os.fsdecode(b"journal-\xff")
        output = os.fsdecode(b"out-\xfe")
        done = compactor("compact", name, *SMALL, "--journal", journal, "-o", output)
        assert done.returncode == 0
        assert names(tmp_path) == sorted([name, journal, output])
        missing = compactor("compact", os.fsdecode(b"no\xe9"), *SMALL)
        assert missing.stderr.startswith(b"error: no\\udce9: cannot be read")


if sys.platform == "linux":

    def test_the_journal_is_written_before_the_output(tmp_path: Path) -> None:
        data = as_bytes(request(12))
        args = (*SMALL, "--journal", "journal")
        lost = run(*args, "-o", "/dev/full", data=data)
        assert (lost.exit_code, names(tmp_path)) == (1, ["journal"])
        assert lost.stderr.startswith("error: /dev/full: cannot be written: No space left")
        before = (tmp_path / "journal").read_bytes()
        again = run(*args, data=data)
        assert again.stdout_bytes == run(*SMALL, data=data).stdout_bytes
        assert (tmp_path / "journal").read_bytes() == before

    def test_a_full_disk_is_one_line_and_exit_1(tmp_path: Path) -> None:
        (tmp_path / "in.json").write_bytes(as_bytes(request(1)))
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "compactor", "compact", "in.json", *SMALL, "-q"],
                stdout=full,
                stderr=subprocess.PIPE,
                env=environment(),
                timeout=60,
                check=False,
            )
        assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
        assert done.stderr.startswith(b"error: standard output cannot be written: No space left")

    HALF_WRITTEN = """
        import resource, signal, sys
        from pathlib import Path
        from compactor.durable import replace_file

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        folder = Path(sys.argv[1])
        for limit in range(100):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            try:
                replace_file(folder / "out", [b"x" * 60, b"x" * 40])
                raise SystemExit(f"written at limit {limit}")
            except OSError:
                pass
            assert [each.name for each in folder.iterdir()] == ["out"]
            assert (folder / "out").read_bytes() == b"old"
    """

    def test_output_that_cannot_be_written_whole_leaves_the_old_file(tmp_path: Path) -> None:
        (tmp_path / "out").write_bytes(b"old")
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(HALF_WRITTEN), str(tmp_path)],
            capture_output=True,
            env=environment(),
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")


# -- where the surroundings differ


@pytest.mark.parametrize(
    "surroundings",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "utf-16"},
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"},
    ],
)
def test_the_bytes_do_not_depend_on_locale_and_encoding(
    tmp_path: Path, surroundings: dict[str, str]
) -> None:
    body: Any = request(12, tool="größe", topic="日本\ud83d")
    data = json.dumps(body, ensure_ascii=True).encode()
    (tmp_path / "compactor.toml").write_text("protectedTools = ['größer']\n", encoding="utf-8")
    plain = compactor("compact", *SMALL, "--recall", stdin=data)
    other = compactor("compact", *SMALL, "--recall", stdin=data, env=surroundings)
    assert (plain.returncode, other.returncode) == (0, 0)
    assert other.stdout == plain.stdout != data
