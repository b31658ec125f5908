"""Which files a person means by the paths that are named."""

from __future__ import annotations

import os
from pathlib import Path

from compactor.walk import Found, files


def tree(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


def names(folder: Path, *paths: str) -> list[str]:
    found = files([folder / path for path in paths])
    return [str(each.path.relative_to(folder)) for each in found]


def test_files_of_a_folder_come_in_the_order_of_their_names_each_folder_after_its_files(
    tmp_path: Path,
) -> None:
    tree(tmp_path, "b.jsonl", "a/z.json", "a/y/x.json", "c.log", "a.json", "B.json", "bare")
    assert names(tmp_path, "") == [
        *("B.json", "a.json", "b.jsonl", "bare", "c.log"),
        *("a/z.json", "a/y/x.json"),
    ]


def test_hidden_files_and_kinds_that_are_never_a_transcript_are_passed_over(tmp_path: Path) -> None:
    tree(tmp_path, ".hidden.json", ".git/config", "a.py", "b.PNG", "c.tar", "d.json.gz", "e.md")
    tree(tmp_path, "pkg/x.tsx", "f.zip", "g.eval", "h.traj", "i.journal", "py", "j.c", "k.cc.json")
    assert names(tmp_path, "") == [
        "d.json.gz",
        "e.md",
        "f.zip",
        "g.eval",
        "h.traj",
        "k.cc.json",
        "py",
    ]


def test_what_is_named_is_read_whatever_it_is_called_and_what_is_missing_too(
    tmp_path: Path,
) -> None:
    tree(tmp_path, ".hidden.json", "a.py", ".d/x.json")
    asked = [tmp_path / name for name in (".hidden.json", "a.py", ".d", "nothing.json")]
    assert list(files(asked)) == [
        Found(tmp_path / ".hidden.json", 12, True),
        Found(tmp_path / "a.py", 4, True),
        Found(tmp_path / ".d/x.json", 9, False),
        Found(tmp_path / "nothing.json", 0, True),
    ]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.json", "b.json")
    os.link(tmp_path / "b.json", tmp_path / "c.json")
    assert names(tmp_path, "a/x.json", "", "a") == ["a/x.json", "b.json"]
    assert next(files([tmp_path / "a/x.json", tmp_path])).named


def test_links_to_folders_are_not_followed_and_what_is_no_file_is_left_out(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.json", "out/y.json")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "file").symlink_to(tmp_path / "out" / "y.json")
    (tmp_path / "a" / "gone").symlink_to(tmp_path / "nothing")
    (tmp_path / "a" / "circle").symlink_to(tmp_path / "a" / "circle")
    os.mkfifo(tmp_path / "a" / "pipe")
    assert names(tmp_path, "a") == ["a/file", "a/x.json"]
    (tmp_path / "link").symlink_to(tmp_path / "out")
    assert names(tmp_path, "link") == ["link/y.json"]


def test_a_folder_that_cannot_be_looked_into_is_given_itself(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 200)
    for _ in range(30):  # a path longer than the system takes
        path = path / ("x" * 200)
    assert list(files([path])) == [Found(path, 0, True)]


def test_an_empty_folder_has_no_files(tmp_path: Path) -> None:
    assert list(files([tmp_path])) == []
