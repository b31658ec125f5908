"""Diffs of our own: right, as `patch` takes them, and bounded whatever the texts (DESIGN 7)."""

from __future__ import annotations

import random
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.core.alignment import align
from compactor.core.diff import unified
from compactor.core.lines import count_lines, split_lines
from tests.hygiene_kit import TEXTS, applied, numbered

EDIT = TEXTS.edit
NONE = "\\ No newline at end of file\n"

texts = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d"]), max_size=30).map("".join)
wild = st.text(st.characters(codec="utf-8"), max_size=60)


def test_a_diff_has_hunks_with_three_lines_of_context_and_nothing_else() -> None:
    old = numbered(1, 30)
    new = old.replace("line 3\n", "").replace("line 20\n", "line 20\nmore\n")
    assert unified(old, new, EDIT) == (
        "@@ -1,6 +1,5 @@\n line 1\n line 2\n-line 3\n line 4\n line 5\n line 6\n"
        "@@ -18,6 +17,7 @@\n line 18\n line 19\n line 20\n+more\n line 21\n line 22\n line 23\n"
    )


def test_changes_whose_context_touches_are_one_hunk() -> None:
    old = numbered(1, 20)
    near = old.replace("line 5\n", "x\n").replace("line 12\n", "y\n")
    far = old.replace("line 5\n", "x\n").replace("line 13\n", "y\n")
    assert [unified(old, new, EDIT).count("@@ -") for new in (near, far)] == [1, 2]


@pytest.mark.parametrize(
    ("old", "new", "diff"),
    [
        ("x\n", "y\n", "@@ -1 +1 @@\n-x\n+y\n"),
        ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
        ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
        ("", "a", f"@@ -0,0 +1 @@\n+a\n{NONE}"),
        ("a\nold", "a\nnew", f"@@ -1,2 +1,2 @@\n a\n-old\n{NONE}+new\n{NONE}"),
        ("a\nold\n", "a\nnew", f"@@ -1,2 +1,2 @@\n a\n-old\n+new\n{NONE}"),
        ("a\nold", "a\nnew\n", f"@@ -1,2 +1,2 @@\n a\n-old\n{NONE}+new\n"),
        ("a\nsame", "a\nsame\n", f"@@ -1,2 +1,2 @@\n a\n-same\n{NONE}+same\n"),
        ("b\na", "c\na", f"@@ -1,2 +1,2 @@\n-b\n+c\n a\n{NONE}"),
        ("a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"),
        ("@@ -1 +1 @@\n", "--- x\n+++ y\n", "@@ -1 +1,2 @@\n-@@ -1 +1 @@\n+--- x\n++++ y\n"),
        ("a\n", "a\n", ""),
        ("", "", ""),
    ],
)
def test_ends_and_empty_texts_are_said_exactly(old: str, new: str, diff: str) -> None:
    assert unified(old, new, EDIT) == diff
    assert applied(diff, old) == new


@given(texts, texts)
@settings(max_examples=300)
def test_a_diff_turns_the_old_text_into_the_new(old: str, new: str) -> None:
    assert applied(unified(old, new, EDIT), old) == new


@given(wild, wild)
def test_a_diff_of_any_text_turns_the_old_into_the_new(old: str, new: str) -> None:
    assert applied(unified(old, new, EDIT), old) == new


