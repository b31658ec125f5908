"""The command line as a whole: commands, options, help, completion, exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from cli_kit import SMALL, as_bytes, compactor, environment, request
from click.testing import CliRunner

from compactor import __version__, models
from compactor.cli import cli
from compactor.cli.app import COMMANDS, Row
from compactor.cli.failures import exit_code
from compactor.cli.options import ROWS, SESSION_ROWS, SESSION_SWITCHES, SWITCHES, Job, job_options
from compactor.core.errors import InputError, InternalError
from compactor.core.policy import Policy
from compactor.core.texts import ArtifactId
from compactor.loop import loop

JOB_COMMANDS = ("compact", "explain", "context", "diff")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job_of(*args: str) -> Job:
    """What the shared options make of arguments."""
    jobs: list[Job] = []
    command = click.command()(job_options(jobs.append))
    command.main(["-", *args], standalone_mode=False)
    return jobs[0]


# -- help


def test_the_list_of_commands_says_what_each_command_says() -> None:
    listed = CliRunner().invoke(cli, ["--help"]).output
    context = click.Context(cli)
    for name, row in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(limit=200) == row.help
        assert f"  {name}" in listed


@pytest.mark.parametrize("name", [*JOB_COMMANDS, "completion"])
def test_every_command_has_help_with_examples(name: str) -> None:
    done = CliRunner().invoke(cli, [name, "--help"])
    assert done.exit_code == 0
    assert 2 <= done.output.count(f"compactor {name} ") - 1 <= 4
    assert "Examples:" in done.output


@pytest.mark.parametrize("name", JOB_COMMANDS)
def test_every_option_has_help(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    options = [param for param in command.params if isinstance(param, click.Option)]
    assert [option.name for option in options if not option.help] == []
    shown = CliRunner().invoke(cli, [name, "--help"]).output
    assert all(option.opts[-1] in shown for option in options)


def test_help_warns_of_no_compaction() -> None:
    for name in JOB_COMMANDS:
        assert "WARNING" in CliRunner().invoke(cli, [name, "--help"]).output


def test_help_of_the_group_loads_neither_a_command_nor_a_tokenizer() -> None:
    code = (
        "import sys; from compactor.cli import cli; cli(['--help'], standalone_mode=False);"
        "print([name for name in sys.modules if name in ('tiktoken', 'portalocker', 'tomllib')"
        " or name.startswith(('compactor.conformance', 'compactor.cli.compact'))],"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment(), check=True
    )
    assert done.stderr == b"[]\n"


def test_version_says_version_and_ruleset() -> None:
    done = CliRunner().invoke(cli, ["--version"])
    assert done.output == f"compactor {__version__} (ruleset {loop().ruleset})\n"


# -- the policy on the command line

FLAGS: dict[str, tuple[list[str], Any]] = {
    "model": (["--model", "gpt-5"], "gpt-5"),
    "window": (["--window", "200_000"], 200_000),
    "reserve_tokens": (["--reserve-tokens", "0"], 0),
    "keep_recent": (["--keep-recent", "12"], 12),
    "recent_tokens": (["--recent-tokens", "500"], 500),
    "evidence_budget_tokens": (["--evidence-budget-tokens", "0"], 0),
    "evidence_tools": (["--evidence-tool", "a", "--evidence-tool", "b"], ("a", "b")),
    "protected_tools": (["--protect-tool", "a", "--protect-tool", "b"], ("a", "b")),
    "pins": (["--pin", "0", "--pin", "7"], (0, 7)),
    "artifact_ids": (
        ["--artifact-id", "ev_:0-9a-f:8", "--artifact-id", "urn:x::0-9:6"],
        (ArtifactId("ev_", "0-9a-f", 8), ArtifactId("urn:x:", "0-9", 6)),
    ),
    "min_gain": (["--min-gain", "0"], 0),
    "min_freed": (["--min-freed", "1_000"], 1000),
    "trigger": (["--trigger", "threshold"], "threshold"),
    "read": (["--read", "100"], 100),
    "write": (["--write", "1250"], 1250),
    "patience": (["--patience", "0"], 0),
    "elide_inputs": (["--elide-inputs"], True),
    "reasoning": (["--reasoning", "drop"], "drop"),
    "recallable": (["--recall"], True),
    "enabled": (["--no-compaction"], False),
    "mode": (["--mode", "summarize"], "summarize"),
    "overhead_tokens": (["--overhead-tokens", "0"], 0),
    "counter": (["--counter", "chars4"], "chars4"),
    "counter_scale": (["--counter-scale", "1500"], 1500),
}


def test_every_policy_field_has_a_flag() -> None:
    fields = {field.name for field in msgspec.structs.fields(Policy)}
    flags = {row.field for row in ROWS} | set(SWITCHES)
    of_sessions = {row.field for row in SESSION_ROWS} | set(SESSION_SWITCHES)
    assert flags == set(FLAGS)
    assert flags | of_sessions == fields


@pytest.mark.parametrize("field", FLAGS)
def test_a_flag_sets_its_field_and_nothing_else(field: str) -> None:
    args, value = FLAGS[field]
    assert job_of(*args).settings == {field: value}
    assert getattr(msgspec.structs.replace(Policy(), **{field: value}), field) == value


def test_without_flags_nothing_is_set() -> None:
    assert job_of() == Job("-", None, "", None, None, None, False, (), False, False, False, {})


@pytest.mark.parametrize(
    "args",
    [
        ("--window", "big"),
        ("--window", "200k"),
        ("--window", "-5"),
        ("--window", "1__0"),
        ("--window", "٣"),
        ("--window", "1_000_000_000_001"),
        ("--window", "9" * 26),
        ("--window", "9" * 9999),
        ("--window", "0"),
        ("--counter-scale", "0"),
        ("--window", ""),
        ("--pin", "-1"),
        ("--artifact-id", "ev_"),
        ("--artifact-id", "ev_:0-9:x"),
        ("--artifact-id", "a:0-9:0"),
        ("--artifact-id", "a:0-9:65"),
        ("--trigger", "never"),
        ("--reasoning", "maybe"),
        ("--no-such-flag",),
    ],
)
def test_a_flag_that_makes_no_sense_is_a_usage_error(args: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, ["compact", *args], input=b"{}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: ")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0", "0 is not between 1 and 1,000,000,000,000"),
        ("9" * 26, f"{'9' * 26} is not between 1 and 1,000,000,000,000"),
        ("-5", "'-5' is no whole number from 1 up, such as 200000 or 200_000"),
    ],
)
def test_a_number_out_of_range_is_told_its_range(value: str, message: str) -> None:
    done = CliRunner().invoke(cli, ["compact", "--window", value], input=b"{}")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (
        2,
        f"Error: Invalid value for '--window': {message}",
    )


def test_the_largest_number_is_a_number() -> None:
    assert job_of("--window", "001_000_000_000_000").settings == {"window": 10**12}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--window", "9", "--reserve-tokens", "9"), "(9) is not below the window (9)"),
        (("--window", "9", "--counter", "char4"), "did you mean 'chars4'?"),
        (("--artifact-id", "a:*:8"), "may hold only letters, digits"),
        (("--model", "no-such-model"), "is not in the model table"),
        (("-f", "no-such-format"), "there is no format"),
    ],
)
def test_a_policy_that_contradicts_itself_is_one_line_and_exit_1(
    args: tuple[str, ...], message: str
) -> None:
    done = CliRunner().invoke(cli, ["compact", *args], input=as_bytes(request(1)))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def report_with(*args: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["compact", "--dry-run", *args], input=as_bytes(request(1)))
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_command_line_wins_over_file_over_model_over_defaults(tmp_path: Path) -> None:
    by_model = report_with()
    (tmp_path / "compactor.toml").write_text("window = 50_000\nreserveTokens = 1_000\n")
    by_file = report_with()
    by_flag = report_with("--window", "40_000")
    assert by_model["window"] > 50_000
    assert (by_file["window"], by_file["threshold"]) == (50_000, 49_000)
    assert (by_flag["window"], by_flag["threshold"]) == (40_000, 39_000)


def test_a_window_given_wins_and_the_model_gives_the_counter() -> None:
    names = [name for name in models.names() if models.facts(name).counter_scale != 1000]
    report = report_with("--model", names[0], "--window", "1234")
    scale = models.facts(names[0]).counter_scale
    assert (report["window"], report["counter_scale"]) == (1234, scale)


def test_config_files_are_found_or_named_and_the_found_one_is_said(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"compaction": {"reserveTokens": 7}}')
    (tmp_path / "pyproject.toml").write_text("[tool.compactor]\nreserveTokens = 9\n")
    data = as_bytes(request(1))
    args = ["compact", "--window", "1000", "--dry-run"]
    found = CliRunner().invoke(cli, args, input=data)
    named = CliRunner().invoke(cli, [*args, "--config", "other.json"], input=data)
    assert json.loads(found.stdout)["threshold"] == 991
    assert json.loads(named.stdout)["threshold"] == 993
    assert "config: pyproject.toml\n" in found.stderr
    assert "config:" not in named.stderr


def test_an_unknown_key_in_a_config_file_is_exit_1(tmp_path: Path) -> None:
    (tmp_path / "compactor.toml").write_text("keep_recent = 5\n")
    done = CliRunner().invoke(cli, ["compact"], input=as_bytes(request(1)))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "error: compactor.toml: unknown setting 'keep_recent' (did you mean 'keepRecent'?) "
        "[policy.unknown_key]\n"
    )


# -- input


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "input.not_json"),
        (b"hello\n", "input.not_json"),
        (b'{"a": 1}', "input.format_unknown"),
        (b"[1, 2]", "input.format_unknown"),
        (b'{"messages": 5}', "input.format_unknown"),
        (b'{"messages": [{"role": "wizard", "content": "x"}]}', "input.shape"),
        (b'{"model": "gpt-5", "previous_response_id": "resp_1", "input": []}',
         "input.provider_history"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", JOB_COMMANDS)
def test_bad_input_is_one_line_and_exit_1(name: str, data: bytes, code: str) -> None:
    done = CliRunner().invoke(cli, [name, "-", "--window", "100"], input=data)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: <stdin>")
    assert done.stderr.endswith(f"[{code}]\n")
    assert done.stderr.count("\n") == 1


def test_an_unknown_model_without_a_window_is_exit_1() -> None:
    body = {**request(1), "model": "my-own-model"}
    done = CliRunner().invoke(cli, ["compact"], input=as_bytes(body))
    assert done.exit_code == 1
    assert "--window" in done.stderr
    assert done.stderr.endswith("[policy.model_unknown]\n")
    with_window = CliRunner().invoke(cli, ["compact", "--window", "5000"], input=as_bytes(body))
    assert (with_window.exit_code, with_window.stdout_bytes) == (0, as_bytes(body))
    assert "[model_unknown]" in with_window.stderr


def test_a_missing_file_is_exit_1() -> None:
    done = CliRunner().invoke(cli, ["explain", "no.json"])
    assert done.exit_code == 1
    assert done.stderr.startswith("error: no.json: cannot be read: ")
    assert done.stderr.endswith("[input.unreadable]\n")


# -- failures


def test_internal_faults_are_exit_3_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    law = InternalError("law L8 does not hold", code="internal.law", hint="please report this")
    assert exit_code(law) == 3
    assert capsys.readouterr().err == (
        "error: law L8 does not hold (please report this) [internal.law]\n"
    )
    assert exit_code(ValueError("two\nlines")) == 3
    said = capsys.readouterr().err
    assert said.startswith(r"error: internal fault: ValueError: two\nlines (please report this")
    assert said.count("\n") == 1


def test_the_debug_variable_shows_where_a_fault_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMPACTOR_DEBUG", "1")
    assert exit_code(ValueError("x")) == 3
    assert capsys.readouterr().err.startswith("ValueError: x\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (InputError("no", code="input.shape"), 1),
        (RuntimeError("ours"), 3),
        (MemoryError(), 3),
    ],
)
def test_what_a_command_raises_becomes_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    @click.command()
    def failing() -> None:
        raise error

    _add_command(monkeypatch, failing)
    assert CliRunner().invoke(cli, ["failing"]).exit_code == code


def test_a_part_that_is_not_installed_breaks_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "absent", Row("compactor.no_such_module:command", "Absent."))
    absent = CliRunner().invoke(cli, ["absent"])
    assert absent.exit_code == 2
    assert "absent is not whole in this installation" in absent.stderr
    assert CliRunner().invoke(cli, ["--help"]).exit_code == 0
    assert CliRunner().invoke(cli, ["compact", "--help"]).exit_code == 0


def _add_command(monkeypatch: pytest.MonkeyPatch, command: click.Command) -> None:
    module = "compactor.cli.app"
    monkeypatch.setattr(f"{module}.failing", command, raising=False)
    monkeypatch.setitem(COMMANDS, "failing", Row(f"{module}:failing", "Fails."))


# -- completion


def completions(words: str) -> list[str]:
    env = {
        "_COMPACTOR_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = compactor(env=env)
    return [line.split(",", 1)[1] for line in done.stdout.decode().splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert f"_COMPACTOR_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("compactor comp", ["compact", "completion"]),
        ("compactor compact --keep", ["--keep-recent"]),
        ("compactor compact --counter ch", ["chars4"]),
        ("compactor compact -f anth", ["anthropic"]),
        ("compactor compact --mode ", ["elide", "summarize"]),
    ],
)
def test_the_shell_completes_commands_options_and_names(words: str, expected: list[str]) -> None:
    assert completions(words) == expected


# -- every command with every way in


@pytest.mark.parametrize("name", JOB_COMMANDS)
def test_a_command_reads_a_file_a_dash_or_a_pipe_alike(name: str, tmp_path: Path) -> None:
    data = as_bytes(request(12))
    (tmp_path / "request.json").write_bytes(data)
    by_file = CliRunner().invoke(cli, [name, "request.json", *SMALL])
    by_dash = CliRunner().invoke(cli, [name, "-", *SMALL], input=data)
    by_pipe = CliRunner().invoke(cli, [name, *SMALL], input=data)
    assert by_file.exit_code == 0
    assert by_file.stdout_bytes == by_dash.stdout_bytes == by_pipe.stdout_bytes


@pytest.mark.parametrize("name", JOB_COMMANDS)
def test_quiet_says_nothing_on_stderr(name: str) -> None:
    args = [name, *SMALL, "--cold", "--no-compaction"]
    loud = CliRunner().invoke(cli, args, input=as_bytes(request(12)))
    quiet = CliRunner().invoke(cli, [*args, "-q"], input=as_bytes(request(12)))
    assert "[cold_ignored]" in loud.stderr
    assert "warning: compaction is off" in loud.stderr
    assert (quiet.stdout_bytes, quiet.stderr) == (loud.stdout_bytes, "")
