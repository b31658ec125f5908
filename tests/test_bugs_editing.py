"""The files of `../shared/bugs` that are about edits: what a model may do to its own context.

Each demand of the page beside those files is one assertion here; the edits go through a `Session`.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compactor import Policy, Session
from compactor.core.errors import EditError
from compactor.session import context_file
from tests.bug_files import BUGS, data_of, module

POLICY = Policy(window=10**6, counter="chars4", editing=True)
NAME = context_file.NAME


def opened(name: str) -> tuple[Session, dict[str, Any]]:
    session, request = Session.open(policy=POLICY), json.loads(data_of(name))
    session.prepare(request)
    return session, request


def blocks(request: Any, kind: str) -> list[Any]:
    lists = [m["content"] for m in request["messages"] if isinstance(m["content"], list)]
    return [block for content in lists for block in content if block["type"].endswith(kind)]


def test_b13_a_turn_with_thinking_goes_whole_or_not_at_all() -> None:
    session, request = opened("B13")
    thought = blocks(request, "thinking")
    for arguments in (
        {"section": "S3", "old": "Now edit.", "new": "Later."},
        {"section": "S1", "old": "I should read", "new": "I need not"},
    ):
        refused = session.call("context_rewrite", arguments)
        assert refused.startswith(
            f"{arguments['section']} holds reasoning that the provider signed"
        )
        assert session.prepare(request).request == request
    text = session.editor.file(session.id)
    with pytest.raises(EditError, match="holds reasoning"):
        session.apply_file(text.replace("Now edit.", "Later."))
    assert "I should read" not in text
    session.call("context_rewrite", {"section": "S1", "old": "hit number 0", "new": "a hit"})
    shown = session.prepare(request).request
    assert blocks(shown, "thinking") == thought
    assert shown["messages"][1] is request["messages"][1]
    session.call("context_replace", {"sections": "S1", "text": "a.py has 30 hits"})
    shown = session.prepare(request).request
    assert blocks(shown, "thinking") == thought[2:]
    assert module("oracle").anthropic(shown["messages"]) == []


TOMBSTONES = {
    "the step": ("S1",),
    "the reply": ("S3",),
    "both": ("S1", "S3"),
    "both, the reply first": ("S3", "S1"),
}


@pytest.mark.parametrize("sections", TOMBSTONES.values(), ids=TOMBSTONES)
def test_b70_roles_alternate_after_tombstones(sections: tuple[str, ...]) -> None:
    session, request = opened("B70")
    for name in sections:
        session.call("context_tombstone", {"sections": name, "reason": "seen"})
    shown = session.prepare(request).request
    roles = [message["role"] for message in shown["messages"]]
    assert roles[0] == "user"
    assert all(one != other for one, other in pairwise(roles))
    assert module("oracle").anthropic(shown["messages"]) == []
    texts = [block["text"] for block in blocks(shown, "text")]
    notices = [text for text in texts if "removed from the context: seen" in text]
    assert len(notices) == 1
    assert len(notices[0]) < 100


def test_b70_roles_that_repeat_in_the_input_stay() -> None:
    session, request = opened("B70")
    request["messages"].insert(1, {"role": "user", "content": "and this"})
    session.prepare(request)
    session.call("context_tombstone", {"sections": "S5", "reason": "seen"})
    shown = session.prepare(request).request["messages"]
    assert shown[:4] == request["messages"][:4]


@pytest.fixture(params=[0o000, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


Trap = Callable[[Path, Path], None]
TRAPS: dict[str, Trap] = {
    "a link to the file": lambda path, victim: path.symlink_to(victim),
    "a second name of the file": lambda path, victim: path.hardlink_to(victim),
    "a link in the folder's place": lambda path, victim: _moved(path.parent, victim.parent),
}


def _moved(folder: Path, victim: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(victim)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
def test_b77_what_stands_in_the_files_place_is_replaced_and_not_followed(
    trap: Trap, tmp_path: Path
) -> None:
    session = Session.open(policy=POLICY, context_dir=str(tmp_path))
    session.prepare(json.loads(data_of("B70")))
    path, victims = Path(session.before_request()), tmp_path / "victims"
    victims.mkdir(mode=0o755)
    victims.chmod(0o755)
    script = [sys.executable, str(BUGS / "B77.py"), str(path.parent)]
    subprocess.run(script, check=True, capture_output=True)
    links = [f".{NAME}.tmp", f"{NAME}.tmp", f"{NAME}~", f"{NAME}.{os.getpid()}.tmp"]
    links += [f".{NAME}.{os.getpid()}", f".{NAME}.tmp.{os.getpid()}"]
    for name in links:
        (path.parent / name).symlink_to("victim.txt")
    victim = victims / NAME
    victim.write_text("[[LIVE_CONTEXT session=main base=0:6]]\nprecious\n")
    victim.chmod(0o644)
    path.unlink()
    trap(path, victim)
    with pytest.raises(EditError) as error:
        session.apply_file()
    assert error.value.code == "edit.damaged_header"
    session.before_request()
    assert (victim.read_text()[-9:], stat.S_IMODE(victim.stat().st_mode)) == ("precious\n", 0o644)
    if not path.parent.is_symlink():
        assert not path.is_symlink()
        assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_nlink) == (0o600, 1)
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert context_file.read(str(path.parent)) == session.editor.file(session.id)
    others = path.parent / "victim.txt"
    if others.exists():
        assert (others.read_text(), stat.S_IMODE(others.stat().st_mode)) == ("precious\n", 0o644)
    session.close()
    assert not path.parent.exists()
    assert victim.exists()
