"""`explain`, `context` and `diff` show what `compact` does, and write nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_kit import SMALL, as_bytes, compactor, request, result
from click.testing import CliRunner, Result

import compactor as library
from compactor.cli import cli
from compactor.cli.context import CATEGORIES
from compactor.cli.screen import plain
from compactor.core.report import FATES

POLICY = library.Policy(window=2000, counter="chars4")
VIEWS = ("explain", "context", "diff")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(name: str, *args: str, body: Any = None, color: bool = False) -> Result:
    data = as_bytes(request(12) if body is None else body)
    return CliRunner().invoke(cli, [name, *SMALL, *args], input=data, color=color)


# -- all three


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_writes_nothing(tmp_path: Path, name: str) -> None:
    CliRunner().invoke(cli, ["compact", *SMALL, "--journal", "journal"], input=as_bytes(request(6)))
    before = (tmp_path / "journal").read_bytes()
    assert run(name, "--journal", "journal").exit_code == 0
    assert [each.name for each in tmp_path.iterdir()] == ["journal"]
    assert (tmp_path / "journal").read_bytes() == before


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_journal_that_is_not_there_is_refused(name: str) -> None:
    done = run(name, "--journal", "jurnal")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.endswith("[journal.missing]\n")


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_what_the_journal_already_holds(name: str) -> None:
    """Elided under another policy, and elided still."""
    args = ["--journal", "journal"]
    CliRunner().invoke(cli, ["compact", *SMALL, *args], input=as_bytes(request(12)))
    roomy = ["--counter", "chars4", "--window", "100_000"]
    data = as_bytes(request(12))
    kept = CliRunner().invoke(cli, [name, *roomy, *args], input=data)
    anew = CliRunner().invoke(cli, [name, *roomy], input=data)
    assert (kept.exit_code, anew.exit_code) == (0, 0)
    assert "elided" in kept.stdout
    assert kept.stdout != anew.stdout


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_of_strangers_are_harmless_on_any_terminal(name: str, encoding: str) -> None:
    body = request(12, tool="\x1b[31mbäsh\u202e\ud83d\n")
    done = compactor(name, *SMALL, stdin=as_bytes(body), env={"PYTHONIOENCODING": encoding})
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    for harmful in ("\x1b", "\u202e", "\r"):
        assert harmful not in done.stdout.decode(encoding)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text: é 日本 💥", "plain text: é 日本 💥"),
        ("\x1b[2J\x07\x9b", r"\x1b[2J\x07\x9b"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\u202eevil\u2066\u200b\ufeff", r"\u202eevil\u2066\u200b\ufeff"),
        ("\ud83d", r"\ud83d"),
    ],
)
def test_text_is_made_plain(text: str, shown: str) -> None:
    assert plain(text) == shown


# -- explain


def test_explain_has_a_line_for_every_entry_and_tells_its_fate() -> None:
    done = run("explain")
    expected = library.compact(request(12), POLICY, explain=True).fates
    header, *lines = done.stdout.partition("\n\n")[0].splitlines()
    assert header.split() == ["seq", "kind", "tool", "tokens", "fate"]
    assert [line.split() for line in lines] == [
        [str(part) for part in fate if part != ""] for fate in expected
    ]
    assert {fate.fate for fate in expected} >= {"elided", "kept:recent", "kept:not_result"}


def test_explain_aligns_its_columns() -> None:
    shown = run("explain", body=request(60, tool="t" * 70)).stdout
    lines = shown.partition("\n\n")[0].splitlines()
    at = lines[0].index("fate")
    assert {line[at - 1] for line in lines} == {" "}
    assert {line[at] == " " for line in lines} == {False}
    assert max(map(len, lines)) < 100


def test_explain_says_below_the_table_what_its_fates_mean() -> None:
    table, _, legend = run("explain").stdout.partition("\n\n")
    occurring = {line.split()[-1] for line in table.splitlines()[1:]}
    said = [tuple(line.split("  ", 1)) for line in legend.splitlines()]
    assert [(fate, text.strip()) for fate, text in said] == [
        (fate, text) for fate, text in FATES.items() if fate in occurring
    ]


def test_explain_as_json_is_the_same_list() -> None:
    done = run("explain", "--json")
    expected = library.compact(request(12), POLICY, explain=True).fates
    assert json.loads(done.stdout) == [fate._asdict() for fate in expected]


# -- context


def test_context_as_json_adds_up() -> None:
    numbers = json.loads(run("context", "--json").stdout)
    outcome = library.compact(request(12), POLICY)
    report = outcome.report
    assert list(numbers["categories"]) == [category.name for category in CATEGORIES]
    assert sum(numbers["categories"].values()) == numbers["tokens"] == report.tokens_after
    assert numbers["categories"]["overhead"] == report.overhead > 0
    assert numbers["categories"]["markers"] > 0
    assert (numbers["window"], numbers["threshold"], numbers["reserve"]) == (2000, 1600, 400)
    assert (numbers["passes"], numbers["last_pass"]) == (1, dict(report.passes[0]))
    assert (numbers["tier"], numbers["cutoff"]) == (report.tier, report.cutoff)
    assert numbers["elided"] == len(report.passes[0]["elided"])
    assert (numbers["why"], numbers["model"]) == (report.why, "claude-sonnet-4-5")


def test_the_bar_shows_every_category_in_proportion() -> None:
    numbers = json.loads(run("context", "--json").stdout)
    lines = run("context").stdout.splitlines()
    bar = lines[1].strip("[]")
    assert len(bar) == 64
    done = 0
    for category in CATEGORIES:
        first, done = done * 64 // 2000, done + numbers["categories"][category.name]
        assert bar.count(category.mark) == done * 64 // 2000 - first
    assert lines[2].index("^") - 1 == 1600 * 64 // 2000


def test_context_says_in_words_what_it_shows() -> None:
    text = run("context").stdout
    report = library.compact(request(12), POLICY).report
    assert text.startswith(f"{report.tokens_after:,} of 2,000 tokens (")
    made = report.passes[0]
    assert f"{made['tokens_before']:,} -> {made['tokens_after']:,} tokens" in text
    assert f"now: the estimate is not above the threshold ({report.tokens_after:,} of" in text


def test_context_of_an_overflow_shows_the_request_as_the_whole_bar() -> None:
    done = run("context", body=request(1, topic="x" * 12_000))
    bar = done.stdout.splitlines()[1].strip("[]")
    assert (len(bar), set(bar) <= set("our"), bar.count("u") > 50) == (64, True, True)
    assert "overflow: " in done.stdout


def test_context_says_what_holds_what_could_go_later() -> None:
    body = request(1, chars=9000)
    report = library.compact(body, POLICY).report
    assert (report.why, report.elidable_tokens > 0) == ("nothing_to_free", True)
    said = (
        f"; {report.elidable_tokens:,} more could go later: what holds them is in the recent "
        "region, not answered yet, or evidence that is kept"
    )
    assert said in run("context", body=body).stdout
    nothing = run("context", body=request(0, topic="x" * 12_000)).stdout
    assert "nothing that may go would free anything" in nothing
    assert "could go later" not in nothing


def test_colours_are_only_for_terminals() -> None:
    for name in ("context", "diff"):
        assert "\x1b[" not in run(name).stdout
        assert "\x1b[" in run(name, color=True).stdout


# -- diff


def test_diff_shows_the_first_lines_of_what_is_hidden_and_what_stands_there() -> None:
    done = run("diff")
    elided = library.compact(request(12), POLICY).report.passes[0]["elided"]
    heads = [line for line in done.stdout.splitlines() if line.startswith("--- ")]
    assert heads == [f"--- seq {seq} bash (800 characters)" for seq in elided]
    lines = result(0, 800).split("\n")
    first = ["--- seq 2 bash (800 characters)", "+++ seq 2 as sent"]
    first += [f"-{line}" for line in lines[:5]] + [f"-... and {len(lines) - 5} lines more"]
    first += ["+[elided 800 chars of bash output]"]
    assert done.stdout.splitlines()[: len(first)] == first
    assert done.stderr.splitlines()[-1] == (
        f"{len(elided)} entries changed, {800 * len(elided)} characters hidden".replace(
            str(800 * len(elided)), f"{800 * len(elided):,}"
        )
    )


def test_diff_in_full_has_every_hidden_character() -> None:
    done = run("diff", "--full")
    removed = [line[1:] for line in done.stdout.splitlines() if line.startswith("-result 0 ")]
    assert "\n".join(removed)[: len(removed[0])] == result(0, 800).split("\n")[0]
    expected = [line for line in result(0, 800).split("\n") if line.startswith("result 0 ")]
    assert removed == expected


def test_diff_cuts_long_lines_unless_in_full() -> None:
    body = request(12)
    body["messages"][2]["content"][0]["content"] = "y" * 5000
    cut = run("diff", body=body).stdout.splitlines()
    full = run("diff", "--full", body=body).stdout.splitlines()
    assert f"-{'y' * 157}..." in cut
    assert f"-{'y' * 5000}" in full


def test_diff_of_a_request_that_was_stored_back_hides_nothing(tmp_path: Path) -> None:
    data = as_bytes(request(12))
    args = [*SMALL, "--journal", "journal"]
    stored = CliRunner().invoke(cli, ["compact", *args], input=data).stdout_bytes
    done = CliRunner().invoke(cli, ["diff", *args], input=stored)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.endswith("0 entries changed, 0 characters hidden\n")
    assert [each.name for each in tmp_path.iterdir()] == ["journal"]


def test_diff_names_the_media_that_are_hidden() -> None:
    body = request(12)
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    text = {"type": "text", "text": result(0, 800)}
    body["messages"][2]["content"][0]["content"] = [text, image]
    shown = run("diff", body=body).stdout
    assert "-(image)\n+[elided 800 chars and 1 image of bash output]\n" in shown
