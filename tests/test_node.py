"""The example of the protocol in Node, as it stands in the documentation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from compactor.store import SqliteStore
from tests.cli_kit import ROOT, environment

PAGE = (ROOT / "docs" / "node.md").read_text("utf-8")


def test_the_example_for_node_prints_what_its_page_says(tmp_path: Path) -> None:
    program, printed = (
        re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        for language in ("js", "text")
    )
    command = tmp_path / "bin" / "compactor"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m compactor "$@"\n')
    command.chmod(0o755)
    (tmp_path / "agent.mjs").write_text(program[0], "utf-8")
    done = subprocess.run(
        ["node", "agent.mjs"],
        cwd=tmp_path,
        env=environment({"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == printed[0]
    with SqliteStore.open(tmp_path / "agent.db") as store:
        assert ([info.id for info in store.sessions()], store.verify()) == (["job-1"], [])
