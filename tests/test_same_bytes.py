"""L5: the same input gives the same bytes, whatever process, hash seed, locale and order of calls.

Python versions are the business of CI, which runs all tests on each; the goldens hold the bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pure_run import COUNT, digests

ROOT = Path(__file__).resolve().parents[1]

PROCESSES = {
    "hash seed 0": ({"PYTHONHASHSEED": "0"}, []),
    "hash seed 4242, backwards": ({"PYTHONHASHSEED": "4242"}, ["--reversed"]),
    "C locale without UTF-8": ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, []),
    "Turkish, far east": ({"LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"}, []),
    "without asserts, backwards": ({"PYTHONOPTIMIZE": "2"}, ["--reversed"]),
}
"""What differs → environment and arguments."""


@pytest.fixture(scope="module")
def here() -> list[str]:
    """The digests of this process, whose hash seed is random."""
    return digests()


@pytest.mark.parametrize("name", PROCESSES)
def test_l5_another_process_gives_the_same_bytes(name: str, here: list[str]) -> None:
    environment, arguments = PROCESSES[name]
    found = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.pure_run", *arguments],
        cwd=ROOT,
        env={key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ} | environment,
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
    )
    assert found.stdout.splitlines() == here


def test_l5_calls_before_it_change_nothing(here: list[str]) -> None:
    assert digests(backwards=True) == here


def test_l5_the_conversations_make_passes_in_every_format(here: list[str]) -> None:
    passes = {line.split()[1]: 0 for line in here}
    for line in here:
        passes[line.split()[1]] += int(line.split()[3])
    assert len(here) > COUNT
    assert min(passes.values()) >= 10
