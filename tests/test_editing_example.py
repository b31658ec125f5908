"""The agent of docs/editing.md that edits its context: it runs, and prints what its page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.cli_kit import ROOT, environment

PAGE = (ROOT / "docs" / "editing.md").read_text("utf-8")
AGENT = ROOT / "docs" / "sample_editing" / "agent.py"


def test_the_agent_prints_what_its_page_says_and_leaves_nothing(tmp_path: Path) -> None:
    section = PAGE.partition("## An agent at work")[2]
    printed = re.findall(r"^```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, str(AGENT)],
        cwd=ROOT,
        env=environment({"TMPDIR": str(tmp_path)}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert [done.stdout] == printed
    assert list(tmp_path.iterdir()) == []