@given(texts, texts)
def test_a_diff_without_time_to_look_is_right_all_the_same(old: str, new: str) -> None:
    olds, news = split_lines(old), split_lines(new)
    pairs = align(olds, news, 0).pairs
    assert all(olds[a] == news[b] for a, b in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(
    st.lists(st.sampled_from("abcd"), max_size=25), st.lists(st.sampled_from("abcd"), max_size=25)
)
def test_the_shortest_difference_is_found_where_it_is_near(old: list[str], new: list[str]) -> None:
    assert len(align(old, new, EDIT.work).pairs) == longest_common(old, new)


def longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for a in old:
        last = 0
        for j, b in enumerate(new, 1):
            last, row[j] = row[j], last + 1 if a == b else max(row[j], row[j - 1])
    return row[-1]


PATCH = [shutil.which("patch")] if shutil.which("patch") else []


@pytest.mark.parametrize("patch", PATCH)
def test_patch_takes_what_we_write(patch: str, tmp_path: Path) -> None:
    dice = random.Random(7)
    for _ in range(60):
        old, new = ("".join(dice.choices("abc\n", k=dice.randrange(40))) for _ in range(2))
        file, diff = tmp_path / "file", tmp_path / "diff"
        file.write_bytes(old.encode())
        diff.write_bytes(b"--- file\n+++ file\n" + unified(old, new, EDIT).encode())
        if old != new:
            command = [patch, "--binary", "--silent", str(file), str(diff)]
            subprocess.run(command, check=True, capture_output=True)
            assert (file.read_bytes() if file.exists() else b"") == new.encode()


# bounded


def lines_of(size: int, seed: int, alphabet: str) -> list[str]:
    return random.Random(seed).choices(alphabet, k=size)


SMALL, LARGE = 20_000, 100_000
HOSTILE = {
    "no common line": ([f"a{i}" for i in range(LARGE)], [f"b{i}" for i in range(LARGE)]),
    "two kinds of lines": (lines_of(LARGE, 1, "ab"), lines_of(LARGE, 2, "ab")),
    "many kinds of lines": (lines_of(SMALL, 1, "abcdefgh"), lines_of(SMALL, 2, "abcdefgh")),
    "shifted by one": (["a", "b"] * LARGE, ["b", "a"] * LARGE),
    "turned round": ([str(i) for i in range(SMALL)], [str(i) for i in range(SMALL, 0, -1)]),
    "blocks exchanged": (["a"] * SMALL + ["b"] * SMALL, ["b"] * SMALL + ["a"] * SMALL),
    "all of one kind": (["a"] * LARGE, ["a"] * SMALL),
    "near the reach": (lines_of(1000, 1, "ab"), lines_of(1000, 2, "ab")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_is_linear_whatever_the_lines(name: str) -> None:
    old, new = HOSTILE[name]
    found = align(old, new, EDIT.work)
    assert found.steps <= 3 * EDIT.work + 10 * (len(old) + len(new))
    assert all(old[a] == new[b] for a, b in found.pairs)


def test_a_million_lines_of_one_character_are_a_diff() -> None:
    old, new = "a\n" * 1_000_000, "b\n" + "a\n" * 999_998 + "c\n"
    diff = unified(old, new, EDIT)
    assert (len(diff) < 200, applied(diff, old) == new) == (True, True)


def test_two_megabytes_without_a_common_line_are_one_hunk() -> None:
    old, new = numbered(1, 30_000, "old {:030}"), numbered(1, 30_000, "new {:030}")
    diff = unified(old, new, EDIT)
    assert diff.startswith("@@ -1,30000 +1,30000 @@\n-old ")
    assert len(diff) == len(old) + len(new) + 60_000 + len("@@ -1,30000 +1,30000 @@\n")


@given(texts, texts)
def test_a_diff_is_not_much_longer_than_both_texts(old: str, new: str) -> None:
    lines = count_lines(old) + count_lines(new)
    assert len(unified(old, new, EDIT)) <= len(old) + len(new) + 40 * lines + 60
    # per line its sign and its hunk's head, and the notes on a missing newline


def test_lines_that_stand_once_hold_a_long_diff_together() -> None:
    body = "{\n  x\n}\n"
    blocks = [f"def f{i}\n{body}" for i in range(4000)]
    old, new = "".join(blocks), "".join([*blocks[:1000], "}\n{\n" * 3000, *blocks[2500:]])
    olds, news = split_lines(old), split_lines(new)
    pairs = align(olds, news, EDIT.work).pairs
    assert sum(olds[a].startswith("def") for a, _ in pairs) == 2500
    assert applied(unified(old, new, EDIT), old) == new
