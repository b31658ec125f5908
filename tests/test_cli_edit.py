"""`compactor edit`: a person does to a session what its model can, and is told what was refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compactor.cli.app import cli
from compactor.store import SqliteStore
from tests.docs.sample import SAMPLE

AT = ("--store", "s.db", "--session", "a")


def edit(*args: str) -> Result:
    return CliRunner().invoke(cli, ["edit", *args, *AT])


def said(*args: str) -> str:
    done = edit(*args)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def refusal(*args: str) -> str:
    """The code of a refusal, which is one line with a next step."""
    done = edit(*args)
    assert (done.exit_code, done.stdout) == (1, "")
    line = re.fullmatch(r"error: \w+: .+ \(.+\) \[(edit\.[a-z_]+)\]\n", done.stderr)
    assert line is not None, done.stderr
    return line.group(1)


@pytest.fixture(autouse=True)
def _session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of a Claude Code transcript, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = CliRunner().invoke(cli, ["import", str(SAMPLE), *AT])
    assert done.exit_code == 0, done.output


def test_sections_are_listed_for_a_person_and_as_json() -> None:
    heading, first, *rest = said("sections").splitlines()
    assert heading == "Sections of the context, oldest first: id, kind, tokens, tokens after it."
    rows = json.loads(said("sections", "--json"))["sections"]
    assert len(rows) == len(rest) + 1
    assert first.startswith(f"S0 user {rows[0]['tokens']} {rows[0]['after']} (not to be edited: ")
    assert [row["id"] for row in rows] == [line.split()[0] for line in (first, *rest)]


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (("tombstone", "S3", "--reason", "read"), "[S3 removed from the context: read — "),
        (("replace", "S3", "--text", "a note"), "a note"),
    ],
)
def test_an_edit_says_what_it_freed_and_can_be_looked_at(args: tuple[str, ...], shown: str) -> None:
    whole = said("recall", "S3")
    answer = json.loads(said(*args, "--json"))
    freed, reread = answer["receipt"]["freed"], answer["receipt"]["reread"]
    assert answer["text"] == (
        f"Freed {freed:,} tokens. {reread:,} tokens from the change on are read again once."
    )
    assert said("recall", "S3") == whole
    assert f"\n+{shown}" in said("diff", "S3")
    assert json.loads(said("diff", "S3", "--json"))["text"].rstrip("\n") in said("diff", "S3")
    assert said(*args) == "No changes.\n"


def test_a_passage_is_rewritten_where_it_stands() -> None:
    lines = said("recall", "S1").splitlines()
    line = next(line for line in lines[3:] if lines.count(line) == 1 and len(line) > 40)
    assert said("rewrite", "S1", "--old", line, "--new", "gone").startswith("Freed ")
    assert f"-{line}\n+gone\n" in said("diff", "S1")


def test_the_file_is_written_edited_and_applied() -> None:
    path = Path(said("mirror").rstrip("\n"))
    assert json.loads(said("mirror", "--json")) == {"path": str(path)}
    assert said("mirror", "--apply") == "No changes.\n"
    whole = path.read_text("utf-8")
    path.write_text(re.sub(r"(?s)\[\[SECTION S3 .*?(?=\[\[SECTION )", "", whole), "utf-8")
    answer = json.loads(said("mirror", "--apply", "--json"))
    assert answer["receipt"]["freed"] > 0
    assert "stands for S3" in said("sections")
    assert "stands_for=S3]]" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("tombstone", "S0"), "edit.protected"),
        (("tombstone", "S999"), "edit.unknown_section"),
        (("tombstone", "three"), "edit.unknown_section"),
        (("replace", "S3..S1", "--text", "x"), "edit.not_contiguous"),
        (("replace", "S3", "--text", " "), "edit.no_match"),
        (("rewrite", "S3", "--old", "no such text", "--new", "x"), "edit.no_match"),
        (("rewrite", "S3", "--old", "e", "--new", "x"), "edit.many_matches"),
        (("diff", "S999"), "edit.unknown_section"),
        (("recall", "S1..S3"), "edit.not_contiguous"),
    ],
)
def test_a_refusal_is_one_line_with_the_next_step(args: tuple[str, ...], code: str) -> None:
    before = said("sections")
    assert refusal(*args) == code
    assert refusal(*args, "--json") == code
    assert said("sections") == before


def test_a_retired_section_names_what_stands_for_it() -> None:
    said("replace", "S1..S3", "--text", "both")
    assert refusal("tombstone", "S3") == "edit.retired_section"


def test_a_file_that_is_refused_is_written_anew() -> None:
    path = Path(said("mirror").rstrip("\n"))
    whole = path.read_text("utf-8")
    for changed, code in (
        ("", "edit.damaged_header"),
        (whole.replace("[[SECTION S1 ", "[[SECTION S2 "), "edit.damaged_header"),
        (whole.replace("protected=yes]]\n", "protected=yes]]\nplease "), "edit.protected"),
    ):
        path.write_text(changed, "utf-8")
        assert refusal("mirror", "--apply") == code
        assert path.read_text("utf-8") == whole
    said("tombstone", "S1")
    path.write_text(whole, "utf-8")
    assert refusal("mirror", "--apply") == "edit.stale"


def test_nothing_is_lost_and_the_store_is_sound() -> None:
    whole = said("recall", "S1")
    said("tombstone", "S1..S3")
    said("replace", "S1", "--text", "notes")
    assert said("recall", "S1").startswith(whole.rstrip("\n"))
    with SqliteStore.open("s.db") as store:
        assert store.verify() == []
