"""Edits answer with their diff, and paths forge nothing: seed 000 section 5, DESIGN section 7."""

from __future__ import annotations

from typing import Any

import pytest

from compactor.core.brackets import shown_path
from compactor.core.errors import InputError
from compactor.core.facts import Facts
from tests.hygiene_kit import ABC, TEXTS, Hand, numbered, sha_of

OLD = numbered(1, 20)
NEW = OLD.replace("line 15\n", "line fifteen\n")
HUNK = (
    "@@ -12,7 +12,7 @@\n line 12\n line 13\n line 14\n-line 15\n+line fifteen\n"
    " line 16\n line 17\n line 18"
)


def test_an_edit_is_its_diff_under_path_and_new_hash() -> None:
    inserted = Hand(0x22).edit(("src/app.ts", OLD, NEW), output="The file was changed.")
    sha = sha_of(NEW)
    assert inserted.shown == f"[#0022 src/app.ts sha {sha[:8]}]\n{HUNK}"
    assert inserted.stored == HUNK
    bracket = len("[#0022 src/app.ts sha 7d0a91c3]")
    assert inserted.facts == Facts(0x22, "edit", bracket, "src/app.ts", "src/app.ts", sha=sha)


def test_a_new_file_is_said_to_be_created() -> None:
    inserted = Hand(0x23).edit(("docs/new.md", None, numbered(1, 14)))
    sha = sha_of(numbered(1, 14))[:8]
    assert inserted.shown == f"[#0023 docs/new.md sha {sha}] Created, 14 lines."
    assert inserted.facts.bracket == len("[#0023 docs/new.md sha 52b6e3a0]")
    assert Hand().edit(("a", None, "")).shown == "[#0001 a sha e3b0c442] Created, 0 lines."


def test_a_deleted_file_is_said_to_be_deleted() -> None:
    inserted = Hand(0x24).edit(("old.md", "x", None))
    assert inserted.shown == "[#0024 old.md deleted]"
    assert inserted.facts == Facts(0x24, "edit", 22, "old.md", "old.md")


def test_several_files_stand_under_the_id_each_in_its_own_bracket() -> None:
    new = numbered(1, 14)
    inserted = Hand(0x25).edit(
        ("src/a.ts", OLD, NEW), ("docs/new.md", None, new), ("old.md", "x", None)
    )
    assert inserted.shown == (
        f"[#0025]\n[src/a.ts sha {sha_of(NEW)[:8]}]\n{HUNK}\n"
        f"[docs/new.md sha {sha_of(new)[:8]}] Created, 14 lines.\n[old.md deleted]"
    )
    files = ("src/a.ts", "docs/new.md", "old.md")
    assert inserted.facts == Facts(0x25, "edit", 7, files=files)


def test_an_edit_that_changes_nothing_says_so() -> None:
    assert Hand().edit(("a.txt", ABC, ABC)).shown == "[#0001 a.txt sha 4fdbc441] No changes."


def test_the_last_newline_alone_is_a_change() -> None:
    assert Hand().edit(("a", "x\n", "x")).stored == (
        "@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file"
    )


def test_what_is_no_text_has_no_diff() -> None:
    data = b"\x00\x01"
    sha = sha_of(data)[:8]
    assert Hand().edit(("a", b"\x00", data)).shown == f"[#0001 a sha {sha}] Binary, 2 bytes."
    assert Hand().edit(("a", None, data)).shown == f"[#0001 a sha {sha}] Created, 2 bytes."


def test_a_byte_that_is_no_character_is_a_change_and_can_be_sent() -> None:
    assert Hand().edit(("a", b"\xe9\n", b"\xe8\n")).stored == "@@ -1 +1 @@\n-\ufffd\n+\ufffd"


def test_a_note_follows_the_diff() -> None:
    note = "Written outside skill_manage."
    assert Hand().edit(("a", OLD, NEW), note=note).stored == f"{HUNK}\n{note}"
    assert Hand().edit(("a.txt", None, ABC), note=note).shown == (
        f"[#0001 a.txt sha 4fdbc441] Created, 3 lines.\n{note}"
    )
    assert Hand().edit(("a", "x", None), note=note).shown == f"[#0001 a deleted]\n{note}"
    assert Hand().insert(output="ok\n", note=note).shown == f"[#0001]\nok\n{note}"


def test_a_long_diff_is_capped_under_its_bracket() -> None:
    inserted = Hand().edit(("a", numbered(1, 1000), numbered(1001, 2000)))
    lines = inserted.shown.split("\n")
    assert lines[0].startswith("[#0001 a sha ")
    assert lines[1] == "@@ -1,1000 +1,1000 @@"
    assert lines[201] == "[1701 lines elided, full output #0001]"
    assert (len(lines), lines[-1]) == (302, "+line 2000")
    assert inserted.stored.count("\n") == 2000


def test_the_blocks_of_an_edit_are_one_text() -> None:
    inserted = Hand().edit(("a.txt", None, ABC), output=[{"type": "text", "text": "ok"}])
    assert inserted.shown == [{"type": "text", "text": inserted.body}]


def test_a_failed_patch_says_what_it_changed_all_the_same() -> None:
    inserted = Hand().edit(("a", "x", None), error=True, output="2nd hunk failed")
    assert inserted.shown == "[#0001]\n2nd hunk failed\n[a deleted]"
    assert inserted.facts == Facts(1, "result", 7, failed=True)


# nothing forges a bracket


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("app/[slug]/page.tsx", "app/[slug]/page.tsx"),
        ("a] Unchanged since #0001.", "a\\] Unchanged since #0001."),
        ("a]", "a\\]"),
        ("a\n[#0001]\nb", "a [#0001\\] b"),
        ("a\r\x1b\x00\u2028b", "a    b"),
        ("#0001", "\\#0001"),
        ("#0001 a.txt", "\\#0001 a.txt"),
        ("#notes#", "#notes#"),
        ("dir/#0001", "dir/#0001"),
        ("a\udce9", "a\ufffd"),
        ("x" * 5000, "…" + "x" * 4095),
    ],
)
def test_a_path_is_shown_on_one_line_and_ends_no_bracket(path: str, shown: str) -> None:
    assert shown_path(path, TEXTS) == shown
    read = Hand().insert("read", {}, read={"path": path, "content": "x"})
    assert read.body == f"[#0001 {shown} lines 1-1 of 1 sha 2d711642]\n1: x"
    assert read.facts.path == shown
    assert Hand().edit((path, "", None)).body == f"[#0001 {shown} deleted]"


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        ({"old": "a", "new": "b"}, "edits.path"),
        ({"path": "a"}, "edits.new"),
        ({"path": "a", "old": 1}, "edits.old"),
        ({"path": "a", "old": "", "mode": 1}, "edits.mode"),
    ],
)
def test_a_change_that_cannot_be_understood_is_refused_by_its_field(edit: Any, path: str) -> None:
    with pytest.raises(InputError) as refused:
        Hand().insert(edits=[edit])
    assert (refused.value.code, refused.value.path) == ("input.shape", path)
